//go:build cuda

package largemvc

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/cuda"
	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/testrig/fake"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/machine"
)

// registered are the kinds of devices that this program has.
var registered []device.Kind

// card says that there is a real card, which the tests then use. It is asked before the tests put one of the simulator there.
var card = cuda.Missing() == ""

// Without a card, the tests have one of the simulator, for Gorgonia's machines. Fits are on the CPU unless a test asks for the
// card: the simulator is slow.
func init() {
	if !card {
		fake.Install(fake.Ampere)
		cuda.Register()
	}
	registered = device.Kinds()
	if !card {
		registered[0].Open = func() (device.Driver, error) { return device.OpenCUDA(fake.Symbol) }
	}
}

// TestCUDAFit: a whole fit on the card, with a loss term of Gorgonia's own operations, whose gradients by H and by a
// parameter take part, has the losses and the labels of the CPU.
func TestCUDAFit(t *testing.T) {
	if len(registered) != 1 {
		t.Fatalf("kinds of devices: %v", registered)
	}
	simulated(t, registered[0].Open)
	views, config := shallow()
	config.ExtraLoss = penalty
	want, got := mustFit(t, views, on(machine.CPU, config)), mustFit(t, views, on(machine.CUDA, config))
	if !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("labels %v, on the CPU %v", got.Labels, want.Labels)
	}
	for e, x := range want.Loss {
		if math.Abs(got.Loss[e]-x) > 1e-4*math.Abs(x) {
			t.Errorf("epoch %d: the loss is %v, on the CPU %v", e, got.Loss[e], x)
		}
	}
	if got.Ran.Device == "CPU" || want.Ran.Device != "CPU" {
		t.Errorf("ran on %v and %v", got.Ran, want.Ran)
	}
	plain := config
	plain.ExtraLoss = nil
	if without := mustFit(t, views, on(machine.CPU, plain)); without.Loss[len(without.Loss)-1] == want.Loss[len(want.Loss)-1] {
		t.Error("the term takes no part")
	}
}

// penalty is a loss term of Gorgonia's own operations.
func penalty(net Network) (*Node, error) {
	h, err := net.H(1)
	if err != nil {
		return nil, err
	}
	term, err := gorgonia.Mean(must(gorgonia.Square(h)))
	if err != nil {
		return nil, err
	}
	theta := net.Learnables()[0]
	return gorgonia.Add(term, must(gorgonia.Square(theta)))
}

// TestCUDAEngine: on a card that refuses Gorgonia's engine, a fit on the CPU does not ask for one, and a fit on the card has the
// CPU run Gorgonia's operations and says why. Custom modules, whose operations alone are for the card, are an error there.
func TestCUDAEngine(t *testing.T) {
	if card {
		t.Skip("the card at hand has managed memory")
	}
	unmanaged := fake.Ampere
	unmanaged.Unmanaged = true
	fake.Install(unmanaged)
	defer fake.Install(fake.Ampere)
	simulated(t, registered[0].Open)
	views, config := shallow()
	config.ExtraLoss = penalty
	want := mustFit(t, views, on(machine.CPU, config))
	if c := fake.Complaint(); c != "" || fake.Launches() != 0 {
		t.Errorf("a fit on the CPU used the card: %s", c)
	}
	got := mustFit(t, views, on(machine.CUDA, config))
	if !slices.Equal(got.Labels, want.Labels) || got.Ran.Device == "CPU" ||
		!strings.Contains(got.Ran.Why, "left to the CPU: Gorgonia's own operations: ") {
		t.Errorf("labels %v, on the CPU %v; ran on %v", got.Labels, want.Labels, got.Ran)
	}
	config.Noise = &ownNoise{}
	if _, err := fitAlone(t.Context(), views, on(machine.CUDA, config)); err == nil ||
		!strings.Contains(err.Error(), "Gorgonia's own operations: ") {
		t.Errorf("custom modules: %v", err)
	}
	fake.Install(fake.Ampere)
	if got := mustFit(t, views, on(machine.CUDA, config)); fake.Launches() == 0 || !strings.Contains(got.Ran.Why, "on the GPU") {
		t.Errorf("custom modules launched %d kernels, ran on %v", fake.Launches(), got.Ran)
	}
}

// What Gorgonia's CUDA build does besides; op.NewMachine and op.Operation work around it. Whoever makes a machine by
// gorgonia.NewTapeMachine has these faults to himself.

// inProcess runs the test of the name in a process of its own, whose end it expects, and returns what the process wrote.
func inProcess(t *testing.T) (output string, child bool) {
	t.Helper()
	if os.Getenv("LARGEMVC_TEST_CHILD") == t.Name() {
		return "", true
	}
	c := exec.Command(os.Args[0], "-test.timeout", "20s", "-test.run", "^"+t.Name()+"$")
	c.Env = append(os.Environ(), "LARGEMVC_TEST_CHILD="+t.Name(), "GOMAXPROCS=2") // some of it takes goroutines side by side
	out, err := c.CombinedOutput()
	if err == nil {
		t.Error("the process ends well now")
	}
	return string(out), false
}

// sumOfPairs is a graph without any operation that Gorgonia computes on a device, and with a value that is read.
func sumOfPairs(t *testing.T) (*gorgonia.ExprGraph, *gorgonia.Value) {
	g := gorgonia.NewGraph()
	x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{2, 2})
	optest.LetNode(t, x, []float64{1, 2, 3, 4})
	value := new(gorgonia.Value)
	gorgonia.Read(must(gorgonia.Sum(x)), value)
	return g, value
}

// TestKnownIssueNoDeviceOp: a graph without an operation for the device ends the process.
func TestKnownIssueNoDeviceOp(t *testing.T) {
	out, child := inProcess(t)
	if child {
		runtime.LockOSThread() // TestKnownIssueMachineThread
		g, _ := sumOfPairs(t)
		machine := gorgonia.NewTapeMachine(g)
		_ = machine.RunAll()
		return
	}
	if !strings.Contains(out, "index out of range") {
		t.Errorf("the process ends otherwise: %s", out)
	}
	g, sum := sumOfPairs(t)
	machine, err := op.NewMachine(g, optest.Must)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	if got := optest.NodeValues(t, *sum)[0]; got != 10 {
		t.Errorf("the sum is %g", got)
	}
}

// The two ways to a machine.
var (
	gorgonias = func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return gorgonia.NewTapeMachine(g), nil }
	ours      = func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return op.NewMachine(g, optest.Must) }
)

// computed returns the value of a node that build makes of the input x, as a machine computes it that is made on one thread.
func computed(t *testing.T, make func(g *gorgonia.ExprGraph) (gorgonia.VM, error), shape tensor.Shape, x []float64,
	build func(x *gorgonia.Node) *gorgonia.Node) ([]float64, error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := gorgonia.NewGraph()
	in := optest.InputNode(g, tensor.Float64, "x", shape)
	optest.LetNode(t, in, x)
	var value gorgonia.Value
	gorgonia.Read(build(in), &value)
	machine, err := make(g)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		return nil, err
	}
	return optest.NodeValues(t, value), nil
}

// onlyOurs checks what our machine computes, and that Gorgonia's is an error or another value. The latter is asked of the driver
// of the tests alone: on a real card some of it hangs on time, and says nothing of the card.
func onlyOurs(t *testing.T, shape tensor.Shape, x []float64, want string, build func(x *gorgonia.Node) *gorgonia.Node) {
	t.Helper()
	if got, err := computed(t, ours, shape, x, build); err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if card {
		return
	}
	for i := range 20 { // for it may be right by chance, where a goroutine of its begins late
		begun := func(g *gorgonia.ExprGraph) (gorgonia.VM, error) {
			vm, err := gorgonias(g)
			time.Sleep(time.Duration(i) * time.Millisecond)
			return vm, err
		}
		if got, err := computed(t, begun, shape, x, build); err != nil || fmt.Sprint(got) != want {
			return
		}
	}
	t.Error("Gorgonia's machine computes it now")
}

// chain is a graph of elementwise operations in a row: x + 1 + … + 1.
func chain(t *testing.T, length int) (*gorgonia.ExprGraph, *gorgonia.Node) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithValue(1.0))
	one := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("one"), gorgonia.WithValue(1.0))
	y := x
	for range length {
		y = must(gorgonia.Add(y, one))
	}
	return g, y
}

// TestKnownIssueDeviceAllocator: the memory that a machine takes is too little for many scalars at once.
func TestKnownIssueDeviceAllocator(t *testing.T) {
	const count = 14
	run := func(make func(g *gorgonia.ExprGraph) (gorgonia.VM, error)) (float64, error) {
		runtime.LockOSThread() // TestKnownIssueMachineThread
		defer runtime.UnlockOSThread()
		g := gorgonia.NewGraph()
		scalar := func(name string) *gorgonia.Node {
			return gorgonia.NewScalar(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithValue(float32(2)))
		}
		x := scalar("x")
		var parts []*gorgonia.Node
		sum := x
		for i := range count {
			parts = append(parts, must(gorgonia.Mul(x, scalar(fmt.Sprintf("x%d", i)))))
			sum = must(gorgonia.Add(sum, parts[i]))
		}
		all := sum
		for _, p := range parts { // all of them are needed until the sum is known
			all = must(gorgonia.Add(all, must(gorgonia.Mul(p, sum))))
		}
		var value gorgonia.Value
		gorgonia.Read(all, &value)
		machine, err := make(g)
		if err != nil {
			return 0, err
		}
		defer machine.Close()
		if err := machine.RunAll(); err != nil {
			return 0, err
		}
		return optest.NodeValues(t, value)[0], nil
	}
	_, err := run(func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return gorgonia.NewTapeMachine(g), nil })
	if err == nil || !strings.Contains(err.Error(), "oomError") {
		t.Errorf("the memory is enough now: %v", err)
	}
	got, err := run(func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return op.NewMachine(g, optest.Must) })
	if want := float64((2 + 4*count) * (1 + 4*count)); err != nil || got != want {
		t.Errorf("%g, %v; want %g", got, err, want)
	}
}

// TestKnownIssueMachineThread (#376): Gorgonia makes a context current and loads its kernels on whatever thread it is on then.
func TestKnownIssueMachineThread(t *testing.T) {
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					time.Sleep(10 * time.Microsecond)
				}
			}
		})
	}
	for range 20 {
		g, y := chain(t, 3)
		machine, err := op.NewMachine(g, optest.Must)
		if err != nil {
			t.Fatal(err)
		}
		if err := machine.RunAll(); err != nil {
			t.Error(err)
		}
		_ = y
		machine.Close()
	}
	close(stop)
	others.Wait()
}

// TestKnownIssueMachineStays: a goroutine of Gorgonia's keeps a machine, its graph and what its operations work with after Close.
func TestKnownIssueMachineStays(t *testing.T) {
	type work struct{ data [1 << 20]byte }
	collected := func(make func(g *gorgonia.ExprGraph) (gorgonia.VM, error)) bool {
		gone := signal()
		func() {
			runtime.LockOSThread() // TestKnownIssueMachineThread
			defer runtime.UnlockOSThread()
			w := &work{}
			runtime.SetFinalizer(w, func(*work) { close(gone) })
			g := gorgonia.NewGraph()
			x := op.NewScalar(g, tensor.Float64, "x", 1)
			o := &op.Operation{Label: "works", Device: true}
			o.Run = func([]gorgonia.Value) (gorgonia.Value, error) { return op.Scalar[float64](float64(w.data[0])), nil }
			must(op.Apply(o, tensor.Float64, nil, x))
			machine, err := make(g)
			if err != nil {
				t.Fatal(err)
			}
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			if err := machine.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		for range 20 {
			runtime.GC()
			select {
			case <-gone:
				return true
			case <-time.After(10 * time.Millisecond):
			}
		}
		return false
	}
	if collected(func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return gorgonia.NewTapeMachine(g), nil }) {
		t.Error("a closed machine is let go of now")
	}
	if !collected(func(g *gorgonia.ExprGraph) (gorgonia.VM, error) { return op.NewMachine(g, optest.Must) }) {
		t.Error("the work of a closed machine is kept")
	}
}

// signal makes a channel to close.
func signal() chan struct{} { return make(chan struct{}) }

// TestKnownIssueLongChains: more than 63 device calls in a row overrun a queue, or leave it torn, since two goroutines work on it
// without a lock. Uploads count, too: an operation with many inputs is such a row.
func TestKnownIssueLongChains(t *testing.T) {
	row := func(x *gorgonia.Node) *gorgonia.Node {
		for range 120 {
			x = must(gorgonia.Add(x, gorgonia.NewConstant(1.0)))
		}
		return x
	}
	two, x := tensor.Shape{2}, []float64{0.5, 1}
	out, child := "test timed out", false
	if !card { // on which it hangs on time whether the queue is torn
		out, child = inProcess(t)
	}
	if child {
		for range 50 {
			if _, err := computed(t, gorgonias, two, x, row); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	// A torn queue may also wait for ever.
	if !strings.Contains(out, "slice bounds out of range") && !strings.Contains(out, "index out of range") &&
		!strings.Contains(out, "test timed out") {
		t.Errorf("the process ends otherwise: %s", out)
	}
	for range 50 {
		if got, err := computed(t, ours, two, x, row); err != nil || fmt.Sprint(got) != "[120.5 121]" {
			t.Fatalf("the end of the chain is %g, %v", got, err)
		}
	}
	const many = 200
	got, err := computed(t, ours, tensor.Shape{1}, []float64{0}, func(x *gorgonia.Node) *gorgonia.Node {
		var in gorgonia.Nodes
		for i := range many {
			in = append(in, op.NewScalar(x.Graph(), tensor.Float64, fmt.Sprintf("x%d", i), float64(i)))
		}
		o := &op.Operation{Label: "sum of many", Device: true}
		o.Run = func(in []gorgonia.Value) (gorgonia.Value, error) {
			sum := 0.0
			for _, x := range in {
				sum += optest.NodeValues(t, x)[0]
			}
			return op.Scalar[float64](sum), nil
		}
		return must(op.Apply(o, tensor.Float64, nil, in...))
	})
	if err != nil || got[0] != many*(many-1)/2 {
		t.Errorf("the sum of many inputs is %g, %v", got, err)
	}
}

// TestKnownIssueReshape: on the device, Gorgonia's reshaped value is its operand under another name. Where it is needed last, the
// memory of both is freed, and given to the next value while the operand is still needed.
func TestKnownIssueReshape(t *testing.T) {
	onlyOurs(t, tensor.Shape{3}, []float64{1, 2, 3}, "[-50 -104 -162]", func(x *gorgonia.Node) *gorgonia.Node { // 2x·−(24 + x)
		y := must(gorgonia.Add(x, x))
		column := must(gorgonia.Reshape(y, tensor.Shape{3, 1}))
		twice := must(gorgonia.Add(column, column))                                   // after which the column is not needed
		other := must(gorgonia.Neg(must(gorgonia.Add(must(gorgonia.Sum(twice)), x)))) // takes new memory
		return must(gorgonia.HadamardProd(y, other))
	})
}

// TestKnownIssueVectorProduct: the CUDA build has no product of two vectors, and none of stacks of matrices that puts it where it
// is looked for. Both are made on the CPU.
func TestKnownIssueVectorProduct(t *testing.T) {
	onlyOurs(t, tensor.Shape{3}, []float64{1, 2, 3}, "[36]", func(x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Mul(x, must(gorgonia.Square(x))))
	})
	onlyOurs(t, tensor.Shape{2, 1, 2}, []float64{1, 2, 3, 4}, "[9 91]", func(x *gorgonia.Node) *gorgonia.Node {
		columns := must(gorgonia.Reshape(must(gorgonia.Add(x, must(gorgonia.Square(x)))), tensor.Shape{2, 2, 1}))
		return must(gorgonia.BatchedMatMul(x, must(gorgonia.Sub(columns, must(gorgonia.Reshape(x, tensor.Shape{2, 2, 1}))))))
	})
}

// TestKnownIssueDeviceValues: the value of a node that the device computes is memory which later operations get. op.Landed copies
// it to the CPU in time.
func TestKnownIssueDeviceValues(t *testing.T) {
	g := gorgonia.NewGraph()
	x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{2})
	optest.LetNode(t, x, []float64{1, 2})
	first := must(gorgonia.Add(x, x))
	landed := must(op.Landed(first))
	last := first
	for range 5 {
		last = must(gorgonia.Add(last, gorgonia.NewConstant(1.0)))
	}
	machine, err := op.NewMachine(g, optest.Must)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(optest.NodeValues(t, landed.Value())); got != "[2 4]" {
		t.Errorf("the value on the CPU is %s", got)
	}
	if got := fmt.Sprint(optest.NodeValues(t, first.Value())); got == "[2 4]" {
		t.Error("the value on the device stays now")
	}
}

// TestKnownIssueProductContext: Gorgonia makes its handle of cuBLAS outside the context in which its kernels run and its memory
// lies, so that nothing orders products and kernels. The driver of the tests refuses such products.
func TestKnownIssueProductContext(t *testing.T) {
	if card && !hasProducts(t) {
		t.Skip("there is a card and no cuBLAS, without which it multiplies no matrices (libcublas.so.13, 12 or 11)")
	}
	onlyOurs(t, tensor.Shape{2, 2}, []float64{1, 2, 3, 4}, "[8 12 18 26]", func(x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Add(must(gorgonia.Mul(x, x)), x))
	})
}

// hasProducts says whether the card multiplies matrices.
func hasProducts(t *testing.T) bool {
	_, err := computed(t, ours, tensor.Shape{1, 1}, []float64{2}, func(x *gorgonia.Node) *gorgonia.Node {
		return must(gorgonia.Mul(x, x))
	})
	if err != nil && !strings.Contains(err.Error(), "want cuBLAS") {
		t.Fatal(err)
	}
	return err == nil
}

// TestKnownIssueKernelNames (#355): Gorgonia ships no kernels for the device. Those of internal/cuda are under its names, also
// those that its own sources spell otherwise.
func TestKnownIssueKernelNames(t *testing.T) {
	for name, f := range map[string]func(*gorgonia.Node) (*gorgonia.Node, error){
		"inverse": gorgonia.Inverse, "inverse root": gorgonia.InverseSqrt, "square": gorgonia.Square, "exp": gorgonia.Exp,
		"sigmoid": gorgonia.Sigmoid, "softplus": gorgonia.Softplus, "sin": gorgonia.Sin,
	} {
		g := gorgonia.NewGraph()
		x := optest.InputNode(g, tensor.Float32, "x", tensor.Shape{3, 2})
		optest.LetNode(t, x, []float64{0.25, 1, 4, 0.5, 2, 9})
		y := must(f(x))
		var value gorgonia.Value
		gorgonia.Read(y, &value)
		machine, err := op.NewMachine(g, optest.Must)
		if err != nil {
			t.Fatal(err)
		}
		if err := machine.RunAll(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := y.Op().Do(x.Value())
		if err != nil {
			t.Fatal(err)
		}
		if e := optest.Worst(optest.NodeValues(t, value), optest.NodeValues(t, want)); e > 1e-6 {
			t.Errorf("%s: off by %g", name, e)
		}
		machine.Close()
	}
}

// TestKnownIssueSeveralMachines: machines side by side have contexts of their own, and kernels belong to one.
func TestKnownIssueSeveralMachines(t *testing.T) {
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			g, y := chain(t, 5)
			var value gorgonia.Value
			gorgonia.Read(y, &value)
			machine, err := op.NewMachine(g, optest.Must)
			if err != nil {
				t.Error(err)
				return
			}
			defer machine.Close()
			for range 3 {
				if err := machine.RunAll(); err != nil {
					t.Error(err)
					return
				}
				machine.Reset()
			}
			if got := optest.NodeValues(t, value)[0]; got != 6 {
				t.Errorf("the value is %g", got)
			}
		})
	}
	all.Wait()
}
