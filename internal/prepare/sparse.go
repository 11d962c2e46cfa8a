package prepare

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// applySparse standardises one row of view v, which has d columns: its stored values, in place. It returns the shift of the whole
// row along the view's direction.
func (s *Standardiser) applySparse(v, d int, cols []int32, x []float64) (shift float64) {
	if o := s.omitted(v); o != nil {
		d = len(o.kept) // the zeros below are then the zeros of kept columns
		for k, j := range cols {
			if o.out[j] {
				x[k] = 0
			}
		}
	}
	switch s.Kind {
	case PerSample:
		mean := kernel.Sum(x) / float64(d)
		square := kernel.SumSquares(x, mean) + float64(d-len(x))*mean*mean
		scale := inverseDeviation(square/float64(d), mean)
		kernel.Affine(x, x, scale, 0)
		return -mean * scale
	case UnitNorm:
		standardiseRow(UnitNorm, x, x)
	case Balanced, ZScore:
		for k, j := range cols {
			x[k] *= s.Scale[v][j]
		}
		return 1
	}
	return 0
}

// direction returns the direction of the shifts of view v, of d columns, if the view is sparse; nil: rows have no shift.
func direction[T kernel.Float](s *Standardiser, v, d int) *rows.Direction[T] {
	u := make([]T, d)
	switch s.Kind {
	case PerSample:
		for j := range u {
			u[j] = 1
		}
		if o := s.omitted(v); o != nil {
			for j, left := range o.out {
				if left {
					u[j] = 0
				}
			}
		}
	case Balanced, ZScore:
		for j := range u {
			u[j] = T(-s.Mean[v][j] * s.Scale[v][j])
		}
	default:
		return nil
	}
	return rows.NewDirection(u)
}

// standardiseSparse returns a sparse view as rows of T, standardised, absent rows empty. lift, if not nil, gets every row without
// shift before it is rounded.
func standardiseSparse[T kernel.Float](
	ctx context.Context, x view.View, v int, s *Standardiser, workers int, lift func(row []float64),
) (rows.Matrix[T], error) {
	src := x.Sparse
	ptr, cols := src.Ptr, src.Cols
	if x.Present != nil {
		ptr, cols = src.Compact(x.Present)
	}
	values := make([]T, len(cols))
	u := direction[T](s, v, x.Cols)
	var shift []T
	if u != nil {
		shift, lift = make([]T, x.Rows), nil
	}
	err := parallel.For(ctx, workers, (x.Rows+chunkRows-1)/chunkRows, func(_, c int) error {
		var buf []float64
		for i := c * chunkRows; i < min((c+1)*chunkRows, x.Rows); i++ {
			if !x.Has(i) {
				continue
			}
			buf = sparseRow(s, x, v, i, values[ptr[i]:ptr[i+1]], shift, i, buf, lift)
		}
		return nil
	})
	return rows.NewSparse(x.Rows, x.Cols, ptr, cols, values, shift, u), err
}

// sparseRow writes the standardised values of row i of view v to dst, and its shift, if there are shifts, to shift[at].
// buf is scratch, which it returns. lift, if not nil, changes them before they are rounded.
func sparseRow[T kernel.Float](
	s *Standardiser, x view.View, v, i int, dst, shift []T, at int, buf []float64, lift func(row []float64),
) []float64 {
	own, row := x.Sparse.Row(i, buf)
	b := s.applySparse(v, x.Cols, own, row)
	if lift != nil {
		lift(row)
	}
	for k, value := range row {
		dst[k] = T(value)
	}
	if shift != nil {
		shift[at] = T(b)
	}
	return row
}

// sparseMoments returns mean and variance of the columns of a sparse view. Zeros that are not stored enter by their number.
func sparseMoments(x view.View) (mean, variance []float64) {
	mean, variance = make([]float64, x.Cols), make([]float64, x.Cols)
	held := make([]int, x.Cols)
	count := 0
	each := func(visit func(j int32, value float64)) {
		for i := range x.Rows {
			for k := x.Sparse.Ptr[i]; x.Has(i) && k < x.Sparse.Ptr[i+1]; k++ {
				visit(x.Sparse.Cols[k], x.Sparse.Value(k))
			}
		}
	}
	for i := range x.Rows {
		if x.Has(i) {
			count++
		}
	}
	each(func(j int32, value float64) {
		mean[j] += value
		held[j]++
	})
	for j := range mean {
		mean[j] /= float64(count)
		variance[j] = float64(count-held[j]) * mean[j] * mean[j]
	}
	each(func(j int32, value float64) {
		d := value - mean[j]
		variance[j] += d * d
	})
	for j := range variance {
		variance[j] /= float64(count)
	}
	return mean, variance
}
