package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/spectral"
	vw "github.com/largemvc/largemvc/internal/view"
)

// HeldOut predicts every sample's value from those of all other samples, by ridge regression on its features. For the rows
// X (n×D, all views side by side) in their leading singular directions, Y = X Vᵀ, and values Q (n×m) the predictions are
//
//	S = Y (YᵀY + λ‖X‖²I)⁻¹ Yᵀ,    h_i = S_ii,    K Q = ((S Q)_i − h_i q_i) / (1 − h_i)  by rows i,
//
// exactly what n regressions would give that each leave one sample out (D. M. Allen, Technometrics 1974), on the directions V
// and with the penalty λ‖X‖² of all samples. It is safe for concurrent use.
type HeldOut struct {
	single *heldOut[float32]
	double *heldOut[float64]
}

// HeldOutConfig says how samples are predicted. The zero value of a field means what its comment says.
type HeldOutConfig struct {
	Preprocess Preprocess // what is done to the views first; their rows have norm 1 then; default Both
	Directions int        // singular directions of all views together that are regressed on; 0: 200, or 64 above 10,000 samples; at most n and Σ d_v are taken
	Penalty    float64    // λ; 0: 0.001. So small a one that a sample decides its own regression, to rounding, is an error
	Seed       uint64     // of the search for the directions
	Float      Float      // arithmetic, that of H where it is used; default Float32
	Workers    int        // goroutines of NewHeldOut; 0: GOMAXPROCS
}

const (
	heldOutPenalty = 1e-3
	heldOutRows    = 512 // that a goroutine measures at once
	// leastRest is the least 1 − h, in units of the rounding error, at which a value of norm 1 is predicted to a hundredth or so.
	leastRest = 256
)

// heldOutDirections is the number of directions for n samples: their rows are kept, and where samples are many, fewer
// directions tell them apart as well.
func heldOutDirections(n int) int {
	if n > 10_000 {
		return 64
	}
	return 200
}

// NewHeldOut measures the views. It takes memory for n rows of the directions, and time linear in n. An absent view is a
// row of zeros.
//
// It returns an error if the views are not usable, as Fit does, or a field of the configuration is out of range.
func NewHeldOut(ctx context.Context, views []View, c HeldOutConfig) (*HeldOut, error) {
	if _, err := checkShapes(views); err != nil {
		return nil, err
	}
	cfg := Config{Preprocess: c.Preprocess, Float: c.Float, Workers: c.Workers, Seed: c.Seed}
	if cfg.Preprocess == PresetPreprocess {
		cfg.Preprocess = Both
	}
	switch {
	case cfg.Preprocess < 0 || int(cfg.Preprocess) >= len(preprocessNames):
		return nil, fmt.Errorf("largemvc: Preprocess is %d, want one of %q", int(cfg.Preprocess), preprocessNames)
	case c.Float != Float32 && c.Float != Float64:
		return nil, fmt.Errorf("largemvc: Float is %d, want one of %q", int(c.Float), floatNames)
	case c.Directions < 0:
		return nil, fmt.Errorf("largemvc: Directions is %d", c.Directions)
	case !(c.Penalty >= 0) || math.IsInf(c.Penalty, 1):
		return nil, fmt.Errorf("largemvc: Penalty is %g", c.Penalty)
	case c.Workers < 0:
		return nil, fmt.Errorf("largemvc: Workers is %d", c.Workers)
	}
	in := inner(views)
	if err := withName(vw.CheckFinite(ctx, in, c.Workers)); err != nil {
		return nil, err
	}
	out := &HeldOut{}
	var err error
	if c.Float == Float64 {
		out.double, err = heldOutOfViews[float64](ctx, in, cfg.Preprocess, c)
	} else {
		out.single, err = heldOutOfViews[float32](ctx, in, cfg.Preprocess, c)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func heldOutOfViews[T kernel.Float](ctx context.Context, views []vw.View, kind Preprocess, c HeldOutConfig) (*heldOut[T], error) {
	s, err := smooth.Standardise[T](ctx, views, prepare.Kind(kind), c.Workers)
	if err != nil {
		return nil, withName(err)
	}
	x := make([]rows.Matrix[T], len(s.Inputs))
	for k, in := range s.Inputs {
		if x[k], err = smooth.UnitRows[T](ctx, s, k, views[in.View], c.Workers); err != nil {
			return nil, withName(err)
		}
	}
	return newHeldOut(ctx, x, c)
}

// heldOut is HeldOut in one arithmetic.
type heldOut[T kernel.Float] struct {
	n, rank, ld int
	y           []T       // Y, n rows with the stride ld
	weight      []float64 // the diagonal of (YᵀY + λ‖X‖²I)⁻¹
	leverage    []T       // h
	rest        []T       // 1 − h, not small
}

func newHeldOut[T kernel.Float](ctx context.Context, x []rows.Matrix[T], c HeldOutConfig) (*heldOut[T], error) {
	if c.Penalty == 0 {
		c.Penalty = heldOutPenalty
	}
	n, _ := x[0].Dims()
	if c.Directions == 0 {
		c.Directions = heldOutDirections(n)
	}
	width, square, norms := 0, 0.0, make([]float64, n)
	for _, m := range x {
		_, d := m.Dims()
		width += d
		err := parallel.For(ctx, c.Workers, (n+heldOutRows-1)/heldOutRows, func(_, q int) error {
			lo, hi := q*heldOutRows, min((q+1)*heldOutRows, n)
			m.SquaredNorms(lo, hi, norms[lo:hi])
			return nil
		})
		if err != nil {
			return nil, err
		}
		square += kernel.Sum(norms)
	}
	if square == 0 {
		return nil, errors.New("largemvc: held-out prediction from rows of zeros")
	}
	r := &heldOut[T]{n: n, rank: min(c.Directions, n, width)}
	r.ld = kernel.Pad(r.rank)
	basis, err := spectral.Find(ctx, x, spectral.Config{Rank: r.rank, Iterations: smooth.DirectionPasses, Seed: c.Seed, Workers: c.Workers})
	if err != nil {
		return nil, err
	}
	if r.y, err = spectral.Project(ctx, basis, x, c.Workers); err != nil {
		return nil, err
	}
	for _, s := range basis.S {
		r.weight = append(r.weight, 1/(s*s+c.Penalty*square))
	}
	r.leverage, r.rest = make([]T, n), make([]T, n)
	err = parallel.Spans(c.Workers, n, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			h := 0.0
			for j, w := range r.weight {
				e := float64(r.y[i*r.ld+j])
				h += w * e * e
			}
			if 1-h < leastRest*kernel.Epsilon[T]() {
				return fmt.Errorf("largemvc: held-out prediction: with a Penalty of %g the others' share in the regression at sample %d is %.1g, lost in rounding; a larger one is needed", c.Penalty, i, 1-h)
			}
			r.leverage[i], r.rest[i] = T(h), T(1-h)
		}
		return nil
	})
	return r, err
}

// coefficients returns (YᵀY + λ‖X‖²I)⁻¹ YᵀQ (rank×m) for Q with the stride of s.
func (r *heldOut[T]) coefficients(s softAssignment[T], q []T) (*kernel.Panel[T], error) {
	c, err := s.products(q, s.ld, s.m, r.y, r.ld, r.rank)
	if err != nil {
		return nil, err
	}
	for a := range s.m {
		for j, w := range r.weight {
			c[a*r.rank+j] *= w
		}
	}
	panel := new(kernel.Panel[T])
	kernel.PackT(panel, r.rank, s.m, c, r.rank)
	return panel, nil
}

// predict returns K·Q.
func (r *heldOut[T]) predict(s softAssignment[T], q []T) ([]T, error) {
	panel, err := r.coefficients(s, q)
	if err != nil {
		return nil, err
	}
	out := make([]T, s.n*s.ld)
	return out, parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, panel, out[lo*s.ld:], s.ld, false)
		for i := lo; i < hi; i++ {
			h, rest := r.leverage[i], r.rest[i]
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				out[j] = (out[j] - h*q[j]) / rest
			}
		}
		return nil
	})
}

// predictT adds Kᵀ·D to dst. It changes D.
func (r *heldOut[T]) predictT(s softAssignment[T], dst, d []T) error {
	err := parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				d[j] /= r.rest[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	panel, err := r.coefficients(s, d)
	if err != nil {
		return err
	}
	return parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, panel, dst[lo*s.ld:], s.ld, true)
		for i := lo; i < hi; i++ {
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				dst[j] -= r.leverage[i] * d[j]
			}
		}
		return nil
	})
}
