package rows

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/parallel"
)

// FromMatrix returns the rows of x: those in its memory if it has row-major memory, else a copy. It returns an error if x
// is nil or has no entries, if one is NaN or infinite, or if the methods of x, which may be a caller's own, panic.
func FromMatrix(x mat.Matrix) (out *Dense[float64], err error) {
	if x == nil {
		return nil, fmt.Errorf("no matrix")
	}
	n, d, err := Dims(x)
	if err != nil {
		return nil, err
	}
	if n == 0 || d == 0 {
		return nil, fmt.Errorf("a %d×%d matrix has nothing to cluster", n, d)
	}
	err = parallel.Caught(func() error {
		if raw, ok := x.(mat.RawMatrixer); ok {
			m := raw.RawMatrix()
			out = NewDense(n, d, m.Stride, m.Data)
			return nil
		}
		data := make([]float64, n*d)
		for i := range n {
			for j := range d {
				data[i*d+j] = x.At(i, j)
			}
		}
		out = NewDense(n, d, d, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the matrix: %w", err)
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

// Dims returns the size of a matrix, and an error where it has none to be read, such as a nil pointer.
func Dims(x mat.Matrix) (n, d int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the size of the matrix cannot be read: %v", p)
		}
	}()
	n, d = x.Dims()
	return n, d, nil
}
