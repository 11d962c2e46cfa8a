package largemvc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"
)

func TestFitErrors(t *testing.T) {
	good, _ := blobViews(10, 2, 1, 9, 4, 3)
	values := func(change map[int]float64) View {
		x, _ := blobs(10, 2, 1, 9, 4)
		for i, value := range change {
			x[0][i] = value
		}
		return DenseView(10, 4, x[0]).Named("pixels")
	}
	mask := slices.Repeat([]bool{true}, 10)
	mask[7] = false
	two := Config{Clusters: 2}
	nan := math.NaN()
	shared := make([]float32, 49)
	for i := range shared {
		shared[i] = float32(i * i % 7)
	}
	p := []mat.Matrix{mat.NewDense(2, 4, nil), mat.NewDense(2, 3, nil)}
	e := []mat.Matrix{mat.NewDense(10, 4, nil), mat.NewDense(10, 3, nil)}
	from := func(s StartPoint) Config { return paper(Config{Clusters: 2, Start: s}) }
	for name, x := range map[string]struct {
		views  []View
		config Config
		want   []string
	}{
		"start H and neighbours": {
			good, Config{Clusters: 2, StartLabels: make([]int, 10), Start: StartPoint{H: e[0]}},
			[]string{"Start needs Neighborhood.Neighbors: None"},
		},
		"start H without anchors": {
			good, from(StartPoint{H: mat.NewDense(10, 2, nil)}), []string{"Start.H needs the anchors", "StartLabels"},
		},
		"start H's n": {good, from(StartPoint{Anchors: p, H: mat.NewDense(9, 2, nil)}), []string{"H is 9×2, want 10×2"}},
		"nil start H": {good, from(StartPoint{Anchors: p, H: (*mat.Dense)(nil)}), []string{"Start.H is nil"}},
		"few start E": {good, from(StartPoint{E: e[:1]}), []string{"Start.E has 1 view, want 2"}},
		"start E's d": {good, from(StartPoint{E: []mat.Matrix{e[0], e[0]}}), []string{"E of view 1 is 10×4, want 10×3"}},
		"start E's NaN": {
			good[:1], from(StartPoint{E: []mat.Matrix{mat.NewDense(10, 4, slices.Repeat([]float64{nan}, 40))}}),
			[]string{"row 0, column 0 of Start.E of view 0", "NaN"},
		},
		"start E, no noise": {
			good, paper(Config{Clusters: 2, Noise: &NoNoise{}, Start: StartPoint{E: e}}), []string{"Start.E needs noise"},
		},
		"start E of samples": {
			good, paper(Config{Clusters: 2, FitSamples: 5, Start: StartPoint{E: e}}),
			[]string{"Start.H and Start.E", "FitSamples"},
		},
		"start E on a GPU": {
			good, paper(Config{Clusters: 2, Start: StartPoint{E: e}, Machine: machine.Options{Device: machine.CUDA}}),
			[]string{"cannot run on a GPU", "Start.H or Start.E is for the CPU"},
		},
		"no views":    {nil, two, []string{"no views"}},
		"zero view":   {[]View{{}}, two, []string{"view 0"}},
		"nil matrix":  {[]View{MatrixView(nil)}, two, []string{"view 0", "nil"}},
		"short slice": {[]View{good[0], DenseView(10, 3, make([]float32, 29))}, two, []string{"view 1", "29"}},
		"no samples":  {[]View{DenseView[float64](0, 3, nil)}, two, []string{"view 0"}},
		"no features": {[]View{DenseView[float64](10, 0, nil)}, two, []string{"view 0"}},
		"different n": {[]View{good[0], DenseView(2, 2, make([]float64, 4))}, two, []string{"view 1", "2 samples", "10"}},
		"NaN": {
			[]View{good[1], values(map[int]float64{4*6 + 2: nan})}, two,
			[]string{"view 1 (pixels)", "NaN", "row 6", "column 2"},
		},
		"infinity": {
			[]View{values(map[int]float64{4*3 + 1: math.Inf(-1)})}, two,
			[]string{"view 0 (pixels)", "-Inf", "row 3", "column 1"},
		},
		"huge":            {[]View{values(map[int]float64{5: 1e308, 6: 1e308})}, two, []string{"view 0", "row 1"}},
		"short mask":      {[]View{good[0].WithPresent(mask[:9])}, two, []string{"view 0", "9", "10"}},
		"sample left out": {[]View{good[0].WithPresent(mask), good[1].WithPresent(mask)}, two, []string{"sample 7"}},
		"view left out":   {[]View{good[0], good[1].WithPresent(make([]bool, 10))}, two, []string{"view 1"}},
		"zeros":           {[]View{good[0], DenseView(10, 3, make([]float64, 30))}, two, []string{"view 1"}},
		"zeros, raw": {
			[]View{DenseView(10, 3, make([]float64, 30))}, Config{Clusters: 2, Preprocess: None},
			[]string{"view 0"},
		},
		"constant": {
			[]View{DenseView(10, 3, slices.Repeat([]float64{4}, 30))},
			Config{Clusters: 2, Preprocess: PreprocessZScore}, []string{"view 0"},
		},

		"no clusters":       {good, Config{}, []string{"Clusters is 0", "10"}},
		"too many clusters": {good, Config{Clusters: 11}, []string{"Clusters is 11", "10"}},
		"too many anchors":  {good, Config{Clusters: 2, Anchors: 11}, []string{"Anchors is 11", "10"}},
		"negative anchors":  {good, Config{Clusters: 2, Anchors: -1}, []string{"Anchors is -1"}},
		"layers":            {good, Config{Clusters: 2, Layers: -1}, []string{"Layers is -1"}},
		"epochs":            {good, Config{Clusters: 2, Epochs: -2}, []string{"Epochs is -2"}},
		"optimizer": {good, Config{Clusters: 2, Optimizer: optim.Options{
			LearningRate: nan, Beta1: 1, Beta2: -1, Epsilon: nan, WeightDecay: -2,
		}}, []string{"Optimizer.LearningRate is NaN", "Beta1 is 1", "Beta2 is -1", "Epsilon is NaN", "Decay is -2"}},
		"schedule": {
			good, Config{Clusters: 2, Optimizer: optim.Options{Plateau: -1, Factor: 3}}, []string{"Plateau is -1", "Factor is 3"},
		},
		"Lipschitz":       {good, Config{Clusters: 2, Represent: &SoftThreshold{Lipschitz: -1}}, []string{"Lipschitz is -1"}},
		"small Lipschitz": {good, Config{Clusters: 2, Represent: &SoftThreshold{Lipschitz: 0.5}}, []string{"Lipschitz is 0.5"}},
		"theta below 0":   {good, Config{Clusters: 2, Represent: &SoftThreshold{Theta0: -0.1}}, []string{"Theta0 is -0.1"}},
		"rho below 0": {
			good, paper(Config{
				Clusters: 2, Represent: &SoftThreshold{}, Noise: &RowShrink{Rho0: -0.1},
			}), []string{"Rho0 is -0.1"},
		},
		"shared memory": {
			[]View{DenseView(10, 3, shared[:30]), good[0], DenseView(10, 2, shared[29:]).Named("late")},
			Config{Clusters: 2, Machine: machine.Options{Overwrite: true}}, []string{"view 0 and view 2 (late)", "share memory"},
		},
		"rho":              {good, Config{Clusters: 2, Noise: &RowShrink{Rho0: math.Inf(1)}}, []string{"Rho0 is +Inf"}},
		"tolerance":        {good, Config{Clusters: 2, Tolerance: -1}, []string{"Tolerance is -1"}},
		"tolerance is NaN": {good, Config{Clusters: 2, Tolerance: nan}, []string{"Tolerance is NaN"}},
		"patience":         {good, Config{Clusters: 2, Patience: -1}, []string{"Patience is -1"}},
		"workers":          {good, Config{Clusters: 2, Machine: machine.Options{Workers: -1}}, []string{"Workers is -1"}},
		"restarts":         {good, Config{Clusters: 2, Restarts: -1}, []string{"Restarts is -1"}},
		"k-means starts":   {good, Config{Clusters: 2, KMeansStarts: -1}, []string{"KMeansStarts is -1"}},
		"checkpoint every": {good, Config{Clusters: 2, Checkpoint: Checkpoint{Every: -1}}, []string{"Checkpoint.Every is -1"}},
		"activation": {
			good,
			Config{Clusters: 2, Represent: &SoftThreshold{Activation: 9}, Noise: &RowShrink{Activation: 9}},
			[]string{"unknown activation 9"},
		},
		"several": {
			good, Config{Clusters: 99, Reduction: 7, Noise: &RowShrink{Scale: []float64{-8}}},
			[]string{"Clusters is 99", "Reduction is 7", "RowShrink.Scale[0] is -8"},
		},
		"both starts": {
			good, Config{Clusters: 1, StartLabels: make([]int, 10), Start: StartPoint{Anchors: make([]mat.Matrix, 2)}},
			[]string{"are both set"},
		},
		"few start labels": {good, Config{Clusters: 2, StartLabels: make([]int, 9)}, []string{"StartLabels has 9 labels", "10"}},
		"wrong start label": {
			good, Config{Clusters: 2, StartLabels: []int{0, 0, 0, 2, 0, 0, 0, 0, 0, 0}},
			[]string{"StartLabels[3] is 2"},
		},
		"few start anchors": {
			good, Config{Clusters: 2, Start: StartPoint{Anchors: []mat.Matrix{mat.NewDense(2, 4, nil)}}},
			[]string{"1 view, want 2"},
		},
		"start anchors' d": {
			good,
			Config{Clusters: 2, Start: StartPoint{Anchors: []mat.Matrix{mat.NewDense(2, 4, nil), mat.NewDense(2, 4, nil)}}},
			[]string{"view 1", "2×4", "2×3"},
		},
		"start anchors' NaN": {
			good[:1],
			Config{Clusters: 1, Start: StartPoint{Anchors: []mat.Matrix{mat.NewDense(1, 4, []float64{0, nan, 0, 0})}}},
			[]string{"view 0", "NaN", "row 0, column 1"},
		},
		"start anchors beyond float32": {
			[]View{good[1], good[0].Named("pixels")}, Config{
				Clusters: 2, Neighborhood: Neighborhood{Neighbors: None}, Start: StartPoint{Anchors: []mat.Matrix{
					mat.NewDense(2, 3, nil), mat.NewDense(2, 4, []float64{0, 1, 0, 0, 0, 0, -1e300, 0}),
				}},
			}, []string{"row 1, column 2 of Start.Anchors of view 1 (pixels) is -1e+300", "float32", "3.4e+38", "Float64"},
		},
		"values beyond float32": {
			good, Config{
				Clusters: 2, Optimizer: optim.Options{LearningRate: 1e300}, Represent: &SoftThreshold{Theta0: 2e300},
				Noise: &RowShrink{Rho0: 3e300},
			}, []string{
				"Optimizer.LearningRate is 1e+300, want at most 3.4e+38", "Represent.Theta0 is 2e+300, want at most",
				"Noise.Rho0 is 3e+300, want at most",
			},
		},
		"nil start matrix": {
			good[:1], Config{
				Clusters: 1, Neighborhood: Neighborhood{Neighbors: None},
				Start: StartPoint{Anchors: []mat.Matrix{(*mat.Dense)(nil)}},
			},
			[]string{"Start.Anchors", "view 0"},
		},
		"nil start anchors": {
			good[:1], Config{Clusters: 1, Start: StartPoint{Anchors: []mat.Matrix{nil}}}, []string{"Start.Anchors", "view 0"},
		},

		"neighbours": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: -2}},
			[]string{"Neighbors is -2", "None"},
		},
		"directions": {good, Config{Clusters: 2, Neighborhood: Neighborhood{Directions: -5}}, []string{"Directions is -5"}},
		"steps": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Steps: -2}},
			[]string{"Neighborhood.Steps is -2"},
		},
		"too many steps": {good, Config{Clusters: 2, Neighborhood: Neighborhood{Steps: 5000}}, []string{"5000"}},
		"held-out weight": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{HeldOutWeight: -2}},
			[]string{"HeldOutWeight is -2"},
		},
		"weight": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Weight: math.Inf(1)}}, []string{"Neighborhood.Weight is +Inf"},
		},
		"weight is NaN": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Weight: nan}}, []string{"Neighborhood.Weight is NaN"},
		},
		"exact": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Exact: -2}}, []string{"Neighborhood.Exact is -2"},
		},
		"negative landmarks": {good, Config{Clusters: 2, Neighborhood: Neighborhood{Landmarks: -3}}, []string{"Landmarks is -3"}},
		"one landmark": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Exact: None, Landmarks: 1}}, []string{"Landmarks is 1"},
		},
		"no effect": {
			good, Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: None, Steps: 3, Weight: 2}},
			[]string{"Neighborhood.Steps is 3", "Weight is 2", "no effect"},
		},
		"both without": {
			good, Config{
				Clusters: 2, Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessBoth,
			}, []string{"PreprocessBoth needs neighbours"},
		},
		"both, paper": {
			good, paper(Config{Clusters: 2, Preprocess: PreprocessBoth}),
			[]string{"PreprocessBoth needs neighbours"},
		},
		"anchors and neighbours": {
			good,
			Config{Clusters: 2, Start: StartPoint{Anchors: []mat.Matrix{mat.NewDense(2, 4, nil), mat.NewDense(2, 3, nil)}}},
			[]string{"Start needs Neighborhood.Neighbors: None"},
		},

		"extra loss fails": {
			good,
			Config{Clusters: 2, ExtraLoss: func(Network) (*Node, error) { return nil, errors.New("no idea") }},
			[]string{"extra loss", "no idea"},
		},
		"extra loss panics": {good, Config{Clusters: 2, ExtraLoss: func(net Network) (*Node, error) {
			return must(gorgonia.Mul(must(net.H(1)), must(net.H(2)))), nil
		}}, []string{"extra loss"}},
		"extra loss with a constant of another type": {
			good, Config{Clusters: 2, ExtraLoss: func(net Network) (*Node, error) {
				h, err := net.H(1)
				if err != nil {
					return nil, err
				}
				return gorgonia.Mul(must(gorgonia.Mean(h)), gorgonia.NewConstant(3.0))
			}},
			[]string{"extra loss", "must have the element type float32"},
		},
		"extra loss of n×m": {
			good, Config{Clusters: 2, ExtraLoss: func(net Network) (*Node, error) { return net.H(1) }},
			[]string{"extra loss"},
		},
		"checkpoint folder": {
			good, Config{Clusters: 2, Checkpoint: Checkpoint{Path: "no/such/folder/file"}},
			[]string{"checkpoint", "no/such/folder"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fitAlone(context.Background(), x.views, x.config)
			if got != nil || err == nil {
				t.Fatalf("%v, %v", got, err)
			}
			for _, part := range append(x.want, "largemvc: ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if x.config.Neighborhood.Neighbors != 0 || name == "anchors and neighbours" {
				return
			}
			x.config.Neighborhood.Neighbors = None
			if got, err := fitAlone(context.Background(), x.views, x.config); got != nil || err == nil {
				t.Errorf("without neighbours: %v, %v", got, err)
			}
		})
	}
}

// Views of one slice are refused with Overwrite only where it would be changed.
func TestSharedMemoryIsCopied(t *testing.T) {
	x, _ := blobs(20, 2, 0.5, 3, 4)
	views := []View{DenseView(20, 4, x[0]), DenseView(20, 4, x[0])}
	c := Config{Clusters: 2, Epochs: 1, Machine: machine.Options{Overwrite: true}}
	mustFit(t, views, c)
	c.Float64 = true
	if _, err := fitAlone(context.Background(), views, c); err == nil || !strings.Contains(err.Error(), "share memory") {
		t.Errorf("%v, want that they share memory", err)
	}
}

// Check refuses before any work what takes no values to know, in the words of Fit.
func TestCheckSaysWhatFitSays(t *testing.T) {
	held, read, sources := outside(400, 20, 5)
	plain, little := Neighborhood{Neighbors: None}, machine.Options{MaxMemory: 1 << 10}
	much := machine.Options{MaxMemory: 1 << 30}
	scaled := func(scale ...float64) *RowShrink { return &RowShrink{Scale: scale} }
	for name, x := range map[string]struct {
		views  []View
		config Config
		want   string
	}{
		"memory":           {held, Config{Machine: little}, "Machine.MaxMemory allows 0.0 MiB"},
		"memory, drawn":    {held, Config{Machine: little, FitSamples: 300}, "Machine.MaxMemory allows"},
		"memory, read":     {read, Config{Machine: little, Neighborhood: plain}, "Machine.MaxMemory allows"},
		"too few scales":   {held, Config{Noise: scaled(1), Neighborhood: plain}, "Scale has 1 value, want 2: one for"},
		"too many scales":  {held, Config{Noise: scaled(1, 1, 1), Neighborhood: plain}, "Scale has 3 values, want 2: one for"},
		"more than inputs": {held, Config{Noise: scaled(1, 1, 1, 1)}, "Scale has 4 values, want 3: one for"},
		"less than views":  {held, Config{Noise: scaled(1)}, "Scale has 1 value, want 3: one for"},
	} {
		x.config.Clusters, x.config.Epochs, x.config.Machine.Workers = 2, 1, 1
		err := x.config.Check(x.views)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: Check says %v, want %q", name, err, x.want)
			continue
		}
		if _, fit := fitAlone(t.Context(), x.views, x.config); fit == nil || fit.Error() != err.Error() {
			t.Errorf("%s: Check says %v, Fit %v", name, err, fit)
		}
		for v, s := range sources {
			if s.values.Load() != 0 {
				t.Errorf("%s: view %d is read", name, v)
			}
		}
	}
	for name, x := range map[string]struct {
		views  []View
		config Config
	}{
		"room":                 {held, Config{Machine: much}},
		"scales of all inputs": {held, Config{Noise: scaled(1, 1, 1)}},
	} {
		x.config.Clusters, x.config.Epochs, x.config.Machine.Workers = 2, 1, 1
		if err := x.config.Check(x.views); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := fitAlone(t.Context(), x.views, x.config); err != nil {
			t.Errorf("%s: Fit says %v", name, err)
		}
	}
	// How many inputs there are takes the values to know, where a view may be constant in one standardisation.
	some := Config{Clusters: 2, Epochs: 1, Noise: scaled(1, 1)}
	if err := some.Check(held); err != nil {
		t.Errorf("Check knows the values: %v", err)
	}
	want := "RowShrink.Scale has 2 values, want 3: one for each input"
	if _, err := fitAlone(t.Context(), held, some); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("scales of some inputs: %v", err)
	}
}

// Every field that is out of range is a FieldError of its own, with the path, the value and what Fit takes.
func TestFieldErrors(t *testing.T) {
	views, _ := blobViews(10, 2, 1, 9, 4, 3)
	err := Config{
		Clusters: 11, Epochs: -3, Optimizer: optim.Options{LearningRate: -1}, Reduction: 7, Represent: &SoftThreshold{Theta0: -1},
		Neighborhood: Neighborhood{Steps: 5000},
	}.Check(views)
	got := map[string]any{}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.HasPrefix(line, "largemvc: ") || !strings.Contains(line, ", want ") {
			t.Errorf("%q is not the text of a FieldError", line)
		}
	}
	for _, part := range err.(interface{ Unwrap() []error }).Unwrap() {
		var field *FieldError
		if !errors.As(part, &field) {
			t.Fatalf("%v is a %T", part, part)
		}
		got[field.Field] = field.Value
	}
	want := map[string]any{
		"Clusters": 11, "Epochs": -3, "Optimizer.LearningRate": -1.0, "Reduction": 7, "Represent.Theta0": -1.0,
		"Neighborhood.Steps": 5000,
	}
	if !maps.Equal(got, want) {
		t.Errorf("fields %v, want %v", got, want)
	}
}

// TestInputErrors: a fault of the caller's views is an InputError of Fit, Check, Resume's checks and the calls with new samples,
// with the view, the row and the column where there is one; a fault of the configuration is none.
func TestInputErrors(t *testing.T) {
	n := 40
	good, _ := blobViews(n, 2, 1, 9, 4, 3)
	wrong := func(at int, value float64) View {
		x, _ := blobs(n, 2, 1, 9, 4)
		x[0][at] = value
		return DenseView(n, 4, x[0]).Named("pixels")
	}
	mask := slices.Repeat([]bool{true}, n)
	mask[7] = false
	config := Config{Clusters: 2, Epochs: 1}
	fitted, err := Fit(t.Context(), good, config)
	if err != nil {
		t.Fatal(err)
	}
	columns := make([]int32, 0, n)
	for i := range n {
		columns = append(columns, int32(i/20*3))
	}
	pointers := make([]int, n+1)
	for i := range pointers {
		pointers[i] = i
	}
	sparse := SparseView(n, 3, pointers, columns, make([]float64, n)) // row 20 has a column 3
	for name, test := range map[string]struct {
		views             []View
		view, row, column int
		fit, check, new   bool // which of Fit, Config.Check and the calls with new samples refuse it so
	}{
		"no views":        {nil, -1, -1, -1, true, true, true},
		"no values":       {[]View{good[0], DenseView[float32](n, 3, nil)}, 1, -1, -1, true, true, true},
		"short slice":     {[]View{good[0], DenseView(n, 3, make([]float32, 29))}, 1, -1, -1, true, true, true},
		"nil matrix":      {[]View{MatrixView(nil), good[1]}, 0, -1, -1, true, true, true},
		"rows":            {[]View{good[0], DenseView(2, 3, make([]float64, 6))}, 1, -1, -1, true, true, true},
		"mask":            {[]View{good[0].WithPresent(mask[:9]), good[1]}, 0, -1, -1, true, true, true},
		"names":           {[]View{good[0].WithFeatures([]string{"a"}), good[1]}, 0, -1, -1, true, true, true},
		"sparse":          {[]View{good[0], sparse}, 1, 20, -1, true, true, true},
		"sample left out": {[]View{good[0].WithPresent(mask), good[1].WithPresent(mask)}, -1, 7, -1, true, true, true},
		"view left out":   {[]View{good[0], good[1].WithPresent(make([]bool, n))}, 1, -1, -1, true, true, false},
		"NaN":             {[]View{wrong(4*6+2, math.NaN()), good[1]}, 0, 6, 2, true, false, true},
		"huge":            {[]View{wrong(5, 1e308), good[1]}, 0, 1, -1, true, false, true},
		"zeros":           {[]View{good[0], DenseView(n, 3, make([]float64, n*3))}, 1, -1, -1, true, false, false},
		"other features":  {[]View{good[0], good[0]}, 1, -1, -1, false, false, true},
		"fewer views":     {good[:1], -1, -1, -1, false, false, true},
	} {
		checked := map[string]error{}
		if test.fit {
			_, checked["Fit"] = Fit(t.Context(), test.views, config)
		}
		if test.check {
			checked["Check"] = config.Check(test.views)
		}
		if test.new {
			_, checked["Predict"] = fitted.Predict(t.Context(), test.views)
			_, checked["Novelty"] = fitted.Novelty(t.Context(), test.views)
			_, checked["Transform"] = fitted.Transform(t.Context(), test.views)
		}
		for call, err := range checked {
			var input *InputError
			if !errors.As(err, &input) {
				t.Errorf("%s, %s: %v is no InputError", name, call, err)
				continue
			}
			if input.View != test.view || input.Row != test.row || input.Column != test.column || input.Err == nil {
				t.Errorf("%s, %s: %+v of view %d, row %d, column %d", name, call, err, input.View, input.Row, input.Column)
			}
		}
	}
	var input *InputError
	var field *FieldError
	if _, err := Fit(t.Context(), good, Config{Clusters: 200}); !errors.As(err, &field) || errors.As(err, &input) {
		t.Errorf("more clusters than samples: %v", err)
	}
	_, err = NewData(tensor.Float32, []mat.Matrix{mat.NewDense(2, 3, []float64{1, 2, 3, 4, math.Inf(1), 6})}, nil)
	if !errors.As(err, &input) || input.View != 0 || input.Row != 1 || input.Column != 1 {
		t.Errorf("NewData: %v", err)
	}
}

// panickingRows panics in ReadRows.
type panickingRows struct{}

func (panickingRows) Dims() (n, d int) { return 20, 3 }

func (panickingRows) ReadRows(context.Context, int, []float32) error {
	panic("a mistake\nin two lines")
}

// TestPanicErrors: what panics in code of the caller's is a PanicError with a message of one line and the stack behind %+v, and
// no InputError.
func TestPanicErrors(t *testing.T) {
	good, _ := blobViews(20, 2, 1, 9, 4, 3)
	config := Config{Clusters: 2, Epochs: 1}
	fitted, err := Fit(t.Context(), good, config)
	if err != nil {
		t.Fatal(err)
	}
	views := []View{good[0], RowsView(panickingRows{})}
	lossy := config
	lossy.ExtraLoss = func(Network) (*gorgonia.Node, error) { panic("a mistake\nin two lines") }
	checked := map[string]error{}
	_, checked["Fit"] = Fit(t.Context(), views, config)
	_, checked["Predict"] = fitted.Predict(t.Context(), views)
	_, checked["ExtraLoss"] = Fit(t.Context(), good, lossy)
	for call, err := range checked {
		var p *PanicError
		var input *InputError
		if !errors.As(err, &p) || errors.As(err, &input) {
			t.Errorf("%s: %v is no PanicError", call, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "panic: a mistake; in two lines") || strings.Contains(text, "\n") {
			t.Errorf("%s: the message is %q", call, text)
		}
		text := fmt.Sprintf("%+v", p)
		if !strings.HasPrefix(text, p.Error()+"\n") || !strings.Contains(text, "fit_errors_test.go") {
			t.Errorf("%s: with its stack it is %q", call, text)
		}
	}
}

// movingRows gives one row other values at each read.
type movingRows struct {
	heldRows
	row   int
	reads atomic.Int64
}

func (r *movingRows) ReadRows(ctx context.Context, first int, dst []float32) error {
	if err := r.heldRows.ReadRows(ctx, first, dst); err != nil {
		return err
	}
	if k := (r.row - first) * r.d; k >= 0 && k < len(dst) {
		dst[k+1] += float32(r.reads.Add(1))
	}
	return nil
}

// TestMovingSource: a source whose rows are not the same at each read is an error that names view and row, wherever rows are
// kept.
func TestMovingSource(t *testing.T) {
	const n = 3000
	held, _, sources := outside(n, 90, 60)
	for name, c := range map[string]Config{
		"default": {}, "paper": paper(Config{}), "some": {FitSamples: 500},
		"recomputed": paper(Config{Machine: machine.Options{MaxMemory: 64 << 20, Workers: 2, Device: machine.CPU}}),
	} {
		c.Clusters, c.Epochs = 3, 2
		const row = 7 * n / 16 // one of those that are read again where rows are kept in memory
		r := &movingRows{row: row}
		r.n, r.d, r.x = n, 60, sources[1].x
		_, err := fitAlone(t.Context(), []View{held[0], RowsView(r).Named("sensor")}, c)
		var wrong *InputError
		if !errors.As(err, &wrong) || wrong.View != 1 || wrong.Row != row ||
			!strings.Contains(err.Error(), fmt.Sprintf("view 1 (sensor), row %d: its source gives other values", row)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Rows that a view lacks may hold anything.
	present := slices.Repeat([]bool{true}, n)
	present[100] = false
	r := &movingRows{row: 100}
	r.n, r.d, r.x = n, 60, sources[1].x
	c := Config{Clusters: 3, Epochs: 2, Neighborhood: Neighborhood{Exact: None}}
	if _, err := fitAlone(t.Context(), []View{held[0], RowsView(r).WithPresent(present)}, c); err != nil {
		t.Error(err)
	}
}

// A new sample that is too large to compute with is named by its view, its number among all and the feature, also if it lacks the
// first view, and in a block of rows that are read.
func TestPredictOfLargeValues(t *testing.T) {
	const n, d, large = 600, 6, 407
	held, _ := blobViews(60, 3, 0.5, 1, 8, d)
	c := paper(Config{Clusters: 3, Epochs: 2})
	c.Preprocess = None
	p := mustFit(t, held, c).Predictor
	first, x, present := make([]float64, n*8), slices.Repeat([]float64{1}, n*d), slices.Repeat([]bool{true}, n)
	x[large*d+4], present[large] = 1e19, false
	for name, v := range map[string]View{"dense": DenseView(n, d, x), "outside": RowsView(testutil.NewSource(n, d, x))} {
		_, err := p.Assign(t.Context(), []View{DenseView(n, 8, first).WithPresent(present), v})
		var in *InputError
		if !errors.As(err, &in) || in.View != 1 || in.Row != large || in.Column != 4 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInfiniteLossDiverges: a loss that is not finite from the start is no training that ended well, and no unreadable model.
func TestInfiniteLossDiverges(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 154, 5, 5)
	for _, epochs := range []int{3, None} {
		for _, value := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			c, err := Fit(t.Context(), views, Config{Clusters: 3, Epochs: epochs, NoStructure: true,
				ExtraLoss: func(n Network) (*gorgonia.Node, error) {
					return gorgonia.NewScalar(n.Env().G, gorgonia.Float32, gorgonia.WithName("extra"),
						gorgonia.WithValue(float32(value))), nil
				}})
			var diverged *DivergedError
			if !errors.As(err, &diverged) || c != nil {
				t.Errorf("%d epochs, loss %v: %v, %v", epochs, value, c, err)
			}
		}
	}
}
