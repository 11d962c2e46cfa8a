package largemvc

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"

	"github.com/chewxy/hm"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// operation is a Gorgonia op. Ops outside Gorgonia's package differ in what they compute, not in how they talk to it, so
// that part is written once, here.
//
// It is a pure function: do returns a fresh value, never writes to its inputs, and keeps nothing. The gradient by input i
// is the node that grad returns, usually an operation of the inputs, the output and the cotangent. There is no DoDiff:
// that cannot be written outside Gorgonia, so the ops run on the tape machine, not on the Lisp machine.
type operation struct {
	// label is the name with every parameter. Gorgonia takes nodes of equal hash for one node, so two operations of the
	// same inputs that compute different things must differ in it.
	label string
	types []hm.Type // of the inputs, then of the output
	out   tensor.Shape
	do    func(in []gorgonia.Value) (gorgonia.Value, error)
	// diff says which inputs have a gradient; nil: none.
	diff []bool
	grad func(i int, in gorgonia.Nodes, out, cotangent *gorgonia.Node) (*gorgonia.Node, error)
}

var _ gorgonia.SDOp = (*operation)(nil)

// apply makes the node op(in...); out is the shape of the result, empty for a scalar.
func apply(op *operation, of tensor.Dtype, out tensor.Shape, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	for i, n := range in {
		if n == nil {
			return nil, fmt.Errorf("largemvc: %s: input %d is nil", op.label, i)
		}
		op.types = append(op.types, n.Type())
	}
	op.out = out
	if len(out) == 0 {
		op.types = append(op.types, of)
	} else {
		op.types = append(op.types, gorgonia.TensorType{Dims: len(out), Of: of})
	}
	n, err := gorgonia.ApplyOp(op, in...)
	if err != nil {
		return nil, fmt.Errorf("largemvc: %s: %w", op.label, err)
	}
	return n, nil
}

// Arity returns the number of inputs.
func (o *operation) Arity() int { return len(o.types) - 1 }

// Type returns the type of the op as a function.
func (o *operation) Type() hm.Type { return hm.NewFnType(o.types...) }

// InferShape returns the shape of the result. The inputs' shapes were checked when the operation was made for them.
func (o *operation) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.out.Clone(), nil }

// ReturnsPtr is true: the value is fresh memory that the following op may overwrite where the graph allows it.
func (o *operation) ReturnsPtr() bool { return true }

// CallsExtern is false.
func (o *operation) CallsExtern() bool { return false }

// OverwritesInput is −1: no input is overwritten.
func (o *operation) OverwritesInput() int { return -1 }

// WriteHash writes the label.
func (o *operation) WriteHash(h hash.Hash) { fmt.Fprintf(h, "largemvc %q", o.label) }

// Hashcode returns the FNV-1a hash of the label.
func (o *operation) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String returns the label.
func (o *operation) String() string { return o.label }

// Do runs the operation. A panic becomes an error: Gorgonia would let it end the process.
func (o *operation) Do(in ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("largemvc: %s: panic: %v\n%s", o.label, v, debug.Stack())
		}
	}()
	if len(in) != o.Arity() {
		return nil, fmt.Errorf("largemvc: %s: %d inputs, want %d", o.label, len(in), o.Arity())
	}
	if out, err = o.do(in); err != nil {
		return nil, fmt.Errorf("largemvc: %s: %w", o.label, err)
	}
	return out, nil
}

// DiffWRT says which inputs have a gradient.
func (o *operation) DiffWRT(inputs int) []bool {
	if o.diff == nil {
		return make([]bool, inputs)
	}
	return append([]bool(nil), o.diff...)
}

// SymDiff returns the gradients by the inputs, nil for those without.
func (o *operation) SymDiff(in gorgonia.Nodes, out, cotangent *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.diff == nil {
		return nil, fmt.Errorf("largemvc: %s has no derivative", o.label)
	}
	grads := make(gorgonia.Nodes, len(in))
	for i, d := range o.diff {
		if !d {
			continue
		}
		g, err := o.grad(i, in, out, cotangent)
		if err != nil {
			return nil, err
		}
		grads[i] = g
	}
	return grads, nil
}

// want checks the type and shape of a node; a size of −1 is any.
func want(what string, n *gorgonia.Node, of tensor.Dtype, shape ...int) error {
	if n == nil {
		return fmt.Errorf("largemvc: %s is nil", what)
	}
	ok := n.Dtype() == of && n.Shape().Dims() == len(shape)
	for i, s := range shape {
		ok = ok && (s < 0 || n.Shape()[i] == s)
	}
	if !ok {
		return fmt.Errorf("largemvc: %s is %v of shape %v, want %v of shape %v", what, n.Dtype(), n.Shape(), of, shape)
	}
	return nil
}

// all is n times true.
func all(n int) []bool {
	b := make([]bool, n)
	for i := range b {
		b[i] = true
	}
	return b
}

func dtypeFor[T kernel.Float]() tensor.Dtype {
	if kernel.Is32[T]() {
		return tensor.Float32
	}
	return tensor.Float64
}

// elements returns the elements of a value in row-major order, without a copy where it lies so in memory.
func elements[T kernel.Float](v gorgonia.Value) ([]T, error) {
	var data any
	switch x := v.(type) {
	case *gorgonia.F64:
		data = float64(*x)
	case *gorgonia.F32:
		data = float32(*x)
	case *tensor.Dense:
		if x.IsMaterializable() {
			x = x.Materialize().(*tensor.Dense)
		}
		if !x.DataOrder().IsRowMajor() {
			return nil, errors.New("a value in column-major order")
		}
		data = x.Data()
	}
	switch d := data.(type) {
	case []T:
		return d, nil
	case T:
		return []T{d}, nil
	}
	return nil, fmt.Errorf("a value of type %T with %v, want %v", v, v.Dtype(), dtypeFor[T]())
}

// inputs returns the elements of all inputs.
func inputs[T kernel.Float](in []gorgonia.Value) ([][]T, error) {
	out := make([][]T, len(in))
	for i, v := range in {
		x, err := elements[T](v)
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", i, err)
		}
		out[i] = x
	}
	return out, nil
}

// dense makes a value of x, which it keeps.
func dense[T kernel.Float](x []T, shape ...int) gorgonia.Value {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// scalar makes a scalar value of the element type.
func scalar[T kernel.Float](x float64) gorgonia.Value {
	if kernel.Is32[T]() {
		return gorgonia.NewF32(float32(x))
	}
	return gorgonia.NewF64(x)
}

// The rows of an op are cut into spans that depend on n alone, so that sums over them, folded in their order, have the
// same bits for any number of goroutines.
const (
	minSpan  = 256
	maxSpans = 64
	block    = 64 // rows that are padded at a time
)

func spanSize(n int) int { return max(minSpan, (n+maxSpans-1)/maxSpans) }

// eachSpan runs f over the rows [0, n) in spans.
func eachSpan(workers, n int, f func(lo, hi int) error) error {
	size := spanSize(n)
	return parallel.For(context.Background(), workers, (n+size-1)/size, func(_, i int) error {
		return f(i*size, min((i+1)*size, n))
	})
}

// sumSpans adds up, in float64, what f leaves in sum (size elements, zero at the start) for each span of [0, n).
func sumSpans[T kernel.Float](workers, n, size int, f func(lo, hi int, sum []T) error) ([]T, error) {
	total, span := make([]float64, size), spanSize(n)
	err := parallel.Fold(context.Background(), workers, (n+span-1)/span, func() []T { return make([]T, size) },
		func(_, i int, sum []T) error {
			clear(sum)
			return f(i*span, min((i+1)*span, n), sum)
		},
		func(_ int, sum []T) error {
			for j, v := range sum {
				total[j] += float64(v)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]T, size)
	for j, v := range total {
		out[j] = T(v)
	}
	return out, nil
}
