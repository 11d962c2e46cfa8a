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

// NewFrozen packs a trained network. anchors returns P_l of a view, l from 0 to L; NewFrozen keeps the values.
func NewFrozen[T kernel.Float](spec Spec, q *Params, anchors func(l, v int) []float64) (*Frozen[T], error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	f := &Frozen[T]{spec: spec, panels: make([]panels[T], spec.Layers+1)}
	start := make([][]float64, len(spec.Dims))
	for v := range start {
		start[v] = anchors(0, v)
	}
	// A coordinator without shards determines the constants of each pass.
	net, err := NewNet(spec, []Shard{nil}, InOrder{}, start)
	if err != nil {
		return nil, err
	}
	if spec.Anchored {
		for l := 1; l <= spec.Layers; l++ {
			for v, d := range spec.Dims {
				copy(net.p[l][v], anchors(l, v))
				if err := net.derive(l, v, d); err != nil {
					return nil, err
				}
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

// Passes returns the shape of the network, without Samples, and its passes in order: Project, then Forward for each layer. They
// must not be changed.
func (f *Frozen[T]) Passes() (Spec, []*Pass) { return f.spec, f.passes }

// FrozenRows runs a Frozen network on a few rows at a time, in the same memory. One goroutine at a time may use it.
type FrozenRows[T kernel.Float] struct {
	f       *Frozen[T]
	shard   *Memory[T]
	present [][]bool
	count   []int // views of a row
	full    []T   // 1/count
	weight  [][]T // full, or 0 where a row lacks the view
}

// NewRows returns a runner for at most room rows, which Use sets. present[v] says which rows have view v and may be changed
// between runs; nil: all have all views.
func (f *Frozen[T]) NewRows(room int, present [][]bool) (*FrozenRows[T], error) {
	x := make([]rows.Matrix[T], len(f.spec.Dims))
	width := 0
	for v, d := range f.spec.Dims {
		x[v] = rows.NewSparse[T](room, d, make([]int, room+1), nil, nil, nil, nil)
		width += d
	}
	shard, err := NewMemory(&f.spec, 0, x, nil, nil, false)
	if err != nil {
		return nil, err
	}
	shard.block = min(blockRows(width*elementSize[T](), mostRows), (room+7)&^7)
	r := &FrozenRows[T]{f: f, shard: shard, present: present, count: make([]int, shard.n), full: make([]T, shard.n)}
	for range x {
		r.weight = append(r.weight, make([]T, shard.n))
	}
	return r, nil
}

// Use sets the rows of a view for the following runs. Absent rows must be zero.
func (r *FrozenRows[T]) Use(v int, x rows.Matrix[T]) { r.shard.x[v] = x }

// Run computes H_L and the trust of the first n rows.
func (r *FrozenRows[T]) Run(n int) {
	s := r.shard
	if r.present != nil {
		r.weigh(n)
	}
	w := s.scratchOf(0)
	for lo := 0; lo < n; lo += s.block {
		hi := min(lo+s.block, n)
		for l, p := range r.f.passes {
			s.runBlock(p, &r.f.panels[l], w, nil, lo, hi)
		}
	}
}

// weigh sets the weights of the views in the mean over views, for the first n rows, as Memory.setPresence does.
func (r *FrozenRows[T]) weigh(n int) {
	clear(r.count[:n])
	for _, b := range r.present {
		for i, ok := range b[:n] {
			if ok {
				r.count[i]++
			}
		}
	}
	for i, c := range r.count[:n] {
		r.full[i] = 1 / T(max(c, 1))
	}
	for v, b := range r.present {
		weight := r.weight[v]
		for i, ok := range b[:n] {
			weight[i] = 0
			if ok {
				weight[i] = r.full[i]
			}
		}
		r.shard.weight[v] = weight
	}
}

// H returns H_L row-major with its stride; it is overwritten by the next Run.
func (r *FrozenRows[T]) H() (h []T, ld int) { return r.shard.h[r.f.spec.Layers], r.shard.ld }

// Trust returns t_Lv per row, nil without noise; it is overwritten by the next Run.
func (r *FrozenRows[T]) Trust(v int) []T { return r.shard.trust[r.f.spec.Layers][v] }
