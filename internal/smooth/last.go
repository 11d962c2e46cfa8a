package smooth

import (
	"context"
	"errors"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/neighbor"
)

// Where samples lack views, the representation is smoothed along the graph as the inputs were. Training has made neighbours among
// its own samples alike, so that little changes for them; what the layers make of a new sample rests on the few views that it
// has.

// lastSteps is the number of steps of that.
const lastSteps = 4

// SmoothLast smooths h, the representation of the training samples, of which this rank has n, at norm 1, in so many columns with
// the stride ld, along their graph, to norm 1 again, and makes Last do the same to new samples. It does nothing where inputs are
// not smoothed.
func (s *Transform[T]) SmoothLast(ctx context.Context, h []T, n, columns, ld int, o Options) error {
	if o.steps(o.Group.Total(n)) < 1 {
		return nil
	}
	block := neighbor.Block[T]{X: h, Ld: ld, Cols: columns}
	filters, err := neighbor.Smooth(ctx, s.graph.Operator(), []neighbor.Block[T]{block}, lastSteps, o.Workers)
	if err != nil {
		return ofNeighbors(ctx, err)
	}
	s.graph.makeEqual([]neighbor.Block[T]{block})
	s.last = filters[0]
	return nil
}

// Smooths says whether Last does anything.
func (s *Transform[T]) Smooths() bool { return s.last != nil }

// Last smooths the representation, at norm 1, of the samples that were taken into b last, in so many columns with the stride ld,
// as SmoothLast smoothed that of the training samples.
func (s *Transform[T]) Last(ctx context.Context, h []T, columns, ld int, b *prepare.Buffer[T]) error {
	t, ok := b.Other.(*taken[T])
	if !ok || s.last == nil {
		return errors.New("there is no representation to be smoothed")
	}
	return s.last.Apply(ctx, t.links, neighbor.Block[T]{X: h, Ld: ld, Cols: columns}, 1)
}

// The tensors of the last filter, see docs/format.md.
const lastName, lastStepsName = "last_filter", "last_steps"

func (s *Transform[T]) saveLast(f *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	if s.last == nil {
		return
	}
	values := withoutPadding(s.last.Table, s.last.Atoms, s.last.Cols)
	f.Tensors = append(f.Tensors, floats(lastName, values, s.last.Atoms, s.last.Cols),
		safetensors.Ints(lastStepsName, []int{s.last.Steps}, 1))
}

func (s *Transform[T]) readLast(in *file.Tensors, atoms, columns int) {
	if !in.Has(lastName) && !in.Has(lastStepsName) {
		return
	}
	table, steps := in.Floats(lastName, atoms, columns), in.Ints(lastStepsName, 1)
	if in.Err == nil && steps[0] != lastSteps {
		in.Fail("%q is %d, want %d", lastStepsName, steps[0], lastSteps)
	}
	if in.Err != nil {
		return
	}
	s.last = &neighbor.Filter[T]{
		Steps: lastSteps, Cols: columns, Atoms: atoms, Table: withPadding[T](table, atoms, columns),
	}
}
