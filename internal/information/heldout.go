package information

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// HeldOut is the mutual information of the cluster of a sample and its prediction from the other samples. K is the regression:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    G = softmax(K Q / temperature) by rows,    J = QᵀG / n,
//	I = Σ_ab J_ab log(J_ab / (Σ_b J_ab · Σ_a J_ab)).
type HeldOut[T kernel.Float] struct {
	softAssignment[T]
	held *LeaveOneOut[T]
}

// NewHeldOut returns the term for the samples of a regression and m clusters; a temperature of 0 stands for the default.
func NewHeldOut[T kernel.Float](workers, m int, held *LeaveOneOut[T], temperature float64) *HeldOut[T] {
	return &HeldOut[T]{newSoftAssignment[T](held.group, workers, held.n, m, temperature), held}
}

// HeldOutTable holds the values of the term for an H.
type HeldOutTable[T kernel.Float] struct {
	q, guess   []T // Q and G, n rows with the stride ld
	JointTable     // of J; ratio is W
}

// Table computes Q, G and the table QᵀG.
func (s *HeldOut[T]) Table(h []T) (*HeldOutTable[T], error) {
	q, err := s.assignAll(h)
	if err != nil {
		return nil, err
	}
	return s.table(context.Background(), q)
}

// table is Table for a given Q, of the samples of all ranks of the group.
func (s *HeldOut[T]) table(ctx context.Context, q []T) (*HeldOutTable[T], error) {
	t := &HeldOutTable[T]{q: q}
	var err error
	if t.guess, err = s.held.predict(ctx, s.softAssignment, t.q); err != nil {
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
	joint, err := s.products(ctx, t.q, s.ld, s.m, t.guess, s.ld, s.m)
	if err != nil {
		return nil, err
	}
	total := kernel.Sum(joint) // n, except for rounding
	for j := range joint {
		joint[j] /= total
	}
	t.JointTable = newJointTable(joint, s.m)
	return t, nil
}

// LabelScore returns a function for I/log m of clusters given by labels from 0 to m−1, whose indicators replace Q.
func (s *HeldOut[T]) LabelScore() func(ctx context.Context, labels []int) (float64, error) {
	q := make([]T, s.n*s.ld)
	return func(ctx context.Context, labels []int) (float64, error) {
		clear(q)
		for i, l := range labels {
			q[i*s.ld+l] = 1
		}
		t, err := s.table(ctx, q)
		if err != nil {
			return 0, err
		}
		return t.Information / math.Log(float64(s.m)), nil
	}
}

// Gradient returns factor·∂I/∂H, n×m. It overwrites the guesses with the cotangents of the predictions.
//
// With W_ab = log(J_ab / (p_a r_b)) and the margins p and r of J, ∂I/∂J_ab = W_ab − 1. The −1 adds one constant to each row of
// the cotangents of Q and G, which their softmax maps to 0. So
//
//	dG = Q W/n,    dL = softmax'(dG)/temperature for L = K Q,    dQ = G Wᵀ/n + Kᵀ dL,
//
// and from Q to H as in Neighbors.
func (s *HeldOut[T]) Gradient(h []T, t *HeldOutTable[T], factor float64) ([]T, error) {
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
	return dh, parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		u, dz := make([]float64, s.m), make([]float64, s.m)
		for i := lo; i < hi; i++ {
			s.addBackward(h[i*s.m:(i+1)*s.m], t.q[i*s.ld:], dq[i*s.ld:], u, dz, dh[i*s.m:(i+1)*s.m])
		}
		return nil
	})
}
