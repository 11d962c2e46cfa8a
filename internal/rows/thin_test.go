package rows

import (
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// TestThin compares the products of some rows with those of a copy of them.
func TestThin(t *testing.T) {
	const n, d, enough, m = 1000, 3, 150, 2
	values := make([]float64, n*d)
	for i := range values {
		values[i] = float64(i%101) - 50
	}
	all := []Matrix[float64]{NewDense(n, d, d, values)}
	if Thin(all, n/2+1)[0] != all[0] {
		t.Error("fewer than twice as many rows as are enough are thinned")
	}
	some := Thin(all, enough)[0]
	var copied []float64
	for lo := 0; lo < n; lo += n / enough * thinBlock {
		copied = append(copied, values[lo*d:min(lo+thinBlock, n)*d]...)
	}
	rows, _ := some.Dims()
	if rows*d != len(copied) || rows < enough {
		t.Fatalf("%d rows, want %d", rows, len(copied)/d)
	}
	want := NewDense(rows, d, d, copied)
	var panel kernel.Panel[float64]
	kernel.Pack(&panel, d, m, []float64{1, 2, 3, 4, 5, 6}, m)
	ld := kernel.Pad(m)
	for _, span := range [][2]int{{0, rows}, {10, 70}, {63, 65}, {64, 128}, {5, 5}, {rows - 1, rows}} {
		lo, hi := span[0], span[1]
		of := func(x Matrix[float64]) (out []float64) {
			y, norms, c := make([]float64, (hi-lo)*ld+1), make([]float64, hi-lo), make([]float64, m*d)
			x.Mul(lo, hi, &panel, y, ld)
			x.SquaredNorms(lo, hi, norms)
			x.TMulAdd(lo, hi, m, y, ld, c, d)
			row := make([]float64, d)
			for i := lo; i < hi; i++ {
				x.Row(i, row)
				out = append(out, row...)
			}
			return slices.Concat(out, y, norms, c)
		}
		if !slices.Equal(of(some), of(want)) {
			t.Errorf("rows %d to %d give other products", lo, hi)
		}
	}
}
