// Package optest checks functions made of Gorgonia ops: their values, and their gradients against central differences.
package optest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
)

// GraphFunction is a function of input nodes of given shapes, checked through a graph and a tape machine.
type GraphFunction struct {
	Name   string
	Shapes []tensor.Shape
	At     [][]float64 // where; nil entries are random
	Build  func(in []*gorgonia.Node) (*gorgonia.Node, error)
}

// Evaluate builds the graph of Σ W ⊙ f with fixed weights W and returns a function of all inputs together that runs it,
// and the gradients at the first point.
func (f GraphFunction) Evaluate(t *testing.T, of tensor.Dtype) (value func(x []float64) float64, x, gradient []float64) {
	t.Helper()
	g, rng := gorgonia.NewGraph(), rand.New(rand.NewPCG(3, uint64(len(f.Name))))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	in := make(gorgonia.Nodes, len(f.Shapes))
	for i, s := range f.Shapes {
		start := random(s.TotalSize())
		if f.At != nil && f.At[i] != nil {
			start = f.At[i]
		}
		in[i] = InputNode(g, of, fmt.Sprintf("in%d", i), s)
		LetNode(t, in[i], start)
		x = append(x, start...)
	}
	out, err := f.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	cost := out
	if !out.IsScalar() {
		w := InputNode(g, of, "weights", out.Shape())
		LetNode(t, w, random(out.Shape().TotalSize()))
		cost = sumOfProducts(t, out, w)
	}
	grads, err := gorgonia.Grad(cost, in...)
	if err != nil {
		t.Fatal(err)
	}
	var total gorgonia.Value
	read := make([]gorgonia.Value, len(grads))
	gorgonia.Read(cost, &total)
	for i, d := range grads {
		gorgonia.Read(d, &read[i])
	}
	machine, err := op.NewMachine(g, Must)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Close() })
	value = func(x []float64) float64 {
		for _, n := range in {
			LetNode(t, n, x[:n.Shape().TotalSize()])
			x = x[n.Shape().TotalSize():]
		}
		machine.Reset()
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		return NodeValues(t, total)[0]
	}
	value(x)
	for _, v := range read {
		gradient = append(gradient, NodeValues(t, v)...)
	}
	return value, x, gradient
}

func InputNode(g *gorgonia.ExprGraph, of tensor.Dtype, name string, s tensor.Shape) *gorgonia.Node {
	if s.IsScalar() {
		return gorgonia.NewScalar(g, of, gorgonia.WithName(name))
	}
	return gorgonia.NewTensor(g, of, s.Dims(), gorgonia.WithName(name), gorgonia.WithShape(s...))
}

// Check compares the gradient with central differences.
func (f GraphFunction) Check(t *testing.T) (gradient []float64) {
	t.Helper()
	value, x, gradient := f.Evaluate(t, tensor.Float64)
	want := fd.Gradient(nil, value, x, &fd.Settings{Formula: fd.Central, Step: 1e-6})
	if e := Worst(gradient, want); e > 1e-7 {
		t.Errorf("%s: gradient differs by %.1e from central differences", f.Name, e)
	}
	return gradient
}

// LetNode gives an input node a value in its type.
func LetNode(t testing.TB, n *gorgonia.Node, x []float64) {
	t.Helper()
	var err error
	switch single := n.Dtype() == tensor.Float32; {
	case n.IsScalar() && single:
		err = gorgonia.Let(n, float32(x[0]))
	case n.IsScalar():
		err = gorgonia.Let(n, x[0])
	case single:
		err = gorgonia.Let(n, op.Dense(kernel.Convert[float32](x), n.Shape()...))
	default:
		err = gorgonia.Let(n, op.Dense(append([]float64(nil), x...), n.Shape()...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// NodeValues returns the elements of a value in float64.
func NodeValues(t testing.TB, v gorgonia.Value) []float64 {
	t.Helper()
	if v == nil {
		t.Fatal("a node without value")
	}
	if v.Dtype() == tensor.Float32 {
		x, err := op.Elements[float32](v)
		if err != nil {
			t.Fatal(err)
		}
		return kernel.Float64s(x)
	}
	x, err := op.Elements[float64](v)
	if err != nil {
		t.Fatal(err)
	}
	return append([]float64(nil), x...)
}

// Worst returns the largest difference relative to the largest entry of want.
func Worst(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	top, diff := 1e-12, 0.0
	for i, w := range want {
		top = max(top, math.Abs(w))
		if d := math.Abs(got[i] - w); !(d <= diff) {
			diff = d
		}
	}
	return diff / top
}

// sumOfProducts returns Σ x ⊙ y.
func sumOfProducts(t testing.TB, x, y *gorgonia.Node) *gorgonia.Node {
	t.Helper()
	product, err := gorgonia.HadamardProd(x, y)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := gorgonia.Sum(product)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Must is for op.NewMachine: a device that refuses is an error.
func Must(err error) error { return err }

// NewMachine is op.NewMachine where no error is expected.
func NewMachine(g *gorgonia.ExprGraph, options ...gorgonia.VMOpt) gorgonia.VM {
	machine, err := op.NewMachine(g, Must, options...)
	if err != nil {
		panic(err)
	}
	return machine
}
