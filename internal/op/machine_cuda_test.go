//go:build cuda

package op

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestMachineWithoutDriver: operations of Gorgonia's own run on the CPU where there is no driver, in a program built for one.
// With a card they run there, to the same values.
func TestMachineWithoutDriver(t *testing.T) {
	for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		g := gorgonia.NewGraph()
		x, y := NewScalar(g, of, "x", 3), NewScalar(g, of, "y", 0.5)
		product, err := gorgonia.Mul(x, y)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := gorgonia.Add(product, x)
		if err != nil {
			t.Fatal(err)
		}
		var value gorgonia.Value
		gorgonia.Read(sum, &value)
		grads, err := gorgonia.Grad(sum, x, y)
		if err != nil {
			t.Fatal(err)
		}
		machine, err := NewTraining(g, nil, gorgonia.Nodes{x, y}, grads)
		if err != nil {
			t.Fatal(err)
		}
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		if got := EntriesOf(value).At(0); got != 4.5 {
			t.Errorf("%v: the value is %g", of, got)
		}
		for n, want := range map[*gorgonia.Node]float64{x: 1.5, y: 3} {
			d, err := n.Grad()
			if err != nil || EntriesOf(d).At(0) != want {
				t.Errorf("%v: the gradient by %s is %v, %v", of, n.Name(), fmt.Sprint(d), err)
			}
		}
		if err := machine.Close(); err != nil {
			t.Error(err)
		}
	}
}
