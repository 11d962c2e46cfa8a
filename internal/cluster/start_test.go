package cluster

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Clusters are numbered by size, equal ones by their first sample, and what labels others is numbered alike.
func TestClustersBySize(t *testing.T) {
	centre := []float64{100, 0, 0, 300, 100, 300, 0, 200, 300, 200, 200, 100, 300, 200}
	const n, ld = 14, 16
	h := make([]float64, n*ld)
	for i, c := range centre {
		h[i*ld] = c + float64(i)/100
	}
	x := rows.NewDense(n, 1, ld, h)
	found, err := Rows(context.Background(), x, Options{Clusters: 4, Starts: 10, Seed: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	// Clusters around 300 and 200 have four samples, those around 100 and 0 three.
	number := map[float64]int{300: 0, 200: 1, 100: 2, 0: 3}
	for i, c := range centre {
		if found.Labels[i] != number[c] {
			t.Fatalf("labels %v", found.Labels)
		}
	}
	if !slices.Equal(found.Sizes, []int{4, 4, 3, 3}) {
		t.Errorf("sizes %v", found.Sizes)
	}
	for c, k := range number {
		if math.Abs(found.Centroids[k]-c) > 1 {
			t.Errorf("the centroid of cluster %d is %v", k, found.Centroids[k])
		}
	}
	again := make([]int, n)
	source, err := kmeans.NewSource(nil, kmeans.View[float64]{Rows: x, Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := found.Assigner.Assign(source, 0, n, again, nil, nil); err != nil || !slices.Equal(again, found.Labels) {
		t.Errorf("labels %v are given again as %v (%v)", found.Labels, again, err)
	}
}

// The rows of an embedding are U·diag(S)^½ of the inputs side by side, at norm 1, zeros beyond the rank, and those of a few
// samples are theirs among all.
func TestEmbedding(t *testing.T) {
	const n, columns = 30, 20
	rng := rand.New(rand.NewPCG(1, 2))
	side, x := mat.NewDense(n, 5, nil), []rows.Matrix[float64](nil)
	at := 0
	for _, d := range []int{2, 3} {
		values := make([]float64, n*d)
		for i := range values {
			values[i] = rng.NormFloat64()
			side.Set(i/d, at+i%d, values[i])
		}
		x, at = append(x, rows.NewDense(n, d, d, values)), at+d
	}
	e, err := Embed(context.Background(), nil, x, columns, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Rows(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	var svd mat.SVD
	if !svd.Factorize(side, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u mat.Dense
	svd.UTo(&u)
	for j, s := range svd.Values(nil) {
		for i := range n {
			u.Set(i, j, u.At(i, j)*math.Sqrt(s))
		}
	}
	ld := kernel.Pad(columns)
	row := func(i int) []float64 { return got[i*ld : (i+1)*ld] }
	for i := range n {
		for j := range n { // products, for a singular vector may have either sign
			want := mat.Dot(u.RowView(i), u.RowView(j)) / (mat.Norm(u.RowView(i), 2) * mat.Norm(u.RowView(j), 2))
			is := mat.Dot(mat.NewVecDense(ld, row(i)), mat.NewVecDense(ld, row(j)))
			if math.Abs(is-want) > 1e-5 {
				t.Fatalf("rows %d and %d have the product %v, want %v", i, j, is, want)
			}
		}
		if slices.ContainsFunc(row(i)[5:], func(x float64) bool { return x != 0 }) {
			t.Fatalf("row %d is %v", i, row(i))
		}
	}
	some := make([]rows.Matrix[float64], len(x))
	for v, all := range x {
		_, d := all.Dims()
		part := make([]float64, 4*d)
		for i := range 4 {
			all.Row(9+i, part[i*d:(i+1)*d])
		}
		some[v] = rows.NewDense(4, d, d, part)
	}
	few, err := NewEmbedding[float64](e.Basis, columns).Rows(context.Background(), some, 1)
	if err != nil || !slices.Equal(few, got[9*ld:13*ld]) {
		t.Errorf("the rows of a few samples are others (%v)", err)
	}
}

// A view by itself is clustered over the samples that have it, and its first anchors are those of its own clusters.
func TestStartOfAViewByItself(t *testing.T) {
	const n = 24
	a, b, present := make([]float64, 2*n), make([]float64, 2*n), make([]bool, n)
	for i := range n {
		a[2*i+i%2] = 10 + float64(i)/n // by parity
		if present[i] = i%3 != 0; present[i] {
			b[2*i+i/12] = 10 + float64(i)/n // by halves
		}
	}
	x := []rows.Matrix[float64]{rows.NewDense(n, 2, 2, a), rows.NewDense(n, 2, 2, b)}
	views := []view.View{{Rows: n, Cols: 2, F64: a}, {Rows: n, Cols: 2, F64: b, Present: present}}
	source := kmeans.View[float64]{Rows: x[1], Weight: 1, Present: present}
	labels, err := runKMeans(context.Background(), nil, kmeans.Config{Clusters: 2, Starts: 3, Workers: 1}, source)
	if err != nil {
		t.Fatal(err)
	}
	first, second := labels[1], labels[13]
	for i, l := range labels {
		want := first
		if i >= 12 {
			want = second
		}
		if !present[i] {
			want = 0
		}
		if l != want || first == second {
			t.Fatalf("labels %v", labels)
		}
	}
	begin, err := FirstAnchors(context.Background(), x, nil, views, Start{Method: PerView, Count: 2, Starts: 3, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for v, p := range begin.Anchors { // each cluster of a view is along one axis
		for k := range 2 {
			if big := max(math.Abs(p[2*k]), math.Abs(p[2*k+1])); math.Abs(big-1) > 1e-9 {
				t.Errorf("view %d: anchor %d is %v", v, k, p[2*k:2*k+2])
			}
		}
	}
	for i, l := range begin.Labels {
		if (l == begin.Labels[0]) != (i%2 == 0) {
			t.Fatalf("the labels of the first view are %v", begin.Labels)
		}
	}
}
