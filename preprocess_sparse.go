package largemvc

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// row returns the values of row i in float64, in buf, and their columns.
func (s *compressed) row(i int, buf []float64) ([]int32, []float64) {
	lo, hi := s.ptr[i], s.ptr[i+1]
	buf = buf[:0]
	for k := lo; k < hi; k++ {
		buf = append(buf, s.value(k))
	}
	return s.cols[lo:hi], buf
}

// square returns the sum of the squares of row i.
func (s *compressed) square(i int) float64 {
	lo, hi := s.ptr[i], s.ptr[i+1]
	if s.f32 != nil {
		return kernel.SumSquares(s.f32[lo:hi], 0)
	}
	return kernel.SumSquares(s.f64[lo:hi], 0)
}

// applySparse standardises one row of view v, which has d columns: the values that it holds, in place, and the shift
// along the view's direction that the whole row then has.
func (s *standardiser) applySparse(v, d int, cols []int32, x []float64) (shift float64) {
	switch s.kind {
	case PerSample:
		mean := kernel.Sum(x) / float64(d)
		square := kernel.SumSquares(x, mean) + float64(d-len(x))*mean*mean
		scale := inverseDeviation(square/float64(d), mean)
		kernel.Affine(x, x, scale, 0)
		return -mean * scale
	case UnitNorm:
		s.apply(v, x)
	case Balanced, ZScore:
		for k, j := range cols {
			x[k] *= s.scale[v][j]
		}
		return 1
	}
	return 0
}

// direction returns what the rows of view v, of d columns, are shifted along if the view is sparse; nil: they are not.
func direction[T kernel.Float](s *standardiser, v, d int) *rows.Direction[T] {
	u := make([]T, d)
	switch s.kind {
	case PerSample:
		for j := range u {
			u[j] = 1
		}
	case Balanced, ZScore:
		for j := range u {
			u[j] = T(-s.mean[v][j] * s.scale[v][j])
		}
	default:
		return nil
	}
	return rows.NewDirection(u)
}

// standardiseSparse returns a sparse view as rows of T, standardised, absent rows empty.
func standardiseSparse[T kernel.Float](ctx context.Context, x View, v int, s *standardiser, workers int) (rows.Matrix[T], error) {
	src := x.sparse
	ptr, cols := src.ptr, src.cols
	if x.present != nil {
		ptr, cols = src.compact(x)
	}
	values := make([]T, len(cols))
	u := direction[T](s, v, x.cols)
	var shift []T
	if u != nil {
		shift = make([]T, x.rows)
	}
	err := parallel.For(ctx, workers, (x.rows+preprocessChunk-1)/preprocessChunk, func(_, c int) error {
		var buf []float64
		for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
			if !x.Has(i) {
				continue
			}
			buf = sparseRow(s, x, v, i, values[ptr[i]:ptr[i+1]], shift, i, buf)
		}
		return nil
	})
	return rows.NewSparse(x.rows, x.cols, ptr, cols, values, shift, u), err
}

// sparseRow writes the standardised values of row i of view v to dst, and its shift, if there are shifts, to shift[at].
// buf is scratch, which it returns.
func sparseRow[T kernel.Float](s *standardiser, x View, v, i int, dst, shift []T, at int, buf []float64) []float64 {
	own, row := x.sparse.row(i, buf)
	b := s.applySparse(v, x.cols, own, row)
	for k, value := range row {
		dst[k] = T(value)
	}
	if shift != nil {
		shift[at] = T(b)
	}
	return row
}

// compact returns row pointers and columns without the rows that the view lacks; those given, if nothing is in them.
func (s *compressed) compact(x View) (ptr []int, cols []int32) {
	absent := 0
	for i := range x.rows {
		if !x.Has(i) {
			absent += s.ptr[i+1] - s.ptr[i]
		}
	}
	if absent == 0 {
		return s.ptr, s.cols
	}
	ptr, cols = make([]int, 1, x.rows+1), make([]int32, 0, len(s.cols)-absent)
	for i := range x.rows {
		if x.Has(i) {
			cols = append(cols, s.cols[s.ptr[i]:s.ptr[i+1]]...)
		}
		ptr = append(ptr, len(cols))
	}
	return ptr, cols
}

// fitSparse measures mean and variance of the columns of a sparse view: the zeros that are not held enter by their number.
func (s *standardiser) fitSparse(x View) (mean, variance []float64) {
	mean, variance = make([]float64, x.cols), make([]float64, x.cols)
	held := make([]int, x.cols)
	count := 0
	each := func(visit func(j int32, value float64)) {
		for i := range x.rows {
			for k := x.sparse.ptr[i]; x.Has(i) && k < x.sparse.ptr[i+1]; k++ {
				visit(x.sparse.cols[k], x.sparse.value(k))
			}
		}
	}
	for i := range x.rows {
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
