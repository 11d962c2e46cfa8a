package terms

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	. "github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/testrig/optest"
)

// someClusters are the clusters of n samples, every third of them known.
func someClusters(n, m int) []int {
	out := make([]int, n)
	for i := range out {
		if out[i] = -1; i%3 == 0 {
			out[i] = i / 3 % m
		}
	}
	return out
}

func knownCase(n, m int, clusters []int, temperature float64) optest.GraphFunction {
	f := informationCase(n, m, nil, temperature)
	f.Name = "known clusters"
	f.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) { return KnownClusters(in[0], clusters, temperature) }
	return f
}

// TestKnownClusters compares value and gradient with the formula and with differences. A zero row has no gradient.
func TestKnownClusters(t *testing.T) {
	for _, c := range []struct {
		n, m        int
		temperature float64
	}{{12, 2, 0.1}, {30, 3, 0}, {70, 5, 0.3}, {40, 17, 0.2}} {
		clusters := someClusters(c.n, c.m)
		f := knownCase(c.n, c.m, clusters, c.temperature)
		want := checkFinely(t, f)
		value, x, _ := f.Evaluate(t, tensor.Float64)
		temperature, naive, count := c.temperature, 0.0, 0.0
		if temperature == 0 {
			temperature = 0.1
		}
		for i, y := range clusters {
			if y >= 0 {
				z := make([]float64, c.m)
				floats.ScaleTo(z, 1/floats.Norm(x[i*c.m:(i+1)*c.m], 2)/temperature, x[i*c.m:(i+1)*c.m])
				naive, count = naive+floats.LogSumExp(z)-z[y], count+1
			}
		}
		if got := value(x); math.Abs(got-naive/count/math.Log(float64(c.m))) > 1e-12 {
			t.Errorf("n %d m %d: %v, want %v", c.n, c.m, got, naive/count/math.Log(float64(c.m)))
		}
		single, _, gradient := f.Evaluate(t, tensor.Float32)
		if a, b := single(x), value(x); math.Abs(a-b) > 1e-5*b {
			t.Errorf("n %d m %d: %v in float32, %v in float64", c.n, c.m, a, b)
		}
		if e := optest.Worst(gradient, want); e > 1e-4 {
			t.Errorf("n %d m %d: the gradient in float32 differs by %.1e", c.n, c.m, e)
		}
	}
	f := knownCase(2, 2, []int{0, 1}, 0.1)
	f.At = [][]float64{{0, 0, 0, 2}}
	value, x, gradient := f.Evaluate(t, tensor.Float64)
	if got := value(x); math.Abs(got-0.5) > 1e-4 || floats.Norm(gradient[:2], 1) != 0 {
		t.Errorf("of a row of zeros: %v, gradient %v", got, gradient)
	}
}

// TestKnownClustersOfTwo: Gorgonia must not take the terms of two lists for one.
func TestKnownClustersOfTwo(t *testing.T) {
	const n, m = 30, 3
	none := someClusters(n, m)
	other := append(none[3:], none[:3]...)
	sum := knownCase(n, m, nil, 0)
	sum.Build = func(in []*gorgonia.Node) (*gorgonia.Node, error) {
		return gorgonia.Sub(must(KnownClusters(in[0], someClusters(n, m), 0)), must(KnownClusters(in[0], other, 0)))
	}
	value, x, _ := sum.Evaluate(t, tensor.Float64)
	if value(x) == 0 {
		t.Error("two lists of clusters have one value")
	}
	checkFinely(t, sum)
}

// TestKnownLossIsAnExtraLoss: KnownWeight adds what KnownClusters makes of H and the known labels, and begins with classes that
// agree with these.
func TestKnownLossIsAnExtraLoss(t *testing.T) {
	views, classes := blobViews(90, 3, 1.5, 45, 8, 5)
	known := make([]int, len(classes))
	for i := range known {
		if known[i] = -1; i%8 == 0 {
			known[i] = classes[i]
		}
	}
	for name, represent := range map[string]Represent{"stock": nil, "custom": &ownThreshold{}} {
		config := Config{Clusters: 3, Epochs: 15, Float64: true, Represent: represent, Known: known}
		config.Neighborhood.KnownWeight = 2
		with := mustFit(t, views, config)
		for i, l := range known {
			if l >= 0 && with.StartLabels[i] != l {
				t.Errorf("%s: sample %d begins with label %d, known is %d", name, i, with.StartLabels[i], l)
			}
		}
		config.Neighborhood.KnownWeight, config.StartLabels = 0, with.StartLabels
		none := mustFit(t, views, config)
		config.ExtraLoss = func(net Network) (*gorgonia.Node, error) {
			return gorgonia.Mul(gorgonia.NewConstant(2.0), must(KnownClusters(must(net.H(2)), known, 0)))
		}
		closeFits(t, with, mustFit(t, views, config), 1e-9)
		if math.Abs(last(none.Loss)-last(with.Loss)) < 0.01 {
			t.Errorf("%s: the term is nothing: loss %v with it, %v without", name, last(with.Loss), last(none.Loss))
		}
	}
}

// ownThreshold is a module of another package.
type ownThreshold struct{ SoftThreshold }

func TestKnownClustersRefuses(t *testing.T) {
	g := gorgonia.NewGraph()
	h := optest.InputNode(g, tensor.Float64, "H", tensor.Shape{12, 3})
	good := someClusters(12, 3)
	wrong := someClusters(12, 3)
	wrong[3] = 3
	for want, c := range map[string]struct {
		h           *gorgonia.Node
		clusters    []int
		temperature float64
	}{
		"H is nil": {nil, good, 0.1}, "has 11 samples": {h, good[1:], 0.1}, "temperature is -0.1": {h, good, -0.1},
		"of 1 clusters":    {optest.InputNode(g, tensor.Float64, "one", tensor.Shape{12, 1}), good, 0.1},
		"sample 3 is 3":    {h, wrong, 0.1},
		"no sample has a ": {h, []int{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, 0.1},
	} {
		if _, err := KnownClusters(c.h, c.clusters, c.temperature); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
