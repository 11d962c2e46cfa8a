package largemvc

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// kindsOfViews are the same samples as dense and as sparse views, with every entry of the absent rows replaced.
func kindsOfViews(t testing.TB, x [][]float64, dims []int, mask [][]bool, content float64) map[string][]View {
	t.Helper()
	filled := make([][]float64, len(x))
	for v, d := range dims {
		filled[v] = slices.Clone(x[v])
		for i := range mask {
			for j := 0; j < d && !mask[i][v]; j++ {
				filled[v][i*d+j] = content
			}
		}
	}
	dense, sparse := bothKinds[float64](filled, dims...)
	out := map[string][]View{}
	for name, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		var err error
		if out[name], err = testutil.Masked(views, mask); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Missing views through fit, score and prediction: the classes are found, absent rows count for nothing whatever they
// hold, and training samples get their labels back.
func TestFitWithMissingViews(t *testing.T) {
	t.Parallel()
	const n, c = 300, 4
	dims := []int{70, 50, 40}
	x, classes := topics(n, c, 0.15, 81, dims...)
	for i, rate := range []float64{0.1, 0.3, 0.5} {
		if leftOut(i, 3) {
			continue
		}
		mask := absent(n, len(dims), rate, 82)
		withNaN := kindsOfViews(t, x, dims, mask, math.NaN())
		withOnes := kindsOfViews(t, x, dims, mask, 1)
		for kind, views := range withNaN {
			for _, variant := range []variant{large, amvc, rmvc} {
				t.Run(fmt.Sprintf("%s, rate %v, %v", kind, rate, variant), func(t *testing.T) {
					config := variant.of(Config{Clusters: c, Epochs: 10})
					if rate == 0.3 {
						config.Neighborhood.Neighbors = None
					}
					got := mustFit(t, views, config)
					if acc := agree(t, got.Labels, classes); acc < 0.9 {
						t.Errorf("accuracy %.3f", acc)
					}
					checkResult(t, views, got)
					sameResult(t, got, mustFit(t, withOnes[kind], config))
				})
			}
		}
	}
}

// On complete data a full mask gives the same bits as none.
func TestFullMaskGivesTheSameBits(t *testing.T) {
	const n, c = 120, 3
	dims := []int{40, 30}
	x, _ := topics(n, c, 0.2, 83, dims...)
	dense, sparse := bothKinds[float32](x, dims...)
	full := absent(n, len(dims), 0, 84)
	for kind, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		for _, config := range []Config{
			{}, {Float64: true, Preprocess: PreprocessBalanced}, {Neighborhood: Neighborhood{Exact: None, Directions: 9}},
			{
				Neighborhood: Neighborhood{Neighbors: None},
				Represent:    &SoftThreshold{Activation: SELU}, Noise: &NoNoise{},
				Preprocess: PreprocessUnit,
			}, {Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessZScore},
		} {
			config.Clusters, config.Epochs = c, 5
			masked, err := testutil.Masked(views, full)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%s, %v", kind, config.Preprocess), func(t *testing.T) {
				sameResult(t, mustFit(t, views, config), mustFit(t, masked, config))
			})
		}
	}
}

// Where samples lack views, the representation is what the layers give, smoothed along the neighbours of the fit.
func TestRepresentationIsSmoothed(t *testing.T) {
	const n, known, c = 450, 300, 5
	dims := []int{30, 20, 20}
	x, _ := topics(n, c, 0.2, 91, dims...)
	all, _ := bothKinds[float32](x, dims...)
	views, err := testutil.Masked(all, absent(n, len(dims), 0.5, 92))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var old []View
	for _, v := range views {
		old = append(old, v.Take(upTo(known)))
	}
	for name, config := range map[string]Config{"exact": {}, "landmarks": {Neighborhood: Neighborhood{Exact: None}}} {
		config.Clusters, config.Epochs, config.Float64 = c, 5, true
		model := mustFit(t, old, config)
		checkResult(t, old, model)
		plain, err := readChanged(t, model, func(f *safetensors.File) { withoutLast(t, f) })
		if err != nil {
			t.Fatal(err)
		}
		h, err := plain.Transform(ctx, old)
		if err != nil {
			t.Fatal(err)
		}
		made, err := prepareInputs[float64](ctx, &run{config: completed(config, known), views: inner(old)})
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]float64, 0, known*c)
		for i := range known {
			row := mat.Row(nil, i, h)
			floats.Scale(1/floats.Norm(row, 2), row)
			rows = append(rows, row...)
		}
		ordered := make([]float64, 0, known*c) // as the graph has the samples
		for _, i := range view.Along(made.Order, upTo(known)) {
			ordered = append(ordered, rows[i*c:(i+1)*c]...)
		}
		smoothed := neighbor.Block[float64]{X: ordered, Ld: c, Cols: c}
		if _, err := neighbor.Smooth(ctx, made.Graph, []neighbor.Block[float64]{smoothed}, 4, 1); err != nil {
			t.Fatal(err)
		}
		want := view.Back(made.Order, ordered, c)
		for i := range known {
			if d := floats.Distance(mat.Row(nil, i, model.H), want[i*c:(i+1)*c], 2); !(d < 1e-9) {
				t.Fatalf("%s: row %d of H is off by %g", name, i, d)
			}
		}
	}
	for name, config := range map[string]Config{
		"complete": {}, "not smoothed": {Neighborhood: Neighborhood{Steps: None}}, "plain": {PlainReadOut: true},
	} {
		config.Clusters, config.Epochs = c, 1
		from := old
		if name == "complete" {
			from = all
		}
		if intakeOf(mustFit(t, from, config).Predictor).Tensor("last_filter") != nil {
			t.Errorf("%s: the representation is smoothed", name)
		}
	}
}

// withoutLast makes the file of a model that of one whose representation is not smoothed.
func withoutLast(t *testing.T, f *safetensors.File) {
	t.Helper()
	last := func(name string) bool { return name == "last_filter" || name == "last_steps" }
	f.Tensors = slices.DeleteFunc(f.Tensors, func(x safetensors.Tensor) bool { return last(x.Name) })
	var about savedTraining
	if err := json.Unmarshal([]byte(f.Metadata[file.MetaTraining]), &about); err != nil {
		t.Fatal(err)
	}
	about.Tensors = slices.DeleteFunc(about.Tensors, last)
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	f.Metadata[file.MetaTraining] = string(text)
}

// A complete sample with a view taken away is predicted from the others; without a mask nothing is missing.
func TestPredictIncompleteSamples(t *testing.T) {
	const n, c = 240, 4
	dims := []int{60, 50, 40}
	x, classes := topics(n, c, 0.15, 85, dims...)
	dense, sparse := bothKinds[float32](x, dims...)
	ctx := context.Background()
	for kind, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		model := mustFit(t, views, Config{Clusters: c, Epochs: 20})
		for missing := range dims {
			mask := make([][]bool, n)
			for i := range mask {
				mask[i] = []bool{true, true, true}
				mask[i][missing] = i%2 == 0
			}
			less, err := testutil.Masked(views, mask)
			if err != nil {
				t.Fatal(err)
			}
			labels, err := model.Predict(ctx, less)
			if err != nil {
				t.Fatal(err)
			}
			if acc := agree(t, labels, classes); acc < 0.9 {
				t.Errorf("%s without view %d: accuracy %.3f", kind, missing, acc)
			}
			for i := 0; i < n; i += 2 {
				if labels[i] != model.Labels[i] {
					t.Fatalf("%s: sample %d lacks nothing and has another label", kind, i)
				}
			}
		}
		none, err := testutil.Masked(views, [][]bool{{false, false, false}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Predict(ctx, none); err == nil {
			t.Errorf("%s: no error for a mask of one row", kind)
		}
	}
}

// Where samples lack a view rows can grow with every step of smoothing; so many steps that they overflow are an error that says
// so.
func TestTooManyStepsWhereSamplesLackViews(t *testing.T) {
	x := []float64{-1e6, -1e6, 2e6, -6e5, -8e4, -9e5, -5e5, 1e6, -2e5, -1e6, 2e5, -1e6, 7e5, -1e6, -1e6}
	y, present := []float64{-4, -10, 4, -6, -10}, []bool{false, true, false, true, false}
	few := []View{DenseView(5, 3, x), DenseView(5, 1, y).WithPresent(present)}
	// With so many features the second view is the first and the last of the inputs.
	rng := rand.New(rand.NewPCG(12, 8))
	values := make([]float64, 6*23)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	many := []View{
		DenseView(6, 3, values[:18]),
		DenseView(6, 20, values[18:]).WithPresent([]bool{false, true, false, false, true, false}).Named("text"),
	}
	for name, c := range map[string]struct {
		views []View
		want  string
	}{"few features": {few, "view 1:"}, "many features": {many, "view 1 (text):"}} {
		config := Config{Clusters: 1, Neighborhood: Neighborhood{Neighbors: 1, Steps: 1000}}
		_, err := Fit(context.Background(), c.views, config)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "1000 steps of smoothing") {
			t.Errorf("%s: error %v, want one that names the view and the steps", name, err)
		}
		config.Neighborhood.Steps = 100
		mustFit(t, c.views, config)
	}
}
