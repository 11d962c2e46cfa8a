package view

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/suspect"
)

// finiteRows is the number of rows that a goroutine checks at once.
const finiteRows = 512

// CheckFinite reports the first NaN or infinity of the present rows.
func CheckFinite(ctx context.Context, views []View, workers int) error {
	for v := range views {
		parallel.Tell(ctx, v, len(views))
		x := &views[v]
		read := x.Source != nil && !x.isBound()
		if x.Rows <= finiteRows && x.Matrix == nil && !read {
			// A single new sample comes this way, without memory for a goroutine. A matrix of the caller's own may panic,
			// which parallel.For turns into an error.
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := x.checkRows(v, 0, x.Rows); err != nil {
				return err
			}
			continue
		}
		chunks := (x.Rows + finiteRows - 1) / finiteRows
		err := parallel.For(ctx, workers, chunks, func(_, c int) error {
			lo, hi := c*finiteRows, min((c+1)*finiteRows, x.Rows)
			if !read {
				return x.checkRows(v, lo, hi)
			}
			in, err := x.InMemory(ctx, v, lo, hi, nil) // a row that cannot be read is no NaN
			if err != nil {
				return err
			}
			return in.checkRows(v, 0, hi-lo)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FirstNotFinite reports the first of some samples that has a NaN or infinity, nil if there is none.
func FirstNotFinite(ctx context.Context, views []View, samples []int) error {
	for v, x := range views {
		for _, i := range samples {
			one := x.Window(i, i+1)
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := one.checkRows(v, 0, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckFiniteOf is CheckFinite of views in memory; of those outside memory it reads some samples alone.
func CheckFiniteOf(ctx context.Context, views []View, samples []int, workers int) error {
	held := slices.Clone(views)
	for v, x := range views {
		if x.Source != nil {
			held[v] = x.Window(0, 0)
		}
	}
	if err := CheckFinite(ctx, held, workers); err != nil {
		return err
	}
	var buf []float32
	for v, x := range views {
		for _, i := range samples {
			if x.Source == nil || !x.Has(i) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			one, err := x.InMemory(ctx, v, i, i+1, buf)
			if err != nil {
				return err
			}
			if err := one.checkRows(v, 0, 1); err != nil {
				return err
			}
			buf = one.F32
		}
	}
	return nil
}

// checkRows reports the first NaN or infinity of the present rows [lo, hi) of view v.
func (x *View) checkRows(v, lo, hi int) error {
	var buf []float64
	for i := lo; i < hi; i++ {
		if !x.Has(i) {
			continue
		}
		var total float64
		switch {
		case x.Sparse != nil:
			total = x.Sparse.Square(i)
		case x.F64 != nil:
			at := x.place(i) * x.Cols
			total = kernel.SumSquares(x.F64[at:at+x.Cols], 0)
		case x.F32 != nil:
			at := x.place(i) * x.Cols
			total = kernel.SumSquares(x.F32[at:at+x.Cols], 0)
		default:
			if buf == nil {
				buf = make([]float64, x.Cols)
			}
			x.Row(i, buf)
			total = kernel.SumSquares(buf, 0)
		}
		if math.IsNaN(total) || math.IsInf(total, 0) {
			return nonFinite(*x, v, i)
		}
	}
	return nil
}

func nonFinite(x View, v, i int) error {
	const mend = ": replace it, or mark the row as absent"
	values := make([]float64, x.Cols)
	x.Row(i, values)
	for j, value := range values {
		switch {
		case math.IsNaN(value):
			return &InputError{v, x.Number(i), j,
				fmt.Errorf("%s has %w at row %d, column %d"+mend, x.Label(v), suspect.ErrNaN, x.Number(i), j)}
		case math.IsInf(value, 0):
			return &InputError{v, x.Number(i), j,
				fmt.Errorf("%s has %v at row %d, column %d"+mend, x.Label(v), value, x.Number(i), j)}
		}
	}
	row := x.Number(i)
	return Wrong(v, row, "%s: the squares of the values of row %d are too large: scale them down", x.Label(v), row)
}
