package neighbor

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// lacking reports whether the mask of a view hides a sample. All ranks of a group have a mask for a view that a sample of any
// rank lacks.
func lacking(g *ranks.Group, present []bool) bool {
	if g != nil {
		return present != nil
	}
	return slices.Contains(present, false)
}

// anywhere reports whether here is true on any rank.
func anywhere(g *ranks.Group, what string, here bool) (bool, error) {
	count := []int{0}
	if here {
		count[0] = 1
	}
	err := g.SumInts(what, count)
	return count[0] > 0, err
}

// collect gives every rank the given samples, of all ranks, in the given views, with zeros for absent rows.
func (s *source[T]) collect(ctx context.Context, views, samples []int, workers int) ([]View[T], error) {
	x, out := make([]rows.Matrix[T], len(views)), make([]View[T], len(views))
	for q, v := range views {
		x[q] = s.views[v].Rows
	}
	some, err := rows.Collect(ctx, s.group, "the samples for the search for landmarks", x, samples, workers)
	if err != nil {
		return nil, err
	}
	for q, v := range views {
		out[q].Rows = some[q]
		if s.views[v].Present == nil {
			continue
		}
		out[q].Present, err = rows.CollectBits(s.group, "the masks of these samples", s.n, samples,
			func(i int) bool { return s.present(v, i) })
		if err != nil {
			return nil, err
		}
		for r, has := range out[q].Present {
			if !has {
				clear(some[q].View(r))
			}
		}
	}
	return out, nil
}

// landmarksOfRanks finds the landmarks of the spaces on several ranks. Every rank has all views of its samples. All ranks get the
// samples for the Lloyd steps of a space, and one of them computes its landmarks.
func landmarksOfRanks[T Float](ctx context.Context, src *source[T], spaces []Space, c landmarkConfig) ([]*landmarks[T], error) {
	g := src.group
	subs, out := make([]*source[T], len(spaces)), make([]*landmarks[T], len(spaces))
	for q, p := range spaces {
		order, err := someSamples(c.rng(uint64(q)), src, p.Views, min(g.Total(src.n), samplesPerLandmark*c.Count), c.Count)
		if err != nil {
			return nil, err
		}
		views, err := src.collect(ctx, p.Views, order, c.Workers)
		if err != nil {
			return nil, err
		}
		if q%g.Size() != g.Rank() {
			continue
		}
		if subs[q], err = newSource(ctx, nil, views, c.Workers); err != nil {
			return nil, err
		}
	}
	for q, p := range spaces {
		if subs[q] == nil {
			continue
		}
		var err error
		if out[q], err = moveLandmarks(ctx, subs[q], p, c); err != nil {
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
		if err := out[q].broadcast(ctx, g, owner, c.Workers); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// broadcast sends the centroids of rank owner to the other ranks, which then prepare them for searches.
func (m *landmarks[T]) broadcast(ctx context.Context, g *ranks.Group, owner, workers int) error {
	for _, x := range m.centroids {
		if err := g.Broadcast("landmarks", owner, ranks.Bytes(x)); err != nil {
			return err
		}
	}
	if owner == g.Rank() {
		return nil
	}
	return m.ready(ctx, workers)
}
