//go:build amd64 && !noasm

package kernel

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// rowProduct adds x·B to y for one row: b is Bᵀ, m rows of len(x). Gonum has assembly for this architecture, two to three
// times as fast as Go. Its order of summation depends on the sizes and on the alignment of b, which is always the same;
// its Gemm is left alone, whose order depends on the number of rows.
func rowProduct[T Float](x, b []T, m int, y []T) {
	var implementation gonum.Implementation
	k := len(x)
	if kind[T]() == 1 {
		implementation.Dgemv(blas.NoTrans, m, k, 1, float64Slice(b), k, float64Slice(x), 1, 1, float64Slice(y), 1)
		return
	}
	xs, bs := float32Slice(x), float32Slice(b)
	for j, v := range float32Slice(y[:m]) {
		y[j] = T(v + implementation.Sdot(k, xs, 1, bs[j*k:(j+1)*k], 1))
	}
}

func float32Slice[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func float64Slice[T Float](s []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
