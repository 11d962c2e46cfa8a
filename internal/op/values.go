package op

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Dtype is Gorgonia's name of T.
func Dtype[T kernel.Float]() tensor.Dtype {
	if kernel.Is32[T]() {
		return tensor.Float32
	}
	return tensor.Float64
}

// Elements returns the elements of a value in row-major order, without a copy where it lies so in memory.
func Elements[T kernel.Float](v gorgonia.Value) ([]T, error) {
	var data any
	switch x := v.(type) {
	case *gorgonia.F64:
		data = float64(*x)
	case *gorgonia.F32:
		data = float32(*x)
	case *tensor.Dense:
		if x.IsMaterializable() {
			x = x.Materialize().(*tensor.Dense)
		}
		if !x.DataOrder().IsRowMajor() {
			return nil, errors.New("a value in column-major order")
		}
		data = x.Data()
	}
	switch d := data.(type) {
	case []T:
		return d, nil
	case T:
		return []T{d}, nil
	}
	return nil, fmt.Errorf("a value of type %T with %v, want %v", v, v.Dtype(), Dtype[T]())
}

// Inputs returns the elements of all inputs.
func Inputs[T kernel.Float](in []gorgonia.Value) ([][]T, error) {
	out := make([][]T, len(in))
	for i, v := range in {
		x, err := Elements[T](v)
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		out[i] = x
	}
	return out, nil
}

// Dense makes a value of x, which it keeps.
func Dense[T kernel.Float](x []T, shape ...int) gorgonia.Value {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// Scalar makes a scalar value of the element type.
func Scalar[T kernel.Float](x float64) gorgonia.Value {
	if kernel.Is32[T]() {
		return gorgonia.NewF32(float32(x))
	}
	return gorgonia.NewF64(x)
}
