package cluster

import (
	"context"

	"github.com/largemvc/largemvc/internal/kmeans"
)

// Score rates a clustering of all samples by their labels; more is better.
type Score func(ctx context.Context, labels []int) (float64, error)

const (
	// NearlyLowest is the inertia, relative to the lowest of all starts, up to which a start counts as good as that.
	NearlyLowest = 1.1
	// ScoredStarts is the number of starts, times those of a choice by inertia, that are compared by their score: the best by
	// that may be rare.
	ScoredStarts = 3
)

// byScore makes k-means keep, of three times as many starts and among those of nearly the lowest inertia, the one of the
// highest score: inertia alone likes clusters of equal extent, whatever lies between them.
func byScore(cfg kmeans.Config, score Score) kmeans.Config {
	cfg.Starts *= ScoredStarts
	cfg.Within = NearlyLowest
	cfg.Score = score
	return cfg
}
