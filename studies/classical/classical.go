// Package classical clusters by the alternating minimisation that LargeMvC-Net unfolds into a network. The studies compare the
// network with it.
package classical

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/cluster"
	solver "github.com/largemvc/largemvc/studies/internal/classical"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/presets"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// Config says how Fit clusters. Clusters is required; every other field may be left zero.
type Config struct {
	Clusters int // c, the number of clusters: from 1 to n
	Anchors  int // m, the number of anchors: from 1 to n; 0: Clusters

	Alpha    float64 // α ≥ 0, the weight of ‖H‖₁
	Beta     float64 // β > 0 in units of a view's median residual, the weight of ‖E_v‖₂,₁; 0: 1; +Inf: E = 0
	UnitBeta bool    // β_v = Beta, in place of Beta times the view's median residual at the start

	Iterations int     // limit; 0: 100
	Tolerance  float64 // ends where an iteration lowers J by less than this share; 0: 1e-6; negative: only at the limit

	Seed         uint64
	Preprocess   largemvc.Preprocess // as in largemvc.Config
	StartLabels  []int               // as in largemvc.Config
	Float64      bool                // as in largemvc.Config
	Workers      int                 // goroutines; 0: GOMAXPROCS. They do not change the result
	KMeansStarts int                 // starts of each k-means; 0: 10
	Overwrite    bool                // as in largemvc.Config

	// Progress, if not nil, is called in every iteration with J as it was before. An error ends the run with Status
	// Stopped; it is returned by Fit unless it is largemvc.ErrStop.
	Progress func(iteration int, objective float64) error
}

// Result is the result of Fit.
type Result struct {
	Labels   []int // n, from 0 to Clusters−1, numbered as in Clustering
	Clusters int   // found; fewer than asked for if H has fewer distinct rows
	Sizes    []int

	H     *mat.Dense   // n×m, ≥ 0
	P     []*mat.Dense // per view, m×d_v; orthonormal rows, or columns where d_v < m
	Trust [][]float64  // per view and sample, in [0, 1]: E_v = (1−t)(X_v − H P_v); 1 where the view is absent

	// Objective is J at the start (H = 0, E = 0) and after each iteration. It never rises, up to rounding (with Float32
	// about 1e-7 of Σ‖X_v‖²). The last entry belongs to H, P and Trust, that is after one more update of E.
	Objective  []float64
	Status     largemvc.Status // EpochLimit: the limit of iterations
	Iterations int

	StartLabels []int
	Beta        []float64 // β_v as applied
	Duration    time.Duration
}

// String says what was found, in a line.
func (r *Result) String() string {
	return fmt.Sprintf("%d clusters of sizes %v after %d iterations (%v)", r.Clusters, r.Sizes, r.Iterations, r.Status)
}

const (
	defaultIterations = 100
	defaultTolerance  = 1e-6
)

// Fit clusters by the alternating minimisation that LargeMvC-Net unfolds, of
//
//	J = Σ_v ( ½‖X_v − H P_v − E_v‖² + α‖H‖₁ + β_v‖E_v‖₂,₁ ),   H ≥ 0,   P_v orthonormal
//
// and k-means on H. An iteration is
//
//	H   ← max( H − (1/V) Σ_v (H P_vP_vᵀ − (X_v − E_v)P_vᵀ) − α, 0 )
//	E_v ← D_β(X_v − H P_v)            row r → max(1 − β_v/‖r‖, 0)·r
//	P_v ← polar(Hᵀ(X_v − E_v))        where d_v ≥ m
//	P_v ← polar(Hᵀ(X_v − E_v − H P_v) + λP_v),   λ = λ_max(HᵀH),   where d_v < m
//
// None of these steps raises J: the first minimises a bound of J with the curvature V of its smooth part (J itself where
// all P_vP_vᵀ = I), the second and third minimise J exactly, the fourth a bound again. The paper's own update of H differs:
// it averages one proximal step per view, with the two-sided threshold, which may raise J and leaves H ≥ 0 unenforced; and
// it takes the polar factor of Hᵀ(X_v − E_v) where d_v < m too, which is no minimiser there because H P_vP_vᵀHᵀ depends
// on P_v.
//
// Samples may lack views: sums over v, and V, then run over the views that a sample has. Besides X and H no array grows
// with n by more than a few numbers a view; an iteration is one pass over X.
//
// Errors, and what is returned beside them, are as in largemvc.Fit. The objective is not convex; results depend on the start.
func Fit(ctx context.Context, views []largemvc.View, config Config) (*Result, error) {
	if err := named(parallel.CheckContext(ctx)); err != nil {
		return nil, err
	}
	begin := time.Now()
	c, err := config.complete(views)
	if err != nil {
		return nil, err
	}
	in := make([]view.View, len(views))
	for v, x := range views {
		if in[v], err = x.Content(); err != nil {
			return nil, named(err)
		}
	}
	if err := named(view.CheckFinite(ctx, in, c.Machine.Workers)); err != nil {
		return nil, err
	}
	if c.Float64 {
		return fit[float64](ctx, in, &config, c, begin)
	}
	return fit[float32](ctx, in, &config, c, begin)
}

// named puts the library's name before an error of an internal package. The context's own stays as it is.
func named(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}

// complete fills the defaults, checks, and returns what the start and the last k-means need.
func (k *Config) complete(views []largemvc.View) (*largemvc.Config, error) {
	c := presets.Paper.Of(largemvc.Config{
		Clusters: k.Clusters, Anchors: k.Anchors, Seed: k.Seed, Preprocess: k.Preprocess, StartLabels: k.StartLabels, Float64: k.Float64,
		KMeansStarts: k.KMeansStarts,
		Machine:      machine.Options{Workers: k.Workers, Overwrite: k.Overwrite},
	})
	var errs []error
	if !(k.Alpha >= 0) || math.IsInf(k.Alpha, 1) {
		errs = append(errs, fmt.Errorf("largemvc: Alpha is %v", k.Alpha))
	}
	if !(k.Beta >= 0) {
		errs = append(errs, fmt.Errorf("largemvc: Beta is %v", k.Beta))
	}
	if k.Iterations < 0 {
		errs = append(errs, fmt.Errorf("largemvc: Iterations is %d", k.Iterations))
	}
	if math.IsNaN(k.Tolerance) || math.IsInf(k.Tolerance, 0) {
		errs = append(errs, fmt.Errorf("largemvc: Tolerance is %v", k.Tolerance))
	}
	if err := errors.Join(append(errs, c.Check(views))...); err != nil {
		return nil, err
	}
	k.Beta = cmp.Or(k.Beta, 1)
	k.Tolerance = cmp.Or(k.Tolerance, defaultTolerance)
	if k.Iterations == 0 {
		k.Iterations = defaultIterations
	}
	c = c.WithDefaults()
	return &c, nil
}

func fit[T kernel.Float](
	ctx context.Context, views []view.View, k *Config, c *largemvc.Config, begin time.Time,
) (*Result, error) {
	standard, err := prepare.Measure(ctx, nil, prepare.Kind(c.Preprocess), views, c.Machine.Workers)
	if err != nil {
		return nil, named(err)
	}
	x, err := prepare.Standardise[T](ctx, nil, views, standard, c.Machine.Workers, c.Machine.Overwrite)
	if err != nil {
		return nil, named(err)
	}
	from, err := cluster.FirstAnchors(ctx, x, nil, views, cluster.Start{
		Labels: c.StartLabels, Count: c.Anchors, Starts: c.KMeansStarts, Seed: c.Seed,
		Workers: c.Machine.Workers, Measure: !k.UnitBeta,
	})
	if err != nil {
		return nil, named(err)
	}
	beta := make([]float64, len(views))
	for v := range beta {
		if beta[v] = k.Beta; from.Scale != nil {
			beta[v] *= from.Scale[v]
		}
	}
	s := solver.New(x, views, from.Anchors, k.Alpha, beta, c.Machine.Workers)
	out := &Result{StartLabels: from.Labels, Beta: beta}
	ended := out.iterate(ctx, s, k)
	if out.Iterations == 0 && ended != nil {
		return nil, ended
	}
	// What there is gets its result, whatever ended the iterations.
	ctx = context.WithoutCancel(ctx)
	last, err := s.Finish(ctx)
	if err != nil {
		return nil, named(err)
	}
	out.Objective = append(out.Objective, last)
	h, n, m, ld := s.H()
	o := cluster.Options{Clusters: c.Clusters, Starts: c.KMeansStarts, Seed: c.Seed, Workers: c.Machine.Workers}
	found, err := cluster.Rows(ctx, rows.NewDense(n, m, ld, h), o)
	if err != nil {
		return nil, named(err)
	}
	out.Labels, out.Sizes, out.Clusters = found.Labels, found.Sizes, len(found.Sizes)
	out.H = mat.NewDense(n, m, nil)
	for i := range n {
		for j, x := range h[i*ld : i*ld+m] {
			out.H.Set(i, j, float64(x))
		}
	}
	for v := range views {
		p, d := s.Anchors(v)
		out.P = append(out.P, mat.NewDense(m, d, slices.Clone(p)))
		out.Trust = append(out.Trust, s.Trust(v))
	}
	out.Duration = time.Since(begin)
	return out, ended
}

// iterator is an alternation in either arithmetic.
type iterator interface {
	// Iterate does one iteration and returns J as it was before.
	Iterate(ctx context.Context) (float64, error)
}

// iterate runs the iterations. Its error is for the caller of Fit.
func (r *Result) iterate(ctx context.Context, s iterator, k *Config) error {
	for r.Iterations < k.Iterations {
		if ctx.Err() != nil {
			r.Status = largemvc.Cancelled
			return context.Cause(ctx)
		}
		// Within an iteration H is changed row by row, so it is not broken off.
		j, err := s.Iterate(context.WithoutCancel(ctx))
		if err != nil {
			return named(err)
		}
		r.Iterations++
		r.Objective = append(r.Objective, j)
		if k.Progress != nil {
			if err := k.Progress(r.Iterations, j); err != nil {
				r.Status = largemvc.Stopped
				if errors.Is(err, largemvc.ErrStop) {
					return nil
				}
				return err
			}
		}
		if n := len(r.Objective); n > 1 && k.Tolerance >= 0 {
			if before := r.Objective[n-2]; before-j <= k.Tolerance*before {
				r.Status = largemvc.Converged
				return nil
			}
		}
	}
	return nil
}
