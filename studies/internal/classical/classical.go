// Package classical clusters by the alternating minimisation that LargeMvC-Net unfolds into a network. The studies compare the
// network with it.
package classical

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/view"
)

// Options are the settings of Fit. Clusters and Beta are required.
type Options struct {
	Clusters   int     // c, as many as anchors: from 1 to n
	Alpha      float64 // α ≥ 0, the weight of ‖H‖₁
	Beta       float64 // β > 0 in units of a view's median residual at the start, the weight of ‖E_v‖₂,₁; +Inf: E = 0
	Iterations int
	Seed       uint64
	Labels     []int // from which the first anchors come; nil: those of k-means
}

// starts is the number of starts of the k-means that the first anchors come from.
const starts = 10

// Result is the result of Fit.
type Result struct {
	H     *mat.Dense   // n×m, ≥ 0
	P     []*mat.Dense // per view, m×d_v; orthonormal rows, or columns where d_v < m
	Trust [][]float64  // per view and sample, in [0, 1]: E_v = (1−t)(X_v − H P_v); 1 where the view is absent

	// Objective is J at the start (H = 0, E = 0) and after each iteration. It never rises, up to rounding (in float32 about
	// 1e-7 of Σ‖X_v‖²). The last entry belongs to H, P and Trust, that is after one more update of E.
	Objective []float64
	Beta      []float64 // β_v as applied
}

// Fit minimises, on views as they are, the objective that LargeMvC-Net unfolds:
//
//	J = Σ_v ( ½‖X_v − H P_v − E_v‖² + α‖H‖₁ + β_v‖E_v‖₂,₁ ),   H ≥ 0,   P_v orthonormal
//
// An iteration is
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
// with n by more than a few numbers a view; an iteration is one pass over X. The objective is not convex; results depend on the
// start.
func Fit[T kernel.Float](ctx context.Context, views []largemvc.View, o Options) (*Result, error) {
	in := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if in[v], err = x.Content(); err != nil {
			return nil, err
		}
	}
	if err := view.CheckFinite(ctx, in, 0); err != nil {
		return nil, err
	}
	standard, err := prepare.Measure(ctx, nil, prepare.Raw, in, 0)
	if err != nil {
		return nil, err
	}
	x, err := prepare.Standardise[T](ctx, nil, in, standard, 0, false)
	if err != nil {
		return nil, err
	}
	from, err := cluster.FirstAnchors(ctx, x, nil, in, cluster.Start{
		Labels: o.Labels, Count: o.Clusters, Starts: starts, Seed: o.Seed, Measure: true,
	})
	if err != nil {
		return nil, err
	}
	out := &Result{Beta: from.Scale}
	for v := range out.Beta {
		out.Beta[v] *= o.Beta
	}
	s := newSolver(x, in, from.Anchors, o.Alpha, out.Beta)
	for k := range o.Iterations + 1 {
		step := s.iterate
		if k == o.Iterations {
			step = s.finish
		}
		j, err := step(ctx)
		if err != nil {
			return nil, err
		}
		out.Objective = append(out.Objective, j)
	}
	out.H = mat.NewDense(s.n, s.m, nil)
	for i := range s.n {
		for j, x := range s.h[i*s.ld : i*s.ld+s.m] {
			out.H.Set(i, j, float64(x))
		}
	}
	for _, a := range s.views {
		out.P = append(out.P, mat.NewDense(s.m, a.d, slices.Clone(a.p)))
		out.Trust = append(out.Trust, kernel.Float64s(a.trust))
	}
	return out, nil
}
