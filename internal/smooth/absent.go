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
	// fillSteps is the number of steps in which rows of absent views are filled for the graph, and startFillSteps that for the
	// search of the start. Nearly all are reached in two; the others bring rows of neighbours that both lack a view together.
	fillSteps      = 10
	startFillSteps = 5
)

// Incomplete says whether an input lacks a row, of any rank of a group. The ranks have masks of the same views: of those that are
// absent on any of them.
func Incomplete[T kernel.Float](g *ranks.Group, blocks []neighbor.Block[T]) bool {
	return slices.ContainsFunc(blocks, func(b neighbor.Block[T]) bool {
		return g != nil && b.Present != nil || slices.Contains(b.Present, false)
	})
}

// Filled returns inputs in which the rows of absent views are those of neighbours, in memory of their own. The neighbours are
// those of a graph of the rows that are there. Where nothing is absent, these are the blocks themselves.
func (s *Inputs[T]) Filled(ctx context.Context, blocks []neighbor.Block[T], n int, o Options) ([]neighbor.Block[T], error) {
	if !Incomplete(o.Group, blocks) {
		return blocks, nil
	}
	x, err := viewsOfBlocks(blocks, n)
	if err != nil {
		return nil, err
	}
	index, err := neighbor.Build(ctx, x, s.spaces(false), o.index(n))
	if err != nil {
		return nil, ofNeighbors(ctx, err)
	}
	filled, err := neighbor.Fill(ctx, index.Operator(), blocks, fillSteps, o.Workers)
	return filled, ofNeighbors(ctx, err)
}

// StartRows returns what the start of a network clusters in place of the smoothed inputs in the blocks: the same rows, those
// of absent views filled along the graph. Zeros would show k-means which views are there before anything else.
func (s *Graph[T]) StartRows(
	ctx context.Context, blocks []neighbor.Block[T], n int, o Options,
) ([]rows.Matrix[T], error) {
	filled, err := neighbor.Fill(ctx, s.Operator(), blocks, startFillSteps, o.Workers)
	if err != nil {
		return nil, ofNeighbors(ctx, err)
	}
	return Matrices(filled, n), nil
}
