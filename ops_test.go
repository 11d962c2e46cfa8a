package largemvc

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

func TestSoftThresholdValues(t *testing.T) {
	e := math.E
	low := seluScale * seluAlpha
	for _, c := range []struct {
		s        threshold
		a, theta float64
		want     float64
	}{
		{threshold{act: ReLU}, 3, 1, 2},
		{threshold{act: ReLU}, -3, 1, -2},
		{threshold{act: ReLU}, 0.5, 1, 0},
		{threshold{act: ReLU}, 1, 1, 0},
		{threshold{act: ReLU}, 0.5, -1, 1}, // 1.5 − 0.5
		{threshold{act: ReLU, oneSided: true}, -3, 1, 0},
		{threshold{act: ReLU, oneSided: true}, 3, 1, 2},
		{threshold{act: SELU}, 2, 1, seluScale - low*(1/(e*e*e)-1)},
		{threshold{act: SELU}, 0, 1, 0},
		{threshold{act: SELU, oneSided: true}, 0, 1, low * (1/e - 1)},
	} {
		if got := c.s.value(c.a, c.theta); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v of %g with θ = %g is %g, want %g", c.s, c.a, c.theta, got, c.want)
		}
	}
}

func TestRowShrinkValues(t *testing.T) {
	for _, c := range []struct {
		d       shrink
		r, node float64
		want    float64
	}{
		{shrink{ReLU, 1}, 4, 1, 0.25},
		{shrink{ReLU, 2}, 4, 1, 0.5},
		{shrink{ReLU, 1}, 1, 1, 1}, // r > ρ is strict
		{shrink{ReLU, 1}, 0.5, 1, 1},
		{shrink{ReLU, 1}, 0, 0, 1},
		{shrink{ReLU, 1}, 0, -1, 1}, // no direction to enlarge
		{shrink{ReLU, 1}, 2, -1, -0.5},
		{shrink{SELU, 1}, 4, 1, 1 - seluScale*0.75},
	} {
		if got := c.d.trust(c.r, c.node); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v of r = %g with ρ = %g is %g, want %g", c.d, c.r, c.node, got, c.want)
		}
	}
	if byR, byRho := (shrink{ReLU, 1}).slopes(0, -1); byR != 0 || byRho != 0 {
		t.Errorf("slopes %g, %g at r = 0, want 0", byR, byRho)
	}
}

// TestThresholdGradients: central differences in the argument and in the threshold, on both sides of the kinks.
func TestThresholdGradients(t *testing.T) {
	for _, act := range []Activation{ReLU, SELU} {
		for _, theta := range []float64{-0.3, 0, 0.4} {
			for _, one := range []bool{false, true} {
				optest.GraphFunction{
					Name:   fmt.Sprintf("S %v %g %t", act, theta, one),
					Shapes: []tensor.Shape{{6, 5}, {}}, At: [][]float64{nil, {theta}},
					Build: func(in []*Node) (*Node, error) { return SoftThresholdOp(in[0], in[1], act, one) },
				}.Check(t)
			}
		}
		for _, rho := range []float64{-0.3, 0.01, 0.7} {
			for _, scale := range []float64{1, 2.5} {
				f := optest.GraphFunction{
					Name:   fmt.Sprintf("D %v %g %g", act, rho, scale),
					Shapes: []tensor.Shape{{7}, {}}, At: [][]float64{{0.1, 0.5, 0.9, 1.3, 1.9, 4, 40}, {rho}},
					Build: func(in []*Node) (*Node, error) { return RowShrinkOp(in[0], in[1], act, scale) },
				}
				want := f.Check(t)
				_, _, single := f.Evaluate(t, tensor.Float32)
				if e := optest.Worst(single, want); e > 1e-5 {
					t.Errorf("%s: the gradient in float32 differs by %.1e", f.Name, e)
				}
			}
		}
	}
}

// TestThresholdSumFloat32: the derivatives by θ and ρ are sums over all samples. After 2²⁴ a float32 sum takes no more ones.
func TestThresholdSumFloat32(t *testing.T) {
	n, m := 2000, 16
	g := gorgonia.NewGraph()
	ones := func(name string, shape ...int) *Node {
		x := optest.InputNode(g, tensor.Float32, name, tensor.Shape(shape))
		v := make([]float64, tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = 1
		}
		if name[0] == 'd' { // the cotangents
			v[0] = 1 << 24
		}
		optest.LetNode(t, x, v)
		return x
	}
	threshold := threshold{act: ReLU}
	theta := gorgonia.NewScalar(g, tensor.Float32, gorgonia.WithName("theta"), gorgonia.WithValue(float32(0.5)))
	byTheta := must(softThresholdGradTheta[float32](0, ones("a", n, m), theta, ones("dy", n, m), threshold))
	byRho := must(rowShrinkGradRho[float32](0, ones("r", n), theta, ones("dt", n), shrink{ReLU, 1}))
	runGraph(t, g)
	if got, want := optest.NodeValues(t, byTheta.Value())[0], -float64(1<<24+n*m-1); math.Abs(got-want) > 2 {
		t.Errorf("derivative by θ %.0f, want %.0f", got, want)
	}
	if got, want := optest.NodeValues(t, byRho.Value())[0], float64(1<<24+n-1); math.Abs(got-want) > 2 {
		t.Errorf("derivative by ρ %.0f, want %.0f", got, want)
	}
}

func TestThresholdErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(of tensor.Dtype, name string, shape ...int) *Node {
		return optest.InputNode(g, of, name, tensor.Shape(shape))
	}
	a, r, s := node(tensor.Float64, "a", 2, 3), node(tensor.Float64, "r", 2), node(tensor.Float64, "s")
	single := node(tensor.Float32, "single")
	for name, f := range map[string]func() (*Node, error){
		"nil matrix":        func() (*Node, error) { return SoftThresholdOp(nil, s, ReLU, false) },
		"vector":            func() (*Node, error) { return SoftThresholdOp(r, s, ReLU, false) },
		"nil theta":         func() (*Node, error) { return SoftThresholdOp(a, nil, ReLU, false) },
		"theta of float32":  func() (*Node, error) { return SoftThresholdOp(a, single, ReLU, false) },
		"theta a vector":    func() (*Node, error) { return SoftThresholdOp(a, r, ReLU, false) },
		"activation":        func() (*Node, error) { return SoftThresholdOp(a, s, Activation(7), false) },
		"norms of a matrix": func() (*Node, error) { return RowShrinkOp(a, s, ReLU, 1) },
		"rho of float32":    func() (*Node, error) { return RowShrinkOp(r, single, ReLU, 1) },
		"scale":             func() (*Node, error) { return RowShrinkOp(r, s, ReLU, 0) },
		"NaN scale":         func() (*Node, error) { return RowShrinkOp(r, s, ReLU, math.NaN()) },
		"shrink activation": func() (*Node, error) { return RowShrinkOp(r, s, Activation(-1), 1) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if ReLU.String() != "relu" || SELU.String() != "selu" || Activation(7).String() != "unknown (7)" {
		t.Error("names of activations")
	}
}

// TestHashes: ops that differ in a parameter are different nodes of a graph.
func TestHashes(t *testing.T) {
	g := gorgonia.NewGraph()
	a := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("a"), gorgonia.WithShape(3, 4))
	r := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("r"), gorgonia.WithShape(3))
	s := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("s"))
	nodes := map[string]*Node{}
	put := func(name string, n *Node, err error) {
		if err != nil {
			t.Fatal(err)
		}
		nodes[name] = n
	}
	for _, act := range []Activation{ReLU, SELU} {
		for _, one := range []bool{false, true} {
			n, err := SoftThresholdOp(a, s, act, one)
			put(fmt.Sprint("S", act, one), n, err)
		}
		for _, scale := range []float64{1, 2} {
			n, err := RowShrinkOp(r, s, act, scale)
			put(fmt.Sprint("D", act, scale), n, err)
		}
	}
	for _, floor := range []float64{1e-10, 1e-5} {
		for _, detach := range []bool{false, true} {
			n, err := ProcrustesOp(a, floor, detach)
			put(fmt.Sprint("P", floor, detach), n, err)
		}
	}
	seen := map[*Node]string{}
	for name, n := range nodes {
		if other, ok := seen[n]; ok {
			t.Errorf("%s and %s are one node", name, other)
		}
		seen[n] = name
	}
	again := must(SoftThresholdOp(a, s, ReLU, false))
	if again != nodes["Srelu false"] {
		t.Error("the same op of the same inputs is two nodes")
	}
}

// TestActivationsOfTheEngine: the activations are converted to those of the engine by their integers.
func TestActivationsOfTheEngine(t *testing.T) {
	if ReLU.sigma() != engine.ReLU || SELU.sigma() != engine.SELU {
		t.Error("the activations have other integers in the engine")
	}
}

// procrustesGraph runs the op on M in the element type and returns P and the gradient for the cotangent G.
func procrustesGraph(t *testing.T, of tensor.Dtype, rows, columns int, m, g []float64, floor float64) (p, dm []float64) {
	t.Helper()
	graph := gorgonia.NewGraph()
	in := optest.InputNode(graph, of, "M", tensor.Shape{rows, columns})
	weights := optest.InputNode(graph, of, "G", tensor.Shape{rows, columns})
	optest.LetNode(t, in, m)
	optest.LetNode(t, weights, g)
	out := must(ProcrustesOp(in, floor, false))
	var value gorgonia.Value
	gorgonia.Read(out, &value)
	dm = gradients(t, must(gorgonia.Sum(times(weights, out))), gorgonia.Nodes{in})[0]
	return optest.NodeValues(t, value), dm
}

// TestProcrustesGolden: the 22 golden cases through a graph. In float32 those with singular values near the type's
// precision are left out.
func TestProcrustesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/procrustes_*.npz")
	if err != nil || len(files) != 22 {
		t.Fatalf("%d golden Procrustes files, want 22 (%v)", len(files), err)
	}
	for _, file := range files {
		z := testutil.LoadNPZ(t, file)
		m, d := z["M"].Shape[0], z["M"].Shape[1]
		p, dm := procrustesGraph(t, tensor.Float64, m, d, z["M"].Float64s(), z["G"].Float64s(), 0)
		if e := optest.Worst(p, z["P"].Float64s()); e > 1e-9 {
			t.Errorf("%s: P differs by %.1e", filepath.Base(file), e)
		}
		if e := optest.Worst(dm, z["dM"].Float64s()); e > 1e-9 {
			t.Errorf("%s: dM differs by %.1e", filepath.Base(file), e)
		}
	}
}

// TestProcrustesFloat32: float32 in and out, float64 between.
func TestProcrustesFloat32(t *testing.T) {
	for _, shape := range [][2]int{{3, 8}, {8, 3}, {4, 4}} {
		f := optest.GraphFunction{Name: fmt.Sprint(shape), Shapes: []tensor.Shape{{shape[0], shape[1]}}}
		f.Build = func(in []*Node) (*Node, error) { return ProcrustesOp(in[0], 0, false) }
		want := f.Check(t)
		_, _, got := f.Evaluate(t, tensor.Float32)
		if e := optest.Worst(got, want); e > 1e-5 {
			t.Errorf("%v: the gradient in float32 differs by %.1e", shape, e)
		}
	}
}

// TestProcrustesZero: the completion at M = 0 and at a zero row, with finite gradients.
func TestProcrustesZero(t *testing.T) {
	g := []float64{1, 2, 3, 4, 5, 6}
	for _, c := range []struct{ m, p []float64 }{
		{make([]float64, 6), []float64{1, 0, 0, 0, 1, 0}},
		{[]float64{0, 0, 0, 2, 0, 0}, []float64{0, 1, 0, 1, 0, 0}},
	} {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			p, dm := procrustesGraph(t, of, 2, 3, c.m, g, 1e-3)
			if e := optest.Worst(p, c.p); e > 1e-15 {
				t.Errorf("%v of %v is %v, want %v", of, c.m, p, c.p)
			}
			for _, v := range dm {
				if math.IsNaN(v) || math.Abs(v) > 10/1e-3 {
					t.Errorf("%v of %v has the gradient %v", of, c.m, dm)
				}
			}
		}
	}
}

// TestProcrustesDetach: a detached step counts as constant: the gradient through it is refused, around it remains.
func TestProcrustesDetach(t *testing.T) {
	g := gorgonia.NewGraph()
	m := optest.InputNode(g, tensor.Float64, "M", tensor.Shape{2, 2})
	optest.LetNode(t, m, []float64{3, 1, 1, 2})
	p := must(ProcrustesOp(m, 0, true))
	got := gradients(t, must(gorgonia.Sum(times(p, m))), gorgonia.Nodes{m})[0]
	if e := optest.Worst(got, optest.NodeValues(t, p.Value())); e > 0 {
		t.Errorf("gradient of ⟨P, M⟩ by M is %v, want P = %v", got, p.Value())
	}
}

func TestProcrustesErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	m := optest.InputNode(g, tensor.Float64, "M", tensor.Shape{2, 2})
	for name, f := range map[string]func() (*Node, error){
		"nil": func() (*Node, error) { return ProcrustesOp(nil, 0, false) },
		"vector": func() (*Node, error) {
			return ProcrustesOp(optest.InputNode(g, tensor.Float64, "v", tensor.Shape{2}), 0, false)
		},
		"ints": func() (*Node, error) {
			return ProcrustesOp(optest.InputNode(g, tensor.Int, "i", tensor.Shape{2, 2}), 0, false)
		},
		"negative floor": func() (*Node, error) { return ProcrustesOp(m, -1, false) },
		"NaN floor":      func() (*Node, error) { return ProcrustesOp(m, math.NaN(), false) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// NaN and infinity in M end the run with an error.
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		optest.LetNode(t, m, []float64{1, bad, 0, 1})
		must(ProcrustesOp(m, 0, false))
		machine := optest.NewMachine(g)
		if err := machine.RunAll(); err == nil {
			t.Errorf("no error for %v", bad)
		}
		machine.Close()
	}
}

// TestLossValue: one layer of an RMvC-Net on three samples, by hand. With R = 0, U = I and θ = 0, H is the mean of X·Pᵀ
// over the views present.
func TestLossValue(t *testing.T) {
	views := []mat.Matrix{
		mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}),
		mat.NewDense(3, 1, []float64{2, 100, 4}),
	}
	start := StartPoint{Anchors: []mat.Matrix{mat.NewDense(1, 2, []float64{1, 0}), mat.NewDense(1, 1, []float64{1})}}
	present := [][]bool{{true, true}, {true, false}, {true, true}}
	// H = (1+2)/2, 3, (5+4)/2; residuals (−0.5, 2), (0, 4), (0.5, 6) and 0.5, absent, −0.5.
	first, second := 0.25+4+16+0.25+36, 0.5
	squares := 1.0 + 4 + 9 + 16 + 25 + 36
	for _, c := range []struct {
		r    Reduction
		want float64
	}{{ReductionMean, first/6 + second/2}, {ReductionRelative, first/(2*squares) + second/(2*(4+16))}} {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			eachPath(t, func(t *testing.T, perModule bool) {
				data, err := NewData(of, views, present)
				if err != nil {
					t.Fatal(err)
				}
				net := &RMvCNet{Reduction: c.r, PerModule: perModule}
				if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
					t.Fatal(err)
				}
				optest.LetNode(t, net.Represent.Theta(1), []float64{0})
				runGraph(t, net.Loss().Graph())
				if got := optest.NodeValues(t, net.Loss().Value())[0]; math.Abs(got-c.want) > 1e-6*c.want {
					t.Errorf("%v, %v: loss %g, want %g", of, c.r, got, c.want)
				}
			})
		}
	}
}

// TestLossFloat32: a mean over 5,000 × 300 entries has the value of float64, where a float32 accumulator is off. The
// samples are equal, so one of them says what it is.
func TestLossFloat32(t *testing.T) {
	n, d := 5000, 300
	x := make([]float64, n*d)
	for i := range x {
		x[i] = 1 + float64(i%d)/float64(d)
	}
	anchors := make([]float64, d)
	anchors[0] = 1
	want := 0.0 // H is x·Pᵀ = 1, the first entry, so HP leaves the others
	for _, v := range x[1:d] {
		want += v * v / float64(d)
	}
	var naive float32
	for i, v := range x {
		if i%d > 0 {
			naive += float32(v * v)
		}
	}
	if e := math.Abs(float64(naive)/float64(n*d)-want) / want; e < 1e-5 {
		t.Fatalf("a float32 accumulator is off by %.1e only: no test", e)
	}
	start := StartPoint{Anchors: []mat.Matrix{mat.NewDense(1, d, anchors)}}
	data, err := NewData(tensor.Float32, []mat.Matrix{mat.NewDense(n, d, x)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eachPath(t, func(t *testing.T, perModule bool) {
		net := &RMvCNet{PerModule: perModule}
		if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
			t.Fatal(err)
		}
		optest.LetNode(t, net.Represent.Theta(1), []float64{0})
		runGraph(t, net.Loss().Graph())
		if got := optest.NodeValues(t, net.Loss().Value())[0]; math.Abs(got-want) > 1e-6*want {
			t.Errorf("loss %.9g, want %.9g", got, want)
		}
	})
}

// TestScaledLoss: the gradient of 0.5·loss is half that of the loss.
func TestScaledLoss(t *testing.T) {
	c := randomNetwork(21, 15, 2, 2, []int{4, 3}, ReLU, false)
	eachPath(t, func(t *testing.T, perModule bool) {
		whole, half := c.buildRandom(t, "full", perModule), c.buildRandom(t, "full", perModule)
		want := gradients(t, whole.Loss(), whole.Learnables())
		got := gradients(t, times(half.Loss(), constant(0.5)), half.Learnables())
		for i := range want {
			for j := range want[i] {
				if want[i][j] != 2*got[i][j] {
					t.Errorf("gradient %g of half the loss, %g of the loss", got[i][j], want[i][j])
				}
			}
		}
	})
}

func TestReduction(t *testing.T) {
	if ReductionMean.String() != "mean" || ReductionRelative.String() != "relative" ||
		Reduction(5).String() != "unknown (5)" {
		t.Error("names of reductions")
	}
	c := randomNetwork(22, 9, 2, 1, []int{3}, ReLU, false)
	data, err := NewData(tensor.Float64, c.views, nil)
	if err != nil {
		t.Fatal(err)
	}
	net := &LargeMvCNet{Reduction: 5}
	if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err == nil {
		t.Error("no error for an unknown reduction")
	}
}

// TestNullLoss: the loss of H = 0, by which a loss counts as diverged, is 1 where it is relative to the views, else the mean of
// their squares, over the samples that have a view.
func TestNullLoss(t *testing.T) {
	views := []mat.Matrix{
		mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}),
		mat.NewDense(3, 1, []float64{2, 100, 4}),
	}
	data, err := NewData(tensor.Float64, views, [][]bool{{true, true}, {true, false}, {true, true}})
	if err != nil {
		t.Fatal(err)
	}
	for reduction, want := range map[Reduction]float64{ReductionRelative: 1, ReductionMean: 91./6 + 20./2} {
		net := &lossNetwork[float64]{in: &prepared[float64]{data: data}, config: &Config{Reduction: reduction}}
		if loss := net.NullLoss(); math.Abs(loss-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", reduction, loss, want)
		}
	}
}

// TestKnownInTheLoss: a fit with known labels in its loss begins with their classes. In every order of the samples, for rows that
// are read, and resumed with the same labels, it has the same bits. A device gives the same classes.
func TestKnownInTheLoss(t *testing.T) {
	const n = 90
	held, read, _ := outside(n, 14, 9)
	given := slices.Repeat([]int{-1}, n)
	for i := range n / 6 {
		given[6*i+i%3] = 2 * ((6*i + i%3) % 3) // the classes 0, 2 and 4
	}
	config := Config{Clusters: 3, Epochs: 10, Known: given, Neighborhood: Neighborhood{KnownWeight: 3}, Seed: 1}
	want := mustFit(t, held, config)
	for i, l := range given {
		if l >= 0 && (want.StartLabels[i] != l/2 || want.Classes.Labels[i] != l) {
			t.Errorf("sample %d begins with %d and ends with %d, known is %d", i, want.StartLabels[i], want.Classes.Labels[i], l)
		}
	}
	sameResult(t, want, mustFit(t, read, config))

	path := killed(t, held, config, 0, 10)
	sameResult(t, want, mustResume(t, held, path, func(c *Config) { c.Known = given }))
	other := slices.Clone(given)
	other[slices.Index(other, 0)] = 2
	for text, change := range map[string]func(*Config){
		"needs known labels": func(*Config) {}, "had other known labels": func(c *Config) { c.Known = other },
		"KnownWeight was 3": func(c *Config) { c.Neighborhood.KnownWeight, c.Known = 0, given },
	} {
		if _, err := Resume(t.Context(), held, path, change); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}

	order := make([]int, n)
	for k := range order {
		order[k] = 7 * k % n
	}
	turned := []View{held[0].Take(order), held[1].Take(order)}
	permuted := config
	permuted.Known = view.Along(order, given)
	checkPermuted(t, want, mustFit(t, turned, permuted), order)

	simulated(t, func() (device.Driver, error) { return &simdevice.Sim{}, nil })
	config.Epochs = testutil.Few(4, 10)
	want = mustFit(t, held, config)
	got := mustFit(t, held, on(machine.CUDA, config))
	if !slices.Equal(got.Classes.Labels, want.Classes.Labels) || got.Ran.Device != "the simulator" {
		t.Errorf("ran on %v, with other classes than on the CPU", got.Ran)
	}
	for e, x := range want.Loss {
		if math.Abs(got.Loss[e]-x) > 1e-4*math.Abs(x) {
			t.Errorf("epoch %d: the loss is %v, on the CPU %v", e, got.Loss[e], x)
		}
	}
}
