package largemvc

import (
	"context"
	"math"
	"math/rand/v2"
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
	for _, epochs := range []int{5, NoTraining} {
		for _, choice := range []Config{{}, {NeighborWeight: None}, {LowestInertia: true}} {
			byInformation := epochs != NoTraining && choice.NeighborWeight != None && !choice.LowestInertia
			for seed := range uint64(4) {
				config := choice
				config.Clusters, config.Epochs, config.Float, config.Seed, config.KMeansStarts = c, epochs, Float64, seed, starts
				got := mustFit(t, views, config)
				if choice.LowestInertia {
					without := config
					without.LowestInertia, without.NeighborWeight = false, None
					if !slices.Equal(got.StartLabels, mustFit(t, views, without).StartLabels) {
						t.Errorf("epochs %d, seed %d: the start is not that of the lowest inertia", epochs, seed)
					}
				}
				unit := mat.DenseCopyOf(got.H)
				for i := range n {
					floats.Scale(1/floats.Norm(unit.RawRowView(i), 2), unit.RawRowView(i))
				}
				src, err := kmeans.NewSource(kmeans.View[float64]{Rows: rows.NewDense(n, c, c, unit.RawMatrix().Data), Weight: 1})
				if err != nil {
					t.Fatal(err)
				}
				run := func(k kmeans.Config) *kmeans.Result[float64] {
					k.Clusters = c
					r, err := kmeans.Run(context.Background(), src, k)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				lowest := run(kmeans.Config{Starts: starts, Seed: seed})
				want := lowest.Labels
				if byInformation {
					graph := graphOf(t, views, config)
					all, least, best := make([]*kmeans.Result[float64], sharedStarts*starts), math.Inf(1), math.Inf(-1)
					for i := range all {
						all[i] = run(kmeans.Config{Starts: 1, Seed: seed + uint64(i)*startStride})
						least = min(least, all[i].Inertia)
					}
					for _, r := range all {
						if x := labelInformation(r.Labels, c, graph); r.Inertia <= nearlyLowest*least && x > best+1e-12 {
							best, want = x, r.Labels
						}
					}
					differ = differ || !samePartition(t, want, lowest.Labels)
				}
				if !samePartition(t, got.Labels, want) {
					t.Errorf("epochs %d, by information %v, seed %d: other clusters than by hand", epochs, byInformation, seed)
				}
			}
		}
	}
	if !differ {
		t.Error("the clusters of the lowest inertia tell most: the test shows nothing")
	}
}

// What is let go of is never the best: whatever the order, the result kept has the most information of all within the limit,
// and of those the lowest inertia.
func TestWithShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 97))
	for range 2000 {
		var kept []shared[float64]
		var all [][2]float64
		for range 1 + rng.IntN(12) {
			r := [2]float64{1 + float64(rng.IntN(8))/30, float64(rng.IntN(5))}
			all = append(all, r)
			kept = withShared(kept, shared[float64]{&kmeans.Result[float64]{Inertia: r[0]}, r[1]})
		}
		lowest := math.Inf(1)
		for _, r := range all {
			lowest = min(lowest, r[0])
		}
		best := [2]float64{0, -1}
		for _, r := range all {
			if r[0] <= nearlyLowest*lowest && (r[1] > best[1] || r[1] == best[1] && r[0] < best[0]) {
				best = r
			}
		}
		if got := mostInformed(kept, nearlyLowest*lowest); got.Inertia != best[0] {
			t.Fatalf("of %v: inertia %v, want %v", all, got.Inertia, best)
		}
	}
}
