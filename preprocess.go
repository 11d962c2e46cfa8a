package largemvc

import (
	"context"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// standardiser is a Preprocess with what it measured on the training samples.
type standardiser struct {
	kind  Preprocess
	mean  [][]float64 // per view and feature; Balanced and ZScore only
	scale [][]float64
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
				case x.f64 != nil:
					total = kernel.Sum(x.f64[i*x.cols : (i+1)*x.cols])
				case x.f32 != nil:
					total = kernel.Sum(x.f32[i*x.cols : (i+1)*x.cols])
				default:
					if buf == nil {
						buf = make([]float64, x.cols)
					}
					x.row(i, buf)
					total = kernel.Sum(buf)
				}
				if math.IsNaN(total) || math.IsInf(total, 0) {
					if err := nonFinite(x, v, i); err != nil {
						return err
					}
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
	return fmt.Errorf("largemvc: %s: the values of row %d are so large that their sum is not finite", x.label(v), i)
}

// fit measures what the preprocessing needs on the present rows.
func (s *standardiser) fit(ctx context.Context, views []View, workers int) error {
	if s.kind != Balanced && s.kind != ZScore {
		return nil
	}
	for _, x := range views {
		mean := make([]float64, x.cols)
		count, err := columnSums(ctx, x, workers, mean, func(row, sum []float64) { kernel.AddTo(sum, row) })
		if err != nil {
			return err
		}
		for j := range mean {
			mean[j] /= float64(count)
		}
		scale := make([]float64, x.cols)
		_, err = columnSums(ctx, x, workers, scale, func(row, sum []float64) {
			for j, value := range row {
				d := value - mean[j]
				sum[j] += d * d
			}
		})
		if err != nil {
			return err
		}
		for j := range scale {
			scale[j] = inverseDeviation(scale[j]/float64(count), mean[j])
			if s.kind == Balanced {
				scale[j] /= math.Sqrt(float64(x.cols))
			}
		}
		s.mean, s.scale = append(s.mean, mean), append(s.scale, scale)
	}
	return nil
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
// held in T are changed in place.
func standardise[T kernel.Float](ctx context.Context, views []View, s *standardiser, workers int, overwrite bool) ([]rows.Matrix[T], error) {
	out := make([]rows.Matrix[T], len(views))
	for v, x := range views {
		dst := ownMemory[T](x)
		if !overwrite || dst == nil {
			dst = make([]T, x.rows*x.cols)
		}
		chunks := (x.rows + preprocessChunk - 1) / preprocessChunk
		alive := make([]bool, chunks)
		err := parallel.For(ctx, workers, chunks, func(_, c int) error {
			buf := make([]float64, x.cols)
			for i := c * preprocessChunk; i < min((c+1)*preprocessChunk, x.rows); i++ {
				row := dst[i*x.cols : (i+1)*x.cols]
				if !x.Has(i) {
					clear(row)
					continue
				}
				x.row(i, buf)
				s.apply(v, buf)
				for j, value := range buf {
					row[j] = T(value)
				}
				alive[c] = alive[c] || kernel.SumSquares(row, 0) > 0
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if !anyTrue(alive) {
			return nil, s.nothingLeft(x, v)
		}
		out[v] = rows.NewDense(x.rows, x.cols, x.cols, dst)
	}
	return out, nil
}

func anyTrue(b []bool) bool {
	for _, x := range b {
		if x {
			return true
		}
	}
	return false
}

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
		return fmt.Errorf("largemvc: %s has nothing to cluster: every sample is constant over its features%s", x.label(v), hint)
	case Balanced, ZScore:
		return fmt.Errorf("largemvc: %s has nothing to cluster: every feature is constant over the samples", x.label(v))
	}
	return fmt.Errorf("largemvc: %s has nothing to cluster: every value is zero", x.label(v))
}
