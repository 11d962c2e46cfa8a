package largemvc

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/optim"
)

func TestFitRealSets(t *testing.T) {
	testutil.Long(t, "it trains a dozen networks")
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
		want.Layers, want.Epochs, want.Restarts, want.KMeansStarts = 2, 30, 1, 10
		want.Optimizer, want.Checkpoint.Every = optim.Options{LearningRate: 0.03}.WithDefaults(), 10
		free := name == "paper"
		if free {
			want.Epochs, want.Optimizer = 100, optim.Options{}.WithDefaults()
		}
		want.Represent = &SoftThreshold{Theta0: 0.01, Lipschitz: 1, Unconstrained: free}
		want.Noise, want.Anchor = &RowShrink{Rho0: 0.01, Unconstrained: free}, &Procrustes{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for want, x := range map[[3]int]int{{120, 12, 0}: 7, {120, 60, 0}: 3, {99, 33, 0}: 10, {120, 12, 9}: 9, {140, 10, 0}: 10} {
		given := Config{Clusters: want[1], Neighborhood: Neighborhood{Neighbors: want[2]}}
		c := given.WithDefaults()
		if adaptNeighbors(&c, &given, want[0]); c.Neighborhood.Neighbors != x {
			t.Errorf("%d samples in %d clusters, %d neighbours given: %d, want %d", want[0], want[1], want[2],
				c.Neighborhood.Neighbors, x)
		}
	}
	given := Config{Epochs: 7, Optimizer: optim.Options{LearningRate: 0.5, Beta1: 0.8}}.WithDefaults()
	if o := given.Optimizer; given.Epochs != 7 || o.LearningRate != 0.5 || o.Beta1 != 0.8 || o.Beta2 != 0.999 {
		t.Errorf("given values become %d epochs and %+v", given.Epochs, o)
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
		c := Config{Anchors: 4, Start: StartPoint{Anchors: anchors}, Neighborhood: Neighborhood{Neighbors: None}}
		checkOption(t, c, false)
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

// Node is a node of a Gorgonia graph.
type Node = gorgonia.Node

// variant is a network of the paper's ablation.
type variant int

const (
	large variant = iota // all modules
	amvc                 // no noise
	rmvc                 // no noise, fixed anchors
)

func (v variant) String() string { return []string{"large", "amvc", "rmvc"}[v] }

// of returns the configuration without the modules that the variant lacks.
func (v variant) of(c Config) Config {
	if v != large {
		c.Noise = &NoNoise{}
	}
	if v == rmvc {
		c.Anchor = &FixedAnchors{}
	}
	return c
}

// builtModel is a model whatever its modules.
type builtModel interface {
	Network
	Build(e Env, data *Data, start StartPoint) error
	fused() unfold.Fused
}

type (
	// AMvCNet is the network without noise.
	AMvCNet = Model[*SoftThreshold, *NoNoise, *Procrustes]
	// RMvCNet is the network without noise and with fixed anchors.
	RMvCNet = Model[*SoftThreshold, *NoNoise, *FixedAnchors]
)

// defaults are what the zero fields of a test's Config stand for.
type defaults string

const (
	byDefault defaults = "default"
	asPaper   defaults = "paper"
)

// of returns c with these defaults.
func (d defaults) of(c Config) Config {
	if d == asPaper {
		return paper(c)
	}
	return c
}

// paper returns c with the settings of PaperConfig where it has none.
func paper(c Config) Config {
	p := PaperConfig(c.Clusters)
	if c.Represent == nil {
		c.Represent = p.Represent
	}
	if c.Noise == nil {
		c.Noise = p.Noise
	}
	c.Preprocess, c.Reduction = cmp.Or(c.Preprocess, p.Preprocess), cmp.Or(c.Reduction, p.Reduction)
	c.Neighborhood.Neighbors = cmp.Or(c.Neighborhood.Neighbors, p.Neighborhood.Neighbors)
	c.PlainReadOut = true
	return c
}

// Paper is paper, for the tests from outside.
func Paper(c Config) Config { return paper(c) }

// The units of ρ that are given are those of the thresholds as applied, beside a module of a user's own and after Load too.
func TestUnitsOfRho(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.7, 301, 9, 6)
	units := []float64{2, 5}
	for name, represent := range map[string]Represent{"stock": nil, "own": &ownSoft{}} {
		got := mustFit(t, views, paper(Config{
			Clusters: 3, Epochs: 3, Represent: represent, Noise: &RowShrink{Rho0: 0.3, Scale: units},
		}))
		for l, layer := range got.Rho {
			for v, rho := range layer {
				learned, _, err := got.Parameter(fmt.Sprintf("rho_%d_%d", l+1, v))
				if err != nil || math.Abs(rho-units[v]*learned[0]) > 1e-6*rho {
					t.Errorf("%s: ρ of layer %d and view %d is %v, learned as %v, %v", name, l+1, v, rho, learned, err)
				}
			}
		}
		labels, err := got.Predict(context.Background(), views)
		if err != nil || !slices.Equal(labels, got.Labels) {
			t.Fatalf("%s: %v, %v, want %v", name, err, labels, got.Labels)
		}
		loaded, err := ReadPredictor(bytes.NewReader(encode(t, got.Predictor)), own(represent)...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := loaded.Transform(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		want, err := got.Transform(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		sameMatrix(t, "H", again, want)
		if !bytes.Equal(encode(t, loaded), encode(t, got.Predictor)) {
			t.Errorf("%s: the loaded model is saved otherwise", name)
		}
	}
}

// own returns a new module to load beside a model with the module m, none where m is nil.
func own(m Represent) []Module {
	if m == nil {
		return nil
	}
	return []Module{&ownSoft{}}
}

// linear is a Represent module with an encoder before it: a square matrix a view, the identity at first.
type linear struct {
	SoftThreshold
	Columns int // of the code; 0: as many as the view
	Random  bool
	w       gorgonia.Nodes
}

func (m *linear) Init(e Env) error {
	if err := m.SoftThreshold.Init(e); err != nil {
		return err
	}
	m.w = nil
	for v, d := range e.Dims {
		k := d
		if m.Columns > 0 {
			k = m.Columns
		}
		first := mat.NewDense(d, k, nil)
		for j := range min(d, k) {
			first.Set(j, j, 1)
		}
		if m.Random {
			for i := range d {
				for j := range k {
					first.Set(i, j, math.Sin(float64(e.Seed)+float64(1+i*k+j)*float64(v+1)))
				}
			}
		}
		var backing any = first.RawMatrix().Data
		if e.Of == tensor.Float32 {
			x := make([]float32, d*k)
			for i, y := range first.RawMatrix().Data {
				x[i] = float32(y)
			}
			backing = x
		}
		m.w = append(m.w, gorgonia.NewMatrix(e.G, e.Of, gorgonia.WithName(e.Name("w_%d", v)), gorgonia.WithShape(d, k),
			gorgonia.WithValue(tensor.New(tensor.WithShape(d, k), tensor.WithBacking(backing)))))
	}
	return nil
}
func (m *linear) Learnables() gorgonia.Nodes { return append(m.SoftThreshold.Learnables(), m.w...) }
func (m *linear) Encode(v int, x *gorgonia.Node) (*gorgonia.Node, error) {
	return gorgonia.Mul(x, m.w[v])
}

// An encoder that begins as the identity has the first loss of the network without it, and then trains on.
func TestEncoder(t *testing.T) {
	t.Parallel()
	plain, _ := blobViews(50, 3, 0.7, 307, 7, 5)
	masked, err := testutil.Masked(plain, absent(50, 2, 0.2, 308))
	if err != nil {
		t.Fatal(err)
	}
	for name, views := range map[string][]View{"plain": plain, "masked": masked} {
		for _, preset := range []defaults{byDefault, asPaper} {
			if !testutil.Slow && (name == "masked") != (preset == byDefault) {
				continue
			}
			c := preset.of(Config{Clusters: 3, Epochs: 6, Float64: true})
			want := mustFit(t, views, c)
			c.Represent = &linear{}
			got := mustFit(t, views, c)
			end, without := got.Loss[len(got.Loss)-1], want.Loss[len(want.Loss)-1]
			if math.Abs(got.Loss[0]-want.Loss[0]) > 1e-9 || end == without || end >= got.Loss[0] {
				t.Errorf("%s, %v: losses %v and %v, without encoder %v and %v", name, preset, got.Loss[0], end,
					want.Loss[0], without)
			}
			checkPredict(t, views, got)
			c.Represent = &linear{Columns: 4, Random: true}
			c.Restarts = 2
			got = mustFit(t, views, c)
			if _, d := got.P[0].Dims(); d != 4 {
				t.Errorf("anchors of %d columns, want 4", d)
			}
			checkPredict(t, views, got)
			p, err := ReadPredictor(bytes.NewReader(encode(t, got.Predictor)), &linear{Columns: 4})
			if err != nil {
				t.Fatal(err)
			}
			novelty, err := p.Novelty(context.Background(), views)
			if (err == nil) != (preset == byDefault) || len(novelty) != map[defaults]int{byDefault: 50}[preset] {
				t.Errorf("%s, %v: novelty %v, %v", name, preset, novelty, err)
			}
			if labels, err := p.Predict(context.Background(), views); err != nil || !slices.Equal(labels, got.Labels) {
				t.Errorf("%s, %v: the loaded model predicts %v, %v", name, preset, labels, err)
			}
			c.Checkpoint.Every = 2
			path := killed(t, views, c, 1, 5)
			sameResult(t, mustResume(t, views, path, func(c *Config) { c.Represent = &linear{Columns: 4, Random: true} }), got)
		}
	}
}

// A view times −1 has the same clusters: no standardisation knows of signs, and neither the network nor its start prefers one.
func TestViewTimesMinusOne(t *testing.T) { withAndWithout(t, testViewTimesMinusOne) }

func testViewTimesMinusOne(t *testing.T, neighbors int) {
	x, _ := blobs(200, 4, 1.6, 12, 8, 6)
	turned := slices.Clone(x[0])
	for i := range turned {
		turned[i] *= -1
	}
	for _, p := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None, PreprocessBoth} {
		if p == PreprocessBoth && neighbors == None {
			continue
		}
		for _, wide := range []bool{false, true} {
			c := Config{Clusters: 4, Epochs: 30, Preprocess: p, Float64: wide, Neighborhood: Neighborhood{Neighbors: neighbors}}
			if neighbors == None {
				c = paper(c)
			}
			want := mustFit(t, float64Views(x, 8, 6), c)
			got := mustFit(t, float64Views([][]float64{turned, x[1]}, 8, 6), c)
			if s, err := Evaluate(want.Labels, got.Labels); err != nil || s.ARI != 1 { // clusters of one size may change numbers
				t.Errorf("%v, float64 %v: %v, %v; losses %v and %v", p, wide, s, err, want.Loss[len(want.Loss)-1],
					got.Loss[len(got.Loss)-1])
			}
		}
	}
}

// The published optimiser moves R, and thresholds that are Fixed keep their first values.
func TestFixedThresholds(t *testing.T) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	c := paper(Config{Clusters: 3, Epochs: 20, Float64: true, Optimizer: optim.Published()})
	c.Represent, c.Noise = &SoftThreshold{Theta0: 0.02, Fixed: true}, &RowShrink{Rho0: 0.001, Fixed: true}
	p := mustFit(t, views, c).Predictor
	if got := fmt.Sprint(p.Theta, p.Rho); got != "[0.02 0.02] [[0.001 0.001] [0.001 0.001]]" {
		t.Errorf("θ and ρ are %s", got)
	}
	c.Optimizer = optim.Options{}
	if a, b := p.R(), mustFit(t, views, c).R(); mat.Norm(a, 2) < 0.1 || mat.EqualApprox(a, b, 0.1) {
		t.Errorf("R %v, by the default optimiser %v", mat.Formatted(a), mat.Formatted(b))
	}
}
