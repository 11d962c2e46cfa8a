package largemvc

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/prepare"
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
