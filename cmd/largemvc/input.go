package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/suspect"
	"github.com/largemvc/largemvc/internal/textfile"
)

// input is a data set as the network takes it.
type input struct {
	views      []largemvc.View
	names      []string
	labels     []int // nil: not known
	classNames []string
	classes    int
	samples    int
	dims       []int
	missing    float64  // share of the view rows that are absent
	ids        []string // of the samples, nil without
	reading    dataset.Reading
	readFor    time.Duration // with -mpi
	close      func() error  // of what is read while it is used; nil: nothing is
	shards     *shards       // the rows of all processes; nil without -mpi
}

// closing adds the error of closing what was read to err.
func (in *input) closing(err error) error {
	if in.close == nil {
		return err
	}
	return errors.Join(err, in.close())
}

// newDiskInput gives a set whose views stay on disk to the network.
func (o *dataOptions) newDiskInput(set *dataset.RowSet) (*input, error) {
	x, err := views.OfRows(set)
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	in := &input{views: x, labels: set.Labels, classNames: set.LabelNames, classes: len(set.LabelNames),
		samples: set.Samples(), missing: set.MissingRate(), ids: set.IDs, reading: set.Reading, close: set.Close}
	for _, v := range x {
		_, d := v.Dims()
		in.dims, in.names = append(in.dims, d), append(in.names, v.Name())
	}
	return in, nil
}

// newInput gives a set to the network, without a copy of its values.
func newInput(set *dataset.Set) (*input, error) {
	x, err := views.Of(set)
	if err != nil {
		return nil, err
	}
	in := &input{views: x, labels: set.Labels, classNames: set.LabelNames, classes: set.Classes(),
		samples: set.Samples(), dims: set.Dims(),
		missing: set.MissingRate(),
		ids:     set.IDs, reading: set.Reading}
	for _, v := range x {
		in.names = append(in.names, v.Name())
	}
	return in, nil
}

// read reads the data and completes the configuration with what depends on them. The views have the only copy of the
// values: the fit may overwrite them.
func read(ctx context.Context, o *fitOptions) (*input, error) {
	if o.fromDisk && o.sharded() {
		return o.partsOnDisk(ctx)
	}
	if o.fromDisk {
		set, err := dataset.OpenRows(ctx, o.data, o.options(32))
		if err != nil {
			return nil, err
		}
		(&spooled{}).renameReading(&set.Reading)
		return o.newDiskInput(set)
	}
	set, err := o.open(ctx, bits(o.config.Float64))
	if err != nil {
		return nil, err
	}
	return newInput(set)
}

// complete fills and checks what of the configuration depends on the data.
func complete(ctx context.Context, o *fitOptions, in *input) error {
	c := &o.config
	c.Machine.Overwrite = !o.looksAgain()
	if o.trust != "" && len(in.views) < 2 {
		return usagef("fit: -trust compares the views of a sample with each other, and %s has one view only", o.data[0])
	}
	if err := o.readKnown(ctx, in); err != nil {
		return err
	}
	if o.resume != "" {
		return o.readStart(ctx, in, in.samples)
	}
	if c.Clusters == 0 {
		if c.Clusters = in.classes; c.Clusters == 0 {
			return usagef("fit: the number of clusters is missing, and %s has no labels to count classes in: give -clusters a "+
				"number or auto", o.data[0])
		}
	}
	c.Anchors = c.WithDefaults().Anchors
	if c.Clusters > in.samples {
		return usagef("fit: -clusters is %d, and the data have only %s", c.Clusters, count(in.samples, "sample"))
	}
	return o.readStart(ctx, in, c.Anchors)
}

// readStart reads the labels of -start FILE, from 0 to m-1.
func (o *fitOptions) readStart(ctx context.Context, in *input, m int) (err error) {
	if o.startFile() != "" {
		o.config.StartLabels, err = o.readStartLabels(ctx, o.start, in.samples, m, in.ids)
	}
	return err
}

// say prints how the data were read, a line for each thing.
func say(w io.Writer, r *dataset.Reading) error {
	_, err := io.WriteString(w, r.String()+"\n")
	return err
}

// warnings prints what may be wrong with the data alone.
func warnings(w io.Writer, r *dataset.Reading) {
	warn(w, r.Warnings)
}

// unsaid leaves out the notes of a fit on views with the same values where the reading, which knows the files, has warned of
// them.
func unsaid(notes, warnings []string) []string {
	if !slices.ContainsFunc(warnings, func(s string) bool { return strings.HasSuffix(s, suspect.GivenTwice) }) {
		return notes
	}
	return slices.DeleteFunc(slices.Clone(notes), func(s string) bool { return strings.HasSuffix(s, suspect.CountsTwice) })
}

func warn(w io.Writer, texts []string) {
	for _, text := range texts {
		fmt.Fprintln(w, "largemvc: warning: "+textfile.Printable(text))
	}
}

// withIDs puts before columns the ids of their samples, if these have some. The number of the first sample is given.
func (in *input) withIDs(first int, columns []dataset.Column) []dataset.Column {
	if in.ids == nil {
		return columns
	}
	n := len(columns[0].Data.([]int)) // the numbers of the samples
	return withIDs(&in.reading, in.ids[first:first+n], columns)
}
