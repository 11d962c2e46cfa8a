package terms

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/neighbor"
)

// neighborGraph is an operator over n random samples: exact neighbours or landmarks; a third of the samples lack a view, and
// the last lacks all.
func neighborGraph(t testing.TB, n int, exact bool) neighbor.Operator {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	views := make([]neighbor.View[float64], 2)
	for v := range views {
		x, present := make([]float64, n*3), make([]bool, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range present {
			present[i] = i%3 != v && i < n-1
		}
		view, err := neighbor.Dense(n, 3, 3, x, present)
		if err != nil {
			t.Fatal(err)
		}
		views[v] = view
	}
	cfg := neighbor.Config{Neighbors: 4}
	if !exact {
		cfg = neighbor.Config{ExactUpTo: -1, Landmarks: 6, Nearest: 2}
	}
	x, err := neighbor.Build(context.Background(), views, neighbor.Spaces([]int{0, 1}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return x.Operator()
}

// fivePoints is the central difference of fourth order, for a function whose derivatives are small against its value.
var fivePoints = fd.Formula{
	Stencil: []fd.Point{
		{Loc: -2, Coeff: 1. / 12}, {Loc: -1, Coeff: -8. / 12}, {Loc: 1, Coeff: 8. / 12},
		{Loc: 2, Coeff: -1. / 12},
	},
	Derivative: 1, Step: 3e-4,
}

// checkFinely compares the gradient with fivePoints.
func checkFinely(t *testing.T, f optest.GraphFunction) (gradient []float64) {
	t.Helper()
	value, x, gradient := f.Evaluate(t, tensor.Float64)
	if e := optest.Worst(gradient, fd.Gradient(nil, value, x, &fd.Settings{Formula: fivePoints})); e > 1e-7 {
		t.Errorf("the gradient differs by %.1e from differences", e)
	}
	return gradient
}

// informationCase is the term as a function of H, at rows of norm 1 to 2: differences over a row much shorter than that are
// not those of a small step.
func informationCase(n, m int, graph neighbor.Operator, temperature float64) optest.GraphFunction {
	rng := rand.New(rand.NewPCG(4, uint64(n*m)))
	h := mat.NewDense(n, m, nil)
	for i := range n {
		for j := range m {
			h.Set(i, j, rng.NormFloat64())
		}
		norm := mat.Norm(h.RowView(i), 2) / (1 + rng.Float64())
		for j := range m {
			h.Set(i, j, h.At(i, j)/norm)
		}
	}
	return optest.GraphFunction{
		Name: "neighbour information", Shapes: []tensor.Shape{{n, m}}, At: [][]float64{h.RawMatrix().Data},
		Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			return NeighborInformation(in[0], graph, temperature)
		},
	}
}

func TestNeighborInformation(t *testing.T) {
	for _, exact := range []bool{true, false} {
		for _, c := range []struct {
			n, m        int
			temperature float64
		}{{12, 2, 0.1}, {30, 3, 0}, {30, 3, 0.4}, {70, 5, 0.3}, {40, 17, 0.2}} {
			graph := neighborGraph(t, c.n, exact)
			f := informationCase(c.n, c.m, graph, c.temperature)
			want := checkFinely(t, f)
			value, x, _ := f.Evaluate(t, tensor.Float64)
			temperature := c.temperature
			if temperature == 0 {
				temperature = 0.1
			}
			h := mat.NewDense(c.n, c.m, x)
			if got, dense := value(x), -testutil.NeighborInformation(
				h, testutil.FullGraph(t, graph, neighbor.Stride), temperature,
			); math.Abs(got-dense) > 1e-12 {
				t.Errorf("n %d m %d: %v, want %v", c.n, c.m, got, dense)
			} else if got > 0 || got < -1 {
				t.Errorf("n %d m %d: %v is not from −1 to 0", c.n, c.m, got)
			}
			single, _, gradient := f.Evaluate(t, tensor.Float32)
			if a, b := single(x), value(x); math.Abs(a-b) > 1e-5 {
				t.Errorf("n %d m %d: %v in float32, %v in float64", c.n, c.m, a, b)
			}
			if e := optest.Worst(gradient, want); e > 1e-4 {
				t.Errorf("n %d m %d: the gradient in float32 differs by %.1e", c.n, c.m, e)
			}
		}
	}
}

// A graph that nothing made is an error.
func TestNeighborInformationWithoutGraph(t *testing.T) {
	h := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float64, gorgonia.WithShape(4, 2))
	for _, graph := range []neighbor.Operator{nil, (*neighbor.Graph)(nil), &neighbor.Graph{}, &neighbor.Factor{}} {
		if _, err := NeighborInformation(h, graph, 0); err == nil || !strings.Contains(err.Error(), "the operator is") {
			t.Errorf("%#v: %v", graph, err)
		}
	}
}

// TestNeighborInformationIsScaled: the gradient of a multiple, as it enters a loss.
func TestNeighborInformationIsScaled(t *testing.T) {
	graph := neighborGraph(t, 30, true)
	f := informationCase(30, 3, graph, 0.3)
	once := checkFinely(t, f)
	f.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		term, err := NeighborInformation(in[0], graph, 0.3)
		if err != nil {
			return nil, err
		}
		return gorgonia.HadamardProd(gorgonia.NewConstant(3.0), term)
	}
	for i, g := range checkFinely(t, f) {
		if math.Abs(g-3*once[i]) > 1e-12 {
			t.Fatalf("derivative %d is %v, want %v", i, g, 3*once[i])
		}
	}
}

// TestNeighborInformationOfZeroRows: a zero row belongs to all clusters alike and has no derivative.
func TestNeighborInformationOfZeroRows(t *testing.T) {
	n, m := 30, 3
	graph := neighborGraph(t, n, true)
	f := informationCase(n, m, graph, 0.3)
	rng := rand.New(rand.NewPCG(2, 2))
	h := make([]float64, n*m)
	for i := range h {
		if i/m != 4 && i/m != n-2 {
			h[i] = rng.NormFloat64()
		}
	}
	f.At = [][]float64{h}
	value, x, gradient := f.Evaluate(t, tensor.Float64)
	if got, want := value(x), -testutil.NeighborInformation(
		mat.NewDense(n, m, h), testutil.FullGraph(t, graph, neighbor.Stride), 0.3,
	); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	want := fd.Gradient(nil, value, x, &fd.Settings{Formula: fivePoints})
	for j := range m {
		want[4*m+j], want[(n-2)*m+j] = 0, 0
	}
	if e := optest.Worst(gradient, want); e > 1e-7 {
		t.Errorf("the gradient differs by %.1e", e)
	}
}

// TestNeighborInformationExtremes: clusters that the graph never joins have all the information, equal rows none, and so has
// a graph without edges.
func TestNeighborInformationExtremes(t *testing.T) {
	links := func(ptr []int, cols []int32, w []float64) neighbor.Operator {
		l, err := neighbor.NewLinks(4, 4, ptr, cols, w)
		if err != nil {
			t.Fatal(err)
		}
		g, err := neighbor.NewGraph(l)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	pairs := links([]int{0, 1, 2, 3, 4}, []int32{1, 0, 3, 2}, []float64{1, 1, 1, 1})
	none := links(make([]int, 5), nil, nil)
	split := []float64{1, 0, 1, 0, 0, 1, 0, 1}
	equal := []float64{1, 2, 1, 2, 1, 2, 1, 2}
	for name, c := range map[string]struct {
		graph       neighbor.Operator
		h           []float64
		temperature float64
		want        float64
	}{
		"split": {pairs, split, 0.02, -1}, "underflow": {pairs, split, 1e-4, -1},
		"equal": {pairs, equal, 0.1, 0}, "no edges": {none, split, 0.1, 0},
	} {
		for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
			f := informationCase(4, 2, c.graph, c.temperature)
			f.At = [][]float64{c.h}
			value, x, gradient := f.Evaluate(t, of)
			if got := value(x); math.Abs(got-c.want) > 1e-6 {
				t.Errorf("%s in %v: %v, want %v", name, of, got, c.want)
			}
			for _, g := range gradient {
				if math.Abs(g) > 1e-5 {
					t.Errorf("%s in %v: derivative %v, want 0", name, of, g)
				}
			}
		}
	}
}

// TestNeighborInformationsOfTwoGraphs: Gorgonia must not take the terms of two graphs or two temperatures for one.
func TestNeighborInformationsOfTwoGraphs(t *testing.T) {
	n, m := 30, 3
	exact, marks := neighborGraph(t, n, true), neighborGraph(t, n, false)
	sum := optest.GraphFunction{Name: "sum", Shapes: []tensor.Shape{{n, m}}}
	sum.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		a := must(NeighborInformation(in[0], exact, 0.3))
		b := must(NeighborInformation(in[0], marks, 0.3))
		c := must(NeighborInformation(in[0], exact, 0.5))
		return gorgonia.Add(must(gorgonia.Add(a, b)), c)
	}
	value, x, _ := sum.Evaluate(t, tensor.Float64)
	h := mat.NewDense(n, m, x)
	want := -testutil.NeighborInformation(h, testutil.FullGraph(t, exact, neighbor.Stride), 0.3) - testutil.NeighborInformation(
		h, testutil.FullGraph(t, marks, neighbor.Stride), 0.3,
	) - testutil.NeighborInformation(h, testutil.FullGraph(t, exact, neighbor.Stride), 0.5)
	if got := value(x); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	checkFinely(t, sum)
}

func TestNeighborInformationDoesNotDependOnWorkers(t *testing.T) {
	n, m := 3000, 7
	graph := neighborGraph(t, n, false)
	h := make([]float32, n*m)
	for i := range h {
		h[i] = float32(math.Sin(float64(i * i)))
	}
	var values []float64
	var gradients [][]float32
	for _, workers := range []int{1, 5} {
		s := information.NewNeighbors[float32](nil, workers, m, graph, 0.1)
		table, err := s.Table(h)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.Gradient(h, table, 1)
		if err != nil {
			t.Fatal(err)
		}
		values, gradients = append(values, table.Information), append(gradients, g)
	}
	if values[0] != values[1] || !slices.Equal(gradients[0], gradients[1]) {
		t.Errorf("%v with one worker, %v with five, or their gradients differ", values[0], values[1])
	}
}

func TestNeighborInformationRefuses(t *testing.T) {
	g := gorgonia.NewGraph()
	graph := neighborGraph(t, 12, true)
	h := optest.InputNode(g, tensor.Float64, "H", tensor.Shape{12, 3})
	for name, c := range map[string]struct {
		h           *gorgonia.Node
		graph       neighbor.Operator
		temperature float64
	}{
		"no H": {nil, graph, 0.1}, "no graph": {h, nil, 0.1}, "negative": {h, graph, -0.1}, "NaN": {h, graph, math.NaN()},
		"one column": {optest.InputNode(g, tensor.Float64, "one", tensor.Shape{12, 1}), graph, 0.1},
		"samples":    {optest.InputNode(g, tensor.Float64, "more", tensor.Shape{13, 3}), graph, 0.1},
		"vector":     {optest.InputNode(g, tensor.Float64, "vector", tensor.Shape{12}), graph, 0.1},
		"integers":   {optest.InputNode(g, tensor.Int, "integers", tensor.Shape{12, 3}), graph, 0.1},
	} {
		if _, err := NeighborInformation(c.h, c.graph, c.temperature); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
