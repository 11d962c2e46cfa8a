package rows

import (
	"math"
	"testing"
)

func TestExtent(t *testing.T) {
	for name, c := range map[string]struct {
		n, d            int
		x               []float64
		largest, widest float64
	}{
		"rows":      {4, 2, []float64{1, -7, 3, -2, 2, -3, 1, -4}, 7, 5},
		"one row":   {1, 2, []float64{3, -4}, 4, 0},
		"no rows":   {0, 2, nil, 0, 0},
		"very wide": {2, 1, []float64{-math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64, math.MaxFloat64},
	} {
		largest, widest := Extent(NewDense(c.n, c.d, c.d, c.x))
		if largest != c.largest || widest != c.widest {
			t.Errorf("%s: %v and %v, want %v and %v", name, largest, widest, c.largest, c.widest)
		}
	}
}
