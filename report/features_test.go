package report

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/score"
)

// madeView is a view of values by sample and column.
func madeView(n, d int, f func(i, j int) float64) largemvc.View {
	x := make([]float64, n*d)
	for i := range x {
		x[i] = f(i/d, i%d)
	}
	return largemvc.DenseView(n, d, x)
}

// fitViews clusters views without training. With a judgement that is not unknown it replaces the one of the fit.
func fitViews(t *testing.T, views []largemvc.View, clusters int, as score.Judgement) *largemvc.Clustering {
	t.Helper()
	c, err := largemvc.Fit(context.Background(), views, largemvc.Config{
		Clusters: clusters, Epochs: largemvc.None, NoStructure: as != score.StructureUnknown,
	})
	if err != nil {
		t.Fatal(err)
	}
	if as != score.StructureUnknown {
		c.Structure.Judgement = as
	}
	return c
}

// noises are values of noise.
var noises = []struct {
	name  string
	value func(r *rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"uniform", func(r *rand.Rand) float64 { return r.Float64() }},
	{"heavy tails", func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) }},
	{"binary", func(r *rand.Rand) float64 { return math.Floor(r.Float64() + 0.3) }},
	{"rare", func(r *rand.Rand) float64 { return math.Floor(r.Float64() + 0.03) }},
	{"mostly zero", func(r *rand.Rand) float64 { return max(0, r.NormFloat64()-1.3) }},
}

func noiseViews(r *rand.Rand, n int, value func(r *rand.Rand) float64) []largemvc.View {
	f := func(_, _ int) float64 { return value(r) }
	return []largemvc.View{madeView(n, 12, f), madeView(n, 30, f)}
}

// In noise no feature is shown, even if its structure is misjudged and every cluster counts as found again.
func TestNoiseHasNoFeatures(t *testing.T) {
	n, draws := 300, uint64(1)
	if testutil.Slow {
		n, draws = 600, 6
	}
	fits, wrong, again, every, leaky := 0, 0, 0, 0, 0
	for _, noise := range noises {
		for _, k := range []int{2, 3, 6} {
			for draw := range draws {
				views := noiseViews(rand.New(rand.NewPCG(draw, 3)), n, noise.value)
				c := fitViews(t, views, k, score.StructureWeak)
				found, err := Features(context.Background(), c, Options{Views: views})
				if err != nil {
					t.Fatal(err)
				}
				s := searchOf(t, c, Options{Views: views})
				tested := testAll(t, s)
				fits++
				again, every = again+len(found.Features), every+tested
				if tested > 0 {
					wrong++
				}
				for _, folds := range s.fold { // labels that depend on the features
					for j := range folds {
						folds[j] = allFeatures
					}
				}
				leaky += testAll(t, s)
			}
		}
	}
	t.Logf("%d fits: %d features in clusters that are found again, %d in all clusters, %d if no features are left out",
		fits, again, every, leaky)
	if again > 0 || wrong > fits/9 || leaky < 3*fits { // more than one in nine of 18 have a chance of 0.06 at a rate of 0.05
		t.Errorf("%d of %d fits of noise have features", wrong, fits)
	}
}

// testAll returns the number of features that pass if every cluster counts as found again.
func testAll(t *testing.T, s *search) int {
	t.Helper()
	for _, run := range s.runs {
		for k := range run.overlap {
			run.overlap[k] = 1
		}
	}
	s.out.Features = nil
	if err := s.test(context.Background()); err != nil {
		t.Fatal(err)
	}
	if width := len(s.fold[0]) + len(s.fold[1]); s.out.Tests < width*s.clusters*9/10 {
		t.Errorf("%d tests in %d clusters", s.out.Tests, s.clusters)
	}
	return len(s.out.Features)
}

// Rows along a line and in a few directions have features that vary together, which the judgement of the structure guards.
func TestFactorsHaveNoFeatures(t *testing.T) {
	for name, dims := range map[string]int{"line": 1, "four directions": 4} {
		r := rand.New(rand.NewPCG(uint64(dims), 3))
		const n, width = 300, 30
		at, weights := make([]float64, n*dims), make([]float64, width*dims)
		for i := range at {
			at[i] = 2*r.Float64() - 1
		}
		for i := range weights {
			weights[i] = r.NormFloat64()
		}
		views := []largemvc.View{madeView(n, width, func(i, j int) float64 {
			x := 0.1 * r.NormFloat64()
			for q := range dims {
				x += at[i*dims+q] * weights[j*dims+q]
			}
			return x
		})}
		c := fitViews(t, views, 3, score.StructureUnknown)
		found, err := Features(context.Background(), c, Options{Views: views})
		if err != nil || len(found.Features) > 0 || found.Untested == "" {
			t.Errorf("%s: %v, %d features, %v", name, c.Structure, len(found.Features), err)
		}
	}
}

// searchOf clusters the halves of a result's samples.
func searchOf(t *testing.T, c *largemvc.Clustering, o Options) *search {
	t.Helper()
	r, err := ofClustering(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.complete(len(c.Labels), r.dims); err != nil {
		t.Fatal(err)
	}
	out := &Importance{Clusters: make([]ClusterSupport, r.clusters()), Views: make([]ViewSupport, len(o.Views))}
	s := newSearch(r, &o, out)
	if err := s.cluster(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Planted features are found, in dense and in sparse views, and features of noise beside them are not.
func TestPlantedFeatures(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	const n, k, d, telling = 400, 4, 40, 12
	dense := func(shift float64) largemvc.View {
		return madeView(n, d, func(i, j int) float64 {
			x := r.NormFloat64()
			if j < telling && j%k == i%k {
				x += shift
			}
			return x
		})
	}
	var ptr, cols []int
	var values []float64
	ptr = append(ptr, 0)
	for i := range n {
		for j := range d {
			if share := 0.05; r.Float64() < share || j < telling && j%k == i%k && r.Float64() < 0.6 {
				cols, values = append(cols, j), append(values, 1+r.Float64())
			}
		}
		ptr = append(ptr, len(cols))
	}
	short := make([]int32, len(cols))
	for q, j := range cols {
		short[q] = int32(j)
	}
	views := []largemvc.View{dense(3), largemvc.SparseView(n, d, ptr, short, values), dense(0)}
	c := fitViews(t, views, k, score.StructureUnknown)
	found, err := Features(context.Background(), c, Options{Views: views})
	if err != nil {
		t.Fatal(err)
	}
	if found.Untested != "" || found.Samples != n || found.Tests != 3*d*k {
		t.Errorf("%v: %d samples, %d tests, %q", c.Structure, found.Samples, found.Tests, found.Untested)
	}
	up, wrong := 0, 0
	for _, f := range found.Features {
		own := f.Column%k == majority(c.Labels, f.Cluster, k) && f.View < 2 && f.Column < telling
		switch {
		case own && f.Effect > 0:
			up++
		case f.View == 2 || f.Column >= telling:
			wrong++
		}
	}
	if up != 2*telling || wrong > 3 {
		t.Errorf("%d of %d planted features, and %d others, are found", up, 2*telling, wrong)
	}
	for k, s := range found.Clusters {
		if s.Again < 0.9 || !s.Tested {
			t.Errorf("cluster %d: %+v", k, s)
		}
	}
	if a := found.Views; a[0].Agreement < 0.5 || a[1].Agreement < 0.3 || math.Abs(a[2].Agreement) > 0.05 {
		t.Errorf("views %+v", a)
	}
}

// majority is the most frequent class i mod classes of the samples of a cluster.
func majority(labels []int, cluster, classes int) int {
	count := make([]int, classes)
	for i, k := range labels {
		if k == cluster {
			count[i%classes]++
		}
	}
	return slices.Index(count, slices.Max(count))
}

// literalFeature is a feature in a cluster, by the definitions.
func literalFeature(x largemvc.View, run *heldOut, j, k int) Feature {
	var in, out []float64
	q := rankSum{}
	for half := range 2 {
		var values []float64
		var mine []bool
		for i, label := range run.Labels {
			if !x.Has(i) || label < 0 || run.Half[i] != half {
				continue
			}
			a := x.Row(nil, i)[j]
			values, mine = append(values, a), append(mine, label == k)
			if label == k {
				in = append(in, a)
			} else {
				out = append(out, a)
			}
		}
		addRanks(&q, values, mine)
	}
	f := Feature{Cluster: k, Column: j, Mean: mean(in), Elsewhere: mean(out), P: q.p()}
	f.Effect = (f.Mean - f.Elsewhere) / spreadOf(slices.Concat(in, out))
	return f
}

// literalSet is a set with absent rows, and the result and the labels of its search.
func literalSet(t *testing.T) ([]largemvc.View, *largemvc.Clustering, *Importance, *search) {
	t.Helper()
	f := fitSet(t, 240)
	o := f.options
	o.Views = []largemvc.View{f.views[0], f.views[1].WithPresent(everyThird(240))}
	f.c.Structure.Judgement = score.StructureClear
	found, err := Features(context.Background(), f.c, o)
	if err != nil {
		t.Fatal(err)
	}
	return o.Views, f.c, found, searchOf(t, f.c, o)
}

// The figures of features agree with their definitions.
func TestFeaturesLiteral(t *testing.T) {
	views, c, found, s := literalSet(t)
	var all []Feature
	var p []float64
	for v, x := range views {
		_, d := x.Dims()
		for j := range d {
			run := s.runs[s.fold[v][j]]
			for k := range s.clusters {
				if literalOverlap(run.Labels, c.Labels, k) >= foundAgain {
					f := literalFeature(x, run, j, k)
					f.View = v
					all, p = append(all, f), append(p, f.P)
				}
			}
		}
	}
	if found.Tests != len(all) {
		t.Errorf("%d tests, want %d", found.Tests, len(all))
	}
	limit := 0.0
	for i, x := range slices.Sorted(slices.Values(p)) {
		if x*float64(len(p)) <= falseShare*float64(i+1) {
			limit = x
		}
	}
	want := map[[3]int]Feature{}
	for _, f := range all {
		if f.P <= limit && math.Abs(f.Effect) >= smallestEffect {
			want[[3]int{f.Cluster, f.View, f.Column}] = f
		}
	}
	if len(want) != len(found.Features) || len(want) < 10 {
		t.Errorf("%d features, want %d", len(found.Features), len(want))
	}
	for q, g := range found.Features {
		w := want[[3]int{g.Cluster, g.View, g.Column}]
		if math.Abs(w.Effect-g.Effect)+math.Abs(w.Mean-g.Mean)+math.Abs(w.Elsewhere-g.Elsewhere) > 1e-9 ||
			g.Effects[g.Cluster] != g.Effect || math.Abs(w.P-g.P) > 1e-6*g.P {
			t.Errorf("%+v, want %+v", g, w)
		}
		if q > 0 && found.Features[q-1].Cluster == g.Cluster && math.Abs(found.Features[q-1].Effect) < math.Abs(g.Effect) {
			t.Errorf("the effects of cluster %d are not sorted", g.Cluster)
		}
	}
}

// The shares of samples that clusters find again agree with the labels.
func TestFoundAgain(t *testing.T) {
	_, fit, found, s := literalSet(t)
	for k, c := range found.Clusters {
		count, size := map[int]float64{}, 0.0
		for i, l := range fit.Labels {
			if l == k {
				size++
				count[s.runs[allFeatures].Labels[i]]++
			}
		}
		if c.Again != count[k]/size {
			t.Errorf("cluster %d is found again at %g, want %g", k, c.Again, count[k]/size)
		}
		if c.Other >= 0 && (c.Lost != count[c.Other]/size || c.Other == k) {
			t.Errorf("cluster %d loses %g to %d, want %g", k, c.Lost, c.Other, count[c.Other]/size)
		}
	}
}

// The figures of views agree with their definitions: samples are given to the nearest mean of the other half.
func TestViewSupportLiteral(t *testing.T) {
	views, _, found, s := literalSet(t)
	for v, x := range views {
		agreement := 0.0
		mine, theirs := make([][]float64, s.clusters), make([][]float64, s.clusters) // 1: placed in the cluster
		for fold := range featureFolds {
			run := s.runs[fold]
			for half := range 2 {
				var given, voted []int
				for i, vote := range literalPlaces(s, x, v, fold, half) {
					given, voted = append(given, run.Labels[i]), append(voted, vote)
					for k := range mine {
						here := map[bool]float64{true: 1}[vote == k]
						if run.Labels[i] == k {
							mine[k] = append(mine[k], here)
						} else {
							theirs[k] = append(theirs[k], here)
						}
					}
				}
				table, err := score.NewContingency(given, voted)
				if err != nil {
					t.Fatal(err)
				}
				agreement += table.Pairs().ARI() / 4
			}
		}
		if math.Abs(found.Views[v].Agreement-agreement) > 1e-9 || agreement < 0.3 {
			t.Errorf("view %d: %g, want %g", v, found.Views[v].Agreement, agreement)
		}
		for k, c := range found.Clusters {
			if want := mean(mine[k]) - mean(theirs[k]); c.Tested && math.Abs(c.Views[v]-want) > 1e-9 {
				t.Errorf("view %d places %g of cluster %d, want %g", v, c.Views[v], k, want)
			}
		}
	}
}

// literalPlaces returns the nearest cluster mean of the samples of a half, by features of a fold in standard deviations.
func literalPlaces(s *search, x largemvc.View, v, fold, half int) map[int]int {
	run, columns := s.runs[fold], s.columns(v, fold, true)
	points, means := make([][]float64, len(run.Labels)), make([][]float64, s.clusters)
	for k := range means {
		means[k] = make([]float64, len(columns))
	}
	for i := range points {
		points[i] = make([]float64, len(columns))
	}
	for q, j := range columns {
		var others []float64
		of := make([][]float64, s.clusters)
		for i, k := range run.Labels {
			if x.Has(i) && k >= 0 && run.Half[i] != half {
				a := x.Row(nil, i)[j]
				others, of[k] = append(others, a), append(of[k], a)
			}
		}
		center, deviation := mean(others), spreadOf(others)
		for i := range points {
			points[i][q] = (x.Row(nil, i)[j] - center) / deviation
		}
		for k := range of {
			means[k][q] = (mean(of[k]) - center) / deviation
		}
	}
	out := map[int]int{}
	for i, k := range run.Labels {
		if k < 0 || run.Half[i] != half || !x.Has(i) {
			continue
		}
		least := math.Inf(1)
		for l, m := range means {
			d := 0.0
			for q := range m {
				d += (points[i][q] - m[q]) * (points[i][q] - m[q])
			}
			if d < least {
				least, out[i] = d, l
			}
		}
	}
	return out
}

func everyThird(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = i%3 != 1
	}
	return out
}

func literalOverlap(a, b []int, k int) float64 {
	both, either := 0.0, 0.0
	for i := range a {
		if a[i] < 0 {
			continue
		}
		if a[i] == k && b[i] == k {
			both++
		}
		if a[i] == k || b[i] == k {
			either++
		}
	}
	return both / either
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, a := range x {
		sum += a
	}
	return sum / float64(len(x))
}

func spreadOf(x []float64) float64 {
	sum, m := 0.0, mean(x)
	for _, a := range x {
		sum += (a - m) * (a - m)
	}
	return math.Sqrt(sum / float64(len(x)))
}

func TestRejected(t *testing.T) {
	var of []Feature
	for j, p := range []float64{0.03, 0.001, 0.019, 0.049, 0.013} {
		of = append(of, Feature{Column: j, P: p})
	}
	// Of ten tests: 0.001 ≤ 0.005, 0.013 > 0.010, 0.019 > 0.015, 0.030 > 0.020, 0.049 > 0.025.
	if got := rejected(slices.Clone(of), 10); len(got) != 1 || got[0].Column != 1 {
		t.Errorf("%+v", got)
	}
	// Of five tests: 0.030 ≤ 0.040 and 0.049 ≤ 0.050.
	if got := rejected(slices.Clone(of), 5); len(got) != 5 {
		t.Errorf("%+v", got)
	}
	if got := rejected(nil, 0); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// Where nothing can be tested, the result says why, and the page too.
func TestUntested(t *testing.T) {
	noise := noiseViews(rand.New(rand.NewPCG(1, 3)), 120, noises[0].value)
	few := noiseViews(rand.New(rand.NewPCG(1, 3)), 20, noises[0].value)
	for name, test := range map[string]struct {
		views    []largemvc.View
		clusters int
		as       score.Judgement
		want     string
	}{
		"none":      {noise, 3, score.StructureNone, "noise would have clusters as good"},
		"unknown":   {few, 2, score.StructureUnknown, "it was not judged"},
		"one":       {noise, 1, score.StructureUnknown, "there is one cluster"},
		"not again": {noise, 6, score.StructureWeak, "no cluster is found again"},
	} {
		c := fitViews(t, test.views, test.clusters, test.as)
		found, err := Features(context.Background(), c, Options{Views: test.views})
		if err != nil || !strings.Contains(found.Untested, test.want) || found.Features != nil {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
		f := &fitted{c: c}
		html := f.page(t, Options{Views: test.views})
		if !strings.Contains(html, `id="untested">The page shows no features that distinguish clusters: `+found.Untested) {
			t.Errorf("%s: the page does not say why nothing is tested", name)
		}
		for _, never := range []string{
			`id="heat"`, "Best view", "distinguishes the clusters best", `id="view-support"`, "Found again",
		} {
			if strings.Contains(shown(html), never) {
				t.Errorf("%s: the page has %q", name, never)
			}
		}
	}
	if _, err := Features(context.Background(), fitViews(t, noise, 3, score.StructureNone), Options{}); err == nil ||
		!strings.Contains(err.Error(), "Options.Views is empty") {
		t.Errorf("without views: %v", err)
	}
}
