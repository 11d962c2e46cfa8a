package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

func TestClusters(t *testing.T) {
	views, _ := blobViews(150, 4, 0.5, 50, 10, 6)
	masked, err := testutil.Masked(views, testutil.Absent(150, 2, 0.2, 50))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]largemvc.View{"complete": views, "masked": masked} {
		var seen []Choice
		choose := Config{Clusters: []int{2, 3, 4, 5, 7}, Samples: 80, Progress: func(done, of int, c Choice) error {
			if seen = append(seen, c); len(seen) != done || of != 5 {
				t.Errorf("%d of %d after %d calls", done, of, len(seen))
			}
			return nil
		}}
		config := largemvc.Config{
			Epochs: 8, Machine: machine.Options{Workers: 1}, Neighborhood: largemvc.Neighborhood{Neighbors: largemvc.None},
			Checkpoint: largemvc.Checkpoint{Path: t.TempDir() + "/never"},
		}
		got, err := Clusters(context.Background(), v, config, choose)
		if err != nil {
			t.Fatal(err)
		}
		if got.Suggested != 4 || len(got.Choices) != 5 || fmt.Sprint(seen) != fmt.Sprint(got.Choices) {
			t.Errorf("%s: suggested %d of %+v", name, got.Suggested, got.Choices)
		}
		four := got.Choices[2]
		for i, c := range got.Choices {
			if c.Clusters != choose.Clusters[i] || c.Found != c.Clusters || len(c.Sizes) != c.Found || !(c.Loss < 0) {
				t.Errorf("%s: %+v", name, c)
			}
			if i != 2 &&
				(c.Silhouette >= four.Silhouette || c.CalinskiHarabasz >= four.CalinskiHarabasz ||
					c.DaviesBouldin <= four.DaviesBouldin) {
				t.Errorf("%s: %d clusters look better than 4: %+v, %+v", name, c.Clusters, c, four)
			}
		}
		if four.SeedARI < 0.99 || got.Choices[4].SeedARI >= four.SeedARI {
			t.Errorf("%s: stability %v for 4, %v for 7", name, four.SeedARI, got.Choices[4].SeedARI)
		}
		if name == "complete" {
			continue
		}
		config.Machine.Workers, choose.Progress = 3, nil
		again, err := Clusters(context.Background(), v, config, choose)
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", again) {
			t.Errorf("%s: again, with other workers: %+v, %v", name, again, err)
		}
	}
}

// The fits of a number of clusters take the seeds that the restarts of one leave to the next.
func TestSeedsOfRestarts(t *testing.T) {
	views, _ := blobViews(40, 1, 1, 52, 5, 4)
	config := largemvc.Config{Clusters: 3, Epochs: 2, Neighborhood: largemvc.Neighborhood{Neighbors: largemvc.None}}
	var losses []float64
	for {
		fit, err := largemvc.Fit(t.Context(), views, config)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, last(fit.Loss)-fit.NullLoss)
		k := len(losses) - 4 // the first of four seeds of which the last is the best
		if k >= 0 && losses[k+3] < slices.Min(losses[k:k+3]) {
			config.Seed = uint64(k)
			break
		}
		if config.Seed++; config.Seed == 100 {
			t.Fatalf("no seed has a lower loss than the three before it: %v", losses)
		}
	}
	config.Restarts = 2
	got, err := Clusters(t.Context(), views, config, Config{Clusters: []int{3}, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if best := losses[len(losses)-1]; got.Choices[0].Loss != best {
		t.Errorf("the lowest loss of four seeds is %v, want %v", got.Choices[0].Loss, best)
	}
}

// The indices are those of the labels on the preprocessed views, and the stability that of the fits; these have no term for
// held-out prediction unless it is asked for.
func TestChooseByHand(t *testing.T) {
	for given, used := range map[float64]float64{0: largemvc.None, 2: 2} {
		chooseByHand(t, given, used)
	}
}

// chooseByHand compares a choice with the given HeldOutWeight with fits that have the one that it stands for.
func chooseByHand(t *testing.T, given, used float64) {
	t.Helper()
	views, _ := blobViews(60, 3, 1, 51, 7, 4)
	config := largemvc.Config{
		Epochs: 3, Seed: 9, Preprocess: largemvc.PreprocessZScore,
		Neighborhood: largemvc.Neighborhood{HeldOutWeight: given},
	}
	got, err := Clusters(context.Background(), views, config, Config{Clusters: []int{5}, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	config.Clusters, config.Neighborhood.HeldOutWeight = 5, used
	a := fitted(t, views, config)
	config.Seed = 10
	b := fitted(t, views, config)
	scores, err := largemvc.Evaluate(a.Labels, b.Labels)
	if err != nil {
		t.Fatal(err)
	}
	best := a
	if last(b.Loss) < last(a.Loss) {
		best = b
	}
	inner, err := contents(views)
	if err != nil {
		t.Fatal(err)
	}
	space, err := newIndexSpace(context.Background(), inner, &config, 60)
	if err != nil {
		t.Fatal(err)
	}
	for j := range 11 { // z-scores
		mean, square := 0.0, 0.0
		for i := range 60 {
			mean += space.x.At(i, j) / 60
			square += space.x.At(i, j) * space.x.At(i, j) / 60
		}
		if math.Abs(mean) > 1e-12 || math.Abs(square-1) > 1e-12 {
			t.Errorf("column %d has mean %v and square %v", j, mean, square)
		}
	}
	silhouette, err := score.Silhouette(context.Background(), space.x, best.Labels, score.SilhouetteConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := got.Choices[0]
	if c.SeedARI != scores.ARI || c.Silhouette != silhouette || c.Loss != last(best.Loss)-best.NullLoss ||
		!slices.Equal(c.Sizes, best.Sizes) || got.Suggested != 5 {
		t.Errorf("%+v, suggested %d; want stability %v, silhouette %v", c, got.Suggested, scores.ARI, silhouette)
	}
	one, err := Clusters(context.Background(), views, config, Config{Clusters: []int{2, 3}, Seeds: 1})
	if err != nil || !math.IsNaN(one.Choices[0].SeedARI) || one.Suggested == 0 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestSuggest(t *testing.T) {
	nan := math.NaN()
	for name, x := range map[string]struct {
		silhouette, stability []float64
		want                  int
	}{
		"peak":                   {[]float64{0.2, 0.5, 0.3}, []float64{1, 1, 1}, 3},
		"the higher of two near": {[]float64{0.2, 0.5, 0.3, 0.45, 0.1}, []float64{1, 1, 1, 0.9, 1}, 5},
		"not if much lower":      {[]float64{0.2, 0.5, 0.3, 0.4, 0.1}, []float64{1, 1, 1, 1, 1}, 3},
		"nor if unstable":        {[]float64{0.2, 0.5, 0.3, 0.45, 0.1}, []float64{1, 1, 1, 0.7, 1}, 3},
		"falling":                {[]float64{0.5, 0.4, 0.3}, []float64{1, 1, 1}, 2},
		"rising":                 {[]float64{0.3, 0.4, 0.5}, []float64{1, 1, 1}, 4},
		"rising, unstable":       {[]float64{0.3, 0.4, 0.5}, []float64{1, 1, 0.1}, 3},
		"all unstable":           {[]float64{0.3, 0.5, 0.4}, []float64{0.1, 0.1, 0.1}, 3},
		"one fit each":           {[]float64{0.3, 0.5, 0.4}, []float64{nan, nan, nan}, 3},
		"no silhouette":          {[]float64{nan, nan}, []float64{1, 1}, 0},
		"some":                   {[]float64{nan, 0.1, nan}, []float64{1, 1, 1}, 3},
		"negative":               {[]float64{-0.3, -0.2, -0.25}, []float64{1, 1, 1}, 3},
		"nothing":                {nil, nil, 0},
	} {
		c := &Choices{Suggested: 99}
		for i, s := range x.silhouette {
			c.Choices = append(c.Choices, Choice{Clusters: i + 2, Silhouette: s, SeedARI: x.stability[i], GapShare: nan})
		}
		if c.suggest(); c.Suggested != x.want {
			t.Errorf("%s: suggested %d, want %d", name, c.Suggested, x.want)
		}
	}
}

func TestChooseEnds(t *testing.T) {
	views, _ := blobViews(40, 3, 0.5, 52, 6, 4)
	config := largemvc.Config{Epochs: 2}
	own := errors.New("enough")
	for _, end := range []error{largemvc.ErrStop, own} {
		got, err := Clusters(
			context.Background(), views, config,
			Config{Progress: func(done, _ int, _ Choice) error {
				if done == 3 {
					return end
				}
				return nil
			}},
		)
		if (end == own) != errors.Is(err, own) || len(got.Choices) != 3 || got.Suggested == 0 {
			t.Errorf("stopped by %v: %+v, %v", end, got, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	got, err := Clusters(ctx, views, config, Config{Progress: func(done, _ int, _ Choice) error {
		if done == 2 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || got == nil || len(got.Choices) != 2 {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	three, _ := blobViews(3, 3, 0.5, 53, 6)
	if got, err := Clusters(context.Background(), three, config, Config{}); err != nil || len(got.Choices) != 1 ||
		got.Choices[0].Clusters != 2 {
		t.Errorf("three samples: %+v, %v", got, err)
	}
	two, _ := blobViews(2, 2, 0.5, 53, 6)
	for name, x := range map[string]struct {
		views  []largemvc.View
		config largemvc.Config
		choose Config
	}{
		"two samples":   {two, config, Config{}},
		"no views":      {nil, config, Config{}},
		"one cluster":   {views, config, Config{Clusters: []int{1, 2}}},
		"n clusters":    {views, config, Config{Clusters: []int{2, 40}}},
		"twice":         {views, config, Config{Clusters: []int{2, 2}}},
		"none":          {views, config, Config{Clusters: []int{}}},
		"seeds":         {views, config, Config{Seeds: -1}},
		"samples":       {views, config, Config{Samples: -1}},
		"configuration": {views, largemvc.Config{Layers: -1}, Config{}},
		"NaN": {
			[]largemvc.View{largemvc.DenseView(40, 1, slices.Repeat([]float64{math.NaN()}, 40))}, config,
			Config{},
		},
	} {
		if got, err := Clusters(context.Background(), x.views, x.config, x.choose); got != nil || err == nil ||
			!strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// After an early end, the highest number that was tried is not clear: higher ones were to be tried.
func TestEndAtTheHighestTried(t *testing.T) {
	views, _ := blobViews(200, 3, 0.3, 52, 6, 4)
	for _, c := range []struct {
		numbers []int
		clear   bool
	}{{[]int{3}, true}, {[]int{3, 4}, false}} {
		got, err := Clusters(t.Context(), views, largemvc.Config{Epochs: 2}, Config{Clusters: c.numbers, Seeds: 1,
			Progress: func(int, int, Choice) error { return largemvc.ErrStop }})
		if err != nil || got.Suggested != 3 || got.Clear != c.clear {
			t.Errorf("%v: %v, %v", c.numbers, got, err)
		}
	}
}

// More neighbours than there are samples are all samples, without an overflow.
func TestClustersOfManyNeighbors(t *testing.T) {
	views, _ := blobViews(60, 3, 0.3, 52, 6, 4)
	var of [2]*Choices
	for i, count := range []int{1000, math.MaxInt} {
		config := largemvc.Config{Epochs: 2, Neighborhood: largemvc.Neighborhood{Neighbors: count}}
		var err error
		if of[i], err = Clusters(t.Context(), views, config, Config{Clusters: []int{2, 3, 4}, Seeds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if of[1].Suggested != 3 || of[1].Choices[1].GapShare != of[0].Choices[1].GapShare {
		t.Errorf("%v\nwith 1000:\n%v", of[1], of[0])
	}
}

// A number of clusters that Fit would refuse is refused before the first fit; numbers that are not given are ones that it takes.
func TestClustersOfFitSamples(t *testing.T) {
	ctx := context.Background()
	views, _ := blobViews(40, 3, 0.5, 52, 6, 4)
	config := largemvc.Config{Epochs: 2, FitSamples: 3, Progress: func(largemvc.Progress) error {
		t.Error("there was a fit")
		return largemvc.ErrStop
	}}
	got, err := Clusters(ctx, views, config, Config{Clusters: []int{2, 3, 4}})
	want := "largemvc: Clusters is 4, want 1 to the number of samples that are trained on, 3"
	if got != nil || err == nil || err.Error() != want {
		t.Errorf("%v, %v", got, err)
	}
	config.FitSamples, config.Progress = 5, nil
	got, err = Clusters(ctx, views, config, Config{Seeds: 1})
	if err != nil || len(got.Choices) != 3 || got.Choices[2].Clusters != 4 {
		t.Errorf("%v, %v", got, err)
	}
}

// The median of the eigengaps is the number of classes, or one away, on these sets, without any fit.
func TestGapSharesOfRealSets(t *testing.T) {
	testutil.Long(t, "it reads and clusters public sets")
	var clusters []int
	for k := 2; k <= 12; k++ {
		clusters = append(clusters, k)
	}
	for name, classes := range map[string]int{"msrcv1": 7, "20newsgroups": 5} {
		views, _ := realSet(t, name)
		c := largemvc.Config{Clusters: 2}.WithDefaults()
		gaps, err := gapShares(context.Background(), views, &c, clusters)
		if err != nil {
			t.Fatal(err)
		}
		found := &Choices{}
		for i, k := range clusters {
			found.Choices = append(found.Choices, Choice{Clusters: k, GapShare: gaps[i]})
		}
		if found.suggest(); found.Suggested < classes-1 || found.Suggested > classes+1 {
			t.Errorf("%s: suggested %d, it has %d classes: %v", name, found.Suggested, classes, gaps)
		}
	}
}

// TestSuggestByNeighbors takes the median of the shares; their spread, the loss and the structure say whether it stands out.
func TestSuggestByNeighbors(t *testing.T) {
	nan, clear := math.NaN(), score.StructureClear
	unknown, weak := score.StructureUnknown, score.StructureWeak
	for name, x := range map[string]struct {
		loss, share []float64 // from 2 clusters on
		judged      score.Judgement
		want        int
		clear       bool
	}{
		"the same":           {[]float64{-1, -1.2, -1.1}, []float64{0.1, 0.8, 0.1}, clear, 3, true},
		"next to each other": {[]float64{-1, -1.1, -1.2, -1}, []float64{0, 1, 0, 0}, clear, 3, true},
		"apart":              {[]float64{-1.2, -1, -1, -1}, []float64{0, 0, 1, 0}, clear, 4, false},
		"weak clusters":      {[]float64{-1, -1.2, -1.1}, []float64{0, 1, 0}, weak, 3, false},
		"the highest number": {[]float64{-1, -1.1, -1.2}, []float64{0, 0.4, 0.6}, clear, 4, false},
		"only one number":    {[]float64{-1}, []float64{1}, clear, 2, true},
		"not judged":         {[]float64{-1, -1.2, -1.1}, []float64{0.2, 0.7, 0.1}, unknown, 3, false},
		"few samples":        {[]float64{-1, -1.2, -1.1}, []float64{1, nan, nan}, clear, 2, true},
		"between two": {
			[]float64{-1, -1, -1.1, -1, -1, -1}, []float64{0.45, 0, 0.1, 0, 0.45, 0}, clear, 4, false,
		},
		"half and half": {[]float64{-1.2, -1, -1, -1}, []float64{0.5, 0, 0.5, 0}, clear, 2, true},
	} {
		c := &Choices{byLoss: true}
		for i := range x.loss {
			c.Choices = append(c.Choices, Choice{
				Clusters: i + 2, Loss: x.loss[i], Structure: score.Structure{Judgement: x.judged},
				GapShare: x.share[i], Gap: nan, Silhouette: nan,
				SeedARI: nan,
			})
		}
		if c.suggest(); c.Suggested != x.want || c.Clear != x.clear || len(c.Reasons) == 0 {
			t.Errorf("%s: suggested %d, clear %v, for %q", name, c.Suggested, c.Clear, c.Reasons)
		}
	}
}

// TestGaps wants the spectrum of clusters far apart to say how many they are: in all samples, in some of them, and where samples
// lack views; and the mean of graphs to be theirs.
func TestGaps(t *testing.T) {
	ctx, clusters := context.Background(), []int{2, 3, 4, 5}
	few, _ := blobViews(90, 3, 0.3, 8, 9, 6)
	many, _ := blobViews(shareSamples+200, 3, 0.3, 8, 9, 6)
	masked, err := testutil.Masked(few, testutil.Absent(90, 2, 0.3, 5))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string][]largemvc.View{"few": few, "many": many, "masked": masked} {
		c := largemvc.Config{Clusters: 3, Seed: 2}.WithDefaults()
		for kind, of := range map[string]func(context.Context, []largemvc.View, *largemvc.Config, []int) ([]float64, error){
			"shares": gapShares, "of the fit": eigengaps,
		} {
			gaps, err := of(ctx, x, &c, clusters)
			if err != nil {
				t.Fatal(err)
			}
			for i, gap := range gaps {
				if i != 1 && !(gap < gaps[1]) || !(gap >= -1e-6 && gap <= 1) {
					t.Errorf("%s, %s: gaps %v", name, kind, gaps)
				}
			}
		}
	}
	c := largemvc.Config{Clusters: 3}.WithDefaults()
	found, err := spectra(ctx, few, &c, 6, []int{5, 7, 10, 14, 20})
	if err != nil {
		t.Fatal(err)
	}
	got, err := gapShares(ctx, few, &c, clusters)
	if want := shares(found, clusters); err != nil || !slices.Equal(got, want) {
		t.Errorf("shares %v, %v, want those of graphs of 5 to 20 neighbours, %v", got, err, want)
	}
	c = largemvc.PaperConfig(3).WithDefaults()
	if gaps, err := gapShares(ctx, few, &c, clusters); err != nil || len(gaps) != 4 || !math.IsNaN(gaps[0]) {
		t.Errorf("without neighbours: %v, %v", gaps, err)
	}
}

// Samples that are there many times count once: fourteen different ones in two groups are no fourteen clusters. Where hardly any
// differ, numbers of clusters have no gap, and nothing fails.
func TestGapsOfEqualSamples(t *testing.T) {
	for distinct, want := range map[int]int{14: 2, 6: 2, 3: 0, 1: 0} {
		rng := rand.New(rand.NewPCG(5, 3))
		var x []float64
		for k := range distinct {
			for range 3 {
				x = append(x, 20*float64(k%2)+rng.NormFloat64())
			}
		}
		x = slices.Repeat(x, 40)
		c := largemvc.Config{Clusters: 2}.WithDefaults()
		clusters := []int{2, 3, 4, 5}
		gaps, err := gapShares(context.Background(), float64Views([][]float64{x}, 3), &c, clusters)
		if err != nil {
			t.Fatalf("%d: %v", distinct, err)
		}
		found := &Choices{}
		for i, k := range clusters {
			found.Choices = append(found.Choices, Choice{
				Clusters: k, GapShare: gaps[i], Gap: math.NaN(), Silhouette: math.NaN(),
			})
		}
		if found.suggest(); want > 0 && found.Suggested != want {
			t.Errorf("%d different samples: suggested %d of %v", distinct, found.Suggested, gaps)
		}
	}
}

// TestShares wants the mean of the shares of the squares, without spectra that have no gap and beyond the last eigenvalue.
func TestShares(t *testing.T) {
	got := shares([][]float64{{1, 0.9, 0.7, 0.6}, {1, 1, 1, 1}, {1, 1, 0.5, 0.5}}, []int{2, 3, 4})
	want := []float64{(4./5 + 1) / 2, (1. / 5) / 2, 0}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if none := shares([][]float64{{1, 1, 1}}, []int{2, 3}); !math.IsNaN(none[0]) || !math.IsNaN(none[1]) {
		t.Errorf("without a gap: %v", none)
	}
}

// TestStructureOfNumbers: the structure of a number is the structure of its first fit. Noise gives no number that stands out,
// and says why.
func TestStructureOfNumbers(t *testing.T) {
	x, _ := blobViews(90, 3, 0.5, 52, 6, 4)
	config := largemvc.Config{Clusters: 3, Epochs: 3, Seed: 1}
	got, err := Clusters(t.Context(), x, config, Config{Clusters: []int{3, 4}, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	config.Neighborhood.HeldOutWeight = largemvc.None
	if want := fitted(t, x, config).Structure; got.Choices[0].Structure != want || want.Judgement != score.StructureClear {
		t.Errorf("structure %v, want %v", got.Choices[0].Structure, want)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	noise := make([]float64, 200*9)
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	config = largemvc.Config{Epochs: 3}
	got, err = Clusters(t.Context(), float64Views([][]float64{noise}, 9), config, Config{Clusters: []int{2, 4, 6}, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if text := got.String(); got.Clear || !strings.Contains(text, "no number of clusters that was tried gives more than noise") {
		t.Errorf("noise: %s", text)
	}
	config.NoStructure = true
	got, err = Clusters(t.Context(), x, config, Config{Clusters: []int{2, 3}, Seeds: 1})
	if err != nil || got.Choices[0].Structure != (score.Structure{}) {
		t.Errorf("without a judgement: %v, %v", got, err)
	}
}
