package neighbor

import "github.com/largemvc/largemvc/internal/kernel"

// Parts gives access to an operator in chunks of samples: A·x = L·table, with one row of the table for each atom. For a Graph,
// the table of x is x itself. For a Factor A = B·Bᵀ it is Bᵀx, the sum of the results of Scatter over all chunks. Its methods
// are safe for concurrent use.
type Parts[T Float] struct{ layout *layout[T] }

// NewParts returns the parts of a Graph or a Factor. Any other operator is an error.
func NewParts[T Float](op Operator) (*Parts[T], error) {
	p, err := operand[T](op, 0)
	return &Parts[T]{p.layout}, err
}

// Factored reports whether the operator is a Factor.
func (p *Parts[T]) Factored() bool { return p.layout.chunks != nil }

// Atoms returns the number of rows of a table.
func (p *Parts[T]) Atoms() int { return p.layout.links.atoms }

// Chunk returns the number of samples in a chunk. The last chunk may have fewer.
func (p *Parts[T]) Chunk() int { return chunkRows(p.layout.links.samples()) }

// Gather sets dst to rows lo to hi−1 of A·x, given the table of x. dst and table have the stride ld, a multiple of 16.
func (p *Parts[T]) Gather(lo, hi int, dst, table []T, ld int) {
	p.layout.gather(lo, hi, dst, table, ld)
}

// Scatter sets dst, one row for each atom, to the contribution of a chunk of samples to the table of x. x holds the rows of the
// chunk. dst and x have the stride ld, a multiple of 16. The operator must be a Factor.
func (p *Parts[T]) Scatter(chunk int, dst, x []T, ld int) {
	c := &p.layout.chunks[chunk]
	kernel.MulSparse(c.ptr, c.col, c.values, ld, x, dst, ld)
}
