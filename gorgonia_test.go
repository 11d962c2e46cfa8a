package largemvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/optim"
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

// bowl is a graph of the loss Σ w·(x − target)² + (s − 2)² with a matrix x and a scalar s, and its machine.
type bowl struct {
	x, s    *Node
	machine gorgonia.VM
	model   []gorgonia.ValueGrad
}

func newBowl(t testing.TB, of tensor.Dtype) *bowl {
	t.Helper()
	e := Env{G: gorgonia.NewGraph(), Of: of}
	rng := rand.New(rand.NewPCG(3, 3))
	random := func() *mat.Dense {
		x := make([]float64, 12)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return mat.NewDense(3, 4, x)
	}
	b := &bowl{x: op.NewMatrix(e.G, e.Of, "x", random()), s: op.NewScalar(e.G, e.Of, "s", 0.5)}
	target, weight := op.NewMatrix(e.G, e.Of, "target", random()), op.NewMatrix(e.G, e.Of, "weight", random())
	two := op.NewScalar(e.G, e.Of, "two", 2)
	d := must(gorgonia.Sub(b.x, target))
	loss := plus(must(gorgonia.Sum(times(times(weight, weight), times(d, d)))), square(minus(b.s, two)))
	if _, err := gorgonia.Grad(loss, b.x, b.s); err != nil {
		t.Fatal(err)
	}
	b.machine = optest.NewMachine(e.G, gorgonia.BindDualValues(b.x, b.s))
	t.Cleanup(func() { b.machine.Close() })
	b.model = gorgonia.NodesToValueGrads(gorgonia.Nodes{b.x, b.s})
	return b
}

func (b *bowl) step(t testing.TB, s gorgonia.Solver) {
	t.Helper()
	if err := b.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	if err := s.Step(b.model); err != nil {
		t.Fatal(err)
	}
	b.machine.Reset()
}

func (b *bowl) values() []float64 {
	var out []float64
	for _, n := range []*Node{b.x, b.s} {
		x := op.EntriesOf(n.Value())
		for j := range x.Len() {
			out = append(out, x.At(j))
		}
	}
	return out
}

func TestAdamAgainstGorgonia(t *testing.T) {
	for _, x := range []struct {
		of        tensor.Dtype
		tolerance float64
	}{{tensor.Float64, 1e-13}, {tensor.Float32, 2e-5}} {
		own, theirs := newBowl(t, x.of), newBowl(t, x.of)
		solver := &unfold.Adam{Options: optim.Options{
			LearningRate: 0.03, Beta1: 0.8, Beta2: 0.99, Epsilon: 1e-6, WeightDecay: 0.1,
		}}
		reference := gorgonia.NewAdamSolver(
			gorgonia.WithLearnRate(0.03), gorgonia.WithBeta1(0.8), gorgonia.WithBeta2(0.99),
			gorgonia.WithEps(1e-6), gorgonia.WithL2Reg(0.1),
		)
		before := own.values()
		for step := range 60 {
			own.step(t, solver)
			theirs.step(t, reference)
			a, b := own.values(), theirs.values()
			for i := range a {
				if math.Abs(a[i]-b[i]) > x.tolerance {
					t.Fatalf("%v, step %d: entry %d is %v, Gorgonia's %v", x.of, step+1, i, a[i], b[i])
				}
			}
		}
		if s := last(own.values()); math.Abs(s-2) > 0.3*math.Abs(last(before)-2) {
			t.Errorf("%v: s went from %v to %v, want 2", x.of, last(before), s)
		}
	}
}

// The first two steps by hand: m̂ and v̂ of the first step are g and g², whatever β.
func TestAdamByHand(t *testing.T) {
	x, g := tensor.New(tensor.WithBacking([]float64{1, -2})), tensor.New(tensor.WithBacking([]float64{0.5, 0}))
	solver := &unfold.Adam{}
	pair := []gorgonia.ValueGrad{valueGrad{x, g}}
	if err := solver.Step(pair); err != nil {
		t.Fatal(err)
	}
	want := 1 - 0.01*0.5/(0.5+1e-8)
	if got := x.Float64s(); math.Abs(got[0]-want) > 1e-16 || got[1] != -2 {
		t.Errorf("after one step %v, want %v and −2", got, want)
	}
	if got := g.Float64s(); got[0] != 0 || got[1] != 0 {
		t.Errorf("the gradient is %v after the step", got)
	}
	g.Float64s()[0] = -0.25
	if err := solver.Step(pair); err != nil {
		t.Fatal(err)
	}
	m := (0.9*0.1*0.5 + 0.1*-0.25) / (1 - 0.81)
	v := (0.999*0.001*0.25 + 0.001*0.0625) / (1 - 0.999*0.999)
	want -= 0.01 * m / (math.Sqrt(v) + 1e-8)
	if got := x.Float64s()[0]; math.Abs(got-want) > 1e-15 {
		t.Errorf("after two steps %v, want %v", got, want)
	}
}

type valueGrad struct{ x, g gorgonia.Value }

func (v valueGrad) Value() gorgonia.Value         { return v.x }
func (v valueGrad) Grad() (gorgonia.Value, error) { return v.g, nil }

func TestAdamResumes(t *testing.T) {
	for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		whole, first, second := newBowl(t, of), newBowl(t, of), newBowl(t, of)
		a, b := &unfold.Adam{Options: optim.Options{LearningRate: 0.1}}, &unfold.Adam{Options: optim.Options{LearningRate: 0.1}}
		for range 20 {
			whole.step(t, a)
		}
		for range 7 {
			first.step(t, b)
		}
		c := &unfold.Adam{Options: optim.Options{LearningRate: 0.1}}
		if err := c.SetState(b.State()); err != nil {
			t.Fatal(err)
		}
		optest.LetNode(t, second.x, first.values()[:12])
		optest.LetNode(t, second.s, first.values()[12:])
		for range 13 {
			second.step(t, c)
		}
		x, y := whole.values(), second.values()
		for i := range x {
			if x[i] != y[i] {
				t.Errorf("%v: entry %d is %v, resumed %v", of, i, x[i], y[i])
			}
		}
		state := c.State()
		state.First[0][0]++
		if state.Steps != 20 || c.State().First[0][0] == state.First[0][0] {
			t.Errorf("%d steps, or the state is not a copy", state.Steps)
		}
	}
}

// The rates that PyTorch's ReduceLROnPlateau gives with patience 1 and factor 0.5, and for negative losses the same.
func TestAdamSchedule(t *testing.T) {
	for sign, losses := range map[float64][]float64{
		1: {3, 2, 1.9999, 1.9, 1.9, 2, 2, 2, 1}, -1: {-3, -4, -4, -5, -5, -5, -5, -5, -6},
	} {
		solver := &unfold.Adam{Options: optim.Options{LearningRate: 0.8, Plateau: 1, Factor: 0.5}}
		for i, want := range []float64{0.8, 0.8, 0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2} {
			if solver.Schedule(losses[i]); solver.LearningRate != want {
				t.Errorf("sign %g: %g after loss %d, want %g", sign, solver.LearningRate, i, want)
			}
		}
	}
}

func TestAdamErrors(t *testing.T) {
	ones := func(n int) gorgonia.Value { return tensor.New(tensor.WithBacking(make([]float64, n))) }
	solver := &unfold.Adam{}
	good := []gorgonia.ValueGrad{valueGrad{ones(2), ones(2)}}
	for name, model := range map[string][]gorgonia.ValueGrad{
		"lengths":  {valueGrad{ones(2), ones(3)}},
		"integers": {valueGrad{tensor.New(tensor.WithBacking([]int{1})), tensor.New(tensor.WithBacking([]int{1}))}},
		"nil":      {valueGrad{nil, nil}},
	} {
		if err := (&unfold.Adam{}).Step(model); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := solver.Step(good); err != nil {
		t.Fatal(err)
	}
	for name, model := range map[string][]gorgonia.ValueGrad{
		"another number": append(good, good...), "another length": {valueGrad{ones(3), ones(3)}},
	} {
		if err := solver.Step(model); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	two := [][]float64{{1, 2}}
	for name, s := range map[string]adam.State{
		"negative": {Steps: -1}, "no moments": {Steps: 1}, "no steps": {First: two, Second: two},
		"one moment": {Steps: 1, First: two},
		"lengths":    {Steps: 1, First: two, Second: [][]float64{{1}}},
	} {
		if err := solver.SetState(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := solver.SetState(adam.State{}); err != nil || solver.State().Steps != 0 {
		t.Errorf("%v", err)
	}
}

// On the Lisp machine every op of this module is an error where it was a gradient of zero, by itself and in a network, and
// forward it has the value that it has on the tape machine.
func TestLispMachine(t *testing.T) {
	x := mat.NewDense(6, 3, []float64{1, 2, 3, -4, 5, 1, 2, 0, 1, 3, 3, 1, 1, 4, 2, 0, 1, 5})
	matrix := func(g *gorgonia.ExprGraph) *gorgonia.Node {
		return op.NewMatrix(g, tensor.Float64, "x", x)
	}
	scalar := func(g *gorgonia.ExprGraph) *gorgonia.Node { return op.NewScalar(g, tensor.Float64, "s", 0.3) }
	mask := append(slices.Repeat([][]bool{{true, true}}, 5), []bool{false, true})
	network := func(perModule bool, present [][]bool) func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
		return func(g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
			data, err := NewData(tensor.Float64, []mat.Matrix{x, x}, present)
			if err != nil {
				return nil, err
			}
			m := &LargeMvCNet{PerModule: perModule}
			err = m.Build(Env{G: g}, data, StartPoint{Anchors: slices.Repeat([]mat.Matrix{x.Slice(0, 2, 0, 3)}, 2)})
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
		"fused network": network(false, nil), "network of modules": network(true, nil),
		"fused, absent views": network(false, mask), "modules, absent views": network(true, mask),
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
				if _, err := os.Stat("err.dot"); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: the Lisp machine left err.dot, %v", name, err)
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

// Other solvers train in Fit: Adam as a solver has the bits of the default, gorgonia's plain descent has the bits of its formula.
// Each restart has a solver of its own, and the number of goroutines changes nothing.
func TestFitWithSolver(t *testing.T) {
	views, _ := blobViews(60, 3, 1, 1, 7, 5)
	fit := func(c Config, solver func() gorgonia.Solver) *Clustering {
		t.Helper()
		c.Clusters, c.Epochs, c.NoStructure, c.Optimizer.Solver = 3, 6, true, solver
		got, err := Fit(context.Background(), views, c)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	vanilla := func() gorgonia.Solver { return gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.001)) }
	for name, c := range map[string]Config{
		"fused": {Restarts: 2}, "per module": {Machine: machine.Options{PerModule: true}}, "float64": {Float64: true},
		"paper": {Neighborhood: Neighborhood{Neighbors: None}, Float64: true},
	} {
		want, made := fit(c, nil), 0
		options := optim.Options{LearningRate: c.WithDefaults().Optimizer.LearningRate}
		got := fit(c, func() gorgonia.Solver { made++; return &adamAlone{unfold.Adam{Options: options}} })
		if !slices.Equal(got.Loss, want.Loss) || !slices.Equal(got.Labels, want.Labels) || made != max(c.Restarts, 1) {
			t.Errorf("%s: Adam as a solver has the losses %v, want %v (%d made)", name, got.Loss, want.Loss, made)
		}
		plain := fit(c, vanilla)
		c.Machine.Workers = 1
		if again := fit(c, func() gorgonia.Solver { return descent(0.001) }); !slices.Equal(plain.Loss, again.Loss) {
			t.Errorf("%s: plain descent has the losses %v, by hand %v", name, plain.Loss, again.Loss)
		}
		if last := len(plain.Loss) - 1; plain.Loss[last] == want.Loss[last] || plain.Loss[last] >= plain.Loss[0] {
			t.Errorf("%s: losses %v", name, plain.Loss)
		}
	}
	if o := reread(t, fit(Config{}, vanilla).Predictor).Config().Optimizer; o.LearningRate != 0 {
		t.Errorf("the model of a solver has the optimiser %+v", o)
	}
	onTwoRanks(t, vanilla)
	good := func() gorgonia.Solver { return descent(0.1) }
	for name, test := range map[string]struct {
		config Config
		want   string
	}{
		"rate":       {Config{Optimizer: optim.Options{LearningRate: 0.1, Solver: good}}, "leave them zero"},
		"checkpoint": {Config{Optimizer: optim.Options{Solver: good}, Checkpoint: Checkpoint{Path: "x"}}, "a checkpoint cannot"},
		"nil":        {Config{Optimizer: optim.Options{Solver: func() gorgonia.Solver { return nil }}}, "it made no solver"},
		"panic":      {Config{Optimizer: optim.Options{Solver: func() gorgonia.Solver { return panics{} }}}, "no step"},
	} {
		test.config.Clusters = 3
		if _, err := Fit(context.Background(), views, test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := json.Marshal(Config{Optimizer: optim.Options{Solver: good}}); err == nil {
		t.Error("a solver has a form in JSON")
	}
}

// onTwoRanks compares the losses on two ranks with the losses of one process.
func onTwoRanks(t *testing.T, solver func() gorgonia.Solver) {
	t.Helper()
	const n, first = 1500, 1024
	x := [][]float64{make([]float64, n*6), make([]float64, n*4)}
	rng := rand.New(rand.NewPCG(1, 2))
	for v := range x {
		for i := range x[v] {
			x[v][i] = rng.NormFloat64() + float64(i*len(x)/n%3)
		}
	}
	fit := func(lo, hi int, world machine.Comm) (*Clustering, error) {
		return Fit(context.Background(), float64Views([][]float64{x[0][lo*6 : hi*6], x[1][lo*4 : hi*4]}, 6, 4), Config{
			Clusters: 3, Epochs: 4, Optimizer: optim.Options{Solver: solver}, Machine: machine.Options{Comm: world},
		})
	}
	want, err := fit(0, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for r, c := range comm.Local(2) {
		wg.Go(func() {
			got, err := fit(r*first, first+r*(n-first), c)
			labels := want.Labels[r*first : first+r*(n-first)]
			if err != nil || !slices.Equal(got.Loss, want.Loss) || !slices.Equal(got.Labels, labels) {
				t.Errorf("rank %d: %v, in one process %v, %v", r, got.Loss, want.Loss, err)
			}
		})
	}
	wg.Wait()
}

// adamAlone is the library's Adam with the schedule that Fit gives it.
type adamAlone struct{ unfold.Adam }

func (a *adamAlone) Step(model []gorgonia.ValueGrad) error {
	a.Schedule()
	return a.Adam.Step(model)
}

// descent moves the values by its size times the gradient, which it leaves as it is.
type descent float64

func (s descent) Step(model []gorgonia.ValueGrad) error {
	for _, m := range model {
		gradient, err := m.Grad()
		if err != nil {
			return err
		}
		x, g := op.EntriesOf(m.Value()), op.EntriesOf(gradient)
		_, single := m.Value().Data().([]float32)
		_, scalar := m.Value().Data().(float32)
		for j := range x.Len() {
			if single || scalar {
				x.Set(j, float64(float32(x.At(j))+float32(-s)*float32(g.At(j))))
				continue
			}
			x.Set(j, x.At(j)+float64(-s)*g.At(j))
		}
	}
	return nil
}

// panics is a solver that fails.
type panics struct{}

func (panics) Step([]gorgonia.ValueGrad) error { panic("no step") }
