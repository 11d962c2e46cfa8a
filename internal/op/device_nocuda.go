//go:build !cuda

package op

import "gorgonia.org/gorgonia"

// placed returns the op that Gorgonia gets.
func placed(o *Operation) gorgonia.Op { return o }

// Anchored returns a scalar node of a graph that may have no op for a device: itself, but in Gorgonia's CUDA build.
func Anchored(n *gorgonia.Node) (*gorgonia.Node, error) { return n, nil }

// Landed returns a node with the value of n in memory of the CPU: n itself, but in Gorgonia's CUDA build.
func Landed(n *gorgonia.Node) (*gorgonia.Node, error) { return n, nil }

// HasEngine says that Gorgonia's own operations can run on a GPU.
const HasEngine = false

// NewMachine makes a tape machine. Only Gorgonia's CUDA build calls a function that is not nil.
func NewMachine(g *gorgonia.ExprGraph, _ func(error) error, options ...gorgonia.VMOpt) (gorgonia.VM, error) {
	return gorgonia.NewTapeMachine(g, options...), nil
}

// NewTraining makes a tape machine that binds gradients to the nodes that learn; grads are the nodes of their gradients.
func NewTraining(g *gorgonia.ExprGraph, _ func(error) error, learn, grads gorgonia.Nodes) (gorgonia.VM, error) {
	return gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(learn...)), nil
}
