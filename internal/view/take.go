package view

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Take returns the given samples of the view, in their order: a copy, but of a Matrix, which is looked at where it is. Rows of
// a Source that cannot be read are NaN. Take panics if there is no such sample.
func (v View) Take(samples []int) View {
	out, _ := v.TakeRead(samples)
	return out
}

// TakeRead is Take with the error of a Source that is not bound, which does not name the view.
func (v View) TakeRead(samples []int) (out View, err error) {
	for _, i := range samples { // slices would reach what lies behind their end
		if i < 0 || i >= v.Rows {
			panic(fmt.Sprintf("view: sample %d of a view of %d samples", i, v.Rows))
		}
	}
	out = v
	out.Rows, out.First, out.Given, out.order, out.numbers = len(samples), 0, false, nil, nil
	if v.Present != nil {
		out.Present = make([]bool, len(samples))
		for k, i := range samples {
			out.Present[k] = v.Present[i]
		}
	}
	switch {
	case v.Sparse != nil:
		out.Sparse = v.Sparse.take(samples)
	case v.F64 != nil:
		out.F64 = takeRows(v.F64, v.Cols, samples, v.order)
	case v.F32 != nil:
		out.F32 = takeRows(v.F32, v.Cols, samples, v.order)
	case v.Source != nil:
		out.Source = nil
		out.F32, err = v.takeRead(samples)
	case v.Matrix != nil:
		out.Matrix = someRows{v.Matrix, slices.Clone(samples)}
	}
	return out, err
}

func takeRows[T float32 | float64](x []T, cols int, samples []int, order Order) []T {
	out := make([]T, 0, len(samples)*cols)
	for _, i := range samples {
		if order != nil {
			i = order[i]
		}
		out = append(out, x[i*cols:(i+1)*cols]...)
	}
	return out
}

func (c *CSR) take(samples []int) *CSR {
	out := &CSR{Ptr: make([]int, len(samples)+1)}
	for k, i := range samples {
		lo, hi := c.Ptr[i], c.Ptr[i+1]
		out.Ptr[k+1] = out.Ptr[k] + hi - lo
		out.Cols = append(out.Cols, c.Cols[lo:hi]...)
		if c.F32 != nil {
			out.F32 = append(out.F32, c.F32[lo:hi]...)
		} else {
			out.F64 = append(out.F64, c.F64[lo:hi]...)
		}
	}
	if c.F32 != nil && out.F32 == nil {
		out.F32 = []float32{}
	}
	return out
}

// someRows is some rows of a matrix.
type someRows struct {
	of   mat.Matrix
	rows []int
}

func (s someRows) Dims() (int, int) {
	_, d := s.of.Dims()
	return len(s.rows), d
}

func (s someRows) At(i, j int) float64 { return s.of.At(s.rows[i], j) }

func (s someRows) T() mat.Matrix { return mat.Transpose{Matrix: s} }
