// Package smoothing has a Represent module that smooths inside the network. It unfolds the paper's problem with a joint graph A of
// the samples,
//
//	min over H, P, E of  ½ Σ_v ‖X_v − H P_v − E_v‖² + (γ/2) tr(Hᵀ(I−A)H) + Φ(H) + Ψ(E)
//
// A gradient step of view v in the metric L_p·I + γ(I−A), with Z_v = (X_v − E_v)P_vᵀ, ends at
//
//	(L_p·I + γ(I−A))⁻¹ (H (L_p·I − P_vP_vᵀ) + Z_v)
//
// With γ in units of L_p and the learnable R and U of the paper, layer l is
//
//	H' = 1/V Σ_v S_θl(F(H) R + F(Z_v) U),    F(B) = (I + γ_l(I−A))⁻¹ B
//
// The filter F acts on rows, so it commutes with R and U and costs m columns. γ_l ≥ 0 is learnable. The step of Φ is S_θ entry by
// entry, as without a graph; in this metric it is an approximation. The backward formulas, with M = I + γ(I−A) and Y = F(B), are
//
//	dB = F(dY),    dγ = −⟨F(dY), (I−A) Y⟩
//
// because dY/dγ = −M⁻¹(I−A)Y and M is symmetric.
package smoothing

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/neighbor"
)

// Represent is the paper's module with the filter before it. All samples must have all views.
type Represent struct {
	largemvc.SoftThreshold
	Graph  neighbor.Operator // A of the training samples, in their order
	Gamma0 float64           // initial γ of every layer, at least 0

	gamma gorgonia.Nodes
}

// Init makes the learnable nodes: θ of SoftThreshold, then γ of every layer.
func (r *Represent) Init(e largemvc.Env) error {
	switch {
	case r.Graph == nil:
		return errors.New("smoothing: the graph is nil")
	case r.Graph.Len() != e.Samples:
		return fmt.Errorf("smoothing: a graph of %d samples for %d", r.Graph.Len(), e.Samples)
	case e.Present != nil:
		return errors.New("smoothing: samples lack views")
	case !(r.Gamma0 >= 0) || math.IsInf(r.Gamma0, 1):
		return fmt.Errorf("smoothing: Gamma0 is %g, want a finite number from 0 on", r.Gamma0)
	}
	r.gamma = nil
	for l := range e.Layers {
		r.gamma = append(r.gamma, op.NewScalar(e.G, e.Of, e.Name("gamma_%d", l+1), r.Gamma0))
	}
	return r.SoftThreshold.Init(e)
}

// Learnables returns the nodes of SoftThreshold and γ.
func (r *Represent) Learnables() gorgonia.Nodes {
	return append(r.SoftThreshold.Learnables(), r.gamma...)
}

// Project keeps γ ≥ 0, and the thresholds as SoftThreshold does.
func (r *Represent) Project() error {
	return errors.Join(r.SoftThreshold.Project(), op.Nonnegative(r.gamma))
}

// Update filters H and every Z_v and passes them to SoftThreshold.
func (r *Represent) Update(l int, h *gorgonia.Node, z []*gorgonia.Node) (*gorgonia.Node, error) {
	h, err := Filter(fmt.Sprintf("H of layer %d", l), r.Graph, r.gamma[l-1], h)
	if err != nil {
		return nil, err
	}
	out := make([]*gorgonia.Node, len(z))
	for v := range z {
		if out[v], err = Filter(fmt.Sprintf("Z of layer %d and view %d", l, v), r.Graph, r.gamma[l-1], z[v]); err != nil {
			return nil, err
		}
	}
	return r.SoftThreshold.Update(l, h, out)
}

// Filter returns the node (I + γ(I−A))⁻¹ b for a scalar node γ and a matrix b (n×m). what must be unique in the graph.
func Filter(what string, a neighbor.Operator, gamma, b *gorgonia.Node) (*gorgonia.Node, error) {
	if b.Dtype() == gorgonia.Float32 {
		return filter[float32](what, a, gamma, b)
	}
	return filter[float64](what, a, gamma, b)
}

func filter[T kernel.Float](what string, a neighbor.Operator, gamma, b *gorgonia.Node) (*gorgonia.Node, error) {
	shape := b.Shape()
	run := op.On(func(x [][]T) (gorgonia.Value, error) {
		y, err := solve(a, float64(x[0][0]), kernel.Float64s(x[1]), shape[1])
		return op.Dense(kernel.Convert[T](y), shape...), err
	})
	return op.Apply(&op.Operation{
		Label: "filter " + what, Run: run, Diff: op.All(2),
		Grad: func(i int, in gorgonia.Nodes, out, cotangent *gorgonia.Node) (*gorgonia.Node, error) {
			w, err := filter[T]("the gradient of "+what, a, in[0], cotangent)
			if err != nil || i == 1 {
				return w, err
			}
			return op.Apply(&op.Operation{Label: "gradient by γ, " + what, Run: op.On(func(x [][]T) (gorgonia.Value, error) {
				r, err := rough(a, kernel.Float64s(x[1]), shape[1])
				return op.Scalar[T](-inner(kernel.Float64s(x[0]), r)), err
			})}, b.Dtype(), nil, w, out)
		},
	}, b.Dtype(), shape, gamma, b)
}

// rough returns (I−A) x for x of m columns.
func rough(a neighbor.Operator, x []float64, m int) ([]float64, error) {
	n, ld := a.Len(), neighbor.Stride(m)
	wide, product := make([]float64, n*ld), make([]float64, n*ld)
	for i := range n {
		copy(wide[i*ld:], x[i*m:(i+1)*m])
	}
	if err := a.Mul64(context.Background(), 0, product, wide, ld); err != nil {
		return nil, err
	}
	out := make([]float64, n*m)
	for i := range n {
		for j := range m {
			out[i*m+j] = x[i*m+j] - product[i*ld+j]
		}
	}
	return out, nil
}

// mostSteps and residual end the iteration of solve. The condition of the matrix is at most 1 + 2γ.
const (
	mostSteps = 1000
	residual  = 1e-28 // of the squared norm
)

// solve returns (I + γ(I−A))⁻¹ b by conjugate gradients, all columns together, in a fixed order of all sums.
func solve(a neighbor.Operator, gamma float64, b []float64, m int) ([]float64, error) {
	x := make([]float64, len(b))
	r, p := append([]float64(nil), b...), append([]float64(nil), b...)
	square := inner(r, r)
	end := residual * square
	for step := 0; ; step++ {
		switch {
		case math.IsNaN(square) || math.IsInf(square, 0):
			return nil, errors.New("the rows to filter are not finite, or too large to square")
		case square <= end:
			return x, nil
		case step == mostSteps:
			return nil, fmt.Errorf("the filter with γ = %g did not converge in %d steps", gamma, mostSteps)
		}
		q, err := rough(a, p, m)
		if err != nil {
			return nil, err
		}
		for i := range q {
			q[i] = p[i] + gamma*q[i]
		}
		alpha := square / inner(p, q)
		for i := range x {
			x[i] += alpha * p[i]
			r[i] -= alpha * q[i]
		}
		last := square
		square = inner(r, r)
		for i := range p {
			p[i] = r[i] + square/last*p[i]
		}
	}
}

func inner(x, y []float64) (sum float64) {
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}
