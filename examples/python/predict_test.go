// Package python holds a program in Python that labels samples by a saved model.
package python

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/optim"
)

// TestPredictInPython labels samples of the training and new ones by predict.py and wants the labels of the library.
func TestPredictInPython(t *testing.T) {
	python := testutil.Python(t)
	none := largemvc.Neighborhood{Neighbors: largemvc.None}
	double := largemvc.PaperConfig(0)
	double.Float64, double.Layers, double.Anchors = true, 3, 5
	for name, c := range map[string]largemvc.Config{
		"default":        {},
		"landmarks":      {Neighborhood: largemvc.Neighborhood{Exact: largemvc.None}},
		"few directions": {Neighborhood: largemvc.Neighborhood{Directions: 3, Neighbors: 4}},
		"paper":          largemvc.PaperConfig(0),
		"paper, float64": double,
		"no neighbours":  {Neighborhood: none},
		"zscore":         {Preprocess: largemvc.PreprocessZScore},
		"one neighbour":  {Neighborhood: largemvc.Neighborhood{Neighbors: 1}},
		"start kept":     {Optimizer: optim.Options{LearningRate: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "paper" || name == "no neighbours" || name == "one neighbour" || name == "few directions" {
				testutil.Long(t, "other cases run the same lines")
			}
			if kept := predictInPython(t, python, c); kept != (c.Optimizer.LearningRate > 0) {
				t.Errorf("the start is kept: %v", kept)
			}
		})
	}
}

// TestOtherModelsInPython wants models that predict.py does not know, and data that lack values, to be refused in a plain
// sentence, not to get wrong labels.
func TestOtherModelsInPython(t *testing.T) {
	testutil.Long(t, "it starts Python eight times")
	python := testutil.Python(t)
	for name, c := range map[string]largemvc.Config{
		"SELU":          {Represent: &largemvc.SoftThreshold{Activation: largemvc.SELU}},
		"one-sided":     {Represent: &largemvc.SoftThreshold{OneSided: true}},
		"no noise":      {Noise: &largemvc.NoNoise{}},
		"fixed anchors": {Noise: &largemvc.NoNoise{}, Anchor: &largemvc.FixedAnchors{}},
	} {
		_, model, data, _ := fitted(t, c)
		refuses(t, name, "it has other modules than these presets", python, model, data)
	}

	known, _, arrays := blobs(60, 90)
	present := make([][]bool, 60)
	for i := range present {
		present[i] = []bool{true, i%5 > 0}
	}
	absent, err := testutil.Masked(known, present)
	if err != nil {
		t.Fatal(err)
	}
	const wide = 1 << 20
	ptr, cols, values := make([]int, 61), []int32{}, []float64{}
	for i := range 60 {
		cols, values = append(cols, int32(i%3), int32(9+i*wide/60)), append(values, 5, 1)
		ptr[i+1] = len(cols)
	}
	sparse := []largemvc.View{largemvc.SparseView(60, wide, ptr, cols, values), known[1]}
	for want, views := range map[string][]largemvc.View{
		"it was trained on samples that lack views": absent, "it was trained on sparse views of very many features": sparse,
	} {
		for _, exact := range []int{0, largemvc.None} {
			config := largemvc.Config{Clusters: 3, Epochs: 2, Neighborhood: largemvc.Neighborhood{Exact: exact}}
			_, model, data := saved(t, views, arrays, config)
			refuses(t, fmt.Sprintf("%s, exact %d", want, exact), want, python, model, data)
		}
	}

	arrays[1].Data.([]float64)[300] = math.NaN() // of a new sample
	_, model, data := saved(t, known, arrays, largemvc.Config{Clusters: 3, Epochs: 2})
	refuses(t, "a value that lacks", "lacks values of view 1", python, model, data)
}

// refuses wants predict.py to end with a line that says why, and with no labels.
func refuses(t *testing.T, name, why, python, model, data string) {
	t.Helper()
	out, err := exec.Command(python, "predict.py", model, data).CombinedOutput()
	text := string(out)
	if err == nil || !strings.HasPrefix(text, "predict.py") || !strings.Contains(text, why) || strings.Count(text, "\n") != 1 {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
}

// fitted is a fit of some samples, the files of its model and of more samples, and these.
func fitted(t *testing.T, c largemvc.Config) (fit *largemvc.Clustering, model, data string, all []largemvc.View) {
	known, all, arrays := blobs(60, 90)
	c.Clusters, c.Epochs = 3, 5
	fit, model, data = saved(t, known, arrays, c)
	return fit, model, data, all
}

// saved is a fit, and the files of its model and of some arrays.
func saved(
	t *testing.T, views []largemvc.View, arrays []dataset.Array, c largemvc.Config,
) (fit *largemvc.Clustering, model, data string) {
	t.Helper()
	folder := t.TempDir()
	fit, err := largemvc.Fit(context.Background(), views, c)
	if err != nil {
		t.Fatal(err)
	}
	model, data = filepath.Join(folder, "model.safetensors"), filepath.Join(folder, "data.npz")
	if err := fit.Save(model); err != nil {
		t.Fatal(err)
	}
	if err := dataset.WriteNPZ(data, false, arrays...); err != nil {
		t.Fatal(err)
	}
	return fit, model, data
}

// predictInPython compares the labels of both, and says whether the model kept the clusters of its start.
func predictInPython(t *testing.T, python string, c largemvc.Config) bool {
	fit, model, data, all := fitted(t, c)
	out, err := exec.Command(python, "predict.py", model, data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	labels, err := fit.Predict(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	want := "sample,label\n"
	for i, l := range labels {
		want += fmt.Sprintf("%d,%d\n", i, l)
	}
	if string(out) != want {
		differ := 0
		got := strings.Split(string(out), "\n")
		for i, line := range strings.Split(want, "\n") {
			if i >= len(got) || got[i] != line {
				differ++
			}
		}
		t.Errorf("%d of %d lines differ", differ, len(labels)+1)
	}
	return fit.Kept
}

// blobs makes samples of three overlapping classes in two views, the second of few features: the first ones as views, all of
// them as views, and as arrays.
func blobs(first, n int) (known, all []largemvc.View, arrays []dataset.Array) {
	rng := rand.New(rand.NewPCG(2, 8))
	for v, d := range []int{9, 4} {
		centres, x := make([]float64, 3*d), make([]float64, n*d)
		for i := range centres {
			centres[i] = rng.NormFloat64()
		}
		for i := range x {
			x[i] = float64(float32(centres[i/d%3*d+i%d] + 0.7*rng.NormFloat64()))
			if i%d == 2 && i < first*d { // a feature that is constant in the training alone
				x[i] = 40
			}
		}
		name := fmt.Sprintf("X%d", v)
		known = append(known, largemvc.DenseView(first, d, x[:first*d]).Named(name))
		all = append(all, largemvc.DenseView(n, d, x).Named(name))
		arrays = append(arrays, dataset.Array{Name: name, Shape: []int{n, d}, Data: x})
	}
	return known, all, arrays
}
