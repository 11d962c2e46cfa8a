package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/features"
	"github.com/largemvc/largemvc/internal/mnist"
)

// set is a data set, as the network and as the other methods take it.
type set struct {
	name       string
	n, classes int
	labels     []int
	classNames []string
	views      []largemvc.View
	matrices   []mat.Matrix
}

// matrix is a view in float32 as a mat.Matrix.
type matrix struct {
	n, d int
	x    []float32
}

func (m matrix) Dims() (r, c int)       { return m.n, m.d }
func (m matrix) At(i, j int) float64    { return float64(m.x[i*m.d+j]) }
func (m matrix) T() mat.Matrix          { return mat.Transpose{Matrix: m} }
func (m matrix) row(i int) []float32    { return m.x[i*m.d : (i+1)*m.d] }
func (m matrix) head(n int) matrix      { return matrix{n, m.d, m.x[:n*m.d]} }
func (m matrix) view() largemvc.View    { return largemvc.Float32View(m.n, m.d, m.x) }
func (m matrix) pick(rows []int) matrix { return pickRows(m, rows) }
func (m matrix) Row(dst []float64, i int) []float64 {
	if dst == nil {
		dst = make([]float64, m.d)
	}
	for j, a := range m.row(i) {
		dst[j] = float64(a)
	}
	return dst
}

func pickRows(m matrix, rows []int) matrix {
	out := matrix{len(rows), m.d, make([]float32, 0, len(rows)*m.d)}
	for _, i := range rows {
		out.x = append(out.x, m.row(i)...)
	}
	return out
}

func newSet(name string, views []matrix, labels []int, classNames []string) *set {
	d := &set{name: name, n: len(labels), labels: labels, classes: len(classNames), classNames: classNames}
	for _, m := range views {
		d.views = append(d.views, m.view())
		d.matrices = append(d.matrices, m)
	}
	return d
}

// pick returns the set of some of the samples.
func (d *set) pick(rows []int) *set {
	views, labels := make([]matrix, len(d.matrices)), make([]int, len(rows))
	for v, m := range d.matrices {
		views[v] = m.(matrix).pick(rows)
	}
	for k, i := range rows {
		labels[k] = d.labels[i]
	}
	return newSet(d.name, views, labels, d.classNames)
}

// shape describes the set in captions.
func (d *set) shape() string {
	widths := make([]string, len(d.views))
	for v, x := range d.views {
		_, w := x.Dims()
		widths[v] = fmt.Sprint(w)
	}
	return fmt.Sprintf("%d samples, views of %s, %d classes", d.n, strings.Join(widths, "/"), d.classes)
}

// openSets opens the file or the files of the folder that hold complete multi-view data with labels, in the order of
// their names; what cannot be used is named on standard error.
func openSets(ctx context.Context, s *study) ([]*set, error) {
	var wanted []string
	if s.only != "" {
		wanted = strings.Split(s.only, ",")
	}
	if s.data == "" {
		d, err := mnistSet(ctx, mnistSamples(s.quick))
		if err != nil {
			return nil, err
		}
		return []*set{d}, nil
	}
	info, err := os.Stat(s.data)
	if err != nil {
		return nil, err
	}
	paths := []string{s.data}
	if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(s.data, "*.*")); err != nil {
			return nil, err
		}
		sort.Strings(paths)
	}
	var out []*set
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		if wanted != nil && !slices.Contains(wanted, name) {
			continue
		}
		if ext := filepath.Ext(path); info.IsDir() && ext != ".npz" && ext != ".mat" && ext != ".h5" {
			continue
		}
		d, err := openSet(path, name)
		if err != nil {
			if !info.IsDir() {
				return nil, err
			}
			fmt.Fprintf(s.stderr, "left out %s: %v\n", name, err)
			continue
		}
		if s.limit > 0 && d.n > s.limit {
			fmt.Fprintf(s.stderr, "left out %s: %d samples\n", name, d.n)
			continue
		}
		out = append(out, d)
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(out, func(d *set) bool { return d.name == name }) {
			return nil, fmt.Errorf("no set %q in %s", name, s.data)
		}
	}
	return out, nil
}

func openSet(path, name string) (*set, error) {
	data, err := dataset.Open(path, dataset.Options{Float: 32, Storage: dataset.AllDense})
	if err != nil {
		return nil, err
	}
	switch {
	case data.Labels == nil:
		return nil, fmt.Errorf("no labels")
	case data.Present != nil:
		return nil, fmt.Errorf("the data are incomplete")
	}
	views := make([]matrix, len(data.Views))
	for v, x := range data.Views {
		views[v] = matrix{x.Rows, x.Cols, x.Float32}
	}
	return newSet(name, views, data.Labels, data.LabelNames), nil
}

// mnistSamples is how many digits stand in for data.
func mnistSamples(quick bool) int {
	if quick {
		return 3000
	}
	return mnist.TrainingImages
}

// mnistSet makes three views of the first n MNIST digits: pixels, histograms of gradients and of local binary patterns.
func mnistSet(ctx context.Context, n int) (*set, error) {
	folder, err := mnist.Folder()
	if err != nil {
		return nil, err
	}
	digits, err := mnist.Training(folder, n)
	if err != nil {
		return nil, err
	}
	const cell = 7
	hog, err := features.NewHOG(digits.Width, digits.Height, cell, 2, 9)
	if err != nil {
		return nil, err
	}
	lbp, err := features.NewLBP(digits.Width, digits.Height, cell)
	if err != nil {
		return nil, err
	}
	var views []matrix
	for _, descriptor := range []features.Descriptor{features.Pixels(digits.Width * digits.Height), hog, lbp} {
		x, err := features.All(ctx, descriptor, digits.Pixels, digits.Len(), 0)
		if err != nil {
			return nil, err
		}
		views = append(views, matrix{digits.Len(), descriptor.Len(), x})
	}
	names := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	return newSet(fmt.Sprintf("mnist-%d", digits.Len()), views, digits.Labels, names), nil
}
