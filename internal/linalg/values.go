package linalg

import "gonum.org/v1/gonum/mat"

// Values returns a copy of the entries of x in row-major order.
func Values(x mat.Matrix) []float64 {
	r, c := x.Dims()
	out := make([]float64, 0, r*c)
	for i := range r {
		for j := range c {
			out = append(out, x.At(i, j))
		}
	}
	return out
}
