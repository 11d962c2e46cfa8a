// Package terms has the two terms that Fit adds to the loss by default, as Gorgonia nodes for your own graphs: the information
// about neighbours, and the held-out information.
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

// NeighborInformation returns the scalar −I/log m of a representation H (n×m, float32 or float64) and a neighbour graph A of
// its n samples, from −1 to 0: low where neighbours share a cluster and clusters are many and even. It is a loss to add, with
// a weight of about 1 to 10, to the reconstruction:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    J = QᵀAQ / Σ QᵀAQ,    p_a = Σ_b J_ab,
//	I = Σ_ab J_ab log(J_ab / (p_a p_b)),
//
// the mutual information of the clusters of two neighbours, where A is the chance of a pair. Column j of H speaks for cluster
// j. A row h = 0 belongs to all clusters alike and has no derivative; a sample without neighbours takes no part. A graph
// without edges gives 0.
//
// temperature is 0.1 if it is 0. The term is differentiable in H; the graph is constant. Sums over samples are
// folded in float64, and the result does not depend on the number of workers. It costs a product of A with an n×m matrix, and the
// same again for its gradient, besides O(n·m²).
//
// It returns an error if H has a single column, for which log m = 0, if the graph is not of n samples, or if the temperature
// is negative or not finite.
func NeighborInformation(h *gorgonia.Node, graph neighbor.Operator, temperature float64) (*gorgonia.Node, error) {
	if err := op.WantFloat("H", h, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if h.Dtype() == tensor.Float32 {
		return named(term.Neighbors[float32](0, h, graph, temperature))
	}
	return named(term.Neighbors[float64](0, h, graph, temperature))
}

// HeldOutInformation returns the scalar −I/log m of a representation H (n×m) and the prediction of its n samples from each
// other, from −1 to 0: low where the cluster of a sample can be told from its features by what the other samples show, and
// clusters are many and even. It is a loss to add, with a weight of about 1 to 10, to the reconstruction:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    G = softmax(K Q / temperature) by rows,    J = QᵀG / n,
//	I = Σ_ab J_ab log(J_ab / (Σ_b J_ab · Σ_a J_ab)),
//
// the mutual information of the cluster of a sample and of the guess, K being the leave-one-out regression of HeldOut. Where
// NeighborInformation asks that clusters do not cut through neighbours, this asks that they are a simple function of the
// features. Column j of H speaks for cluster j. A row h = 0 belongs to all clusters alike and has no derivative.
//
// temperature is 0.1 if it is 0. The term is differentiable in H; what the regression knows of the features is constant.
// Sums over samples are folded in float64, and the result does not depend on the number of workers. It costs two products of
// Y and of Yᵀ with n×m matrices, and the same again for its gradient.
//
// It returns an error if H has a single column, for which log m = 0, if held is not of n samples or not of the arithmetic of
// H, or if the temperature is negative or not finite.
func HeldOutInformation(h *gorgonia.Node, held *HeldOut, temperature float64) (*gorgonia.Node, error) {
	if err := op.WantFloat("H", h, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if held == nil {
		return nil, errors.New("largemvc: held-out information without a HeldOut")
	}
	if h.Dtype() == tensor.Float32 {
		return named(heldOutTerm(0, h, held.single, temperature))
	}
	return named(heldOutTerm(0, h, held.double, temperature))
}

// heldOutTerm is the term in one arithmetic; held is nil if it is in the other.
func heldOutTerm[T kernel.Float](
	workers int, h *gorgonia.Node, held *information.LeaveOneOut[T], temperature float64,
) (*gorgonia.Node, error) {
	if held == nil {
		return nil, fmt.Errorf("the representation is %v, the HeldOut is not", h.Dtype())
	}
	return term.HeldOut(workers, h, held, temperature)
}

// HeldOut predicts every sample's value from those of all other samples, by ridge regression on its features. For the rows
// X (n×D, all views side by side) in their leading singular directions, Y = X Vᵀ, and values Q (n×m) the predictions are
//
//	S = Y (YᵀY + λ‖X‖²I)⁻¹ Yᵀ,    h_i = S_ii,    K Q = ((S Q)_i − h_i q_i) / (1 − h_i)  by rows i,
//
// exactly what n regressions would give that each leave one sample out (D. M. Allen, Technometrics 1974), on the directions V
// and with the penalty λ‖X‖² of all samples. It is safe for concurrent use.
type HeldOut struct {
	single *information.LeaveOneOut[float32]
	double *information.LeaveOneOut[float64]
}

// HeldOutConfig says how samples are predicted. The zero value of a field means what its comment says.
type HeldOutConfig struct {
	Preprocess largemvc.Preprocess // what is done to the views first; their rows have norm 1 then; default Both
	// Directions is the number of singular directions of all views together that are regressed on, at most n and Σ d_v;
	// 0: 200, or 64 above 10,000 samples.
	Directions int
	// Penalty is λ; 0: 0.001. So small a one that a sample decides its own regression, to rounding, is an error.
	Penalty float64
	Seed    uint64 // of the search for the directions
	Float64 bool   // arithmetic, that of H where it is used, in place of float32
	Workers int    // goroutines of NewHeldOut; 0: GOMAXPROCS
}

// NewHeldOut measures the views. It takes memory for n rows of the directions, and time linear in n. An absent view is a
// row of zeros.
//
// It returns an error if the views are not usable, as Fit does, or a field of the configuration is out of range.
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
		return nil, fmt.Errorf("largemvc: Directions is %d", c.Directions)
	case !(c.Penalty >= 0) || math.IsInf(c.Penalty, 1):
		return nil, fmt.Errorf("largemvc: Penalty is %g", c.Penalty)
	case c.Workers < 0:
		return nil, fmt.Errorf("largemvc: Workers is %d", c.Workers)
	}
	in := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if in[v], err = x.Content(); err != nil {
			return nil, unprefixed(err)
		}
	}
	if err := unprefixed(view.CheckFinite(ctx, in, c.Workers)); err != nil {
		return nil, err
	}
	out := &HeldOut{}
	var err error
	if c.Float64 {
		out.double, err = heldOutOfViews[float64](ctx, in, c)
	} else {
		out.single, err = heldOutOfViews[float32](ctx, in, c)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func heldOutOfViews[T kernel.Float](
	ctx context.Context, views []view.View, c HeldOutConfig,
) (*information.LeaveOneOut[T], error) {
	s, err := smooth.Standardise[T](ctx, nil, views, prepare.Kind(c.Preprocess), c.Workers)
	if err != nil {
		return nil, unprefixed(err)
	}
	x := make([]rows.Matrix[T], len(s.Inputs))
	for k, in := range s.Inputs {
		if x[k], err = smooth.UnitRows[T](ctx, s, k, views[in.View], c.Workers); err != nil {
			return nil, unprefixed(err)
		}
	}
	held, err := information.NewLeaveOneOut(ctx, x, information.Regression{
		Directions: c.Directions, Penalty: c.Penalty, Seed: c.Seed, Workers: c.Workers})
	return held, unprefixed(err)
}

// named puts the library's name before an error of an internal package.
func named[X any](x X, err error) (X, error) { return x, unprefixed(err) }

// unprefixed is an error of an internal package with the library's name before it. The context's own stays as it is.
func unprefixed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}
