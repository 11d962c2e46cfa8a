package device

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/neighbor"
)

func rowsOf[T kernel.Float](t *testing.T, p *problem) *Rows[T] {
	t.Helper()
	r, err := NewRows(&simdevice.Sim{}, views[T](p), p.present, rows.Use{Columns: 40, Keep: 5, Sums: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// source returns the samples of a problem for k-means.
func source[T kernel.Float](t *testing.T, p *problem) *kmeans.Source[T] {
	t.Helper()
	var list []kmeans.View[T]
	for v, x := range views[T](p) {
		view := kmeans.View[T]{Rows: x, Weight: 1 / float64(v+1)}
		if p.present != nil {
			view.Present = p.present[v]
		}
		list = append(list, view)
	}
	src, err := kmeans.NewSource(nil, list...)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// k-means with the device's products has the labels, centroids and inertia of k-means in memory, samples that are equally far
// from two centroids included.
func TestKMeans(t *testing.T) { eachType(t, testKMeans[float32], testKMeans[float64]) }

func testKMeans[T kernel.Float](t *testing.T) {
	for _, missing := range []float64{0, 0.3} {
		p := makeProblem(t, shape(150, 6, 1, 11, 5), missing, 8)
		for v, d := range p.spec.Dims { // few distinct values, so that distances are often equal
			for i := range p.x[v][:75*d] {
				p.x[v][i] = math.Round(p.x[v][i])
			}
		}
		cfg := kmeans.Config{Clusters: 6, Starts: 3, Seed: 5, Tol: -1}
		want, err := kmeans.Run(t.Context(), source[T](t, p), cfg)
		if err != nil {
			t.Fatal(err)
		}
		drv := &simdevice.Sim{}
		cfg.Device = NewSession(drv, true)
		got, err := kmeans.Run(t.Context(), source[T](t, p), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Labels, want.Labels) || got.Inertia != want.Inertia || got.Iterations != want.Iterations {
			t.Errorf("%v missing: %d iterations to %v, in memory %d to %v", missing, got.Iterations, got.Inertia, want.Iterations,
				want.Inertia)
		}
	}
}

// Directions from the device's products are those of memory, and so are projections on them.
func TestDirections(t *testing.T) { eachType(t, testDirections[float32], testDirections[float64]) }

func testDirections[T kernel.Float](t *testing.T) {
	tol := 1e-9
	if kernel.Is32[T]() {
		tol = 1e-5
	}
	p := makeProblem(t, shape(90, 6, 1, 11, 5, 8), 0.2, 8)
	x, r := views[T](p), rowsOf[T](t, p)
	cfg := spectral.Config{Rank: 4, Seed: 3}
	want, err := spectral.Find(t.Context(), x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Device = NewSession(&simdevice.Sim{}, true)
	got, y, err := spectral.FindAndProject(t.Context(), x, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if e := distance(got.S, want.S); e > tol {
		t.Errorf("singular values are %.2g off", e)
	}
	for v := range x {
		if e := distance(got.V[v], want.V[v]); e > 10*tol {
			t.Errorf("directions of view %d are %.2g off", v, e)
		}
	}
	ld := kernel.Pad(4)
	all, err := spectral.Project(t.Context(), want, x, 0)
	if err != nil {
		t.Fatal(err)
	}
	var a, b []float64
	for i := range p.spec.Samples {
		a = append(a, kernel.Float64s(y[i*ld:i*ld+4])...)
		b = append(b, kernel.Float64s(all[i*ld:i*ld+4])...)
	}
	if e := distance(a, b); e > 10*tol {
		t.Errorf("projections are %.2g off", e)
	}
	if _, err := r.GramTimes(t.Context(), make([]float64, 5), 2); err == nil {
		t.Error("a matrix of another size: no error")
	}
}

// The lowest scores ‖x_j‖² − 2 x_i·x_j are the nearest neighbours, never the sample itself, in strips of columns too.
func TestNearestNeighbours(t *testing.T) {
	const k = 7
	p := makeProblem(t, shape(83, 6, 1, 11, 5), 0, 8)
	x, n := views[float64](p), 83
	var list []neighbor.View[float64]
	for v, d := range p.spec.Dims {
		view, err := neighbor.Dense(n, d, d, p.x[v], nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, view)
	}
	want, err := neighbor.Nearest(t.Context(), list, []neighbor.Space{{Views: []int{0, 1}}}, k, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := rowsOf[float64](t, p)
	for _, strip := range [][2]int{{0, n}, {20, 50}} {
		columns := strip[1] - strip[0]
		b, bias := make([][]float64, len(x)), make([]float64, len(x)*columns)
		for v, d := range p.spec.Dims {
			for j := range columns {
				for _, e := range p.x[v][(strip[0]+j)*d : (strip[0]+j+1)*d] {
					b[v] = append(b[v], -2*e)
					bias[v*columns+j] += e * e
				}
			}
		}
		at, score, err := r.lowest(t.Context(), b, bias, lowestOptions{group: columns, keep: k, self: strip[0]})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			var expect []int32
			if columns == n {
				expect = want[0].Index[i*k : (i+1)*k]
			} else {
				expect = bruteForce(p, i, strip[0], strip[1], k)
			}
			if !slices.Equal(at[i*k:(i+1)*k], expect) {
				t.Fatalf("strip %v: the nearest of sample %d are %v (%v), want %v", strip, i, at[i*k:(i+1)*k],
					score[i*k:(i+1)*k], expect)
			}
		}
	}
}

// What is found in strips of rows is what is found at once, and so are sums and projections.
func TestStripsOfRows(t *testing.T) {
	p := makeProblem(t, shape(200, 6, 1, 11, 5), 0.1, 8)
	whole, strips := rowsOf[float64](t, p), rowsOf[float64](t, p)
	if strips.most = 1; strips.strip(40, 1) >= 100 || whole.strip(40, 1) != 200 {
		t.Fatalf("strips of %d and %d rows", strips.strip(40, 1), whole.strip(40, 1))
	}
	b, bias, rng := make([][]float64, 2), make([]float64, 2*40), newBench[float64](t, &simdevice.Sim{})
	for v, d := range p.spec.Dims {
		b[v] = rng.matrix(40, d, d)
	}
	copy(bias, rng.matrix(2, 40, 40))
	for _, self := range []int{-1, 0, 7} {
		at, score, err := whole.Nearest(t.Context(), b, bias, 5, self)
		if err != nil {
			t.Fatal(err)
		}
		same, low, err := strips.Nearest(t.Context(), b, bias, 5, self)
		if err != nil || !slices.Equal(at, same) || !slices.Equal(score, low) {
			t.Errorf("self %d: the lowest of strips are others, %v", self, err)
		}
	}
	g := rng.matrix(3, 16, 16)
	want, err := whole.GramTimes(t.Context(), g, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := strips.GramTimes(t.Context(), g, 3); err != nil || !slices.Equal(got, want) {
		t.Errorf("sums of strips are %.2g off, %v", distance(got, want), err)
	}
	var y [2][600]float64
	for i, r := range []*Rows[float64]{whole, strips} {
		if err := r.Project(t.Context(), [][]float64{b[0][:33], b[1][:15]}, 3, y[i][:], 3); err != nil {
			t.Fatal(err)
		}
	}
	if y[0] != y[1] {
		t.Error("projections of strips are others")
	}
}

// An index whose products are a device's is that of the CPU to the bit: mutual neighbours with equal samples among them, and
// landmarks where samples lack views.
func TestIndex(t *testing.T) { firstType(t, testIndex[float32], testIndex[float64]) }

func testIndex[T kernel.Float](t *testing.T) {
	for name, x := range map[string]struct {
		missing float64
		config  neighbor.Config
	}{
		"exact":     {0, neighbor.Config{Neighbors: 3, Rest: 0.05}},
		"masked":    {0.2, neighbor.Config{Neighbors: 3}},
		"landmarks": {0.2, neighbor.Config{ExactUpTo: -1, Landmarks: 130}},
	} {
		p := makeProblem(t, shape(150, 6, 1, 7, 5), x.missing, 8)
		for v, d := range p.spec.Dims {
			for i := 1; i < 9; i++ { // more equal ones than neighbours
				if p.present == nil {
					copy(p.x[v][i*d:(i+1)*d], p.x[v][:d])
				}
			}
		}
		var list []neighbor.View[T]
		for v, m := range views[T](p) {
			view := neighbor.View[T]{Rows: m}
			if p.present != nil {
				view.Present = p.present[v]
			}
			list = append(list, view)
		}
		spaces := neighbor.Spaces([]int{0, 1})
		want, err := neighbor.Build(t.Context(), list, spaces, x.config)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		drv := &simdevice.Sim{Observe: func(kernel string, _ Launch, _ ptx.Stats) {
			if kernel == "lowest" {
				found++
			}
		}}
		x.config.Device = NewSession(drv, true)
		got, err := neighbor.Build(t.Context(), list, spaces, x.config)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.State(), want.State()) {
			t.Errorf("%s: the index differs", name)
		}
		if (found > 0) != (name != "masked") {
			t.Errorf("%s: %d searches on the device", name, found)
		}
		if free, total, err := drv.Memory(); err != nil || free != total {
			t.Errorf("%s: %d bytes are left on the device, %v", name, total-free, err)
		}
	}
}

// bruteForce returns the k nearest of the samples from lo to hi to another sample i, counted from lo.
func bruteForce(p *problem, i, lo, hi, k int) []int32 {
	square := make([]float64, hi-lo)
	var order []int32
	for j := lo; j < hi; j++ {
		for v, d := range p.spec.Dims {
			square[j-lo] += kernel.SquaredDistance(p.x[v][i*d:(i+1)*d], p.x[v][j*d:(j+1)*d])
		}
		if j != i {
			order = append(order, int32(j-lo))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if square[a] < square[b] {
			return -1
		}
		return 1
	})
	return order[:k]
}

// Sparse rows stay on the CPU, scaled and some of many too.
func TestSparseRowsStay(t *testing.T) {
	n := 100
	ptr, cols := make([]int, n+1), make([]int32, n)
	values, factors := make([]float32, n), make([]float32, n)
	for i := range n {
		ptr[i+1], cols[i], values[i], factors[i] = i+1, int32(i%3), 1, 2
	}
	x := []rows.Matrix[float32]{rows.NewSparse[float32](n, 3, ptr, cols, values, nil, nil)}
	for _, sparse := range [][]rows.Matrix[float32]{x, {rows.NewScaled(x[0], factors)}, rows.Thin(x, 10)} {
		p, err := rows.Take(NewSession(&simdevice.Sim{}, true), sparse, nil, rows.Use{})
		if p != nil || err != nil {
			t.Errorf("a device takes %T: %v, %v", sparse[0], p, err)
		}
	}
	dense := rows.Thin([]rows.Matrix[float32]{rows.NewDense(n, 1, 1, values)}, 10)
	if p, err := rows.Take(NewSession(&simdevice.Sim{}, true), dense, nil, rows.Use{Columns: 1}); p == nil || err != nil {
		t.Errorf("a device does not take %T: %v", dense[0], err)
	}
}

// What there are too few of has no column and an infinite score, and a NaN is never lowest.
func TestLowestOfFew(t *testing.T) {
	p := makeProblem(t, shape(9, 2, 1, 3), 0, 8)
	r := rowsOf[float32](t, p)
	b := [][]float32{{1, 0, 0, 0, 1, 0, 0, 0, 1}}
	at, score, err := r.lowest(t.Context(), b, []float64{math.NaN(), math.Inf(1), 0}, lowestOptions{group: 3, keep: 2, self: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		if at[2*i] != 2 || float32(score[2*i]) != float32(p.x[0][3*i+2]) || at[2*i+1] != -1 || !math.IsInf(score[2*i+1], 1) {
			t.Errorf("row %d: columns %v with scores %v", i, at[2*i:2*i+2], score[2*i:2*i+2])
		}
	}
}

// What products will take is asked for when the rows are taken to the device, and nothing after that: a device that has room for
// the rows alone leaves them here.
func TestProductsAreAskedForBefore(t *testing.T) {
	p := makeProblem(t, shape(300, 3, 1, 6, 5), 0.2, 8)
	x, use := views[float32](p), rows.Use{Columns: 1000, Keep: 4}
	drv := &simdevice.Sim{}
	r, err := NewRows(drv, x, p.present, use)
	if err != nil {
		t.Fatal(err)
	}
	r.most = 100 * 1000 * 4
	before, total, _ := drv.Memory()
	columns, bias := [][]float32{make([]float32, 1000*6), make([]float32, 1000*5)}, make([]float64, 2*1000)
	if _, _, err := r.Nearest(t.Context(), columns, bias, 4, 0); err != nil {
		t.Fatal(err)
	}
	if after, _, _ := drv.Memory(); after != before {
		t.Errorf("products take %d bytes more than was asked for", before-after)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if after, _, _ := drv.Memory(); after != total {
		t.Errorf("%d bytes are taken after Close", total-after)
	}

	session := NewSession(&simdevice.Sim{Limit: (total - before) / 2}, false)
	if got, err := rows.Take(session, x, p.present, use); got != nil || err != nil || len(session.Left()) != 1 {
		t.Errorf("a device with room for the rows alone takes them: %v, %v, %v", got, err, session.Left())
	}
}
