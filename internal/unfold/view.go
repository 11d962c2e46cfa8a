package unfold

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// View is one view: n rows of d columns, zero where a sample lacks the view.
type View[T kernel.Float] struct {
	X       rows.Matrix[T]
	N, D    int
	Norms   []float64 // ‖x_i‖²
	Present []bool    // nil: all
	Count   int       // samples that have it
}

// Has reports whether sample i has the view.
func (w *View[T]) Has(i int) bool { return w.Present == nil || w.Present[i] }

// NewView makes the view in column v of the presence mask, which may be nil. It keeps x. Absent rows must be zero.
func NewView[T kernel.Float](x rows.Matrix[T], present [][]bool, v int) (*View[T], error) {
	n, d := x.Dims()
	w := &View[T]{X: x, N: n, D: d, Norms: make([]float64, n), Count: n}
	if err := squaredNorms(x, w.Norms); err != nil {
		return nil, err
	}
	if present != nil {
		w.Present, w.Count = make([]bool, n), 0
		for i := range n {
			if w.Present[i] = present[i][v]; w.Present[i] {
				w.Count++
			}
		}
	}
	return w, nil
}

// squaredNorms sets dst to ‖x_i‖² of all rows.
func squaredNorms[T kernel.Float](x rows.Matrix[T], dst []float64) error {
	const chunk = 4096
	n := len(dst)
	return parallel.For(context.Background(), 0, (n+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		x.SquaredNorms(lo, hi, dst[lo:hi])
		return nil
	})
}
