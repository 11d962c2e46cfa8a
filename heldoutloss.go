package largemvc

import (
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
// Sums over samples are taken in float64, and the result does not depend on the number of workers. It costs two products of
// Y and of Yᵀ with n×m matrices, and the same again for its gradient.
//
// It returns an error if H has a single column, for which log m = 0, if held is not of n samples or not of the arithmetic of
// H, or if the temperature is negative or not finite.
func HeldOutInformation(h *gorgonia.Node, held *HeldOut, temperature float64) (*gorgonia.Node, error) {
	if err := wantFloat("H", h, 2); err != nil {
		return nil, err
	}
	if held == nil {
		return nil, errors.New("largemvc: held-out information without a HeldOut")
	}
	if h.Dtype() == tensor.Float32 {
		return heldOutInformation(0, h, held.single, temperature)
	}
	return heldOutInformation(0, h, held.double, temperature)
}

func heldOutInformation[T kernel.Float](workers int, h *gorgonia.Node, held *heldOut[T], temperature float64) (*gorgonia.Node, error) {
	n, m := h.Shape()[0], h.Shape()[1]
	switch {
	case held == nil:
		return nil, fmt.Errorf("largemvc: H is %v, the HeldOut is not", h.Dtype())
	case held.n != n:
		return nil, fmt.Errorf("largemvc: H has %d rows, the HeldOut has %d samples", n, held.n)
	case m < 2:
		return nil, fmt.Errorf("largemvc: held-out information of %d clusters, want at least 2", m)
	case !(temperature >= 0) || math.IsInf(temperature, 1):
		return nil, fmt.Errorf("largemvc: the temperature is %g", temperature)
	}
	if temperature == 0 {
		temperature = defaultTemperature
	}
	s := heldOutTerm[T]{newSoftAssignment[T](workers, n, m, temperature), held, new(latest[T, heldOutTable[T]])}
	op := &operation{
		label: label("held-out information of %p at %g", held, temperature),
		diff:  all(1),
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := elements[T](in[0])
			if err != nil {
				return nil, err
			}
			t, err := s.table(x)
			if err != nil {
				return nil, err
			}
			s.latest.put(x, t)
			return scalar[T](-t.information / math.Log(float64(m))), nil
		},
		grad: func(_ int, in gorgonia.Nodes, _, g *gorgonia.Node) (*gorgonia.Node, error) {
			return heldOutInformationGrad(s, in[0], g)
		},
	}
	return apply(op, dtypeFor[T](), nil, h)
}

// heldOutInformationGrad is the derivative of heldOutInformation by H, times the scalar cotangent g.
//
// With W_ab = log(J_ab / (p_a r_b)), p and r the margins of J, ∂I/∂J_ab = W_ab − 1; the −1 changes all entries of a row of
// the cotangents of Q and G alike, which their softmax takes to 0. So
//
//	dG = Q W/n,    dL = softmax'(dG)/temperature for L = K Q,    dQ = G Wᵀ/n + Kᵀ dL,
//
// and from Q to H as in neighborInformationGrad.
func heldOutInformationGrad[T kernel.Float](s heldOutTerm[T], h, g *gorgonia.Node) (*gorgonia.Node, error) {
	op := &operation{
		label: label("derivative of held-out information of %p at %g", s.held, s.temperature),
		do: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := inputs[T](in)
			if err != nil {
				return nil, err
			}
			t := s.latest.take(x[0])
			if t == nil {
				if t, err = s.table(x[0]); err != nil {
					return nil, err
				}
			}
			dh, err := s.gradient(x[0], t, -float64(x[1][0])/math.Log(float64(s.m)))
			return dense(dh, s.n, s.m), err
		},
	}
	return apply(op, dtypeFor[T](), tensor.Shape{s.n, s.m}, h, g)
}

// heldOutTerm is the arithmetic of HeldOutInformation.
type heldOutTerm[T kernel.Float] struct {
	softAssignment[T]
	held   *heldOut[T]
	latest *latest[T, heldOutTable[T]]
}

// heldOutTable is what it makes of an H.
type heldOutTable[T kernel.Float] struct {
	q, guess    []T       // Q and G, n rows with the stride ld
	ratio       []float64 // W, m×m
	information float64
}

func (s heldOutTerm[T]) table(h []T) (*heldOutTable[T], error) {
	t := &heldOutTable[T]{}
	var err error
	if t.q, err = s.assignAll(h); err != nil {
		return nil, err
	}
	if t.guess, err = s.held.predict(s.softAssignment, t.q); err != nil {
		return nil, err
	}
	err = eachSpan(s.workers, s.n, func(lo, hi int) error {
		u := make([]float64, s.m)
		for i := lo; i < hi; i++ {
			row := t.guess[i*s.ld : i*s.ld+s.m]
			for j, x := range row {
				u[j] = float64(x)
			}
			softmax(u, s.temperature, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	joint, err := s.products(t.q, s.ld, s.m, t.guess, s.ld, s.m)
	if err != nil {
		return nil, err
	}
	t.measure(joint, s.m)
	return t, nil
}

// measure sets the ratios and the information of a joint table.
func (t *heldOutTable[T]) measure(joint []float64, m int) {
	total := kernel.Sum(joint) // n but for rounding
	p, r := make([]float64, m), make([]float64, m)
	for a := range m {
		for b := range m {
			joint[a*m+b] /= total
			p[a] += joint[a*m+b]
			r[b] += joint[a*m+b]
		}
	}
	t.ratio = make([]float64, m*m)
	for a := range m {
		for b := range m {
			x := joint[a*m+b]
			w := math.Log(max(x, informationFloor)) - math.Log(max(p[a], informationFloor)) - math.Log(max(r[b], informationFloor))
			t.ratio[a*m+b] = w
			t.information += x * w
		}
	}
}

// gradient returns factor·∂I/∂H, n×m. The cotangents of the predictions take the place of the guesses.
func (s heldOutTerm[T]) gradient(h []T, t *heldOutTable[T], factor float64) ([]T, error) {
	byJoint := make([]float64, len(t.ratio))
	for j, w := range t.ratio {
		byJoint[j] = factor * w / float64(s.n)
	}
	var forQ, forGuess kernel.Panel[T]
	kernel.PackT(&forQ, s.m, s.m, byJoint, s.m)
	kernel.Pack(&forGuess, s.m, s.m, byJoint, s.m)
	dq := make([]T, s.n*s.ld)
	err := eachSpan(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, t.guess[lo*s.ld:], s.ld, &forQ, dq[lo*s.ld:], s.ld, false)
		dg, dz := make([]T, block*s.ld), make([]float64, s.m)
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			kernel.Mul(end-lo, t.q[lo*s.ld:], s.ld, &forGuess, dg, s.ld, false)
			for i := lo; i < end; i++ {
				guess := t.guess[i*s.ld : i*s.ld+s.m]
				softmaxBackward(guess, dg[(i-lo)*s.ld:], s.temperature, dz)
				for j, x := range dz {
					guess[j] = T(x)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.held.predictT(s.softAssignment, dq, t.guess); err != nil {
		return nil, err
	}
	dh := make([]T, s.n*s.m)
	return dh, eachSpan(s.workers, s.n, func(lo, hi int) error {
		u, dz := make([]float64, s.m), make([]float64, s.m)
		for i := lo; i < hi; i++ {
			s.backward(h[i*s.m:(i+1)*s.m], t.q[i*s.ld:], dq[i*s.ld:], u, dz, dh[i*s.m:(i+1)*s.m])
		}
		return nil
	})
}
