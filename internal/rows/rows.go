// Package rows is one view's data as the rest of the library sees it: n rows of d features behind an interface of
// products over a range of rows. Nothing outside assumes that the rows are dense, or that they lie in one slice.
package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Matrix is a set of rows. Its methods are safe for concurrent use. In every method rows are counted from 0, lo is the
// first row, hi the one after the last.
type Matrix[T kernel.Float] interface {
	// Dims returns the number of rows and columns.
	Dims() (n, d int)
	// Mul sets Y = X[lo:hi]·B, B being d×m; Y has the stride ldy ≥ kernel.Pad(m).
	Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int)
	// TMulAdd adds Aᵀ·X[lo:hi] to C (m×d, stride ldc); A is (hi−lo)×m with the stride lda ≥ kernel.Pad(m).
	TMulAdd(lo, hi, m int, a []T, lda int, c []T, ldc int)
	// SquaredNorms sets dst[i−lo] = ‖x_i‖².
	SquaredNorms(lo, hi int, dst []float64)
	// Row writes row i to dst (length d).
	Row(i int, dst []T)
	// Bytes is the memory that the rows take.
	Bytes() int64
}

// Adder is a Matrix that adds rows to sums in less time than it takes to write them out.
type Adder interface {
	// AddRow adds weight·x_i to the sums dst (length d), but for a multiple of a vector common to all rows; the factors
	// that it returns are to be summed and handed to AddShift.
	AddRow(i int, weight float64, dst []float64) (shift float64)
	AddShift(total float64, dst []float64)
}

// Dense is a Matrix held as row-major memory.
type Dense[T kernel.Float] struct {
	n, d, ld int
	x        []T
}

var (
	_ Matrix[float32] = (*Dense[float32])(nil)
	_ Matrix[float64] = (*Dense[float64])(nil)
)

// NewDense returns the n×d matrix in x with the stride ld. It keeps x.
func NewDense[T kernel.Float](n, d, ld int, x []T) *Dense[T] {
	if n > 0 && (d < 1 || ld < d || len(x) < (n-1)*ld+d) {
		panic("rows: dense matrix smaller than its size")
	}
	return &Dense[T]{n: n, d: d, ld: ld, x: x}
}

// Dims returns the number of rows and columns.
func (m *Dense[T]) Dims() (int, int) { return m.n, m.d }

// Bytes is the memory of the rows.
func (m *Dense[T]) Bytes() int64 { var t T; return int64(len(m.x)) * int64(sizeOf(t)) }

// View returns row i without copying it.
func (m *Dense[T]) View(i int) []T { return m.x[i*m.ld : i*m.ld+m.d] }

// Row writes row i to dst.
func (m *Dense[T]) Row(i int, dst []T) { copy(dst, m.View(i)) }

// Mul sets Y = X[lo:hi]·B.
func (m *Dense[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	if lo < hi {
		kernel.Mul(hi-lo, m.x[lo*m.ld:], m.ld, b, y, ldy, false)
	}
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (m *Dense[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	if lo < hi {
		kernel.TMulAdd(hi-lo, k, m.d, a, lda, m.x[lo*m.ld:], m.ld, c, ldc)
	}
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (m *Dense[T]) SquaredNorms(lo, hi int, dst []float64) {
	for i := lo; i < hi; i++ {
		dst[i-lo] = kernel.SumSquares(m.View(i), 0)
	}
}

func sizeOf[T kernel.Float](t T) int {
	if _, ok := any(t).(float32); ok {
		return 4
	}
	return 8
}
