package largemvc

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/rows"
)

// With the neighbours' term k-means on unit rows of H begins with the labels of the start. With other numbers of anchors than of
// clusters the clusters are, after training, of those from k-means with nearly the lowest inertia, the ones that tell most about
// those of neighbours; without training or without that term, those of the lowest inertia.
func TestReadOut(t *testing.T) {
	const n, c, starts = 120, 6, 5
	views, _ := blobViews(n, c, 1.5, 96, 20, 7)
	differ := map[string]bool{}
	for _, epochs := range []int{5, None} {
		for name, choice := range map[string]Config{
			"start": {}, "anchors": {Anchors: c + 2}, "no term": {Neighborhood: Neighborhood{Weight: None}},
		} {
			for seed := range uint64(4) {
				config := choice
				config.Clusters, config.Epochs, config.Float64, config.Seed, config.KMeansStarts = c, epochs, true, seed, starts
				config.ExtraLoss = inCallersOrder
				got := mustFit(t, views, config)
				unit := mat.DenseCopyOf(got.H)
				_, m := unit.Dims()
				for i := range n {
					floats.Scale(1/floats.Norm(unit.RawRowView(i), 2), unit.RawRowView(i))
				}
				choose := kmeans.Config{Clusters: c, Starts: starts, Seed: seed}
				in := kmeans.View[float64]{Rows: rows.NewDense(n, m, m, unit.RawMatrix().Data), Weight: 1}
				byInertia := kmeansLabels(t, choose, in)
				want := byInertia
				switch {
				case name == "start":
					choose.Labels = got.StartLabels
					want = kmeansLabels(t, choose, in)
				case name == "anchors" && epochs != None:
					want, _ = mostInformed(t, unit, choose, graphOf(t, views, config))
				}
				differ[name] = differ[name] || !samePartition(t, want, byInertia)
				if !samePartition(t, got.Labels, want) {
					t.Errorf("%s, epochs %d, seed %d: other clusters than by hand", name, epochs, seed)
				}
			}
		}
	}
	if !differ["start"] || !differ["anchors"] {
		t.Errorf("the clusters of the lowest inertia are the same: the test shows nothing: %v", differ)
	}
}

// A network that never took a step is untrained, whatever it was to do.
func TestReadOutAfterDivergence(t *testing.T) {
	const n, c = 120, 6
	views, _ := blobViews(n, c, 1.5, 96, 20, 7)
	differ := false
	for seed := range uint64(6) {
		config := Config{Clusters: c, Anchors: c + 2, Epochs: 5, LearningRate: 1e30, Float64: true, Seed: seed}
		got, err := Fit(context.Background(), views, config)
		var diverged *DivergedError
		if !errors.As(err, &diverged) || got == nil || got.Epochs != 0 {
			t.Fatalf("epochs %+v, %v", got, err)
		}
		config.Epochs, config.LearningRate = None, 0
		if want := mustFit(t, views, config); !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("seed %d: other clusters than those of the untrained network", seed)
		}
		config.Epochs = 1
		config.LearningRate = 1e-300
		differ = differ || !slices.Equal(got.Labels, mustFit(t, views, config).Labels)
	}
	if !differ {
		t.Error("the choice among starts makes no difference: the test shows nothing")
	}
}
