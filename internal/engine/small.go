package engine

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// The coordinator's own products are m×m and m×d, in float64.
var small gonum.Implementation

// matMul sets c (n×k) = a (n×m) · b (m×k).
func matMul(c, a, b []float64, n, m, k int) {
	small.Dgemm(blas.NoTrans, blas.NoTrans, n, k, m, 1, a, m, b, k, 0, c, k)
}

// matMulAdd adds s·a (n×m) · b (m×k) to c (n×k).
func matMulAdd(c, a, b []float64, n, m, k int, s float64) {
	small.Dgemm(blas.NoTrans, blas.NoTrans, n, k, m, s, a, m, b, k, 1, c, k)
}

// matMulTAdd adds s·aᵀ·b to c (m×k); a is n×m, b n×k.
func matMulTAdd(c, a, b []float64, n, m, k int, s float64) {
	small.Dgemm(blas.Trans, blas.NoTrans, m, k, n, s, a, m, b, k, 1, c, k)
}

// matMulBT sets c (n×k) = a (n×m) · bᵀ; b is k×m.
func matMulBT(c, a, b []float64, n, m, k int) {
	small.Dgemm(blas.NoTrans, blas.Trans, n, k, m, 1, a, m, b, m, 0, c, k)
}
