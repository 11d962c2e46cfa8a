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
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// labelInformation is naiveInformation of one-hot rows at a temperature of 0.
func labelInformation(labels []int, clusters int, graph *mat.Dense) float64 {
	joint := mat.NewDense(clusters, clusters, nil)
	for i, a := range labels {
		for j, b := range labels {
			joint.Set(a, b, joint.At(a, b)+graph.At(i, j))
		}
	}
	return testutil.TableInformation(joint)
}

// mostInformed is the start of k-means on the rows of x of the most information, by hand: of those whose inertia is at most
// cluster.NearlyLowest times the lowest. It says whether that is another partition than the start of the lowest inertia.
func mostInformed(t testing.TB, x *mat.Dense, cfg kmeans.Config, graph *mat.Dense) (labels []int, another bool) {
	t.Helper()
	n, d := x.Dims()
	src, err := kmeans.NewSource(nil, kmeans.View[float64]{Rows: rows.NewDense(n, d, d, x.RawMatrix().Data), Weight: 1})
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

// unitFeatures are the inputs of a fit with all directions before they are smoothed: views standardised, rows at norm 1, side by
// side. Absent views are zeros.
func unitFeatures(t testing.TB, views []View, inputs []Input) *mat.Dense {
	t.Helper()
	n, width := views[0].in.Rows, 0
	for _, in := range inputs {
		width += in.Columns
	}
	out := mat.NewDense(n, width, nil)
	at := 0
	for _, in := range inputs {
		st, err := prepare.Measure(context.Background(), nil, prepare.Kind(in.Preprocess), inner(views), 1)
		if err != nil {
			t.Fatal(err)
		}
		unit, err := prepare.UnitRows[float64](context.Background(), st, views[in.View].in, in.View, in.Length, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			unit.Row(i, out.RawRowView(i)[at:at+in.Columns])
		}
		at += in.Columns
	}
	return out
}

// last is the last of some numbers.
func last(x []float64) float64 { return x[len(x)-1] }
