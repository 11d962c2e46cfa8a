package prepare

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Standardiser is a kind with its values from the training samples. It is safe for concurrent use.
type Standardiser struct {
	Kind  Kind
	Mean  [][]float64 // per view and feature; Balanced and ZScore only
	Scale [][]float64

	Applied []bool // per view: its values are standardised already; nil: none are

	omissions []*omission // per view, PerSample and UnitNorm only; nil: no column is left out
}

// chunkRows is the number of rows in one partial sum.
const chunkRows = 512

// negligible is the variance, relative to the squared mean, below which values count as constant: rounding of their mean causes
// about 1e-32.
const negligible = 1e-24

// Apply standardises one row of view v in place.
func (s *Standardiser) Apply(v int, row []float64) { standardise(s, v, row, row) }

// standardise sets dst to a row of view v, standardised. Sums and differences are in float64, so that a float32 row has the bits
// of the same row in float64, rounded at the end. dst may be the row.
func standardise[T kernel.Float](s *Standardiser, v int, dst, row []T) {
	dst = dst[:len(row)]
	if o := s.omitted(v); o != nil {
		standardiseKept(s.Kind, o, dst, row)
		return
	}
	switch s.Kind {
	case PerSample, UnitNorm:
		standardiseRow(s.Kind, dst, row)
	case Balanced, ZScore:
		mean, scale := s.Mean[v][:len(row)], s.Scale[v][:len(row)]
		for j, x := range row {
			dst[j] = T((float64(x) - mean[j]) * scale[j])
		}
	default:
		copy(dst, row)
	}
}

// standardiseKept is standardiseRow for the kept columns, with zeros in the others. dst may be the row.
func standardiseKept[T kernel.Float](kind Kind, o *omission, dst, row []T) {
	m := len(o.kept)
	for k, j := range o.kept { // to the front: k ≤ j
		dst[k] = row[j]
	}
	standardiseRow(kind, dst[:m], dst[:m])
	for k := m - 1; k >= 0; k-- {
		dst[o.kept[k]] = dst[k]
	}
	for j, left := range o.out {
		if left {
			dst[j] = 0
		}
	}
}

// standardiseRow sets dst to a row, standardised by itself. dst may be the row.
func standardiseRow[T kernel.Float](kind Kind, dst, row []T) {
	switch kind {
	case PerSample:
		d := float64(len(row))
		mean := kernel.Sum(row) / d
		kernel.Affine(dst, row, inverseDeviation(kernel.SumSquares(row, mean)/d, mean), mean)
	case UnitNorm:
		scale := 0.0
		if norm := math.Sqrt(kernel.SumSquares(row, 0)); norm > 0 {
			scale = 1 / norm
		}
		kernel.Affine(dst, row, scale, 0)
	}
}

func inverseDeviation(variance, mean float64) float64 {
	if variance <= negligible*mean*mean {
		return 0
	}
	return 1 / math.Sqrt(variance)
}

// Measure estimates the statistics of a kind from the present rows of the training samples, of all ranks of the group. kind must
// not be Both.
func Measure(ctx context.Context, g *ranks.Group, kind Kind, views []view.View, workers int) (*Standardiser, error) {
	s := &Standardiser{Kind: kind}
	switch kind {
	case PerSample, UnitNorm:
		for _, x := range views {
			o, err := findConstant(ctx, g, x)
			if err != nil {
				return nil, err
			}
			s.omissions = append(s.omissions, o)
		}
		return s, nil
	case Balanced, ZScore:
	default:
		return s, nil
	}
	for _, x := range views {
		mean, scale, err := moments(ctx, g, x, workers)
		if err != nil {
			return nil, err
		}
		for j := range scale {
			scale[j] = inverseDeviation(scale[j], mean[j])
		}
		s.Mean, s.Scale = append(s.Mean, mean), append(s.Scale, scale)
		if kind == Balanced {
			root := math.Sqrt(float64(x.Cols - s.LeftOut(len(s.Scale)-1)))
			for j := range scale {
				if scale[j] != 0 {
					scale[j] /= root
				}
			}
		}
	}
	return s, nil
}

// moments returns mean and variance of the columns of a view over its present rows, of all ranks of the group.
func moments(ctx context.Context, g *ranks.Group, x view.View, workers int) (mean, variance []float64, err error) {
	if x.Sparse != nil {
		mean, variance = sparseMoments(x)
		return mean, variance, ctx.Err()
	}
	mean, variance = make([]float64, x.Cols), make([]float64, x.Cols)
	count, err := columnSums(ctx, g, x, workers, mean, func(row, sum []float64) { kernel.AddTo(sum, row) })
	if err != nil {
		return nil, nil, err
	}
	for j := range mean {
		mean[j] /= float64(count)
	}
	_, err = columnSums(ctx, g, x, workers, variance, func(row, sum []float64) {
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

// columnSums sets total to the sums of add over the present rows of a view, on all ranks, by chunks.
func columnSums(
	ctx context.Context, g *ranks.Group, x view.View, workers int, total []float64, add func(row, sum []float64),
) (count int, err error) {
	// The last of the sums is the number of rows.
	s := ranks.RowSum{What: "the sums of columns", Workers: workers, Rows: x.Rows, Chunk: chunkRows, Size: x.Cols + 1}
	sum, err := ranks.SumRows(ctx, g, s,
		func() []float64 { return make([]float64, x.Cols) },
		func(_, lo, hi int, row, part []float64) error {
			for i := lo; i < hi; i++ {
				if x.Has(i) {
					x.Row(i, row)
					add(row, part[:x.Cols])
					part[x.Cols]++
				}
			}
			return nil
		})
	if err != nil {
		return 0, err
	}
	copy(total, sum)
	return int(sum[x.Cols]), nil
}

// Standardise returns the views as rows of T, standardised, absent rows zero. With overwrite, it changes views that are already
// in T in place, after all ranks of the group have found their views usable. Views outside memory without room in memory are
// standardised at each read.
func Standardise[T kernel.Float](
	ctx context.Context, g *ranks.Group, views []view.View, s *Standardiser, workers int, overwrite bool,
) ([]rows.Matrix[T], error) {
	for v, x := range views {
		if err := Usable[T](ctx, g, s, x, v, workers); err != nil {
			return nil, err
		}
	}
	out := make([]rows.Matrix[T], len(views))
	for v, x := range views {
		var err error
		if x.Sparse != nil {
			out[v], err = standardiseSparse[T](ctx, x, v, s, workers, nil)
		} else {
			out[v], err = standardiseDense[T](ctx, x, v, s, workers, overwrite)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func standardiseDense[T kernel.Float](
	ctx context.Context, x view.View, v int, s *Standardiser, workers int, overwrite bool,
) (rows.Matrix[T], error) {
	m, ok := view.Streamed(x, v, x.Cols, workers, func(in view.View, dst []T) {
		buf := make([]float64, in.Cols)
		for i := range in.Rows {
			denseRow(s, in, v, i, dst[i*in.Cols:(i+1)*in.Cols], buf)
		}
	})
	if ok {
		return m, nil
	}
	dst := view.Own[T](x)
	if !InPlace[T](x, overwrite) {
		dst = make([]T, x.Rows*x.Cols)
	}
	err := parallel.For(ctx, workers, (x.Rows+chunkRows-1)/chunkRows, func(_, c int) error {
		buf := make([]float64, x.Cols)
		for i := c * chunkRows; i < min((c+1)*chunkRows, x.Rows); i++ {
			denseRow(s, x, v, i, dst[i*x.Cols:(i+1)*x.Cols], buf)
		}
		return nil
	})
	return rows.NewDense(x.Rows, x.Cols, x.Cols, dst), err
}

// denseRow writes row i of view v to dst, standardised, zero if the view lacks it. buf is scratch of the same length.
func denseRow[T kernel.Float](s *Standardiser, x view.View, v, i int, dst []T, buf []float64) {
	if !x.Has(i) {
		clear(dst)
		return
	}
	if row := x.Float32Row(i); row != nil {
		if dst, ok := any(dst).([]float32); ok {
			if s.Applied != nil && s.Applied[v] {
				copy(dst, row)
			} else {
				standardise(s, v, dst, row)
			}
			return
		}
	}
	x.Row(i, buf)
	if s.Applied == nil || !s.Applied[v] {
		s.Apply(v, buf)
	}
	for j, value := range buf {
		dst[j] = T(value)
	}
}
