package largemvc

import (
	"github.com/largemvc/largemvc/internal/information"
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
	cfg.Starts *= sharedStarts
	cfg.Within = nearlyLowest
	cfg.Score = information.NewNeighbors[T](cfg.Workers, cfg.Clusters, graph, 0).LabelScore()
	return cfg
}
