package largemvc

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// TestNovelty wants samples like those of the training to be spread from 0 to 1, whatever way they go through the model, and
// samples that are noise, or lie elsewhere, to be new.
func TestNovelty(t *testing.T) {
	all, _ := blobViews(600, 3, 0.6, 20, 12, 9)
	known, fresh := windows(all, 0, 300), windows(all, 300, 600)
	rng := rand.New(rand.NewPCG(4, 4))
	var noise []View
	for _, d := range []int{12, 9} {
		x := make([]float64, 100*d)
		for i := range x {
			x[i] = 6 * rng.NormFloat64()
		}
		noise = append(noise, DenseView(100, d, x))
	}
	for name, c := range map[string]Config{
		"exact":     {},
		"landmarks": {Neighborhood: Neighborhood{Exact: None}},
		"paper":     paper(Config{}),
		"rotated":   {Neighborhood: Neighborhood{Neighbors: None}},
		"zscore":    {Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessZScore},
	} {
		c.Clusters, c.Epochs, c.Float64 = 3, 5, name == "exact"
		fit := mustFit(t, known, c)
		quantile := func(views []View, share float64) float64 {
			x, err := fit.Novelty(context.Background(), views)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, a := range x {
				if !(a >= 0 && a <= 1) {
					t.Fatalf("%s: the novelty of sample %d is %v", name, i, a)
				}
			}
			slices.Sort(x)
			return x[int(share*float64(len(x)))]
		}
		for _, share := range []float64{0.25, 0.5, 0.75} {
			if got := quantile(fresh, share); math.Abs(got-share) > 0.15 {
				t.Errorf("%s: %g of new samples like the old have a novelty below %v", name, share, got)
			}
		}
		if median := quantile(noise, 0.5); median < 0.9 && name != "rotated" && name != "paper" {
			t.Errorf("%s: noise has the median novelty %v", name, median)
		}
		// It is saved, and does not depend on the number of goroutines or on how many samples there are at once.
		var b bytes.Buffer
		if _, err := fit.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		again, err := ReadPredictor(&b)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fit.Novelty(context.Background(), fresh)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Novelty(context.Background(), fresh)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: loaded, it says something else, %v", name, err)
		}
		one, err := fit.Novelty(context.Background(), windows(fresh, 7, 8))
		if err != nil || math.Abs(one[0]-want[7]) > 1e-9 {
			t.Errorf("%s: alone sample 7 has the novelty %v, among others %v, %v", name, one, want[7], err)
		}
	}
}

// TestNoveltyOverwritten wants the quantiles to be those of a fit that keeps the views.
func TestNoveltyOverwritten(t *testing.T) {
	for _, preset := range []defaults{byDefault, asPaper} {
		var found [][]float64
		for _, overwrite := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(3, 3))
			x := make([]float32, 80*6)
			for i := range x {
				x[i] = float32(rng.NormFloat64()) + 3*float32(i/6%2)
			}
			config := preset.of(Config{Clusters: 2, Epochs: 3, Machine: machine.Options{Overwrite: overwrite}})
			c := mustFit(t, []View{DenseView(80, 6, x)}, config)
			found = append(found, c.novelty)
		}
		if !slices.Equal(found[0], found[1]) || len(found[0]) != noveltySteps+1 {
			t.Errorf("%v: the quantiles differ where the views are overwritten", preset)
		}
	}
}

func TestNoveltyErrors(t *testing.T) {
	views, _ := blobViews(30, 3, 0.6, 20, 12)
	c := mustFit(t, views, Config{Clusters: 3, Epochs: 1})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Novelty(cancelled, views); err == nil {
		t.Error("a cancelled context is no error")
	}
	if _, err := c.Novelty(context.Background(), nil); err == nil {
		t.Error("no views are no error")
	}
}

func TestShareBelow(t *testing.T) {
	q := []float64{0, 1, 1, 3, 5}
	for x, want := range map[float64]float64{-1: 0, 0: 0, 0.5: 0.125, 1: 0.5, 2: 0.625, 5: 1, 6: 1} {
		if got := shareBelow(q, x); math.Abs(got-want) > 1e-15 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
	if got := quantilesOf([]float64{2}); got[0] != 2 || got[noveltySteps] != 2 {
		t.Errorf("the quantiles of one number are %v", got)
	}
}

// Without neighbours, what is not explained of a sample is the mean over the views that it has: all of each where H is 0.
func TestUnexplainedOfAbsentViews(t *testing.T) {
	p := &Predictor{config: Config{Anchors: 2}}
	var views []view.View
	present := [][]bool{{true, true, false}, {true, false, true}}
	for v, d := range []int{3, 2} {
		p.inputs, p.P = append(p.inputs, Input{View: v}), append(p.P, mat.NewDense(2, d, nil))
		views = append(views, view.View{Rows: 3, Cols: d, F64: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}[:3*d], Present: present[v]})
	}
	from := prepare.NewRows[float64](&prepare.Standardiser{Kind: prepare.Raw}, []int{3, 2})
	far, err := unexplained(t.Context(), p, from, views, func([]float64, int) {})
	if err != nil || !slices.Equal(far, []float64{1, 1, 1}) {
		t.Errorf("%v, %v, want 1 for each", far, err)
	}
}

// Views that few samples have together are noted, with the figures; others are not.
func TestNotesOnViewsThatNothingJoins(t *testing.T) {
	const n = 100
	views, _ := blobViews(n, 3, 0.5, 151, 6, 5, 4)
	views[0] = views[0].Named("pixels")
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = []bool{i%2 == 0, i%2 == 0, i%2 == 1}
	}
	mask[7][0] = true
	masked, err := testutil.Masked(views, mask)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Clusters: 3, Epochs: 1}
	got := mustFit(t, masked, config)
	want := "1 of 100 samples have both view 0 (pixels) or view 1 and view 2"
	if len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], want) {
		t.Errorf("%q, want %q", got.Notes, want)
	}
	for i := range mask {
		mask[i] = []bool{i%10 != 0, true, i%10 != 1}
	}
	if masked, err = testutil.Masked(views, mask); err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]View{views, views[:1], masked} {
		if got := mustFit(t, x, config); got.Notes != nil {
			t.Errorf("%q", got.Notes)
		}
	}
}

// Rows of noise and rows of other samples are trusted least, in the training samples and in new ones, before and after the model
// was saved, with exact neighbours and with landmarks, on any number of workers.
func TestViewTrust(t *testing.T) {
	const n, bad = 300, 20
	x, _ := topics(n, 6, 0.1, 152, 60, 50, 40)
	for i := range bad { // the rows of view 1 change places; those of view 2 after them are noise
		for c := range 50 {
			j := (i + 1) % bad
			if i < bad-1 {
				x[1][i*50+c], x[1][j*50+c] = x[1][j*50+c], x[1][i*50+c]
			}
		}
		for c := range 40 {
			x[2][(bad+i)*40+c] = 0.5 + 0.3*math.Sin(float64(i*i+7*c*c+i*c))
		}
	}
	views, _ := bothKinds[float32](x, 60, 50, 40)
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = []bool{i < 2*bad || i%9 > 0, true, true}
	}
	mask[n-1] = []bool{true, false, false}
	masked, err := testutil.Masked(views, mask)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, neighborhood := range map[string]Neighborhood{"exact": {}, "landmarks": {Exact: None}} {
		c := mustFit(t, masked, Config{
			Clusters: 6, Epochs: None, Machine: machine.Options{Workers: 1}, Neighborhood: neighborhood,
		})
		trust, err := c.ViewTrust(ctx, masked)
		if err != nil {
			t.Fatal(err)
		}
		named, others := 0, 0
		for i := range n {
			least := 0
			for v := range trust {
				if !(trust[v][i] >= 0 && trust[v][i] <= 1) {
					t.Fatalf("%s: trust %v of view %d of sample %d", name, trust[v][i], v, i)
				}
				if trust[v][i] < trust[least][i] {
					least = v
				}
			}
			switch {
			case i < bad && least == 1 || i >= bad && i < 2*bad && least == 2:
				named++
			case i >= 2*bad && trust[least][i] < 0.5:
				others++
			}
			if !mask[i][0] && trust[0][i] != 1 || i == n-1 && trust[0][i] != 1 {
				t.Errorf("%s: trust %v of an absent view, or of the only one, of sample %d", name, trust[0][i], i)
			}
		}
		t.Logf("%s: %d of %d named, %d others suspected", name, named, 2*bad, others)
		if named < 34 || others > 26 {
			t.Errorf("%s: %d of %d named, %d others suspected", name, named, 2*bad, others)
		}
		path := t.TempDir() + "/model"
		if err := c.Save(path); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		loaded.config.Machine.Workers = 3
		again, err := loaded.ViewTrust(ctx, masked)
		if err != nil {
			t.Fatal(err)
		}
		for v := range trust {
			for i := range trust[v] {
				if trust[v][i] != again[v][i] {
					t.Fatalf("%s: view %d of sample %d: %v, after loading %v", name, v, i, trust[v][i], again[v][i])
				}
			}
		}
	}
	plain := mustFit(t, views, paper(Config{Clusters: 6, Epochs: None}))
	if _, err := plain.ViewTrust(ctx, views); err == nil || !strings.Contains(err.Error(), "trained without") {
		t.Errorf("%v", err)
	}
	one := mustFit(t, views[:1], Config{Clusters: 6, Epochs: None})
	path := t.TempDir() + "/model"
	if err := one.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Predictor{one.Predictor, loaded} {
		if _, err := p.ViewTrust(ctx, views[:1]); err == nil || !strings.Contains(err.Error(), "only one view") {
			t.Errorf("%v", err)
		}
	}
	if saved, err := os.ReadFile(path); err != nil || bytes.Contains(saved, []byte("noise_mean.0")) {
		t.Errorf("the file of a model of one view has what its trust would need, or %v", err)
	}
}

// someKnown returns the labels of every step-th sample, −1 for the others.
func someKnown(labels []int, step int) []int {
	out := slices.Repeat([]int{-1}, len(labels))
	for i := 0; i < len(labels); i += step {
		out[i] = labels[i]
	}
	return out
}

// TestKnown wants a few known labels to give all samples their classes, by the fit, by its predictor and by the saved one alike,
// and nothing else of the fit to change.
func TestKnown(t *testing.T) {
	views, truth := blobViews(400, 3, 0.6, 20, 12, 9)
	fit400, fresh := windows(views, 0, 300), windows(views, 300, 400)
	for name, c := range map[string]Config{
		"exact": {}, "float64": {Float64: true}, "landmarks": {Neighborhood: Neighborhood{Exact: None}},
		"some are trained on": {FitSamples: 200},
	} {
		c.Clusters, c.Epochs = 3, 5
		plain := mustFit(t, fit400, c)
		c.Known = someKnown(truth[:300], 10)
		c.Known[30] = (truth[30] + 1) % 3 // a mistake
		c.Machine.Overwrite = true
		fit := mustFit(t, fit400, c)
		if !slices.Equal(plain.Labels, fit.Labels) || !mat.Equal(plain.H, fit.H) || plain.Classes != nil {
			t.Errorf("%s: known labels change the clusters or H", name)
		}
		found, wrong := fit.Classes, 0
		for i, l := range found.Labels {
			if known := c.Known[i] >= 0; known && (l != c.Known[i] || found.Confidence[i] != 1) {
				t.Errorf("%s: the known label of sample %d is changed", name, i)
			} else if !known && l != truth[i] {
				wrong++
			}
		}
		if wrong > 12 {
			t.Errorf("%s: %d of 270 classes are wrong", name, wrong)
		}
		if len(found.Suspects) == 0 || found.Suspects[0].Sample != 30 || found.Suspects[0].Found != truth[30] {
			t.Errorf("%s: the wrong known label is not the first suspect: %+v", name, found.Suspects)
		}
		for k, class := range found.Clusters {
			if i := slices.Index(fit.Labels, k); class < 0 || truth[i] != class {
				t.Errorf("%s: cluster %d has the class %d", name, k, class)
			}
		}
		fit.ClassNames = []string{"a", "b", "c"}
		var file bytes.Buffer
		if _, err := fit.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		loaded, err := ReadPredictor(&file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(loaded.ClassNames, fit.ClassNames) || loaded.Config().Known != nil {
			t.Errorf("%s: the loaded model has the names %q and labels %v", name, loaded.ClassNames, loaded.Config().Known)
		}
		for _, p := range []*Predictor{fit.Predictor, loaded} {
			again, err := p.Classify(t.Context(), fit400)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range again.Labels {
				if c.Known[i] < 0 && (l != found.Labels[i] || again.Confidence[i] != found.Confidence[i]) {
					t.Fatalf("%s: sample %d has class %d, of the predictor %d", name, i, found.Labels[i], l)
				}
			}
			again, err = p.Classify(t.Context(), fresh)
			if err != nil {
				t.Fatal(err)
			}
			wrong = 0
			for i, l := range again.Labels {
				if l != truth[300+i] {
					wrong++
				}
			}
			if wrong > 5 {
				t.Errorf("%s: %d of 100 new samples have a wrong class", name, wrong)
			}
		}
	}
}

// TestKnownSome: of classes that no sample is known to have there is a note, samples may lack views, and one label a class gives
// no confidence.
func TestKnownSome(t *testing.T) {
	views, truth := blobViews(240, 4, 0.6, 20, 12, 9)
	given := slices.Repeat([]int{-1}, 240)
	for _, class := range []int{0, 3} {
		given[slices.Index(truth, class)] = class
	}
	for v := range views {
		views[v] = views[v].WithPresent(func() []bool {
			out := make([]bool, 240)
			for i := range out {
				out[i] = i%3 != v || truth[i] == 0 && i < 12
			}
			return out
		}())
	}
	fit := mustFit(t, views, Config{Clusters: 4, Epochs: 5, Known: given})
	found := fit.Classes
	if found.Confidence != nil || !slices.Equal(found.Known, []int{1, 0, 0, 1}) {
		t.Errorf("confidence %v, known %v", found.Confidence, found.Known)
	}
	if i := slices.IndexFunc(found.Labels, func(l int) bool { return l != 0 && l != 3 }); i >= 0 {
		t.Errorf("sample %d gets the class %d, which has no known label", i, found.Labels[i])
	}
	notes := strings.Join(fit.Notes, "\n")
	for _, want := range []string{"the class 1, 2", "no class goes with cluster"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
	none := mustFit(t, views, Config{Clusters: 4, Epochs: 1})
	_, err := none.Classify(t.Context(), views)
	if err == nil || none.HasClasses() || !strings.Contains(err.Error(), "Config.Known") {
		t.Error(err)
	}
}

// TestKnownErrors wants what is wrong with known labels to be an error before any work.
func TestKnownErrors(t *testing.T) {
	views, truth := blobViews(60, 3, 0.6, 20, 12, 9)
	for want, c := range map[string]Config{
		"5 labels for 60 samples":        {Known: truth[:5]},
		"fewer than two classes":         {Known: make([]int, 60)},
		"Known[0] is -2":                 {Known: slices.Repeat([]int{-2}, 60)},
		"for Config.Known needs neighbo": {Known: truth, Neighborhood: Neighborhood{Neighbors: None}},
	} {
		c.Clusters = 3
		if _, err := fitAlone(t.Context(), views, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
