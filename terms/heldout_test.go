package terms

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// heldOutViews are n random samples in two views; masked, a third of them lack one of the views.
func heldOutViews(t testing.TB, n int, masked bool) []View {
	t.Helper()
	views, _ := blobViews(n, 3, 1, 41, 20, 18)
	if !masked {
		return views
	}
	views, err := testutil.Masked(views, testutil.Absent(n, 2, 0.3, 42))
	if err != nil {
		t.Fatal(err)
	}
	return views
}

func mustHeldOut(t testing.TB, views []View, c HeldOutConfig) *HeldOut {
	t.Helper()
	held, err := NewHeldOut(context.Background(), views, c)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func heldOutCase(n, m int, held *HeldOut, temperature float64) optest.GraphFunction {
	f := informationCase(n, m, nil, temperature)
	f.Name = "held-out information"
	f.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) { return HeldOutInformation(in[0], held, temperature) }
	return f
}

func TestHeldOutInformation(t *testing.T) {
	for _, masked := range []bool{false, true} {
		for _, c := range []struct {
			n, m        int
			temperature float64
		}{{12, 2, 0.1}, {30, 3, 0}, {30, 3, 0.4}, {70, 5, 0.3}, {40, 17, 0.2}} {
			if !testutil.Slow && c.n*c.m > 200 {
				continue
			}
			views := heldOutViews(t, c.n, masked)
			f := heldOutCase(c.n, c.m, mustHeldOut(t, views, HeldOutConfig{Float64: true}), c.temperature)
			want := checkFinely(t, f)
			value, x, _ := f.Evaluate(t, tensor.Float64)
			temperature := c.temperature
			if temperature == 0 {
				temperature = 0.1
			}
			naive := -testutil.HeldOutInformation(
				mat.NewDense(c.n, c.m, x), unitFeatures(t, views), information.DefaultPenalty, temperature,
			)
			if got := value(x); math.Abs(got-naive) > 1e-10 {
				t.Errorf("n %d m %d: %v, want %v", c.n, c.m, got, naive)
			} else if got > 0 || got < -1 {
				t.Errorf("n %d m %d: %v is not from −1 to 0", c.n, c.m, got)
			}
			single, _, gradient := heldOutCase(c.n, c.m, mustHeldOut(t, views, HeldOutConfig{}), c.temperature).Evaluate(
				t, tensor.Float32,
			)
			if a, b := single(x), value(x); math.Abs(a-b) > 1e-4 {
				t.Errorf("n %d m %d: %v in float32, %v in float64", c.n, c.m, a, b)
			}
			if e := optest.Worst(gradient, want); e > 1e-3 {
				t.Errorf("n %d m %d: the gradient in float32 differs by %.1e", c.n, c.m, e)
			}
		}
	}
}

// Clusters that are a simple function of the features tell more than the same clusters of other samples.
func TestHeldOutInformationOfClasses(t *testing.T) {
	const n, m = 90, 3
	views, classes := blobViews(n, m, 0.5, 43, 8, 5)
	f := heldOutCase(n, m, mustHeldOut(t, views, HeldOutConfig{Float64: true}), 0.1)
	value, _, _ := f.Evaluate(t, tensor.Float64)
	of := func(labels []int) float64 {
		h := make([]float64, n*m)
		for i, l := range labels {
			h[i*m+l] = 1
		}
		return value(h)
	}
	shuffled := slices.Clone(classes)
	rng := rand.New(rand.NewPCG(6, 6))
	rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if a, b := of(classes), of(shuffled); a > -0.9 || b < -0.3 {
		t.Errorf("%v for the classes, %v for the same in another order", a, b)
	}
}

// Gorgonia must not take the terms of two regressions or two temperatures for one.
func TestHeldOutInformationsOfTwo(t *testing.T) {
	const n, m = 30, 3
	views := heldOutViews(t, n, false)
	a := mustHeldOut(t, views, HeldOutConfig{Float64: true})
	b := mustHeldOut(t, views[:1], HeldOutConfig{Float64: true, Preprocess: PreprocessZScore})
	terms := func(in *gorgonia.Node) []*gorgonia.Node {
		return []*gorgonia.Node{
			must(HeldOutInformation(in, a, 0.3)), must(HeldOutInformation(in, b, 0.3)),
			must(HeldOutInformation(in, a, 0.5)),
		}
	}
	sum := heldOutCase(n, m, nil, 0)
	sum.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		x := terms(in[0])
		return gorgonia.Add(must(gorgonia.Add(x[0], x[1])), x[2])
	}
	value, x, _ := sum.Evaluate(t, tensor.Float64)
	want := 0.0
	for k := range 3 {
		one := heldOutCase(n, m, nil, 0)
		one.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) { return terms(in[0])[k], nil }
		single, _, _ := one.Evaluate(t, tensor.Float64)
		want += single(x)
	}
	if got := value(x); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	checkFinely(t, sum)
}

func TestHeldOutInformationDoesNotDependOnWorkers(t *testing.T) {
	const n, m = 3000, 7
	views, _ := blobViews(n, m, 2, 44, 20, 9)
	h := make([]float32, n*m)
	for i := range h {
		h[i] = float32(math.Sin(float64(i * i)))
	}
	var values []float64
	var gradients [][]float32
	for _, workers := range []int{1, 5} {
		held := mustHeldOut(t, views, HeldOutConfig{Workers: workers, Directions: 12}).single
		s := information.NewHeldOut(workers, m, held, 0.1)
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

// The term of the loss is what HeldOutInformation makes of H and the views.
func TestHeldOutLossIsAnExtraLoss(t *testing.T) {
	views, classes := blobViews(70, 3, 1, 45, 8, 5)
	for _, exact := range []int{0, None} {
		config := Config{
			Clusters: 3, Epochs: 25, Float64: true,
			Neighborhood: Neighborhood{Exact: exact, Weight: None, HeldOutWeight: 2},
			StartLabels:  classes,
		}
		held := mustHeldOut(t, views, HeldOutConfig{Float64: true})
		without := config
		without.Neighborhood.HeldOutWeight = None
		none := mustFit(t, views, without)
		without.ExtraLoss = func(net Network) (*gorgonia.Node, error) {
			return gorgonia.Mul(gorgonia.NewConstant(2.0), must(HeldOutInformation(must(net.H(2)), held, 0)))
		}
		with := mustFit(t, views, config)
		closeFits(t, with, mustFit(t, views, without), 1e-9)
		if math.Abs(last(none.Loss)-last(with.Loss)) < 0.1 {
			t.Errorf("the term is nothing: loss %v with it, %v without", last(with.Loss), last(none.Loss))
		}
	}
}

// A row that cannot be read, whenever that is, is an error, and not a term of NaN.
func TestReadThatFails(t *testing.T) {
	const n = 20
	x, _ := testutil.Blobs(n, 2, 0.4, 52, 6, 4)
	s := testutil.NewSource(n, 4, x[1])
	views := []View{DenseView(n, 6, x[0]), RowsView(s).Named("sensor")}
	s.EachReadFails(t, "NewHeldOut", "view 1 (sensor)", func() error {
		_, err := NewHeldOut(t.Context(), views, HeldOutConfig{})
		return err
	})
}

func TestHeldOutRefuses(t *testing.T) {
	ctx := context.Background()
	views := heldOutViews(t, 12, false)
	bad := func(at int) []View {
		x := make([]float64, 12*3)
		for i := range x {
			x[i] = float64(i * i % 7)
		}
		x[at] = math.NaN()
		return []View{views[0], DenseView(12, 3, x)}
	}
	for name, test := range map[string]struct {
		views  []View
		config HeldOutConfig
		want   string
	}{
		"no views": {nil, HeldOutConfig{}, "view"}, "NaN": {bad(7), HeldOutConfig{}, "view 1"},
		"constant": {[]View{DenseView(4, 2, make([]float64, 8))}, HeldOutConfig{}, "view 0"},
		"directions": {
			views, HeldOutConfig{Directions: -1}, "Directions is -1",
		}, "penalty": {views, HeldOutConfig{Penalty: -1}, "Penalty is -1"},
		"rounding": {heldOutViews(t, 9, false), HeldOutConfig{Penalty: 1e-9}, "Penalty of 1e-09"},
		"infinite": {
			views, HeldOutConfig{Penalty: math.Inf(1)}, "Penalty is +Inf",
		}, "preprocess": {views, HeldOutConfig{Preprocess: 99}, "Preprocess is 99"},
		"workers": {views, HeldOutConfig{Workers: -1}, "Workers is -1"},
	} {
		if held, err := NewHeldOut(ctx, test.views, test.config); err == nil || held != nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := NewHeldOut(cancelled, views, HeldOutConfig{}); err == nil {
		t.Error("a cancelled context: no error")
	}
	g := gorgonia.NewGraph()
	held := mustHeldOut(t, views, HeldOutConfig{Float64: true})
	h := optest.InputNode(g, tensor.Float64, "H", tensor.Shape{12, 3})
	for name, c := range map[string]struct {
		h           *gorgonia.Node
		held        *HeldOut
		temperature float64
	}{
		"no H": {nil, held, 0.1}, "no regression": {h, nil, 0.1}, "negative": {h, held, -0.1}, "NaN": {h, held, math.NaN()},
		"one column": {optest.InputNode(g, tensor.Float64, "one", tensor.Shape{12, 1}), held, 0.1},
		"samples":    {optest.InputNode(g, tensor.Float64, "more", tensor.Shape{13, 3}), held, 0.1},
		"arithmetic": {optest.InputNode(g, tensor.Float32, "single", tensor.Shape{12, 3}), held, 0.1},
	} {
		if _, err := HeldOutInformation(c.h, c.held, c.temperature); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
