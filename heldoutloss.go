package largemvc

import (
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/op"

	"github.com/largemvc/largemvc/internal/parallel"

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
		return prefixed(heldOutInformation(0, h, held.single, temperature))
	}
	return prefixed(heldOutInformation(0, h, held.double, temperature))
}

func heldOutInformation[T kernel.Float](workers int, h *gorgonia.Node, held *heldOut[T], temperature float64) (*gorgonia.Node, error) {
	if held == nil {
		return nil, fmt.Errorf("H is %v, the HeldOut is not", h.Dtype())
	}
	if err := checkTerm("held-out information", "HeldOut", h, held.n, temperature); err != nil {
		return nil, err
	}
	s := heldOutTerm[T]{newSoftAssignment[T](workers, held.n, h.Shape()[1], temperature), held}
	return informationTerm[T, heldOutTable[T]]{
		softAssignment: s.softAssignment, name: fmt.Sprintf("held-out information of %p", held),
		table: s.table, information: func(t *heldOutTable[T]) float64 { return t.information }, gradient: s.gradient,
	}.node(h)
}

// heldOutTerm is the arithmetic of HeldOutInformation.
type heldOutTerm[T kernel.Float] struct {
	softAssignment[T]
	held *heldOut[T]
}

// heldOutTable is what it makes of an H.
type heldOutTable[T kernel.Float] struct {
	q, guess   []T // Q and G, n rows with the stride ld
	jointTable     // of J; ratio is W
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
	err = parallel.Spans(s.workers, s.n, func(lo, hi int) error {
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
	total := kernel.Sum(joint) // n but for rounding
	for j := range joint {
		joint[j] /= total
	}
	t.jointTable = newJointTable(joint, s.m)
	return t, nil
}

// gradient returns factor·∂I/∂H, n×m. The cotangents of the predictions take the place of the guesses.
//
// With W_ab = log(J_ab / (p_a r_b)), p and r the margins of J, ∂I/∂J_ab = W_ab − 1; the −1 changes all entries of a row of
// the cotangents of Q and G alike, which their softmax takes to 0. So
//
//	dG = Q W/n,    dL = softmax'(dG)/temperature for L = K Q,    dQ = G Wᵀ/n + Kᵀ dL,
//
// and from Q to H as for NeighborInformation.
func (s heldOutTerm[T]) gradient(h []T, t *heldOutTable[T], factor float64) ([]T, error) {
	byJoint := make([]float64, len(t.ratio))
	for j, w := range t.ratio {
		byJoint[j] = factor * w / float64(s.n)
	}
	var forQ, forGuess kernel.Panel[T]
	kernel.PackT(&forQ, s.m, s.m, byJoint, s.m)
	kernel.Pack(&forGuess, s.m, s.m, byJoint, s.m)
	dq := make([]T, s.n*s.ld)
	err := parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, t.guess[lo*s.ld:], s.ld, &forQ, dq[lo*s.ld:], s.ld, false)
		dg, dz := make([]T, rowsAtOnce*s.ld), make([]float64, s.m)
		for ; lo < hi; lo += rowsAtOnce {
			end := min(lo+rowsAtOnce, hi)
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
	return dh, parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		u, dz := make([]float64, s.m), make([]float64, s.m)
		for i := lo; i < hi; i++ {
			s.backward(h[i*s.m:(i+1)*s.m], t.q[i*s.ld:], dq[i*s.ld:], u, dz, dh[i*s.m:(i+1)*s.m])
		}
		return nil
	})
}
