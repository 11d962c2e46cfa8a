package smooth

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// Transform makes inputs of new samples in the same way as of the training samples. It is safe for concurrent use.
type Transform[T kernel.Float] struct {
	inputs  *Inputs[T]
	graph   *Graph[T]
	filters []*neighbor.Filter[T] // of the inputs
	last    *neighbor.Filter[T]   // of the representation; nil: it is not smoothed
	judging *judging[T]
}

// taken is the memory for the inputs of some samples.
type taken[T kernel.Float] struct {
	blocks  []neighbor.Block[T]
	dense   []rows.Dense[T] // of the blocks
	views   []neighbor.View[T]
	inputs  []rows.Matrix[T]
	links   *neighbor.Links // of the samples, for Last
	lengths bool
	kept    [][]T             // copies of the blocks before smoothing
	before  prepare.Before[T] // the inputs before smoothing, if they are kept
}

func newTaken[T kernel.Float](inputs int) *taken[T] {
	return &taken[T]{
		blocks: make([]neighbor.Block[T], inputs), dense: make([]rows.Dense[T], inputs),
		views: make([]neighbor.View[T], inputs), inputs: make([]rows.Matrix[T], inputs),
		kept: make([][]T, inputs),
		before: prepare.Before[T]{
			Rows: make([]rows.Matrix[T], inputs), Lengths: make([][]float64, inputs), Features: make([]float64, inputs),
		},
	}
}

// Take attaches new samples to the graph and smooths them as the training samples were, in the memory of b.
func (s *Transform[T]) Take(
	ctx context.Context, views []view.View, lo, hi, _ int, b *prepare.Buffer[T],
) ([]rows.Matrix[T], error) {
	t, _ := b.Other.(*taken[T])
	if t == nil {
		t = newTaken[T](len(s.inputs.Inputs))
		b.Other = t
	}
	t.lengths = b.Lengths
	workers := 1
	if s.work(views)*(hi-lo) > leastShared {
		workers = max(b.Workers, 1)
	}
	if err := s.before(ctx, views, lo, hi, workers, t); err != nil {
		return nil, err
	}
	for k, block := range t.blocks {
		t.dense[k] = *rows.NewDense(hi-lo, block.Cols, block.Ld, block.X)
		t.views[k], t.inputs[k] = neighbor.View[T]{Rows: &t.dense[k], Present: block.Present}, &t.dense[k]
	}
	links, err := s.graph.index.Attach(ctx, t.views, workers)
	if err != nil {
		return nil, err
	}
	t.links = links
	if b.Keeps {
		for k, block := range t.blocks {
			t.kept[k] = append(t.kept[k][:0], block.X...)
			t.before.Rows[k] = rows.NewDense(hi-lo, block.Cols, block.Ld, t.kept[k])
		}
	}
	return t.inputs, neighbor.ApplyAll(ctx, s.filters, links, t.blocks, workers)
}

// Before returns the inputs, before smoothing, of the samples that b took last. b must keep them.
func (s *Transform[T]) Before(b *prepare.Buffer[T]) *prepare.Before[T] {
	return &b.Other.(*taken[T]).before
}

// leastShared is the number of multiplications from which goroutines share samples: below, starting them takes longer.
const leastShared = 1 << 23

// work returns the approximate number of multiplications for a sample, in its directions and in the search for its neighbours.
func (s *Transform[T]) work(views []view.View) int {
	others, sum := neighbor.DefaultLandmarks(s.filters[0].Atoms), 0
	if s.graph.index.Exact() {
		others = s.filters[0].Atoms
	}
	for _, in := range s.inputs.Inputs {
		sum += in.Columns * (views[in.View].Cols + others)
	}
	return sum
}

// before sets the blocks of t to the inputs of samples before smoothing, and their lengths if they are kept.
func (s *Transform[T]) before(ctx context.Context, views []view.View, lo, hi, workers int, t *taken[T]) error {
	return parallel.For(ctx, workers, len(s.inputs.Inputs), func(_, k int) error {
		in := &s.inputs.Inputs[k]
		x := views[in.View].Window(lo, hi)
		unit, err := UnitRows[T](ctx, s.inputs.Standardised, k, x, 1)
		if err != nil {
			return err
		}
		if t.lengths {
			st, to := s.inputs.prepare[s.inputs.part[k]], make([]float64, hi-lo)
			t.before.Features[k], t.before.Lengths[k] = prepare.Lengths(st, in.View, in.Length, unit, to), to
		}
		t.blocks[k] = neighbor.Block[T]{
			X: s.inputs.rows(k, unit, 0, hi-lo, t.blocks[k].X), Ld: neighbor.Stride(in.Columns), Cols: in.Columns,
			Present: x.Present,
		}
		return nil
	})
}

// Alone returns the transform without data that grow with the number of training samples, if new samples do not need them. New
// samples need all of them for exact neighbours, none for landmarks.
func (s *Transform[T]) Alone(ctx context.Context, workers int) (*Transform[T], error) {
	if s.graph.index.Exact() {
		return s, nil
	}
	state := s.graph.index.State()
	state.Links = nil
	index, err := neighbor.Restore(ctx, state, nil, workers)
	return &Transform[T]{s.inputs, &Graph[T]{index: index}, s.filters, s.last, s.judging}, err
}
