package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"
)

// takenOf are some samples of views.
func takenOf(views []View, samples []int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		out[v] = x.Take(samples)
	}
	return out
}

// drawByHand is the draw of a fit on some of n samples, and which it is, from fits of each draw by the front door.
func drawByHand(t *testing.T, views []View, n int, c Config) (drawn []int, draw int) {
	t.Helper()
	stream := func(k uint64, m int) []int { return rows.Sample(rand.New(rand.NewPCG(c.Seed, 0x73616d70+k)), n, m) }
	compared := takenOf(views, stream(3, min(c.FitSamples, 5000)))
	var sets, labels [3][]int
	for d := range sets {
		sets[d] = stream(uint64(d), c.FitSamples)
		begin := onDrawn(c, n)
		begin.Epochs = None
		a, err := mustFit(t, takenOf(views, sets[d]), begin).Assign(context.Background(), compared)
		if err != nil {
			t.Fatal(err)
		}
		labels[d] = a.Labels
	}
	var sums [3]float64
	for d := range labels {
		for e := range labels {
			nmi, err := nmiOf(labels[min(d, e)], labels[max(d, e)])
			if err != nil {
				t.Fatal(err)
			}
			if e != d {
				sums[d] += nmi
			}
		}
	}
	for d, x := range sums {
		if x > sums[draw]+1e-12 {
			draw = d
		}
	}
	return sets[draw], draw
}

// onDrawn is the configuration of a fit of what was drawn of n samples.
func onDrawn(c Config, n int) Config {
	full := c.WithDefaults()
	full.forSamples(n)
	c.FitSamples, c.Neighborhood = 0, full.Neighborhood
	return c
}

// A fit on a sample trains on the draw whose start is most like those of the others, as fits of the three by hand say, for any
// number of goroutines, and goes on from a checkpoint on the same draw.
func TestDraws(t *testing.T) {
	const n, k = 900, 150
	ctx := context.Background()
	others := 0 // draws that are not the first
	for _, preset := range []defaults{byDefault, asPaper} {
		for seed := range uint64(3) {
			views, _ := blobViews(n, 5, 2.5, seed, 12, 9)
			c := preset.of(Config{Clusters: 5, Epochs: 6, FitSamples: k, Seed: seed + 1})
			drawn, draw := drawByHand(t, views, n, c)
			byHand := mustFit(t, takenOf(views, drawn), onDrawn(c, n))
			want, err := byHand.Assign(ctx, views)
			if err != nil {
				t.Fatal(err)
			}
			check := func(name string, got *Clustering, err error) {
				t.Helper()
				if err != nil || !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, byHand.Loss) {
					t.Errorf("%v, seed %d, %s: not that of draw %d, %v", preset, seed, name, draw, err)
				}
			}
			for _, workers := range []int{1, 2, 5} {
				c.Machine.Workers = workers
				got, err := fitAlone(ctx, views, c)
				check("fit", got, err)
			}
			if draw == 0 {
				continue
			}
			others++
			c.Checkpoint.Path = t.TempDir() + "/state"
			c.Progress = func(e Progress) error {
				if e.Epoch == 3 {
					return ErrStop
				}
				return nil
			}
			mustFit(t, views, c)
			got, err := Resume(ctx, views, c.Checkpoint.Path, nil)
			check("resumed", got, err)
			views, _ = blobViews(n, 5, 2.5, seed+10, 12, 9)
			if _, err := Resume(ctx, views, c.Checkpoint.Path, nil); err == nil {
				t.Error("a training went on with other samples")
			}
		}
	}
	if others < 2 {
		t.Errorf("%d draws are not the first", others)
	}
}

// A fit that is cancelled while draws are compared returns the error and nothing else, and leaves no checkpoint.
func TestDrawsCancelled(t *testing.T) {
	views, _ := blobViews(900, 5, 2.5, 1, 12, 9)
	c := Config{Clusters: 5, FitSamples: 150, Epochs: 2}
	c.Machine.Workers = 1
	c.Checkpoint.Path = t.TempDir() + "/state"
	filled := &run{config: completed(c, 900), views: inner(views)}
	const plenty = 1 << 40
	whole := newCountdown(plenty)
	_, err := filled.chooseDraw(whole, filled.startOfDraw)
	asked := plenty - whole.left.Load()
	if err != nil || asked < 100 {
		t.Fatalf("the context is asked %d times, %v", asked, err)
	}
	for q := range int64(10) {
		got, err := fitAlone(newCountdown(20+q*asked/10), views, c)
		if got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %d of %d: result %v, %v", 20+q*asked/10, asked, got != nil, err)
		}
		if _, err := readResumed(c.Checkpoint.Path); err == nil {
			t.Error("there is a checkpoint")
		}
	}
}

// A fit on drawn samples begins with the labels that were given for these samples.
func TestDrawsHaveTheirLabels(t *testing.T) {
	const n, k = 300, 60
	views, _ := blobViews(n, 3, 2.5, 1, 12, 9)
	c := paper(Config{Clusters: 3, Epochs: 2, FitSamples: k, Seed: 2, Float64: true})
	c.StartLabels = make([]int, n)
	for i := range c.StartLabels {
		c.StartLabels[i] = i / 7 % 3
	}
	got := mustFit(t, views, c)
	drawn := rows.Sample(rand.New(rand.NewPCG(c.Seed, 0x73616d70)), n, k)
	alone := onDrawn(c, n)
	alone.StartLabels = make([]int, k)
	for j, i := range drawn {
		alone.StartLabels[j] = c.StartLabels[i]
	}
	if want := mustFit(t, takenOf(views, drawn), alone); !slices.Equal(got.Loss, want.Loss) {
		t.Errorf("losses %v, of the drawn samples alone %v", got.Loss, want.Loss)
	}
}

// leaving is a loss that becomes NaN when θ_1 passes a limit, to which it drives it: by about the learning rate a step from 0.01.
func leaving(limit float64) func(Network) (*Node, error) {
	return func(net Network) (*Node, error) {
		return gorgonia.Log(must(gorgonia.Sub(constantOf(net, limit), net.Learnables()[0])))
	}
}

// lastStep is a fit that diverges by its last step alone, what a longer one gives of the same training, and the step.
func lastStep(t *testing.T, views []View, c Config) (short Config, want *Clustering, step int) {
	t.Helper()
	want, err := fitAlone(context.Background(), views, c)
	var diverged *DivergedError
	if !errors.As(err, &diverged) || want == nil || diverged.Epoch != want.Epochs+2 {
		t.Fatalf("%v: the loss after a step is to be of no use", err)
	}
	c.Epochs = want.Epochs + 1
	return c, want, c.Epochs
}

// A step that diverges is seen where it is the last one too: the result is the state before it.
func TestFitDivergesAtTheLastStep(t *testing.T) { withAndWithout(t, testFitDivergesAtTheLastStep) }

func testFitDivergesAtTheLastStep(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	for name, c := range map[string]Config{
		"rate":       {Optimizer: optim.Options{LearningRate: 100}},
		"loss":       {ExtraLoss: exploding, Optimizer: optim.Options{LearningRate: 1}},
		"NaN":        {ExtraLoss: leaving(0.055)},
		"NaN, early": {ExtraLoss: leaving(0.055), Tolerance: 1e-9, Patience: 40, Float64: true},
	} {
		c.Clusters, c.Epochs, c.Neighborhood = 3, 50, Neighborhood{Neighbors: neighbors}
		c, want, step := lastStep(t, views, c)
		got, err := fitAlone(context.Background(), views, c)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || diverged.Epoch != step || got == nil || got.Status != Diverged {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		if math.Abs(diverged.Loss) < 1e3 {
			t.Errorf("%s: %v", name, err)
		}
		sameResult(t, want, got)
		checkResult(t, views, got)
	}
}

// Who ends a training at a step that diverges gets the state before it with both reasons, and no other run begins; the checkpoint
// goes on with those.
func TestInterruptedAtAStepThatDiverges(t *testing.T) {
	withAndWithout(t, testInterruptedAtAStepThatDiverges)
}

func testInterruptedAtAStepThatDiverges(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	alone := Config{Clusters: 3, Epochs: 12, ExtraLoss: leaving(0.055), Neighborhood: Neighborhood{Neighbors: neighbors}}
	alone, want, step := lastStep(t, views, alone)
	own := errors.New("enough")
	for _, end := range []error{ErrStop, own, context.Canceled} {
		for _, restarts := range []int{1, 3} {
			ctx, cancel := context.WithCancel(context.Background())
			c := alone
			c.Epochs, c.Restarts = 12, restarts
			c.Checkpoint = Checkpoint{Path: filepath.Join(t.TempDir(), "state"), Every: 100}
			bad := restarts - 1
			if restarts > 1 {
				bad = 1
				c.ExtraLoss = func(net Network) (*Node, error) {
					if net.Env().Seed == 1 {
						return leaving(0.055)(net)
					}
					return leaving(1)(net)
				}
			}
			most := 0
			c.Progress = func(e Progress) error {
				if most = max(most, e.Restart); !e.Training() || e.Restart != bad || e.Epoch != step {
					return nil
				}
				if end == context.Canceled {
					cancel()
					return nil
				}
				return end
			}
			got, err := fitAlone(ctx, views, c)
			var diverged *DivergedError
			if errors.Is(err, end) != (end != ErrStop) || most != bad || got == nil {
				t.Fatalf("%v in run %d of %d: %v, %v", end, most, restarts, got, err)
			}
			if restarts == 1 {
				if !errors.As(err, &diverged) || diverged.Epoch != step || got.Status != Diverged {
					t.Errorf("%v: %v, %v", end, got, err)
				}
				sameResult(t, want, got)
			} else if errors.As(err, &diverged) || got.Restart != 0 || got.Epochs != 12 || got.Status == Diverged {
				t.Errorf("%v: run %d, %v, %v", end, got.Restart, got, err)
			}
			got, err = Resume(context.Background(), views, c.Checkpoint.Path, func(to *Config) { to.ExtraLoss = c.ExtraLoss })
			if restarts == 1 {
				if !errors.As(err, &diverged) || diverged.Epoch != step {
					t.Errorf("%v, resumed: %v, %v", end, got, err)
				}
				sameResult(t, want, got)
			} else if err != nil || got.Restart == bad || got.Status != EpochLimit {
				t.Errorf("%v, resumed: run %d, %v, %v", end, got.Restart, got, err)
			}
			cancel()
		}
	}
}

// A run that ends in NaN leaves the field to those that do not.
func TestRestartThatEndsInNaN(t *testing.T) { withAndWithout(t, testRestartThatEndsInNaN) }

func testRestartThatEndsInNaN(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	c := Config{Clusters: 3, Epochs: 12, ExtraLoss: leaving(0.055), Neighborhood: Neighborhood{Neighbors: neighbors}}
	c, _, _ = lastStep(t, views, c)
	c.Restarts = 3
	for bad := range uint64(3) {
		c.ExtraLoss = func(net Network) (*Node, error) {
			if net.Env().Seed == bad {
				return leaving(0.055)(net)
			}
			return leaving(1)(net)
		}
		got, err := fitAlone(context.Background(), views, c)
		if err != nil || got.Restart == int(bad) || got.Status != EpochLimit || math.IsNaN(last(got.Loss)) {
			t.Errorf("run %d ends in NaN: run %d, %v, %v", bad, got.Restart, got, err)
		}
	}
}

// leaping is the module of the paper whose R becomes so large after some steps that the pass after it cannot be computed.
type leaping struct {
	SoftThreshold
	after int
	steps *int // of all copies
}

func (l *leaping) Project() error {
	if *l.steps++; *l.steps == l.after {
		x := op.EntriesOf(l.R().Value())
		for i := range x.Len() {
			x.Set(i, 1e300)
		}
	}
	return l.SoftThreshold.Project()
}

// Where not even the loss after the last step can be computed, the epochs before it are not lost.
func TestPassAfterTheLastStepFails(t *testing.T) { withAndWithout(t, testPassAfterTheLastStepFails) }

func testPassAfterTheLastStepFails(t *testing.T, neighbors int) {
	views, _ := blobViews(60, 3, 0.8, 32, 6, 4)
	for name, c := range map[string]Config{
		"rate": {Optimizer: optim.Options{LearningRate: 1e10}},
		"leap": {Represent: &leaping{after: 6, steps: new(int)}, Noise: &NoNoise{}, Float64: true},
	} {
		c.Clusters, c.Epochs, c.Neighborhood = 3, 20, Neighborhood{Neighbors: neighbors}
		c, want, step := lastStep(t, views, c)
		if leap, ok := c.Represent.(*leaping); ok {
			if *leap.steps = 0; step != 6 {
				t.Errorf("%s: step %d", name, step)
			}
		}
		got, err := fitAlone(context.Background(), views, c)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || diverged.Epoch != step || diverged.Err == nil || got == nil || got.Status != Diverged {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		sameResult(t, want, got)
		checkResult(t, views, got)
	}
}

// spoilt is a configuration whose training takes the clusters apart: its steps are far too long.
func spoilt(config Config) Config {
	config.Clusters, config.Epochs, config.Optimizer.LearningRate = 4, 4, 2
	return config
}

// Where the clusters of the trained network have less information than those of the start, these are given, and the predictor has
// them too, saved, resumed or not.
func TestKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	views, classes := blobViews(120, 4, 0.5, 31, 20, 6)
	for name, config := range map[string]Config{
		"float32": {}, "float64": {Float64: true}, "landmarks": {Neighborhood: Neighborhood{Exact: None}},
		"plain rows": {PlainReadOut: true},
	} {
		config = spoilt(config)
		config.Checkpoint.Path = filepath.Join(t.TempDir(), "state")
		got := mustFit(t, views, config)
		if !got.Kept || !strings.Contains(got.String(), "initial clusters are kept") || !(got.TrainedScore < got.StartScore) {
			t.Fatalf("%s: %v, scores %v and %v", name, got, got.StartScore, got.TrainedScore)
		}
		said := fmt.Sprintf("score is %.4g, after training it is %.4g", got.StartScore, got.TrainedScore)
		diverged := strings.Contains(strings.Join(got.Notes[1:], ""), "the training diverged: the loss was")
		if rose := got.Loss[4] > max(got.Loss[0], got.NullLoss); rose != diverged || !strings.HasSuffix(got.Notes[0], said) {
			t.Errorf("%s: the notes %q do not say %q", name, got.Notes, said)
		}
		if acc := agree(t, got.Labels, classes); acc < 0.98 {
			t.Errorf("%s: ACC %v", name, acc)
		}
		if !samePartition(t, got.Labels, got.StartLabels) {
			t.Errorf("%s: other clusters than those of the start", name)
		}
		checkResult(t, views, got)
		h, err := got.Transform(ctx, views)
		if err != nil {
			t.Fatal(err)
		}
		if !mat.EqualApprox(h, got.H, 1e-5) {
			t.Errorf("%s: H of the samples as new ones differs", name)
		}
		var file bytes.Buffer
		if _, err := got.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		read, err := ReadPredictor(&file)
		if err != nil {
			t.Fatal(err)
		}
		samePredictor(t, got.Predictor, read)
		if labels, err := read.Predict(ctx, views); err != nil || !slices.Equal(labels, got.Labels) {
			t.Errorf("%s: the model that was read predicts other labels, %v", name, err)
		}
		resumed, err := Resume(ctx, views, config.Checkpoint.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameResult(t, got, resumed)
	}
}

// A start is kept neither where it cannot be compared, nor beside a custom module, nor where training is of use.
func TestNotKept(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(120, 4, 0.5, 31, 20, 6)
	missing, err := testutil.Masked(views, absent(120, 2, 0.2, 7))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		views  []View
		config Config
	}{
		"absent rows":   {missing, spoilt(Config{})},
		"more anchors":  {views, spoilt(Config{Anchors: 6})},
		"given labels":  {views, spoilt(Config{StartLabels: slices.Repeat([]int{0, 1, 2, 3}, 30)})},
		"one term":      {views, spoilt(Config{Neighborhood: Neighborhood{HeldOutWeight: None}})},
		"no neighbours": {views, spoilt(Config{Neighborhood: Neighborhood{Neighbors: None}})},
		"custom module": {views, spoilt(Config{Represent: &ownSoft{}})},
		"untrained":     {views, Config{Clusters: 4, Epochs: None}},
		"trained":       {views, Config{Clusters: 4}},
	} {
		got := mustFit(t, test.views, test.config)
		other := func(note string) bool {
			return !strings.HasPrefix(note, "the training diverged: ") && !strings.HasPrefix(note, "1 cluster for 4 that")
		}
		if got.Kept || strings.Contains(got.String(), "kept") || slices.ContainsFunc(got.Notes, other) {
			t.Errorf("%s: %v, %q", name, got, got.Notes)
		}
		if compared := got.StartScore != 0 || got.TrainedScore != 0; compared != (name == "trained") {
			t.Errorf("%s: scores %v and %v", name, got.StartScore, got.TrainedScore)
		}
	}
}

// A fit on some of the samples says as well that their start is kept.
func TestKeptOfSomeSamples(t *testing.T) {
	t.Parallel()
	views, _ := blobViews(240, 4, 0.5, 31, 20, 6)
	got := mustFit(t, views, spoilt(Config{FitSamples: 120}))
	if !got.Kept || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "Fit kept the initial clusters") {
		t.Errorf("kept %v, notes %q", got.Kept, got.Notes)
	}
}

func TestFitRestarts(t *testing.T) { withAndWithout(t, testFitRestarts) }

func testFitRestarts(t *testing.T, neighbors int) {
	views, _ := blobViews(200, 6, 1.5, 8, 10, 6)
	config := Config{
		Clusters: 6, Epochs: 10, KMeansStarts: 1, Seed: 2, Neighborhood: Neighborhood{Neighbors: neighbors},
		ExtraLoss: inCallersOrder, // an order by content would be of the first seed in all runs
	}
	var singles []*Clustering
	lowest := 0
	for r := range 4 {
		c := config
		c.Seed += uint64(r)
		singles = append(singles, mustFit(t, views, c))
		if last(singles[r].Loss) < last(singles[lowest].Loss) {
			lowest = r
		}
	}
	if lowest == 0 {
		t.Fatal("the first run is the best: the test shows nothing")
	}
	config.Restarts = 4
	best := mustFit(t, views, config)
	if best.Restart != lowest || !slices.Equal(best.Loss, singles[lowest].Loss) {
		t.Errorf(
			"kept run %d with losses to %v, want %d with %v",
			best.Restart, last(best.Loss), lowest, last(singles[lowest].Loss),
		)
	}
	sameMatrix(t, "H", best.H, singles[lowest].H)
	checkResult(t, views, best)

	// A run that is interrupted gives way to those that ended before it.
	ctx, cancel := context.WithCancel(context.Background())
	config.Progress = func(e Progress) error {
		if e.Restart == 3 && e.Epoch == 4 {
			cancel()
		}
		return nil
	}
	got, err := fitAlone(ctx, views, config)
	if !errors.Is(err, context.Canceled) || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	if got.Status != EpochLimit || got.Restart == 3 || got.Epochs != 10 {
		t.Errorf("%v after %d epochs in run %d", got.Status, got.Epochs, got.Restart)
	}
	checkResult(t, views, got)
}

// A run that diverges leaves the field to the others.
func TestFitRestartDiverges(t *testing.T) { withAndWithout(t, testFitRestartDiverges) }

func testFitRestartDiverges(t *testing.T, neighbors int) {
	views, _ := blobViews(80, 3, 0.5, 12, 10, 6)
	for bad := range 3 {
		runs := 0
		config := Config{
			Clusters: 3, Epochs: 20, Optimizer: optim.Options{LearningRate: 0.5}, Restarts: 3,
			Neighborhood: Neighborhood{Neighbors: neighbors},
			ExtraLoss: func(net Network) (*Node, error) {
				if runs++; runs == bad+1 {
					return exploding(net)
				}
				return gorgonia.HadamardProd(constantOf(net, 0), net.Learnables()[0])
			},
		}
		got, err := fitAlone(context.Background(), views, config)
		if err != nil || got.Restart == bad || got.Status != EpochLimit || got.Epochs != 20 || runs < 3 {
			t.Errorf(
				"run %d diverges: kept run %d of %d, %v after %d epochs: %v",
				bad, got.Restart, runs, got.Status, got.Epochs, err,
			)
		}
		checkResult(t, views, got)
	}
}

// Where the callback ends the fit at the anchors of a later run, the result is that of the runs before it.
func TestFitEndsInALaterRun(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	enough := errors.New("enough")
	for _, end := range []error{enough, ErrStop} {
		c := paper(Config{Clusters: 3, Epochs: 3, Restarts: 3})
		c.Progress = func(e Progress) error {
			if e.Phase == meter.Anchors.String() && e.Restart == 1 {
				return end
			}
			return nil
		}
		got, err := fitAlone(context.Background(), views, c)
		if got == nil || end == enough && !errors.Is(err, enough) || end == ErrStop && err != nil {
			t.Fatalf("%v: %v, result %v", end, err, got != nil)
		}
		if got.Restart != 0 || got.Status != EpochLimit || got.Epochs != 3 {
			t.Errorf("%v: run %d, %v after %d epochs", end, got.Restart, got.Status, got.Epochs)
		}
		checkResult(t, views, got)
	}
}

// Many clusters have few anchors by default; the labels are found all the same, with the same bits for any number of workers.
func TestManyClusters(t *testing.T) {
	const n, d, k = 1000, 24, 250
	rng, x := rand.New(rand.NewPCG(1, 9)), make([]float64, n*d)
	truth := make([]int, n)
	for i := range x {
		truth[i/d] = i / d % k
		x[i] = 8*rand.New(rand.NewPCG(uint64(i/d%k), uint64(i%d))).NormFloat64() + rng.NormFloat64()
	}
	views := []View{DenseView(n, d, x), DenseView(n, d, x)}
	c := Config{Clusters: k, Epochs: 3, Machine: machine.Options{Workers: 1}}
	one := mustFit(t, views, c)
	c.Machine.Workers = 3
	nmi, err := nmiOf(truth, one.Labels)
	if m := one.Config().Anchors; err != nil || nmi < 0.95 || m >= k || PaperConfig(k).WithDefaults().Anchors != k ||
		!slices.Equal(one.Labels, mustFit(t, views, c).Labels) {
		t.Errorf("%d anchors, NMI %v (%v), other labels with three workers, or few anchors in the paper's network", m, nmi, err)
	}
}
