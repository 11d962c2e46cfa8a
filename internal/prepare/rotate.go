package prepare

import (
	"context"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Rotated holds the Q of a view that is trained in k columns instead of d: X = X̃·Qᵀ.
type Rotated struct {
	D, K int
	Q    []float64 // Qᵀ, k×d row-major, or of the columns in Kept alone; nil: the view is trained in these columns
	Kept []int     // the columns of a view that are not zero, increasing; nil: all
}

// Original returns the m×k anchors of a rotated view in its original columns, P̃·Qᵀ; a copy of them if r is nil.
func (r *Rotated) Original(m int, p []float64) []float64 {
	if r == nil {
		return slices.Clone(p)
	}
	d, out := r.D, p
	if r.Kept != nil {
		d = len(r.Kept)
	}
	if r.Q != nil {
		out = make([]float64, m*d)
		var impl gonum.Implementation
		impl.Dgemm(blas.NoTrans, blas.NoTrans, m, d, r.K, 1, p, r.K, r.Q, d, 0, out, d)
	}
	if r.Kept == nil {
		return out
	}
	wide := make([]float64, m*r.D)
	for i := range m {
		for k, j := range r.Kept {
			wide[i*r.D+j] = out[i*d+k]
		}
	}
	return wide
}

// The cost of a rotation and its saving, in float32 multiplications of the kernels. The numbers are fitted to measured times on
// views of 169 to 3,312 samples and up to 3,703 features.
const (
	rotationEpochs = 100  // independent of the configured epochs, so that a resumed training with more epochs decides alike
	basisCost      = 3    // of one multiplication in finding Q, in float64, with its overhead
	sparseCost     = 8    // of one multiplication with an entry of a sparse row, which does not fill a vector
	anchorCost     = 60   // of an entry of the m×d_v matrices beside the samples, a layer and an epoch
	vectorWidth    = 16   // a product with fewer columns costs as much
	searchShare    = 0.03 // of the training that a fruitless search for a low rank may take
	worthwhile     = 0.75 // the largest k/d_v for which a second copy of the view is made
)

// Rotate describes the training for which views are rotated: Runs runs of a network of Layers layers and Anchors anchors.
type Rotate struct {
	Runs, Layers, Anchors int
	Workers               int

	// Kept returns the columns of a view that are not left out, increasing; nil: all. The others are zero in its rows.
	Kept func(v int) []int
}

// limit returns the largest rank with which a view of n rows of d columns, with the given entries a row, is
// rotated; 0 for none.
func (c Rotate) limit(n, d int, entries float64) int {
	full := min(n, d-1)
	runs, layers, m := float64(c.Runs), float64(c.Layers), float64(c.Anchors)
	training := func(entries, d float64) float64 {
		return rotationEpochs * runs * layers * (4*max(m, vectorWidth)*float64(n)*entries + anchorCost*m*d)
	}
	before := training(entries, float64(d))
	limit := largestWith(min(full, int(worthwhile*float64(d))), func(k int) bool {
		cost := (basisCost*4 + 2) * float64(n) * float64(k) * float64(d)
		return cost+training(float64(k), float64(k)) < before
	})
	if limit < full { // the rank is higher if there are limit+1 independent rows
		limit = largestWith(limit, func(k int) bool { return basisCost*2*float64(k)*float64(k)*float64(d) < searchShare*before })
	}
	return limit
}

// largestWith returns the largest k from 0 to most for which ok, which holds up to some k, holds.
func largestWith(most int, ok func(k int) bool) int {
	return sort.Search(most, func(k int) bool { return !ok(k + 1) })
}

// spanTolerance is the largest distance of a row from the span of Q, as a share of its length.
func spanTolerance[T kernel.Float]() float64 {
	if kernel.Is32[T]() {
		return 0x1p-21
	}
	return 0x1p-43
}

// RotateViews replaces views of less than full rank by rotated ones if this saves time, and sparse views with many omitted
// columns by their other columns. It returns the rotations, nil for an unchanged view, and the d_v of the loss. Both are nil if
// no view changes.
func RotateViews[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], c Rotate,
) (rotated []*Rotated, lossDims []int, err error) {
	dims, all := make([]int, len(x)), make([]*Rotated, len(x))
	for v := range x {
		_, dims[v] = x[v].Dims()
		var kept []int
		if c.Kept != nil {
			kept = c.Kept(v)
		}
		if x[v], all[v], err = rotate(ctx, x[v], kept, c); err != nil {
			return nil, nil, err
		}
		if all[v] != nil {
			rotated, lossDims = all, dims
		}
	}
	return rotated, lossDims, nil
}

// rotate returns the replacement of a view and its rotation, nil if the view does not change. Columns that are not in kept are
// zero; nil: all are in it.
func rotate[T kernel.Float](ctx context.Context, x rows.Matrix[T], kept []int, c Rotate) (rows.Matrix[T], *Rotated, error) {
	n, d := x.Dims()
	entries, held := float64(d), d
	if kept != nil {
		held = len(kept) // columns of zeros are no reason to rotate
	}
	from, selected := x, (*Rotated)(nil)
	if sparse, ok := x.(*rows.Sparse[T]); ok {
		entries = min(entries, sparseCost*float64(sparse.Entries())/float64(n))
		if float64(held) <= worthwhile*float64(d) {
			from, selected = sparse.Columns(kept), &Rotated{D: d, K: held, Kept: kept}
		}
	}
	limit := c.limit(n, held, min(entries, float64(held)))
	if limit < c.Anchors {
		return from, selected, nil
	}
	q, k, err := rowBasis(ctx, from, limit, spanTolerance[T](), c.Workers)
	if err != nil || k > limit || k < c.Anchors {
		return from, selected, err
	}
	r := &Rotated{D: d, K: k, Q: q}
	if selected != nil {
		r.Kept = kept
	}
	from, err = rotateView(ctx, from, k, q, c.Workers)
	return from, r, err
}

// rotateView returns X·Q, q being Qᵀ of k rows, computed in float64: in float32, sums of rows with many equal entries, as
// standardised counts have, have errors of up to 1e-4.
func rotateView[T kernel.Float](ctx context.Context, x rows.Matrix[T], k int, q []float64, workers int) (rows.Matrix[T], error) {
	n, d := x.Dims()
	var panel kernel.Panel[float64]
	kernel.PackT(&panel, d, k, q, d)
	ld := kernel.Pad(k)
	out := make([]T, n*ld)
	const block = 64
	err := parallel.For(ctx, workers, (n+block-1)/block, func(_, b int) error {
		lo, hi := b*block, min((b+1)*block, n)
		row, wide, y := make([]T, d), make([]float64, (hi-lo)*d), make([]float64, (hi-lo)*ld)
		for i := lo; i < hi; i++ {
			x.Row(i, row)
			for j, a := range row {
				wide[(i-lo)*d+j] = float64(a)
			}
		}
		kernel.Mul(hi-lo, wide, d, &panel, y, ld, false)
		for i, a := range y {
			out[lo*ld+i] = T(a)
		}
		return nil
	})
	return rows.NewDense(n, k, ld, out), err
}
