package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Window is a Matrix of some rows of another, those of the last Move. Rows that lie outside memory are fetched once, by Move.
type Window[T kernel.Float] struct {
	of    Matrix[T]
	first int
	held  *Dense[T] // the rows of a matrix outside memory
	room  []T
}

// NewWindow returns a window without rows.
func NewWindow[T kernel.Float](of Matrix[T]) *Window[T] { return &Window[T]{of: of} }

// Move makes rows [lo, hi) of the other matrix those of the window.
func (w *Window[T]) Move(lo, hi int) {
	w.first = lo
	b, ok := w.of.(*Blocks[T])
	if !ok {
		return
	}
	if need := (hi - lo) * b.d; cap(w.room) < need {
		w.room = make([]T, need)
	}
	w.room = w.room[:(hi-lo)*b.d]
	b.Copy(lo, hi, w.room)
	w.held = NewDense(hi-lo, b.d, b.d, w.room)
}

var (
	_ Matrix[float32] = (*Window[float32])(nil)
	_ Matrix[float64] = (*Window[float64])(nil)
)

// Dims returns the number of rows and columns.
func (w *Window[T]) Dims() (int, int) {
	n, d := w.of.Dims()
	return n - w.first, d
}

// Bytes is the memory of the rows, which are the other's.
func (w *Window[T]) Bytes() int64 { return 0 }

// at returns the matrix and what is added to the number of a row.
func (w *Window[T]) at() (Matrix[T], int) {
	if w.held != nil {
		return w.held, 0
	}
	return w.of, w.first
}

// Row writes row i to dst.
func (w *Window[T]) Row(i int, dst []T) {
	x, first := w.at()
	x.Row(first+i, dst)
}

// Mul sets Y = X[lo:hi]·B.
func (w *Window[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	x, first := w.at()
	x.Mul(first+lo, first+hi, b, y, ldy)
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (w *Window[T]) TMulAdd(lo, hi, m int, a []T, lda int, c []T, ldc int) {
	x, first := w.at()
	x.TMulAdd(first+lo, first+hi, m, a, lda, c, ldc)
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (w *Window[T]) SquaredNorms(lo, hi int, dst []float64) {
	x, first := w.at()
	x.SquaredNorms(first+lo, first+hi, dst)
}
