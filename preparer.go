package largemvc

import (
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// preparer turns rows of new views into what the network works on: standardised, in T. A row of a training sample gets the
// bits that it had in training. It is safe for concurrent use.
type preparer[T kernel.Float] struct {
	*standardiser
	along []*rows.Direction[T] // of the shifts of sparse rows
}

// newPreparer returns the preparer for views of the given features.
func newPreparer[T kernel.Float](s *standardiser, dims []int) *preparer[T] {
	p := &preparer[T]{standardiser: s, along: make([]*rows.Direction[T], len(dims))}
	for v, d := range dims {
		p.along[v] = direction[T](s, v, d)
	}
	return p
}

// rowBuffer is the memory for some rows of one view. Each part is made when it is first needed.
type rowBuffer[T kernel.Float] struct {
	row []float64

	values []T // of dense rows
	dense  *rows.Dense[T]

	ptr            []int
	entries, shift []T // of sparse rows
}

// rows returns rows [lo, hi) of view v, at most room, in the memory of b.
func (p *preparer[T]) rows(v int, x View, lo, hi, room int, b *rowBuffer[T]) rows.Matrix[T] {
	if x.sparse != nil {
		return p.sparseRows(v, x, lo, hi, b)
	}
	return p.denseRows(v, x, lo, hi, room, b)
}

func (p *preparer[T]) denseRows(v int, x View, lo, hi, room int, b *rowBuffer[T]) rows.Matrix[T] {
	d := x.cols
	if b.dense == nil {
		b.values, b.row = make([]T, room*d), make([]float64, d)
		b.dense = rows.NewDense(room, d, d, b.values)
	}
	for i := lo; i < hi; i++ {
		denseRow(p.standardiser, x, v, i, b.values[(i-lo)*d:(i-lo+1)*d], b.row[:d])
	}
	return b.dense
}

func (p *preparer[T]) sparseRows(v int, x View, lo, hi int, b *rowBuffer[T]) rows.Matrix[T] {
	src := x.sparse
	first, end := src.ptr[lo], src.ptr[hi]
	b.ptr = b.ptr[:0]
	for _, at := range src.ptr[lo : hi+1] {
		b.ptr = append(b.ptr, at-first)
	}
	b.entries = append(b.entries[:0], make([]T, end-first)...)
	var shift []T
	if p.along[v] != nil {
		b.shift = append(b.shift[:0], make([]T, hi-lo)...)
		shift = b.shift
	}
	for i := lo; i < hi; i++ {
		if x.Has(i) {
			b.row = sparseRow(p.standardiser, x, v, i, b.entries[b.ptr[i-lo]:b.ptr[i-lo+1]], shift, i-lo, b.row)
		}
	}
	return rows.NewSparse(hi-lo, x.cols, b.ptr, src.cols[first:end], b.entries, shift, p.along[v])
}
