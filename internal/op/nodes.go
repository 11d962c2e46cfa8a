package op

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
)

// NewScalar makes an input node of a graph with a value.
func NewScalar(g *gorgonia.ExprGraph, of tensor.Dtype, name string, value float64) *gorgonia.Node {
	v := Scalar[float64](value)
	if of == tensor.Float32 {
		v = Scalar[float32](value)
	}
	return gorgonia.NewScalar(g, of, gorgonia.WithName(name), gorgonia.WithValue(v))
}

// NewMatrix makes an input node of a graph with a value.
func NewMatrix(g *gorgonia.ExprGraph, of tensor.Dtype, name string, x mat.Matrix) *gorgonia.Node {
	r, c := x.Dims()
	value := Dense(linalg.Values(x), r, c)
	if of == tensor.Float32 {
		value = Dense(kernel.Convert[float32](linalg.Values(x)), r, c)
	}
	return gorgonia.NewMatrix(g, of, gorgonia.WithName(name), gorgonia.WithShape(r, c), gorgonia.WithValue(value))
}

// NewInput makes an input node of a graph with a value of a shape.
func NewInput(g *gorgonia.ExprGraph, name string, value gorgonia.Value, shape ...int) *gorgonia.Node {
	return gorgonia.NewTensor(g, value.Dtype(), len(shape), gorgonia.WithName(name), gorgonia.WithShape(shape...),
		gorgonia.WithValue(value))
}

// Nonnegative puts negative values of scalar nodes to 0.
func Nonnegative(nodes gorgonia.Nodes) error {
	for _, n := range nodes {
		var err error
		switch x := n.Value().Data().(type) {
		case float32:
			if x < 0 {
				err = gorgonia.Let(n, float32(0))
			}
		case float64:
			if x < 0 {
				err = gorgonia.Let(n, float64(0))
			}
		}
		if err != nil {
			return fmt.Errorf("projection of %s: %w", n.Name(), err)
		}
	}
	return nil
}
