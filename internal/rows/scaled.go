package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Scaled is a Matrix whose row i is a factor times row i of another.
type Scaled[T kernel.Float] struct {
	Matrix[T]
	factor []T
}

var (
	_ Matrix[float32] = (*Scaled[float32])(nil)
	_ Matrix[float64] = (*Scaled[float64])(nil)
)

// NewScaled returns diag(factor)·m. It keeps both.
func NewScaled[T kernel.Float](m Matrix[T], factor []T) *Scaled[T] {
	if n, _ := m.Dims(); len(factor) != n {
		panic("rows: one factor a row")
	}
	return &Scaled[T]{Matrix: m, factor: factor}
}

// Mul sets Y = X[lo:hi]·B.
func (m *Scaled[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	m.Matrix.Mul(lo, hi, b, y, ldy)
	_, k := b.Dims()
	for i := lo; i < hi; i++ {
		f := m.factor[i]
		row := y[(i-lo)*ldy : (i-lo)*ldy+k]
		for j := range row {
			row[j] *= f
		}
	}
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (m *Scaled[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	ld := kernel.Pad(k)
	scaled := make([]T, (hi-lo)*ld)
	for i := range hi - lo {
		f := m.factor[lo+i]
		for j, x := range a[i*lda : i*lda+k] {
			scaled[i*ld+j] = f * x
		}
	}
	m.Matrix.TMulAdd(lo, hi, k, scaled, ld, c, ldc)
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (m *Scaled[T]) SquaredNorms(lo, hi int, dst []float64) {
	m.Matrix.SquaredNorms(lo, hi, dst)
	for i := lo; i < hi; i++ {
		f := float64(m.factor[i])
		dst[i-lo] *= f * f
	}
}

// Row writes row i to dst.
func (m *Scaled[T]) Row(i int, dst []T) {
	m.Matrix.Row(i, dst)
	_, d := m.Dims()
	for j := range dst[:d] {
		dst[j] *= m.factor[i]
	}
}
