package neighbor

import "github.com/largemvc/largemvc/internal/kernel"

// Parts are an operator for those who go through its samples a chunk at a time: A = L·(table), where a table has a row for each
// atom. For a Graph the table of x is x itself; for a Factor, A = BBᵀ, it is Bᵀx, the sum over the chunks of what Scatter
// returns. Its methods are safe for concurrent use.
type Parts[T Float] struct{ layout *layout[T] }

// NewParts returns the parts of a Graph or a Factor; another operator is an error.
func NewParts[T Float](op Operator) (*Parts[T], error) {
	p, err := partOf[T](op)
	return &Parts[T]{p.layout}, err
}

// Factored reports whether the operator is a Factor.
func (p *Parts[T]) Factored() bool { return p.layout.chunks != nil }

// Atoms returns the number of rows of a table.
func (p *Parts[T]) Atoms() int { return p.layout.links.atoms }

// Chunk returns the number of samples of a chunk, the last one aside.
func (p *Parts[T]) Chunk() int { return chunkRows(p.layout.links.samples()) }

// Gather sets dst to rows lo to hi−1 of A·x for the table of x. Both have the stride ld, a multiple of 16.
func (p *Parts[T]) Gather(lo, hi int, dst, table []T, ld int) {
	p.layout.gather(lo, hi, dst, table, ld)
}

// Scatter sets dst, a row for each atom, to the share of a chunk's samples in the table of x, whose rows of the chunk are
// given. Both have the stride ld, a multiple of 16. The operator is a Factor.
func (p *Parts[T]) Scatter(chunk int, dst, x []T, ld int) {
	c := &p.layout.chunks[chunk]
	kernel.MulSparse(c.ptr, c.col, c.values, ld, x, dst, ld)
}
