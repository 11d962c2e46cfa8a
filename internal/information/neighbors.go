package information

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/neighbor"
)

// Neighbors is the mutual information of the clusters of two neighbours. A is the graph:
//
//	Q = softmax(h_i / (‖h_i‖·temperature)) by rows,    J = QᵀAQ / Σ QᵀAQ,    p_a = Σ_b J_ab,
//	I = Σ_ab J_ab log(J_ab / (p_a p_b)).
type Neighbors[T kernel.Float] struct {
	softAssignment[T]
	graph neighbor.Operator
}

// NewNeighbors returns the term for the samples of a graph, over the ranks of a group or nil, and m clusters. A temperature of 0
// means the default.
func NewNeighbors[T kernel.Float](
	group *ranks.Group, workers, m int, graph neighbor.Operator, temperature float64,
) *Neighbors[T] {
	return &Neighbors[T]{newSoftAssignment[T](group, workers, graph.Len(), m, temperature), graph}
}

// NeighborTable holds the values of the term for an H.
type NeighborTable[T kernel.Float] struct {
	q, aq      []T     // Q and A·Q, n rows with the stride ld
	total      float64 // t
	JointTable         // of J; ratio is L
}

// Table computes Q, A·Q and the table QᵀAQ.
func (s *Neighbors[T]) Table(h []T) (*NeighborTable[T], error) {
	q, err := s.assignAll(h)
	if err != nil {
		return nil, err
	}
	t := &NeighborTable[T]{q: q, aq: make([]T, s.n*s.ld)}
	if err := neighbor.Mul(context.Background(), s.graph, s.workers, t.aq, t.q, s.ld); err != nil {
		return nil, err
	}
	joint, err := s.products(context.Background(), t.q, s.ld, s.m, t.aq, s.ld, s.m)
	if err != nil {
		return nil, err
	}
	t.measure(joint, s.m)
	return t, nil
}

// scoreColumns is the number of clusters up to which a LabelScore makes one product with the graph, and the width of its products
// above.
const scoreColumns = 256

// LabelScore returns a function for I/log m of clusters given by labels from 0 to m−1. The function has its own scratch, so that
// only one goroutine at a time may call it.
func (s *Neighbors[T]) LabelScore() func(ctx context.Context, labels []int) (float64, error) {
	if s.m > scoreColumns {
		return s.wideScore
	}
	q, aq := make([]T, s.n*s.ld), make([]T, s.n*s.ld)
	return func(ctx context.Context, labels []int) (float64, error) {
		clear(q)
		for i, l := range labels {
			q[i*s.ld+l] = 1
		}
		if err := neighbor.Mul(ctx, s.graph, s.workers, aq, q, s.ld); err != nil {
			return 0, err
		}
		joint, err := s.products(ctx, q, s.ld, s.m, aq, s.ld, s.m)
		if err != nil {
			return 0, err
		}
		t := &NeighborTable[T]{}
		t.measure(joint, s.m)
		return t.Information / math.Log(float64(s.m)), nil
	}
}

// wideScore is LabelScore for many clusters: it computes some columns of QᵀAQ at a time.
func (s *Neighbors[T]) wideScore(ctx context.Context, labels []int) (float64, error) {
	q, aq, joint := make([]T, s.n*scoreColumns), make([]T, s.n*scoreColumns), make([]float64, s.m*s.m)
	sum := ranks.RowSum{
		What: "the neighbours' clusters", Workers: s.workers, Rows: s.n, Chunk: parallel.ChunkRows(s.group.Total(s.n), block),
		Size: s.m * scoreColumns,
	}
	for from := 0; from < s.m; from += scoreColumns {
		clear(q)
		for i, l := range labels {
			if l >= from && l < from+scoreColumns {
				q[i*scoreColumns+l-from] = 1
			}
		}
		if err := neighbor.Mul(ctx, s.graph, s.workers, aq, q, scoreColumns); err != nil {
			return 0, err
		}
		part, err := ranks.SumRows(ctx, s.group, sum, func() struct{} { return struct{}{} },
			func(_, lo, hi int, _ struct{}, part []float64) error {
				for i := lo; i < hi; i++ {
					kernel.AddTo(part[labels[i]*scoreColumns:(labels[i]+1)*scoreColumns], aq[i*scoreColumns:(i+1)*scoreColumns])
				}
				return nil
			})
		if err != nil {
			return 0, err
		}
		for a := range s.m {
			copy(joint[a*s.m+from:(a+1)*s.m], part[a*scoreColumns:(a+1)*scoreColumns])
		}
	}
	t := &NeighborTable[T]{}
	t.measure(joint, s.m)
	return t.Information / math.Log(float64(s.m)), nil
}

func (t *NeighborTable[T]) measure(joint []float64, m int) {
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
	t.JointTable = newJointTable(joint, m)
}

// Gradient returns factor·∂I/∂H, n×m.
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
func (s *Neighbors[T]) Gradient(h []T, t *NeighborTable[T], factor float64) ([]T, error) {
	dh := make([]T, s.n*s.m)
	if t.total == 0 {
		return dh, nil
	}
	byJoint := make([]float64, s.m*s.m)
	for j, l := range t.ratio {
		byJoint[j] = 2 * factor * (l - t.Information) / t.total
	}
	var panel kernel.Panel[T]
	kernel.Pack(&panel, s.m, s.m, byJoint, s.m)
	err := parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		dq := make([]T, block*s.ld)
		u, dz := make([]float64, s.m), make([]float64, s.m)
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			kernel.Mul(end-lo, t.aq[lo*s.ld:], s.ld, &panel, dq, s.ld, false)
			for i := lo; i < end; i++ {
				s.addBackward(h[i*s.m:(i+1)*s.m], t.q[i*s.ld:], dq[(i-lo)*s.ld:], u, dz, dh[i*s.m:(i+1)*s.m])
			}
		}
		return nil
	})
	return dh, err
}
