package smooth

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/neighbor"
)

const (
	// fillSteps is the number of steps that fill rows of absent views for the graph, and startFillSteps for the initial
	// clustering. Two steps reach nearly all rows; the others average rows of neighbours that both lack a view.
	fillSteps      = 10
	startFillSteps = 5
)

// Incomplete reports whether an input lacks a row on any rank of a group. All ranks have a mask for a view that is absent on any
// of them.
func Incomplete[T kernel.Float](g *ranks.Group, blocks []neighbor.Block[T]) bool {
	return slices.ContainsFunc(blocks, func(b neighbor.Block[T]) bool {
		return g != nil && b.Present != nil || slices.Contains(b.Present, false)
	})
}

// Filled returns a copy of the inputs in which neighbours' rows fill absent rows. The neighbours come from a graph of the present
// rows. If nothing is absent, it returns the blocks.
func (s *Inputs[T]) Filled(ctx context.Context, blocks []neighbor.Block[T], n int, o Options) ([]neighbor.Block[T], error) {
	if !Incomplete(o.Group, blocks) {
		return blocks, nil
	}
	x, err := viewsOfBlocks(blocks, n)
	if err != nil {
		return nil, err
	}
	index, err := build(ctx, fillGraph, x, s.spaces(false), o, o.index(n))
	if err != nil {
		return nil, ofNeighbors(ctx, err)
	}
	filled, err := neighbor.Fill(ctx, index.Operator(), blocks, fillSteps, o.Workers)
	return filled, ofNeighbors(ctx, err)
}

// StartRows returns the rows for the initial clustering: the smoothed inputs in the blocks, with absent rows filled along the
// graph. With zeros, k-means would separate samples mainly by their absent views.
func (s *Graph[T]) StartRows(ctx context.Context, blocks []neighbor.Block[T], n int, o Options) ([]rows.Matrix[T], error) {
	filled, err := neighbor.Fill(ctx, s.Operator(), blocks, startFillSteps, o.Workers)
	if err != nil {
		return nil, ofNeighbors(ctx, err)
	}
	return Matrices(filled, n), nil
}
