package largemvc

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
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
	far := make([]float64, 3)
	err := unexplained(t.Context(), p, from, views, far, func([]float64, int) {})
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

// TestConfidence wants low confidence in noise and high confidence in clusters, the same for any number of goroutines, from the
// predictor, and from a file.
func TestConfidence(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	clusters, _ := blobViews(400, 3, 0.1, 5, 8, 6)
	for name, c := range map[string]Config{"default": {}, "paper": PaperConfig(3), "drawn": {FitSamples: 200}} {
		if name == "paper" && !testutil.Slow {
			continue
		}
		c.Clusters, c.Epochs = 3, 2
		for _, views := range [][]View{noiseViews(400, 1, 20, 16), clusters} {
			var first *Clustering
			for _, workers := range []int{1, 3} {
				if first != nil && !testutil.Slow && name != "drawn" {
					break
				}
				c.Machine.Workers = workers
				got, err := Fit(ctx, views, c)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				} else if !slices.Equal(got.Confidence, first.Confidence) || *got.curve != *first.curve {
					t.Errorf("%s: %d goroutines change the confidence", name, workers)
				}
			}
			sorted := slices.Sorted(slices.Values(first.Confidence))
			if len(sorted) != 400 || sorted[0] < 0 || sorted[399] > 1 {
				t.Fatalf("%s: confidence of %d samples, %v", name, len(sorted), sorted)
			}
			if median := sorted[200]; first.Structure.Judgement == score.StructureNone && median > 0.35 ||
				first.Structure.Judgement == score.StructureClear && median < 0.95 {
				t.Errorf("%s, %v: the median confidence is %g", name, first.Structure, median)
			}
			checkConfident(t, first, views)
		}
	}
}

// checkConfident compares the confidence of a fit with the answers of its predictor and of a copy from a file, and with its
// memberships.
func checkConfident(t *testing.T, c *Clustering, views []View) {
	t.Helper()
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	read, err := ReadPredictor(&file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.Assign(t.Context(), views)
	if err != nil || !slices.Equal(got.Confidence, want.Confidence) {
		t.Errorf("the file has another confidence, %v", err)
	}
	members, err := read.Memberships(t.Context(), c.H)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range c.Confidence {
		row := members.RawRowView(i)
		own := max(c.curve.Chance+(1-c.curve.Chance)*x, 1/float64(c.Clusters))
		if math.Abs(want.Confidence[i]-x) > 1e-3 || math.Abs(floats.Sum(row)-1) > 1e-12 || math.Abs(slices.Max(row)-own) > 1e-6 {
			t.Fatalf("sample %d: confidence %g, of the predictor %g; memberships %v", i, x, want.Confidence[i], row)
		}
	}
	err = read.AssignRows(t.Context(), views, func(first int, a *Assignments) error {
		if !slices.Equal(a.Confidence, want.Confidence[first:first+len(a.Labels)]) {
			t.Errorf("from sample %d on, blocks have another confidence", first)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A fit without a judgement has neither confidence nor memberships.
func TestNoConfidence(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(60, 3, 0.1, 5, 8, 6)
	for name, c := range map[string]Config{"not asked for": {Clusters: 3, NoStructure: true}, "one cluster": {Clusters: 1}} {
		c.Epochs = 1
		got, err := Fit(t.Context(), views, c)
		if err != nil {
			t.Fatal(err)
		}
		a, err := got.Assign(t.Context(), views)
		if err != nil || a.Confidence != nil || got.Confidence != nil {
			t.Errorf("%s: confidence %v and %v, %v", name, got.Confidence, a.Confidence, err)
		}
		if _, err = got.Memberships(t.Context(), got.H); err == nil || !strings.Contains(err.Error(), "did not judge") {
			t.Errorf("%s: %v", name, err)
		}
		if (got.Outlier == nil) != c.NoStructure {
			t.Errorf("%s: %d samples are judged as outliers", name, len(got.Outlier))
		}
	}
}

func TestMembershipsOfWrongRows(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(120, 3, 0.1, 5, 8, 6)
	c, err := Fit(t.Context(), views, Config{Clusters: 3, Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	for want, h := range map[string]mat.Matrix{
		"is nil": nil, "is 2×4": mat.NewDense(2, 4, nil), "row 1": mat.NewDense(2, 3, []float64{1, 2, 3, 4, math.NaN(), 6}),
	} {
		if _, err := c.Memberships(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestOutliers wants 20 of 900 samples at 40 standard deviations to be marked, and hardly any other, also where the 20 make a
// cluster of their own.
func TestOutliers(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{false, true} {
		for name, c := range map[string]Config{"default": {}, "paper": PaperConfig(4), "drawn": {FitSamples: 300}} {
			if !testutil.Slow && together != (name == "paper") {
				continue
			}
			rng := rand.New(rand.NewPCG(6, 6))
			views, _ := blobViews(900, 4, 0.3, 5, 10, 8)
			far := rng.Perm(900)[:20]
			for _, i := range far {
				for v, x := range views {
					d := []int{10, 8}[v]
					for j := range d {
						step := 40 * 0.3
						if !together {
							step *= rng.NormFloat64()
						}
						x.in.F64[i*d+j] += step
					}
				}
			}
			c.Clusters, c.Epochs = 5, 2
			got, err := Fit(t.Context(), views, c)
			if err != nil {
				t.Fatal(err)
			}
			missed, wrong := 0, 0
			for i, out := range got.Outlier {
				switch planted := slices.Contains(far, i); {
				case planted && !out:
					missed++
				case out && !planted:
					wrong++
				}
			}
			if len(got.Outlier) != 900 || len(got.Remoteness) != 900 || missed > 0 || wrong > 880/20 {
				t.Errorf("%s, together %v: %d of 20 are missed, %d others marked", name, together, missed, wrong)
			}
		}
	}
}

// TestRowsInAnotherOrder wants a note where the rows of a view belong to other samples, and none where they belong together.
func TestRowsInAnotherOrder(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(300, 3, 0.1, 5, 8, 6)
	order := rand.New(rand.NewPCG(1, 2)).Perm(300)
	mixed := []View{views[0], views[1].Take(order)}
	incomplete, err := testutil.Masked(mixed, absent(300, 2, 0.5, 7))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string][]View{"in order": views, "mixed": mixed, "incomplete": incomplete} {
		got, err := Fit(t.Context(), x, Config{Clusters: 3, Epochs: 2})
		if err != nil {
			t.Fatal(err)
		}
		noted := strings.Contains(fmt.Sprint(got.Notes), "is row i the same sample in all views?")
		if noted != (name == "mixed") || name == "incomplete" && got.Structure.Agreement >= fewestAgree {
			t.Errorf("%s: %+v, notes %q", name, got.Structure, got.Notes)
		}
	}
}
