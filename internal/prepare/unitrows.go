package prepare

import (
	"context"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// FewFeatures is the number of features below which rows at norm 1 lose too much information.
const FewFeatures = 17

// Length returns an additional feature for the rows of a view of few features, so that scaling to norm 1 keeps their length; 0
// for none. It is half of the mean length of standardised rows: with all of it, rows of average length lie close together.
func Length(k Kind, d int) float64 {
	if d >= FewFeatures {
		return 0
	}
	return k.averageLength(d) / 2
}

// averageLength is the mean length of standardised rows, 0 if the standardisation of columns does not fix it.
func (k Kind) averageLength(d int) float64 {
	switch k {
	case ZScore:
		return math.Sqrt(float64(d))
	case Balanced:
		return 1
	}
	return 0
}

// Width is the number of features of rows at norm 1 of a view of d features, with the additional feature.
func Width(d int, length float64) int {
	if length > 0 {
		return d + 1
	}
	return d
}

// UnitRows returns the standardised rows of one view, with the additional feature if length is not 0, at norm 1. A row is 0 if
// standardisation leaves nothing of it or the view is absent. A dense view is standardised at each read, so that it takes no
// memory that grows with the view.
func UnitRows[T kernel.Float](
	ctx context.Context, s *Standardiser, x view.View, v int, length float64, workers int,
) (rows.Matrix[T], error) {
	if x.Sparse == nil || length > 0 {
		m := &denseUnitRows[T]{standardiser: s, view: x, index: v, length: length, cols: Width(x.Cols, length)}
		if !x.Streams() {
			return m, nil
		}
		streamed, _ := view.Streamed(x, v, m.cols, workers, func(in view.View, dst []T) {
			part, row := *m, make([]float64, m.cols)
			part.view = in
			for i := range in.Rows {
				part.fill(i, dst[i*m.cols:(i+1)*m.cols], row)
			}
		})
		return streamed, nil
	}
	m, err := standardiseSparse[T](ctx, x, v, s, workers, liftTiny)
	if err != nil {
		return nil, err
	}
	factor := make([]T, x.Rows)
	err = parallel.For(ctx, workers, (x.Rows+chunkRows-1)/chunkRows, func(_, c int) error {
		var q [chunkRows]float64
		lo, hi := c*chunkRows, min((c+1)*chunkRows, x.Rows)
		m.SquaredNorms(lo, hi, q[:hi-lo])
		for i := lo; i < hi; i++ {
			f := T(1 / math.Sqrt(q[i-lo]))
			if q[i-lo] > 0 && !math.IsInf(float64(f), 1) { // else the row is rounding error
				factor[i] = f
			}
		}
		return nil
	})
	return rows.NewScaled(m, factor), err
}

// Before holds the inputs of some samples before smoothing.
type Before[T kernel.Float] struct {
	Rows     []rows.Matrix[T]
	Lengths  [][]float64 // of the standardised rows, for each input (see Lengths)
	Features []float64   // number of features that are not constant, for each input
}

// Lengths sets dst to the norms of rows x of UnitRows, in memory, before the scaling to norm 1. Their unit makes the mean square
// over the training samples equal to the number of features that are not constant. Lengths returns this number. Standardisations
// of single rows give all rows the same norm.
func Lengths[T kernel.Float](s *Standardiser, v int, length float64, x rows.Matrix[T], dst []float64) float64 {
	_, d := x.Dims()
	if length > 0 {
		d--
	}
	d -= s.LeftOut(v)
	root, average := math.Sqrt(float64(d)), s.Kind.averageLength(d)
	scale := root / math.Hypot(average, length)
	m, dense := x.(*denseUnitRows[T])
	switch {
	case average == 0:
		for i := range dst {
			dst[i] = root
		}
	case dense:
		row := make([]float64, m.cols)
		for i := range dst {
			if dst[i] = 0; m.view.Has(i) {
				dst[i] = scale * math.Sqrt(m.squares(i, row))
			}
		}
	default:
		_, factors := rows.Unscaled(x)
		for i, f := range factors {
			if dst[i] = 0; f > 0 {
				dst[i] = scale / float64(f)
			}
		}
	}
	return float64(d)
}

// tiny is the square of a norm below which values may be too small for float32, or the inverse of the norm too large.
const tiny = 1e-60

// liftTiny scales a row of tiny values to norm 1 in float64, whose range suffices. Other rows do not change.
func liftTiny(row []float64) {
	if q := kernel.SumSquares(row, 0); q > 0 && q < tiny {
		kernel.Affine(row, row, 1/math.Sqrt(q), 0)
	}
}

// denseUnitRows holds the rows of a dense view, standardised and at norm 1.
type denseUnitRows[T kernel.Float] struct {
	standardiser *Standardiser
	view         view.View
	index        int
	length       float64 // the additional feature; 0: there is none
	cols         int     // features, with the additional one
}

var (
	_ rows.Matrix[float32] = (*denseUnitRows[float32])(nil)
	_ rows.Matrix[float64] = (*denseUnitRows[float64])(nil)
)

type unitScratch[T kernel.Float] struct {
	row   []float64
	block []T
	dense rows.Dense[T] // the current block
}

// unitPools hold released scratch, of float32 and of float64. They are global because the rows of a new sample are short-lived.
var unitPools [2]sync.Pool

func unitPool[T kernel.Float]() *sync.Pool {
	if kernel.Is32[T]() {
		return &unitPools[0]
	}
	return &unitPools[1]
}

// get returns scratch with room for a block of n rows.
func (m *denseUnitRows[T]) get(n int) *unitScratch[T] {
	s, _ := unitPool[T]().Get().(*unitScratch[T])
	if s == nil {
		s = &unitScratch[T]{}
	}
	if cap(s.row) < m.cols {
		s.row = make([]float64, m.cols)
	}
	s.row = s.row[:m.cols]
	if need := n * m.cols; cap(s.block) < need {
		s.block = make([]T, need)
	}
	s.block = s.block[:n*m.cols]
	return s
}

// squares sets row to a present row, standardised, and returns its squared norm.
func (m *denseUnitRows[T]) squares(i int, row []float64) float64 {
	own := row[:m.view.Cols]
	m.view.Row(i, own)
	m.standardiser.Apply(m.index, own)
	if m.length > 0 {
		row[m.view.Cols] = m.length
	}
	return kernel.SumSquares(row, 0)
}

func (m *denseUnitRows[T]) fill(i int, dst []T, row []float64) {
	if !m.view.Has(i) {
		clear(dst)
		return
	}
	scale := 0.0
	if q := m.squares(i, row); q > 0 {
		scale = 1 / math.Sqrt(q)
	}
	kernel.ScaleTo(dst, row, scale)
}

// rows returns rows [lo, hi) in the scratch.
func (m *denseUnitRows[T]) rows(lo, hi int, s *unitScratch[T]) *rows.Dense[T] {
	d := m.cols
	for i := lo; i < hi; i++ {
		m.fill(i, s.block[(i-lo)*d:(i-lo+1)*d], s.row)
	}
	s.dense = *rows.NewDense(hi-lo, d, d, s.block)
	return &s.dense
}

func (m *denseUnitRows[T]) Dims() (n, d int) { return m.view.Rows, m.cols }

func (m *denseUnitRows[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	s := m.get(hi - lo)
	defer unitPool[T]().Put(s)
	m.rows(lo, hi, s).Mul(0, hi-lo, b, y, ldy)
}

func (m *denseUnitRows[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	s := m.get(hi - lo)
	defer unitPool[T]().Put(s)
	m.rows(lo, hi, s).TMulAdd(0, hi-lo, k, a, lda, c, ldc)
}

func (m *denseUnitRows[T]) SquaredNorms(lo, hi int, dst []float64) {
	s := m.get(hi - lo)
	defer unitPool[T]().Put(s)
	m.rows(lo, hi, s).SquaredNorms(0, hi-lo, dst)
}

func (m *denseUnitRows[T]) Row(i int, dst []T) {
	s := m.get(0)
	defer unitPool[T]().Put(s)
	m.fill(i, dst, s.row)
}

func (m *denseUnitRows[T]) Bytes() int64 { return 0 }
