package structure

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/score"
)

// made returns a view of values by sample and column.
func made(n, d int, f func(i, j int) float64) view.View {
	x := make([]float64, n*d)
	for i := range x {
		x[i] = f(i/d, i%d)
	}
	return view.View{Rows: n, Cols: d, F64: x}
}

// planted returns views of k normal clusters whose centres are about distance apart.
func planted(r *rand.Rand, n, k int, distance float64, widths ...int) (views []view.View) {
	class := make([]int, n)
	for i := range class {
		class[i] = r.IntN(k)
	}
	for _, d := range widths {
		centre := made(k, d, func(_, _ int) float64 { return distance * r.NormFloat64() / math.Sqrt(2*float64(d)) })
		views = append(views, made(n, d, func(i, j int) float64 { return centre.F64[class[i]*d+j] + r.NormFloat64() }))
	}
	return views
}

// noises make views without clusters.
var noises = []struct {
	name string
	make func(r *rand.Rand, n int) []view.View
}{
	{"normal", func(r *rand.Rand, n int) []view.View {
		return pair(n, 60, 15, func(_, _ int) float64 { return r.NormFloat64() })
	}},
	{"uniform", func(r *rand.Rand, n int) []view.View {
		return pair(n, 30, 20, func(_, _ int) float64 { return r.Float64() })
	}},
	{"heavy tails", func(r *rand.Rand, n int) []view.View {
		return pair(n, 30, 10, func(_, _ int) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) })
	}},
	{"binary", func(r *rand.Rand, n int) []view.View {
		return pair(n, 50, 20, func(_, _ int) float64 { return math.Floor(r.Float64() + 0.3) })
	}},
	{"low rank", func(r *rand.Rand, n int) []view.View {
		return spanned(r, n, 4, 0.3, func() float64 { return r.NormFloat64() })
	}},
	{"line", func(r *rand.Rand, n int) []view.View {
		return spanned(r, n, 1, 0.1, func() float64 { return 2*r.Float64() - 1 })
	}},
	{"square", func(r *rand.Rand, n int) []view.View {
		return spanned(r, n, 2, 0.05, func() float64 { return 2*r.Float64() - 1 })
	}},
	{"curve", func(r *rand.Rand, n int) []view.View {
		t := made(n, 1, func(_, _ int) float64 { return 8 * r.Float64() })
		return pair(n, 30, 12, func(i, j int) float64 {
			return math.Sin((0.5+float64(j)/20)*t.F64[i]) + 0.05*r.NormFloat64()
		})
	}},
	{"dominating column", func(r *rand.Rand, n int) []view.View {
		return pair(n, 40, 20, func(_, j int) float64 {
			if j == 0 {
				return 100 * r.NormFloat64()
			}
			return r.NormFloat64()
		})
	}},
}

func pair(n, a, b int, f func(i, j int) float64) []view.View {
	return []view.View{made(n, a, f), made(n, b, f)}
}

// spanned returns views that are linear in a few coordinates, beside noise.
func spanned(r *rand.Rand, n, dims int, noise float64, coordinate func() float64) (views []view.View) {
	q := made(n, dims, func(_, _ int) float64 { return coordinate() })
	for _, d := range []int{25, 10} {
		w := made(dims, d, func(_, _ int) float64 { return r.NormFloat64() })
		views = append(views, made(n, d, func(i, j int) float64 {
			x := noise * r.NormFloat64()
			for p := range dims {
				x += q.F64[i*dims+p] * w.F64[p*d+j]
			}
			return x
		}))
	}
	return views
}

func judged(t *testing.T, views []view.View, k int, seed uint64) *Result {
	t.Helper()
	chosen, some := Choose(views[0].Rows, options(k, seed)), make([]view.View, len(views))
	for v, x := range views {
		some[v] = x.Take(chosen)
	}
	r, err := Judge(context.Background(), some, options(k, seed))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(k int, seed uint64) Options {
	return Options{Clusters: k, Kind: prepare.Both, Neighbors: 10, Steps: 6, Seed: seed}
}

// One draw in twenty of noise may be Weak; none is Clear.
func TestNoiseIsNone(t *testing.T) {
	wrong, all, draws := 0, 0, uint64(1)
	if testutil.Slow {
		draws = 4
	}
	for i, noise := range noises {
		for draw := range draws {
			for j, k := range []int{3, 7} {
				if !testutil.Slow && i%2 != j {
					continue
				}
				all++
				r := judged(t, noise.make(rand.New(rand.NewPCG(draw, 9)), 300), k, draw)
				if r.Judgement != score.StructureNone {
					wrong++
					t.Logf("%s in %d clusters, draw %d: %v, %+v", noise.name, k, draw, r.Judgement, *r)
				}
				if r.Judgement == score.StructureClear {
					t.Errorf("%s in %d clusters, draw %d, is clear", noise.name, k, draw)
				}
			}
		}
	}
	if wrong > all/20 {
		t.Errorf("%d of %d draws of noise are more than none", wrong, all)
	}
}

func TestPlantedClustersAreClear(t *testing.T) {
	for _, distance := range []float64{6, 9} {
		for _, k := range []int{2, 5, 12}[:testutil.Few(2, 3)] {
			r := judged(t, planted(rand.New(rand.NewPCG(uint64(k), 4)), 400, k, distance, 40, 20), k, 1)
			if r.Judgement != score.StructureClear {
				t.Errorf("%d clusters at a distance of %g: %v, %+v", k, distance, r.Judgement, *r)
			}
			if r.Rows != 400 || r.Data.Stability < 0.9 || r.Data.Agreement < 0.5 {
				t.Errorf("%d clusters at a distance of %g: %+v", k, distance, *r)
			}
		}
	}
}

func TestManySamples(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(5, 4)), 3000, 4, 8, 30, 12)
	r := judged(t, views, 4, 2)
	if r.Judgement != score.StructureClear || r.Rows != mostRows {
		t.Errorf("%v on %d rows", r.Judgement, r.Rows)
	}
}

func TestWorkersDoNotMatter(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(1, 4)), 200, 3, 3, 20, 10)
	var first *Result
	for _, workers := range []int{1, 2, 5} {
		o := options(3, 7)
		o.Workers = workers
		r, err := Judge(context.Background(), views, o)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		} else if !reflect.DeepEqual(r, first) {
			t.Errorf("%d workers: %+v, one: %+v", workers, *r, *first)
		}
	}
}

// A judgement in doubt is repeated on few rows, with more splits of the rows alone for few clusters and few dimensions, and not
// otherwise.
func TestDoubtIsRepeated(t *testing.T) {
	for _, c := range []struct {
		n, k     int
		distance float64
		columns  [2]int
		seed     uint64
		repeated bool
		groups   int
	}{
		{150, 3, 3, [2]int{30, 20}, 4, true, moreGroups},
		{220, 3, 3, [2]int{30, 20}, 4, true, moreGroups * moreSplits / drawSplits},
		{220, 4, 2.4, [2]int{30, 20}, 4, false, splits / drawSplits},
		{220, 6, 3, [2]int{2, 2}, 1, true, moreGroups * moreSplits / drawSplits},
	} {
		views := planted(rand.New(rand.NewPCG(3, c.seed)), c.n, c.k, c.distance, c.columns[:]...)
		var first *Result
		for _, workers := range []int{1, 4} {
			o := options(c.k, 1)
			o.Workers = workers
			r, err := Judge(t.Context(), views, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.repeated != c.repeated || len(r.groups) != c.groups || !c.repeated && (r.Excess <= 0 || r.Excess >= certain) {
				t.Errorf("%d rows, %d clusters: repeated %v, %d groups, excess %v; want %v and %d", c.n, c.k, r.repeated,
					len(r.groups), r.Excess, c.repeated, c.groups)
			}
			if first == nil {
				first = r
			} else if !reflect.DeepEqual(r, first) {
				t.Errorf("%d rows: 4 goroutines give %+v, want %+v", c.n, r, first)
			}
		}
	}
}

// More splits of null data keep the figures of the splits that were measured before, in the same bits.
func TestSplitsAreKept(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(3, 4)), 80, 3, 3, 30, 20)
	o := options(3, 1)
	sets, err := prepared(t.Context(), views, true, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newNull(t.Context(), joined(sets), views, o)
	if err != nil {
		t.Fatal(err)
	}
	for kind := range allKinds {
		var steps, once drawn
		for _, splits := range []int{1, 4} {
			if _, err := m.measure(t.Context(), &steps, kind, 1, splits, o); err != nil {
				t.Fatal(err)
			}
		}
		want, err := m.measure(t.Context(), &once, kind, 1, 4, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := average(steps.splits); got != want || len(steps.splits) != 4 {
			t.Errorf("kind %d: %+v of %d splits, want %+v", kind, got, len(steps.splits), want)
		}
	}
}

// Few clusters are judged on more samples.
func TestChosen(t *testing.T) {
	for _, c := range [][3]int{{5000, 2, 1200}, {5000, 3, 1200}, {5000, 4, 600}, {5000, 100, 800}, {700, 3, 700}, {50, 4, 50}} {
		if got := len(Choose(c[0], options(c[1], 1))); got != c[2] {
			t.Errorf("%d samples, %d clusters: %d are judged, want %d", c[0], c[1], got, c[2])
		}
	}
}

func TestUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	normal := func(n int) []view.View { return pair(n, 8, 20, func(_, _ int) float64 { return r.NormFloat64() }) }
	constant := pair(60, 8, 20, func(_, _ int) float64 { return 3 })
	for _, c := range []struct {
		name  string
		views []view.View
		k     int
	}{
		{"one cluster", normal(100), 1}, {"one sample", normal(1), 1}, {"few samples", normal(fewestRows - 1), 2},
		{"many clusters", normal(100), 26}, {"constant views", constant, 3},
	} {
		if got := judged(t, c.views, c.k, 1); got.Judgement != score.StructureUnknown {
			t.Errorf("%s: %v", c.name, got.Judgement)
		}
	}
	if got := judged(t, normal(100), 25, 1); got.Judgement == score.StructureUnknown {
		t.Error("4 samples a cluster cannot be judged")
	}
}

func TestConstantViewIsLeftOut(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(3, 4)), 200, 3, 9, 30)
	views = append(views, made(200, 4, func(_, _ int) float64 { return 1 }))
	if r := judged(t, views, 3, 1); r.Judgement != score.StructureClear || r.Data.Agreement != 0 {
		t.Errorf("%v, %+v", r.Judgement, *r)
	}
}

// A large constant feature changes the figures no more than other starts of the search for directions do.
func TestConstantFeatureIsLeftOut(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(5, 4)), 200, 3, 6, 60, 24)
	want := judged(t, views, 3, 1)
	last := views[1]
	views[1] = made(200, last.Cols+1, func(i, j int) float64 {
		if j == last.Cols {
			return 1000
		}
		return last.F64[i*last.Cols+j]
	})
	got := judged(t, views, 3, 1)
	if got.Judgement != want.Judgement || math.Abs(got.Excess-want.Excess) > 0.5 {
		t.Errorf("%+v, without the feature %+v", got, want)
	}
}

// Views are judged at any scale, those that float32 or squares of it cannot hold included.
func TestScaleDoesNotMatter(t *testing.T) {
	for name, sparse := range map[string]bool{"dense": false, "sparse": true} {
		var first *Result
		for _, e := range []int{-900, -100, 100, 900} {
			views := planted(rand.New(rand.NewPCG(3, 4)), 120, 3, 9, 30, 10)
			for v, x := range views {
				for i := range x.F64 {
					x.F64[i] = math.Ldexp(x.F64[i], e)
				}
				if sparse {
					views[v] = sparseOf(x)
				}
			}
			r := judged(t, views, 3, 1)
			if first == nil {
				first = r
			}
			if r.Judgement != score.StructureClear || !reflect.DeepEqual(r, first) {
				t.Errorf("%s, times 2^%d: %+v, want %+v", name, e, *r, *first)
			}
		}
	}
}

// sparseOf returns a dense view without its zeros.
func sparseOf(x view.View) view.View {
	s := &view.CSR{Ptr: []int{0}}
	for i := range x.Rows {
		for j, y := range x.F64[i*x.Cols : (i+1)*x.Cols] {
			if y != 0 {
				s.Cols, s.F64 = append(s.Cols, int32(j)), append(s.F64, y)
			}
		}
		s.Ptr = append(s.Ptr, len(s.Cols))
	}
	return view.View{Rows: x.Rows, Cols: x.Cols, Sparse: s, Present: x.Present}
}

// Where most rows are zero, null data have the lengths of the others: else they are zero, and one cluster is
// always found again.
func TestMostRowsAreZero(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(3, 4)), 400, 3, 9, 30)
	for i := range 400 {
		if i%5 < 3 {
			clear(views[0].F64[i*30 : (i+1)*30])
		}
	}
	o := options(4, 1)
	o.Kind = prepare.PerSample
	r, err := Judge(t.Context(), views, o)
	if err != nil || r.Normal.Stability > 0.9 || r.Uniform.Stability > 0.9 {
		t.Errorf("%v, stability of null data %+v, %+v", err, r.Normal, r.Uniform)
	}
}

func TestAbsentViews(t *testing.T) {
	for _, c := range []struct {
		views []view.View
		want  score.Judgement
	}{
		{planted(rand.New(rand.NewPCG(3, 4)), 300, 4, 9, 30, 20), score.StructureClear},
		{noises[0].make(rand.New(rand.NewPCG(3, 5)), 300), score.StructureNone},
	} {
		for v := range c.views {
			c.views[v].Present = make([]bool, 300)
			for i := range c.views[v].Present {
				c.views[v].Present[i] = i%5 != v
			}
		}
		if r := judged(t, c.views, 4, 1); r.Judgement != c.want {
			t.Errorf("%v, want %v: %+v", r.Judgement, c.want, *r)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Judge(ctx, planted(rand.New(rand.NewPCG(3, 4)), 200, 3, 9, 30), options(3, 1))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNullRows(t *testing.T) {
	views := planted(rand.New(rand.NewPCG(3, 4)), 120, 3, 5, 30, 10)
	views[1].Present = make([]bool, 120)
	for i := range views[1].Present {
		views[1].Present[i] = i%3 > 0
	}
	o := options(3, 1)
	sets, err := prepared(context.Background(), views, true, o)
	if err != nil {
		t.Fatal(err)
	}
	d := joined(sets)
	m, err := newNull(context.Background(), d, views, o)
	if err != nil {
		t.Fatal(err)
	}
	for kind := range kinds {
		drawn := m.draw(kinds[kind], 1, 1)
		for k, b := range drawn.blocks {
			if b.Cols != d.blocks[k].Cols || drawn.n != d.n || drawn.view[k] != d.view[k] {
				t.Fatalf("block %d of %d×%d, want %d×%d", k, drawn.n, b.Cols, d.n, d.blocks[k].Cols)
			}
			for i := range drawn.n {
				q := 0.0
				for _, x := range b.X[i*b.Ld : i*b.Ld+b.Cols] {
					q += float64(x) * float64(x)
				}
				absent := b.Present != nil && !b.Present[i]
				if absent != (q == 0) || q > 1.0001 {
					t.Fatalf("kind %d, block %d, row %d has the squared norm %g", kind, k, i, q)
				}
			}
		}
	}
}
