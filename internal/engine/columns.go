package engine

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// compressed is a rows.Matrix of compressed rows, row i being the sparse row i of ptr, cols and values plus shift[i]·along;
// shift and along may be nil.
type compressed[T kernel.Float] interface {
	Compressed() (ptr []int, cols []int32, values, shift, along []T)
}

// byColumns is a sparse view for the products AᵀX. By rows, every block would add to an m×d matrix of its chunk of which it
// touches little; by columns, the blocks leave their rows of A, and each column of the product is formed once, at the end
// of the pass.
type byColumns[T kernel.Float] struct {
	x      *kernel.Columns[T]
	a      []T // n×ld
	shift  []T
	along  []float64
	common []float64 // Aᵀ·shift
}

// isSparse says whether the rows of x are sparse, so that the panels of its products are best packed for those.
func isSparse[T kernel.Float](x rows.Matrix[T]) bool {
	switch x.(type) {
	case *rows.Sparse[T], compressed[T]:
		return true
	}
	return false
}

func newByColumns[T kernel.Float](n, d, m int, x compressed[T]) *byColumns[T] {
	ptr, cols, values, shift, along := x.Compressed()
	c := &byColumns[T]{x: kernel.NewColumns(n, d, ptr, cols, values), a: make([]T, n*kernel.Pad(m))}
	if shift != nil {
		c.shift, c.along, c.common = shift, make([]float64, d), make([]float64, m)
		kernel.AddTo(c.along, along)
	}
	return c
}

func (c *byColumns[T]) bytes() int64 {
	return c.x.Bytes() + int64(len(c.a)*elementSize[T]()) + 8*int64(len(c.along)+len(c.common))
}

// correlates says whether a pass sums products AᵀX.
func (s *Memory[T]) correlates(p *Pass) bool {
	switch p.Kind {
	case Forward:
		return s.spec.Anchored
	case Final:
		return p.Gradient && s.spec.Anchored && !s.spec.Detach
	case Backward:
		return s.throughAnchors(p.Layer)
	}
	return false
}

// makeColumns makes the sparse views' columns, once.
func (s *Memory[T]) makeColumns() {
	if s.columns != nil {
		return
	}
	s.columns = make([]*byColumns[T], len(s.x))
	for v, x := range s.x {
		if x, ok := x.(compressed[T]); ok {
			s.columns[v] = newByColumns(s.n, s.spec.Dims[v], s.spec.Anchors, x)
		}
	}
}

// byColumns returns a view by columns, nil if it is not.
func (s *Memory[T]) byColumns(v int) *byColumns[T] {
	if s.columns == nil {
		return nil
	}
	return s.columns[v]
}

// left returns where a block leaves its rows of A for correlate: buf, or their place among all rows.
func (s *Memory[T]) left(v, lo, hi int, buf []T) []T {
	if c := s.byColumns(v); c != nil {
		return c.a[lo*s.ld : hi*s.ld]
	}
	return buf
}

// correlate adds the block's share of AᵀX; a is its rows of A.
func (s *Memory[T]) correlate(acc *chunkSums[T], v, lo, hi int, a []T) {
	m, ld := s.spec.Anchors, s.ld
	c := s.byColumns(v)
	if c == nil {
		s.x[v].TMulAdd(lo, hi, m, a, ld, acc.m[v], s.spec.Dims[v])
		return
	}
	if own := c.a[lo*ld : hi*ld]; &own[0] != &a[0] {
		copy(own, a)
	}
	if c.shift != nil {
		kernel.TMulAdd(hi-lo, 1, m, c.shift[lo:], 1, a, ld, acc.common[v], m)
	}
}

// finishColumns adds AᵀX of the views by columns to sums, when the blocks have left A.
func (s *Memory[T]) finishColumns(ctx context.Context, sums *Sums) error {
	type item struct{ v, lo, hi int }
	var items []item
	for v, c := range s.columns {
		for lo, d := 0, s.spec.Dims[v]; c != nil && lo < d; lo += s.block {
			items = append(items, item{v, lo, min(lo+s.block, d)})
		}
	}
	m := s.spec.Anchors
	return parallel.For(ctx, s.spec.Workers, len(items), func(worker, i int) error {
		at, d := items[i], s.spec.Dims[items[i].v]
		c, dst := s.columns[at.v], sums.M[at.v]
		c.x.TMulAdd(at.lo, at.hi, m, c.a, s.scratchOf(worker).z, dst)
		if c.shift != nil {
			kernel.TMulAdd(1, m, at.hi-at.lo, c.common, m, c.along[at.lo:], d, dst[at.lo:], d)
		}
		return nil
	})
}
