package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
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

// labelRows writes the labels of samples to w.
func (p *prediction) labelRows(
	ctx context.Context, model *largemvc.Predictor, in *input, lines *labelLines, w io.Writer, bar *progress.Bar,
) error {
	b, began := bufio.NewWriterSize(w, 1<<16), time.Now()
	var line []byte
	err := model.AssignRows(ctx, in.views, func(first int, a *largemvc.Assignments) error {
		if p.Device, p.DeviceWhy = a.Ran.Device, a.Ran.Why; first == 0 && lines.head > 0 {
			b.WriteString(lines.heading(a))
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
		bar.ShowLeft(first+len(a.Labels), lines.own.hi-lines.own.lo, "labelling", time.Since(began), 0)
		return nil
	})
	return errors.Join(err, b.Flush())
}

// labelLines writes labels as lines of CSV, or as an array of them alone.
type labelLines struct {
	own     rowRange // of the samples
	head    int      // labels of the file, which begins with a head; 0: there is none
	array   bool
	classes []string // names, as in CSV
	ids     []string // of all samples; nil: they have none
	idName  string   // of their column in the data
}

// add appends what is written of sample i of a block that begins with sample first.
func (l *labelLines) add(line []byte, first, i int, a *largemvc.Assignments) []byte {
	if l.array {
		return binary.LittleEndian.AppendUint64(line, uint64(a.Labels[i]))
	}
	if sample := l.own.lo + first + i; l.ids != nil {
		line = append(append(line, fieldsOf(l.ids[sample : sample+1])[0]...), ',')
	}
	line = strconv.AppendInt(line, int64(l.own.lo+first+i), 10)
	line = strconv.AppendInt(append(line, ','), int64(a.Labels[i]), 10)
	if a.Confidence != nil {
		line = strconv.AppendFloat(append(line, ','), a.Confidence[i], 'g', -1, 64)
	}
	line = strconv.AppendFloat(append(line, ','), a.Novelty[i], 'g', -1, 64) // the models of files have it
	return append(appendClass(line, a.Classes, l.classes, i), '\n')
}

// heading returns what precedes the labels: of an array its header, else the names of the columns.
func (l *labelLines) heading(a *largemvc.Assignments) string {
	if l.array {
		return arrayHead(l.head)
	}
	names := []string{"sample", "label"}
	if a.Confidence != nil {
		names = append(names, "confidence")
	}
	names = append(names, "novelty")
	if a.Classes != nil {
		if names = append(names, "class"); a.Classes.Confidence != nil {
			names = append(names, "class_confidence")
		}
	}
	if l.ids != nil {
		names = slices.Insert(names, 0, fieldsOf([]string{idName(l.idName, names)})[0])
	}
	return strings.Join(names, ",") + "\n"
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
