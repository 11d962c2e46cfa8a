package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Recomputed is a Shard that keeps no state of its rows between passes. Each pass takes a block of rows through all earlier
// passes of the epoch, whose constants it keeps, and then through its own. A pass over rows on disk takes no longer for this
// while arithmetic waits for the disk. Its results have the bits of a Memory.
//
// A Final pass without gradient keeps H and the trust of the last layer, for results. There are no added cotangents, and no Term.
type Recomputed[T kernel.Float] struct {
	base   *Memory[T]  // without state
	stages []*stage[T] // of an epoch, in the order of its passes
	done   int         // how many of them have run

	mu  sync.Mutex
	own []*ownRows[T] // of each worker

	h     []T // of the last layer; nil: there was no such pass, or TakeH took it
	trust [][]T
}

// stage is a pass with its constants.
type stage[T kernel.Float] struct {
	pass   *Pass
	panels panels[T]
}

// ownRows holds a worker's current rows, with their state.
type ownRows[T kernel.Float] struct {
	*Memory[T]
	windows []*rows.Window[T]
}

var (
	_ Shard = (*Recomputed[float32])(nil)
	_ Shard = (*Recomputed[float64])(nil)
)

// NewRecomputed returns a shard of the rows in x, like NewMemory. Sparse rows are an error.
func NewRecomputed[T kernel.Float](spec *Spec, first int, x []rows.Matrix[T], present [][]bool) (*Recomputed[T], error) {
	base, err := newMemory(spec, first, x, present)
	if err != nil {
		return nil, err
	}
	if slices.Contains(base.panels.sparse, true) {
		return nil, errors.New("engine: sparse rows need a shard that keeps state")
	}
	return &Recomputed[T]{base: base, stages: make([]*stage[T], 2*spec.Layers+2)}, nil
}

// RecomputedFrom returns the Factory of a single shard that keeps no state, whose first row is the given sample.
func RecomputedFrom[T kernel.Float](first int) Factory[T] {
	return func(spec *Spec, x []rows.Matrix[T], present [][]bool, h0 []float64) ([]Shard, error) {
		if h0 != nil {
			return nil, errors.New("engine: rows with an initial representation need a shard that keeps state")
		}
		s, err := NewRecomputed(spec, first, x, present)
		if err != nil {
			return nil, err
		}
		return []Shard{s}, nil
	}
}

func (s *Recomputed[T]) place(p *Pass) int {
	switch layers := s.base.spec.Layers; p.Kind {
	case Forward:
		return p.Layer
	case Final:
		return layers + 1
	case Backward:
		return 2*layers + 2 - p.Layer
	}
	return 0
}

// Rows is the number of rows.
func (s *Recomputed[T]) Rows() int { return s.base.n }

// Run does a pass over all rows.
func (s *Recomputed[T]) Run(ctx context.Context, p *Pass, tree *Tree) error {
	b, at := s.base, s.place(p)
	if at > s.done {
		return fmt.Errorf("engine: pass %d of an epoch after %d", at, s.done)
	}
	if s.stages[at] == nil {
		s.stages[at] = &stage[T]{panels: panels[T]{sparse: b.panels.sparse}}
	}
	s.done = at + 1
	s.stages[at].pass = p
	if err := s.stages[at].panels.pack(ctx, b.spec, p); err != nil || p.Kind == Project { // a Project pass sums nothing
		return err
	}
	if err := rows.Failure(b.x); err != nil {
		return err
	}
	last := p.Kind == Final && !p.Gradient
	if last {
		s.keep()
	}
	b.free = 0
	correlates := p.Correlates(b.spec)
	err := parallel.Sum(ctx, b.spec.Workers, b.from/b.chunk, (b.n+b.chunk-1)/b.chunk, tree, b.chunkBuffer,
		func(worker, i int, acc *chunkSums[T], part *Sums) error {
			acc.clear(p)
			part.Begin(p, correlates)
			w, own := b.scratchOf(worker), s.rowsOf(worker)
			hi := min((i+1)*b.chunk, b.n)
			for lo := i * b.chunk; lo < hi; lo += b.block {
				end := min(lo+b.block, hi)
				own.take(b, lo, end)
				for k, st := range s.stages[:s.done] {
					var sums *chunkSums[T]
					if k == at {
						sums = acc
					}
					own.runBlock(st.pass, &st.panels, w, sums, 0, end-lo)
				}
				if last {
					s.leave(own, lo, end)
				}
			}
			acc.addTo(p, correlates, part)
			return nil
		})
	if failed := rows.Failure(b.x); failed != nil {
		return failed
	}
	return err
}

// rowsOf returns a worker's rows.
func (s *Recomputed[T]) rowsOf(worker int) *ownRows[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	for worker >= len(s.own) {
		m := &Memory[T]{
			spec: s.base.spec, n: s.base.block, ld: s.base.ld,
			present: make([][]T, len(s.base.x)), weight: make([][]T, len(s.base.x)),
		}
		own := &ownRows[T]{Memory: m}
		for _, x := range s.base.x {
			w := rows.NewWindow(x)
			own.windows, m.x = append(own.windows, w), append(m.x, w)
		}
		m.allocate(nil, true, nil)
		s.own = append(s.own, own)
	}
	return s.own[worker]
}

// take sets rows [lo, hi) of a shard as the current rows.
func (o *ownRows[T]) take(of *Memory[T], lo, hi int) {
	for v, w := range o.windows {
		w.Move(lo, hi)
		o.weight[v] = of.weight[v][lo:hi]
		if of.present[v] != nil {
			o.present[v] = of.present[v][lo:hi]
		}
	}
}

// keep allocates the state for results.
func (s *Recomputed[T]) keep() {
	if s.h == nil {
		s.h = make([]T, s.base.n*s.base.ld)
	}
	for range s.base.x {
		if s.base.spec.Noise && len(s.trust) < len(s.base.x) {
			s.trust = append(s.trust, make([]T, s.base.n))
		}
	}
}

// leave stores H and trust of the current rows [lo, hi).
func (s *Recomputed[T]) leave(own *ownRows[T], lo, hi int) {
	l, ld := s.base.spec.Layers, s.base.ld
	copy(s.h[lo*ld:hi*ld], own.h[l])
	for v, t := range s.trust {
		copy(t[lo:hi], own.Memory.trust[l][v])
	}
}

var errNoState = errors.New("engine: the state of these rows is not kept, but H and trust of the last layer after a pass " +
	"without gradient")

// Read copies rows [lo, hi) of H or of the trust of the last layer to dst.
func (s *Recomputed[T]) Read(f Field, layer, view, lo, hi int, p []float64, dst []float64) error {
	b := s.base
	known := f == FieldH && s.h != nil || f == FieldTrust && (s.trust != nil || !b.spec.Noise)
	if !known || layer != b.spec.Layers {
		return errNoState
	}
	kept := Memory[T]{spec: b.spec, n: b.n, ld: b.ld, x: b.x, h: make([][]T, layer+1), trust: make([][][]T, layer+1)}
	kept.h[layer], kept.trust[layer] = s.h, s.trust
	return kept.Read(f, layer, view, lo, hi, p, dst)
}

// CopyH sets dst to rows [lo, hi) of H_L, row-major with the stride ld ≥ m.
func (s *Recomputed[T]) CopyH(layer, lo, hi int, dst []T, ld int) error {
	b := s.base
	if s.h == nil || layer != b.spec.Layers {
		return errNoState
	}
	kept := Memory[T]{spec: b.spec, n: b.n, ld: b.ld, h: make([][]T, layer+1)}
	kept.h[layer] = s.h
	return kept.CopyH(layer, lo, hi, dst, ld)
}

// TakeH returns H of the last layer, n rows with the stride kernel.Pad(m), and gives up its ownership. It works for a Recomputed
// after a pass without gradient; else it returns nil, and the caller must copy H.
func TakeH[T kernel.Float](n *Net) []T {
	if len(n.shards) != 1 {
		return nil
	}
	s, ok := n.shards[0].(*Recomputed[T])
	if !ok {
		return nil
	}
	h := s.h
	s.h = nil
	return h
}

func (s *Recomputed[T]) AddH(int, []float64) error { return errNoState }

func (s *Recomputed[T]) AddTrust(int, int, []float64) error { return errNoState }

func (s *Recomputed[T]) ClearAdded() {}

// Bytes is the memory of the rows and of their stored state.
func (s *Recomputed[T]) Bytes() int64 {
	total := int64(len(s.h)) * int64(elementSize[T]())
	for _, x := range s.base.x {
		total += x.Bytes()
	}
	for _, t := range s.trust {
		total += int64(len(t)) * int64(elementSize[T]())
	}
	return total
}

// Close releases the rows.
func (s *Recomputed[T]) Close() error {
	*s = Recomputed[T]{base: &Memory[T]{spec: s.base.spec}}
	return nil
}

// RecomputedBytes is the memory of a Recomputed for n rows of elements of the given size, beside the memory of every network: the
// constants of all passes, the current rows, and the stored state for the result.
func RecomputedBytes(s *Spec, n, size int) int64 {
	width, padded, views := 0, kernel.Pad(s.Anchors), len(s.Dims)
	for _, d := range s.Dims {
		width += d
	}
	kept := padded
	if s.Noise {
		kept += views
	}
	constants := (2*s.Layers + 1) * (3*padded*width + (4+4*views)*padded*padded) * size
	block := blockRows(width*size, mostRows)
	at := StateBytes(s, block, size, 0, true) + int64(block*width*size) // and the rows, which are read
	return int64(constants) + at*int64(parallel.Workers(s.Workers)) + int64(n)*int64(kept)*int64(size)
}
