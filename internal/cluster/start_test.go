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

// The unit of ρ is the median distance of the present samples to the mean of their cluster, and 1 where that is 0.
func TestUnits(t *testing.T) {
	const n, d, m = 61, 3, 2
	rng := rand.New(rand.NewPCG(3, 4))
	x, exact, present, labels := make([]float64, n*d), make([]float64, n*d), make([]bool, n), make([]int, n)
	sums, count := [m][d]float64{}, [m]float64{}
	for i := range n {
		present[i], labels[i] = i%4 != 1, i/2%m
		for j := range d {
			x[i*d+j], exact[i*d+j] = rng.NormFloat64(), float64(labels[i]+j)
			if present[i] {
				sums[labels[i]][j] += x[i*d+j]
			}
		}
		if present[i] {
			count[labels[i]]++
		}
	}
	var far []float64
	for i := range n {
		square := 0.0
		for j := range d {
			off := x[i*d+j] - sums[labels[i]][j]/count[labels[i]]
			square += off * off
		}
		if present[i] {
			far = append(far, math.Sqrt(square))
		}
	}
	slices.Sort(far)
	views := []view.View{{Rows: n, Cols: d, F64: x, Present: present}, {Rows: n, Cols: d, F64: exact}}
	in := []rows.Matrix[float64]{rows.NewDense(n, d, d, x), rows.NewDense(n, d, d, exact)}
	o := Start{Labels: labels, Count: m, Workers: 1, Measure: true}
	begin, err := FirstAnchors(context.Background(), in, nil, views, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := far[len(far)/2]; math.Abs(begin.Scale[0]-want) > 1e-12*want || begin.Scale[1] != 1 {
		t.Errorf("the units are %v, want %v and 1", begin.Scale, want)
	}
}
