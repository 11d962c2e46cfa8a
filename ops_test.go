package largemvc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// graphFunction is a function of input nodes of given shapes, checked through a graph and a tape machine.
type graphFunction struct {
	name   string
	shapes []tensor.Shape
	at     [][]float64 // where; nil entries are random
	build  func(in []*Node) (*Node, error)
}

// evaluate builds the graph of Σ W ⊙ f with fixed weights W and returns a function of all inputs together that runs it,
// and the gradients at the first point.
func (f graphFunction) evaluate(t *testing.T, of tensor.Dtype) (value func(x []float64) float64, x, gradient []float64) {
	t.Helper()
	g, rng := gorgonia.NewGraph(), rand.New(rand.NewPCG(3, uint64(len(f.name))))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	in := make(gorgonia.Nodes, len(f.shapes))
	for i, s := range f.shapes {
		start := random(s.TotalSize())
		if f.at != nil && f.at[i] != nil {
			start = f.at[i]
		}
		in[i] = inputNode(g, of, fmt.Sprintf("in%d", i), s)
		letNode(t, in[i], start)
		x = append(x, start...)
	}
	out, err := f.build(in)
	if err != nil {
		t.Fatal(err)
	}
	cost := out
	if !out.IsScalar() {
		w := inputNode(g, of, "weights", out.Shape())
		letNode(t, w, random(out.Shape().TotalSize()))
		cost = must(gorgonia.Sum(times(out, w)))
	}
	grads, err := gorgonia.Grad(cost, in...)
	if err != nil {
		t.Fatal(err)
	}
	var total gorgonia.Value
	read := make([]gorgonia.Value, len(grads))
	gorgonia.Read(cost, &total)
	for i, d := range grads {
		gorgonia.Read(d, &read[i])
	}
	machine := gorgonia.NewTapeMachine(g)
	t.Cleanup(func() { machine.Close() })
	value = func(x []float64) float64 {
		for _, n := range in {
			letNode(t, n, x[:n.Shape().TotalSize()])
			x = x[n.Shape().TotalSize():]
		}
		machine.Reset()
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		return nodeValues(t, total)[0]
	}
	value(x)
	for _, v := range read {
		gradient = append(gradient, nodeValues(t, v)...)
	}
	return value, x, gradient
}

func inputNode(g *gorgonia.ExprGraph, of tensor.Dtype, name string, s tensor.Shape) *Node {
	if s.IsScalar() {
		return gorgonia.NewScalar(g, of, gorgonia.WithName(name))
	}
	return gorgonia.NewTensor(g, of, s.Dims(), gorgonia.WithName(name), gorgonia.WithShape(s...))
}

// check compares the gradient with central differences.
func (f graphFunction) check(t *testing.T) (gradient []float64) {
	t.Helper()
	value, x, gradient := f.evaluate(t, tensor.Float64)
	want := fd.Gradient(nil, value, x, &fd.Settings{Formula: fd.Central, Step: 1e-6})
	if e := worst(gradient, want); e > 1e-7 {
		t.Errorf("%s: gradient differs by %.1e from central differences", f.name, e)
	}
	return gradient
}

// testBuilder has two views of 9 samples, of which some lack the second; row 0 of view 0 is zero.
func testBuilder[T kernel.Float](t *testing.T) *builder[T] {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	views := []mat.Matrix{mat.NewDense(9, 4, nil), mat.NewDense(9, 2, nil)}
	for _, x := range views {
		x.(*mat.Dense).Apply(func(i, _ int, _ float64) float64 { return rng.NormFloat64() * min(float64(i), 1) }, x)
	}
	present := make([][]bool, 9)
	for i := range present {
		present[i] = []bool{true, i%3 != 1}
	}
	data, err := NewData(dtypeFor[T](), views, present)
	if err != nil {
		t.Fatal(err)
	}
	b := newBuilder(Env{Prefix: "test"}, viewsOf[T](data))
	return b
}

// opCases are the ops that only networks use, with all their variants.
func opCases[T kernel.Float](b *builder[T]) []graphFunction {
	var cases []graphFunction
	add := func(name string, build func(in []*Node) (*Node, error), shapes ...tensor.Shape) {
		cases = append(cases, graphFunction{name: name, shapes: shapes, build: build})
	}
	n, m, d := 9, 3, 4
	vector, rows, anchors, small := tensor.Shape{n}, tensor.Shape{n, m}, tensor.Shape{m, d}, tensor.Shape{m, m}
	add("project", func(in []*Node) (*Node, error) { return project(b, 0, in[0]) }, anchors)
	add("correlate", func(in []*Node) (*Node, error) { return correlate(b, 0, in[0]) }, rows)
	add("rowMul", func(in []*Node) (*Node, error) { return rowMul(b, in[0], in[1], false, nil) }, rows, tensor.Shape{m, 5})
	add("rowMul plus", func(in []*Node) (*Node, error) { return rowMul(b, in[0], in[1], false, in[2]) }, rows, small, rows)
	add("rowMul transposed", func(in []*Node) (*Node, error) { return rowMul(b, in[0], in[1], true, nil) }, rows, tensor.Shape{5, m})
	add("rowMul transposed plus", func(in []*Node) (*Node, error) { return rowMul(b, in[0], in[1], true, in[2]) }, rows, small, rows)
	add("crossGram", func(in []*Node) (*Node, error) { return crossGram(b, in[0], in[1]) }, rows, tensor.Shape{n, 5})
	for i := range 4 {
		tx, ty := i&1 != 0, i&2 != 0
		x, y := tensor.Shape{2, 5}, tensor.Shape{5, 3}
		if tx {
			x = tensor.Shape{5, 2}
		}
		if ty {
			y = tensor.Shape{3, 5}
		}
		add(fmt.Sprintf("smallMul %t %t", tx, ty), func(in []*Node) (*Node, error) { return smallMul(b, in[0], in[1], tx, ty) }, x, y)
	}
	for _, w := range []rowWeight{{view: -1}, {view: 1}, {view: -1, complement: true}, {view: 1, complement: true}} {
		add(fmt.Sprintf("weigh %+v", w), func(in []*Node) (*Node, error) { return weigh(b, w, in[0], in[1]) }, rows, vector)
	}
	add("weigh by presence", func(in []*Node) (*Node, error) { return weigh(b, rowWeight{view: 1}, in[0], nil) }, rows)
	add("blend", func(in []*Node) (*Node, error) { return blend(b, in[0], in[1], in[2]) }, vector, rows, rows)
	add("hold", func(in []*Node) (*Node, error) { return hold(b, "x", in[0]) }, rows)
	add("mean", func(in []*Node) (*Node, error) { return meanViews[T](0, in, nil) }, rows, rows)
	add("mean of those present", func(in []*Node) (*Node, error) {
		b := inputNode(in[0].Graph(), b.of, "present", tensor.Shape{n, 2})
		if err := gorgonia.Let(b, dense(convert[T]([]float64{1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1}), n, 2)); err != nil {
			return nil, err
		}
		return meanViews[T](0, in, b)
	}, rows, rows)
	for _, r := range []residual{{view: 0}, {view: 1}, {view: 0, loss: true, weight: 0.3}, {view: 1, loss: true, weight: 2}} {
		add(fmt.Sprintf("residual %+v", r), func(in []*Node) (*Node, error) {
			y, err := project(b, r.view, in[1])
			if err != nil {
				return nil, err
			}
			return residualNode(b, r, in[0], y, in[1])
		}, rows, tensor.Shape{m, b.views[r.view].d})
	}
	return cases
}

func TestOpGradients(t *testing.T) {
	double, single := opCases(testBuilder[float64](t)), opCases(testBuilder[float32](t))
	for i, f := range double {
		t.Run(f.name, func(t *testing.T) {
			want := f.check(t)
			_, _, got := single[i].evaluate(t, tensor.Float32)
			if e := worst(got, want); e > 1e-5 {
				t.Errorf("the gradient in float32 differs by %.1e", e)
			}
		})
	}
}

// TestResidualDirect: rows that fit closely, where ‖x‖² − 2⟨h, y⟩ + hKhᵀ has no digits left in float32, have norms and
// gradients that are right all the same; a row that fits exactly has norm 0 and gradient 0.
func TestResidualDirect(t *testing.T) {
	n, m, d := 40, 5, 60
	rng := rand.New(rand.NewPCG(8, 8))
	h, p, x, want := mat.NewDense(n, m, nil), mat.NewDense(m, d, nil), mat.NewDense(n, d, nil), make([]float64, n)
	for _, a := range []*mat.Dense{h, p} { // in float32, so that both types have the same inputs
		a.Apply(func(int, int, float64) float64 { return float64(float32(rng.NormFloat64())) }, a)
	}
	x.Mul(h, p)
	for i := range n {
		share := math.Pow(10, -float64(i%8)/2) // from 1 to 3e-4 of the row's norm
		for j := range d {
			x.Set(i, j, float64(float32(x.At(i, j)*(1+share*rng.NormFloat64()))))
			r := x.At(i, j) - mat.Dot(h.RowView(i), p.ColView(j))
			want[i] += r * r
		}
		want[i] = math.Sqrt(want[i])
	}
	check := func(of tensor.Dtype, tolerance float64, gradients []float64) []float64 {
		data, err := NewData(of, []mat.Matrix{x}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var norm *Node
		f := graphFunction{name: "residual", shapes: []tensor.Shape{{n, m}, {m, d}},
			at: [][]float64{h.RawMatrix().Data, p.RawMatrix().Data}}
		f.build = func(in []*Node) (*Node, error) {
			if of == tensor.Float32 {
				norm = must(residualOf(newBuilder(Env{}, viewsOf[float32](data)), in))
			} else {
				norm = must(residualOf(newBuilder(Env{}, viewsOf[float64](data)), in))
			}
			return norm, nil
		}
		_, _, got := f.evaluate(t, of)
		for i, r := range nodeValues(t, norm.Value()) {
			if e := math.Abs(r-want[i]) / want[i]; e > tolerance {
				t.Errorf("%v: norm of row %d has the relative error %.1e", of, i, e)
			}
		}
		if gradients != nil {
			if e := worst(got[:n*m], gradients[:n*m]); e > 1e-4 { // by H
				t.Errorf("%v: gradient differs by %.1e", of, e)
			}
		}
		return got
	}
	check(tensor.Float32, 1e-4, check(tensor.Float64, 1e-10, nil))

	exact := testBuilder[float64](t) // row 0 of view 0 is zero
	f := graphFunction{name: "exact", shapes: []tensor.Shape{{9, 2}, {2, 4}}, at: [][]float64{make([]float64, 18), nil}}
	f.build = func(in []*Node) (*Node, error) { return residualOf(exact, in) }
	_, _, g := f.evaluate(t, tensor.Float64)
	for j, v := range g[:2] {
		if v != 0 {
			t.Errorf("gradient %g by element %d of a row with norm 0", v, j)
		}
	}
	for _, v := range g {
		if math.IsNaN(v) {
			t.Fatal("NaN in the gradient with a row of norm 0")
		}
	}
}

func residualOf[T kernel.Float](b *builder[T], in []*Node) (*Node, error) {
	y, err := project(b, 0, in[1])
	if err != nil {
		return nil, err
	}
	return residualNode(b, residual{}, in[0], y, in[1])
}

// TestAbsentRowsDoNotSpread: whatever a trust is in absent rows, NaN too, it does not reach a sum.
func TestAbsentRowsDoNotSpread(t *testing.T) {
	b := testBuilder[float64](t)
	trust := make([]float64, 9)
	for i := range trust {
		trust[i] = 0.5
		if !b.views[1].has(i) {
			trust[i] = math.NaN()
		}
	}
	for _, w := range []rowWeight{{view: 1}, {view: 1, complement: true}} {
		f := graphFunction{name: "weigh", shapes: []tensor.Shape{{9, 3}, {9}}, at: [][]float64{nil, trust}}
		var out *Node
		f.build = func(in []*Node) (*Node, error) {
			var err error
			out, err = weigh(b, w, in[0], in[1])
			return out, err
		}
		_, _, g := f.evaluate(t, tensor.Float64)
		for i, v := range append(g, nodeValues(t, out.Value())...) {
			if math.IsNaN(v) {
				t.Errorf("%+v: NaN at %d", w, i)
			}
		}
	}
}

// TestOpErrors: a panic inside an op, a wrong number or type of inputs and a second derivative are errors.
func TestOpErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithShape(2, 2), gorgonia.WithInit(gorgonia.Ones()))
	bad := &operation{label: "bad", do: func([]gorgonia.Value) (gorgonia.Value, error) { panic("oops") }}
	n := must(apply(bad, tensor.Float64, tensor.Shape{2, 2}, x))
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("a panic inside an op gives the error %v", err)
	}
	if _, err := bad.Do(); err == nil {
		t.Error("no error without inputs")
	}
	if _, err := bad.SymDiff(gorgonia.Nodes{x}, n, x); err == nil {
		t.Error("no error for the derivative of an op without one")
	}
	if _, err := apply(&operation{label: "nil"}, tensor.Float64, nil, nil); err == nil {
		t.Error("no error for a nil input")
	}
	for _, v := range []gorgonia.Value{gorgonia.NewF32(1), gorgonia.NewI(1), dense([]float32{1, 2}, 2)} {
		if _, err := elements[float64](v); err == nil {
			t.Errorf("no error for %T as float64", v)
		}
	}
	turned := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 2, 3, 4, 5, 6}))
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	if got, err := elements[float64](turned); err != nil || fmt.Sprint(got) != "[1 4 2 5 3 6]" {
		t.Errorf("a transposed view reads as %v (%v)", got, err)
	}
}

// TestHashes: ops that differ in a parameter, or belong to different networks, are different nodes of a graph.
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
	for _, prefix := range []string{"one", "two"} {
		b := newBuilder(Env{Prefix: prefix}, testBuilder[float64](t).views)
		n, err := project(b, 0, a)
		put("project "+prefix, n, err)
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
