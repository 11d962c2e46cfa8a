package largemvc

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

func TestFitRealSets(t *testing.T) {
	for _, set := range []struct {
		name     string
		clusters int
		want     float64
	}{{"msrcv1", 7, 0.85}, {"ucidigit", 10, 0.88}} {
		views, classes := realSet(t, set.name)
		for _, preset := range []defaults{byDefault, asPaper} {
			mean := 0.0
			const seeds = 3
			for seed := range uint64(seeds) {
				c := mustFit(t, views, preset.of(Config{Clusters: set.clusters, Seed: seed}))
				acc, err := accuracyOf(classes, c.Labels)
				if err != nil {
					t.Fatal(err)
				}
				mean += acc / seeds
				checkPredict(t, views, c)
			}
			t.Logf("%s, preset %v: ACC %.4f", set.name, preset, mean)
			if mean < set.want {
				t.Errorf("%s, preset %v: mean ACC %.4f, want at least %.2f", set.name, preset, mean, set.want)
			}
		}
	}
}

// WithDefaults fills what the comments of Config say; some defaults depend on the number of samples.
func TestDefaults(t *testing.T) {
	for name, x := range map[string]struct {
		config, want Config
		samples      int
	}{
		"default": {Config{Clusters: 4}, Config{
			Preprocess: PreprocessBoth, Reduction: ReductionRelative, Neighborhood: Neighborhood{
				Neighbors: 10, Directions: 200, Steps: 6, Weight: 3, HeldOutWeight: 3, Exact: 10_000,
			},
		}, 500},
		"paper": {paper(Config{Clusters: 4}), Config{
			Preprocess: PreprocessSample, Reduction: ReductionMean, PlainReadOut: true,
			Neighborhood: Neighborhood{Neighbors: None},
		}, 500},
		"some of many": {Config{Clusters: 4, FitSamples: 500}, Config{
			Preprocess: PreprocessBoth, Reduction: ReductionRelative, Neighborhood: Neighborhood{
				Neighbors: 10, Directions: 200, Steps: 10, Weight: 3, HeldOutWeight: 3, Exact: None,
			},
		}, 10_000},
	} {
		got, want := x.config.WithDefaults(), x.want
		got.forSamples(x.samples)
		want.Clusters, want.Anchors, want.FitSamples = 4, 4, got.FitSamples
		want.Layers, want.Epochs, want.Restarts, want.KMeansStarts = 2, 100, 1, 10
		want.LearningRate, want.Checkpoint.Every = 0.01, 10
		free := name == "paper"
		want.Represent = &SoftThreshold{Theta0: 0.01, Lipschitz: 1, Unconstrained: free}
		want.Noise, want.Anchor = &RowShrink{Rho0: 0.01, Unconstrained: free}, &Procrustes{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	stop := Config{Tolerance: 1e-3}.WithDefaults()
	if patience := stop.Patience; patience != 5 {
		t.Errorf("a patience of %d epochs, want 5", patience)
	}
}

// optionViews are samples of three classes in three views, the last of few features, with all views and with some.
func optionViews(t testing.TB) (views, masked []View, classes []int) {
	t.Helper()
	views, classes = blobViews(120, 3, 0.2, 1, 12, 7, 3)
	masked, err := testutil.Masked(views, absent(120, 3, 0.3, 1))
	if err != nil {
		t.Fatal(err)
	}
	return views, masked, classes
}

// checkOption checks a few epochs with a configuration, of complete and of incomplete samples. found says that the classes
// of complete samples are found.
func checkOption(t *testing.T, c Config, found bool) {
	views, masked, classes := optionViews(t)
	if c.Clusters == 0 {
		c.Clusters = 3
	}
	if c.Epochs == 0 {
		c.Epochs = 6
	}
	given := c
	full := mustFit(t, views, c)
	checkResult(t, views, full)
	if !reflect.DeepEqual(given, c) {
		t.Error("Fit changed the configuration")
	}
	if found {
		if ari, err := ariOf(classes, full.Labels); err != nil || ari < 0.9 {
			t.Errorf("ARI %v, %v", ari, err)
		}
	}
	part := mustFit(t, masked, c)
	checkResult(t, masked, part)
	if c.Epochs == None && len(full.Loss) != 1 {
		t.Errorf("%d losses without training", len(full.Loss))
	}
}

func TestFitOptions(t *testing.T) {
	t.Parallel()
	labels := make([]int, 120)
	for i := range labels {
		labels[i] = (i / 2) % 4
	}
	configs := map[string]Config{
		"layers": {Layers: 3, Anchors: 5}, "no training": {Epochs: None},
		"unconstrained": {
			Represent: &SoftThreshold{Unconstrained: true}, Noise: &RowShrink{Unconstrained: true},
		}, "one-sided": {Represent: &SoftThreshold{OneSided: true}}, "Lipschitz": {Represent: &SoftThreshold{Lipschitz: 2}},
		"detached": {Anchor: &Procrustes{Detach: true}}, "start labels": {Anchors: 4, StartLabels: labels},
		"one k-means start": {KMeansStarts: 1}, "one cluster": {Clusters: 1},
		"one anchor": {Anchors: 1}, "more anchors than features": {Anchors: 20}, "restarts": {Restarts: 3},
	}
	for _, v := range []variant{large, amvc, rmvc} {
		for _, a := range []Activation{ReLU, SELU} {
			for _, f := range []bool{false, true} {
				configs[fmt.Sprintf("%v, %v, float%v", v, a, f)] = v.of(Config{
					Represent: &SoftThreshold{Activation: a}, Noise: &RowShrink{Activation: a}, Float64: f,
				})
			}
		}
	}
	for _, p := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
		configs["preprocessing "+p.String()] = Config{Preprocess: p}
	}
	for _, r := range []Reduction{ReductionMean, ReductionRelative} {
		configs["reduction "+r.String()] = Config{Reduction: r}
	}
	withAndWithout(t, func(t *testing.T, neighbors int) {
		for i, name := range slices.Sorted(maps.Keys(configs)) {
			if leftOut(i, 4) {
				continue
			}
			c := configs[name]
			t.Run(name, func(t *testing.T) {
				c.Neighborhood.Neighbors = neighbors
				checkOption(t, c, strings.HasPrefix(name, "preprocessing"))
			})
		}
	})
	for _, v := range []variant{large, amvc, rmvc} {
		for _, a := range []Activation{ReLU, SELU} {
			t.Run(fmt.Sprintf("paper, %v, %v", v, a), func(t *testing.T) {
				checkOption(t, v.of(paper(Config{
					Represent: &SoftThreshold{Activation: a, Unconstrained: true},
					Noise:     &RowShrink{Activation: a, Unconstrained: true},
				})), false)
			})
		}
	}
	t.Run("paper with neighbours", func(t *testing.T) {
		checkOption(t, paper(Config{Neighborhood: Neighborhood{Neighbors: 5}}), true)
	})
	t.Run("start anchors", func(t *testing.T) {
		var anchors []mat.Matrix
		for v, d := range []int{12, 7, 3} {
			x := make([]float64, 4*d)
			for i := range x {
				x[i] = math.Sin(float64(i + v))
			}
			anchors = append(anchors, mat.NewDense(4, d, x))
		}
		checkOption(t, Config{Anchors: 4, StartAnchors: anchors, Neighborhood: Neighborhood{Neighbors: None}}, false)
	})
}

func TestNeighborOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"both standardisations":         {Preprocess: PreprocessBoth},
		"three neighbours":              {Neighborhood: Neighborhood{Neighbors: 3}},
		"more neighbours than samples":  {Neighborhood: Neighborhood{Neighbors: 500}},
		"few directions":                {Neighborhood: Neighborhood{Directions: 4}},
		"all directions":                {Neighborhood: Neighborhood{Directions: None}},
		"one step":                      {Neighborhood: Neighborhood{Steps: 1}},
		"no filter":                     {Neighborhood: Neighborhood{Steps: None}},
		"a weight":                      {Neighborhood: Neighborhood{Weight: 0.5}},
		"no weight":                     {Neighborhood: Neighborhood{Weight: None}},
		"a held-out weight":             {Neighborhood: Neighborhood{HeldOutWeight: 0.5}},
		"no held-out weight":            {Neighborhood: Neighborhood{HeldOutWeight: None}},
		"landmarks":                     {Neighborhood: Neighborhood{Exact: None}},
		"landmarks from 100 samples on": {Neighborhood: Neighborhood{Exact: 100, Landmarks: 12, Directions: 4}},
		"few landmarks":                 {Neighborhood: Neighborhood{Exact: None, Landmarks: 3}},
		"more landmarks than samples":   {Neighborhood: Neighborhood{Exact: None, Landmarks: 1000}},
		"landmarks, float64":            {Neighborhood: Neighborhood{Exact: None}, Float64: true},
		"landmarks, paper": paper(Config{
			Neighborhood: Neighborhood{Exact: None, Neighbors: 1},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for i, p := range []Preprocess{0, PreprocessUnit} {
				if p == PreprocessUnit && c.Preprocess != 0 || leftOut(i, 2) {
					continue
				}
				c.Preprocess = p
				checkOption(t, c, c.Neighborhood.Neighbors < 100)
			}
		})
	}
}

// A mask that leaves out nothing, and views in any holder, give the same bits.
func TestFitSameBits(t *testing.T) { withAndWithout(t, testFitSameBits) }

func testFitSameBits(t *testing.T, neighbors int) {
	dims := []int{10, 6}
	x, _ := blobs(90, 3, 0.4, 3, dims...)
	for v := range x {
		for i := range x[v] {
			x[v][i] = float64(float32(x[v][i])) // exact in both types
		}
	}
	views := float64Views(x, dims...)
	config := Config{Clusters: 3, Epochs: 8, Neighborhood: Neighborhood{Neighbors: neighbors}}
	want := mustFit(t, views, config)
	holders := map[string][]View{"a full mask": nil, "matrices": nil, "strided matrices": nil, "float32": nil, "named": nil}
	for v, d := range dims {
		wide := mat.NewDense(90, d+3, nil)
		single := make([]float32, len(x[v]))
		for i, value := range x[v] {
			wide.Set(i/d, i%d, value)
			single[i] = float32(value)
		}
		full := slices.Repeat([]bool{true}, 90)
		holders["a full mask"] = append(holders["a full mask"], views[v].WithPresent(full))
		holders["matrices"] = append(holders["matrices"], MatrixView(mat.NewDense(90, d, slices.Clone(x[v]))))
		holders["strided matrices"] = append(holders["strided matrices"], MatrixView(wide.Slice(0, 90, 0, d)))
		holders["float32"] = append(holders["float32"], DenseView(90, d, single))
		holders["named"] = append(holders["named"], views[v].Named("x"))
	}
	for name, other := range holders {
		t.Run(name, func(t *testing.T) {
			got := mustFit(t, other, config)
			got.names = want.names
			sameResult(t, want, got)
		})
	}
	t.Run("overwritten", func(t *testing.T) {
		var own []View
		for v, d := range dims {
			own = append(own, DenseView(90, d, slices.Clone(x[v])))
		}
		c := config
		c.Float64 = true
		want := mustFit(t, views, c)
		c.Machine.Overwrite = true
		got := mustFit(t, own, c)
		sameResult(t, want, got)
	})
}

func TestFitDeterminism(t *testing.T) {
	n, dims := 800, []int{20, 9, 3}
	if !testutil.Slow {
		n = 300
	}
	views, _ := blobViews(n, 5, 1, 4, dims...)
	masked, err := testutil.Masked(views, absent(n, 3, 0.3, 4))
	if err != nil {
		t.Fatal(err)
	}
	for name, views := range map[string][]View{"complete": views, "masked": masked} {
		for kind, c := range map[string]Config{
			"neighbours": {}, "landmarks": {
				Neighborhood: Neighborhood{Exact: None, Directions: 5},
				Represent:    &SoftThreshold{Activation: SELU}, Noise: &RowShrink{Activation: SELU},
				Float64: true, Anchors: 7,
			},
			"no neighbours": {Neighborhood: Neighborhood{Neighbors: None}}, "no neighbours, SELU": {
				Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessBalanced,
				Represent: &SoftThreshold{Activation: SELU}, Noise: &RowShrink{Activation: SELU},
				Float64: true, Anchors: 7,
			},
		} {
			c.Clusters, c.Epochs, c.Machine.Workers = 5, 3, 1
			want := mustFit(t, views, c)
			checkPredict(t, views, want)
			t.Run(fmt.Sprintf("%s, %s", name, kind), func(t *testing.T) {
				for _, workers := range []int{2, 7} {
					c.Machine.Workers = workers
					sameResult(t, want, mustFit(t, views, c))
				}
				c.Machine.Workers = 0
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
				sameResult(t, want, mustFit(t, views, c))
				runtime.GOMAXPROCS(1)
				sameResult(t, want, mustFit(t, views, c))
			})
		}
	}
}
