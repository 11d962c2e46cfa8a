package sets

import (
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
)

// Matrix is a view in float32 as a mat.Matrix.
type Matrix struct {
	N, D int
	X    []float32 // by rows
}

// Dims returns N and D.
func (m Matrix) Dims() (r, c int) { return m.N, m.D }

// At returns entry (i, j).
func (m Matrix) At(i, j int) float64 { return float64(m.X[i*m.D+j]) }

// T returns the transpose.
func (m Matrix) T() mat.Matrix { return mat.Transpose{Matrix: m} }

// RawRow returns row i, without a copy.
func (m Matrix) RawRow(i int) []float32 { return m.X[i*m.D : (i+1)*m.D] }

// Row returns row i in dst, which it makes if it is nil.
func (m Matrix) Row(dst []float64, i int) []float64 {
	if dst == nil {
		dst = make([]float64, m.D)
	}
	for j, a := range m.RawRow(i) {
		dst[j] = float64(a)
	}
	return dst
}

// View is the matrix as a view.
func (m Matrix) View() largemvc.View { return largemvc.DenseView(m.N, m.D, m.X) }

// Pick returns some of the rows.
func (m Matrix) Pick(rows []int) Matrix {
	out := Matrix{len(rows), m.D, make([]float32, 0, len(rows)*m.D)}
	for _, i := range rows {
		out.X = append(out.X, m.RawRow(i)...)
	}
	return out
}
