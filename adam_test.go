package largemvc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/unfold"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
		solver := &unfold.Adam{LearningRate: 0.03, Beta1: 0.8, Beta2: 0.99, Epsilon: 1e-6}
		reference := gorgonia.NewAdamSolver(
			gorgonia.WithLearnRate(0.03), gorgonia.WithBeta1(0.8), gorgonia.WithBeta2(0.99),
			gorgonia.WithEps(1e-6),
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
		if s := last(own.values()); math.Abs(s-2) > 0.2*math.Abs(last(before)-2) {
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
		a, b := &unfold.Adam{LearningRate: 0.1}, &unfold.Adam{LearningRate: 0.1}
		for range 20 {
			whole.step(t, a)
		}
		for range 7 {
			first.step(t, b)
		}
		c := &unfold.Adam{LearningRate: 0.1}
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
