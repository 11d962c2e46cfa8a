package largemvc

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testutil"
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
	joint.Mul(q.T(), naiveSoftmax(testutil.LeaveOneOut(x, q, penalty), temperature))
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

// mostInformed is the start of k-means on the rows of x of the most information, by hand: of those whose inertia is at most
// cluster.NearlyLowest times the lowest. It says whether that is another partition than the start of the lowest inertia.
func mostInformed(t testing.TB, x *mat.Dense, cfg kmeans.Config, graph *mat.Dense) (labels []int, another bool) {
	t.Helper()
	n, d := x.Dims()
	src, err := kmeans.NewSource(kmeans.View[float64]{Rows: rows.NewDense(n, d, d, x.RawMatrix().Data), Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	var starts [][]int
	cfg.Starts *= cluster.ScoredStarts
	cfg.Within = math.Inf(1)
	cfg.Score = func(_ context.Context, labels []int) (float64, error) {
		starts = append(starts, slices.Clone(labels))
		return 0, nil
	}
	if _, err := kmeans.Run(context.Background(), src, cfg); err != nil {
		t.Fatal(err)
	}
	if len(starts) != cfg.Starts {
		t.Fatalf("%d starts, want %d", len(starts), cfg.Starts)
	}
	lowest, inertia := math.Inf(1), make([]float64, len(starts))
	var first []int
	for i, labels := range starts {
		if inertia[i] = naiveInertia(x, labels, cfg.Clusters); inertia[i] < lowest {
			lowest, first = inertia[i], labels
		}
	}
	best := math.Inf(-1)
	for i, l := range starts {
		if information := labelInformation(l, cfg.Clusters, graph); inertia[i] <= cluster.NearlyLowest*lowest &&
			information > best+1e-9 {
			best, labels = information, l
		}
	}
	return labels, !samePartition(t, labels, first)
}

// naiveInertia is the sum of squared distances of the rows of x to the means of their clusters.
func naiveInertia(x *mat.Dense, labels []int, clusters int) float64 {
	n, d := x.Dims()
	means, sizes := mat.NewDense(clusters, d, nil), make([]float64, clusters)
	for i, l := range labels {
		sizes[l]++
		floats.Add(means.RawRowView(l), x.RawRowView(i))
	}
	sum := 0.0
	for i := range n {
		l := labels[i]
		for j, a := range x.RawRowView(i) {
			e := a - means.At(l, j)/sizes[l]
			sum += e * e
		}
	}
	return sum
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
