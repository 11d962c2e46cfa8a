package engine

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Frozen is a trained network: parameters and the anchors of every layer, packed for the kernels. It is read-only and
// safe for concurrent use.
type Frozen[T kernel.Float] struct {
	spec   Spec
	passes []*Pass // passes[0] projects, passes[l] is layer l
	panels []panels[T]
}

// NewFrozen packs a trained network. anchors returns P_l of a view, l from 0 to L; its values are kept.
func NewFrozen[T kernel.Float](spec Spec, q *Params, anchors func(l, v int) []float64) (*Frozen[T], error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	f := &Frozen[T]{spec: spec, panels: make([]panels[T], spec.Layers+1)}
	start := make([][]float64, len(spec.Dims))
	one := make([]int, len(spec.Dims))
	for v := range start {
		start[v], one[v] = anchors(0, v), 1
	}
	// A coordinator without shards knows which constants each pass has.
	net, err := NewNet(spec, []Shard{nil}, InOrder{}, start, one)
	if err != nil {
		return nil, err
	}
	if spec.Anchored {
		for l := 1; l <= spec.Layers; l++ {
			for v, d := range spec.Dims {
				copy(net.p[l][v], anchors(l, v))
				net.derive(l, v, d)
			}
		}
	}
	f.passes = append(f.passes, net.pass(Project, 0, nil))
	for l := 1; l <= spec.Layers; l++ {
		f.passes = append(f.passes, net.pass(Forward, l, q))
	}
	for l, p := range f.passes {
		if err := f.panels[l].pack(context.Background(), &f.spec, p); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// FrozenRows runs a Frozen network on a few rows at a time; its memory is used again. One goroutine uses it at once.
type FrozenRows[T kernel.Float] struct {
	f       *Frozen[T]
	x       []rows.Matrix[T]
	shard   *Memory[T]
	present [][]bool
}

// NewRows returns a runner over the rows of x, whose values may be changed between runs. present is as in NewMemory and
// may be changed too, if it is not nil.
func (f *Frozen[T]) NewRows(x []rows.Matrix[T], present [][]bool) (*FrozenRows[T], error) {
	shard, err := NewMemory(&f.spec, x, present, nil, false)
	if err != nil {
		return nil, err
	}
	return &FrozenRows[T]{f: f, x: x, shard: shard, present: present}, nil
}

// Run computes H_L and the trust of the first n rows.
func (r *FrozenRows[T]) Run(n int) {
	s := r.shard
	if r.present != nil {
		s.setPresence(r.present)
	}
	w := s.scratchOf(0)
	for lo := 0; lo < n; lo += s.block {
		hi := min(lo+s.block, n)
		for l, p := range r.f.passes {
			s.runBlock(p, &r.f.panels[l], w, nil, lo, hi)
		}
	}
}

// H returns H_L row-major with its stride; it is overwritten by the next Run.
func (r *FrozenRows[T]) H() (h []T, ld int) { return r.shard.h[r.f.spec.Layers], r.shard.ld }

// Trust returns t_Lv per row, nil without noise; it is overwritten by the next Run.
func (r *FrozenRows[T]) Trust(v int) []T { return r.shard.trust[r.f.spec.Layers][v] }
