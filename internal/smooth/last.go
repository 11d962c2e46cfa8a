package smooth

import (
	"context"
	"errors"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/neighbor"
)

// If samples lack views, the representation is smoothed along the graph as the inputs were. This changes little for training
// samples, whose neighbours training has made alike. The representation of a new sample comes from its few views.

// lastSteps is the number of steps of this smoothing.
const lastSteps = 4

// SmoothLast smooths h, the representation of this rank's n training samples, at norm 1, along their graph, to norm 1 again. Last
// then does the same to new samples. h has the given columns and the stride ld. SmoothLast does nothing if inputs are not
// smoothed.
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

func (s *Transform[T]) Smooths() bool { return s.last != nil }

// Last smooths the representation, at norm 1, of the samples that b took last, as SmoothLast smoothed the training samples.
func (s *Transform[T]) Last(ctx context.Context, h []T, columns, ld int, b *prepare.Buffer[T]) error {
	t, ok := b.Other.(*taken[T])
	if !ok || s.last == nil {
		return errors.New("the representation is not smoothed")
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
