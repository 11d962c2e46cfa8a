package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// input is a data set as the fit takes it.
type input struct {
	views   []largemvc.View
	labels  []int // nil: not known
	classes int
	samples int
	dims    []int
}

// read reads the data and completes the configuration with what depends on them. The views have the only copy of the
// values: the fit may overwrite them.
func read(o *fitOptions) (*input, error) {
	options := dataset.Options{Float: 32}
	if o.config.Float == largemvc.Float64 {
		options.Float = 64
	}
	set, err := dataset.OpenFiles(o.data, options)
	if err != nil {
		return nil, err
	}
	in := &input{labels: set.Labels, classes: set.Classes(), samples: set.Samples(), dims: set.Dims()}
	for i := range set.Views {
		in.views = append(in.views, asView(&set.Views[i]))
	}
	if set.Present != nil {
		if in.views, err = largemvc.Mask(in.views, set.Present); err != nil {
			return nil, err
		}
	}
	return in, complete(o, in)
}

// asView returns a view of a data set without a copy of its values.
func asView(v *dataset.View) largemvc.View {
	var view largemvc.View
	switch {
	case v.Sparse != nil && v.Sparse.Float64 != nil:
		view = largemvc.SparseView(v.Rows, v.Cols, v.Sparse.RowPtr, v.Sparse.Col, v.Sparse.Float64)
	case v.Sparse != nil:
		view = largemvc.SparseView(v.Rows, v.Cols, v.Sparse.RowPtr, v.Sparse.Col, v.Sparse.Float32)
	case v.Float64 != nil:
		view = largemvc.Float64View(v.Rows, v.Cols, v.Float64)
	default:
		view = largemvc.Float32View(v.Rows, v.Cols, v.Float32)
	}
	return view.Named(v.Name)
}

// complete fills and checks what of the configuration depends on the data.
func complete(o *fitOptions, in *input) error {
	c := &o.config
	c.Overwrite = true
	if o.resume != "" {
		return nil
	}
	if c.Clusters == 0 {
		if c.Clusters = in.classes; c.Clusters == 0 {
			return usagef("fit: %s holds no labels to count the classes of: say with -clusters how many clusters there are", o.data[0])
		}
	}
	if c.Anchors == 0 {
		c.Anchors = c.Clusters
	}
	if c.Clusters > in.samples {
		return usagef("fit: %d clusters for %d samples", c.Clusters, in.samples)
	}
	if c.Anchors > in.samples {
		return usagef("fit: %d anchors for %d samples", c.Anchors, in.samples)
	}
	if o.startLabels == "" {
		return nil
	}
	var err error
	c.StartLabels, err = readStartLabels(o.startLabels, in.samples, c.Anchors)
	return err
}

// readStartLabels reads n labels from 0 to m−1 from the column label, or the only column, of a CSV file. Where it has a
// column sample too, that must count the samples from 0.
func readStartLabels(path string, n, m int) ([]int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.ReuseRecord = true
	label, sample := 0, -1
	labels := make([]int, 0, n)
	for line := 1; ; line++ {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if line == 1 {
			if at := slices.Index(record, "label"); at >= 0 {
				label, sample = at, slices.Index(record, "sample")
				continue
			}
			if len(record) > 1 {
				return nil, fmt.Errorf("%s: has %d columns, none of which is called label", path, len(record))
			}
		}
		l, err := strconv.Atoi(strings.TrimSpace(record[label]))
		if err != nil || l < 0 || l >= m {
			return nil, fmt.Errorf("%s: line %d: the label %q is no number from 0 to %d", path, line, record[label], m-1)
		}
		if sample >= 0 && strings.TrimSpace(record[sample]) != strconv.Itoa(len(labels)) {
			return nil, fmt.Errorf("%s: line %d: sample %q where %d was to come", path, line, record[sample], len(labels))
		}
		labels = append(labels, l)
	}
	if len(labels) != n {
		return nil, fmt.Errorf("%s: %d labels for %d samples", path, len(labels), n)
	}
	return labels, nil
}
