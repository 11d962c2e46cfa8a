package view

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestTake takes rows of the same values held in all ways.
func TestTake(t *testing.T) {
	values := []float64{1, 0, 2, 0, 0, 3, 4, 5, 0, 0, 0, 0}
	f32 := make([]float32, len(values))
	for i, x := range values {
		f32[i] = float32(x)
	}
	present := []bool{true, false, true, true}
	for name, v := range map[string]View{
		"float64": {F64: values}, "float32": {F32: f32}, "matrix": {Matrix: mat.NewDense(4, 3, values)},
		"sparse":   {Sparse: &CSR{Ptr: []int{0, 2, 3, 5, 5}, Cols: []int32{0, 2, 2, 0, 1}, F64: []float64{1, 2, 3, 4, 5}}},
		"sparse32": {Sparse: &CSR{Ptr: []int{0, 2, 3, 5, 5}, Cols: []int32{0, 2, 2, 0, 1}, F32: []float32{1, 2, 3, 4, 5}}},
	} {
		v.Rows, v.Cols, v.Present = 4, 3, present
		for _, samples := range [][]int{{2, 0, 2}, {3}, {}} {
			got := v.Take(samples)
			if got.Rows != len(samples) || got.Cols != 3 || got.Given {
				t.Errorf("%s: %d×%d, given %v", name, got.Rows, got.Cols, got.Given)
			}
			if got.Sparse != nil {
				if err := got.Sparse.Check(got.Rows, 3, len(got.Sparse.F32)+len(got.Sparse.F64)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			row := make([]float64, 3)
			for k, i := range samples {
				if got.Row(k, row); !slices.Equal(row, values[3*i:3*i+3]) || got.Has(k) != present[i] {
					t.Errorf("%s: row %d is %v, %v", name, i, row, got.Has(k))
				}
			}
		}
	}
}
