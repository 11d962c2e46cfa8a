package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Reduction says what the loss makes of the squared errors of a view. Auto is what the preset says in a Config, and
// ReductionMean in a Model.
type Reduction int

const (
	// ReductionMean averages over the entries of the rows that have the view: w_v = 1/(n_v d_v), as torch's MSE does.
	ReductionMean Reduction = iota + 1
	// ReductionSum adds them up, which gives ‖X_v − H P_v‖²_F.
	ReductionSum
	// ReductionRelative takes a view's sum relative to that of the view, and the mean over views: w_v = 1/(V ‖X_v‖²_F). The
	// loss of H = 0 is 1.
	ReductionRelative
)

// String returns auto, mean, sum or relative.
func (r Reduction) String() string { return reductionOption.name(int(r)) }

// MarshalText returns the name.
func (r Reduction) MarshalText() ([]byte, error) { return marshalOption(&reductionOption, r) }

// UnmarshalText reads a name.
func (r *Reduction) UnmarshalText(text []byte) error {
	return unmarshalOption(&reductionOption, r, text)
}

func (r Reduction) check() error { return reductionOption.check(int(r)) }

// weights returns the w_v of the data's views.
func (r Reduction) weights(d *Data) []float64 {
	out := make([]float64, d.Views())
	for v, square := range d.squares {
		switch r {
		case ReductionSum:
			out[v] = 1
		case ReductionRelative:
			if square > 0 {
				out[v] = 1 / (float64(d.Views()) * square)
			}
		default:
			out[v] = 1 / (float64(d.counts[v]) * float64(d.lossDims[v]))
		}
	}
	return out
}

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
		return prefixed(term.Neighbors[float32](0, h, graph, temperature))
	}
	return prefixed(term.Neighbors[float64](0, h, graph, temperature))
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
		return prefixed(heldOutTerm(0, h, held.single, temperature))
	}
	return prefixed(heldOutTerm(0, h, held.double, temperature))
}

// heldOutTerm is the term in one arithmetic; held is nil if it is in the other.
func heldOutTerm[T kernel.Float](
	workers int, h *gorgonia.Node, held *information.LeaveOneOut[T], temperature float64,
) (*gorgonia.Node, error) {
	if held == nil {
		return nil, fmt.Errorf("H is %v, the HeldOut is not", h.Dtype())
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
	Preprocess Preprocess // what is done to the views first; their rows have norm 1 then; default Both
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
func NewHeldOut(ctx context.Context, views []View, c HeldOutConfig) (*HeldOut, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if _, err := checkShapes(views); err != nil {
		return nil, err
	}
	if c.Preprocess == Auto {
		c.Preprocess = PreprocessBoth
	}
	switch {
	case !preprocessOption.has(int(c.Preprocess)):
		return nil, fmt.Errorf("largemvc: Preprocess is %d, want one of %q", int(c.Preprocess), preprocessOption.names)
	case c.Directions < 0:
		return nil, fmt.Errorf("largemvc: Directions is %d", c.Directions)
	case !(c.Penalty >= 0) || math.IsInf(c.Penalty, 1):
		return nil, fmt.Errorf("largemvc: Penalty is %g", c.Penalty)
	case c.Workers < 0:
		return nil, fmt.Errorf("largemvc: Workers is %d", c.Workers)
	}
	in := inner(views)
	if err := withName(view.CheckFinite(ctx, in, c.Workers)); err != nil {
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
	s, err := smooth.Standardise[T](ctx, views, prepare.Kind(c.Preprocess), c.Workers)
	if err != nil {
		return nil, withName(err)
	}
	x := make([]rows.Matrix[T], len(s.Inputs))
	for k, in := range s.Inputs {
		if x[k], err = smooth.UnitRows[T](ctx, s, k, views[in.View], c.Workers); err != nil {
			return nil, withName(err)
		}
	}
	held, err := information.NewLeaveOneOut(ctx, x, information.Regression{
		Directions: c.Directions, Penalty: c.Penalty, Seed: c.Seed, Workers: c.Workers})
	return held, withName(err)
}
