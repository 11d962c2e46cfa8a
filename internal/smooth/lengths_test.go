package smooth

import (
	"context"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/view"
)

func TestLengths(t *testing.T) {
	const n, d = 4, 20
	x := view.View{Rows: n, Cols: d, F64: make([]float64, n*d), Present: []bool{true, true, false, true}}
	for i := range n {
		for j := range d {
			x.F64[i*d+j] = float64((i+1)*(j%3) + i*j)
		}
		x.F64[i*d] = 1000 // a constant feature: no part of the length
	}
	in, err := Find[float64](context.Background(), []view.View{x}, Options{Kind: prepare.Both, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Inputs) != 2 {
		t.Fatalf("%d inputs", len(in.Inputs))
	}
	for k, input := range in.Inputs {
		got := in.Lengths(k, x)
		for i, length := range got {
			row := make([]float64, d)
			x.Row(i, row)
			want := 0.0
			if input.Kind == prepare.PerSample {
				mean := 0.0
				for _, y := range row[1:] {
					mean += y / (d - 1)
				}
				for _, y := range row[1:] {
					want += (y - mean) * (y - mean)
				}
			} else {
				in.prepare[in.part[k]].Apply(0, row)
				for _, y := range row {
					want += y * y
				}
			}
			if !x.Has(i) {
				want = 0
			}
			if math.Abs(length-math.Sqrt(want)) > 1e-9 {
				t.Errorf("%v, row %d: length %g, want %g", input.Kind, i, length, math.Sqrt(want))
			}
		}
	}
}
