//go:build amd64 && !noasm

package kernel

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// shortRow is the length of a row from which Gonum's assembly beats Go, whose calls cost less.
const shortRow = 32

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
	if k < shortRow {
		rowProductGo(x, b, k, m, y)
		return
	}
	xs, bs := float32Slice(x), float32Slice(b)
	for j, v := range float32Slice(y[:m]) {
		y[j] = T(v + implementation.Sdot(k, xs, 1, bs[j*k:(j+1)*k], 1))
	}
}

// tileBytes is the part of C that tmulPortable works on at a time; it stays in the first-level cache.
const tileBytes = 16 << 10

// tmulPortable is TMulAdd by Gonum's assembly, row by row of X, for as many columns of X at a time as leave C in the
// cache. Each element of C is summed in the order of the rows.
func tmulPortable[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	var implementation gonum.Implementation
	var t T
	columns := max(tileBytes/int(unsafe.Sizeof(t))/m, 16) &^ 15
	for q := 0; q < d; q += columns {
		w := min(columns, d-q)
		for i := range n {
			ai, xi, cq := a[i*lda:][:m], x[i*ldx+q:][:w], c[q:]
			if kind[T]() == 1 {
				implementation.Dger(m, w, 1, float64Slice(ai), 1, float64Slice(xi), 1, float64Slice(cq), ldc)
			} else {
				implementation.Sger(m, w, 1, float32Slice(ai), 1, float32Slice(xi), 1, float32Slice(cq), ldc)
			}
		}
	}
}

func float32Slice[T Float](s []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func float64Slice[T Float](s []T) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}
