//go:build cuda

package op

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/parallel"
)

// placed returns the op that Gorgonia gets. Its tape machine ends the process in a graph without any op for the device, which
// is why there is one in each graph of ours.
func placed(o *Operation) gorgonia.Op {
	if o.Device {
		return onDevice{o}
	}
	return o
}

// onDevice is an operation whose inputs and whose value Gorgonia keeps on the device. It computes with neither there: the
// passes of a network have memory and a context of their own, which outlive Gorgonia's machine, so the inputs, θ, ρ, R and U,
// come down, and the loss goes up. All other ops of ours are run by the CPU, and so are gradients, which Gorgonia binds there
// without a fault.
type onDevice struct{ *Operation }

var _ gorgonia.CUDADoer = onDevice{}

// CallsExtern is true: the operation is run by CUDADo.
func (o onDevice) CallsExtern() bool { return true }

// CUDADo fetches the inputs, runs the operation and puts its value, a scalar, where Gorgonia wants it.
func (o onDevice) CUDADo(extern gorgonia.External, dev gorgonia.Device, prealloc gorgonia.Value,
	inputs ...gorgonia.Value) (out gorgonia.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("%s: %w", o.Label, parallel.Panicked(v))
		}
	}()
	e := &extern.(gorgonia.CUDAMachine).Engines()[int(dev)]
	// The uploads of the inputs wait in a queue.
	if err := e.DoWork(); err != nil {
		return nil, fmt.Errorf("%s: uploads: %w", o.Label, err)
	}
	ctx := e.Context()
	within := func(f func() error) error {
		return ctx.Do(func() error {
			if err := cu.SetCurrentContext(ctx.CUDAContext()); err != nil {
				return err
			}
			return f()
		})
	}
	host := make([]gorgonia.Value, len(inputs))
	err = within(func() error {
		for i, in := range inputs {
			var err error
			if host[i], err = fetched(in); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: from the device: %w", o.Label, err)
	}
	value, err := o.Do(host...)
	if err != nil {
		return nil, err
	}
	to := cu.DevicePtr(prealloc.Uintptr())
	err = within(func() error {
		switch x := value.(type) {
		case *gorgonia.F32:
			return cu.MemcpyHtoD(to, unsafe.Pointer(x), 4)
		case *gorgonia.F64:
			return cu.MemcpyHtoD(to, unsafe.Pointer(x), 8)
		}
		return fmt.Errorf("a value of type %T is no scalar", value)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: to the device: %w", o.Label, err)
	}
	return prealloc, nil
}

// fetched returns a copy of a value in memory of the CPU.
func fetched(v gorgonia.Value) (gorgonia.Value, error) {
	switch v.Dtype() {
	case tensor.Float32:
		return copied[float32](v)
	case tensor.Float64:
		return copied[float64](v)
	}
	return nil, fmt.Errorf("a value of %v", v.Dtype())
}

func copied[T float32 | float64](v gorgonia.Value) (gorgonia.Value, error) {
	x := make([]T, v.Shape().TotalSize())
	bytes := int64(len(x)) * int64(unsafe.Sizeof(x[0]))
	if err := cu.MemcpyDtoH(unsafe.Pointer(&x[0]), cu.DevicePtr(v.Uintptr()), bytes); err != nil {
		return nil, err
	}
	if v.Shape().Dims() == 0 {
		return Scalar[T](float64(x[0])), nil
	}
	return Dense(x, v.Shape()...), nil
}

// Anchored returns the scalar node n by way of the device, so that a graph of n alone has an op there.
func Anchored(n *gorgonia.Node) (*gorgonia.Node, error) {
	up, err := Apply(same("anchored "+n.Name(), true), n.Dtype(), nil, n)
	if err != nil {
		return nil, err
	}
	return Landed(up)
}

// Landed returns a node with the value of n in memory of the CPU. The value of a node that the device computes is an address
// there, which is none any more when its machine is closed.
func Landed(n *gorgonia.Node) (*gorgonia.Node, error) {
	if _, ok := n.Op().(gorgonia.CUDADoer); !ok {
		return n, nil
	}
	return Apply(same(fmt.Sprintf("landed %s", n.Op()), false), n.Dtype(), n.Shape().Clone(), n)
}

// same is the operation whose value and whose derivative are its operands'.
func same(label string, device bool) *Operation {
	o := &Operation{Label: label, Diff: All(1), Device: device}
	o.Run = func(in []gorgonia.Value) (gorgonia.Value, error) { return gorgonia.CloneValue(in[0]) }
	o.Grad = func(_ int, _ gorgonia.Nodes, _, cotangent *gorgonia.Node) (*gorgonia.Node, error) {
		return cotangent, nil
	}
	return o
}
