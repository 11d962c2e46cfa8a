package largemvc

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
)

var activationOption = option{"activation", 0, []string{"relu", "selu"}}

// Activation is the function σ of a threshold. Its derivative at 0 is 0 for ReLU, and the left derivative for SELU.
type Activation int

const (
	ReLU Activation = iota // max(x, 0)
	SELU                   // λx for x > 0, λα(eˣ − 1) else (Klambauer et al., 2017)
)

// String returns relu or selu.
func (a Activation) String() string { return activationOption.name(int(a)) }

// MarshalText returns the name.
func (a Activation) MarshalText() ([]byte, error) { return marshalOption(&activationOption, a) }

// UnmarshalText reads a name.
func (a *Activation) UnmarshalText(text []byte) error {
	return unmarshalOption(&activationOption, a, text)
}

func (a Activation) check() error { return activationOption.check(int(a)) }

// sigma is σ, with its derivative, as the engine has it.
func (a Activation) sigma() engine.Activation { return engine.Activation(a) }

// threshold is S_θ, elementwise: σ(a−θ) − σ(−a−θ), or σ(a−θ) alone.
type threshold struct {
	act      Activation
	oneSided bool
}

func (s threshold) value(a, theta float64) float64 {
	y := s.act.sigma().Value(a - theta)
	if !s.oneSided {
		y -= s.act.sigma().Value(-a - theta)
	}
	return y
}

// slopes returns the derivatives by a and by θ.
func (s threshold) slopes(a, theta float64) (byA, byTheta float64) {
	p := s.act.sigma().Slope(a - theta)
	if s.oneSided {
		return p, -p
	}
	q := s.act.sigma().Slope(-a - theta)
	return p + q, q - p
}

// SoftThresholdOp returns the node S_θ(a), elementwise, of a matrix a and a scalar θ, both float32 or both float64:
//
//	S_θ(a) = σ(a − θ) − σ(−a − θ)      or, with oneSided,      S_θ(a) = σ(a − θ)
//
// It is differentiable in a and θ. The two-sided form keeps the sign of a. The one-sided form with ReLU is ≥ 0.
func SoftThresholdOp(a, theta *gorgonia.Node, act Activation, oneSided bool) (*gorgonia.Node, error) {
	if err := act.check(); err != nil {
		return nil, err
	}
	if err := op.WantFloat("the matrix of a soft threshold", a, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if err := op.Want("θ", theta, a.Dtype()); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if a.Dtype() == tensor.Float32 {
		return prefixed(softThreshold[float32](0, a, theta, threshold{act, oneSided}))
	}
	return prefixed(softThreshold[float64](0, a, theta, threshold{act, oneSided}))
}

func softThreshold[T kernel.Float](workers int, a, theta *gorgonia.Node, s threshold) (*gorgonia.Node, error) {
	shape := a.Shape().Clone()
	o := &op.Operation{
		Label: fmt.Sprintf("S_θ %+v", s),
		Diff:  op.All(2),
		Run: op.ByRow(workers, shape, func(x [][]T, y []T, i int) {
			theta := float64(x[1][0])
			for j := i * shape[1]; j < (i+1)*shape[1]; j++ {
				y[j] = T(s.value(float64(x[0][j]), theta))
			}
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dy *gorgonia.Node) (*gorgonia.Node, error) {
			if i == 0 {
				return softThresholdGrad[T](workers, in[0], in[1], dy, s)
			}
			return softThresholdGradTheta[T](workers, in[0], in[1], dy, s)
		},
	}
	return op.Apply(o, op.Dtype[T](), shape, a, theta)
}

// softThresholdGrad is the derivative by a.
func softThresholdGrad[T kernel.Float](workers int, a, theta, dy *gorgonia.Node, s threshold) (*gorgonia.Node, error) {
	shape := a.Shape().Clone()
	o := &op.Operation{
		Label: fmt.Sprintf("S_θ %+v by a", s),
		Run: op.ByRow(workers, shape, func(x [][]T, g []T, i int) {
			theta := float64(x[1][0])
			for j := i * shape[1]; j < (i+1)*shape[1]; j++ {
				by, _ := s.slopes(float64(x[0][j]), theta)
				g[j] = T(by * float64(x[2][j]))
			}
		}),
	}
	return op.Apply(o, op.Dtype[T](), shape, a, theta, dy)
}

// softThresholdGradTheta is the derivative by θ, a scalar summed in float64.
func softThresholdGradTheta[T kernel.Float](workers int, a, theta, dy *gorgonia.Node, s threshold) (*gorgonia.Node, error) {
	n, m := a.Shape()[0], a.Shape()[1]
	o := &op.Operation{
		Label: fmt.Sprintf("S_θ %+v by θ", s),
		Run: op.SumRows(workers, n, func(x [][]T, i int, sum *float64) {
			theta := float64(x[1][0])
			for j := i * m; j < (i+1)*m; j++ {
				_, by := s.slopes(float64(x[0][j]), theta)
				*sum += by * float64(x[2][j])
			}
		}),
	}
	return op.Apply(o, op.Dtype[T](), nil, a, theta, dy)
}

// shrink is the weight that D_ρ leaves of a row, as a trust: t = 1 − s, s = σ(r−ρ)/r where r > ρ, else 0, with ρ a
// multiple of the learnable node. A row with r = 0 has t = 1 and no derivative, whatever ρ is.
type shrink struct {
	act   Activation
	scale float64
}

func (d shrink) trust(r, node float64) float64 {
	rho := d.scale * node
	if !(r > rho) || r == 0 {
		return 1
	}
	if d.act == ReLU { // without the cancellation in 1 − (r−ρ)/r
		return rho / r
	}
	return 1 - d.act.sigma().Value(r-rho)/r
}

// slopes returns the derivatives of t by r and by the node.
func (d shrink) slopes(r, node float64) (byR, byNode float64) {
	rho := d.scale * node
	if !(r > rho) || r == 0 {
		return 0, 0
	}
	slope := d.act.sigma().Slope(r - rho)
	if d.act == ReLU {
		return -rho / r / r, d.scale / r
	}
	return (d.act.sigma().Value(r-rho)/r - slope) / r, d.scale * slope / r
}

// RowShrinkOp returns the trust t (a vector of n) of the row shrinkage D_ρ, from the row norms (a vector of n) and the scalar
// rho. ρ is scale times rho:
//
//	D_ρ(x) = s·x,   s = σ(‖x‖ − ρ)/‖x‖ where ‖x‖ > ρ, else 0,   t = 1 − s
//
// With ReLU, t = min(1, ρ/‖x‖): the part of a residual beyond the length ρ is noise. t is differentiable in norm and rho.
func RowShrinkOp(norm, rho *gorgonia.Node, act Activation, scale float64) (*gorgonia.Node, error) {
	if err := act.check(); err != nil {
		return nil, err
	}
	if err := op.WantFloat("the norms of a row shrinkage", norm, 1); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if err := op.Want("ρ", rho, norm.Dtype()); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if !(scale > 0) || math.IsInf(scale, 1) {
		return nil, fmt.Errorf("largemvc: scale is %g, want a finite number above 0", scale)
	}
	if norm.Dtype() == tensor.Float32 {
		return prefixed(rowShrink[float32](0, norm, rho, shrink{act, scale}))
	}
	return prefixed(rowShrink[float64](0, norm, rho, shrink{act, scale}))
}

func rowShrink[T kernel.Float](workers int, norm, rho *gorgonia.Node, d shrink) (*gorgonia.Node, error) {
	shape := norm.Shape().Clone()
	o := &op.Operation{
		Label: fmt.Sprintf("1 − D_ρ %+v", d),
		Diff:  op.All(2),
		Run: op.ByRow(workers, shape, func(x [][]T, t []T, i int) {
			t[i] = T(d.trust(float64(x[0][i]), float64(x[1][0])))
		}),
		Grad: func(i int, in gorgonia.Nodes, _, dt *gorgonia.Node) (*gorgonia.Node, error) {
			if i == 0 {
				return rowShrinkGrad[T](workers, in[0], in[1], dt, d)
			}
			return rowShrinkGradRho[T](workers, in[0], in[1], dt, d)
		},
	}
	return op.Apply(o, op.Dtype[T](), shape, norm, rho)
}

// rowShrinkGrad is the derivative by r.
func rowShrinkGrad[T kernel.Float](workers int, norm, rho, dt *gorgonia.Node, d shrink) (*gorgonia.Node, error) {
	shape := norm.Shape().Clone()
	o := &op.Operation{
		Label: fmt.Sprintf("1 − D_ρ %+v by r", d),
		Run: op.ByRow(workers, shape, func(x [][]T, g []T, i int) {
			by, _ := d.slopes(float64(x[0][i]), float64(x[1][0]))
			g[i] = T(by * float64(x[2][i]))
		}),
	}
	return op.Apply(o, op.Dtype[T](), shape, norm, rho, dt)
}

// rowShrinkGradRho is the derivative by the learnable node, a scalar summed in float64.
func rowShrinkGradRho[T kernel.Float](workers int, norm, rho, dt *gorgonia.Node, d shrink) (*gorgonia.Node, error) {
	o := &op.Operation{
		Label: fmt.Sprintf("1 − D_ρ %+v by ρ", d),
		Run: op.SumRows(workers, norm.Shape()[0], func(x [][]T, i int, sum *float64) {
			_, by := d.slopes(float64(x[0][i]), float64(x[1][0]))
			*sum += by * float64(x[2][i])
		}),
	}
	return op.Apply(o, op.Dtype[T](), nil, norm, rho, dt)
}
