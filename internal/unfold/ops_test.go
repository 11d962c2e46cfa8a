package unfold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/optest"

	"github.com/largemvc/largemvc/internal/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/kernel"
)

// testBuilder has two views of 9 samples, of which some lack the second; row 0 of view 0 is zero.
func testBuilder[T kernel.Float](t *testing.T) *Builder[T] {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	present := make([][]bool, 9)
	for i := range present {
		present[i] = []bool{true, i%3 != 1}
	}
	var views []*View[T]
	for v, d := range []int{4, 2} {
		x := make([]T, 9*d)
		for i := range x {
			x[i] = T(rng.NormFloat64() * min(float64(i/d), 1))
			if !present[i/d][v] {
				x[i] = 0
			}
		}
		views = append(views, testView(t, x, 9, d, present, v))
	}
	return NewBuilder(Site{Prefix: "test"}, "", views)
}

func testView[T kernel.Float](t *testing.T, x []T, n, d int, present [][]bool, v int) *View[T] {
	t.Helper()
	w, err := NewView(rows.NewDense(n, d, d, x), present, v)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// opCases are the ops that only networks use, with all their variants.
func opCases[T kernel.Float](b *Builder[T]) []optest.GraphFunction {
	var cases []optest.GraphFunction
	add := func(name string, build func(in []*Node) (*Node, error), shapes ...tensor.Shape) {
		cases = append(cases, optest.GraphFunction{Name: name, Shapes: shapes, Build: build})
	}
	n, m, d := 9, 3, 4
	vector, rows, anchors, small := tensor.Shape{n}, tensor.Shape{n, m}, tensor.Shape{m, d}, tensor.Shape{m, m}
	add("project", func(in []*Node) (*Node, error) { return project(b, 0, in[0]) }, anchors)
	add("correlate", func(in []*Node) (*Node, error) { return correlate(b, 0, in[0]) }, rows)
	add("rowMul", func(in []*Node) (*Node, error) { return RowMul(b, in[0], in[1], false, nil) }, rows, tensor.Shape{m, 5})
	add("rowMul plus", func(in []*Node) (*Node, error) { return RowMul(b, in[0], in[1], false, in[2]) }, rows, small, rows)
	add(
		"rowMul transposed",
		func(in []*Node) (*Node, error) { return RowMul(b, in[0], in[1], true, nil) }, rows,
		tensor.Shape{5, m},
	)
	add(
		"rowMul transposed plus",
		func(in []*Node) (*Node, error) { return RowMul(b, in[0], in[1], true, in[2]) }, rows, small, rows,
	)
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
		add(
			fmt.Sprintf("smallMul %t %t", tx, ty),
			func(in []*Node) (*Node, error) { return smallMul(b, in[0], in[1], tx, ty) }, x, y,
		)
	}
	for _, w := range []rowWeight{{view: -1}, {view: 1}, {view: -1, complement: true}, {view: 1, complement: true}} {
		add(fmt.Sprintf("weigh %+v", w), func(in []*Node) (*Node, error) { return weigh(b, w, in[0], in[1]) }, rows, vector)
	}
	add("weigh by presence", func(in []*Node) (*Node, error) { return weigh(b, rowWeight{view: 1}, in[0], nil) }, rows)
	add("blend", func(in []*Node) (*Node, error) { return blend(b, in[0], in[1], in[2]) }, vector, rows, rows)
	add("hold", func(in []*Node) (*Node, error) { return hold(b, "x", in[0]) }, rows)
	add("mean", func(in []*Node) (*Node, error) { return MeanViews[T](0, in, nil) }, rows, rows)
	add("mean of those present", func(in []*Node) (*Node, error) {
		b := optest.InputNode(in[0].Graph(), b.of, "present", tensor.Shape{n, 2})
		if err := gorgonia.Let(
			b,
			op.Dense(kernel.Convert[T]([]float64{1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1}), n, 2),
		); err != nil {
			return nil, err
		}
		return MeanViews[T](0, in, b)
	}, rows, rows)
	for _, r := range []residual{{view: 0}, {view: 1}, {view: 0, loss: true, weight: 0.3}, {view: 1, loss: true, weight: 2}} {
		add(fmt.Sprintf("residual %+v", r), func(in []*Node) (*Node, error) {
			y, err := project(b, r.view, in[1])
			if err != nil {
				return nil, err
			}
			return residualNode(b, r, in[0], y, in[1])
		}, rows, tensor.Shape{m, b.views[r.view].D})
	}
	return cases
}

func TestOpGradients(t *testing.T) {
	double, single := opCases(testBuilder[float64](t)), opCases(testBuilder[float32](t))
	for i, f := range double {
		t.Run(f.Name, func(t *testing.T) {
			want := f.Check(t)
			_, _, got := single[i].Evaluate(t, tensor.Float32)
			if e := optest.Worst(got, want); e > 1e-5 {
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
		var norm *Node
		f := optest.GraphFunction{Name: "residual", Shapes: []tensor.Shape{{n, m}, {m, d}},
			At: [][]float64{h.RawMatrix().Data, p.RawMatrix().Data}}
		f.Build = func(in []*Node) (*Node, error) {
			if of == tensor.Float32 {
				norm = mustNode(
					residualOf(
						NewBuilder(
							Site{},
							"",
							[]*View[float32]{testView(t, kernel.Convert[float32](x.RawMatrix().Data), n, d, nil, 0)},
						),
						in,
					),
				)
			} else {
				norm = mustNode(residualOf(
					NewBuilder(
						Site{}, "",
						[]*View[float64]{testView(t, kernel.Convert[float64](x.RawMatrix().Data), n, d, nil, 0)},
					),
					in,
				))
			}
			return norm, nil
		}
		_, _, got := f.Evaluate(t, of)
		for i, r := range optest.NodeValues(t, norm.Value()) {
			if e := math.Abs(r-want[i]) / want[i]; e > tolerance {
				t.Errorf("%v: norm of row %d has the relative error %.1e", of, i, e)
			}
		}
		if gradients != nil {
			if e := optest.Worst(got[:n*m], gradients[:n*m]); e > 1e-4 { // by H
				t.Errorf("%v: gradient differs by %.1e", of, e)
			}
		}
		return got
	}
	check(tensor.Float32, 1e-4, check(tensor.Float64, 1e-10, nil))

	exact := testBuilder[float64](t) // row 0 of view 0 is zero
	f := optest.GraphFunction{
		Name: "exact", Shapes: []tensor.Shape{{9, 2}, {2, 4}}, At: [][]float64{make([]float64, 18), nil},
	}
	f.Build = func(in []*Node) (*Node, error) { return residualOf(exact, in) }
	_, _, g := f.Evaluate(t, tensor.Float64)
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

func residualOf[T kernel.Float](b *Builder[T], in []*Node) (*Node, error) {
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
		if !b.views[1].Has(i) {
			trust[i] = math.NaN()
		}
	}
	for _, w := range []rowWeight{{view: 1}, {view: 1, complement: true}} {
		f := optest.GraphFunction{Name: "weigh", Shapes: []tensor.Shape{{9, 3}, {9}}, At: [][]float64{nil, trust}}
		var out *Node
		f.Build = func(in []*Node) (*Node, error) {
			var err error
			out, err = weigh(b, w, in[0], in[1])
			return out, err
		}
		_, _, g := f.Evaluate(t, tensor.Float64)
		for i, v := range append(g, optest.NodeValues(t, out.Value())...) {
			if math.IsNaN(v) {
				t.Errorf("%+v: NaN at %d", w, i)
			}
		}
	}
}

// TestHashesOfNetworks: the same op of networks of different prefixes is two nodes of a graph.
func TestHashesOfNetworks(t *testing.T) {
	g := gorgonia.NewGraph()
	a := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("a"), gorgonia.WithShape(3, 4))
	var nodes []*Node
	for _, prefix := range []string{"one", "two"} {
		nodes = append(nodes, mustNode(project(NewBuilder(Site{Prefix: prefix}, "", testBuilder[float64](t).views), 0, a)))
	}
	if nodes[0] == nodes[1] {
		t.Error("the products of two networks are one node")
	}
}

func mustNode(n *Node, err error) *Node {
	if err != nil {
		panic(err)
	}
	return n
}
