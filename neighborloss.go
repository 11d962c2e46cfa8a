package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/op"

	"github.com/largemvc/largemvc/internal/parallel"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/neighbor"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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
		return prefixed(neighborInformation[float32](0, h, graph, temperature))
	}
	return prefixed(neighborInformation[float64](0, h, graph, temperature))
}

func neighborInformation[T kernel.Float](workers int, h *gorgonia.Node, graph neighbor.Operator, temperature float64) (*gorgonia.Node, error) {
	if graph == nil {
		return nil, errors.New("neighbour information without a graph")
	}
	if err := checkTerm("neighbour information", "graph", h, graph.Len(), temperature); err != nil {
		return nil, err
	}
	s := neighborTerm[T]{newSoftAssignment[T](workers, h.Shape()[0], h.Shape()[1], temperature), graph}
	return informationTerm[T, neighborTable[T]]{
		softAssignment: s.softAssignment, name: fmt.Sprintf("neighbour information of %T %p", graph, graph),
		table: s.table, information: func(t *neighborTable[T]) float64 { return t.information }, gradient: s.gradient,
	}.node(h)
}

// neighborTerm is the arithmetic of NeighborInformation.
type neighborTerm[T kernel.Float] struct {
	softAssignment[T]
	graph neighbor.Operator
}

// neighborTable is what it makes of an H.
type neighborTable[T kernel.Float] struct {
	q, aq      []T     // Q and A·Q, n rows with the stride ld
	total      float64 // t
	jointTable         // of J; ratio is L
}

// table computes Q, A·Q and what follows from QᵀAQ.
func (s neighborTerm[T]) table(h []T) (*neighborTable[T], error) {
	q, err := s.assignAll(h)
	if err != nil {
		return nil, err
	}
	t := &neighborTable[T]{q: q, aq: make([]T, s.n*s.ld)}
	if err := neighbor.Mul(context.Background(), s.graph, s.workers, t.aq, t.q, s.ld); err != nil {
		return nil, err
	}
	joint, err := s.products(t.q, s.ld, s.m, t.aq, s.ld, s.m)
	if err != nil {
		return nil, err
	}
	t.measure(joint, s.m)
	return t, nil
}

// ofLabels returns I/log m of clusters given by labels from 0 to m−1. q and aq are scratch of n rows with the stride ld.
func (s neighborTerm[T]) ofLabels(ctx context.Context, labels []int, q, aq []T) (float64, error) {
	clear(q)
	for i, l := range labels {
		q[i*s.ld+l] = 1
	}
	if err := neighbor.Mul(ctx, s.graph, s.workers, aq, q, s.ld); err != nil {
		return 0, err
	}
	joint, err := s.products(q, s.ld, s.m, aq, s.ld, s.m)
	if err != nil {
		return 0, err
	}
	t := &neighborTable[T]{}
	t.measure(joint, s.m)
	return t.information / math.Log(float64(s.m)), nil
}

// measure sets the total and the table of QᵀAQ, which it makes symmetric.
func (t *neighborTable[T]) measure(joint []float64, m int) {
	for _, x := range joint {
		t.total += x
	}
	if t.total == 0 {
		return
	}
	for a := range m {
		for b := range a + 1 {
			x := (joint[a*m+b] + joint[b*m+a]) / (2 * t.total)
			joint[a*m+b], joint[b*m+a] = x, x
		}
	}
	t.jointTable = newJointTable(joint, m)
}

// gradient returns factor·∂I/∂H, n×m.
//
// With S = QᵀAQ, t = Σ S, J = S/t and both margins of J equal to p, as J is symmetric, I = Σ J log J − 2 Σ p log p, so
//
//	∂I/∂J_ab = log J_ab + 1 − (log p_a + 1) − (log p_b + 1) = L_ab − 1,      L_ab = log(J_ab / (p_a p_b)),
//
// and through J = S/t, where Σ J (L − 1) = I − 1,
//
//	∂I/∂S_ab = (L_ab − 1 − (I − 1)) / t = (L_ab − I) / t.
//
// A and L being symmetric, ∂I/∂Q = A·Q·(∂I/∂S)ᵀ + Aᵀ·Q·∂I/∂S = 2·A·Q·(L − I)/t. For a row with the cotangent d of q, the
// softmax of z = u/temperature, and u = h/‖h‖:
//
//	dz = q ⊙ (d − ⟨d, q⟩),     du = dz/temperature,     dh = (du − ⟨du, u⟩ u) / ‖h‖.
func (s neighborTerm[T]) gradient(h []T, t *neighborTable[T], factor float64) ([]T, error) {
	dh := make([]T, s.n*s.m)
	if t.total == 0 {
		return dh, nil
	}
	byJoint := make([]float64, s.m*s.m)
	for j, l := range t.ratio {
		byJoint[j] = 2 * factor * (l - t.information) / t.total
	}
	var panel kernel.Panel[T]
	kernel.Pack(&panel, s.m, s.m, byJoint, s.m)
	err := parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		dq := make([]T, rowsAtOnce*s.ld)
		u, dz := make([]float64, s.m), make([]float64, s.m)
		for ; lo < hi; lo += rowsAtOnce {
			end := min(lo+rowsAtOnce, hi)
			kernel.Mul(end-lo, t.aq[lo*s.ld:], s.ld, &panel, dq, s.ld, false)
			for i := lo; i < end; i++ {
				s.backward(h[i*s.m:(i+1)*s.m], t.q[i*s.ld:], dq[(i-lo)*s.ld:], u, dz, dh[i*s.m:(i+1)*s.m])
			}
		}
		return nil
	})
	return dh, err
}
