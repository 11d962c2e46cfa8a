package neighbor

import (
	"context"
	"errors"
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// totalOf returns the number of samples of all ranks of a context, 0 without ranks.
func totalOf(ctx context.Context) int {
	if g := ranks.Of(ctx); g != nil {
		return g.Total(0)
	}
	return 0
}

// landmarksOfRanks finds the landmarks of the spaces on several ranks, each of which has all views of its samples: the
// samples that the landmarks of a space move along go to every rank, and one of them moves those landmarks.
func landmarksOfRanks[T Float](
	ctx context.Context, g *ranks.Group, src *source[T], spaces []Space, c landmarkConfig,
) ([]*landmarks[T], error) {
	if src.twice > 0 || slices.Contains(src.masked, true) {
		return nil, errors.New("neighbor: samples of several ranks must have all views")
	}
	alone := ranks.Alone(ctx)
	subs, out := make([]*source[T], len(spaces)), make([]*landmarks[T], len(spaces))
	for q, p := range spaces {
		x := make([]rows.Matrix[T], len(p.Views))
		for k, v := range p.Views {
			x[k] = src.views[v].Rows
		}
		order := shuffled(c.rng(uint64(q)), g.Total(src.n), min(g.Total(src.n), samplesPerLandmark*c.Count))
		some, err := rows.Collect(ctx, "the samples that landmarks are found of", x, order, c.Workers)
		if err != nil {
			return nil, err
		}
		if q%g.Size() != g.Rank() {
			continue
		}
		views := make([]View[T], len(some))
		for k, m := range some {
			views[k].Rows = m
		}
		if subs[q], err = newSource(alone, views, c.Workers); err != nil {
			return nil, err
		}
	}
	for q, p := range spaces {
		if subs[q] == nil {
			continue
		}
		var err error
		if out[q], err = moveLandmarks(alone, subs[q], p, c); err != nil {
			return nil, err
		}
		subs[q] = nil
	}
	for q, p := range spaces {
		owner := q % g.Size()
		if owner != g.Rank() {
			out[q] = &landmarks[T]{space: p, nearest: c.Nearest, count: c.Count}
			for _, v := range p.Views {
				out[q].centroids = append(out[q].centroids, make([]T, c.Count*src.dims[v]))
			}
		}
		for _, x := range out[q].centroids {
			if err := g.Broadcast("landmarks", owner, ranks.Bytes(x)); err != nil {
				return nil, err
			}
		}
		if owner != g.Rank() {
			if err := out[q].ready(alone, c.Workers); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
