package prepare

import (
	"context"
	"errors"
	"math"
	"sync/atomic"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// LargestNorm bounds the norm of rows that are not standardised: sums of their squares fit in T.
func LargestNorm[T kernel.Float]() float64 {
	if kernel.Is32[T]() {
		return 1e18
	}
	return 1e150
}

// Usable returns an error for a view that is zero everywhere after preprocessing, on all ranks of the group, or that is not
// standardised and too large for T.
func Usable[T kernel.Float](ctx context.Context, g *ranks.Group, s *Standardiser, x view.View, v, workers int) error {
	var alive atomic.Bool
	err := parallel.For(ctx, workers, (x.Rows+chunkRows-1)/chunkRows, func(_, c int) error {
		square := squares[T](s, x, v)
		for i := c * chunkRows; i < min((c+1)*chunkRows, x.Rows); i++ {
			if alive.Load() && s.Kind != Raw { // all others bound the values
				return nil
			}
			if !x.Has(i) {
				continue
			}
			q := square(i)
			if limit := LargestNorm[T](); !(q < limit*limit) {
				return view.Wrong(v, x.Number(i),
					"%s: row %d has the norm %.3g, too large to compute with (%.0e): standardise the view",
					x.Label(v), x.Number(i), math.Sqrt(q), limit)
			}
			if q > 0 {
				alive.Store(true)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	anywhere := []int{0} // on any rank
	if alive.Load() {
		anywhere[0] = 1
	}
	if err := g.SumInts("the rows of a view that are not zero", anywhere); err != nil {
		return err
	}
	if anywhere[0] == 0 {
		return s.nothingLeft(x, v)
	}
	return nil
}

// squares returns a function for the squared norm of a row of view v after preprocessing.
func squares[T kernel.Float](s *Standardiser, x view.View, v int) func(i int) float64 {
	if x.Sparse == nil {
		buf, row := make([]float64, x.Cols), make([]T, x.Cols)
		return func(i int) float64 {
			denseRow(s, x, v, i, row, buf)
			return kernel.SumSquares(row, 0)
		}
	}
	u := direction[T](s, v, x.Cols)
	var buf []float64
	var values []T
	shift := make([]T, 1)
	if u == nil {
		shift = nil
	}
	return func(i int) float64 {
		lo, hi := x.Sparse.Ptr[i], x.Sparse.Ptr[i+1]
		values = append(values[:0], make([]T, hi-lo)...)
		buf = sparseRow(s, x, v, i, values, shift, 0, buf, nil)
		var q [1]float64
		rows.NewSparse(1, x.Cols, []int{0, hi - lo}, x.Sparse.Cols[lo:hi], values, shift, u).SquaredNorms(0, 1, q[:])
		return q[0]
	}
}

// InPlace reports whether a view is standardised in its own memory.
func InPlace[T kernel.Float](x view.View, overwrite bool) bool {
	return overwrite && view.Own[T](x) != nil
}

// nothingLeft returns the error for a view that is zero everywhere after preprocessing.
func (s *Standardiser) nothingLeft(x view.View, v int) error {
	switch s.Kind {
	case PerSample:
		hint := ""
		if x.Cols-s.LeftOut(v) == 1 {
			hint = " (it has a single feature: use Preprocess Balanced)"
		}
		return view.Wrong(v, -1,
			"%s has %w: every sample is constant over its features, to within what can be squared%s",
			x.Label(v), ErrNothingLeft, hint,
		)
	case Balanced, ZScore:
		return view.Wrong(v, -1,
			"%s has %w: every feature is constant over the samples, to within what can be squared",
			x.Label(v), ErrNothingLeft,
		)
	}
	return view.Wrong(v, -1, "%s has %w: every value is zero, or too small to be squared", x.Label(v), ErrNothingLeft)
}

// ErrNothingLeft is the error for a view that is zero everywhere after preprocessing.
var ErrNothingLeft = errors.New("nothing to cluster")
