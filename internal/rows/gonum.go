package rows

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// FromMatrix returns the rows of x: those in its memory if it has row-major memory, else a copy. It returns an error if x
// is nil or has no entries, or if one is NaN or infinite.
func FromMatrix(x mat.Matrix) (*Dense[float64], error) {
	if x == nil {
		return nil, fmt.Errorf("no matrix")
	}
	n, d := x.Dims()
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("a %d×%d matrix has nothing to cluster", n, d)
	}
	var out *Dense[float64]
	if raw, ok := x.(mat.RawMatrixer); ok {
		m := raw.RawMatrix()
		out = NewDense(n, d, m.Stride, m.Data)
	} else {
		data := make([]float64, n*d)
		for i := range n {
			for j := range d {
				data[i*d+j] = x.At(i, j)
			}
		}
		out = NewDense(n, d, d, data)
	}
	for i := range n {
		for j, a := range out.View(i) {
			if math.IsNaN(a) || math.IsInf(a, 0) {
				return nil, fmt.Errorf("%v in row %d, column %d", a, i, j)
			}
		}
	}
	return out, nil
}
