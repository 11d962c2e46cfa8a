//go:build cuda

package op

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"unsafe"

	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	_ "github.com/largemvc/largemvc/internal/cuda" // Gorgonia's elementwise kernels
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
			out, err = nil, fmt.Errorf("%s: panic: %v\n%s", o.Label, v, debug.Stack())
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

// NewMachine makes a tape machine. Gorgonia sets a context for a thread and then loads kernels on whatever thread it is on, so
// that it must not leave its thread meanwhile; it panics where a device fails or has too little memory.
func NewMachine(g *gorgonia.ExprGraph, options ...gorgonia.VMOpt) (m gorgonia.VM, err error) {
	if err := load(g); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a machine of Gorgonia on the device: %v", v)
		}
	}()
	return &machine{VM: gorgonia.NewTapeMachine(g, options...), graph: g}, nil
}

// NewTraining makes a tape machine that binds gradients to the nodes that learn; grads are the nodes of their gradients. Gorgonia
// binds zeros, and says nothing, where the last operation of a gradient is one of its own, which the device computes: what it
// binds is put right after each run.
func NewTraining(g *gorgonia.ExprGraph, learn, grads gorgonia.Nodes) (gorgonia.VM, error) {
	var wrong []gradient
	for i, n := range grads {
		if _, ok := n.Op().(gorgonia.CUDADoer); ok {
			wrong = append(wrong, gradient{of: learn[i], value: new(gorgonia.Value)})
			gorgonia.Read(n, wrong[len(wrong)-1].value)
		}
	}
	vm, err := NewMachine(g, gorgonia.BindDualValues(learn...))
	if err != nil {
		return nil, err
	}
	vm.(*machine).wrong = wrong
	return vm, nil
}

// gradient is the value of a gradient, as it is read.
type gradient struct {
	of    *gorgonia.Node
	value *gorgonia.Value
}

func (d gradient) bind() error {
	bound, err := d.of.Grad()
	if err != nil {
		return err
	}
	from, to := EntriesOf(*d.value), EntriesOf(bound)
	if from == nil || to == nil || from.Len() != to.Len() {
		return fmt.Errorf("the gradient by %s is %v, bound is %v", d.of.Name(), *d.value, bound)
	}
	for j := range to.Len() {
		to.Set(j, from.At(j))
	}
	return nil
}

// ballast is how many numbers more a machine has room for on the device, for each node that is computed there.
const ballast = 32

// load adds an op for the device to a graph, for two faults of Gorgonia: it ends the process where a graph has none; and it
// takes two and a half times the bytes that the values of a graph have on the device, where each value takes up a multiple of
// 32, which is too little for many scalars. The input of the op is as large as it takes to make up for that.
func load(g *gorgonia.ExprGraph) error {
	nodes := 1
	for _, n := range g.AllNodes() {
		if _, ok := n.Op().(gorgonia.CUDADoer); ok {
			nodes++
		}
	}
	size := nodes * ballast
	in := NewInput(g, "largemvc ballast", Dense(make([]float32, size), size), size)
	o := &Operation{Label: "largemvc ballast", Device: true}
	o.Run = func([]gorgonia.Value) (gorgonia.Value, error) { return Scalar[float32](0), nil }
	_, err := Apply(o, tensor.Float32, nil, in)
	return err
}

// machine is a tape machine that lets go of what its graph works with: a goroutine of Gorgonia's keeps a machine, and with it the
// graph, for as long as the process lives.
type machine struct {
	gorgonia.VM
	graph *gorgonia.ExprGraph
	wrong []gradient
}

func (m *machine) RunAll() error {
	if err := m.VM.RunAll(); err != nil {
		return err
	}
	for _, d := range m.wrong {
		if err := d.bind(); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("the machine was closed")

func (m *machine) Close() error {
	err := m.VM.Close()
	for _, n := range m.graph.AllNodes() {
		o, ok := n.Op().(*Operation)
		if d, placed := n.Op().(onDevice); placed {
			o, ok = d.Operation, true
		}
		if ok {
			o.Run = func([]gorgonia.Value) (gorgonia.Value, error) { return nil, errClosed }
			o.Grad = nil
		}
	}
	return err
}
