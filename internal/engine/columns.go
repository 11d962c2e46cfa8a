package engine

import (
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// compressed is a rows.Matrix of compressed rows, row i being the sparse row i of ptr, cols and values plus shift[i]·along;
// shift and along may be nil.
type compressed[T kernel.Float] interface {
	Compressed() (ptr []int, cols []int32, values, shift, along []T)
}

// byColumns is a sparse view for the products AᵀX. By rows, every block would add a few entries to an m×d matrix of its chunk. By
// columns, the blocks store their rows of A, and each column of the product is computed once, at the end of the chunk.
type byColumns[T kernel.Float] struct {
	x     []*kernel.Columns[T] // of each chunk
	shift []T
	along []float64
}

// isSparse reports whether the rows of x are sparse. Panels of its products are then packed for sparse rows.
func isSparse[T kernel.Float](x rows.Matrix[T]) bool {
	switch x.(type) {
	case *rows.Sparse[T], compressed[T]:
		return true
	}
	return false
}

func newByColumns[T kernel.Float](n, d, chunk int, x compressed[T]) *byColumns[T] {
	ptr, cols, values, shift, along := x.Compressed()
	c := &byColumns[T]{}
	for lo := 0; lo < n; lo += chunk {
		hi := min(lo+chunk, n)
		c.x = append(c.x, kernel.NewColumns(hi-lo, d, ptr[lo:hi+1], cols, values))
	}
	if shift != nil {
		c.shift, c.along = shift, make([]float64, d)
		kernel.AddTo(c.along, along)
	}
	return c
}

func (c *byColumns[T]) bytes() int64 {
	total := 8 * int64(len(c.along))
	for _, x := range c.x {
		total += x.Bytes()
	}
	return total
}

// makeColumns makes the sparse views' columns, once.
func (s *Memory[T]) makeColumns() {
	if s.columns != nil {
		return
	}
	s.columns = make([]*byColumns[T], len(s.x))
	for v, x := range s.x {
		if x, ok := x.(compressed[T]); ok {
			s.columns[v] = newByColumns(s.n, s.spec.Dims[v], s.chunk, x)
		}
	}
}

// left returns where a block stores its rows of A for correlate: buf, or their place in the chunk.
func (s *Memory[T]) left(acc *chunkSums[T], v, lo, hi int, buf []T) []T {
	if acc != nil && acc.a[v] != nil {
		return acc.a[v][(lo-acc.first)*s.ld : (hi-acc.first)*s.ld]
	}
	return buf
}

// correlate adds the block's share of AᵀX. a has the block's rows of A.
func (s *Memory[T]) correlate(acc *chunkSums[T], v, lo, hi int, a []T) {
	m, ld := s.spec.Anchors, s.ld
	if acc.a[v] == nil {
		s.x[v].TMulAdd(lo, hi, m, a, ld, acc.m[v], s.spec.Dims[v])
		return
	}
	if own := s.left(acc, v, lo, hi, nil); &own[0] != &a[0] {
		copy(own, a)
	}
}

// finishColumns adds a chunk's AᵀX of the views by columns to sums, when all blocks have stored their rows of A.
func (s *Memory[T]) finishColumns(chunk, rows int, acc *chunkSums[T], w *scratch[T], sums *Sums) {
	m := s.spec.Anchors
	for v, c := range s.columns {
		if c == nil {
			continue
		}
		d, dst := s.spec.Dims[v], sums.M[v]
		for lo := 0; lo < d; lo += s.block {
			c.x[chunk].TMulAdd(lo, min(lo+s.block, d), m, acc.a[v], w.z, dst)
		}
		if c.shift != nil {
			common := grow(w.common, m)
			clear(common)
			kernel.TMulAdd(rows, 1, m, c.shift[acc.first:], 1, acc.a[v], s.ld, common, m)
			w.common, w.shared = common, grow(w.shared, m)
			for j, x := range common {
				w.shared[j] = float64(x)
			}
			kernel.TMulAdd(1, m, d, w.shared, m, c.along, d, dst, d)
		}
	}
}
