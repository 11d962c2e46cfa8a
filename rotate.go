package largemvc

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/rowspace"
)

// Rotation says whether views of a rank k below their d_v features are trained in k columns: X_v = X̃_v·Qᵀ with
// orthonormal columns in Q (d_v×k), and P_v = P̃_v·Qᵀ. All that the network does with a view goes through products with
// its own rows, so the result is the same to rounding, at k/d_v of the cost of an epoch. The loss keeps the mean over d_v
// columns, and the anchors are given in the original ones.
//
// New samples are rotated by the stored Q first, which costs d_v·k multiplications each. What they have outside the span
// of the training samples takes no part in X·Pᵀ, but counts in the residual, and so in the trust, as it does without.
type Rotation int

const (
	// RotateAuto rotates where the saving in 100 epochs exceeds the cost of finding Q. That is so mostly for views of
	// fewer samples than features. It does not with an ExtraLoss, whose P nodes are then those of the original columns.
	RotateAuto Rotation = iota
	// RotateAlways rotates every view whose rank is at least m and below d_v.
	RotateAlways
	// RotateNever leaves the views as they are. So do given StartAnchors, which need not lie in the span.
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
	q    []float64 // Qᵀ, k×d row-major, as rounded to the arithmetic of the fit
	// slack is the share of a row's squared length that may lie outside the span by rounding alone: twice the largest
	// of the training samples.
	slack float64
}

// rotation returns the rotation of view v, nil if it is not rotated.
func (s *standardiser) rotation(v int) *rotation {
	if s.rotations == nil {
		return nil
	}
	return s.rotations[v]
}

// columns returns the numbers of columns that the network works on, for views of the given features.
func (s *standardiser) columns(dims []int) []int {
	out := append([]int(nil), dims...)
	for v := range out {
		if r := s.rotation(v); r != nil {
			out[v] = r.k
		}
	}
	return out
}

// original returns anchors of view v in its original columns, P̃·Qᵀ: p itself if the view is not rotated.
func (s *standardiser) original(v int, p *mat.Dense) *mat.Dense {
	r := s.rotation(v)
	if r == nil {
		return p
	}
	m, _ := p.Dims()
	out := make([]float64, m*r.d)
	var impl gonum.Implementation
	impl.Dgemm(blas.NoTrans, blas.NoTrans, m, r.d, r.k, 1, p.RawMatrix().Data, r.k, r.q, r.d, 0, out, r.d)
	return mat.NewDense(m, r.d, out)
}

// The cost of a rotation and what it saves, in float32 multiplications of the kernels. The numbers are fitted to
// measured times on views of 169 to 3,312 samples and up to 3,703 features.
const (
	rotationEpochs = 100 // whatever Config.Epochs, so that a training that is resumed for longer decides alike
	basisCost      = 3   // of one multiplication in finding Q, in float64, with its overhead
	sparseCost     = 8   // of one multiplication with an entry of a sparse row, which does not fill a vector
	anchorCost     = 60  // of an entry of the m×d_v matrices beside the samples, a layer and an epoch
	vectorWidth    = 16  // a product with fewer columns costs as much
)

// rotationLimit returns the largest rank from which it pays to rotate a view of n rows of d columns, with the given
// entries a row; 0 if none does.
func (c *Config) rotationLimit(n, d int, entries float64) int {
	switch {
	case c.Rotate == RotateNever || c.StartAnchors != nil:
		return 0
	case c.Rotate == RotateAlways:
		return min(n, d-1)
	case c.ExtraLoss != nil || c.Epochs == NoTraining:
		return 0
	}
	layers, m := float64(c.Layers), float64(c.Anchors)
	pays := func(k int) bool {
		saved := rotationEpochs * layers * (4*math.Max(m, vectorWidth)*float64(n)*(entries-float64(k)) + anchorCost*m*float64(d-k))
		cost := basisCost*(4*float64(k)*float64(k)+4*float64(n-k)*float64(k))*float64(d) + float64(n)*float64(k)*entries
		return float64(c.Restarts)*saved > cost
	}
	lo, hi := 0, min(n, d-1) // pays is decreasing in k
	for lo < hi {
		k := (lo + hi + 1) / 2
		if pays(k) {
			lo = k
		} else {
			hi = k - 1
		}
	}
	return lo
}

// spanTolerance is the share of a row's length that it may be away from the span of Q.
func spanTolerance[T kernel.Float]() float64 {
	var t T
	if _, ok := any(t).(float32); ok {
		return 0x1p-21
	}
	return 0x1p-43
}

// rotate replaces, where it pays, views of less than full rank by their rotated ones, notes the rotations and returns the
// d_v of the loss, nil if there is no rotation. Dense rows are rotated in their own memory.
func rotate[T kernel.Float](ctx context.Context, x []rows.Matrix[T], s *standardiser, c *Config) (lossDims []int, err error) {
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
			return nil, err
		}
		if k > limit || k < c.Anchors {
			continue
		}
		if s.rotations == nil {
			s.rotations = make([]*rotation, len(x))
			for w := range x {
				_, dw := x[w].Dims()
				lossDims = append(lossDims, dw)
			}
		}
		for i, a := range q {
			q[i] = float64(T(a))
		}
		s.rotations[v] = &rotation{d: d, k: k, q: q}
		if x[v], err = rotateView(ctx, x[v], s.rotations[v], c.Workers); err != nil {
			return nil, err
		}
	}
	return lossDims, nil
}

// rotateView returns X·Q and sets the rotation's slack.
func rotateView[T kernel.Float](ctx context.Context, x rows.Matrix[T], r *rotation, workers int) (rows.Matrix[T], error) {
	n, _ := x.Dims()
	panel := packRotation[T](r)
	ld := r.k
	own, dense := x.(*rows.Dense[T])
	var out []T
	if !dense {
		out = make([]T, n*ld)
	}
	const block = 64
	blocks := (n + block - 1) / block
	slack := make([]float64, blocks)
	err := parallel.For(ctx, workers, blocks, func(_, b int) error {
		lo, hi := b*block, min((b+1)*block, n)
		pad := kernel.Pad(r.k)
		y, full := make([]T, (hi-lo)*pad), make([]float64, hi-lo)
		x.Mul(lo, hi, panel, y, pad)
		x.SquaredNorms(lo, hi, full)
		for i := lo; i < hi; i++ {
			row := y[(i-lo)*pad : (i-lo)*pad+r.k]
			if q := full[i-lo]; q > 0 {
				slack[b] = max(slack[b], math.Abs(q-kernel.SumSquares(row, 0))/q)
			}
			if dense {
				copy(own.View(i), row)
			} else {
				copy(out[i*ld:], row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range slack {
		r.slack = max(r.slack, 2*s)
	}
	if dense {
		return own.Narrow(r.k), nil
	}
	return rows.NewDense(n, r.k, ld, out), nil
}

// packRotation packs Q for products with rows.
func packRotation[T kernel.Float](r *rotation) *kernel.Panel[T] {
	p := new(kernel.Panel[T])
	kernel.PackT(p, r.d, r.k, r.q, r.d)
	return p
}
