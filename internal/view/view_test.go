package view

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// holders are the same rows, n×d, in all that can hold them.
func holders(n, d int, x []float64) map[string]View {
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	wide := mat.NewDense(n, d+2, nil)
	wide.Slice(0, n, 1, d+1).(*mat.Dense).Copy(mat.NewDense(n, d, x))
	ptr, cols, values := testutil.Compressed[float64](n, d, x)
	_, _, narrow := testutil.Compressed[float32](n, d, x)
	return map[string]View{
		"float64":             {Rows: n, Cols: d, F64: x},
		"float32":             {Rows: n, Cols: d, F32: single},
		"columns of a matrix": {Rows: n, Cols: d, Matrix: wide.Slice(0, n, 1, d+1)},
		"sparse":              {Rows: n, Cols: d, Sparse: &CSR{Ptr: ptr, Cols: cols, F64: values}},
		"sparse float32":      {Rows: n, Cols: d, Sparse: &CSR{Ptr: ptr, Cols: cols, F32: narrow}},
	}
}

// A window of any view holds some of its samples, with their presence.
func TestWindow(t *testing.T) {
	const n, d = 9, 4
	x := testutil.Counts(n, d, 3)
	mask := []bool{true, false, true, true, false, false, true, true, false}
	for name, v := range holders(n, d, x) {
		for _, present := range [][]bool{nil, mask} {
			v.Name, v.Present = "name", present
			for lo := range n {
				for hi := lo + 1; hi <= n; hi++ {
					w := v.Window(lo, hi)
					if w.Rows != hi-lo || w.Cols != d || w.Name != "name" || (w.Present == nil) != (present == nil) {
						t.Fatalf("%s, samples %d to %d: %d×%d, %q", name, lo, hi, w.Rows, w.Cols, w.Name)
					}
					if s := w.Sparse; s != nil {
						if err := s.Check(hi-lo, d, len(s.F32)+len(s.F64)); err != nil {
							t.Fatal(err)
						}
					}
					for i := lo; i < hi; i++ {
						a, b := make([]float64, d), make([]float64, d)
						v.Row(i, a)
						w.Row(i-lo, b)
						if !slices.Equal(a, x[i*d:(i+1)*d]) || !slices.Equal(a, b) || v.Has(i) != w.Has(i-lo) {
							t.Fatalf("%s, samples %d to %d: row %d is %v, want %v", name, lo, hi, i-lo, b, a)
						}
					}
					if w.Matrix != nil && !mat.Equal(w.Matrix.T(), mat.DenseCopyOf(v.Matrix).Slice(lo, hi, 0, d).T()) {
						t.Fatalf("%s, samples %d to %d: another transpose", name, lo, hi)
					}
				}
			}
		}
	}
}

// The fingerprint is that of values and presence, not of what holds dense values, nor of the number of workers.
func TestFingerprint(t *testing.T) {
	const n, d = 2100, 3
	x := testutil.Counts(n, d, 3)
	of := func(v View, workers int) string {
		s, err := Fingerprint(context.Background(), nil, []View{v}, workers)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := holders(n, d, x)
	want := of(all["float64"], 1)
	for name, v := range all {
		if got := of(v, 3); (got == want) != (v.Sparse == nil) {
			t.Errorf("%s has the fingerprint %s, float64 has %s", name, got, want)
		}
	}
	changed := slices.Clone(x)
	changed[2099*d]++
	if of(View{Rows: n, Cols: d, F64: changed}, 1) == want {
		t.Error("another value, the same fingerprint")
	}
	present := slices.Repeat([]bool{true}, n)
	present[7] = false
	if of(View{Rows: n, Cols: d, F64: x, Present: present}, 1) == want {
		t.Error("an absent row, the same fingerprint")
	}
}
