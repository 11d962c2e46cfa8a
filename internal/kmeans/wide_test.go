package kmeans

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/rows"
)

// stepped are n samples of two views on a line, each view missing in a third of them, in another third the other one.
func stepped(t *testing.T, n int) *Source[float64] {
	a, b, has := make([]float64, 2*n), make([]float64, n), [][]bool{make([]bool, n), make([]bool, n)}
	for i := range n {
		x := float64(i*7919%n) / float64(n)
		a[2*i], a[2*i+1], b[i] = x, x*x, -2*x
		has[0][i], has[1][i] = i%3 != 1, i%3 != 0
	}
	return source(t, []rows.Matrix[float64]{rows.NewDense(n, 2, 2, a), rows.NewDense(n, 1, 1, b)}, has)
}

// startOf are labels that are far from good ones, the last of c clusters being empty.
func startOf(n, c int) []int {
	labels := make([]int, n)
	for i := range labels {
		labels[i] = min(i*7919%n*40/n, c-2)
	}
	return labels
}

// checkMeans verifies that every centroid is the weighted mean of its cluster, in a clustering of what stepped returns.
func checkMeans(t *testing.T, src *Source[float64], r *Result[float64]) {
	t.Helper()
	row, at := make([]float64, src.width()), 0
	for v, d := range []int{2, 1} {
		sums, weights := make([]float64, r.Found*d), make([]float64, r.Found)
		for i, l := range r.Labels {
			if !src.present(v, i) {
				continue
			}
			scale := 1.0
			if !src.present(1-v, i) { // the weight of both views for that of this one
				scale = (src.views[0].Weight + src.views[1].Weight) / src.views[v].Weight
			}
			src.copyRow(i, row, 0)
			for j := range d {
				sums[l*d+j] += scale * row[at+j]
			}
			weights[l] += scale
		}
		for k, x := range r.Centroids[v] {
			if want := sums[k] / weights[k/d]; math.Abs(x-want) > 1e-9 {
				t.Errorf("view %d, centroid value %d is %v, want %v", v, k, x, want)
			}
		}
		at += d
	}
}

// Iterations over all rows, or over few, go on until no label changes, and then every centroid is the weighted mean of its
// cluster, one that was empty at first and those that its sample came from among them.
func TestIterationsEndAtTheMeans(t *testing.T) {
	for _, n := range []int{600, allRows + 1000} {
		const c = 6
		src := stepped(t, n)
		cfg := Config{Clusters: c, Labels: startOf(n, c), Tol: -1}
		r := run(t, src, cfg)
		if !r.Converged || r.Iterations < 5 || r.Repaired == 0 || r.Found != c {
			t.Errorf("%d samples: %d clusters after %d iterations and %d repairs, converged %v",
				n, r.Found, r.Iterations, r.Repaired, r.Converged)
		}
		check(t, src, r, cfg)
		checkMeans(t, src, r)
	}
}

// Centroids that move by less than the tolerance end the iterations, though labels still change.
func TestTolerance(t *testing.T) {
	for _, n := range []int{600, allRows + 1000} {
		const c = 6
		labels := startOf(n, c-1)
		for i := range labels {
			labels[i] = min(labels[i], c-2) + i%2 // none is empty
		}
		r := run(t, stepped(t, n), Config{Clusters: c, Labels: labels, Tol: 1e6})
		if !r.Converged || r.Iterations > 2 {
			t.Errorf("%d samples: %d iterations, converged %v", n, r.Iterations, r.Converged)
		}
	}
}

// An empty cluster is given the farthest sample that is not alone in its cluster and not equal to one that was given away.
func TestFarthestRow(t *testing.T) {
	x := []float64{0, 5, 9, 9, 7, 3}
	src := dense(t, len(x), 1, x)
	s, err := newSolver(t.Context(), src, Config{Clusters: 4, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := newStart(src, 4)
	copy(r.next, []int{0, 1, 2, 2, 2, 0})
	r.size = []int{2, 1, 3, 0}
	for _, test := range []struct {
		far   []float64
		taken [][]float64
		want  int
	}{
		{[]float64{1, 99, 4, 4, 0, 2}, nil, 2},              // 99 is alone in its cluster
		{[]float64{1, 99, 4, 4, 0, 2}, [][]float64{{9}}, 5}, // both nines are taken, and a cluster of two has one to give
		{[]float64{0, 99, 0, 0, 0, 0}, nil, -1},
		{make([]float64, 6), nil, -1},
		{[]float64{9, 99, 4, 4, 0, 2}, nil, 0},
	} {
		at, row, from, err := s.farthestRow(t.Context(), r, slices.Clone(test.far), test.taken)
		switch {
		case err != nil:
			t.Fatal(err)
		case at != test.want, at >= 0 && (row[0] != x[at] || from != r.next[at]), at < 0 && from >= 0:
			t.Errorf("distances %v: row %d (%v) of cluster %d, want row %d", test.far, at, row, from, test.want)
		}
	}
}

// A cluster of one sample is not empty and keeps it.
func TestSingleSampleIsKept(t *testing.T) {
	src := dense(t, 4, 1, []float64{0, 0.1, 0.3, 5})
	r := run(t, src, Config{Clusters: 2, Labels: []int{0, 0, 0, 1}})
	if r.Repaired != 0 || !slices.Equal(r.Labels, []int{0, 0, 0, 1}) {
		t.Errorf("labels %v after %d repairs", r.Labels, r.Repaired)
	}
}

// Starts that are compared by their score go over all rows together, each with sums of its own: whichever is kept, its centroids
// are the means of its clusters.
func TestScoredStartsOverAllRows(t *testing.T) {
	const n, c = maxSampleRows + 3000, 4
	src := stepped(t, n)
	for _, kept := range []int{0, 2} {
		calls := 0
		var given []int
		cfg := Config{Clusters: c, Starts: 3, Passes: 100, Tol: -1, Within: 1e6, Seed: 5,
			Score: func(_ context.Context, labels []int) (float64, error) {
				if calls++; calls == kept+1 {
					given = slices.Clone(labels)
					return 1, nil
				}
				return 0, nil
			}}
		r := run(t, src, cfg)
		if calls != 3 || !slices.Equal(r.Labels, given) || !r.Converged {
			t.Fatalf("start %d: %d calls, converged %v", kept, calls, r.Converged)
		}
		check(t, src, r, cfg)
		checkMeans(t, src, r)
	}
}

// A row that is too large to compute with is found though the starts do not see it.
func TestRowTooLargeBeyondTheSample(t *testing.T) {
	x := make([]float64, 20000)
	for i := range x {
		x[i] = float64(i % 7)
	}
	for at := range 20 {
		x[1000*at+1] = 1e200
		if _, err := Run(t.Context(), dense(t, len(x), 1, x), Config{Clusters: 3}); err == nil {
			t.Fatalf("row %d: no error", 1000*at+1)
		}
		x[1000*at+1] = 0
	}
}

// What rounding has left in the sums of a view that no member has any more is not seen when members have it again.
func TestNoRestOfAnAbsentView(t *testing.T) {
	src := stepped(t, 30)
	s, err := newSolver(t.Context(), src, Config{Clusters: 2, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := newStart(src, 2)
	r.size[0], r.counts[0], r.weights[0] = 1, []int{1, 0}, []float64{2, 1e-17}
	copy(r.sums[0], []float64{3, 5, 1e-17})
	s.centroid(r, 0)
	if !slices.Equal(r.sums[0], []float64{3, 5, 0}) || !slices.Equal(r.weights[0], []float64{2, 0}) {
		t.Errorf("sums %v with the weights %v are left", r.sums[0], r.weights[0])
	}
	if !slices.Equal(r.centroids[0][:2], []float64{1.5, 2.5}) {
		t.Errorf("the centroid is %v", r.centroids[0])
	}
}

// The tolerance is relative to the variance of the rows: in another unit of length they take as many iterations.
func TestToleranceIsRelative(t *testing.T) {
	const n, c = 400, 8
	views, _ := blobs[float64](n, c, []int{4}, 0, 1.5, 3)
	var want int
	for k, unit := range []float64{1, 1024, 1. / 1024} {
		x := make([]float64, n*4)
		for i := range n {
			views[0].Row(i, x[4*i:4*i+4])
		}
		for j := range x {
			x[j] *= unit
		}
		r := run(t, dense(t, n, 4, x), Config{Clusters: c, Labels: startOf(n, c), Tol: 1e-2})
		if k == 0 {
			want = r.Iterations
			if all := run(t, dense(t, n, 4, x), Config{Clusters: c, Labels: startOf(n, c), Tol: -1}); all.Iterations <= want {
				t.Fatalf("%d iterations until no label changes, %d with the tolerance", all.Iterations, want)
			}
		}
		if r.Iterations != want || !r.Converged {
			t.Errorf("%d iterations in the unit %v, want %d", r.Iterations, unit, want)
		}
	}
}
