package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Run computes the value of an operation from the values of its inputs.
type Run = func(in []gorgonia.Value) (gorgonia.Value, error)

// On returns the Run of f, which gets the elements of all inputs.
func On[T kernel.Float](f func(x [][]T) (gorgonia.Value, error)) Run {
	return func(in []gorgonia.Value) (gorgonia.Value, error) {
		x, err := Inputs[T](in)
		if err != nil {
			return nil, err
		}
		return f(x)
	}
}

// ByRow returns the Run of a value of a shape whose rows are computed one by one: set sets row i of y, which is 0 at first.
func ByRow[T kernel.Float](workers int, shape tensor.Shape, set func(x [][]T, y []T, i int)) Run {
	return On(func(x [][]T) (gorgonia.Value, error) {
		y := make([]T, shape.TotalSize())
		err := parallel.Spans(workers, shape[0], func(lo, hi int) error {
			for i := lo; i < hi; i++ {
				set(x, y, i)
			}
			return nil
		})
		return Dense(y, shape...), err
	})
}

// SumRows returns the Run of a scalar that is a sum over n rows, in float64: add adds the part of row i to sum.
func SumRows[T kernel.Float](workers, n int, add func(x [][]T, i int, sum *float64)) Run {
	return On(func(x [][]T) (gorgonia.Value, error) {
		total, err := parallel.SumSpans(workers, n, 1, func(lo, hi int, sum []float64) error {
			for i := lo; i < hi; i++ {
				add(x, i, &sum[0])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return Scalar[T](total[0]), nil
	})
}
