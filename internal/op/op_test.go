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
