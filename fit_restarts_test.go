package largemvc

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/meter"
)

func TestFitRestarts(t *testing.T) { withAndWithout(t, testFitRestarts) }

func testFitRestarts(t *testing.T, neighbors int) {
	views, _ := blobViews(200, 6, 1.5, 8, 10, 6)
	config := Config{
		Clusters: 6, Epochs: 10, KMeansStarts: 1, Seed: 3, Neighborhood: Neighborhood{Neighbors: neighbors},
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
	got, err := Fit(ctx, views, config)
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
			Clusters: 3, Epochs: 20, LearningRate: 0.5, Restarts: 3,
			Neighborhood: Neighborhood{Neighbors: neighbors},
			ExtraLoss: func(net Network) (*Node, error) {
				if runs++; runs == bad+1 {
					return exploding(net)
				}
				return gorgonia.HadamardProd(constantOf(net, 0), net.Learnables()[0])
			},
		}
		got, err := Fit(context.Background(), views, config)
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
		got, err := Fit(context.Background(), views, c)
		if got == nil || end == enough && !errors.Is(err, enough) || end == ErrStop && err != nil {
			t.Fatalf("%v: %v, result %v", end, err, got != nil)
		}
		if got.Restart != 0 || got.Status != EpochLimit || got.Epochs != 3 {
			t.Errorf("%v: run %d, %v after %d epochs", end, got.Restart, got.Status, got.Epochs)
		}
		checkResult(t, views, got)
	}
}
