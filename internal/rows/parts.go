package rows

import "github.com/largemvc/largemvc/internal/kernel"

// Unscaled returns a matrix and the factors of its rows, such that m is diag(factor)·matrix: those of a Scaled, else
// m itself and nil. The factors are the matrix's own.
func Unscaled[T kernel.Float](m Matrix[T]) (matrix Matrix[T], factor []T) {
	if s, ok := m.(*Scaled[T]); ok {
		return s.Matrix, s.factor
	}
	return m, nil
}
