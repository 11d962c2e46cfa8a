package largemvc

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/op"
)

// floatFloor is the default floor of float32 data: smaller singular values are noise.
const floatFloor = 1e-5

// ProcrustesOp returns the orthogonal Procrustes step P = B·Cᵀ of a matrix M (m×d, float32 or float64) with the thin singular
// value decomposition M = B·Σ·Cᵀ. P is the matrix with orthonormal rows (m ≤ d) or columns (m > d) that maximises ⟨P, M⟩. The
// arithmetic is float64.
//
// The derivative, for the gradient G of P and Q = BᵀGC, is
//
//	dM = B [ (Q−Qᵀ)_ij / (σ_i+σ_j) ] Cᵀ + (I−BBᵀ) G C Σ⁻¹ Cᵀ + B Σ⁻¹ Bᵀ G (I−CCᵀ)
//
// It divides by sums of singular values only, so equal singular values are allowed. In it, singular values below floor times
// the largest one are replaced by that product; floor 0 means 1e-10 for float64 and 1e-5 for float32. If singular values are
// zero, a fixed rule completes P from M alone: P is orthonormal even for M = 0, where the derivative is 0. A NaN or infinite
// entry ends the run with an error. With detach P is constant: it has no derivative.
func ProcrustesOp(m *gorgonia.Node, floor float64, detach bool) (*gorgonia.Node, error) {
	if err := op.WantFloat("the matrix of a Procrustes step", m, 2); err != nil {
		return nil, fmt.Errorf("largemvc: %w", err)
	}
	if !(floor >= 0) || floor >= 1 {
		return nil, fmt.Errorf("largemvc: the floor of singular values is %g, want 0 ≤ floor < 1", floor)
	}
	if m.Dtype() == tensor.Float32 {
		if floor == 0 {
			floor = floatFloor
		}
		return prefixed(procrustes[float32](m, floor, detach))
	}
	return prefixed(procrustes[float64](m, floor, detach))
}

func procrustes[T kernel.Float](m *gorgonia.Node, floor float64, detach bool) (*gorgonia.Node, error) {
	k, d := m.Shape()[0], m.Shape()[1]
	o := &op.Operation{
		Label: fmt.Sprintf("Procrustes floor %g detach %t", floor, detach),
		Diff:  []bool{!detach},
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			var polar linalg.Polar
			p := make([]float64, k*d)
			if err := polar.Factor(k, d, kernel.Float64s(x[0]), p); err != nil {
				return nil, err
			}
			return op.Dense(kernel.Convert[T](p), k, d), nil
		}),
		Grad: func(_ int, in gorgonia.Nodes, p, dp *gorgonia.Node) (*gorgonia.Node, error) {
			return procrustesGrad[T](in[0], p, dp, floor)
		},
	}
	return op.Apply(o, op.Dtype[T](), tensor.Shape{k, d}, m)
}

// procrustesGrad is the derivative of procrustes; M·Pᵀ = B·Σ·Bᵀ has all that it needs of the decomposition.
func procrustesGrad[T kernel.Float](m, p, dp *gorgonia.Node, floor float64) (*gorgonia.Node, error) {
	k, d := m.Shape()[0], m.Shape()[1]
	o := &op.Operation{
		Label: fmt.Sprintf("Procrustes gradient floor %g", floor),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			g := kernel.Float64s(x[2])
			for i, v := range g {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, fmt.Errorf("the cotangent: %w", &linalg.NotFiniteError{Value: v, Row: i / d, Column: i % d})
				}
			}
			polar := linalg.Polar{Floor: floor}
			if err := polar.Load(k, d, kernel.Float64s(x[0]), kernel.Float64s(x[1])); err != nil {
				return nil, err
			}
			polar.Grad(g, g)
			return op.Dense(kernel.Convert[T](g), k, d), nil
		}),
	}
	return op.Apply(o, op.Dtype[T](), tensor.Shape{k, d}, m, p, dp)
}
