package testutil

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The terms of the loss, written down as their formulas stand.

// NeighborInformation is the I/log m that package terms documents, over a graph as a full matrix.
func NeighborInformation(h mat.Matrix, graph *mat.Dense, temperature float64) float64 {
	q := assignment(h, temperature)
	var aq, joint mat.Dense
	aq.Mul(graph, q)
	joint.Mul(q.T(), &aq)
	return TableInformation(&joint)
}

// HeldOutInformation is the I/log m that package terms documents, over features x.
func HeldOutInformation(h mat.Matrix, x *mat.Dense, penalty, temperature float64) float64 {
	q := assignment(h, temperature)
	var joint mat.Dense
	joint.Mul(q.T(), softmax(LeaveOneOut(x, q, penalty), temperature))
	return TableInformation(&joint)
}

// TableInformation is the mutual information of a table of m×m counts, over log m.
func TableInformation(counts *mat.Dense) float64 {
	m, _ := counts.Dims()
	var joint mat.Dense
	joint.Scale(1/mat.Sum(counts), counts)
	sum := 0.0
	for a := range m {
		for b := range m {
			if x := joint.At(a, b); x > 0 {
				sum += x * math.Log(x/(mat.Sum(joint.RowView(a))*mat.Sum(joint.ColView(b))))
			}
		}
	}
	return sum / math.Log(float64(m))
}

// assignment is softmax(h_i / (‖h_i‖·temperature)) by rows.
func assignment(h mat.Matrix, temperature float64) *mat.Dense {
	unit := mat.DenseCopyOf(h)
	n, m := unit.Dims()
	for i := range n {
		if norm := mat.Norm(unit.RowView(i), 2); norm > 0 {
			for j := range m {
				unit.Set(i, j, unit.At(i, j)/norm)
			}
		}
	}
	return softmax(unit, temperature)
}

// softmax is the softmax of x / temperature by rows.
func softmax(x *mat.Dense, temperature float64) *mat.Dense {
	n, m := x.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		most, sum := slices.Max(x.RawRowView(i)), 0.0
		for j := range m {
			out.Set(i, j, math.Exp((x.At(i, j)-most)/temperature))
			sum += out.At(i, j)
		}
		for j := range m {
			out.Set(i, j, out.At(i, j)/sum)
		}
	}
	return out
}

// Graph has the methods of a neighbour graph.
type Graph interface {
	Len() int
	Mul64(ctx context.Context, workers int, y, x []float64, stride int) error
}

// FullGraph is a graph as a full matrix. stride returns the stride of a matrix for it with some columns.
func FullGraph(t testing.TB, graph Graph, stride func(columns int) int) *mat.Dense {
	t.Helper()
	n := graph.Len()
	ld := stride(n)
	one, a := make([]float64, n*ld), make([]float64, n*ld)
	for i := range n {
		one[i*ld+i] = 1
	}
	if err := graph.Mul64(context.Background(), 1, a, one, ld); err != nil {
		t.Fatal(err)
	}
	return mat.DenseCopyOf(mat.NewDense(n, ld, a).Slice(0, n, 0, n))
}
