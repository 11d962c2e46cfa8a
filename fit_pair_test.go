package largemvc

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/view"
)

// pairData are data, and a configuration, of which either training may be the better one, by the seed.
func pairData(seed uint64) ([]View, Config) {
	views, _ := blobViews(90, 4, 1.6, seed, 9, 6)
	return views, Config{Clusters: 4, Epochs: 15, LearningRate: 0.05, Neighborhood: Neighborhood{NeverKeep: true}}
}

// tellsOf returns the function by which a fit compares clusters.
func tellsOf(t *testing.T, views []View, c Config) func(labels []int) float64 {
	t.Helper()
	c = c.WithDefaults()
	c.forSamples(views[0].in.Rows)
	in, err := prepareInputs[float32](context.Background(), inner(views), &c)
	if err != nil {
		t.Fatal(err)
	}
	told := in.tells(&c)
	return func(labels []int) float64 {
		x, err := told(context.Background(), view.Along(in.order, labels))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// Of two trainings from one start, the one whose clusters have more information after a fifth of the epochs goes on, and the end
// with most information is the result, to the bits of a fit with that weight alone.
func TestTwoTrainings(t *testing.T) {
	t.Parallel()
	kept, left := map[float64]int{}, 0
	for seed := range uint64(16) {
		views, c := pairData(seed)
		told := tellsOf(t, views, c)
		alone := func(weight float64, epochs int) (*Clustering, float64) {
			c := c
			c.Neighborhood.Weight, c.Epochs = weight, epochs
			out := mustFit(t, views, c)
			return out, told(out.Labels)
		}
		a, ofA := alone(3, 3)
		b, ofB := alone(1, 3)
		const rounding = 1e-6
		ahead, behind, ofBehind := 3.0, b, ofB
		if ofB > ofA+rounding { // else the clusters are the same, and the first goes on
			ahead, behind, ofBehind = 1, a, ofA
		}
		want, most := alone(ahead, 12)
		if ofBehind > most+rounding {
			want = behind
			left++
		}
		got := mustFit(t, views, c)
		sameResult(t, want, got)
		kept[got.NeighborWeight]++
		once := c
		once.Neighborhood.OtherWeight = None
		if one := mustFit(t, views, once); one.NeighborWeight != 3 || one.Epochs != 15 {
			t.Errorf("trained once: weight %g, %d epochs", one.NeighborWeight, one.Epochs)
		}
	}
	if kept[3] == 0 || kept[1] == 0 || left == 0 {
		t.Errorf("the weights kept are %v, and %d times the training that did not go on: the test shows too little", kept, left)
	}
}

// A fit with two trainings that ends, or is stopped, in any epoch of either is resumed to the same bits, as often as may be.
func TestTwoTrainingsResumed(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		if leftOut(seed, 4) {
			continue
		}
		views, c := pairData(uint64(seed))
		want := mustFit(t, views, c)
		c.Checkpoint = Checkpoint{Path: filepath.Join(t.TempDir(), "state"), Every: 1}
		for at := 1; at < c.Epochs; at++ {
			if at > 1 {
				got := mustResume(t, views, killed(t, views, c, 0, at), func(c *Config) { c.Checkpoint.Path = "" })
				sameResult(t, want, got)
			}
			stopped := c
			stopped.Progress = func(e Epoch) error {
				if e.Epoch == at {
					return ErrStop
				}
				return nil
			}
			got, err := Fit(context.Background(), views, stopped)
			if err != nil || got.Status != Stopped || got.Epochs > at {
				t.Fatalf("stopped after %d epochs: %v, %v", at, got, err)
			}
			checkResult(t, views, got)
			again, err := Resume(context.Background(), views, c.Checkpoint.Path, func(c *Config) {
				c.Progress = func(e Epoch) error {
					if e.Epoch == at+1 {
						return ErrStop
					}
					return nil
				}
			})
			if err != nil {
				t.Fatalf("stopped after %d epochs, resumed for one: %v, %v", at, again, err)
			}
			sameResult(t, want, mustResume(t, views, c.Checkpoint.Path, nil))
			sameResult(t, want, mustResume(t, views, c.Checkpoint.Path, nil)) // it is over
		}
		longer := mustResume(t, views, c.Checkpoint.Path, func(c *Config) { c.Epochs = 25 })
		if longer.Epochs != want.Epochs+10 || longer.NeighborWeight != want.NeighborWeight ||
			!slices.Equal(longer.Loss[:want.Epochs], want.Loss[:want.Epochs]) {
			t.Errorf("trained on from %d epochs with weight %g: %d with %g", want.Epochs, want.NeighborWeight, longer.Epochs,
				longer.NeighborWeight)
		}
	}
}

// What is cancelled in the second training gives the first where its clusters have more information, and says that it was
// cancelled.
func TestTwoTrainingsCancelled(t *testing.T) {
	t.Parallel()
	weights := map[float64]int{}
	for seed := range uint64(8) {
		for _, at := range []int{4, 5} { // the first and the second epoch of the second training
			views, c := pairData(seed)
			ctx, cancel := context.WithCancel(context.Background())
			c.Progress = func(e Epoch) error {
				if e.Epoch == at {
					cancel()
				}
				return nil
			}
			got, err := Fit(ctx, views, c)
			if !errors.Is(err, context.Canceled) || got == nil || got.Status != Cancelled {
				t.Fatalf("%v, %v", got, err)
			}
			if want := map[float64]int{3: 3, 1: at - 3}[got.NeighborWeight]; got.Epochs != want {
				t.Errorf("weight %g after %d epochs, want %d", got.NeighborWeight, got.Epochs, want)
			}
			weights[got.NeighborWeight]++
			checkResult(t, views, got)
		}
	}
	if weights[1] == 0 || weights[3] == 0 {
		t.Errorf("the weights kept are %v: the test shows too little", weights)
	}
}

// A training that diverges leaves all that is left of the epochs to the other.
func TestTwoTrainingsDiverge(t *testing.T) {
	t.Parallel()
	views, c := pairData(0)
	for bad := range 2 {
		built := 0
		c.ExtraLoss = func(net Network) (*Node, error) {
			if built++; built == bad+1 {
				return exploding(net)
			}
			return nil, nil
		}
		c.LearningRate = 0.5
		got, err := Fit(context.Background(), views, c)
		if err != nil || got.Status != EpochLimit || got.NeighborWeight != []float64{1, 3}[bad] || got.Epochs < 12 {
			t.Errorf("training %d diverges: %v, weight %g: %v", bad, got, got.NeighborWeight, err)
		}
		checkResult(t, views, got)
	}
}

// The progress of both trainings counts the epochs of both and says whose they are, and the time of an epoch is of all of them.
func TestTwoTrainingsProgress(t *testing.T) {
	t.Parallel()
	views, c := pairData(1)
	var seen []int
	var weights []float64
	c.Progress = func(e Epoch) error {
		if e.Training() {
			if e.Done != e.Epoch || e.Total != 15 || e.Epochs != 15 || e.Left < 0 {
				t.Errorf("%+v", e)
			}
			seen, weights = append(seen, e.Done), append(weights, e.Weight)
		}
		return nil
	}
	mustFit(t, views, c)
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; !slices.Equal(seen, want) {
		t.Fatalf("epochs %v", seen)
	}
	went := weights[14]
	want := append([]float64{3, 3, 3, 1, 1, 1}, slices.Repeat([]float64{went}, 9)...)
	if went != 3 && went != 1 || !slices.Equal(weights, want) {
		t.Errorf("epochs with the weights %v", weights)
	}
	once := c
	once.Neighborhood.OtherWeight, weights = None, nil
	mustFit(t, views, once)
	if !slices.Equal(weights, make([]float64, 15)) {
		t.Errorf("trained once, with the weights %v", weights)
	}
	c.Epochs, c.Progress = 2, nil
	if got := mustFit(t, views, c); got.Timings.Epoch <= 0 {
		t.Errorf("trained for an epoch with each weight: %v", got.Timings)
	}
}

// Runs that ended go before interrupted ones, and those before diverged ones; among equals more information decides where both
// have it, else the lower loss.
func TestWhichRunIsBetter(t *testing.T) {
	run := func(s Status, loss float64, informed ...float64) *runState {
		r := &runState{status: s}
		r.Loss = []float64{9, loss}
		if len(informed) > 0 {
			r.Informed = &informed[0]
		}
		return r
	}
	for i, c := range []struct{ better, worse *runState }{
		{run(EpochLimit, 5), nil},
		{run(EpochLimit, 1), run(EpochLimit, 2)},
		{run(Converged, 1), run(EpochLimit, 2)},
		{run(EpochLimit, 5), run(Stopped, 1)},
		{run(Converged, 5), run(Cancelled, 1)},
		{run(Stopped, 5), run(Diverged, 1)},
		{run(Cancelled, 1), run(Stopped, 2)},
		{run(EpochLimit, 5), run(EpochLimit, math.NaN())},
		{run(Stopped, 5), run(EpochLimit, math.Inf(-1))},
		{run(EpochLimit, 5, 0.7), run(EpochLimit, 1, 0.6)},
		{run(EpochLimit, 5, 0.1), run(Stopped, 1, 0.6)},
		{run(EpochLimit, 1, 0.1), run(EpochLimit, 2)},
	} {
		if !c.better.better(c.worse) || c.worse != nil && c.worse.better(c.better) {
			t.Errorf("case %d: the other run is kept", i)
		}
	}
	if a, b := run(EpochLimit, 1), run(EpochLimit, 1); a.better(b) {
		t.Error("of equal runs the later one is kept")
	}
}
