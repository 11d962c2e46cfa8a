package largemvc

import (
	"context"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/rowspace"
)

// Rotation says whether views of a rank k below their d_v features are trained in k columns: X_v = X̃_v·Qᵀ with
// orthonormal columns in Q (d_v×k), and P_v = P̃_v·Qᵀ. All that the network does with a view goes through inner products
// of its rows, so the result is the same to rounding, at k/d_v of the cost of an epoch; the loss keeps the mean over d_v
// columns. Anchors, representation, trust and labels are those of the network in the original columns, where new samples
// are predicted too: nothing of the rotation is left after training.
type Rotation int

const (
	// RotateAuto rotates where the saving in 100 epochs exceeds the cost of finding Q, mostly views of fewer samples than
	// features. It leaves the views as they are where there is an ExtraLoss, whose P nodes are m×k for a rotated view.
	RotateAuto Rotation = iota
	// RotateAlways rotates every view whose rank is at least m and below d_v.
	RotateAlways
	// RotateNever leaves the views as they are. So do given StartAnchors, which need not lie in the span of the rows.
	RotateNever
)

var rotationNames = []string{"auto", "always", "never"}

func (r Rotation) String() string { return optionName(rotationNames, int(r)) }

// ParseRotation returns the rotation of that name: auto, always or never.
func ParseRotation(s string) (Rotation, error) {
	i, err := parseOption("rotation", rotationNames, s)
	return Rotation(i), err
}

// rotation is the Q of a view.
type rotation struct {
	d, k int
	q    []float64 // Qᵀ, k×d row-major
}

// original returns the m×k anchors of a rotated view in its original columns, P̃·Qᵀ; a copy of them if r is nil.
func (r *rotation) original(m int, p []float64) []float64 {
	if r == nil {
		return slices.Clone(p)
	}
	out := make([]float64, m*r.d)
	var impl gonum.Implementation
	impl.Dgemm(blas.NoTrans, blas.NoTrans, m, r.d, r.k, 1, p, r.k, r.q, r.d, 0, out, r.d)
	return out
}

// The cost of a rotation and what it saves, in float32 multiplications of the kernels. The numbers are fitted to
// measured times on views of 169 to 3,312 samples and up to 3,703 features.
const (
	rotationEpochs = 100  // whatever Config.Epochs, so that a training that is resumed for longer decides alike
	basisCost      = 3    // of one multiplication in finding Q, in float64, with its overhead
	sparseCost     = 8    // of one multiplication with an entry of a sparse row, which does not fill a vector
	anchorCost     = 60   // of an entry of the m×d_v matrices beside the samples, a layer and an epoch
	vectorWidth    = 16   // a product with fewer columns costs as much
	searchShare    = 0.03 // of the training that may be spent on looking for a low rank in vain
	worthwhile     = 0.75 // the largest k/d_v that is worth a second copy of the view while it is made
)

// rotationLimit returns the largest rank with which a view of n rows of d columns, with the given entries a row, is
// rotated; 0 for none.
func (c *Config) rotationLimit(n, d int, entries float64) int {
	full := min(n, d-1)
	switch {
	case c.Rotate == RotateNever || c.StartAnchors != nil:
		return 0
	case c.Rotate == RotateAlways:
		return full
	case c.ExtraLoss != nil || c.Epochs == NoTraining:
		return 0
	}
	runs, layers, m := float64(c.Restarts), float64(c.Layers), float64(c.Anchors)
	training := func(entries, d float64) float64 {
		return rotationEpochs * runs * layers * (4*max(m, vectorWidth)*float64(n)*entries + anchorCost*m*d)
	}
	before := training(entries, float64(d))
	limit := largestWith(min(full, int(worthwhile*float64(d))), func(k int) bool {
		cost := (basisCost*4 + 2) * float64(n) * float64(k) * float64(d)
		return cost+training(float64(k), float64(k)) < before
	})
	if limit < full { // The rank may well be higher, which limit+1 independent rows show.
		limit = largestWith(limit, func(k int) bool { return basisCost*2*float64(k)*float64(k)*float64(d) < searchShare*before })
	}
	return limit
}

// largestWith returns the largest k from 0 to most for which ok, which holds up to some k, holds.
func largestWith(most int, ok func(k int) bool) int {
	return sort.Search(most, func(k int) bool { return !ok(k + 1) })
}

// spanTolerance is the share of a row's length that it may be away from the span of Q.
func spanTolerance[T kernel.Float]() float64 {
	if kernel.Is32[T]() {
		return 0x1p-21
	}
	return 0x1p-43
}

// rotate replaces, where it pays, views of less than full rank by their rotated ones. It returns the rotations, nil for a
// view that stays as it is, and the d_v of the loss; both are nil if all do.
func rotate[T kernel.Float](ctx context.Context, x []rows.Matrix[T], c *Config) (rotations []*rotation, lossDims []int, err error) {
	for v := range x {
		n, d := x[v].Dims()
		entries := float64(d)
		if sparse, ok := x[v].(*rows.Sparse[T]); ok {
			entries = min(entries, sparseCost*float64(sparse.Entries())/float64(n))
		}
		limit := c.rotationLimit(n, d, entries)
		if limit < c.Anchors {
			continue
		}
		q, k, err := rowspace.Basis(ctx, x[v], limit, spanTolerance[T](), c.Workers)
		if err != nil {
			return nil, nil, err
		}
		if k > limit || k < c.Anchors {
			continue
		}
		if rotations == nil {
			rotations = make([]*rotation, len(x))
			for _, xv := range x {
				_, dv := xv.Dims()
				lossDims = append(lossDims, dv)
			}
		}
		rotations[v] = &rotation{d: d, k: k, q: q}
		if x[v], err = rotateView(ctx, x[v], rotations[v], c.Workers); err != nil {
			return nil, nil, err
		}
	}
	return rotations, lossDims, nil
}

// rotateView returns X·Q. It is computed in float64: in float32 the sums of rows with many equal entries, as
// standardised counts have, are off by up to 1e-4.
func rotateView[T kernel.Float](ctx context.Context, x rows.Matrix[T], r *rotation, workers int) (rows.Matrix[T], error) {
	n, _ := x.Dims()
	var panel kernel.Panel[float64]
	kernel.PackT(&panel, r.d, r.k, r.q, r.d)
	ld := kernel.Pad(r.k)
	out := make([]T, n*ld)
	const block = 64
	err := parallel.For(ctx, workers, (n+block-1)/block, func(_, b int) error {
		lo, hi := b*block, min((b+1)*block, n)
		row, wide, y := make([]T, r.d), make([]float64, (hi-lo)*r.d), make([]float64, (hi-lo)*ld)
		for i := lo; i < hi; i++ {
			x.Row(i, row)
			for j, a := range row {
				wide[(i-lo)*r.d+j] = float64(a)
			}
		}
		kernel.Mul(hi-lo, wide, r.d, &panel, y, ld, false)
		for i, a := range y {
			out[lo*ld+i] = T(a)
		}
		return nil
	})
	return rows.NewDense(n, r.k, ld, out), err
}

// represent sends the training samples through a trained network in the original columns, as Predict does: it returns H
// (n×m, with the stride kernel.Pad(m)) and the trust of every view, nil without noise.
func (j *job[T]) represent(ctx context.Context, p *Predictor) (h []T, trust [][]float64, err error) {
	prepare := *j.prepare
	for _, x := range j.views {
		prepare.applied = append(prepare.applied, inPlace[T](x, j.config.Overwrite))
	}
	f, err := newFitted(p, newPreparer[T](&prepare, p.dims), nil)
	if err != nil {
		return nil, nil, err
	}
	out := &predictions{wantH: true}
	if j.config.Variant == Large {
		for range j.views {
			out.trust = append(out.trust, make([]float64, p.samples))
		}
	}
	if err := f.run(ctx, j.views, j.config.Workers, out); err != nil {
		return nil, nil, err
	}
	if h, ok := any(out.h.f32).([]T); ok {
		return h, out.trust, nil
	}
	return any(out.h.f64).([]T), out.trust, nil
}
