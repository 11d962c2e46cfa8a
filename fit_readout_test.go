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

// After training by the neighbours' term the clusters are, of those from k-means on unit rows of H with nearly the lowest
// inertia, the ones that tell most about those of neighbours; without that term, without training or with LowestInertia, those
// of the lowest inertia.
func TestReadOutIsMostShared(t *testing.T) {
	const n, c, starts = 120, 6, 5
	views, _ := blobViews(n, c, 1.5, 96, 12, 7)
	differ := false
	for _, epochs := range []int{5, None} {
		for _, choice := range []Config{
			{}, {Neighborhood: Neighborhood{Weight: None}}, {Neighborhood: Neighborhood{LowestInertia: true}},
		} {
			byInformation := epochs != None && choice.Neighborhood.Weight != None && !choice.Neighborhood.LowestInertia
			for seed := range uint64(4) {
				config := choice
				config.Clusters, config.Epochs, config.Float64, config.Seed, config.KMeansStarts = c, epochs, true, seed, starts
				got := mustFit(t, views, config)
				if choice.Neighborhood.LowestInertia {
					without := config
					without.Neighborhood.LowestInertia, without.Neighborhood.Weight = false, None
					if !slices.Equal(got.StartLabels, mustFit(t, views, without).StartLabels) {
						t.Errorf("epochs %d, seed %d: the start is not that of the lowest inertia", epochs, seed)
					}
				}
				unit := mat.DenseCopyOf(got.H)
				for i := range n {
					floats.Scale(1/floats.Norm(unit.RawRowView(i), 2), unit.RawRowView(i))
				}
				choose := kmeans.Config{Clusters: c, Starts: starts, Seed: seed}
				want := kmeansLabels(
					t, choose,
					kmeans.View[float64]{Rows: rows.NewDense(n, c, c, unit.RawMatrix().Data), Weight: 1},
				)
				if byInformation {
					var another bool
					want, another = mostInformed(t, unit, choose, graphOf(t, views, config))
					differ = differ || another
				}
				if !samePartition(t, got.Labels, want) {
					t.Errorf(
						"epochs %d, by information %v, seed %d: other clusters than by hand",
						epochs, byInformation, seed,
					)
				}
			}
		}
	}
	if !differ {
		t.Error("the clusters of the lowest inertia tell most: the test shows nothing")
	}
}

// A network that never took a step is untrained, whatever it was to do.
func TestReadOutAfterDivergence(t *testing.T) {
	const n, c = 120, 6
	views, _ := blobViews(n, c, 1.5, 96, 12, 7)
	differ := false
	for seed := range uint64(6) {
		config := Config{Clusters: c, Epochs: 5, LearningRate: 1e30, Float64: true, Seed: seed}
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
