package smooth

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/view"
)

// Lengths returns the norms of the rows of input k before the scaling to norm 1, 0 if the view is absent. x is the view of the
// input. Standardisations that divide a row by its own spread count as undone.
func (s *Standardised) Lengths(k int, x view.View) []float64 {
	in, standardiser := s.Inputs[k], s.prepare[s.part[k]]
	out, row := make([]float64, x.Rows), make([]float64, x.Cols)
	for i := range out {
		if !x.Has(i) {
			continue
		}
		x.Row(i, row)
		switch in.Kind {
		case prepare.PerSample:
			kept := standardiser.Kept(in.View, row)
			out[i] = math.Sqrt(kernel.SumSquares(kept, kernel.Sum(kept)/float64(len(kept))))
		case prepare.UnitNorm:
			out[i] = math.Sqrt(kernel.SumSquares(standardiser.Kept(in.View, row), 0))
		default:
			standardiser.Apply(in.View, row)
			out[i] = math.Sqrt(kernel.SumSquares(row, 0) + in.Length*in.Length)
		}
	}
	return out
}
