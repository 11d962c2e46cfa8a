package largemvc

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/neighbor"
)

const (
	// nearlyLowest is the inertia, relative to the lowest of all starts, up to which a start counts as good as that.
	nearlyLowest = 1.1
	// sharedStarts is the number of starts, times Config.KMeansStarts, that are compared by their neighbours: the best by
	// that may be rare.
	sharedStarts = 3
)

// byNeighbors makes k-means keep, of three times as many starts and among those of nearly the lowest inertia, the one whose
// clusters tell most about those of neighbours (NeighborInformation): inertia alone likes clusters of equal extent, whatever
// lies between them.
func byNeighbors[T kernel.Float](cfg kmeans.Config, graph neighbor.Operator) kmeans.Config {
	s := neighborTerm[T]{newSoftAssignment[T](cfg.Workers, graph.Len(), cfg.Clusters, 0), graph}
	q, aq := make([]T, s.n*s.ld), make([]T, s.n*s.ld)
	cfg.Starts *= sharedStarts
	cfg.Within = nearlyLowest
	cfg.Score = func(ctx context.Context, labels []int) (float64, error) { return s.ofLabels(ctx, labels, q, aq) }
	return cfg
}
