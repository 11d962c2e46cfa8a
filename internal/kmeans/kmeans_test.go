package kmeans

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// blobs makes n samples of c classes in views of the given widths: class centres of deviation 3 around offset, samples
// of deviation noise around them. Sample i has class i mod c.
func blobs[T kernel.Float](n, c int, dims []int, offset, noise float64, seed uint64) ([]rows.Matrix[T], []int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	classes := make([]int, n)
	views := make([]rows.Matrix[T], len(dims))
	for v, d := range dims {
		centres := make([]float64, c*d)
		for j := range centres {
			centres[j] = offset + 3*rng.NormFloat64()
		}
		x := make([]T, n*d)
		for i := range n {
			classes[i] = i % c
			for j := range d {
				x[i*d+j] = T(centres[i%c*d+j] + noise*rng.NormFloat64())
			}
		}
		views[v] = rows.NewDense(n, d, d, x)
	}
	return views, classes
}

func source[T kernel.Float](t testing.TB, views []rows.Matrix[T], present [][]bool) *Source[T] {
	t.Helper()
	vs := make([]View[T], len(views))
	for v, r := range views {
		vs[v] = View[T]{Rows: r, Weight: 1 + 0.25*float64(v)}
		if present != nil {
			vs[v].Present = present[v]
		}
	}
	s, err := NewSource(nil, vs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func dense[T kernel.Float](t testing.TB, n, d int, x []T) *Source[T] {
	t.Helper()
	s, err := NewSource(nil, View[T]{Rows: rows.NewDense(n, d, d, x), Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run[T kernel.Float](t testing.TB, src *Source[T], cfg Config) *Result[T] {
	t.Helper()
	r, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// samePartition says whether the labels are the classes up to their names.
func samePartition(labels, classes []int) bool {
	there, back := map[int]int{}, map[int]int{}
	for i, l := range labels {
		c, ok := there[l]
		b, ok2 := back[classes[i]]
		if ok && c != classes[i] || ok2 && b != l {
			return false
		}
		there[l], back[classes[i]] = classes[i], l
	}
	return true
}

// check verifies what is true of every result: the labels are the nearest centroids by the plain formula, up to rounding,
// all occur, the inertia is their sum, and a sample alone gets the label and the distances that it gets in the run.
func check[T kernel.Float](t *testing.T, src *Source[T], r *Result[T], cfg Config) {
	t.Helper()
	tol := 1e-9
	if kernel.Epsilon[T]() == 0x1p-24 {
		tol = 1e-4
	}
	seen := make([]int, r.Found)
	inertia := 0.0
	row, c := make([]T, src.width()), make([]T, src.width())
	d1, d2 := make([]float64, src.n), make([]float64, src.n)
	all := make([]int, src.n)
	if err := r.Assign(src, 0, src.n, all, d1, d2); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(all, r.Labels) {
		t.Fatal("Assign on the samples does not give their labels")
	}
	for i, l := range r.Labels {
		seen[l]++
		best, next := math.Inf(1), math.Inf(1)
		var own float64
		for k := range r.Found {
			for v := range src.views {
				d := src.offset[v+1] - src.offset[v]
				copy(src.part(v, c), r.Centroids[v][k*d:(k+1)*d])
			}
			q := src.distance(i, c, row)
			if k == l {
				own = q
			}
			if q < best {
				best, next = q, best
			} else {
				next = min(next, q)
			}
		}
		if own > best*(1+tol) || d1[i] != own || math.Abs(d2[i]-next) > tol*(1+next) && !math.IsInf(next, 1) {
			t.Fatalf("sample %d: label %d at %v, nearest at %v and %v, Assign says %v and %v", i, l, own,
				best, next, d1[i], d2[i])
		}
		inertia += own
		var one [1]int
		var e1, e2 [1]float64
		if i%37 == 0 {
			if err := r.Assign(src, i, i+1, one[:], e1[:], e2[:]); err != nil {
				t.Fatal(err)
			}
			if one[0] != l || e1[0] != d1[i] || e2[0] != d2[i] {
				t.Fatalf("sample %d alone: %v %v %v, in the block %v %v %v", i, one[0], e1[0], e2[0], l, d1[i], d2[i])
			}
		}
	}
	for k, s := range seen {
		if s == 0 {
			t.Fatalf("cluster %d of %d is empty", k, r.Found)
		}
	}
	if r.Found > cfg.Clusters || math.Abs(inertia-r.Inertia) > 1e-9*inertia || math.IsNaN(r.Inertia) {
		t.Fatalf("%d clusters, inertia %v, recomputed %v", r.Found, r.Inertia, inertia)
	}
	for v, m := range r.Centroids {
		for j, x := range m {
			if x != x {
				t.Fatalf("centroid value %d of view %d is NaN", j, v)
			}
		}
	}
}

func eachType(t *testing.T, f32, f64 func(t *testing.T)) {
	t.Run("float32", f32)
	t.Run("float64", f64)
}

func TestBlobs(t *testing.T) { eachType(t, testBlobs[float32], testBlobs[float64]) }

func testBlobs[T kernel.Float](t *testing.T) {
	for _, test := range []struct {
		n, c   int
		dims   []int
		offset float64
		cfg    Config
	}{
		{200, 5, []int{10, 3}, 0, Config{}},
		{65, 3, []int{7}, 0, Config{}},
		{300, 20, []int{20, 5, 9}, 0, Config{Starts: 3}},
		{300, 6, []int{20, 5}, 3000, Config{}}, // an offset common to all samples
		{300, 6, []int{20, 5}, 0, Config{Tol: -1, Starts: 1}},
		{6000, 7, []int{12, 30}, 0, Config{}}, // starts on a sample
		{6000, 7, []int{12, 30}, 0, Config{Full: true, Starts: 2}},
	} {
		views, classes := blobs[T](test.n, test.c, test.dims, test.offset, 0.3, 1)
		src := source(t, views, nil)
		test.cfg.Clusters = test.c
		r := run(t, src, test.cfg)
		if !samePartition(r.Labels, classes) || r.Found != test.c || !r.Converged {
			t.Errorf("%+v: blobs not found (%d clusters, converged %v)", test, r.Found, r.Converged)
		}
		check(t, src, r, test.cfg)
	}
}

func TestMasks(t *testing.T) { eachType(t, testMasks[float32], testMasks[float64]) }

func testMasks[T kernel.Float](t *testing.T) {
	const n, c = 400, 4
	dims := []int{12, 8, 10}
	views, classes := blobs[T](n, c, dims, 0, 0.3, 2)
	rng := rand.New(rand.NewPCG(5, 5))
	present := make([][]bool, len(dims))
	for v := range present {
		present[v] = make([]bool, n)
	}
	row := make([]T, 12)
	for j := range row {
		row[j] = T(math.NaN())
	}
	for i := range n {
		keep := rng.IntN(len(dims))
		for v, d := range dims {
			if present[v][i] = v == keep || rng.Float64() < 0.6; !present[v][i] {
				copy(views[v].(*rows.Dense[T]).View(i), row[:d]) // must never be used
			}
		}
	}
	src := source(t, views, present)
	cfg := Config{Clusters: c, Seed: 3}
	r := run(t, src, cfg)
	if !samePartition(r.Labels, classes) {
		t.Error("blobs not found with 40 % of the view rows absent")
	}
	check(t, src, r, cfg)

	// A cluster none of whose members has view 1 still gets a part there, that of a present row.
	for i := range n {
		present[1][i] = classes[i] != 2
		present[0][i] = true
	}
	views, classes = blobs[T](n, c, dims, 0, 0.3, 2)
	src = source(t, views, present)
	r = run(t, src, cfg)
	check(t, src, r, cfg)
	if !samePartition(r.Labels, classes) {
		t.Fatal("blobs not found with a view absent in one of them")
	}
	k := r.Labels[2]
	part := r.Centroids[1][k*dims[1] : (k+1)*dims[1]]
	found := false
	for i := range n {
		found = found || present[1][i] && reflect.DeepEqual(part, views[1].(*rows.Dense[T]).View(i))
	}
	if !found {
		t.Errorf("the part of a cluster without view 1 is %v, no present row", part)
	}
}

func TestFullMaskHasTheBitsOfNone(t *testing.T) {
	views, _ := blobs[float32](300, 5, []int{10, 6}, 0, 2, 4)
	full := [][]bool{make([]bool, 300), make([]bool, 300)}
	for v := range full {
		for i := range full[v] {
			full[v][i] = true
		}
	}
	cfg := Config{Clusters: 5, Seed: 1}
	a, b := run(t, source(t, views, nil), cfg), run(t, source(t, views, full), cfg)
	a.Assigner, b.Assigner = nil, nil
	if !reflect.DeepEqual(a, b) {
		t.Error("a full mask changes the result")
	}
}

// TestWeightedMeans checks a centroid of incomplete samples by hand.
func TestWeightedMeans(t *testing.T) {
	// Samples 0 and 1 form a cluster far from 2 and 3; sample 1 lacks view 1, so it counts (1+1)/1 = 2 in view 0.
	src, err := NewSource(
		nil,
		View[float64]{Rows: rows.NewDense(4, 1, 1, []float64{0, 3, 100, 101}), Weight: 1},
		View[float64]{Rows: rows.NewDense(4, 1, 1, []float64{5, math.NaN(), 50, 50}), Weight: 1,
			Present: []bool{true, false, true, true}})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, src, Config{Clusters: 2})
	k := r.Labels[0]
	if r.Labels[1] != k || r.Labels[2] == k || r.Labels[3] == k {
		t.Fatalf("labels %v", r.Labels)
	}
	if a, b := r.Centroids[0][k], r.Centroids[1][k]; math.Abs(a-2) > 1e-12 || b != 5 {
		t.Errorf("centroid %v, %v; want 2, 5", a, b)
	}
	// 2² + 0 for sample 0, twice 1² for sample 1, ½² each for the others.
	if want := 4 + 2 + 0.5; math.Abs(r.Inertia-want) > 1e-12 {
		t.Errorf("inertia %v, want %v", r.Inertia, want)
	}
}

// TestInertiaFalls also holds the means of incomplete samples to be the minimisers that Lloyd's algorithm needs.
func TestInertiaFalls(t *testing.T) {
	const n = 500
	views, _ := blobs[float64](n, 12, []int{4, 3, 2}, 0, 3, 11)
	rng := rand.New(rand.NewPCG(2, 2))
	present := [][]bool{make([]bool, n), make([]bool, n), make([]bool, n)}
	for i := range n {
		keep := rng.IntN(3)
		for v := range present {
			present[v][i] = v == keep || rng.IntN(2) == 0
		}
	}
	for name, src := range map[string]*Source[float64]{"complete": source(t, views, nil), "masked": source(t, views, present)} {
		before, first := math.Inf(1), 0.0
		for iterations := 1; iterations <= 12; iterations++ {
			r := run(t, src, Config{Clusters: 12, Starts: 1, Tol: -1, MaxIter: iterations})
			if iterations == 1 {
				first = r.Inertia
			}
			if r.Inertia > before*(1+1e-12) {
				t.Errorf("%s: inertia %v after %d iterations, %v before", name, r.Inertia, iterations, before)
			}
			before = r.Inertia
		}
		if !(before < 0.99*first) {
			t.Errorf("%s: inertia %v after one iteration, %v after twelve", name, first, before)
		}
	}
}

func TestDegenerate(t *testing.T) { eachType(t, testDegenerate[float32], testDegenerate[float64]) }

func testDegenerate[T kernel.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = T(1000 + rng.NormFloat64())
		}
		return x
	}
	repeat := func(x []T, distinct, n, d int) []T {
		out := make([]T, 0, n*d)
		for i := range n {
			out = append(out, x[i*7%distinct*d:(i*7%distinct+1)*d]...)
		}
		return out
	}
	for _, test := range []struct {
		name              string
		n, d, c, distinct int
	}{
		{"c = n", 40, 3, 40, 40},
		{"c = n = 1", 1, 2, 1, 1},
		{"c = 1", 50, 4, 1, 50},
		{"few distinct", 60, 3, 10, 4},
		{"as many distinct as clusters", 100, 5, 9, 9},
		{"one more distinct", 100, 5, 9, 10},
		{"constant", 70, 3, 5, 1},
		{"constant, c = 1", 70, 3, 1, 1},
		{"few distinct, sampled", 7000, 2, 12, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := repeat(random(test.distinct*test.d), test.distinct, test.n, test.d)
			src := dense(t, test.n, test.d, x)
			cfg := Config{Clusters: test.c}
			r := run(t, src, cfg)
			if want := min(test.c, test.distinct); r.Found != want {
				t.Errorf("%d clusters, want %d", r.Found, want)
			}
			// In float64 the mean of equal rows is theirs up to the rounding of their sum.
			if test.distinct <= test.c && r.Inertia > 1e-26*kernel.SumSquares(x, 0) {
				t.Errorf("inertia %v of samples that are centroids", r.Inertia)
			}
			if !r.Converged || r.Iterations > 20 {
				t.Errorf("%d iterations, converged %v", r.Iterations, r.Converged)
			}
			check(t, src, r, cfg)
		})
	}
	t.Run("zeros", func(t *testing.T) {
		src := dense(t, 30, 4, make([]T, 120))
		check(t, src, run(t, src, Config{Clusters: 3}), Config{Clusters: 3})
	})
}

// TestRareRows has more distinct samples than clusters, of which a sample of rows sees too few.
func TestRareRows(t *testing.T) {
	x := make([]float64, 20000)
	for i := range 6 {
		x[i*3001] = float64(i + 1)
	}
	src := dense(t, len(x), 1, x)
	cfg := Config{Clusters: 6}
	r := run(t, src, cfg)
	if r.Found != 6 || r.Repaired == 0 {
		t.Errorf("%d clusters found with %d repairs, want 6 with some", r.Found, r.Repaired)
	}
	check(t, src, r, cfg)
}

func TestWarmStart(t *testing.T) {
	views, classes := blobs[float64](300, 6, []int{8, 8}, 0, 0.3, 9)
	src := source(t, views, nil)
	start := append([]int(nil), classes...)
	for i := 0; i < len(start); i += 5 {
		start[i] = (start[i] + 1) % 6
	}
	cfg := Config{Clusters: 6, Labels: start}
	r := run(t, src, cfg)
	if !reflect.DeepEqual(r.Labels, classes) || r.Iterations > 4 {
		t.Errorf("a start near the classes does not end there: %d iterations", r.Iterations)
	}
	check(t, src, r, cfg)

	for i := range start { // four empty clusters
		start[i] = i % 2
	}
	r = run(t, src, cfg)
	if r.Found != 6 || r.Repaired < 4 {
		t.Errorf("%d clusters, %d repaired; want 6, at least 4", r.Found, r.Repaired)
	}
	check(t, src, r, cfg)
}

func TestDeterminism(t *testing.T) { eachType(t, testDeterminism[float32], testDeterminism[float64]) }

func testDeterminism[T kernel.Float](t *testing.T) {
	for _, n := range []int{500, 5100} {
		views, _ := blobs[T](n, 8, []int{10, 3}, 1, 3, 3)
		src := source(t, views, nil)
		cfg := Config{Clusters: 8, Starts: 2, Seed: 42, Workers: 1}
		want := run(t, src, cfg)
		check(t, src, want, cfg)
		want.Assigner = nil
		for _, procs := range []int{1, 2} {
			before := runtime.GOMAXPROCS(procs)
			for _, workers := range []int{0, 1, 2, 5} {
				cfg.Workers = workers
				got := run(t, src, cfg)
				got.Assigner = nil
				if !reflect.DeepEqual(got, want) {
					t.Errorf("n %d: GOMAXPROCS %d, %d workers: another result", n, procs, workers)
				}
			}
			runtime.GOMAXPROCS(before)
		}
		cfg.Seed = 43
		if got := run(t, src, cfg); reflect.DeepEqual(got.Labels, want.Labels) && n == 500 {
			t.Error("the seed has no influence")
		}
	}
}

// TestSampledIsAsGoodAsFull compares the inertia on overlapping blobs.
func TestSampledIsAsGoodAsFull(t *testing.T) {
	views, _ := blobs[float32](8000, 10, []int{16}, 0, 2.5, 6)
	src := source(t, views, nil)
	sampled := run(t, src, Config{Clusters: 10})
	full := run(t, src, Config{Clusters: 10, Full: true})
	if sampled.Inertia > 1.01*full.Inertia {
		t.Errorf("inertia %v from a sample, %v from all rows", sampled.Inertia, full.Inertia)
	}
}

// TestMoreStartsAreNotWorse also checks that the starts differ.
func TestMoreStartsAreNotWorse(t *testing.T) {
	views, _ := blobs[float64](600, 25, []int{3}, 0, 0.8, 7)
	src := source(t, views, nil)
	one := run(t, src, Config{Clusters: 25, Starts: 1})
	many := run(t, src, Config{Clusters: 25, Starts: 20})
	if !(many.Inertia < one.Inertia) {
		t.Errorf("inertia %v of 20 starts, %v of the first alone", many.Inertia, one.Inertia)
	}
}

func TestRowState(t *testing.T) {
	const n, m = 100, 5
	views, classes := blobs[float32](n, 4, []int{m}, 0, 0.1, 2)
	ld := kernel.Pad(m)
	h := make([]float32, n*ld)
	for i := range n {
		views[0].Row(i, h[i*ld:i*ld+m])
	}
	src, err := NewSource(nil, View[float32]{Rows: rows.NewDense(n, m, ld, h), Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, src, Config{Clusters: 4})
	if !samePartition(r.Labels, classes) || len(r.Centroids[0]) != 4*m {
		t.Error("padded rows are clustered otherwise than plain ones")
	}
}
