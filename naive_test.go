package largemvc

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/neighbor"
)

// The terms of the loss, written down as their formulas stand.

// naiveInformation is the I/log m that NeighborInformation documents, over a graph as a full matrix.
func naiveInformation(h mat.Matrix, graph *mat.Dense, temperature float64) float64 {
	q := naiveAssignment(h, temperature)
	var aq, joint mat.Dense
	aq.Mul(graph, q)
	joint.Mul(q.T(), &aq)
	return tableInformation(&joint)
}

// naiveHeldOut is the I/log m that HeldOutInformation documents, over features x.
func naiveHeldOut(h mat.Matrix, x *mat.Dense, penalty, temperature float64) float64 {
	q := naiveAssignment(h, temperature)
	var joint mat.Dense
	joint.Mul(q.T(), naiveSoftmax(leaveOneOut(x, q, penalty), temperature))
	return tableInformation(&joint)
}

// labelInformation is naiveInformation of one-hot rows at a temperature of 0.
func labelInformation(labels []int, clusters int, graph *mat.Dense) float64 {
	joint := mat.NewDense(clusters, clusters, nil)
	for i, a := range labels {
		for j, b := range labels {
			joint.Set(a, b, joint.At(a, b)+graph.At(i, j))
		}
	}
	return tableInformation(joint)
}

// tableInformation is the mutual information of a table of m×m counts, over log m.
func tableInformation(counts *mat.Dense) float64 {
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

// naiveAssignment is softmax(h_i / (‖h_i‖·temperature)) by rows.
func naiveAssignment(h mat.Matrix, temperature float64) *mat.Dense {
	unit := mat.DenseCopyOf(h)
	n, m := unit.Dims()
	for i := range n {
		if norm := mat.Norm(unit.RowView(i), 2); norm > 0 {
			for j := range m {
				unit.Set(i, j, unit.At(i, j)/norm)
			}
		}
	}
	return naiveSoftmax(unit, temperature)
}

func naiveSoftmax(x *mat.Dense, temperature float64) *mat.Dense {
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

// fullGraph is a graph as a full matrix.
func fullGraph(t testing.TB, graph neighbor.Operator) *mat.Dense {
	t.Helper()
	n := graph.Len()
	ld := neighbor.Stride(n)
	one, a := make([]float64, n*ld), make([]float64, n*ld)
	for i := range n {
		one[i*ld+i] = 1
	}
	if err := graph.Mul64(context.Background(), 1, a, one, ld); err != nil {
		t.Fatal(err)
	}
	return mat.DenseCopyOf(mat.NewDense(n, ld, a).Slice(0, n, 0, n))
}
