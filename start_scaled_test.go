package largemvc

import (
	"context"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/neighbor"
)

// scaledByHand returns the rows, at norm 1, of the first m left singular vectors of the concatenated views, each times the
// root of its singular value.
func scaledByHand(t testing.TB, x []rows.Matrix[float64], m int) *mat.Dense {
	t.Helper()
	var all mat.Dense
	for v, xv := range x {
		if v == 0 {
			all.CloneFrom(fullRows(xv))
			continue
		}
		var wider mat.Dense
		wider.Augment(&all, fullRows(xv))
		all.CloneFrom(&wider)
	}
	var svd mat.SVD
	if !svd.Factorize(&all, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u mat.Dense
	svd.UTo(&u)
	s := svd.Values(nil)
	n, _ := all.Dims()
	out := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			out.Set(i, j, u.At(i, j)*math.Sqrt(s[j]))
		}
		if row := mat.NewVecDense(m, out.RawRowView(i)); mat.Norm(row, 2) > 0 {
			row.ScaleVec(1/mat.Norm(row, 2), row)
		}
	}
	return out
}

// The start of a fit with neighbours is a k-means on scaled unit rows, found by the full decomposition in float64: of its starts
// the one is kept whose clusters tell most about those of neighbours.
func TestScaledSpectralStart(t *testing.T) {
	const n, c = 150, 5
	ctx := context.Background()
	differ := false
	for seed := uint64(57); seed < 67 && !differ; seed++ { // until the two starts are not the same
		plain, _ := blobViews(n, c, 1.2, seed, 14, 9)
		masked, err := testutil.Masked(plain, absent(n, 2, 0.2, 58))
		if err != nil {
			t.Fatal(err)
		}
		for name, views := range map[string][]View{"complete": plain, "masked": masked} {
			config := Config{Clusters: c, Preprocess: PreprocessZScore, Float64: true, Seed: 11, KMeansStarts: 6}
			with := completed(config, n)
			made, err := prepareInputs[float64](ctx, &run{config: with, views: inner(views)})
			if err != nil {
				t.Fatal(err)
			}
			point, err := cluster.FirstAnchors(ctx, made.X, made.StartRows, made.Sources, startOf(with, nil, made, 11))
			if err != nil {
				t.Fatal(err)
			}
			config.Neighborhood.Neighbors = 10
			seen, graph := made.X, graphOf(t, views, config)
			if made.StartRows != nil { // Rows of absent views are filled, for the graph too.
				if seen, err = made.StartRows(ctx); err != nil {
					t.Fatal(err)
				}
				graph = denseOperator(t, made.Graph)
			}
			best, another := mostInformed(t, scaledByHand(t, seen, c), kmeans.Config{Clusters: c, Starts: 6, Seed: 11}, graph)
			if !samePartition(t, best, point.Labels) {
				t.Errorf("%s: the start is not the one of the highest information", name)
			}
			differ = differ || another
		}
	}
	if !differ {
		t.Error("it is that of the lowest inertia: the test shows nothing")
	}
}

// denseOperator returns an operator as a matrix.
func denseOperator(t testing.TB, a neighbor.Operator) *mat.Dense {
	t.Helper()
	n, ld := a.Len(), neighbor.Stride(a.Len())
	one, product := make([]float64, n*ld), make([]float64, n*ld)
	for i := range n {
		one[i*ld+i] = 1
	}
	if err := a.Mul64(context.Background(), 1, product, one, ld); err != nil {
		t.Fatal(err)
	}
	return mat.DenseCopyOf(mat.NewDense(n, ld, product).Slice(0, n, 0, n))
}

// samePartition says whether labels are the same but for their numbers, which may depend on rounding.
func samePartition(t testing.TB, a, b []int) bool {
	t.Helper()
	ari, err := ariOf(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return ari > 1-1e-12
}

// kmeansLabels are the labels of a k-means.
func kmeansLabels(t testing.TB, cfg kmeans.Config, x kmeans.View[float64]) []int {
	t.Helper()
	src, err := kmeans.NewSource(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	r, err := kmeans.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r.Labels
}
