package largemvc

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/neighbor"
)

// firstAnchors prepares views and returns their start with the configuration.
func firstAnchors(t testing.TB, views []View, c Config) (*cluster.Point, []rows.Matrix[float64]) {
	t.Helper()
	ctx := context.Background()
	x := standardised[float64](t, views, &c)
	begin, err := cluster.FirstAnchors(ctx, x, nil, inner(views), startOf[float64](&c, nil, nil, c.Seed))
	if err != nil {
		t.Fatal(err)
	}
	return begin, x
}

// standardised returns the views as Fit takes them without neighbours, and fills the defaults of the configuration.
func standardised[T kernel.Float](t testing.TB, views []View, c *Config) []rows.Matrix[T] {
	t.Helper()
	c.Neighborhood.Neighbors = None
	*c = c.WithDefaults()
	s, err := prepare.Measure(context.Background(), nil, prepare.Kind(c.Preprocess), inner(views), 2)
	if err != nil {
		t.Fatal(err)
	}
	x, err := prepare.Standardise[T](context.Background(), nil, inner(views), s, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// fullRows writes out all rows.
func fullRows(x rows.Matrix[float64]) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	for i := range n {
		x.Row(i, out.RawRowView(i))
	}
	return out
}

// polarOf is the polar factor of ZᵀX by the full decomposition, for one-hot labels of the present samples.
func polarOf(t testing.TB, x *mat.Dense, view View, labels []int, m int) *mat.Dense {
	t.Helper()
	_, d := x.Dims()
	sums := mat.NewDense(m, d, nil)
	for i, k := range labels {
		for j := 0; j < d && view.Has(i); j++ {
			sums.Set(k, j, sums.At(k, j)+x.At(i, j))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(sums, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u, w, p mat.Dense
	svd.UTo(&u)
	svd.VTo(&w)
	p.Mul(&u, w.T())
	return &p
}

func agree(t testing.TB, labels, classes []int) float64 {
	t.Helper()
	acc, err := accuracyOf(classes, labels)
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

// The start finds the classes of samples with all views and with some, and its anchors are polar(ZᵀX).
func TestStart(t *testing.T) {
	const n, c = 240, 4
	dims := []int{12, 3, 9} // One view has fewer features than anchors. All sums are of full rank: the polar factor is unique.
	plain, classes := blobViews(n, c, 0.3, 51, dims...)
	masked, err := testutil.Masked(plain, absent(n, len(dims), 0.3, 52))
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Clusters: c, Preprocess: PreprocessUnit, Float64: true, Seed: 3}
	for name, views := range map[string][]View{"complete": plain, "masked": masked} {
		begin, x := firstAnchors(t, views, config)
		if acc := agree(t, begin.Labels, classes); acc < 0.98 {
			t.Errorf("%s: the labels agree with the classes in %.3f", name, acc)
		}
		for v := range views {
			p := mat.NewDense(c, dims[v], begin.Anchors[v])
			if !orthonormal(p, 1e-10) {
				t.Errorf("%s: the anchors of view %d are not orthonormal", name, v)
			}
			if want := polarOf(t, fullRows(x[v]), views[v], begin.Labels, c); !mat.EqualApprox(p, want, 1e-9) {
				t.Errorf("%s: the anchors of view %d are not the polar factor of ZᵀX", name, v)
			}
		}
		again, _ := firstAnchors(t, views, config)
		if !slices.Equal(again.Labels, begin.Labels) || !slices.EqualFunc(again.Anchors, begin.Anchors, slices.Equal[[]float64]) {
			t.Errorf("%s: another start from the same seed", name)
		}
	}
}

func TestGivenStarts(t *testing.T) {
	const n, c = 60, 3
	dims := []int{7, 5}
	views, classes := blobViews(n, c, 0.5, 53, dims...)
	begin, x := firstAnchors(t, views, Config{Clusters: c, StartLabels: classes, Float64: true})
	if !slices.Equal(begin.Labels, classes) {
		t.Error("the labels are not those that were given")
	}
	for v := range views {
		if !mat.EqualApprox(mat.NewDense(c, dims[v], begin.Anchors[v]), polarOf(t, fullRows(x[v]), views[v], classes, c), 1e-9) {
			t.Errorf("the anchors of view %d are not the polar factor of ZᵀX", v)
		}
	}
	given := make([]mat.Matrix, len(dims))
	for v, d := range dims {
		given[v] = mat.NewDense(d, c, testutil.Counts(d, c, 7)).T() // neither orthonormal nor laid out in rows
	}
	begin, _ = firstAnchors(t, views, Config{Clusters: c, Start: StartPoint{Anchors: given}, Float64: true})
	for v, d := range dims {
		if begin.Labels != nil || !mat.Equal(mat.NewDense(c, d, begin.Anchors[v]), given[v]) {
			t.Errorf("the anchors of view %d are not those that were given", v)
		}
	}
}

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

// sparseOf returns compressed rows of x, with zeros among the entries.
func sparseOf[F float32 | float64](n, d int, x []float64) View {
	ptr, cols, values := testutil.Compressed[F](n, d, x)
	return SparseView(n, d, ptr, cols, values)
}

// Rows and columns of equal values are zero after standardisation, whatever the rounding of their mean; so are views.
func TestPreprocessOfConstants(t *testing.T) {
	const n, d = 7, 5
	x := make([]float64, n*d)
	for i := range x {
		x[i] = 0.1 // no mean of such is exact
	}
	for kind, want := range map[Preprocess]string{
		PreprocessSample:   "every sample is constant over its features",
		PreprocessBalanced: "every feature is constant over the samples",
		PreprocessZScore:   "every feature is constant over the samples",
	} {
		for name, view := range map[string]View{"dense": DenseView(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
			_, err := fitAlone(
				context.Background(), []View{DenseView(n, d, testutil.Counts(n, d, 2)), view.Named("v")},
				Config{Clusters: 2, Preprocess: kind},
			)
			if err == nil || !strings.Contains(err.Error(), "view 1 (v) has nothing to cluster: "+want) {
				t.Errorf("%v, %s: %v", kind, name, err)
			}
		}
	}
	zero := make([]float64, n*d)
	for _, kind := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
		for name, view := range map[string]View{
			"dense": DenseView(n, d, zero), "sparse": SparseView(n, d, make([]int, n+1), nil, []float32(nil)),
		} {
			if _, err := fitAlone(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: kind}); err == nil ||
				!strings.Contains(err.Error(), "view 0 has nothing to cluster") {
				t.Errorf("all zero, %v, %s: %v", kind, name, err)
			}
		}
	}
	_, err := fitAlone(
		context.Background(), []View{DenseView(4, 1, []float64{1, 2, 3, 4})},
		Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: None}},
	)
	if err == nil || !strings.Contains(err.Error(), "a single feature: use Preprocess Balanced") {
		t.Errorf("one feature: %v", err)
	}
	// Rows that count are those that are present.
	part := testutil.Counts(n, d, 2)
	for i := range n {
		if i%2 == 0 {
			copy(part[i*d:(i+1)*d], x[:d])
		}
	}
	mask := []bool{true, false, true, false, true, false, true}
	views := []View{DenseView(n, d, part).WithPresent(mask), DenseView(n, d, testutil.Counts(n, d, 4))}
	if _, err := fitAlone(context.Background(), views, Config{Clusters: 2, Preprocess: PreprocessSample}); err == nil ||
		!strings.Contains(err.Error(), "view 0 has nothing to cluster") {
		t.Errorf("constant where present: %v", err)
	}
}

// Views that are taken as they are can be too large for the arithmetic.
func TestRawViewsOfLargeValues(t *testing.T) {
	const n, d = 20, 4
	x := testutil.Counts(n, d, 5)
	x[17*d+1] = 1e19
	for name, view := range map[string]View{"dense": DenseView(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
		_, err := fitAlone(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: None})
		if err == nil ||
			!strings.Contains(err.Error(), "view 0: row 17 has the norm 1e+19, too large to compute with (1e+18)") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := fitAlone(context.Background(), []View{view}, Config{Clusters: 2, Epochs: 1}); err != nil {
			t.Errorf("%s, standardised: %v", name, err)
		}
	}
}

// Overwrite changes what it may change, and nothing where Fit refuses.
func TestOverwrite(t *testing.T) {
	const n, d = 40, 6
	x := testutil.Counts(n, d, 6)
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	want := testutil.Standardised("sample", x, n, d, nil)
	for _, float := range []bool{false, true} {
		f32, f64, other := slices.Clone(single), slices.Clone(x), slices.Clone(x)
		sparse := sparseOf[float32](n, d, x)
		values := slices.Clone(sparse.in.Sparse.F32)
		views := []View{DenseView(n, d, f32), DenseView(n, d, f64), MatrixView(mat.NewDense(n, d, other)), sparse}
		before := mustFit(t, views, Config{Clusters: 3, Epochs: 2, Float64: float, Neighborhood: Neighborhood{Neighbors: None}})
		if !slices.Equal(f32, single) || !slices.Equal(f64, x) || !slices.Equal(other, x) {
			t.Fatal("Fit changed views without Overwrite")
		}
		after := mustFit(
			t, views,
			Config{
				Clusters: 3, Epochs: 2, Float64: float, Machine: machine.Options{Overwrite: true},
				Neighborhood: Neighborhood{Neighbors: None},
			},
		)
		sameMatrix(t, "H", before.H, after.H)
		if !slices.Equal(before.Labels, after.Labels) {
			t.Error("Overwrite changed the labels")
		}
		if !slices.Equal(other, x) || !slices.Equal(sparse.in.Sparse.F32, values) {
			t.Error("Overwrite changed a matrix or a sparse view")
		}
		if (!float) == slices.Equal(f32, single) || (float) == slices.Equal(f64, x) {
			t.Errorf("float %v: Overwrite changed the other view, or none", float)
		}
		for i, w := range want {
			got := f64[i]
			if !float {
				got = float64(f32[i])
			}
			if math.Abs(got-w) > 1e-6*(1+math.Abs(w)) {
				t.Fatalf("float %v: element %d was overwritten by %v, want %v", float, i, got, w)
			}
		}
	}

	spoilt := slices.Clone(single)
	spoilt[len(spoilt)-1] = float32(math.NaN())
	for name, test := range map[string]struct {
		last   View
		config Config
	}{
		"NaN":      {DenseView(n, d, spoilt), Config{Clusters: 3}},
		"constant": {DenseView(n, d, make([]float32, n*d)), Config{Clusters: 3}},
		"columns":  {DenseView(n, d, make([]float32, n*d)), Config{Clusters: 3, Preprocess: PreprocessZScore}},
		"config":   {DenseView(n, d, single), Config{Clusters: n + 1}},
		"mask":     {DenseView(n, d, single).WithPresent(make([]bool, n)), Config{Clusters: 3}},
	} {
		f32 := slices.Clone(single)
		test.config.Machine.Overwrite = true
		if _, err := fitAlone(context.Background(), []View{DenseView(n, d, f32), test.last}, test.config); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !slices.Equal(f32, single) {
			t.Errorf("%s: Fit refused the views, but had changed them", name)
		}
	}
}

// TestConstantColumns: columns that are constant over the samples change neither the clusters nor the labels of new samples,
// whatever these have there, and a note counts them.
func TestConstantColumns(t *testing.T) {
	const n, more = 150, 40
	dims := []int{8, 24}
	x, _ := blobs(n+more, 3, 1.5, 5, dims...)
	rng := rand.New(rand.NewPCG(4, 4))
	wide := make([][]float64, len(dims)) // with columns of 5, 0 and 1e4
	for v, d := range dims {
		for i := range n + more {
			row := x[v][i*d : (i+1)*d]
			added := []float64{5, 0, 1e4}
			if i >= n {
				added = []float64{rng.NormFloat64(), 3, 0}
			}
			wide[v] = append(wide[v], added[0])
			wide[v] = append(append(append(wide[v], row[:4]...), added[1]), row[4:]...)
			wide[v] = append(wide[v], added[2])
		}
	}
	makers := map[string]func(n, d int, x []float64) View{
		"dense":  func(n, d int, x []float64) View { return DenseView(n, d, x) },
		"sparse": sparseOf[float64],
	}
	for name, c := range map[string]Config{
		"default": {}, "paper": PaperConfig(0), "paper, zscore": {Preprocess: PreprocessZScore, Reduction: ReductionMean},
		"paper, unit": PaperConfig(0), "paper, balanced": PaperConfig(0), "sample": {Preprocess: PreprocessSample},
	} {
		switch name {
		case "paper, unit":
			c.Preprocess = PreprocessUnit
		case "paper, balanced":
			c.Preprocess = PreprocessBalanced
		}
		c.Clusters, c.Epochs, c.Float64 = 3, 20, true
		for kind, make := range makers {
			var plain, with, plainMore, withMore []View
			for v, d := range dims {
				plain, with = append(plain, make(n, d, x[v][:n*d])), append(with, make(n, d+3, wide[v][:n*(d+3)]))
				plainMore = append(plainMore, make(more, d, x[v][n*d:]))
				withMore = append(withMore, make(more, d+3, wide[v][n*(d+3):]))
			}
			want, got := mustFit(t, plain, c), mustFit(t, with, c)
			if want.Kept != got.Kept || !slices.Equal(got.Labels, want.Labels) || want.Kept == false &&
				math.Abs(got.Loss[len(got.Loss)-1]/want.Loss[len(want.Loss)-1]-1) > 1e-6 {
				t.Errorf("%s, %s: other clusters, or loss %v, without constant columns %v", name, kind,
					got.Loss[len(got.Loss)-1], want.Loss[len(want.Loss)-1])
			}
			const first = "view 0: left out: 3 of 11 features, constant over the samples"
			const second = "view 1: left out: 3 of 27 features, constant over the samples"
			if !slices.Contains(got.Notes, first) || !slices.Contains(got.Notes, second) ||
				strings.Contains(strings.Join(want.Notes, " "), "constant") {
				t.Errorf("%s, %s: the notes are %q and %q", name, kind, got.Notes, want.Notes)
			}
			labels, err := want.Predict(t.Context(), plainMore)
			if err != nil {
				t.Fatal(err)
			}
			for how, p := range map[string]*Predictor{"fitted": got.Predictor, "saved": reread(t, got.Predictor)} {
				if found, err := p.Predict(t.Context(), withMore); err != nil || !slices.Equal(found, labels) {
					t.Errorf("%s, %s, %s: new samples have other labels, %v: %v, not %v", name, kind, how, err,
						found, labels)
				}
			}
		}
	}
}

// reread returns a predictor that was saved and loaded.
func reread(t *testing.T, p *Predictor) *Predictor {
	t.Helper()
	out, err := ReadPredictor(bytes.NewReader(encode(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func toFloat32(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, value := range x {
		out[i] = float32(value)
	}
	return out
}

// freeStart is a random network with absent views, its views (in float32's numbers), and the configuration of a fit from its
// P and H and from an E.
func freeStart(n int, dims ...int) (g *goldenModel, views []View, c Config) {
	g = randomNetwork(5, n, 3, 2, dims, ReLU, true)
	start := g.start
	for v, x := range g.views {
		e, present := mat.NewDense(n, dims[v], nil), make([]bool, n)
		for i := range n {
			for j := range dims[v] {
				e.Set(i, j, math.Sin(float64(i*dims[v]+j)))
				x.(*mat.Dense).Set(i, j, float64(float32(x.At(i, j))))
			}
			present[i] = g.present[i][v]
		}
		views, start.E = append(views, MatrixView(x).WithPresent(present)), append(start.E, e)
	}
	return g, views, Config{
		Clusters: 3, Layers: 2, Epochs: 4, Float64: true, Preprocess: None, Start: start,
		Neighborhood: Neighborhood{Neighbors: None}, Represent: &SoftThreshold{Lipschitz: 2},
	}
}

// The first layer is 1/V Σ_v S_θ(H(0)·R + (X_v − E_v(0))·P_vᵀ·U), with the views that a sample has.
func TestFitFromStart(t *testing.T) {
	g, views, c := freeStart(40, 6, 4)
	c.Layers, c.Epochs = 1, None
	got := mustFit(t, views, c)
	want := mat.NewDense(40, 3, nil)
	for i := range 40 {
		count := 0.0
		for v := range views {
			if !g.present[i][v] {
				continue
			}
			count++
			var x, z mat.VecDense
			x.SubVec(mat.DenseCopyOf(g.views[v]).RowView(i), mat.DenseCopyOf(c.Start.E[v]).RowView(i))
			z.MulVec(c.Start.Anchors[v], &x)
			for j := range 3 { // R and U are I/2
				a := c.Start.H.At(i, j)/2 + z.AtVec(j)/2
				want.Set(i, j, want.At(i, j)+math.Copysign(max(math.Abs(a)-defaultTheta, 0), a))
			}
		}
		for j := range 3 {
			want.Set(i, j, want.At(i, j)/count)
		}
	}
	if !mat.EqualApprox(got.H, want, 1e-12) {
		t.Error("H of the first layer differs from its formula")
	}
	for name, change := range map[string]func(*Config){
		"H": func(c *Config) { c.Start.H = nil }, "E": func(c *Config) { c.Start.E = nil },
	} {
		other := c
		if change(&other); mat.EqualApprox(mustFit(t, views, other).H, want, 1e-3) {
			t.Errorf("%s has no effect", name)
		}
	}
	labels := c
	labels.Start.Anchors, labels.StartLabels = nil, slices.Repeat([]int{0, 1, 2, 2}, 10)
	mustFit(t, views, labels)
}

// Ranks whose views have more samples than the training get an error, also if the training had labels of its own.
func TestResumeOnRanksWithMoreSamples(t *testing.T) {
	const n = 2060
	views, labels := blobViews(n, 3, 0.8, 31, 8, 5)
	some := windows(views, 0, n-1)
	config := paper(Config{Clusters: 3, Epochs: 6, Checkpoint: Checkpoint{Every: 1}, StartLabels: labels[:n-1]})
	path := killed(t, some, config, 0, 3)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for r, world := range comm.Local(2) {
		wg.Go(func() {
			lo, hi, err := comm.Share(n, r, 2)
			if errs[r] = err; err == nil {
				_, errs[r] = Resume(t.Context(), windows(views, lo, hi), path, func(c *Config) { c.Machine.Comm = world })
			}
		})
	}
	wg.Wait()
	for r, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "2060 samples, the training had 2059") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
