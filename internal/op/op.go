// Package op makes Gorgonia ops of plain functions: what all ops of this module share of Gorgonia's interface, and the way
// from Gorgonia's values to slices and back.
package op

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/parallel"
)

// Operation is a Gorgonia op. Ops outside Gorgonia's package differ in what they compute, not in how they talk to it, so
// that part is written once, here.
//
// It is a pure function: Run returns a fresh value, never writes to its inputs, and keeps nothing. The gradient by input i
// is the node that Grad returns, usually an operation of the inputs, the output and the cotangent. The tape machine runs it. The
// Lisp machine differentiates while it runs, through DoDiff, which cannot be written outside Gorgonia: there every operation
// is an error, for without DoDiff that machine would leave gradients at zero and say nothing.
type Operation struct {
	// Label is the name with every parameter. Gorgonia takes nodes of equal hash for one node, so two operations of the
	// same inputs that compute different things must differ in it.
	Label string
	types []hm.Type // of the inputs, then of the output
	out   tensor.Shape
	// Run computes the result from the values of the inputs.
	Run func(in []gorgonia.Value) (gorgonia.Value, error)
	// Diff says which inputs have a gradient; nil: none.
	Diff []bool
	// Device makes it an operation that Gorgonia's CUDA build places on the device; elsewhere it says nothing. Gorgonia then
	// hands it inputs in the device's memory and wants its scalar there. Run still computes.
	Device bool
	// Grad makes the gradient by input i.
	Grad func(i int, in gorgonia.Nodes, out, cotangent *gorgonia.Node) (*gorgonia.Node, error)
}

var (
	_ gorgonia.SDOp = (*Operation)(nil)
	_ gorgonia.ADOp = (*Operation)(nil)
)

// ErrLispMachine says that an operation has no gradient on the Lisp machine.
var ErrLispMachine = errors.New("no gradient on the Lisp machine: use gorgonia.Grad and a tape machine")

// DoDiff returns ErrLispMachine. The Lisp machine calls it for every operation of the graph unless it only runs forward.
func (o *Operation) DoDiff(gorgonia.ExecutionContext, gorgonia.Nodes, *gorgonia.Node) error {
	return fmt.Errorf("%s: %w", o.Label, ErrLispMachine)
}

// Apply makes the node op(in...); out is the shape of the result, empty for a scalar.
func Apply(op *Operation, of tensor.Dtype, out tensor.Shape, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	for i, n := range in {
		if n == nil {
			return nil, fmt.Errorf("%s: input %d is nil", op.Label, i)
		}
		op.types = append(op.types, n.Type())
	}
	op.out = out
	if len(out) == 0 {
		op.types = append(op.types, of)
	} else {
		op.types = append(op.types, gorgonia.TensorType{Dims: len(out), Of: of})
	}
	n, err := gorgonia.ApplyOp(placed(op), in...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op.Label, err)
	}
	return n, nil
}

// Arity returns the number of inputs.
func (o *Operation) Arity() int { return len(o.types) - 1 }

// Type returns the type of the op as a function.
func (o *Operation) Type() hm.Type { return hm.NewFnType(o.types...) }

// InferShape returns the shape of the result. The inputs' shapes were checked when the operation was made for them.
func (o *Operation) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.out.Clone(), nil }

// ReturnsPtr is true: the value is fresh memory that the following op may overwrite where the graph allows it.
func (o *Operation) ReturnsPtr() bool { return true }

// CallsExtern is false: the operation is run by the CPU.
func (o *Operation) CallsExtern() bool { return false }

// OverwritesInput is −1: no input is overwritten.
func (o *Operation) OverwritesInput() int { return -1 }

// WriteHash writes the label.
func (o *Operation) WriteHash(h hash.Hash) { fmt.Fprintf(h, "largemvc %q", o.Label) }

// Hashcode returns the FNV-1a hash of the label.
func (o *Operation) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String returns the label.
func (o *Operation) String() string { return o.Label }

// Do runs the operation. A panic becomes an error: Gorgonia would let it end the process.
func (o *Operation) Do(in ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("%s: %w", o.Label, parallel.Panicked(v))
		}
	}()
	if len(in) != o.Arity() {
		return nil, fmt.Errorf("%s: %d inputs, want %d", o.Label, len(in), o.Arity())
	}
	if out, err = o.Run(in); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Label, err)
	}
	return out, nil
}

// DiffWRT says which inputs have a gradient.
func (o *Operation) DiffWRT(inputs int) []bool {
	if o.Diff == nil {
		return make([]bool, inputs)
	}
	return append([]bool(nil), o.Diff...)
}

// SymDiff returns the gradients by the inputs, nil for those without.
func (o *Operation) SymDiff(in gorgonia.Nodes, out, cotangent *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.Diff == nil {
		return nil, fmt.Errorf("%s has no derivative", o.Label)
	}
	grads := make(gorgonia.Nodes, len(in))
	for i, d := range o.Diff {
		if !d {
			continue
		}
		g, err := o.Grad(i, in, out, cotangent)
		if err != nil {
			return nil, err
		}
		grads[i] = g
	}
	return grads, nil
}

// Want checks the type and shape of a node; a size of −1 is any.
func Want(what string, n *gorgonia.Node, of tensor.Dtype, shape ...int) error {
	if n == nil {
		return fmt.Errorf("%s is nil", what)
	}
	ok := n.Dtype() == of && n.Shape().Dims() == len(shape)
	for i, s := range shape {
		ok = ok && (s < 0 || n.Shape()[i] == s)
	}
	if !ok {
		return fmt.Errorf("%s is %v of shape %v, want %v of shape %v", what, n.Dtype(), n.Shape(), of, shape)
	}
	return nil
}

// WantFloat checks that a node is float32 or float64 and has the given number of dimensions.
func WantFloat(what string, n *gorgonia.Node, dims int) error {
	switch {
	case n == nil:
		return fmt.Errorf("%s is nil", what)
	case n.Dtype() != tensor.Float32 && n.Dtype() != tensor.Float64 || n.Shape().Dims() != dims:
		return fmt.Errorf("%s is %v of shape %v, want floats and %d dimensions", what, n.Dtype(), n.Shape(), dims)
	}
	return nil
}

// All is n times true.
func All(n int) []bool { return slices.Repeat([]bool{true}, n) }
