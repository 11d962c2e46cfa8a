package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// standardiser is a Preprocess with what it measured on the training samples.
type standardiser struct {
	kind  Preprocess
	mean  [][]float64 // per view and feature; Balanced and ZScore only
	scale [][]float64

	applied []bool // per view: it holds standardised values already; nil: none does
}

// preprocessChunk is the number of rows that a goroutine takes at once.
const preprocessChunk = 512

// negligible is the variance, relative to the squared mean, below which values count as constant: the rounding error of
// their mean alone leaves about 1e-32.
const negligible = 1e-24

// apply standardises one row of view v in place.
func (s *standardiser) apply(v int, row []float64) {
	switch s.kind {
	case PerSample:
		d := float64(len(row))
		mean := kernel.Sum(row) / d
		kernel.Affine(row, row, inverseDeviation(kernel.SumSquares(row, mean)/d, mean), mean)
	case UnitNorm:
		scale := 0.0
		if norm := math.Sqrt(kernel.SumSquares(row, 0)); norm > 0 {
			scale = 1 / norm
		}
		kernel.Affine(row, row, scale, 0)
	case Balanced, ZScore:
		mean, scale := s.mean[v], s.scale[v]
		for j, x := range row {
			row[j] = (x - mean[j]) * scale[j]
		}
	}
}

func inverseDeviation(variance, mean float64) float64 {
	if variance <= negligible*mean*mean {
		return 0
	}
	return 1 / math.Sqrt(variance)
}

// checkFinite reports the first NaN or infinity of the present rows.
func checkFinite(ctx context.Context, views []View, workers int) error {
	for v, x := range views {
		chunks := (x.rows + preprocessChunk - 1) / preprocessChunk
		err := parallel.For(ctx, workers, chunks, func(_, c int) error {
			var buf []float64
			for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
				if !x.Has(i) {
					continue
				}
				var total float64
				switch {
				case x.sparse != nil:
					total = x.sparse.square(i)
				case x.f64 != nil:
					total = kernel.SumSquares(x.f64[i*x.cols:(i+1)*x.cols], 0)
				case x.f32 != nil:
					total = kernel.SumSquares(x.f32[i*x.cols:(i+1)*x.cols], 0)
				default:
					if buf == nil {
						buf = make([]float64, x.cols)
					}
					x.row(i, buf)
					total = kernel.SumSquares(buf, 0)
				}
				if math.IsNaN(total) || math.IsInf(total, 0) {
					return nonFinite(x, v, i)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func nonFinite(x View, v, i int) error {
	row := make([]float64, x.cols)
	x.row(i, row)
	for j, value := range row {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("largemvc: %s has %v at row %d, column %d", x.label(v), value, i, j)
		}
	}
	return fmt.Errorf("largemvc: %s: the values of row %d are so large that their squares are not finite", x.label(v), i)
}

// fit measures what the preprocessing needs on the present rows.
func (s *standardiser) fit(ctx context.Context, views []View, workers int) error {
	if s.kind != Balanced && s.kind != ZScore {
		return nil
	}
	for _, x := range views {
		mean, scale, err := s.measure(ctx, x, workers)
		if err != nil {
			return err
		}
		for j := range scale {
			scale[j] = inverseDeviation(scale[j], mean[j])
			if s.kind == Balanced {
				scale[j] /= math.Sqrt(float64(x.cols))
			}
		}
		s.mean, s.scale = append(s.mean, mean), append(s.scale, scale)
	}
	return nil
}

// measure returns mean and variance of the columns of a view over its present rows.
func (s *standardiser) measure(ctx context.Context, x View, workers int) (mean, variance []float64, err error) {
	if x.sparse != nil {
		mean, variance = s.fitSparse(x)
		return mean, variance, ctx.Err()
	}
	mean, variance = make([]float64, x.cols), make([]float64, x.cols)
	count, err := columnSums(ctx, x, workers, mean, func(row, sum []float64) { kernel.AddTo(sum, row) })
	if err != nil {
		return nil, nil, err
	}
	for j := range mean {
		mean[j] /= float64(count)
	}
	_, err = columnSums(ctx, x, workers, variance, func(row, sum []float64) {
		for j, value := range row {
			d := value - mean[j]
			sum[j] += d * d
		}
	})
	for j := range variance {
		variance[j] /= float64(count)
	}
	return mean, variance, err
}

// columnSums folds add over the present rows of a view, in chunks, in order.
func columnSums(ctx context.Context, x View, workers int, total []float64, add func(row, sum []float64)) (count int, err error) {
	type buffer struct {
		row, sum []float64
		count    int
	}
	chunks := (x.rows + preprocessChunk - 1) / preprocessChunk
	err = parallel.Fold(ctx, workers, chunks, func() *buffer {
		return &buffer{row: make([]float64, x.cols), sum: make([]float64, x.cols)}
	}, func(_, c int, b *buffer) error {
		clear(b.sum)
		b.count = 0
		for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
			if x.Has(i) {
				x.row(i, b.row)
				add(b.row, b.sum)
				b.count++
			}
		}
		return nil
	}, func(_ int, b *buffer) error {
		kernel.AddTo(total, b.sum)
		count += b.count
		return nil
	})
	return count, err
}

// standardise returns the views as rows of T, standardised, absent rows zero. With overwrite, views that are already
// held in T are changed in place, once it is sure that all views can be used.
func standardise[T kernel.Float](ctx context.Context, views []View, s *standardiser, workers int, overwrite bool) ([]rows.Matrix[T], error) {
	for v, x := range views {
		if err := usable[T](ctx, s, x, v, workers); err != nil {
			return nil, err
		}
	}
	out := make([]rows.Matrix[T], len(views))
	for v, x := range views {
		var err error
		if x.sparse != nil {
			out[v], err = standardiseSparse[T](ctx, x, v, s, workers)
		} else {
			out[v], err = standardiseDense[T](ctx, x, v, s, workers, overwrite)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func standardiseDense[T kernel.Float](ctx context.Context, x View, v int, s *standardiser, workers int, overwrite bool) (rows.Matrix[T], error) {
	dst := ownMemory[T](x)
	if !inPlace[T](x, overwrite) {
		dst = make([]T, x.rows*x.cols)
	}
	err := parallel.For(ctx, workers, (x.rows+preprocessChunk-1)/preprocessChunk, func(_, c int) error {
		buf := make([]float64, x.cols)
		for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
			denseRow(s, x, v, i, dst[i*x.cols:(i+1)*x.cols], buf)
		}
		return nil
	})
	return rows.NewDense(x.rows, x.cols, x.cols, dst), err
}

// denseRow writes row i of view v to dst, standardised, zero if the view lacks it. buf is scratch of the same length.
func denseRow[T kernel.Float](s *standardiser, x View, v, i int, dst []T, buf []float64) {
	if !x.Has(i) {
		clear(dst)
		return
	}
	x.row(i, buf)
	if s.applied == nil || !s.applied[v] {
		s.apply(v, buf)
	}
	for j, value := range buf {
		dst[j] = T(value)
	}
}

// largestNorm bounds the rows that are taken as they are: with room for sums of their squares in T.
func largestNorm[T kernel.Float]() float64 {
	if kernel.Is32[T]() {
		return 1e18
	}
	return 1e150
}

// usable returns an error for a view that is zero everywhere after preprocessing, or, taken as it is, too large for T.
func usable[T kernel.Float](ctx context.Context, s *standardiser, x View, v, workers int) error {
	var alive atomic.Bool
	err := parallel.For(ctx, workers, (x.rows+preprocessChunk-1)/preprocessChunk, func(_, c int) error {
		square := squares[T](s, x, v)
		for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
			if alive.Load() && s.kind != Raw { // all others bound the values
				return nil
			}
			if !x.Has(i) {
				continue
			}
			q := square(i)
			if limit := largestNorm[T](); !(q < limit*limit) {
				return fmt.Errorf("largemvc: %s: row %d has the norm %.3g, more than can be reckoned with (%.0e): standardise the view",
					x.label(v), i, math.Sqrt(q), limit)
			}
			if q > 0 {
				alive.Store(true)
			}
		}
		return nil
	})
	if err == nil && !alive.Load() {
		err = s.nothingLeft(x, v)
	}
	return err
}

// squares returns a function that tells the squared norm of a row of view v after preprocessing.
func squares[T kernel.Float](s *standardiser, x View, v int) func(i int) float64 {
	if x.sparse == nil {
		buf, row := make([]float64, x.cols), make([]T, x.cols)
		return func(i int) float64 {
			denseRow(s, x, v, i, row, buf)
			return kernel.SumSquares(row, 0)
		}
	}
	u := direction[T](s, v, x.cols)
	var buf []float64
	var values []T
	shift := make([]T, 1)
	if u == nil {
		shift = nil
	}
	return func(i int) float64 {
		lo, hi := x.sparse.ptr[i], x.sparse.ptr[i+1]
		values = append(values[:0], make([]T, hi-lo)...)
		buf = sparseRow(s, x, v, i, values, shift, 0, buf)
		var q [1]float64
		rows.NewSparse(1, x.cols, []int{0, hi - lo}, x.sparse.cols[lo:hi], values, shift, u).SquaredNorms(0, 1, q[:])
		return q[0]
	}
}

// inPlace says whether a view is standardised in its own memory.
func inPlace[T kernel.Float](x View, overwrite bool) bool { return overwrite && ownMemory[T](x) != nil }

// ownMemory returns the view's values if the caller gave them as a slice of T.
func ownMemory[T kernel.Float](x View) []T {
	if !x.slice {
		return nil
	}
	if m, ok := any(x.f32).([]T); ok && x.f32 != nil {
		return m
	}
	if m, ok := any(x.f64).([]T); ok && x.f64 != nil {
		return m
	}
	return nil
}

// nothingLeft explains a view that is zero everywhere after preprocessing.
func (s *standardiser) nothingLeft(x View, v int) error {
	switch s.kind {
	case PerSample:
		hint := ""
		if x.cols == 1 {
			hint = " (it has a single feature: use Preprocess Balanced)"
		}
		return fmt.Errorf("largemvc: %s has %w: every sample is constant over its features, to within what can be squared%s", x.label(v), errNothingLeft, hint)
	case Balanced, ZScore:
		return fmt.Errorf("largemvc: %s has %w: every feature is constant over the samples, to within what can be squared", x.label(v), errNothingLeft)
	}
	return fmt.Errorf("largemvc: %s has %w: every value is zero, or too small to be squared", x.label(v), errNothingLeft)
}

// errNothingLeft is that of a view that is zero everywhere after preprocessing.
var errNothingLeft = errors.New("nothing to cluster")
