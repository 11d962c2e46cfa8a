package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Window is a Matrix of the rows of another from First on, which may be changed between uses.
type Window[T kernel.Float] struct {
	Of    Matrix[T]
	First int
}

var (
	_ Matrix[float32] = (*Window[float32])(nil)
	_ Matrix[float64] = (*Window[float64])(nil)
)

// Dims returns the number of rows and columns.
func (w *Window[T]) Dims() (int, int) {
	n, d := w.Of.Dims()
	return n - w.First, d
}

// Bytes is the memory of the rows, which are the other's.
func (w *Window[T]) Bytes() int64 { return 0 }

// Row writes row i to dst.
func (w *Window[T]) Row(i int, dst []T) { w.Of.Row(w.First+i, dst) }

// Mul sets Y = X[lo:hi]·B.
func (w *Window[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	w.Of.Mul(w.First+lo, w.First+hi, b, y, ldy)
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (w *Window[T]) TMulAdd(lo, hi, m int, a []T, lda int, c []T, ldc int) {
	w.Of.TMulAdd(w.First+lo, w.First+hi, m, a, lda, c, ldc)
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (w *Window[T]) SquaredNorms(lo, hi int, dst []float64) {
	w.Of.SquaredNorms(w.First+lo, w.First+hi, dst)
}
