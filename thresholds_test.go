package largemvc

import (
	"fmt"
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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
