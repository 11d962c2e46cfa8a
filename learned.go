package largemvc

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/op"
)

// moduleNames are the fields of Config that hold modules, in that order.
var moduleNames = [3]string{"Represent", "Noise", "Anchor"}

// learned is the value of a learnable node of a module, by which modules that are not from this package are saved.
type learned struct {
	name   string // of the node, without the prefix of the network
	shape  []int
	values []float64
}

// learnedName returns the name of a node without the prefix of its network.
func learnedName(prefix string, n *gorgonia.Node) string {
	return strings.TrimPrefix(n.Name(), prefix+".")
}

// checkLearnables refuses learnable nodes of modules that a network of an element type cannot be trained or saved with.
func checkLearnables(g *gorgonia.ExprGraph, prefix string, of tensor.Dtype, modules [3]gorgonia.Nodes) error {
	names := map[string]bool{}
	for i, nodes := range modules {
		for k, n := range nodes {
			what := fmt.Sprintf("learnable node %d of %s", k, moduleNames[i])
			switch {
			case n == nil:
				return fmt.Errorf("largemvc: %s is nil", what)
			case n.Graph() != g:
				return fmt.Errorf("largemvc: %s is not in the network's graph", what)
			case n.Dtype() != of:
				return fmt.Errorf("largemvc: %s is %v, want %v (Env.Of)", what, n.Dtype(), of)
			case n.Value() == nil || op.EntriesOf(n.Value()) == nil:
				return fmt.Errorf("largemvc: %s has no value", what)
			case learnedName(prefix, n) == "":
				return fmt.Errorf("largemvc: %s has no name", what)
			case names[n.Name()]:
				return fmt.Errorf("largemvc: %s has the name of another, %q: Env.Name makes names", what, n.Name())
			}
			names[n.Name()] = true
		}
	}
	return nil
}

// learnedBy returns the values of learnable nodes.
func learnedBy(prefix string, nodes gorgonia.Nodes) []learned {
	var out []learned
	for _, n := range nodes {
		out = append(out, learned{learnedName(prefix, n), slices.Clone([]int(n.Shape())), float64s(n)})
	}
	return out
}

// float64s returns the entries of the value of a node.
func float64s(n *gorgonia.Node) []float64 {
	x := op.EntriesOf(n.Value())
	out := make([]float64, x.Len())
	for j := range out {
		out[j] = x.At(j)
	}
	return out
}

// learn gives the learnable nodes of the module in a place the values that learnedBy returned.
func learn(prefix string, place int, nodes gorgonia.Nodes, values []learned) error {
	module := moduleNames[place]
	if len(nodes) != len(values) {
		return fmt.Errorf("the module %s makes %d learnable nodes, the trained one has %d", module, len(nodes), len(values))
	}
	for _, n := range nodes {
		name := learnedName(prefix, n)
		k := slices.IndexFunc(values, func(l learned) bool { return l.name == name })
		if k < 0 {
			return fmt.Errorf("the module %s makes a learnable node %q, which the trained one does not have", module, name)
		}
		if !slices.Equal([]int(n.Shape()), values[k].shape) {
			return fmt.Errorf("the learnable node %q of the module %s has the shape %v, in the trained one it has %v",
				name, module, []int(n.Shape()), values[k].shape)
		}
		x := op.EntriesOf(n.Value())
		for j, value := range values[k].values {
			x.Set(j, value)
		}
	}
	return nil
}
