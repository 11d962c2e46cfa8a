package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/neighbor"
)

// Training samples get their labels, distances and H back to the bit: exact neighbours and landmarks, in both arithmetics,
// from views of all kinds, in their directions or not, by any number of workers, alone, in some company and all together.
func TestNeighborPredict(t *testing.T) {
	t.Parallel()
	const n, c = 330, 4
	dims := []int{40, 25}
	x, _ := blobs(n, c, 1.3, 91, dims...)
	counts, _ := topics(n, c, 0.15, 92, dims...)
	dense, _ := bothKinds[float64](x, dims...)
	_, sparse := bothKinds[float32](counts, dims...)
	var strided, transposed []View
	for v, d := range dims {
		wide := mat.NewDense(n, d+1, nil)
		wide.Slice(0, n, 0, d).(*mat.Dense).Copy(mat.NewDense(n, d, x[v]))
		strided = append(strided, MatrixView(wide.Slice(0, n, 0, d)))
		transposed = append(transposed, MatrixView(mat.DenseCopyOf(wide.Slice(0, n, 0, d).T()).T()))
	}
	kinds := map[string][]View{
		"dense":                 dense,
		"sparse":                sparse,
		"strided":               strided,
		"transposed and sparse": {transposed[0], sparse[1]},
	}
	mask := absent(n, len(dims), 0.3, 93)
	for k, kind := range slices.Sorted(maps.Keys(kinds)) {
		if leftOut(k, 3) {
			continue
		}
		views := kinds[kind]
		masked, err := testutil.Masked(views, mask)
		if err != nil {
			t.Fatal(err)
		}
		for i, config := range []Config{
			{}, {
				Float64: true, Neighborhood: Neighborhood{Directions: 11},
			}, {Neighborhood: Neighborhood{Exact: None, Directions: 11}}, {
				Neighborhood: Neighborhood{Exact: None}, Float64: true, Preprocess: PreprocessBalanced,
			},
		} {
			if leftOut(i, 2) {
				continue
			}
			for name, views := range map[string][]View{"complete": views, "masked": masked} {
				t.Run(fmt.Sprintf("%s, %s, configuration %d", kind, name, i), func(t *testing.T) {
					config.Clusters, config.Epochs = c, 2
					checkNeighborPredict(t, views, mustFit(t, views, config))
				})
			}
		}
	}
}

func checkNeighborPredict(t *testing.T, views []View, c *Clustering) {
	ctx := context.Background()
	checkPredict(t, views, c)
	want, err := c.Assign(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{8, 9, 65, 200} {
		lo := 11 + size%17
		got, err := c.Assign(ctx, windows(views, lo, lo+size))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Labels, want.Labels[lo:lo+size]) || !slices.Equal(got.Near, want.Near[lo:lo+size]) ||
			!slices.Equal(got.Next, want.Next[lo:lo+size]) {
			t.Errorf("samples %d to %d differ from among all", lo, lo+size)
		}
	}
	for _, workers := range []int{1, 2, 7} {
		p := *c.Predictor
		p.config.Machine.Workers = workers
		h, err := p.Transform(ctx, views)
		if err != nil {
			t.Fatal(err)
		}
		sameMatrix(t, fmt.Sprintf("H by %d workers", workers), h, c.H)
	}
}

func windows(views []View, lo, hi int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		out[v] = View{in: x.in.Window(lo, hi)}
	}
	return out
}

// The term of the loss is what NeighborInformation makes of H and the samples' graph, gradient included, alone and beside an
// extra loss.
func TestNeighborLossIsAnExtraLoss(t *testing.T) {
	views, classes := blobViews(70, 3, 1, 94, 8, 5)
	pull := func(net Network) *Node {
		return must(gorgonia.Mul(constantOf(net, 0.1), must(gorgonia.Mean(must(gorgonia.Square(must(net.H(1))))))))
	}
	for _, exact := range []int{0, None} {
		config := Config{
			Clusters: 3, Epochs: 25, Float64: true,
			Neighborhood: Neighborhood{Exact: exact, Weight: 2, HeldOutWeight: None},
			StartLabels:  classes, ExtraLoss: inCallersOrder,
		}
		s, err := prepareInputs[float64](context.Background(), &run{config: completed(config, 70), views: inner(views)})
		if err != nil {
			t.Fatal(err)
		}
		pulled := func(net Network) *Node {
			return must(gorgonia.Mul(constantOf(net, 2), must(term.Neighbors[float64](0, must(net.H(2)), s.Graph, 0))))
		}
		without := config
		without.Neighborhood.Weight = None
		without.ExtraLoss = func(net Network) (*Node, error) { return pulled(net), nil }
		closeNetworks(t, mustFit(t, views, config), mustFit(t, views, without), 1e-10)
		config.ExtraLoss = func(net Network) (*Node, error) { return pull(net), nil }
		without.ExtraLoss = func(net Network) (*Node, error) { return gorgonia.Add(pull(net), pulled(net)) }
		a, b := mustFit(t, views, config), mustFit(t, views, without)
		closeNetworks(t, a, b, 1e-10)
		without.ExtraLoss = inCallersOrder
		if none := mustFit(t, views, without); math.Abs(last(none.Loss)-last(b.Loss)) < 0.1 {
			t.Errorf("the term is nothing: loss %v with it, %v without", last(b.Loss), last(none.Loss))
		}
	}
}

// What is constant in one standardisation is an input in the other; constant in both, it is nothing to cluster.
func TestConstantInputs(t *testing.T) {
	const n = 40
	good, _ := blobViews(n, 3, 0.3, 95, 20)
	sameRows := slices.Repeat([]float64{1, 2, 5}, n) // constant over the samples
	sameColumns := make([]float64, 0, 3*n)           // and over the features
	for i := range n {
		sameColumns = slices.Concat(sameColumns, slices.Repeat([]float64{float64(i % 3)}, 3))
	}
	single := make([]float64, n)
	for i := range single {
		single[i] = float64(i % 3)
	}
	for name, test := range map[string]struct {
		view View
		want []Preprocess
	}{
		"rows":       {DenseView(n, 3, sameRows), []Preprocess{PreprocessSample}},
		"columns":    {DenseView(n, 3, sameColumns), []Preprocess{PreprocessZScore}},
		"one column": {DenseView(n, 1, single), []Preprocess{PreprocessZScore}},
		"sparse":     {sparseOf[float32](n, 1, single), []Preprocess{PreprocessZScore}},
	} {
		for _, exact := range []int{0, None} {
			views := []View{good[0], test.view}
			c := mustFit(t, views, Config{Clusters: 3, Epochs: 2, Neighborhood: Neighborhood{Exact: exact}})
			var got []Preprocess
			for _, in := range c.Inputs() {
				if in.View == 1 {
					got = append(got, in.Preprocess)
				}
			}
			if !slices.Equal(got, test.want) || len(c.Inputs()) != 3 {
				t.Errorf("%s: inputs %+v", name, c.Inputs())
			}
			checkResult(t, views, c)
		}
	}
	for name, view := range map[string]View{
		"one value":               DenseView(n, 3, slices.Repeat([]float64{4}, 3*n)),
		"one value in one column": DenseView(n, 1, slices.Repeat([]float32{4}, n)),
		"no values":               SparseView(n, 5, make([]int, n+1), nil, []float64(nil)),
	} {
		_, err := fitAlone(context.Background(), []View{good[0], view.Named("v")}, Config{Clusters: 3})
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: view 1 (v) has nothing to cluster") ||
			!errors.Is(err, prepare.ErrNothingLeft) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With directions, an input has as many columns as are kept, at most n.
func TestInputColumns(t *testing.T) {
	views, _ := blobViews(30, 3, 0.3, 96, 80, 22)
	for directions, want := range map[int][]int{
		0: {80, 22}, None: {80, 22}, 20: {20, 20}, 12: {12, 12}, 5: {5, 5}, 50: {30, 22},
	} {
		c := mustFit(t, views, Config{
			Clusters: 3, Epochs: 1, Neighborhood: Neighborhood{Directions: directions}, Machine: machine.Options{Workers: 1},
		})
		for k, in := range c.Inputs() {
			if in.Columns != want[in.View] || in.View != k%2 ||
				in.Preprocess != []Preprocess{PreprocessSample, PreprocessZScore}[k/2] {
				t.Errorf("%d directions: input %d is %+v, want %v columns", directions, k, in, want)
			}
		}
		checkResult(t, views, c)
	}
}

// countdown is a context that is cancelled when it has been asked a number of times.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func newCountdown(asked int64) *countdown {
	c := &countdown{}
	c.Context, c.cancel = context.WithCancel(context.Background())
	c.left.Store(asked)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// Whenever a fit is cancelled in its preparation, it does no more work and returns the context's error.
func TestCancelInPreparation(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(500, 3, 0.5, 97, 60, 20)
	for _, exact := range []int{0, None} {
		config := Config{Clusters: 3, Epochs: None, Neighborhood: Neighborhood{Directions: 15, Exact: exact}}
		config.Machine.Workers = 1
		const plenty = 1 << 40
		whole := newCountdown(plenty)
		if _, err := prepareInputs[float32](whole, &run{config: completed(config, 500), views: inner(views)}); err != nil {
			t.Fatal(err)
		}
		asked := plenty - whole.left.Load()
		if asked < 50 {
			t.Errorf("the context is asked %d times in the preparation", asked)
		}
		for q := int64(0); q < 25; q++ {
			if leftOut(int(q), 4) {
				continue
			}
			ctx := newCountdown(1 + q*(asked-1)/24)
			c, err := fitAlone(ctx, views, config)
			if c != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled at %d of %d: %v, %v", 1+q*asked/24, asked, c, err)
			}
			if after := -ctx.left.Load(); after > 12 {
				t.Errorf("cancelled at %d of %d: asked %d times more", 1+q*asked/24, asked, after)
			}
		}
	}
}

// With Overwrite, the inputs of narrow views lie in what those of wide ones leave, and state of the training in views that have
// none, which changes nothing of the result.
func TestOverwriteAcrossViews(t *testing.T) {
	for width, idle := range map[int]int{150: 0, 200: 2} {
		testOverwriteAcrossViews(t, []int{40, width, 33}, idle)
	}
}

// testOverwriteAcrossViews is it for views of which so many have no input.
func testOverwriteAcrossViews(t *testing.T, dims []int, idle int) {
	const n = 60
	x, _ := blobs(n, 3, 0.8, 99, dims...)
	fresh := func() (views []View) {
		for v, d := range dims {
			views = append(views, DenseView(n, d, slices.Clone(x[v])))
		}
		return views
	}
	masked, err := testutil.Masked(fresh(), absent(n, len(dims), 0.2, 100))
	if err != nil {
		t.Fatal(err)
	}
	for _, exact := range []int{0, None} {
		config := Config{
			Clusters: 3, Epochs: 3, Restarts: 2, Float64: true, Neighborhood: Neighborhood{Exact: exact, Directions: 30},
		}
		views := fresh()
		want := mustFit(t, views, config)
		config.Machine.Overwrite = true
		made, err := prepareInputs[float64](context.Background(), &run{config: completed(config, n), views: inner(fresh())})
		if err != nil {
			t.Fatal(err)
		}
		for k, in := range made.X {
			if in.(*rows.Dense[float64]).Bytes() == int64(8*n*neighbor.Stride(30)) {
				t.Errorf("input %d has memory of its own", k)
			}
		}
		bytes := smoothOptions(completed(config, n), nil).Bytes(inner(views), 8)
		if len(made.Idle) != idle || len(bytes.Idle) != idle {
			t.Errorf("of %v columns %d views have no input, estimated %d, want %d", dims, len(made.Idle), len(bytes.Idle), idle)
		}
		sameResult(t, want, mustFit(t, views, config))
		views, err = testutil.Masked(fresh(), presentIn(masked))
		if err != nil {
			t.Fatal(err)
		}
		got := mustFit(t, views, config)
		config.Machine.Overwrite = false
		sameResult(t, mustFit(t, masked, config), got)
	}
}

func presentIn(views []View) [][]bool {
	out := make([][]bool, views[0].in.Rows)
	for i := range out {
		for _, v := range views {
			out[i] = append(out[i], v.Has(i))
		}
	}
	return out
}

// Overwrite lets inputs take the place of the views where they fit, and changes neither the result nor views in other holders.
func TestOverwriteWithNeighbors(t *testing.T) {
	const n = 60
	dims := []int{100, 40, 40}
	x, _ := blobs(n, 3, 0.8, 98, dims...)
	fresh := func() []View {
		single := make([]float32, len(x[1]))
		for i, v := range x[1] {
			single[i] = float32(v)
		}
		return []View{
			DenseView(n, 100, slices.Clone(x[0])), DenseView(n, 40, single),
			MatrixView(mat.NewDense(n, 40, slices.Clone(x[2]))),
		}
	}
	for _, float := range []bool{false, true} {
		for _, exact := range []int{0, None} {
			config := Config{Clusters: 3, Epochs: 3, Float64: float, Neighborhood: Neighborhood{Exact: exact, Directions: 30}}
			views := fresh()
			want := mustFit(t, views, config)
			if !slices.Equal(views[0].in.F64, x[0]) || !slices.Equal(views[1].in.F32, fresh()[1].in.F32) {
				t.Fatal("Fit changed views without Overwrite")
			}
			config.Machine.Overwrite = true
			got := mustFit(t, views, config)
			sameResult(t, want, got)
			if (float) == slices.Equal(views[0].in.F64, x[0]) ||
				(!float) == slices.Equal(views[1].in.F32, fresh()[1].in.F32) ||
				!slices.Equal(views[2].in.F64, x[2]) {
				t.Errorf("float%v: Overwrite changed another view, or none", float)
			}
			checkPredict(t, fresh(), got)
			views = fresh()
			views[2] = DenseView(n, 40, make([]float64, n*40))
			if _, err := fitAlone(context.Background(), views, config); err == nil || !slices.Equal(views[0].in.F64, x[0]) ||
				!slices.Equal(views[1].in.F32, fresh()[1].in.F32) {
				t.Errorf("Fit refused the views, but had changed them: %v", err)
			}
		}
	}
}

// TestFeatureNames: names of features travel into the model and its file, which refuses others.
func TestFeatureNames(t *testing.T) {
	const n, d = 30, 4
	x := make([]float64, n*d)
	for i := range x {
		x[i] = float64(i%d*(i/d%3)) + float64(i*7%11)/10
	}
	names := []string{"a", "größe", "c\nd", ""}
	named := DenseView(n, d, x).WithFeatures(names)
	for _, config := range []Config{{Clusters: 3, Epochs: 1}, paper(Config{Clusters: 3, Epochs: 1, Float64: true})} {
		c, err := fitAlone(t.Context(), []View{named, DenseView(n, d, x)}, config)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		model, err := ReadPredictor(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Predictor{c.Predictor, model} {
			if !slices.Equal(p.FeatureNames(0), names) || p.FeatureNames(1) != nil || p.FeatureNames(2) != nil {
				t.Errorf("names %q and %q", p.FeatureNames(0), p.FeatureNames(1))
			}
			for _, test := range []struct {
				names []string
				want  string
			}{
				{names, ""}, {nil, ""},
				{
					[]string{"größe", "a", "c\nd", ""},
					`feature 0 of view 0 is "größe", the network was trained on "a" there; "a" is feature 1 here`,
				},
				{[]string{"a", "größe", "c", ""}, `feature 2 of view 0 is "c"`},
				{[]string{"a"}, "1 name for 4 features"},
			} {
				_, err := p.Predict(t.Context(), []View{DenseView(n, d, x).WithFeatures(test.names), named})
				if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%q: error %v, want %q", test.names, err, test.want)
				}
			}
		}
	}
}

// TestNilContexts: a nil context is an error, as is a nil pointer in the interface.
func TestNilContexts(t *testing.T) {
	views := []View{DenseView(6, 2, []float64{0, 1, 5, 2, 0, 3, 5, 4, 1, 5, 6, 2})}
	c, err := fitAlone(t.Context(), views, paper(Config{Clusters: 2, Epochs: None}))
	if err != nil {
		t.Fatal(err)
	}
	var typed *nilContext
	var none context.Context
	for _, ctx := range []context.Context{none, typed} {
		for name, err := range map[string]error{
			"Fit":       errorOf(fitAlone(ctx, views, Config{Clusters: 2})),
			"Predict":   errorOf(c.Predict(ctx, views)),
			"Assign":    errorOf(c.Assign(ctx, views)),
			"Transform": errorOf(c.Transform(ctx, views)),
			"Resume":    errorOf(Resume(ctx, views, "none", nil)),
			"KMeans":    errorOf(KMeans(ctx, c.H, KMeansConfig{})),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "largemvc: the context is") {
				t.Errorf("%s of %s: error %v", name, fmt.Sprintf("%T", ctx), err)
			}
		}
	}
}

// nilContext is a context of another package.
type nilContext struct{ context.Context }

func errorOf[T any](_ T, err error) error { return err }

// With the neighbours' term k-means on unit rows of H begins with the labels of the start. With other numbers of anchors than of
// clusters the clusters are, after training, of those from k-means with nearly the lowest inertia, the ones that tell most about
// those of neighbours; without training or without that term, those of the lowest inertia.
func TestReadOut(t *testing.T) {
	const n, c, starts = 120, 6, 5
	views, _ := blobViews(n, c, 1.5, 96, 20, 7)
	differ := map[string]bool{}
	for _, epochs := range []int{5, None} {
		for name, choice := range map[string]Config{
			"start": {}, "anchors": {Anchors: c + 2}, "no term": {Neighborhood: Neighborhood{Weight: None}},
		} {
			for seed := range uint64(4) {
				config := choice
				config.Clusters, config.Epochs, config.Float64, config.Seed, config.KMeansStarts = c, epochs, true, seed, starts
				config.ExtraLoss, config.Optimizer.LearningRate = inCallersOrder, 0.01
				got := mustFit(t, views, config)
				unit := mat.DenseCopyOf(got.H)
				_, m := unit.Dims()
				for i := range n {
					floats.Scale(1/floats.Norm(unit.RawRowView(i), 2), unit.RawRowView(i))
				}
				choose := kmeans.Config{Clusters: c, Starts: starts, Seed: seed}
				in := kmeans.View[float64]{Rows: rows.NewDense(n, m, m, unit.RawMatrix().Data), Weight: 1}
				byInertia := kmeansLabels(t, choose, in)
				want := byInertia
				switch {
				case name == "start":
					choose.Labels = got.StartLabels
					want = kmeansLabels(t, choose, in)
				case name == "anchors" && epochs != None:
					want, _ = mostInformed(t, unit, choose, graphOf(t, views, config))
				}
				differ[name] = differ[name] || !samePartition(t, want, byInertia)
				if !samePartition(t, got.Labels, want) {
					t.Errorf("%s, epochs %d, seed %d: other clusters than by hand", name, epochs, seed)
				}
			}
		}
	}
	if !differ["start"] || !differ["anchors"] {
		t.Errorf("the clusters of the lowest inertia are the same: the test shows nothing: %v", differ)
	}
}

// A network that never took a step is untrained, whatever it was to do.
func TestReadOutAfterDivergence(t *testing.T) {
	const n, c = 120, 6
	views, _ := blobViews(n, c, 1.5, 96, 20, 7)
	differ := false
	for seed := range uint64(6) {
		config := Config{Clusters: c, Anchors: c + 2, Epochs: 5, Float64: true, Seed: seed}
		config.Optimizer.LearningRate = 1e30
		got, err := fitAlone(context.Background(), views, config)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || got == nil || got.Epochs != 0 {
			t.Fatalf("epochs %+v, %v", got, err)
		}
		config.Epochs, config.Optimizer.LearningRate = None, 0
		if want := mustFit(t, views, config); !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("seed %d: other clusters than those of the untrained network", seed)
		}
		config.Epochs = 1
		config.Optimizer.LearningRate = 1e-300
		differ = differ || !slices.Equal(got.Labels, mustFit(t, views, config).Labels)
	}
	if !differ {
		t.Error("the choice among starts makes no difference: the test shows nothing")
	}
}
