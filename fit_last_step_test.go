package largemvc

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/op"
)

// leaving is a loss that becomes NaN when θ_1 passes a limit, to which it drives it: by about the learning rate a step from 0.01.
func leaving(limit float64) func(Network) (*Node, error) {
	return func(net Network) (*Node, error) {
		return gorgonia.Log(must(gorgonia.Sub(constantOf(net, limit), net.Learnables()[0])))
	}
}

// lastStep is a fit that diverges by its last step alone, what a longer one gives of the same training, and the step.
func lastStep(t *testing.T, views []View, c Config) (short Config, want *Clustering, step int) {
	t.Helper()
	want, err := Fit(context.Background(), views, c)
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
		"rate":       {LearningRate: 100},
		"loss":       {ExtraLoss: exploding, LearningRate: 1},
		"NaN":        {ExtraLoss: leaving(0.055)},
		"NaN, early": {ExtraLoss: leaving(0.055), Tolerance: 1e-9, Patience: 40, Float64: true},
	} {
		c.Clusters, c.Epochs, c.Neighborhood = 3, 50, Neighborhood{Neighbors: neighbors}
		c, want, step := lastStep(t, views, c)
		got, err := Fit(context.Background(), views, c)
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
			got, err := Fit(ctx, views, c)
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
		got, err := Fit(context.Background(), views, c)
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
		"rate": {LearningRate: 1e10},
		"leap": {Represent: &leaping{after: 6, steps: new(int)}, Noise: &NoNoise{}, Float64: true},
	} {
		c.Clusters, c.Epochs, c.Neighborhood = 3, 20, Neighborhood{Neighbors: neighbors}
		c, want, step := lastStep(t, views, c)
		if leap, ok := c.Represent.(*leaping); ok {
			if *leap.steps = 0; step != 6 {
				t.Errorf("%s: step %d", name, step)
			}
		}
		got, err := Fit(context.Background(), views, c)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || diverged.Epoch != step || diverged.Err == nil || got == nil || got.Status != Diverged {
			t.Fatalf("%s: %v, %v", name, got, err)
		}
		sameResult(t, want, got)
		checkResult(t, views, got)
	}
}
