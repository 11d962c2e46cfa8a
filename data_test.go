package largemvc

import (
	"math"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func TestNewDataErrors(t *testing.T) {
	fine := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	with := func(x float64) mat.Matrix {
		m := mat.DenseCopyOf(fine)
		m.Set(2, 1, x)
		return m
	}
	all := [][]bool{{true, true}, {true, true}, {true, true}}
	for _, c := range []struct {
		name    string
		of      tensor.Dtype
		views   []mat.Matrix
		present [][]bool
		want    string // in the message
	}{
		{"no views", tensor.Float64, nil, nil, "no views"},
		{"nil view", tensor.Float64, []mat.Matrix{fine, nil}, nil, "view 1 is nil"},
		{"empty view", tensor.Float64, []mat.Matrix{new(mat.Dense)}, nil, "view 0 is 0×0"},
		{"different n", tensor.Float64, []mat.Matrix{fine, mat.NewDense(2, 2, nil)}, nil, "view 1 has 2 samples, view 0 has 3"},
		{"NaN", tensor.Float64, []mat.Matrix{fine, with(math.NaN())}, nil, "view 1, row 2, column 1 is NaN"},
		{"infinity", tensor.Float32, []mat.Matrix{with(math.Inf(-1))}, nil, "view 0, row 2, column 1 is -Inf"},
		{"overflow in float32", tensor.Float32, []mat.Matrix{with(1e300)}, nil, "view 0, row 2, column 1 is 1e+300"},
		{"type", tensor.Int, []mat.Matrix{fine}, nil, "int"},
		{"presence of too few samples", tensor.Float64, []mat.Matrix{fine, fine}, all[:2], "presence of 2 samples for 3"},
		{
			"presence of too few views", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, true}, {true}, {true, true}}, "sample 1",
		},
		{
			"sample without view", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, true}, {true, true}, {false, false}}, "sample 2 has no view",
		},
		{
			"view without sample", tensor.Float64, []mat.Matrix{fine, fine},
			[][]bool{{true, false}, {true, false}, {true, false}}, "no sample has view 1",
		},
	} {
		_, err := NewData(c.of, c.views, c.present)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestNewData: absent rows may hold anything; the caller's matrices are not kept.
func TestNewData(t *testing.T) {
	x := mat.NewDense(3, 2, []float64{1, 2, math.NaN(), math.Inf(1), 5, 6})
	y := mat.NewDense(3, 1, []float64{7, 8, 9})
	present := [][]bool{{true, true}, {false, true}, {true, true}}
	data, err := NewData(tensor.Float64, []mat.Matrix{x, y}, present)
	if err != nil {
		t.Fatal(err)
	}
	x.Set(0, 0, 100)
	row := make([]float64, 2)
	for i, want := range [][]float64{{1, 2}, {0, 0}, {5, 6}} {
		if data.double[0].X.Row(i, row); row[0] != want[0] || row[1] != want[1] {
			t.Errorf("row %d is %v, want %v", i, row, want)
		}
	}
	if data.Samples() != 3 || data.Views() != 2 || data.Dtype() != tensor.Float64 || data.Complete() {
		t.Errorf("%d samples, %d views, %v, complete: %t", data.Samples(), data.Views(), data.Dtype(), data.Complete())
	}
	if d := data.Dims(); d[0] != 2 || d[1] != 1 {
		t.Errorf("dimensions %v", d)
	}
	if data.Present(1, 0) || !data.Present(1, 1) {
		t.Error("presence of sample 1")
	}
}

// TestEnvErrors: what Build refuses, and that it builds nothing then.
func TestEnvErrors(t *testing.T) {
	x, p := mat.NewDense(4, 3, nil), mat.NewDense(2, 3, nil)
	data, err := NewData(tensor.Float64, []mat.Matrix{x, x}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nan := mat.NewDense(2, 3, nil)
	nan.Set(1, 2, math.NaN())
	used := gorgonia.NewGraph()
	gorgonia.NewScalar(used, tensor.Float64, gorgonia.WithName("a.R"))
	fine := StartPoint{Anchors: []mat.Matrix{p, p}}
	for _, c := range []struct {
		name  string
		env   Env
		data  *Data
		start StartPoint
		want  string
	}{
		{"no graph", Env{}, data, fine, "no graph"},
		{"no data", Env{G: gorgonia.NewGraph()}, nil, fine, "no data"},
		{"empty data", Env{G: gorgonia.NewGraph()}, new(Data), StartPoint{}, "data without views"},
		{
			"anchors are a nil pointer", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{(*mat.Dense)(nil), p}}, "no starting anchors for view 0",
		},
		{
			"H is a nil pointer", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: fine.Anchors, H: (*mat.Dense)(nil)}, "the starting H are nil",
		},
		{"layers", Env{G: gorgonia.NewGraph(), Layers: -1}, data, fine, "-1 layers"},
		{"presence", Env{G: gorgonia.NewGraph(), Present: new(Node)}, data, fine, "Present"},
		{
			"anchors of one view", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p}},
			"starting anchors for 1 views",
		},
		{
			"nil anchors", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p, nil}},
			"no starting anchors for view 1",
		},
		{
			"anchors of another size", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{p, mat.NewDense(3, 3, nil)}}, "view 1 are 3×3, want 2×3",
		},
		{
			"no anchors", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: []mat.Matrix{new(mat.Dense), new(mat.Dense)}}, "0 anchors",
		},
		{
			"anchors with NaN", Env{G: gorgonia.NewGraph()}, data, StartPoint{Anchors: []mat.Matrix{p, nan}},
			"row 1, column 2 of the starting anchors of view 1 is NaN",
		},
		{
			"H of another size", Env{G: gorgonia.NewGraph()}, data,
			StartPoint{Anchors: fine.Anchors, H: mat.NewDense(4, 3, nil)}, "H are 4×3, want 4×2",
		},
		{"samples", Env{G: gorgonia.NewGraph(), Samples: 5}, data, fine, "Env.Samples is 5"},
		{"views", Env{G: gorgonia.NewGraph(), Views: 1}, data, fine, "Env.Views is 1"},
		{"anchors", Env{G: gorgonia.NewGraph(), Anchors: 3}, data, fine, "Env.Anchors is 3"},
		{"dims", Env{G: gorgonia.NewGraph(), Dims: []int{3}}, data, fine, "1 entries for 2 views"},
		{"dim", Env{G: gorgonia.NewGraph(), Dims: []int{3, 4}}, data, fine, "Env.Dims[1] is 4"},
		{"type", Env{G: gorgonia.NewGraph(), Of: tensor.Float32}, data, fine, "float32"},
		{"prefix", Env{G: used, Prefix: "a"}, data, fine, `"a.R"`},
	} {
		var net LargeMvCNet
		err := net.Build(c.env, c.data, c.start)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if net.Loss() != nil {
			t.Errorf("%s: a loss after an error", c.name)
		}
	}
	if n := len(used.AllNodes()); n != 1 {
		t.Errorf("a refused Build left %d nodes", n-1)
	}
}

// TestModelRanges: layers and views outside the network are errors, before and after Build.
func TestModelRanges(t *testing.T) {
	c := randomNetwork(31, 9, 2, 2, []int{3, 4}, ReLU, false)
	for _, perModule := range []bool{true, false} {
		net := c.buildRandom(t, "full", perModule)
		e := make([]float64, 9*4)
		for name, err := range map[string]error{
			"H layer −1":      second(net.H(-1)),
			"H layer 3":       second(net.H(3)),
			"P view 2":        second(net.P(1, 2)),
			"P view −1":       second(net.P(1, -1)),
			"T layer 0":       second(net.T(0, 0)),
			"E layer 3":       net.ERows(3, 1, 0, 9, e),
			"E rows":          net.ERows(1, 1, 0, 10, e),
			"E rows reversed": net.ERows(1, 1, 5, 4, e),
			"E room":          net.ERows(1, 1, 0, 8, e),
			"E before a run":  net.ERows(1, 1, 0, 9, e),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		for l := range 3 {
			if err := second(net.H(l)); err != nil {
				t.Error(err)
			}
			if err := second(net.P(l, 1)); err != nil {
				t.Error(err)
			}
		}
		h0, err := net.H(0)
		if err != nil {
			t.Fatal(err)
		}
		runGraph(t, net.Loss().Graph())
		if got := optest.NodeValues(t, h0.Value()); optest.Worst(got, mat.DenseCopyOf(c.start.H).RawMatrix().Data) > 0 {
			t.Errorf("H(0) is %v", got)
		}
		e[0] = 5
		if err := net.ERows(0, 1, 0, 9, e); err != nil || e[0] != 0 {
			t.Errorf("E of layer 0 is %g (%v)", e[0], err)
		}
	}
	var net AMvCNet
	if _, err := net.H(1); err == nil {
		t.Error("no error before Build")
	}
	if err := net.ERows(1, 0, 0, 0, nil); err == nil {
		t.Error("no error before Build")
	}
	if n := c.buildRandom(t, "full", true); n.ERows(1, 0, 0, 9, make([]float64, 27)) == nil {
		t.Error("no error for E before a run")
	}
}

func second(_ *Node, err error) error { return err }
