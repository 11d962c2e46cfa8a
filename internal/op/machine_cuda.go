//go:build cuda

package op

import (
	"errors"
	"fmt"
	"log"
	"reflect"
	"runtime"

	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/cuda" // and with it the elementwise kernels
)

// HasEngine says that Gorgonia's own operations can run on a GPU.
const HasEngine = true

// NewMachine makes a tape machine. With refused, Gorgonia's own operations run on the device, for which Gorgonia makes a context,
// an allocator and kernels. If it cannot, NewMachine calls refused with the reason: its error is NewMachine's; without one the
// CPU does all. With nil the CPU does all, and nothing is asked of a device.
func NewMachine(g *gorgonia.ExprGraph, refused func(error) error, options ...gorgonia.VMOpt) (gorgonia.VM, error) {
	m := &machine{graph: g}
	if refused == nil {
		return m, m.onCPU(options)
	}
	err := m.onDevice(options)
	if err == nil {
		return m, nil
	}
	if err := refused(fmt.Errorf("Gorgonia's own operations: %w", err)); err != nil {
		return nil, err
	}
	return m, m.onCPU(options)
}

// onCPU makes the machine of a graph whose operations all run on the CPU. Without an operation for the device Gorgonia makes no
// engine, but its program frees places on a device that are not there. On the CPU these instructions do nothing: they are left
// out.
func (m *machine) onCPU(options []gorgonia.VMOpt) error {
	if err := leaveToCPU(m.graph, true); err != nil {
		return err
	}
	program, places, err := gorgonia.Compile(m.graph)
	if err != nil {
		return err
	}
	field := reflect.ValueOf(program).Elem().FieldByName("instructions")
	if !field.IsValid() || field.Kind() != reflect.Slice {
		return errors.New("this version of Gorgonia keeps a program's instructions elsewhere")
	}
	list := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
	kept := reflect.MakeSlice(list.Type(), 0, list.Len())
	for i := range list.Len() {
		if list.Index(i).Elem().Type().Name() != "free" {
			kept = reflect.Append(kept, list.Index(i))
		}
	}
	list.Set(kept)
	m.VM = gorgonia.NewTapeMachine(m.graph, append(options, gorgonia.WithPrecompiled(program, places))...)
	return nil
}

// onDevice makes the machine of a graph with operations for the device. Gorgonia sets a context for a thread and then loads
// kernels on whatever thread it is on, so that it must not leave its thread meanwhile; it panics where a device fails or has too
// little memory.
func (m *machine) onDevice(options []gorgonia.VMOpt) (err error) {
	if why := cuda.Missing(); why != "" {
		return errors.New(why)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := tryEngine(); err != nil {
		return err
	}
	if err := leaveToCPU(m.graph, false); err != nil {
		return err
	}
	if err := load(m.graph); err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a machine of Gorgonia on the device: %v", v)
		}
	}()
	m.VM = gorgonia.NewTapeMachine(m.graph, append(options, gorgonia.WithLogger(log.New(flush{m}, "", 0)))...)
	m.products()
	return nil
}

// tryEngine returns an error if the device has no further context or no managed memory, which Gorgonia's engine needs: where one
// is missing, Gorgonia waits for ever.
func tryEngine() error {
	dev, err := cu.GetDevice(0)
	if err != nil {
		return err
	}
	ctx, err := dev.MakeContext(cu.SchedAuto)
	if err != nil {
		return fmt.Errorf("no context: %w", err)
	}
	p, err := cu.MemAllocManaged(engineBytes, cu.AttachGlobal)
	if err != nil {
		err = fmt.Errorf("no managed memory: %w", err)
	} else {
		err = cu.MemFree(p)
	}
	return errors.Join(err, ctx.Destroy())
}

// engineBytes is the managed memory that tryEngine asks for. An engine takes 2.5 times the values of a graph, which are small.
const engineBytes = 16 << 20

// flush has the calls that wait for the device made before each instruction of a machine's program. Gorgonia lets up to 63 wait,
// and wakes a second goroutine when there are more; that and the machine's then work on one queue without a lock, which overruns
// it or loses calls. What Gorgonia offers to be called at every instruction, on the machine's own goroutine, is its logger.
type flush struct{ *machine }

// Write is called with a line of the log, which nobody reads.
func (f flush) Write(line []byte) (int, error) {
	engines := f.VM.(gorgonia.CUDAMachine).Engines()
	for i := range engines {
		if err := engines[i].DoWork(); err != nil && f.failed == nil {
			f.failed = err
		}
	}
	return len(line), nil
}

// products makes the handles of cuBLAS again, in the contexts in which kernels run: Gorgonia makes them outside, where nothing
// says that a product comes before the kernel which reads it.
func (m *machine) products() {
	engines := m.VM.(gorgonia.CUDAMachine).Engines()
	for i := range engines {
		ctx, handle := engines[i].Context(), engines[i].BLASContext()
		_ = ctx.Do(func() error { // an error would end the goroutine that does what ctx is asked for
			m.blas = errors.Join(m.blas, cu.SetCurrentContext(ctx.CUDAContext()), handle.Close(),
				handle.Init(cublas.WithContext(ctx)))
			return nil
		})
	}
}

// NewTraining makes a tape machine that binds gradients to the nodes that learn; grads are the nodes of their gradients. Gorgonia
// binds zeros, and says nothing, where the last operation of a gradient is one of its own, which the device computes: what it
// binds is put right after each run.
func NewTraining(g *gorgonia.ExprGraph, refused func(error) error, learn, grads gorgonia.Nodes) (gorgonia.VM, error) {
	var wrong []gradient
	for i, n := range grads {
		if _, ok := n.Op().(gorgonia.CUDADoer); ok {
			wrong = append(wrong, gradient{of: learn[i], value: new(gorgonia.Value)})
			gorgonia.Read(n, wrong[len(wrong)-1].value)
		}
	}
	vm, err := NewMachine(g, refused, gorgonia.BindDualValues(learn...))
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

// onCPU is an operation of Gorgonia's own that the CPU computes, wherever its operands are. It has no CUDADo.
type onCPU struct{ gorgonia.SDOp }

// CallsExtern is false: the operation is run by the CPU.
func (o onCPU) CallsExtern() bool { return false }

// OverwritesInput is −1: no input is overwritten.
func (o onCPU) OverwritesInput() int { return -1 }

// leaveToCPU has those operations of Gorgonia's own computed by the CPU that its CUDA build gets wrong or does not have, or with
// all every operation. What it reshapes on the device is the operand itself under another name, whose memory is then freed twice
// and used meanwhile; the product of two vectors is not there, and that of stacks of matrices puts nothing where its result is
// looked for.
func leaveToCPU(g *gorgonia.ExprGraph, all bool) error {
	for _, n := range g.AllNodes() {
		var cpu gorgonia.Op
		switch o := n.Op().(type) {
		case onDevice:
			if all {
				cpu = o.Operation
			}
		case gorgonia.SDOp:
			_, device := o.(gorgonia.CUDADoer)
			of := reflect.TypeOf(o).Name()
			if device && (all || of == "reshapeOp" || of == "linAlgBinOp" && n.Dims() != 1 && n.Dims() != 2) {
				cpu = onCPU{o}
			}
		}
		if cpu == nil {
			continue
		}
		if err := setOp(n, cpu); err != nil {
			return err
		}
	}
	return nil
}

// setOp puts an operation in the place of a node's, for which Gorgonia has no way: its program, which is made of the nodes, says
// what runs where.
func setOp(n *gorgonia.Node, o gorgonia.Op) error {
	field := reflect.ValueOf(n).Elem().FieldByName("op")
	if !field.IsValid() || field.Type() != reflect.TypeFor[gorgonia.Op]() {
		return errors.New("this version of Gorgonia keeps a node's operation elsewhere")
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(o))
	return nil
}

// ballast is how many numbers more a machine has room for on the device, for each value that it holds there.
const ballast = 32

// load adds an op for the device to a graph, for two faults of Gorgonia: it ends the process where a graph has none; and it
// takes two and a half times the bytes that the values of a graph have on the device, where each value takes up a multiple of
// 32, which is too little for many scalars. The input of the op is as large as it takes to make up for that.
func load(g *gorgonia.ExprGraph) error {
	nodes := 1
	for _, n := range g.AllNodes() {
		if _, ok := n.Op().(gorgonia.CUDADoer); ok {
			nodes += 1 + g.From(n.ID()).Len() // its inputs are copied to the device
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
	graph  *gorgonia.ExprGraph
	wrong  []gradient
	blas   error // of the handle for products; without cuBLAS there is none
	failed error // of calls that were waiting
}

func (m *machine) RunAll() error {
	err := m.VM.RunAll()
	if m.failed != nil {
		err, m.failed = errors.Join(err, fmt.Errorf("calls of the device: %w", m.failed)), nil
	}
	if err != nil {
		if m.blas != nil {
			err = fmt.Errorf("%w (products of matrices want cuBLAS: %v)", err, m.blas)
		}
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
