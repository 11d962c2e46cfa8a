package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Frozen takes rows through a trained network on a device, a batch at a time. One goroutine at a time may use it.
type Frozen[T kernel.Float] struct {
	drv    Driver
	spec   engine.Spec
	passes []*engine.Pass
}

// NewFrozen returns the network of the given passes (engine.Frozen) on the device of a session.
func NewFrozen[T kernel.Float](s *Session, spec engine.Spec, passes []*engine.Pass) *Frozen[T] {
	return &Frozen[T]{drv: s.drv, spec: spec, passes: passes}
}

// batchEntries bounds the entries of a batch, which this process stores too: 12,557 rows of 2,672.
const batchEntries = 32 << 20

// Batch returns the number of rows, of n, in a batch: as many as batchEntries and the device's memory allow. If the memory does
// not suffice for one, the error is a *MemoryError. Only sizes and free memory decide.
func (f *Frozen[T]) Batch(n int) (int, error) {
	width := 0
	for _, d := range f.spec.Dims {
		width += d
	}
	for most := min(n, max(1, batchEntries/max(width, 1))); ; most /= 2 {
		spec := f.spec
		spec.Samples = max(most, 1)
		need, err := Bytes[T](&spec, f.unmasked(), false, false)
		if err != nil {
			return 0, err
		}
		err = fits(f.drv, fmt.Sprintf("a batch of %d samples", spec.Samples), need)
		var full *MemoryError
		if err == nil || most <= 1 || !errors.As(err, &full) {
			return spec.Samples, err
		}
	}
}

// unmasked returns masks with which any sample may lack any view, which take the most memory.
func (f *Frozen[T]) unmasked() [][]bool {
	out := make([][]bool, len(f.spec.Dims))
	for v := range out {
		out[v] = []bool{false}
	}
	return out
}

// Run sets h, row-major with the stride kernel.Pad(m), to the representation of the rows x. present[v] says which rows have view
// v (nil: all). Absent rows must be zero. Sparse rows become dense.
func (f *Frozen[T]) Run(ctx context.Context, x []rows.Matrix[T], present [][]bool, h []T) (err error) {
	spec := f.spec
	spec.Samples, _ = x[0].Dims()
	s, err := New(f.drv, &spec, x, present, nil, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, p := range f.passes {
		if err := s.runFrozen(ctx, p); err != nil {
			return err
		}
	}
	return s.CopyH(spec.Layers, 0, spec.Samples, h, kernel.Pad(spec.Anchors))
}

// runFrozen does a pass without the sums for the anchors, which only training needs.
func (s *Shard[T]) runFrozen(ctx context.Context, p *engine.Pass) error {
	s.k.ctx, s.frozen = ctx, true
	c, err := s.upload(p)
	if err != nil {
		return err
	}
	switch p.Kind {
	case engine.Project:
		s.project(c)
	case engine.Forward:
		s.forward(p, c)
	default:
		return fmt.Errorf("device: a trained network has no pass %d", p.Kind)
	}
	return s.k.failed()
}
