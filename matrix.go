package largemvc

import (
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Matrix is a read-only matrix of results in the arithmetic of the fit. It is a mat.Matrix, and safe for concurrent use.
type Matrix struct {
	rows, cols, stride int
	f32                []float32
	f64                []float64
}

var _ mat.Matrix = (*Matrix)(nil)

func resultMatrix[T kernel.Float](rows, cols, stride int, x []T) *Matrix {
	m := &Matrix{rows: rows, cols: cols, stride: stride}
	switch x := any(x).(type) {
	case []float32:
		m.f32 = x
	case []float64:
		m.f64 = x
	}
	return m
}

// Dims returns the number of rows and columns.
func (m *Matrix) Dims() (rows, cols int) { return m.rows, m.cols }

// At returns the entry in row i and column j. It panics if there is none, as gonum's matrices do.
func (m *Matrix) At(i, j int) float64 {
	if uint(i) >= uint(m.rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(m.cols) {
		panic(mat.ErrColAccess)
	}
	if m.f32 != nil {
		return float64(m.f32[i*m.stride+j])
	}
	return m.f64[i*m.stride+j]
}

// T returns the transpose.
func (m *Matrix) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// Row copies row i to dst, which it makes if it is nil, and returns it.
func (m *Matrix) Row(dst []float64, i int) []float64 {
	if dst == nil {
		dst = make([]float64, m.cols)
	}
	for j := range dst[:m.cols] {
		dst[j] = m.At(i, j)
	}
	return dst
}
