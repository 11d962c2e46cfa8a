package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// predictFromDisk labels samples that are read block by block, and writes the labels as they are found. Labels are kept only
// where there are classes to compare them with.
func (o *predictOptions) predictFromDisk(
	ctx context.Context, out *output, bar *progress.Bar, stdout, stderr io.Writer,
) (err error) {
	began := time.Now()
	model, err := largemvc.Load(o.model)
	if err != nil {
		return err
	}
	if by, err := views.Preparations(model); err != nil || by != nil {
		return cmp.Or(err, errors.New("the model fills or transforms values, which then must be in memory: leave out -from-disk"))
	}
	model = model.WithMachine(machine.Options{Workers: o.workers, Device: o.device})
	o.progress = readingProgress(bar, began)
	set, err := dataset.OpenRows(ctx, o.data, o.options(32))
	if err != nil {
		return cancelled(ctx, err)
	}
	in, err := o.newDiskInput(set)
	if err != nil {
		return err
	}
	defer func() { err = in.closing(err) }()
	if err := in.window(set, o.rows); err != nil {
		return err
	}
	read := time.Now()
	p := &prediction{
		Model: o.model, Samples: in.samples, Views: len(in.views), Dims: in.dims, MissingRate: in.missing,
		Clusters: model.Clusters, Float: bits(model.Config().Float64), Reading: &in.reading,
		ClusterSizes: make([]int, model.Clusters), ReadSeconds: read.Sub(began).Seconds(),
	}
	label := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		lines := &labelLines{first: o.rows.lo, array: filepath.Ext(out.path) == arrayEnding, classes: fieldsOf(model.ClassNames)}
		named := false
		var line []byte
		err := model.AssignRows(ctx, in.views, func(first int, a *largemvc.Assignments) error {
			p.Device, p.DeviceWhy = a.Ran.Device, a.Ran.Why
			if !named {
				b.WriteString(lines.head(in.samples, a))
				named = true
			}
			for i, k := range a.Labels {
				p.ClusterSizes[k]++
				line = lines.add(line[:0], first, i, a)
				if _, err := b.Write(line); err != nil {
					return err
				}
			}
			if in.labels != nil {
				p.Labels = append(p.Labels, a.Labels...)
			}
			bar.ShowLeft(first+len(a.Labels), in.samples, "labelling", time.Since(read), 0)
			return nil
		})
		return errors.Join(err, b.Flush())
	}
	if out.path == "" {
		err = label(io.Discard)
	} else {
		err = out.save(stdout, label)
	}
	bar.End()
	if err != nil {
		return cancelled(ctx, o.rows.placed(err))
	}
	p.PredictSeconds, p.PeakRSS = time.Since(read).Seconds(), peakMiB()
	if err := p.score(in); err != nil {
		return err
	}
	if out.path == standard {
		stdout = stderr
	}
	return p.print(stdout, stderr, o.json)
}

// labelLines writes labels as lines of CSV, or as an array of them alone.
type labelLines struct {
	first   int // number of the first sample
	array   bool
	classes []string // names, as in CSV
}

// add appends what is written of sample i of a block that begins with sample first.
func (l *labelLines) add(line []byte, first, i int, a *largemvc.Assignments) []byte {
	if l.array {
		return binary.LittleEndian.AppendUint64(line, uint64(a.Labels[i]))
	}
	line = strconv.AppendInt(line, int64(l.first+first+i), 10)
	line = strconv.AppendInt(append(line, ','), int64(a.Labels[i]), 10)
	if a.Confidence != nil {
		line = strconv.AppendFloat(append(line, ','), a.Confidence[i], 'g', -1, 64)
	}
	line = strconv.AppendFloat(append(line, ','), a.Novelty[i], 'g', -1, 64) // the models of files have it
	return append(appendClass(line, a.Classes, l.classes, i), '\n')
}

// head returns what precedes the labels of n samples: of an array its header, else the names of the columns.
func (l *labelLines) head(n int, a *largemvc.Assignments) string {
	if l.array {
		return arrayHead(n)
	}
	head := "sample,label,"
	if a.Confidence != nil {
		head += "confidence,"
	}
	head += "novelty"
	if a.Classes != nil {
		if head += ",class"; a.Classes.Confidence != nil {
			head += ",class_confidence"
		}
	}
	return head + "\n"
}

// appendClass appends to a line the class of sample i and its confidence, where they exist. names are the classes as in CSV.
func appendClass(line []byte, c *score.Classes, names []string, i int) []byte {
	if c == nil {
		return line
	}
	line = append(append(line, ','), className(names, c.Labels[i])...)
	if c.Confidence != nil {
		line = strconv.AppendFloat(append(line, ','), c.Confidence[i], 'g', -1, 64)
	}
	return line
}

// fieldsOf returns texts as fields of a CSV file.
func fieldsOf(texts []string) []string {
	out := make([]string, len(texts))
	for k, text := range texts {
		var b strings.Builder
		_ = dataset.EncodeCSV(&b, dataset.Column{Data: []string{text}}) // a Builder has no errors
		out[k] = b.String()[1 : b.Len()-1]                              // between the ends of the two lines
	}
	return out
}
