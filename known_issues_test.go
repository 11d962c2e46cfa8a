package largemvc

import (
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"github.com/largemvc/largemvc/internal/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// What Gorgonia v0.9.18 and tensor v0.9.24 do that this package relies on or works around. A test that fails after an
// upgrade says that a workaround may go. The threads are of gorgonia/gorgonia.

// TestKnownIssueMovingGC (#523, open): without a recent assume-no-moving-gc in the module graph every program that imports
// Gorgonia panics at its start on Go 1.26. No package here imports it, so a tidy that drops it would go unnoticed on an
// older Go. (That this test runs at all shows that the version is good for the Go at hand.)
func TestKnownIssueMovingGC(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "go4.org/unsafe/assume-no-moving-gc v0.0.0-20231121144256-b99613f794b6"; !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
}

// TestKnownIssueHashMerging (the op came with #519): nodes are merged by the hash of their op, and the hash of the softmax
// leaves out whether it is the logarithm. The ops here write every parameter into their hash, see TestHashes.
func TestKnownIssueHashMerging(t *testing.T) {
	g := gorgonia.NewGraph()
	x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{2, 2})
	if soft, log := must(gorgonia.SoftMax(x)), must(gorgonia.LogSoftMax(x)); soft != log {
		t.Error("SoftMax and LogSoftMax are two nodes now")
	}
	if a, b := optest.InputNode(
		g, tensor.Float64, "same", tensor.Shape{2},
	), optest.InputNode(g, tensor.Float64, "same", tensor.Shape{2}); a != b {
		t.Error("inputs of one name are two nodes now; the claim on a prefix may go")
	}
}

// TestKnownIssueGradientAccumulation (#543, open): gradients of BindDualValues add up over runs without a solver's step
// between; the symbolic gradient nodes do not. In the CUDA build bound gradients of Gorgonia's own operations stay 0, as they are
// computed on the device; those of this package are computed by the CPU. (A product of matrices would not do here: in the CUDA
// build Gorgonia's own machine finds its handle of cuBLAS in the right context by chance.)
func TestKnownIssueGradientAccumulation(t *testing.T) {
	g := gorgonia.NewGraph()
	x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{2, 2})
	optest.LetNode(t, x, []float64{1, 1, 1, 1})
	grads, err := gorgonia.Grad(must(gorgonia.Sum(times(x, x))), x)
	if err != nil {
		t.Fatal(err)
	}
	var symbolic gorgonia.Value
	gorgonia.Read(grads[0], &symbolic)
	runtime.LockOSThread() // which Gorgonia's CUDA machine wants
	defer runtime.UnlockOSThread()
	machine := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(x))
	defer machine.Close()
	for i := range 3 {
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		bound, err := x.Grad()
		if err != nil {
			t.Fatal(err)
		}
		want := 2 * float64(i+1)
		if gorgonia.CUDA {
			want = 0
		}
		if got := optest.NodeValues(t, bound)[0]; got != want {
			t.Errorf("run %d: the bound gradient is %g, want %g", i, got, want)
		}
		if got := optest.NodeValues(t, symbolic)[0]; got != 2 {
			t.Errorf("run %d: the symbolic gradient is %g, want 2", i, got)
		}
		machine.Reset()
	}
}

// TestKnownIssueReset (#466, closed): a tape machine that is not Reset does not run again.
func TestKnownIssueReset(t *testing.T) {
	g := gorgonia.NewGraph()
	x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{1, 1})
	y := times(x, x)
	runtime.LockOSThread() // which Gorgonia's CUDA machine wants
	defer runtime.UnlockOSThread()
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	for i, c := range []struct {
		x, want float64
		reset   bool
	}{{2, 4, false}, {3, 4, true}, {3, 9, false}} {
		optest.LetNode(t, x, []float64{c.x})
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		if got := optest.NodeValues(t, y.Value())[0]; got != c.want {
			t.Errorf("run %d: %g² is %g, want %g", i, c.x, got, c.want)
		}
		if c.reset {
			machine.Reset()
		}
	}
}

// TestKnownIssueFloat32Sums (no thread): tensor.Sum has one float32 accumulator, which takes no more ones after 2²⁴; a
// mean of gorgonia.Mean is off accordingly. The sums here are taken in float64, see TestLossFloat32.
func TestKnownIssueFloat32Sums(t *testing.T) {
	x := make([]float32, 20000)
	for i := range x {
		x[i] = 1
	}
	x[0] = 1 << 24
	sum, err := tensor.Sum(tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(x)))
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.Data().(float32); got != 1<<24 {
		t.Errorf("the sum of 2²⁴ and 19,999 ones is %.0f now", got)
	}
}

// TestKnownIssueColumnSlice (no thread): tensor.MatMul ignores the stride of a column slice and returns wrong numbers. The
// ops here take the elements of a view in their order.
func TestKnownIssueColumnSlice(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	slice, err := x.Slice(nil, tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	identity := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 0, 0, 1}))
	product, err := tensor.MatMul(slice, identity)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{2, 3, 5, 6}
	if optest.Worst(product.Data().([]float64), want) == 0 {
		t.Error("MatMul of a column slice is right now")
	}
	got, err := op.Elements[float64](slice.(*tensor.Dense))
	if err != nil || optest.Worst(got, want) > 0 {
		t.Errorf("the elements of a column slice are %v, want %v (%v)", got, want, err)
	}
}

// TestKnownIssueRectifyKink (no thread): gorgonia.Rectify has the derivative 1 at 0, torch and this package have 0.
func TestKnownIssueRectifyKink(t *testing.T) {
	slope := func(f func(x *Node) *Node) float64 {
		g := gorgonia.NewGraph()
		x := optest.InputNode(g, tensor.Float64, "x", tensor.Shape{1, 1})
		optest.LetNode(t, x, []float64{0})
		return gradients(t, must(gorgonia.Sum(f(x))), gorgonia.Nodes{x})[0][0]
	}
	if got := slope(func(x *Node) *Node { return must(gorgonia.Rectify(x)) }); got != 1 {
		t.Errorf("Rectify has the slope %g at 0 now", got)
	}
	own := slope(func(x *Node) *Node {
		theta := op.NewScalar(x.Graph(), tensor.Float64, "theta", 0)
		return must(SoftThresholdOp(x, theta, ReLU, true))
	})
	if own != 0 || math.Signbit(own) {
		t.Errorf("the one-sided threshold has the slope %g at 0, want 0", own)
	}
}
