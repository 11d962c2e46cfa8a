package smooth

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Transform takes new samples to inputs as the training samples were taken. It is safe for concurrent use.
type Transform[T kernel.Float] struct {
	inputs  *Inputs[T]
	graph   *Graph[T]
	filters []*neighbor.Filter[T] // of the inputs
	last    *neighbor.Filter[T]   // of the representation; nil: it is not smoothed
	judging *judging[T]
}

// Take attaches new samples to the graph and smooths them as the training samples were.
func (s *Transform[T]) Take(
	ctx context.Context, views []view.View, lo, hi, _ int, b *prepare.Buffer[T],
) ([]rows.Matrix[T], error) {
	blocks, err := s.before(ctx, views, lo, hi)
	if err != nil {
		return nil, err
	}
	x, err := viewsOfBlocks(blocks, hi-lo)
	if err != nil {
		return nil, err
	}
	links, err := s.graph.index.Attach(ctx, x, 1)
	if err != nil {
		return nil, err
	}
	b.Links = links
	for k, block := range blocks {
		if err := s.filters[k].Apply(ctx, links, block, 1); err != nil {
			return nil, err
		}
	}
	return Matrices(blocks, hi-lo), nil
}

// before returns the inputs of samples before they are smoothed.
func (s *Transform[T]) before(ctx context.Context, views []view.View, lo, hi int) ([]neighbor.Block[T], error) {
	blocks := make([]neighbor.Block[T], len(s.inputs.Inputs))
	for k, in := range s.inputs.Inputs {
		x := views[in.View].Window(lo, hi)
		unit, err := UnitRows[T](ctx, s.inputs.Standardised, k, x, 1)
		if err != nil {
			return nil, err
		}
		blocks[k] = neighbor.Block[T]{
			X: s.inputs.rows(k, unit, 0, hi-lo, nil), Ld: neighbor.Stride(in.Columns), Cols: in.Columns,
			Present: x.Present,
		}
	}
	return blocks, nil
}

// Alone returns it without what grows with the number of training samples, where new samples do not need that: they need all
// of it for exact neighbours, nothing for landmarks.
func (s *Transform[T]) Alone(ctx context.Context, workers int) (*Transform[T], error) {
	if s.graph.index.Exact() {
		return s, nil
	}
	index, err := neighbor.Restore(ctx, s.graph.index.State(), nil, workers)
	return &Transform[T]{s.inputs, &Graph[T]{index: index}, s.filters, s.last, s.judging}, err
}
