package prepare

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Rows standardises rows of new views, in T. A row of a training sample gets the bits that it had in training. It is safe for
// concurrent use.
type Rows[T kernel.Float] struct {
	*Standardiser
	along []*rows.Direction[T] // of the shifts of sparse rows
}

// NewRows returns the preparer for views of the given features.
func NewRows[T kernel.Float](s *Standardiser, dims []int) *Rows[T] {
	p := &Rows[T]{Standardiser: s, along: make([]*rows.Direction[T], len(dims))}
	for v, d := range dims {
		p.along[v] = direction[T](s, v, d)
	}
	return p
}

// Buffer is the memory for some samples.
type Buffer[T kernel.Float] struct {
	views  []rowBuffer[T]
	inputs []rows.Matrix[T]

	Other   any  // memory of other packages
	Workers int  // goroutines for the samples; below 2: only the caller's
	Keeps   bool // keeps the inputs before smoothing
	Lengths bool // keeps the lengths of their rows too
}

// Take returns samples [lo, hi) of the views, at most room, in the memory of b.
func (p *Rows[T]) Take(_ context.Context, views []view.View, lo, hi, room int, b *Buffer[T]) ([]rows.Matrix[T], error) {
	if b.views == nil {
		b.views, b.inputs = make([]rowBuffer[T], len(views)), make([]rows.Matrix[T], len(views))
	}
	for v, x := range views {
		b.inputs[v] = p.rows(v, x, lo, hi, room, &b.views[v])
	}
	return b.inputs, nil
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
func (p *Rows[T]) rows(v int, x view.View, lo, hi, room int, b *rowBuffer[T]) rows.Matrix[T] {
	if x.Sparse != nil {
		return p.sparseRows(v, x, lo, hi, b)
	}
	return p.denseRows(v, x, lo, hi, room, b)
}

func (p *Rows[T]) denseRows(v int, x view.View, lo, hi, room int, b *rowBuffer[T]) rows.Matrix[T] {
	d := x.Cols
	if b.dense == nil {
		b.values, b.row = make([]T, room*d), make([]float64, d)
		b.dense = rows.NewDense(room, d, d, b.values)
	}
	for i := lo; i < hi; i++ {
		denseRow(p.Standardiser, x, v, i, b.values[(i-lo)*d:(i-lo+1)*d], b.row[:d])
	}
	return b.dense
}

func (p *Rows[T]) sparseRows(v int, x view.View, lo, hi int, b *rowBuffer[T]) rows.Matrix[T] {
	src := x.Sparse
	first, end := src.Ptr[lo], src.Ptr[hi]
	b.ptr = b.ptr[:0]
	for _, at := range src.Ptr[lo : hi+1] {
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
			b.row = sparseRow(p.Standardiser, x, v, i, b.entries[b.ptr[i-lo]:b.ptr[i-lo+1]], shift, i-lo, b.row, nil)
		}
	}
	return rows.NewSparse(hi-lo, x.Cols, b.ptr, src.Cols[first:end], b.entries, shift, p.along[v])
}
