package largemvc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/internal/unfold"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
)

// SoftThreshold is the Represent module of the paper:
//
//	H' = 1/V Σ_v S_θ(H·R + Z_v·U),   Z_v = (X_v − E_v)·P_vᵀ
//
// It has one θ per layer, and one pair R, U (m×m) for all layers and views. The mean includes the views that a sample has.
// The zero value keeps θ ≥ 0; PaperConfig sets Unconstrained. SoftThresholdOp documents S_θ.
type SoftThreshold struct {
	Theta0        float64    // initial value of every θ; default 0.01. For 0 set the nodes with gorgonia.Let
	Lipschitz     float64    // L_p ≥ 1 in the initial R = (1 − 1/L_p) I and U = I/L_p; default 1
	Activation    Activation // σ; default ReLU
	OneSided      bool       // S_θ(a) = σ(a−θ), so that H ≥ 0 with ReLU
	Unconstrained bool       // allows negative θ
	Fixed         bool       // keeps every θ at Theta0

	env   Env
	theta gorgonia.Nodes
	r, u  *gorgonia.Node
}

// RowShrink is the Noise module of the paper: E' = D_ρ(X − H·P), see RowShrinkOp. It has one learnable ρ̃ per layer and view,
// with ρ = Scale·ρ̃.
//
// Adam moves a parameter by at most about the learning rate in a step. With Scale 1, the default Rho0 and
// the default learning rate 0.01, ρ ends near 1 after 100 steps. Scale should therefore be of the size of the residual norms.
type RowShrink struct {
	Rho0          float64    // initial value of every ρ̃; default 0.01. For 0 set the nodes with gorgonia.Let
	Scale         []float64  // scale of each view, in Fit of each input (Predictor.Inputs), above 0; default 1
	Activation    Activation // σ; default ReLU
	Unconstrained bool       // allows negative ρ̃
	Fixed         bool       // keeps every ρ̃ at Rho0

	env Env
	rho []gorgonia.Nodes // [l−1][v]
}

// NoNoise is the Noise module of AMvC-Net and RMvC-Net: E = 0.
type NoNoise struct{}

// Procrustes is the Anchor module of the paper: P' is the polar factor of Hᵀ(X − E), see ProcrustesOp.
type Procrustes struct {
	Detach bool // makes P constant in the backward pass
}

// FixedAnchors is the Anchor module of RMvC-Net: P keeps its initial value.
type FixedAnchors struct{}

var (
	_ Represent = (*SoftThreshold)(nil)
	_ Noise     = (*RowShrink)(nil)
	_ Noise     = (*NoNoise)(nil)
	_ Anchor    = (*Procrustes)(nil)
	_ Anchor    = (*FixedAnchors)(nil)
)

const (
	defaultTheta = 0.01
	defaultRho   = 0.01
)

// orDefault returns x, or value if x is 0.
func orDefault(x, value float64) float64 {
	if x == 0 {
		return value
	}
	return x
}

// Init makes θ_1 … θ_L, R and U.
func (s *SoftThreshold) Init(e Env) error {
	if err := errors.Join(e.usable(), s.check(e.Of == tensor.Float32)); err != nil {
		return err
	}
	lipschitz := orDefault(s.Lipschitz, 1)
	s.env, s.theta = e, make(gorgonia.Nodes, e.Layers)
	for l := range s.theta {
		s.theta[l] = op.NewScalar(e.G, e.Of, e.Name("theta_%d", l+1), orDefault(s.Theta0, defaultTheta))
	}
	s.r = op.NewMatrix(e.G, e.Of, e.Name("R"), scaledIdentity(e.Anchors, 1-1/lipschitz))
	s.u = op.NewMatrix(e.G, e.Of, e.Name("U"), scaledIdentity(e.Anchors, 1/lipschitz))
	return nil
}

// check refuses settings that are out of range; single says that the network is in float32.
func (s *SoftThreshold) check(single bool) error {
	var err error
	if lipschitz := orDefault(s.Lipschitz, 1); !(lipschitz >= 1) || math.IsInf(lipschitz, 1) {
		err = &FieldError{"Represent.Lipschitz", lipschitz, fromOne}
	}
	return errors.Join(err, s.Activation.check(), finiteField("Represent.Theta0", s.Theta0, single))
}

// Learnables returns θ_1 … θ_L, R, U.
func (s *SoftThreshold) Learnables() gorgonia.Nodes {
	return append(append(gorgonia.Nodes(nil), s.theta...), s.r, s.u)
}

// Theta returns the scalar node θ of layer l = 1 … L; nil before Init.
func (s *SoftThreshold) Theta(l int) *gorgonia.Node {
	if l < 1 || l > len(s.theta) {
		return nil
	}
	return s.theta[l-1]
}

// R returns the node that multiplies H (m×m); nil before Init.
func (s *SoftThreshold) R() *gorgonia.Node { return s.r }

// U returns the node that multiplies (X_v − E_v)·P_vᵀ (m×m); nil before Init.
func (s *SoftThreshold) U() *gorgonia.Node { return s.u }

// Project sets negative θ to 0, unless Unconstrained, and every θ to Theta0 if Fixed.
func (s *SoftThreshold) Project() error {
	return project(s.theta, s.Unconstrained, s.Fixed, orDefault(s.Theta0, defaultTheta))
}

// project puts thresholds back to their range, or to their first value.
func project(thresholds gorgonia.Nodes, free, fixed bool, first float64) error {
	if fixed {
		for _, n := range thresholds {
			op.EntriesOf(n.Value()).Set(0, first)
		}
	}
	if free || fixed {
		return nil
	}
	return withName(op.Nonnegative(thresholds))
}

// Update returns the mean of S_θ(H·R + Z_v·U).
func (s *SoftThreshold) Update(l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error) {
	if s.env.Of == tensor.Float32 {
		return prefixed(updateH[float32](s, l, h, z))
	}
	return prefixed(updateH[float64](s, l, h, z))
}

func updateH[T kernel.Float](s *SoftThreshold, l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error) {
	if s.Theta(l) == nil {
		return nil, fmt.Errorf("no θ for layer %d; Init makes one for each layer 1 to L", l)
	}
	if len(z) != s.env.Views {
		return nil, fmt.Errorf("z has %d matrices, want one for each view: Env.Views is %d", len(z), s.env.Views)
	}
	err := op.Want("H", h, s.env.Of, s.env.Samples, s.env.Anchors)
	for v := range z {
		err = errors.Join(err, op.Want(fmt.Sprintf("Z of view %d", v), z[v], s.env.Of, s.env.Samples, s.env.Anchors))
	}
	if err != nil {
		return nil, err
	}
	b := unfold.NewBuilder[T](unfold.Site(s.env), fmt.Sprintf("H%d", l), nil)
	hr, err := unfold.RowMul(b, h, s.r, false, nil)
	if err != nil {
		return nil, err
	}
	out := make([]*gorgonia.Node, len(z))
	for v := range z {
		a, err := unfold.RowMul(b, z[v], s.u, false, hr)
		if err != nil {
			return nil, err
		}
		if out[v], err = softThreshold[T](s.env.Workers, a, s.Theta(l), threshold{s.Activation, s.OneSided}); err != nil {
			return nil, err
		}
	}
	return unfold.MeanViews[T](s.env.Workers, out, s.env.Present)
}

// Init makes ρ̃ of every layer and view.
func (r *RowShrink) Init(e Env) error {
	if err := errors.Join(e.usable(), r.check(e.Of == tensor.Float32)); err != nil {
		return err
	}
	if err := r.checkScales(e.Views); err != nil {
		return err
	}
	r.env, r.rho = e, make([]gorgonia.Nodes, e.Layers)
	for l := range r.rho {
		r.rho[l] = make(gorgonia.Nodes, e.Views)
		for v := range e.Views {
			r.rho[l][v] = op.NewScalar(e.G, e.Of, e.Name("rho_%d_%d", l+1, v), orDefault(r.Rho0, defaultRho))
		}
	}
	return nil
}

// check refuses settings that are out of range; single says that the network is in float32.
func (r *RowShrink) check(single bool) error {
	err := errors.Join(r.Activation.check(), finiteField("Noise.Rho0", r.Rho0, single))
	for k, s := range r.Scale {
		if !(s > 0) || math.IsInf(s, 1) {
			return errors.Join(err, fmt.Errorf("largemvc: RowShrink.Scale[%d] is %g, want a finite number above 0", k, s))
		}
	}
	return err
}

// checkScales refuses scales of another number of inputs.
func (r *RowShrink) checkScales(inputs int) error {
	if r.Scale == nil || len(r.Scale) == inputs {
		return nil
	}
	return fmt.Errorf("largemvc: RowShrink.Scale has %s, want %d: one for each input of the network",
		textfile.Count(len(r.Scale), "value"), inputs)
}

// Learnables returns ρ̃ of every view, layer by layer.
func (r *RowShrink) Learnables() gorgonia.Nodes {
	var all gorgonia.Nodes
	for _, layer := range r.rho {
		all = append(all, layer...)
	}
	return all
}

// Rho returns the node ρ̃ of layer l = 1 … L and view v; nil before Init.
func (r *RowShrink) Rho(l, v int) *gorgonia.Node {
	if l < 1 || l > len(r.rho) || v < 0 || v >= len(r.rho[l-1]) {
		return nil
	}
	return r.rho[l-1][v]
}

// Project sets negative ρ̃ to 0, unless Unconstrained, and every ρ̃ to Rho0 if Fixed.
func (r *RowShrink) Project() error {
	return project(r.Learnables(), r.Unconstrained, r.Fixed, orDefault(r.Rho0, defaultRho))
}

// Trust returns RowShrinkOp of norm.
func (r *RowShrink) Trust(l, v int, norm *gorgonia.Node) (*gorgonia.Node, error) {
	if r.Rho(l, v) == nil {
		return nil, fmt.Errorf("largemvc: no ρ for layer %d and view %d; Init makes one for each view and layer 1 to L", l, v)
	}
	if err := op.Want("the row norms", norm, r.env.Of, r.env.Samples); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	d := shrink{r.Activation, r.scale(v)}
	if r.env.Of == tensor.Float32 {
		return prefixed(rowShrink[float32](r.env.Workers, norm, r.Rho(l, v), d))
	}
	return prefixed(rowShrink[float64](r.env.Workers, norm, r.Rho(l, v), d))
}

// scale is the unit of ρ in view v.
func (r *RowShrink) scale(v int) float64 {
	if r.Scale == nil {
		return 1
	}
	return r.Scale[v]
}

// Init does nothing.
func (*NoNoise) Init(Env) error { return nil }

// Learnables returns nothing.
func (*NoNoise) Learnables() gorgonia.Nodes { return nil }

// Project does nothing.
func (*NoNoise) Project() error { return nil }

// Trust returns nil: E = 0.
func (*NoNoise) Trust(int, int, *gorgonia.Node) (*gorgonia.Node, error) { return nil, nil }

// Init does nothing.
func (*Procrustes) Init(Env) error { return nil }

// Learnables returns nothing.
func (*Procrustes) Learnables() gorgonia.Nodes { return nil }

// Project does nothing.
func (*Procrustes) Project() error { return nil }

// Update returns ProcrustesOp of corr.
func (p *Procrustes) Update(_, _ int, corr, _ *gorgonia.Node) (*gorgonia.Node, error) {
	return ProcrustesOp(corr, 0, p.Detach)
}

// Init does nothing.
func (*FixedAnchors) Init(Env) error { return nil }

// Learnables returns nothing.
func (*FixedAnchors) Learnables() gorgonia.Nodes { return nil }

// Project does nothing.
func (*FixedAnchors) Project() error { return nil }

// Update returns prev.
func (*FixedAnchors) Update(_, _ int, _, prev *gorgonia.Node) (*gorgonia.Node, error) {
	return prev, nil
}

func scaledIdentity(m int, s float64) mat.Matrix {
	return mat.NewDiagDense(m, slices.Repeat([]float64{s}, m))
}
