package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/machine"
)

// modelOfRows reads a model, and how it prepares views, for samples that are read row by row.
func (o *predictOptions) modelOfRows() (*largemvc.Predictor, []*dataset.Preparation, error) {
	model, err := largemvc.Load(o.model)
	if err != nil {
		return nil, nil, err
	}
	by, err := views.Preparations(model)
	if err != nil {
		return nil, nil, err
	}
	changed := func(p *dataset.Preparation) bool { return p.String() != "" }
	if model.Config().Float64 && slices.ContainsFunc(by, changed) {
		return nil, nil, errors.New("the model has float64 and fills or transforms values, and rows on disk are read as " +
			"float32: give one file, without -from-disk and -mpi")
	}
	o.prepareBy(by)
	return model.WithMachine(machine.Options{Workers: o.workers, Device: o.device}), by, nil
}

// rowFile is a file about the samples that is written block by block: -out, -embedding, -memberships or -trust.
type rowFile struct {
	*output
	columns rowColumns
	to      io.Writer
	head    int // samples of the file, if the next block is its first; else 0
}

// rowColumns returns columns about the samples of a block, whose numbers begin with first. Column 0 has these numbers.
type rowColumns func(first int, a *largemvc.Assignments) ([]dataset.Column, error)

// rowFiles returns the files that predict writes with -from-disk.
func (o *predictOptions) rowFiles(ctx context.Context, files *predictOutputs, model *largemvc.Predictor, in *input) []*rowFile {
	var out []*rowFile
	add := func(file *output, columns rowColumns) {
		if file.path != "" {
			out = append(out, &rowFile{output: file, columns: columns})
		}
	}
	add(&files.labels, func(first int, a *largemvc.Assignments) ([]dataset.Column, error) {
		return (&labelled{a, model.ClassNames}).columns(first), nil
	})
	add(&files.embedding, func(first int, a *largemvc.Assignments) ([]dataset.Column, error) {
		return embeddingFile(o.embedding).columns(first, a.H), nil
	})
	add(&files.memberships, func(first int, a *largemvc.Assignments) ([]dataset.Column, error) {
		x, err := model.Memberships(ctx, a.H)
		if err != nil {
			return nil, err
		}
		return membershipsFile(o.members).columns(first, x), nil
	})
	add(&files.trust, func(first int, a *largemvc.Assignments) ([]dataset.Column, error) {
		return trustColumns(in, first, a.Trust), nil
	})
	return out
}

// write writes a block of samples, whose numbers begin with first.
func (f *rowFile) write(in *input, first int, a *largemvc.Assignments) error {
	columns, err := f.columns(first, a)
	if err != nil {
		return err
	}
	head := f.head
	f.head = 0
	return writeBlock(f.to, f.path, head, in.withIDs(first, columns), columns[1:])
}

// ownRows are the rows of this process.
type ownRows struct {
	*input
	world world
	own   rowRange
	bar   *progress.Bar
}

// labelRows labels the samples of this process in one pass over the rows, writes the files and sums the labels up in p.
func (o *predictOptions) labelRows(
	ctx context.Context, model *largemvc.Predictor, p *prediction, of ownRows, files []*rowFile,
) error {
	began := time.Now()
	return of.own.placed(o.withResults(model).AssignRows(ctx, of.views, func(first int, a *largemvc.Assignments) error {
		p.Device, p.DeviceWhy = o.ranOn(a.Ran)
		for _, k := range a.Labels {
			p.ClusterSizes[k]++
		}
		p.count(a)
		if of.labels != nil {
			p.Labels = append(p.Labels, a.Labels...)
		}
		of.bar.ShowLeft(first+len(a.Labels), of.own.hi-of.own.lo, "labelling", time.Since(began), 0)
		for _, f := range files {
			if err := f.write(of.input, of.own.lo+first, a); err != nil {
				return err
			}
		}
		return nil
	}))
}

// bins is the number of thousandths from 0 to 1, by which samples are counted where their values are not kept.
const bins = 1001

// count counts samples by their confidence, by their novelty, and those that are novel.
func (p *prediction) count(a *largemvc.Assignments) {
	for k, values := range [][]float64{a.Confidence, a.Novelty} {
		for _, x := range values {
			p.counts[k*bins+int(max(0, min(x, 1))*(bins-1))]++
			if k > 0 && x > novelAbove {
				p.counts[2*bins]++
			}
		}
	}
}

// setMedians sets what the counts of all processes say: medians to a thousandth, of two middle values the lower one.
func (p *prediction) setMedians(counts []int) {
	middle := func(counts []int) (median *float64, total int) {
		for _, n := range counts {
			total += n
		}
		below := 0
		for i, n := range counts {
			if below += n; n > 0 && 2*below >= total {
				return number(float64(i) / (bins - 1)), total
			}
		}
		return nil, 0
	}
	p.Confidence, _ = middle(counts[:bins])
	var n int
	if p.Novelty, n = middle(counts[bins : 2*bins]); n > 0 {
		p.Novel = number(float64(counts[2*bins]) / float64(n))
	}
}

// checkBlockFiles refuses files that cannot be written block by block.
func (o *predictOptions) checkBlockFiles() error {
	for _, f := range []struct {
		name, path string
		endings    []string
	}{
		{"embedding", o.embedding, []string{".npz"}}, {"memberships", o.members, []string{".npz"}},
		{"out", o.out, []string{".parquet"}}, {"trust", o.trust, []string{".parquet"}},
	} {
		if o.fromDisk && slices.Contains(f.endings, ending(f.path)) {
			return usagef("predict: -%s %s: with -from-disk or -mpi the file is written block by block, which %s does not "+
				"allow: name a file .csv%s", f.name, f.path, filepath.Ext(f.path), orArray(f.name))
		}
	}
	return nil
}

// orArray names the other ending that a file can have.
func orArray(flag string) string {
	if flag == "trust" {
		return ""
	}
	return " or " + arrayEnding
}

// shortened leaves out the first bytes that it is given.
type shortened struct {
	to  io.Writer
	out int // bytes that are still to be left out
}

func (s *shortened) Write(b []byte) (int, error) {
	k := min(s.out, len(b))
	s.out -= k
	n, err := s.to.Write(b[k:])
	return k + n, err
}

// lengthOfHead returns the bytes of the names of columns in CSV.
func lengthOfHead(columns []dataset.Column) int {
	var b bytes.Buffer
	names := slices.Clone(columns)
	for k := range names {
		names[k].Data = []int{}
	}
	_ = dataset.EncodeCSV(&b, names...) // a Buffer has no errors
	return b.Len()
}

// writeBlock writes rows of columns, or to an array the values. The file has head rows, and these are its first; 0: they are not.
func writeBlock(to io.Writer, path string, head int, columns, values []dataset.Column) error {
	if ending(path) != arrayEnding {
		without := 0
		if head == 0 {
			without = lengthOfHead(columns)
		}
		return dataset.EncodeCSV(&shortened{to, without}, columns...)
	}
	kind, shape := "<f8", fmt.Sprintf("(%d, %d)", head, len(values))
	labels, isLabels := values[0].Data.([]int)
	if isLabels {
		kind, shape = "<i8", fmt.Sprintf("(%d,)", head)
	}
	var b []byte
	if head > 0 {
		b = append(b, arrayHead(kind, shape)...)
	}
	for _, label := range labels {
		b = binary.LittleEndian.AppendUint64(b, uint64(label))
	}
	for i := 0; !isLabels && i < len(values[0].Data.([]float64)); i++ {
		for _, c := range values {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.Data.([]float64)[i]))
		}
	}
	_, err := to.Write(b)
	return err
}
