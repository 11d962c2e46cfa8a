package rows

import "github.com/largemvc/largemvc/internal/kernel"

// thinBlock is the number of consecutive rows that Thin takes.
const thinBlock = 64

// Thin returns some of the rows of views, in blocks of 64 at equal steps: at least `enough`, and all where there are fewer than
// twice as many. Which they are depends on the numbers of rows alone.
func Thin[T kernel.Float](x []Matrix[T], enough int) []Matrix[T] {
	n, _ := x[0].Dims()
	step := n / enough
	if step < 2 {
		return x
	}
	out := make([]Matrix[T], len(x))
	for v, m := range x {
		out[v] = &thin[T]{Matrix: m, step: step * thinBlock}
	}
	return out
}

// thin is every k-th block of rows.
type thin[T kernel.Float] struct {
	Matrix[T]
	step int // rows from one block to the next
}

var (
	_ Matrix[float32] = (*thin[float32])(nil)
	_ Matrix[float64] = (*thin[float64])(nil)
)

// Dims returns the number of rows that are taken, and of columns.
func (m *thin[T]) Dims() (int, int) {
	n, d := m.Matrix.Dims()
	return n/m.step*thinBlock + min(n%m.step, thinBlock), d
}

// each calls f for the rows from lo to hi, in pieces that lie together: from `from` to `to` in the whole matrix, `at` of them
// before.
func (m *thin[T]) each(lo, hi int, f func(from, to, at int)) {
	for i := lo; i < hi; {
		end := min(hi, (i/thinBlock+1)*thinBlock)
		from := i/thinBlock*m.step + i%thinBlock
		f(from, from+end-i, i-lo)
		i = end
	}
}

// Mul sets Y = X[lo:hi]·B.
func (m *thin[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	m.each(lo, hi, func(from, to, at int) { m.Matrix.Mul(from, to, b, y[at*ldy:], ldy) })
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (m *thin[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	m.each(lo, hi, func(from, to, at int) { m.Matrix.TMulAdd(from, to, k, a[at*lda:], lda, c, ldc) })
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (m *thin[T]) SquaredNorms(lo, hi int, dst []float64) {
	m.each(lo, hi, func(from, to, at int) { m.Matrix.SquaredNorms(from, to, dst[at:]) })
}

// Row writes row i to dst.
func (m *thin[T]) Row(i int, dst []T) { m.Matrix.Row(i/thinBlock*m.step+i%thinBlock, dst) }
