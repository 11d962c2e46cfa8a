package largemvc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// phasesOf are the phases that a fit with the configuration says it goes through, each once for each time that it begins.
func phasesOf(t *testing.T, views []View, c Config) []Phase {
	t.Helper()
	var seen []Phase
	done, last := 0, Phase(-1)
	c.Progress = func(e Epoch) error {
		if e.Phase != last || e.Phase == PhaseTraining && e.Epoch == 1 {
			seen, done, last = append(seen, e.Phase), 0, e.Phase
		}
		if e.Done < done || e.Done > e.Total || e.Total < 1 || e.Left < 0 || e.Elapsed < 0 {
			t.Errorf("%v: %d of %d after %d, %v left after %v", e.Phase, e.Done, e.Total, done, e.Left, e.Elapsed)
		}
		if done = e.Done; e.Phase != PhaseTraining && (e.Epoch != 0 || e.ViewLoss != nil) {
			t.Errorf("%v: epoch %d", e.Phase, e.Epoch)
		}
		return nil
	}
	mustFit(t, views, c)
	return seen
}

func TestProgressOfPhases(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	for _, test := range []struct {
		config Config
		want   []Phase
	}{
		{Config{Restarts: 2}, []Phase{PhaseChecks, PhasePreparation, PhaseRegression, PhaseNeighbors,
			PhaseSmoothing, PhaseAnchors,
			PhaseTraining, PhaseAnchors, PhaseTraining, PhaseClusters}},
		{Config{Preset: PresetPaper}, []Phase{PhaseChecks, PhasePreparation, PhaseAnchors, PhaseTraining, PhaseClusters}},
		{Config{Neighborhood: Neighborhood{Exact: None, HeldOutWeight: None}, Epochs: None}, []Phase{PhaseChecks,
			PhasePreparation,
			PhaseNeighbors, PhaseSmoothing, PhaseAnchors, PhaseClusters}},
	} {
		test.config.Clusters = 3
		if test.config.Epochs == 0 {
			test.config.Epochs = 3
		}
		if got := phasesOf(t, views, test.config); !slices.Equal(got, test.want) {
			t.Errorf("the phases are %v, want %v", got, test.want)
		}
	}
}

// TestProgressChangesNothing wants the same bits with a callback and without.
func TestProgressChangesNothing(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	c := Config{Clusters: 3, Epochs: 3}
	plain := mustFit(t, views, c)
	c.Progress = func(Epoch) error { return nil }
	watched := mustFit(t, views, c)
	sameMatrix(t, "H", watched.H, plain.H)
}

// TestProgressStopsBeforeTraining wants an error of the callback to end every phase before the training, without a result; in
// the last phase the result is kept.
func TestProgressStopsBeforeTraining(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	enough := errors.New("enough")
	for p := PhaseChecks; p <= PhaseClusters; p++ {
		for _, end := range []error{enough, ErrStop} {
			c := Config{Clusters: 3, Epochs: 3}
			calls := 0
			c.Progress = func(e Epoch) error {
				if e.Phase != p {
					return nil
				}
				calls++
				return end
			}
			got, err := Fit(context.Background(), views, c)
			switch {
			case calls != 1:
				t.Errorf("%v: %d calls", p, calls)
			case p < PhaseTraining && (got != nil || !errors.Is(err, end)):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p >= PhaseTraining && (got == nil || end == enough && !errors.Is(err, end) || end == ErrStop && err != nil):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p == PhaseClusters && got.Status != EpochLimit:
				t.Errorf("the status is %v", got.Status)
			}
		}
	}
}

// TestMeterLeft follows a work of known costs at a pace of its own.
func TestMeterLeft(t *testing.T) {
	begin := time.Unix(1000, 0)
	m := &meter{config: &Config{Restarts: 2}, beforeThis: true, phase: PhaseSmoothing, began: begin}
	m.cost[PhaseSmoothing], m.cost[PhaseAnchors], m.cost[PhaseTraining], m.cost[PhaseClusters] = 10, 5, 20, 3
	if left := m.left(begin.Add(time.Second)); left != 0 {
		t.Errorf("%v left before anything is known", left)
	}
	m.share = 0.5 // five units in two seconds: five more, and two runs of 25, and three
	if left, want := m.left(begin.Add(2*time.Second)), 58*400*time.Millisecond; left != want {
		t.Errorf("%v left, want %v", left, want)
	}
	m.spent, m.spentFor, m.phase, m.run, m.began, m.share = 15, 6*time.Second, PhaseTraining, 0, begin, 0.25
	// 20 units in 8 seconds; the epochs take 6 seconds more by their own pace; then 25 and 3 units.
	if left, want := m.left(begin.Add(2*time.Second)), 6*time.Second+28*400*time.Millisecond; left != want {
		t.Errorf("%v left in the training, want %v", left, want)
	}
}
