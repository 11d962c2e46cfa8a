package largemvc

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/neighbor"
)

const (
	// nearlyLowest is the inertia, relative to the lowest of all starts, up to which a start counts as good as that.
	nearlyLowest = 1.1
	// sharedStarts is the number of starts, times Config.KMeansStarts, that are compared by their neighbours: the best by
	// that may be rare, and the rows have no more than m columns.
	sharedStarts = 3
	// startStride keeps the seeds of the starts of one run apart from those of the next runs, which follow each other.
	startStride = 0x9e3779b97f4a7c15
)

// mostSharedKMeans is k-means that keeps, of the starts of nearly the lowest inertia, the one whose clusters tell most about
// those of neighbours (NeighborInformation): inertia alone likes clusters of equal extent, whatever lies between them.
// Some view must have each of the samples.
func mostSharedKMeans[T kernel.Float](ctx context.Context, cfg kmeans.Config, graph neighbor.Operator, views ...kmeans.View[T]) (*kmeans.Result[T], error) {
	src, err := kmeans.NewSource(views...)
	if err != nil {
		return nil, err
	}
	s := information[T]{newSoftAssignment[T](cfg.Workers, graph.Len(), cfg.Clusters, 0), graph}
	lowest := math.Inf(1)
	var kept []shared[T]
	one := cfg
	one.Starts = 1
	for i := range sharedStarts * cfg.Starts {
		one.Seed = cfg.Seed + uint64(i)*startStride
		r, err := kmeans.Run(ctx, src, one)
		if err != nil {
			return nil, err
		}
		lowest = min(lowest, r.Inertia)
		if r.Inertia > nearlyLowest*lowest {
			continue
		}
		x, err := s.ofLabels(ctx, r.Labels)
		if err != nil {
			return nil, err
		}
		kept = withShared(kept, shared[T]{r, x})
	}
	return mostInformed(kept, nearlyLowest*lowest), nil
}

// shared is a result of k-means with what its clusters tell about those of neighbours.
type shared[T kernel.Float] struct {
	*kmeans.Result[T]
	information float64
}

// withShared appends r unless another result is as good in both inertia and information, and lets go of those that are not
// better than r in either: which of the rest is the best is known when the lowest inertia is.
func withShared[T kernel.Float](kept []shared[T], r shared[T]) []shared[T] {
	if slices.ContainsFunc(kept, func(k shared[T]) bool { return k.Inertia <= r.Inertia && k.information >= r.information }) {
		return kept
	}
	kept = slices.DeleteFunc(kept, func(k shared[T]) bool { return r.Inertia <= k.Inertia && r.information >= k.information })
	return append(kept, r)
}

// mostInformed returns the result of the most information among those of an inertia up to the limit.
func mostInformed[T kernel.Float](kept []shared[T], limit float64) *kmeans.Result[T] {
	var best shared[T]
	for _, k := range kept {
		if k.Inertia <= limit && (best.Result == nil || k.information > best.information) {
			best = k
		}
	}
	return best.Result
}
