package largemvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/meter"
)

// phasesOf are the phases that a fit with the configuration says it goes through, each once for each time that it begins.
func phasesOf(t *testing.T, views []View, c Config) []string {
	t.Helper()
	var seen []string
	done, last := 0, ""
	c.Progress = func(e Progress) error {
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
		want   []meter.Phase
	}{
		{Config{Restarts: 2}, []meter.Phase{meter.Checks, meter.Preparation, meter.Regression, meter.Neighbors,
			meter.Smoothing, meter.Anchors,
			meter.Training, meter.Anchors, meter.Training, meter.Clusters}},
		{paper(Config{}), []meter.Phase{meter.Checks, meter.Preparation, meter.Anchors, meter.Training,
			meter.Clusters}},
		{Config{Neighborhood: Neighborhood{Exact: None, HeldOutWeight: None}, Epochs: None}, []meter.Phase{meter.Checks,
			meter.Preparation,
			meter.Neighbors, meter.Smoothing, meter.Anchors, meter.Clusters}},
		{Config{FitSamples: 40}, []meter.Phase{meter.Checks, meter.Draws, meter.Preparation, meter.Regression, meter.Neighbors,
			meter.Smoothing, meter.Anchors, meter.Training, meter.Clusters}},
		{paper(Config{FitSamples: 40, StartLabels: make([]int, 60)}), []meter.Phase{meter.Checks,
			meter.Preparation, meter.Anchors, meter.Training, meter.Clusters}},
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
	c.Progress = func(Progress) error { return nil }
	watched := mustFit(t, views, c)
	sameMatrix(t, "H", watched.H, plain.H)
}

// TestProgressStopsBeforeTraining wants an error of the callback to end every phase before the training, without a result; in
// the last phase the result is kept.
func TestProgressStopsBeforeTraining(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 20, 9)
	enough := fmt.Errorf("%w: %w", errors.New("enough"), io.ErrShortWrite) // as it is, though it has two errors inside
	for p := meter.Checks; p <= meter.Clusters; p++ {
		for _, end := range []error{enough, ErrStop} {
			c := Config{Clusters: 3, Epochs: 3}
			if p == meter.Draws {
				c.FitSamples = 40
			}
			calls := 0
			c.Progress = func(e Progress) error {
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
			case p < meter.Training && (got != nil || err != end):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p >= meter.Training && (got == nil || end == enough && err != end || end == ErrStop && err != nil):
				t.Errorf("%v, %v: %v, result %v", p, end, err, got != nil)
			case p == meter.Clusters && got.Status != EpochLimit:
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
		for p := meter.Checks; p <= meter.Clusters; p++ {
			c := Config{Clusters: 3, Epochs: 3, FitSamples: drawn, Checkpoint: Checkpoint{Path: t.TempDir() + "/state"}}
			calls := 0
			c.Progress = func(e Progress) error {
				if e.Phase != p.String() {
					return nil
				}
				if calls++; calls > 1 {
					return enough
				}
				time.Sleep(meter.Interval) // so that it is called at the next step within the phase
				return nil
			}
			if got, err := Fit(t.Context(), views, c); calls > 1 && (err != enough || (got != nil) != (p >= meter.Training)) {
				t.Errorf("%v, %d drawn: %v, result %v", p, drawn, err, got != nil)
			} else if calls < 2 && (p != meter.Draws || drawn > 0) {
				t.Errorf("%v, %d drawn: %d calls", p, drawn, calls)
			}
		}
	}
}
