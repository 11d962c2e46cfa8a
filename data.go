package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Data has the views of n samples, in float32 or float64, and which sample has which view. It is read-only; networks may
// share it.
type Data struct {
	of      tensor.Dtype
	samples int
	dims    []int
	present [][]bool // n×V, nil where every sample has every view
	processes

	// What the weights of the loss depend on, per view.
	lossDims []int     // the d_v of the mean, from before any rotation of the view to fewer columns
	counts   []int     // n_v, the samples that have it
	squares  []float64 // ‖X_v‖²_F

	single []*unfold.View[float32] // the views, in one of the two, by of
	double []*unfold.View[float64]
}

// processes are the groups of those that do a fit together. The zero value stands for one process.
type processes struct {
	group *ranks.Group // that hold the other samples; nil: these are all
	team  *ranks.Group // that train together, even where each has all samples
}

// NewData returns a copy of the views (n×d_v, rows are samples) in the element type of: tensor.Float32 or tensor.Float64.
// present[i][v] reports whether sample i has view v; absent rows may hold any values. With present nil every sample has every
// view.
//
// NewData returns an error if there are no views, if they differ in n, if an entry of a present row is NaN or infinite in the
// element type, if a sample has no view, or if a view has no sample.
func NewData(of tensor.Dtype, views []mat.Matrix, present [][]bool) (*Data, error) {
	switch of {
	case tensor.Float32:
		return copyData[float32](views, present)
	case tensor.Float64:
		return copyData[float64](views, present)
	}
	return nil, fmt.Errorf("largemvc: the element type is %v, want tensor.Float32 or tensor.Float64", of)
}

func copyData[T kernel.Float](views []mat.Matrix, present [][]bool) (*Data, error) {
	if len(views) == 0 {
		return nil, view.Wrong(-1, -1, "largemvc: no views")
	}
	for v, x := range views {
		if x == nil {
			return nil, view.Wrong(v, -1, "largemvc: view %d is nil", v)
		}
		n, d, err := rows.Dims(x)
		if err != nil {
			return nil, view.Wrong(v, -1, "largemvc: view %d: %w", v, err)
		}
		if n == 0 || d == 0 {
			return nil, view.Wrong(v, -1, "largemvc: view %d is %d×%d", v, n, d)
		}
	}
	n, _ := views[0].Dims()
	for v, x := range views {
		if k, _ := x.Dims(); k != n {
			return nil, view.Wrong(v, -1, "largemvc: view %d has %s, view 0 has %d", v, textfile.Count(k, "sample"), n)
		}
	}
	if err := checkPresent(n, len(views), present); err != nil {
		return nil, err
	}
	x := make([]rows.Matrix[T], len(views))
	for v, src := range views {
		var err error
		if x[v], err = copyView[T](v, src, present); err != nil {
			return nil, err
		}
	}
	return newData(context.Background(), processes{}, x, cloned(present), nil)
}

// cloned returns a copy of rows; nil of nil.
func cloned(rows [][]bool) [][]bool {
	out := slices.Clone(rows)
	for i, row := range out {
		out[i] = slices.Clone(row)
	}
	return out
}

// copyView returns a copy of the rows of a view's matrix, with zeros in absent rows. A custom At may panic.
func copyView[T kernel.Float](v int, src mat.Matrix, present [][]bool) (_ rows.Matrix[T], err error) {
	var i, j int
	defer func() {
		if p := recover(); p != nil {
			err = unreadable(fmt.Sprintf("view %d, row %d, column %d", v, i, j), p)
		}
	}()
	n, d := src.Dims()
	dst := make([]T, n*d)
	for i = range n {
		if present != nil && !present[i][v] {
			continue
		}
		for j = range d {
			at := src.At(i, j)
			e := T(at)
			if math.IsNaN(float64(e)) || math.IsInf(float64(e), 0) {
				return nil, &InputError{View: v, Row: i, Column: j,
					Err: fmt.Errorf("largemvc: view %d, row %d, column %d is %v", v, i, j, at)}
			}
			dst[i*d+j] = e
		}
	}
	return rows.NewDense(n, d, d, dst), nil
}

// checkEntries refuses a matrix with an entry that is not finite (single: in float32), or with an At that panics.
func checkEntries(what string, x mat.Matrix, single bool) (err error) {
	var i, j int
	defer func() {
		if p := recover(); p != nil {
			err = unreadable(fmt.Sprintf("row %d, column %d of %s", i, j, what), p)
		}
	}()
	n, d := x.Dims()
	for i = range n {
		for j = range d {
			if e := x.At(i, j); finite("", e, single) != nil {
				return finite(fmt.Sprintf("row %d, column %d of %s", i, j, what), e, single)
			}
		}
	}
	return nil
}

// unreadable is the error for an entry of a matrix whose At panics.
func unreadable(where string, panicked any) error {
	return fmt.Errorf("largemvc: %s cannot be read: %w", where, parallel.Panicked(panicked))
}

// newData makes Data of views that were checked; it keeps x and present. Absent rows must be zero. lossDims replaces the
// d_v of the loss where a view was rotated to fewer columns; nil means none was. What the loss depends on is measured on the
// samples of all ranks of the group.
func newData[T kernel.Float](
	ctx context.Context, with processes, x []rows.Matrix[T], present [][]bool, lossDims []int,
) (*Data, error) {
	if len(x) == 0 {
		return nil, errors.New("largemvc: no views")
	}
	n, _ := x[0].Dims()
	if with.group == nil { // with ranks, all samples of a view can be on other ranks
		if err := checkPresent(n, len(x), present); err != nil {
			return nil, err
		}
	}
	data := &Data{
		of: op.Dtype[T](), samples: n, dims: make([]int, len(x)), lossDims: lossDims, present: present,
		processes: with,
	}
	typed := make([]*unfold.View[T], len(x))
	for v, r := range x {
		k, d := r.Dims()
		if k != n {
			return nil, view.Wrong(v, -1, "largemvc: view %d has %s, view 0 has %d", v, textfile.Count(k, "sample"), n)
		}
		w, err := unfold.NewView(r, present, v)
		if err != nil {
			return nil, err
		}
		square, err := ranks.Sum(ctx, data.group, "the squares of a view", 1, w.Norms)
		if err != nil {
			return nil, err
		}
		data.dims[v], typed[v] = d, w
		data.counts, data.squares = append(data.counts, w.Count), append(data.squares, square)
	}
	if err := data.group.SumInts("the samples of each view", data.counts); err != nil {
		return nil, err
	}
	for v, count := range data.counts {
		if data.group != nil && count == data.group.Total(n) {
			typed[v].Present = nil // on every rank
		}
	}
	if lossDims == nil {
		data.lossDims = data.dims
	}
	switch t := any(typed).(type) {
	case []*unfold.View[float32]:
		data.single = t
	case []*unfold.View[float64]:
		data.double = t
	}
	return data, nil
}

// checkPresent checks the size of a presence mask, and that every sample has a view and every view a sample.
func checkPresent(n, views int, present [][]bool) error {
	if n == 0 {
		return view.Wrong(-1, -1, "largemvc: no samples")
	}
	if present == nil {
		return nil
	}
	if len(present) != n {
		return view.Wrong(-1, -1, "largemvc: present has %d rows for %d samples", len(present), n)
	}
	count := make([]int, views)
	for i, row := range present {
		if len(row) != views {
			return view.Wrong(-1, i, "largemvc: present[%d] has %s for %d views", i,
				textfile.Count(len(row), "value"), views)
		}
		any := false
		for v, b := range row {
			if b {
				count[v]++
				any = true
			}
		}
		if !any {
			return view.Wrong(-1, i, "largemvc: sample %d has no view", i)
		}
	}
	for v, c := range count {
		if c == 0 {
			return view.Wrong(v, -1, "largemvc: no sample has view %d", v)
		}
	}
	return nil
}

// Samples returns n, the number of samples.
func (d *Data) Samples() int { return d.samples }

// Views returns V, the number of views.
func (d *Data) Views() int { return len(d.dims) }

// Dims returns the number of features of every view, in a new slice.
func (d *Data) Dims() []int { return append([]int(nil), d.dims...) }

// Dtype returns the element type, tensor.Float32 or tensor.Float64.
func (d *Data) Dtype() tensor.Dtype { return d.of }

// Present reports whether sample i has view v.
func (d *Data) Present(i, v int) bool { return d.present == nil || d.present[i][v] }

// Complete reports whether every sample has every view.
func (d *Data) Complete() bool { return d.present == nil }

// matrix is a matrix of results in the arithmetic of the fit.
type matrix struct {
	rows, cols, stride int
	f32                []float32
	f64                []float64
}

var _ mat.Matrix = (*matrix)(nil)

func resultMatrix[T kernel.Float](rows, cols, stride int, x []T) *matrix {
	m := &matrix{rows: rows, cols: cols, stride: stride}
	switch x := any(x).(type) {
	case []float32:
		m.f32 = x
	case []float64:
		m.f64 = x
	}
	return m
}

// add appends the rows of another matrix, making room for n rows in all when the first ones come.
func (m *matrix) add(x *matrix, n int) {
	if m.rows == 0 {
		m.cols, m.stride = x.cols, x.stride
		m.f32, m.f64 = slices.Grow(m.f32, n*x.stride*min(len(x.f32), 1)), slices.Grow(m.f64, n*x.stride*min(len(x.f64), 1))
	}
	m.rows, m.f32, m.f64 = m.rows+x.rows, append(m.f32, x.f32...), append(m.f64, x.f64...)
}

// joined returns the rows of m and then those of x, for n rows in all; m may be nil.
func (m *matrix) joined(x *matrix, n int) *matrix {
	switch {
	case m == nil && x.rows == n:
		return x
	case m == nil:
		m = &matrix{}
	}
	m.add(x, n)
	return m
}

// window returns a copy of the rows from lo to hi−1.
func (m *matrix) window(lo, hi int) *matrix {
	out := &matrix{rows: hi - lo, cols: m.cols, stride: m.stride}
	if m.f32 != nil {
		out.f32 = slices.Clone(m.f32[lo*m.stride : hi*m.stride])
	} else {
		out.f64 = slices.Clone(m.f64[lo*m.stride : hi*m.stride])
	}
	return out
}

// Dims returns the number of rows and columns.
func (m *matrix) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns the entry in row i and column j. It panics if there is none, as gonum's matrices do.
func (m *matrix) At(i, j int) float64 {
	if uint(i) >= uint(m.rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(m.cols) {
		panic(mat.ErrColAccess)
	}
	if m.f32 != nil {
		return float64(m.f32[i*m.stride+j])
	}
	return m.f64[i*m.stride+j]
}

// String returns the size.
func (m *matrix) String() string { return fmt.Sprintf("a %d×%d matrix", m.rows, m.cols) }

// T returns the transpose.
func (m *matrix) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// weights returns the w_v of the data's views.
func (r Reduction) weights(d *Data) []float64 {
	out := make([]float64, d.Views())
	for v, square := range d.squares {
		switch r {
		case ReductionRelative:
			if square > 0 {
				out[v] = 1 / (float64(d.Views()) * square)
			}
		default:
			out[v] = 1 / (float64(d.counts[v]) * float64(d.lossDims[v]))
		}
	}
	return out
}
