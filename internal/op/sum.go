package op

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Sum returns the sum of two scalar losses of the element type T. It stands for gorgonia.Add, which on a device asks for
// kernels of Gorgonia's own. The label names it.
func Sum[T kernel.Float](label string, a, b *gorgonia.Node) (*gorgonia.Node, error) {
	for _, n := range []*gorgonia.Node{a, b} {
		if !n.IsScalar() || n.Dtype() != Dtype[T]() {
			return nil, fmt.Errorf("%s: a %v of shape %v, want a scalar %v", label, n.Dtype(), n.Shape(), Dtype[T]())
		}
	}
	o := &Operation{Label: label, Diff: All(2)}
	o.Run = On(func(x [][]T) (gorgonia.Value, error) { return Scalar[T](float64(x[0][0]) + float64(x[1][0])), nil })
	o.Grad = func(_ int, _ gorgonia.Nodes, _, cotangent *gorgonia.Node) (*gorgonia.Node, error) {
		return cotangent, nil
	}
	return Apply(o, Dtype[T](), nil, a, b)
}

// Scale returns a scalar loss times a constant.
func Scale[T kernel.Float](label string, x *gorgonia.Node, factor float64) (*gorgonia.Node, error) {
	if !x.IsScalar() || x.Dtype() != Dtype[T]() {
		return nil, fmt.Errorf("%s: a %v of shape %v, want a scalar %v", label, x.Dtype(), x.Shape(), Dtype[T]())
	}
	o := &Operation{Label: fmt.Sprintf("%s times %g", label, factor), Diff: All(1)}
	o.Run = On(func(x [][]T) (gorgonia.Value, error) { return Scalar[T](factor * float64(x[0][0])), nil })
	o.Grad = func(_ int, _ gorgonia.Nodes, _, cotangent *gorgonia.Node) (*gorgonia.Node, error) {
		return Scale[T]("gradient of "+label, cotangent, factor)
	}
	return Apply(o, Dtype[T](), nil, x)
}
