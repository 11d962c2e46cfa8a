package smoothing

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/testrig/optest"
	"github.com/largemvc/largemvc/neighbor"
)

// golden has the vectors that testdata/golden.py wrote.
type golden struct {
	N, M              int
	A, H, Weight, Out []float64
	Z                 [][]float64
	Gradients         map[string][]float64
}

func read(t *testing.T) (golden, neighbor.Operator) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	ptr, cols, weights := []int{0}, []int32{}, []float64{}
	for i := range g.N {
		for j := range g.N {
			if w := g.A[i*g.N+j]; w != 0 {
				cols, weights = append(cols, int32(j)), append(weights, w)
			}
		}
		ptr = append(ptr, len(cols))
	}
	links, err := neighbor.NewLinks(g.N, g.N, ptr, cols, weights)
	if err != nil {
		t.Fatal(err)
	}
	a, err := neighbor.NewGraph(links)
	if err != nil {
		t.Fatal(err)
	}
	return g, a
}

// Layer 1 and its gradients are those that PyTorch's autograd finds with the dense inverse.
func TestGolden(t *testing.T) {
	want, a := read(t)
	for _, of := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		tolerance := 1e-10
		if of == tensor.Float32 {
			tolerance = 2e-5
		}
		g := gorgonia.NewGraph()
		r := &Represent{SoftThreshold: largemvc.SoftThreshold{Theta0: 0.1, Lipschitz: 2}, Graph: a, Gamma0: 1.7}
		err := r.Init(largemvc.Env{G: g, Prefix: "x", Layers: 1, Views: 2, Anchors: want.M, Samples: want.N, Of: of, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		matrix := func(name string, x []float64) *gorgonia.Node {
			return op.NewMatrix(g, of, name, mat.NewDense(want.N, want.M, x))
		}
		inputs := gorgonia.Nodes{matrix("H", want.H), matrix("Z0", want.Z[0]), matrix("Z1", want.Z[1])}
		out, err := r.Update(1, inputs[0], inputs[1:])
		if err != nil {
			t.Fatal(err)
		}
		var value gorgonia.Value
		gorgonia.Read(out, &value)
		cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(out, matrix("weight", want.Weight)))))
		nodes := append(r.Learnables(), inputs...)
		grads, err := gorgonia.Grad(cost, nodes...)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]gorgonia.Value, len(grads))
		for i, d := range grads {
			gorgonia.Read(d, &values[i])
		}
		machine := optest.NewMachine(g)
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		if d := optest.Worst(optest.NodeValues(t, value), want.Out); !(d <= tolerance) {
			t.Errorf("%v: H' is off by %g", of, d)
		}
		for i, n := range nodes {
			name := strings.TrimSuffix(strings.TrimPrefix(n.Name(), "x."), "_1")
			if d := optest.Worst(optest.NodeValues(t, values[i]), want.Gradients[name]); !(d <= tolerance) {
				t.Errorf("%v: the gradient by %s is off by %g", of, name, d)
			}
		}
		machine.Close()
	}
}

// The gradients of the filter are central differences, and rows that are not finite are an error.
func TestFilterGradient(t *testing.T) {
	want, a := read(t)
	for _, x := range []float64{math.NaN(), math.Inf(1), 1e200} {
		b := append([]float64{x}, want.H[1:]...)
		if _, err := solve(a, 1, b, want.M); err == nil {
			t.Errorf("no error for %g", x)
		}
	}
	for _, gamma := range []float64{0, 0.3, 12} {
		optest.GraphFunction{
			Name: "filter", Shapes: []tensor.Shape{{}, {want.N, want.M}}, At: [][]float64{{gamma}, want.H},
			Build: func(in []*gorgonia.Node) (*gorgonia.Node, error) { return Filter("x", a, in[0], in[1]) },
		}.Check(t)
	}
}

// The module trains in Fit, γ moves and stays at 0 or above, and the number of goroutines changes no bit.
func TestFit(t *testing.T) {
	_, a := read(t)
	x := mat.NewDense(7, 5, nil)
	y := mat.NewDense(7, 4, nil)
	for i := range 7 {
		for j := range 5 {
			x.Set(i, j, math.Sin(float64(3*i+5*j)))
			y.Set(i, j%4, math.Cos(float64(i*j)))
		}
	}
	fit := func(workers int) *largemvc.Clustering {
		c := largemvc.PaperConfig(2)
		c.Epochs, c.NoStructure, c.Machine.Workers = 20, true, workers
		c.Represent = &Represent{Graph: a, Gamma0: 0.05}
		got, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.MatrixView(x), largemvc.MatrixView(y)}, c)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, two := fit(1), fit(2)
	for _, name := range []string{"gamma_1", "gamma_2"} {
		p, _, err := one.Parameter(name)
		q, _, errTwo := two.Parameter(name)
		if err != nil || errTwo != nil || p[0] < 0 || p[0] == 0.05 || p[0] != q[0] {
			t.Errorf("%s: %v, with two goroutines %v, %v, %v", name, p, q, err, errTwo)
		}
	}
	for text, r := range map[string]*Represent{"nil": {}, "Gamma0": {Graph: a, Gamma0: -1}} {
		c := largemvc.PaperConfig(2)
		c.Represent = r
		_, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.MatrixView(x)}, c)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
