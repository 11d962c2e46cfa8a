package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Rotated is a Matrix of k columns that stands for one of d ≥ k: its row i is x_i·Q, Q being d×k with orthonormal
// columns. Products of x_i with vectors in the span of Q, and distances to them, are those of the row but for the part
// of x_i outside the span, whose squared length Outside tells and SquaredNorms counts in.
type Rotated[T kernel.Float] struct {
	Dense[T]
	outside []float64
}

// Outsider is a Matrix whose rows have a part outside the space that its columns span.
type Outsider interface {
	// Outside returns the squared length of that part of row i.
	Outside(i int) float64
}

var (
	_ Matrix[float32] = (*Rotated[float32])(nil)
	_ Outsider        = (*Rotated[float32])(nil)
)

// NewRotated returns the n×k matrix in x with the stride ld. outside, of n elements, may change between uses; nil means
// that every row lies in the span. It keeps the slices.
func NewRotated[T kernel.Float](n, k, ld int, x []T, outside []float64) *Rotated[T] {
	if outside != nil && len(outside) < n {
		panic("rows: rotated matrix smaller than its size")
	}
	return &Rotated[T]{Dense: *NewDense(n, k, ld, x), outside: outside}
}

// SquaredNorms sets dst[i−lo] to ‖x_i‖², the part outside the span included.
func (m *Rotated[T]) SquaredNorms(lo, hi int, dst []float64) {
	m.Dense.SquaredNorms(lo, hi, dst)
	for i := lo; i < hi && m.outside != nil; i++ {
		dst[i-lo] += m.outside[i]
	}
}

// Outside returns the squared length of the part of row i outside the span.
func (m *Rotated[T]) Outside(i int) float64 {
	if m.outside == nil {
		return 0
	}
	return m.outside[i]
}
