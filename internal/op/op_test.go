package op

import (
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestOpErrors: a panic inside an op, a wrong number or type of inputs and a second derivative are errors.
func TestOpErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(2, 2),
		gorgonia.WithInit(gorgonia.Ones()))
	bad := &Operation{Label: "bad", Run: func([]gorgonia.Value) (gorgonia.Value, error) { panic("oops") }}
	n, err := Apply(bad, tensor.Float64, tensor.Shape{2, 2}, x)
	if err != nil {
		t.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("a panic inside an op gives the error %v", err)
	}
	if _, err := bad.Do(); err == nil {
		t.Error("no error without inputs")
	}
	if _, err := bad.SymDiff(gorgonia.Nodes{x}, n, x); err == nil {
		t.Error("no error for the derivative of an op without one")
	}
	if _, err := Apply(&Operation{Label: "nil"}, tensor.Float64, nil, nil); err == nil {
		t.Error("no error for a nil input")
	}
	for _, v := range []gorgonia.Value{gorgonia.NewF32(1), gorgonia.NewI(1), Dense([]float32{1, 2}, 2)} {
		if _, err := Elements[float64](v); err == nil {
			t.Errorf("no error for %T as float64", v)
		}
	}
	turned := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	if got, err := Elements[float64](turned); err != nil || fmt.Sprint(got) != "[1 4 2 5 3 6]" {
		t.Errorf("a transposed view reads as %v (%v)", got, err)
	}
}

// TestScaleAndSum: the gradient of a·x + y by x is a, by y 1.
func TestScaleAndSum(t *testing.T) {
	g := gorgonia.NewGraph()
	x, y := NewScalar(g, tensor.Float64, "x", 3), NewScalar(g, tensor.Float64, "y", 5)
	scaled, err := Scale[float64]("a loss", x, 7)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Sum[float64]("a sum", scaled, y)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := gorgonia.Grad(sum, x, y)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := NewTraining(g, nil, gorgonia.Nodes{x, y}, grads)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	for k, n := range []*gorgonia.Node{sum, grads[0], grads[1]} {
		if value, want := EntriesOf(n.Value()).At(0), []float64{26, 7, 1}[k]; value != want {
			t.Errorf("value %d is %v, want %v", k, value, want)
		}
	}
}

// TestNonnegative: what is below 0 becomes 0, in both types.
func TestNonnegative(t *testing.T) {
	g := gorgonia.NewGraph()
	var nodes gorgonia.Nodes
	for k, of := range []tensor.Dtype{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float64} {
		nodes = append(nodes, NewScalar(g, of, fmt.Sprint("x", k), float64(4*(k%2)-1)))
	}
	if err := Nonnegative(nodes); err != nil {
		t.Fatal(err)
	}
	for k, n := range nodes {
		if value, want := EntriesOf(n.Value()).At(0), float64(3*(k%2)); value != want {
			t.Errorf("value %d is %v, want %v", k, value, want)
		}
	}
}
