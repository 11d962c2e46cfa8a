// Package terms has terms of the loss as Gorgonia nodes for your own graphs: the information about neighbours and the held-out
// information, which Fit adds to the loss by default, and the known clusters of Config.Neighborhood.KnownWeight.
package terms

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// NeighborInformation returns the scalar −I/log m (−1 to 0) of a representation H (n×m, float32 or float64) and a neighbour
// graph A of its n samples. It is low if neighbours share a cluster and clusters are many and even. Add it to the loss with a
// weight of about 1 to 10. Column j of H belongs to cluster j. I is the mutual information of the clusters of two neighbours,
// where A_ij is proportional to the probability of the pair i, j:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    J = QᵀAQ / Σ QᵀAQ,    p_a = Σ_b J_ab,
//	I = Σ_ab J_ab log(J_ab / (p_a p_b))
//
// A row h = 0 belongs to all clusters alike and has no derivative. A sample without neighbours has no effect. A graph without
// edges gives 0.
//
// A temperature of 0 means 0.1. The term is differentiable in H; the graph is constant. Sums over samples are computed in
// float64, and the result does not depend on the number of workers. The value takes one product of A with an n×m matrix and
// O(n·m²) besides, and the gradient as much again.
//
// NeighborInformation returns an error if H has a single column (log m = 0), if the graph does not have n samples, or if the
// temperature is negative or not finite.
func NeighborInformation(h *gorgonia.Node, graph neighbor.Operator, temperature float64) (*gorgonia.Node, error) {
	if err := op.WantFloat("H", h, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if h.Dtype() == tensor.Float32 {
		return named(term.Neighbors[float32](0, h, graph, temperature))
	}
	return named(term.Neighbors[float64](0, h, graph, temperature))
}

// HeldOutInformation returns the scalar −I/log m (−1 to 0) of a representation H (n×m) and a prediction of its n samples from
// each other. It is low if the features of a sample predict its cluster, by a regression on the other samples, and clusters are
// many and even. Add it to the loss with a weight of about 1 to 10. Column j of H belongs to cluster j. I is the mutual
// information of the cluster of a sample and of its prediction, with the leave-one-out regression K of HeldOut:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    G = softmax(K Q / temperature) by rows,    J = QᵀG / n,
//	I = Σ_ab J_ab log(J_ab / (Σ_b J_ab · Σ_a J_ab))
//
// NeighborInformation favours clusters that do not separate neighbours. HeldOutInformation favours clusters that are a simple
// function of the features. A row h = 0 belongs to all clusters alike and has no derivative.
//
// A temperature of 0 means 0.1. The term is differentiable in H; the regression is constant. Sums over samples are computed in
// float64, and the result does not depend on the number of workers. The value takes two products of Y and of Yᵀ with n×m
// matrices, and the gradient as much again.
//
// HeldOutInformation returns an error if H has a single column (log m = 0), if held does not have n samples or has another
// arithmetic than H, or if the temperature is negative or not finite.
func HeldOutInformation(h *gorgonia.Node, held *HeldOut, temperature float64) (*gorgonia.Node, error) {
	if err := op.WantFloat("H", h, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if held == nil {
		return nil, errors.New("largemvc: the HeldOut is nil: NewHeldOut makes one")
	}
	if h.Dtype() == tensor.Float32 {
		return named(heldOutTerm(0, h, held.single, temperature))
	}
	return named(heldOutTerm(0, h, held.double, temperature))
}

// KnownClusters returns the scalar −L/log m (at least 0) of a representation H (n×m) and the known clusters of some of its n
// samples. It is low if the known samples belong to their clusters. clusters has n values: the column of H of the cluster of a
// sample (0 to m−1), or −1 where it is not known. Add the term to the loss with a weight of about 3. L is a mean over the known
// samples i:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    L = mean of log Q_iy, where y is the known cluster of i
//
// The network must begin with these clusters in their columns: set Config.StartLabels to labels that agree with the known ones.
// Config.Neighborhood.KnownWeight does that. A row h = 0 belongs to all clusters alike and has no derivative.
//
// A temperature of 0 means 0.1. The term is differentiable in H. Its value takes O(m) for each known sample, and the result does
// not depend on the number of workers.
//
// KnownClusters returns an error if H has a single column (log m = 0), if there are not n clusters, if one is below −1 or above
// m−1, if all are −1, or if the temperature is negative or not finite.
func KnownClusters(h *gorgonia.Node, clusters []int, temperature float64) (*gorgonia.Node, error) {
	if err := op.WantFloat("H", h, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if h.Dtype() == tensor.Float32 {
		return named(term.Known[float32](0, h, clusters, temperature))
	}
	return named(term.Known[float64](0, h, clusters, temperature))
}

// heldOutTerm returns the term in the arithmetic T; held is nil if the HeldOut has the other arithmetic.
func heldOutTerm[T kernel.Float](
	workers int, h *gorgonia.Node, held *information.LeaveOneOut[T], temperature float64,
) (*gorgonia.Node, error) {
	if held == nil {
		return nil, fmt.Errorf("the representation is %v, the HeldOut is not; set HeldOutConfig.Float64 to match it", h.Dtype())
	}
	return term.HeldOut(workers, h, held, temperature)
}

// HeldOut predicts the values of every sample from the values of all other samples, by ridge regression on its features. X (n×D)
// holds the rows of all views side by side, Y = X Vᵀ their coordinates along the leading singular directions V. The predictions
// of values Q (n×m) are
//
//	S = Y (YᵀY + λ‖X‖²I)⁻¹ Yᵀ,    h_i = S_ii,    K Q = ((S Q)_i − h_i q_i) / (1 − h_i)  by rows i.
//
// These equal the predictions of n regressions that each leave one sample out (D. M. Allen, Technometrics 1974), with the
// directions V and the penalty λ‖X‖² of all samples. HeldOut is safe for concurrent use.
type HeldOut struct {
	single *information.LeaveOneOut[float32]
	double *information.LeaveOneOut[float64]
}

// HeldOutConfig sets how samples are predicted. Each field documents what its zero value means.
type HeldOutConfig struct {
	Preprocess largemvc.Preprocess // standardisation of the views, whose rows then get norm 1; 0: PreprocessBoth
	// Directions is the number of singular directions, of all views together, in the regression: at most n and Σ d_v. 0: 200, or
	// 64 above 10,000 samples.
	Directions int
	// Penalty is λ; 0: 0.001. NewHeldOut returns an error if it is so small that, to rounding, a sample decides its own
	// prediction.
	Penalty float64
	Seed    uint64 // seed of the search for the directions
	Float64 bool   // float64 in place of float32; it must be the arithmetic of H
	Workers int    // goroutines of NewHeldOut; 0: GOMAXPROCS
}

// NewHeldOut computes the directions of the views. Its memory and time grow linearly with n. An absent row counts as zeros.
//
// It returns an error for views that Fit refuses, and for a field of the configuration that is out of range.
func NewHeldOut(ctx context.Context, views []largemvc.View, c HeldOutConfig) (*HeldOut, error) {
	if err := unprefixed(parallel.CheckContext(ctx)); err != nil {
		return nil, err
	}
	if err := (largemvc.Config{Clusters: 1}).Check(views); err != nil {
		return nil, err
	}
	if c.Preprocess == 0 {
		c.Preprocess = largemvc.PreprocessBoth
	}
	switch {
	case c.Preprocess < largemvc.None || c.Preprocess > largemvc.PreprocessBoth:
		return nil, fmt.Errorf("largemvc: Preprocess is %d, want %d to %d", int(c.Preprocess), largemvc.None,
			int(largemvc.PreprocessBoth))
	case c.Directions < 0:
		return nil, fmt.Errorf("largemvc: Directions is %d, want 0 (the default) or more", c.Directions)
	case !(c.Penalty >= 0) || math.IsInf(c.Penalty, 1):
		return nil, fmt.Errorf("largemvc: Penalty is %g, want 0 (0.001) or a finite number above it", c.Penalty)
	case c.Workers < 0:
		return nil, fmt.Errorf("largemvc: Workers is %d, want 0 (GOMAXPROCS) or more", c.Workers)
	}
	in := make([]view.View, len(views))
	for v, x := range views {
		in[v], _ = x.Content() // Check has refused errors
	}
	in, err := view.Hold(ctx, in, c.Workers)
	if err == nil {
		err = view.CheckFinite(ctx, in, c.Workers)
	}
	if err != nil {
		return nil, unprefixed(err)
	}
	out := &HeldOut{}
	if c.Float64 {
		out.double, err = heldOutOfViews[float64](ctx, in, c)
	} else {
		out.single, err = heldOutOfViews[float32](ctx, in, c)
	}
	if err != nil {
		return nil, unprefixed(err)
	}
	return out, nil
}

func heldOutOfViews[T kernel.Float](
	ctx context.Context, views []view.View, c HeldOutConfig,
) (*information.LeaveOneOut[T], error) {
	s, err := smooth.Standardise[T](ctx, nil, views, prepare.Kind(c.Preprocess), c.Workers)
	if err != nil {
		return nil, err
	}
	x := make([]rows.Matrix[T], len(s.Inputs))
	for k, in := range s.Inputs {
		if x[k], err = smooth.UnitRows[T](ctx, s, k, views[in.View], c.Workers); err != nil {
			return nil, err
		}
	}
	return information.NewLeaveOneOut(ctx, x, information.Regression{
		Directions: c.Directions, Penalty: c.Penalty, Seed: c.Seed, Workers: c.Workers})
}

func named[X any](x X, err error) (X, error) { return x, unprefixed(err) }

// unprefixed adds the library's name to an error of an internal package, but not to the context's error.
func unprefixed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}
