package largemvc

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// procrustesGraph runs the op on M in the element type and returns P and the gradient for the cotangent G.
func procrustesGraph(t *testing.T, of tensor.Dtype, rows, columns int, m, g []float64, floor float64) (p, dm []float64) {
	t.Helper()
	graph := gorgonia.NewGraph()
	in, weights := optest.InputNode(
		graph, of,
		"M",
		tensor.Shape{rows, columns},
	), optest.InputNode(
		graph, of,
		"G",
		tensor.Shape{rows, columns},
	)
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
