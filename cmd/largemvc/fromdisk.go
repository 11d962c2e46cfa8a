package main

import (
	"bufio"
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

	"gonum.org/v1/gonum/mat"

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

// labelRows writes the labels of the samples of this process, and sums them up in p. writeRanks gives head.
func (o *predictOptions) labelRows(
	ctx context.Context, model *largemvc.Predictor, p *prediction, of ownRows, to io.Writer, head int,
) error {
	b, began := bufio.NewWriterSize(to, 1<<16), time.Now()
	err := model.AssignRows(ctx, of.input.views, func(first int, a *largemvc.Assignments) error {
		p.Device, p.DeviceWhy = o.ranOn(a.Ran)
		for _, k := range a.Labels {
			p.ClusterSizes[k]++
		}
		if of.labels != nil {
			p.Labels = append(p.Labels, a.Labels...)
		}
		of.bar.ShowLeft(first+len(a.Labels), of.own.hi-of.own.lo, "labelling", time.Since(began), 0)
		if o.out == "" {
			return nil
		}
		lo := of.own.lo + first
		columns := (&labelled{a, model.ClassNames, nil}).columns(lo)
		begins, values := head, columns[1:2] // the labels
		head = 0
		return writeBlock(b, o.out, begins, of.withIDs(lo, columns), values)
	})
	return errors.Join(err, b.Flush())
}

// blockRows is the number of samples of a block. Tests make it smaller.
var blockRows = pieceRows

// blockFile is a file of columns about samples that are found and written block by block: -embedding, -memberships, -trust.
type blockFile struct {
	out     *output
	columns blockColumns
}

// blockColumns returns columns about the samples of a block, whose numbers begin with first. Column 0 has these numbers.
type blockColumns func(ctx context.Context, first int, views []largemvc.View) ([]dataset.Column, error)

// blockFiles are the files beside -out that predict writes with -from-disk.
func (o *predictOptions) blockFiles(files *predictOutputs, model *largemvc.Predictor, in *input) []blockFile {
	memberships := func(ctx context.Context, views []largemvc.View) (mat.Matrix, error) {
		h, err := model.Transform(ctx, views)
		if err != nil {
			return nil, err
		}
		return model.Memberships(ctx, h)
	}
	trust := func(ctx context.Context, first int, views []largemvc.View) ([]dataset.Column, error) {
		x, err := model.ViewTrust(ctx, views)
		if err != nil {
			return nil, err
		}
		return trustColumns(in, first, x), nil
	}
	return []blockFile{
		{&files.embedding, embeddingFile(o.embedding).found(model.Transform)},
		{&files.memberships, membershipsFile(o.members).found(memberships)},
		{&files.trust, trust},
	}
}

// found returns a function that finds the columns of the matrix for a block.
func (f matrixFile) found(find func(context.Context, []largemvc.View) (mat.Matrix, error)) blockColumns {
	return func(ctx context.Context, first int, views []largemvc.View) ([]dataset.Column, error) {
		x, err := find(ctx, views)
		if err != nil {
			return nil, err
		}
		return f.columns(first, x), nil
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
		if o.fromDisk && slices.Contains(f.endings, filepath.Ext(f.path)) {
			return usagef("predict: -%s %s: with -from-disk and -mpi the file is written block by block, which %s does not "+
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

// ownRows are the rows of this process.
type ownRows struct {
	*input
	own   rowRange
	block func(lo, hi int) ([]largemvc.View, error) // the rows lo to hi−1
	bar   *progress.Bar
}

// writeFiles labels the samples of this process and writes -out, then the other files. The result is summed up in p.
func (o *predictOptions) writeFiles(
	ctx context.Context, files *predictOutputs, model *largemvc.Predictor, p *prediction, of ownRows,
	write func(out *output, rows func(to io.Writer, head int) error) error,
) error {
	others := slices.DeleteFunc(o.blockFiles(files, model, of.input), func(f blockFile) bool { return f.out.path == "" })
	for _, f := range others { // what the model does not know is an error before all samples are labelled
		if err := f.try(ctx, of); err != nil {
			return err
		}
	}
	err := write(&files.labels, func(to io.Writer, head int) error {
		return of.own.placed(o.labelRows(ctx, model, p, of, to, head))
	})
	for _, f := range others {
		if err == nil {
			err = write(f.out, func(to io.Writer, head int) error { return f.write(ctx, to, head, of) })
		}
	}
	return err
}

// try finds the columns of the first sample.
func (f blockFile) try(ctx context.Context, of ownRows) error {
	views, err := of.block(of.own.lo, of.own.lo+1)
	if err == nil {
		_, err = f.columns(ctx, of.own.lo, views)
	}
	return of.own.placed(err)
}

// write writes the blocks of the rows of this process. writeRanks gives head.
func (f blockFile) write(ctx context.Context, to io.Writer, head int, of ownRows) error {
	b, began := bufio.NewWriterSize(to, 1<<16), time.Now()
	for lo := of.own.lo; lo < of.own.hi; lo += blockRows {
		hi := min(lo+blockRows, of.own.hi)
		views, err := of.block(lo, hi)
		if err != nil {
			return err
		}
		columns, err := f.columns(ctx, lo, views)
		if err != nil {
			return rowRange{lo, hi}.placed(err)
		}
		if err := writeBlock(b, f.out.path, head, of.withIDs(lo, columns), columns[1:]); err != nil {
			return err
		}
		head = 0
		of.bar.ShowLeft(hi-of.own.lo, of.own.hi-of.own.lo, f.out.flag, time.Since(began), 0)
	}
	return b.Flush()
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
	if filepath.Ext(path) != arrayEnding {
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
