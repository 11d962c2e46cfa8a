package largemvc

import (
	"errors"
	"fmt"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/testrig/optest"
)

// On the Lisp machine every op of this module is an error where it was a gradient of zero, by itself and in a network, and
// forward it has the value that it has on the tape machine.
func TestLispMachine(t *testing.T) {
	x := mat.NewDense(6, 3, []float64{1, 2, 3, -4, 5, 1, 2, 0, 1, 3, 3, 1, 1, 4, 2, 0, 1, 5})
	matrix := func(g *gorgonia.ExprGraph) *gorgonia.Node {
		return op.NewMatrix(g, tensor.Float64, "x", x)
	}
	scalar := func(g *gorgonia.ExprGraph) *gorgonia.Node { return op.NewScalar(g, tensor.Float64, "s", 0.3) }
	network := func(perModule bool) func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
		return func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			data, err := NewData(tensor.Float64, []mat.Matrix{x}, nil)
			if err != nil {
				return nil, err
			}
			m := &LargeMvCNet{PerModule: perModule}
			err = m.Build(Env{G: g}, data, StartPoint{Anchors: []mat.Matrix{x.Slice(0, 2, 0, 3)}})
			return m.Loss(), err
		}
	}
	for name, build := range map[string]func(g *gorgonia.ExprGraph) (*gorgonia.Node, error){
		"soft threshold": func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			return SoftThresholdOp(matrix(g), scalar(g), ReLU, false)
		},
		"row shrinkage": func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			norms := optest.InputNode(g, tensor.Float64, "norms", tensor.Shape{4})
			optest.LetNode(t, norms, []float64{1, 2, 3, 0.1})
			return RowShrinkOp(norms, scalar(g), SELU, 1)
		},
		"Procrustes": func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) { return ProcrustesOp(matrix(g), 0, false) },
		"detached Procrustes": func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			return ProcrustesOp(matrix(g), 0, true)
		},
		"mean over views": func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			return Env{G: g, Views: 1, Of: tensor.Float64}.MeanViews(matrix(g))
		},
		"fused network": network(false), "network of modules": network(true),
	} {
		values := map[string]string{}
		for _, machine := range []string{"tape", "Lisp forward", "Lisp"} {
			g := gorgonia.NewGraph()
			node, err := build(g)
			if err != nil {
				t.Fatal(name, err)
			}
			cost := node
			if !node.IsScalar() {
				if cost, err = gorgonia.Sum(node); err != nil {
					t.Fatal(name, err)
				}
			}
			var value gorgonia.Value
			gorgonia.Read(cost, &value)
			var vm gorgonia.VM
			switch machine {
			case "tape":
				vm = optest.NewMachine(g)
			case "Lisp forward":
				vm = gorgonia.NewLispMachine(g, gorgonia.ExecuteFwdOnly())
			default:
				vm = gorgonia.NewLispMachine(g)
			}
			err = vm.RunAll()
			if machine == "Lisp" {
				if err == nil || !errors.Is(err, op.ErrLispMachine) {
					t.Errorf("%s: the Lisp machine says %v", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, machine, err)
				continue
			}
			values[machine] = fmt.Sprint(value)
			if err := vm.Close(); err != nil {
				t.Error(err)
			}
		}
		if values["tape"] != values["Lisp forward"] || values["tape"] == "" {
			t.Errorf("%s: values %v", name, values)
		}
	}
}
