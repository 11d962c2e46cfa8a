package largemvc

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// phasesOf are the phases that a fit with the configuration says it goes through, each once for each time that it begins.
func phasesOf(t *testing.T, views []View, c Config) []string {
	t.Helper()
	var seen []string
	done, last := 0, ""
	c.Progress = func(e Epoch) error {
		if e.Phase != last || e.Training() && e.Epoch == 1 {
			seen, done, last = append(seen, e.Phase), 0, e.Phase
		}
		if e.Done < done || e.Done > e.Total || e.Total < 1 || e.Left < 0 || e.Elapsed < 0 {
			t.Errorf("%v: %d of %d after %d, %v left after %v", e.Phase, e.Done, e.Total, done, e.Left, e.Elapsed)
		}
		if done = e.Done; !e.Training() && (e.Epoch != 0 || e.ViewLoss != nil) {
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
		want   []phase
	}{
		{Config{Restarts: 2}, []phase{phaseChecks, phasePreparation, phaseRegression, phaseNeighbors,
			phaseSmoothing, phaseAnchors,
			phaseTraining, phaseAnchors, phaseTraining, phaseClusters}},
		{Config{Preset: PresetPaper}, []phase{phaseChecks, phasePreparation, phaseAnchors, phaseTraining, phaseClusters}},
		{Config{Neighborhood: Neighborhood{Exact: None, HeldOutWeight: None}, Epochs: None}, []phase{phaseChecks,
			phasePreparation,
			phaseNeighbors, phaseSmoothing, phaseAnchors, phaseClusters}},
		{Config{FitSamples: 40}, []phase{phaseChecks, phaseDraws, phasePreparation, phaseRegression, phaseNeighbors,
			phaseSmoothing, phaseAnchors, phaseTraining, phaseClusters}},
		{Config{Preset: PresetPaper, FitSamples: 40, Start: Start{Labels: make([]int, 60)}}, []phase{phaseChecks,
			phasePreparation, phaseAnchors, phaseTraining, phaseClusters}},
	} {
		test.config.Clusters = 3
		if test.config.Epochs == 0 {
			test.config.Epochs = 3
		}
		want := make([]string, len(test.want))
		for i, p := range test.want {
			want[i] = p.String()
		}
		if got := phasesOf(t, views, test.config); !slices.Equal(got, want) {
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
	for p := phaseChecks; p <= phaseClusters; p++ {
		for _, end := range []error{enough, ErrStop} {
			c := Config{Clusters: 3, Epochs: 3}
			if p == phaseDraws {
				c.FitSamples = 40
			}
			calls := 0
			c.Progress = func(e Epoch) error {
				if e.Phase != p.String() {
					return nil
				}
				calls++
				return end
			}
			got, err := Fit(context.Background(), views, c)
			switch {
			case calls != 1:
				t.Errorf("%v: %d calls", p, calls)
			case p < phaseTraining && (got != nil || err != end):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p >= phaseTraining && (got == nil || end == enough && err != end || end == ErrStop && err != nil):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p == phaseClusters && got.Status != EpochLimit:
				t.Errorf("the status is %v", got.Status)
			}
		}
	}
}

// TestProgressStopsWithinAPhase wants the callback's own error, in its own words, from every phase too in the midst of which it
// comes, and not that of the context that ends there.
func TestProgressStopsWithinAPhase(t *testing.T) {
	views, _ := blobViews(120, 3, 1, 20, 9)
	enough := errors.New("enough")
	for _, drawn := range []int{0, 90} {
		for p := phaseChecks; p <= phaseClusters; p++ {
			c := Config{Clusters: 3, Epochs: 3, FitSamples: drawn, Checkpoint: Checkpoint{Path: t.TempDir() + "/state"}}
			calls := 0
			c.Progress = func(e Epoch) error {
				if e.Phase != p.String() {
					return nil
				}
				if calls++; calls > 1 {
					return enough
				}
				time.Sleep(sayEvery) // so that it is called at the next step within the phase
				return nil
			}
			if got, err := Fit(t.Context(), views, c); calls > 1 && (err != enough || (got != nil) != (p >= phaseTraining)) {
				t.Errorf("%v, %d drawn: %v, result %v", p, drawn, err, got != nil)
			} else if calls < 2 && (p != phaseDraws || drawn > 0) {
				t.Errorf("%v, %d drawn: %d calls", p, drawn, calls)
			}
		}
	}
}

// TestMeterLeft follows a work of known costs at a pace of its own.
func TestMeterLeft(t *testing.T) {
	begin := time.Unix(1000, 0)
	m := &meter{config: &Config{Restarts: 2}, beforeThis: true, phase: phaseSmoothing, began: begin}
	m.cost[phaseSmoothing], m.cost[phaseAnchors], m.cost[phaseTraining], m.cost[phaseClusters] = 10, 5, 20, 3
	if left := m.left(begin.Add(time.Second)); left != 0 {
		t.Errorf("%v left before anything is known", left)
	}
	m.share = 0.5 // five units in two seconds: five more, and two runs of 25, and three
	if left, want := m.left(begin.Add(2*time.Second)), 58*400*time.Millisecond; left != want {
		t.Errorf("%v left, want %v", left, want)
	}
	m.spent, m.spentFor, m.phase, m.run, m.began, m.share = 15, 6*time.Second, phaseTraining, 0, begin, 0.25
	// 20 units in 8 seconds; the epochs take 6 seconds more by their own pace; then 25 and 3 units.
	if left, want := m.left(begin.Add(2*time.Second)), 6*time.Second+28*400*time.Millisecond; left != want {
		t.Errorf("%v left in the training, want %v", left, want)
	}
}

// A pass over rows on disk counts as reading them: while they are checked, what is left is in proportion to the passes to come.
func TestMeterCountsReading(t *testing.T) {
	_, read, _ := outside(3000, 300, 250)
	c := (&Config{Clusters: 3, Preset: PresetPaper, Epochs: 10, Machine: machine.Options{Workers: 2}}).WithDefaults()
	const values, passes = 3000 * 550, 2 + 7 + 5*10 + 3
	for _, streamed := range []bool{true, false} {
		reads, _ := rows.NewReads(context.Background())
		in := view.Bind(inner(read), reads, 2, !streamed)
		cost := readingCosts(&c, in)
		total := 0.0
		for _, x := range cost {
			total += x
		}
		want := 2.0
		if streamed {
			want = passes
		}
		if pass := cost[phaseChecks]; pass != 2*valueFromDisk*values || math.Abs(total/pass-want) > 1e-9 {
			t.Errorf("streamed %v: %v for the checks, %.1f passes, want %v", streamed, pass, total/pass, want)
		}
		reads.End()
	}
	reads, _ := rows.NewReads(context.Background())
	defer reads.End()
	in := view.Bind(inner(read), reads, 2, false)
	c.FitSamples = 500
	if cost := readingCosts(&c, in); cost[phaseChecks] != 0 || cost[phaseClusters] != 2*valueFromDisk*values {
		t.Errorf("%v for a fit on a sample", cost)
	}
	got := costs(&c, in)
	c.FitSamples = 0
	if all := costs(&c, in); !(got[phaseTraining] < all[phaseTraining]) {
		t.Errorf("training a sample costs %v, all %v", got[phaseTraining], all[phaseTraining])
	}
}
