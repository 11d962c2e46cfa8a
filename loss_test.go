package largemvc

import (
	"math"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/optest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestLossValue: one layer of an RMvC-Net on three samples, by hand. With R = 0, U = I and θ = 0, H is the mean of X·Pᵀ
// over the views present.
func TestLossValue(t *testing.T) {
	views := []mat.Matrix{
		mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}),
		mat.NewDense(3, 1, []float64{2, 100, 4}),
	}
	start := StartPoint{Anchors: []mat.Matrix{mat.NewDense(1, 2, []float64{1, 0}), mat.NewDense(1, 1, []float64{1})}}
	present := [][]bool{{true, true}, {true, false}, {true, true}}
	// H = (1+2)/2, 3, (5+4)/2; residuals (−0.5, 2), (0, 4), (0.5, 6) and 0.5, absent, −0.5.
	first, second := 0.25+4+16+0.25+36, 0.5
	squares := 1.0 + 4 + 9 + 16 + 25 + 36
	for _, c := range []struct {
		r    Reduction
		want float64
	}{{ReductionMean, first/6 + second/2}, {ReductionRelative, first/(2*squares) + second/(2*(4+16))}} {
		for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			eachPath(t, func(t *testing.T, perModule bool) {
				data, err := NewData(of, views, present)
				if err != nil {
					t.Fatal(err)
				}
				net := &RMvCNet{Reduction: c.r, PerModule: perModule}
				if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
					t.Fatal(err)
				}
				optest.LetNode(t, net.Represent.Theta(1), []float64{0})
				runGraph(t, net.Loss().Graph())
				if got := optest.NodeValues(t, net.Loss().Value())[0]; math.Abs(got-c.want) > 1e-6*c.want {
					t.Errorf("%v, %v: loss %g, want %g", of, c.r, got, c.want)
				}
			})
		}
	}
}

// TestLossFloat32: a mean over 5,000 × 300 entries has the value of float64, where a float32 accumulator is off. The
// samples are equal, so one of them says what it is.
func TestLossFloat32(t *testing.T) {
	n, d := 5000, 300
	x := make([]float64, n*d)
	for i := range x {
		x[i] = 1 + float64(i%d)/float64(d)
	}
	anchors := make([]float64, d)
	anchors[0] = 1
	want := 0.0 // H is x·Pᵀ = 1, the first entry, so HP leaves the others
	for _, v := range x[1:d] {
		want += v * v / float64(d)
	}
	var naive float32
	for i, v := range x {
		if i%d > 0 {
			naive += float32(v * v)
		}
	}
	if e := math.Abs(float64(naive)/float64(n*d)-want) / want; e < 1e-5 {
		t.Fatalf("a float32 accumulator is off by %.1e only: no test", e)
	}
	start := StartPoint{Anchors: []mat.Matrix{mat.NewDense(1, d, anchors)}}
	data, err := NewData(tensor.Float32, []mat.Matrix{mat.NewDense(n, d, x)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eachPath(t, func(t *testing.T, perModule bool) {
		net := &RMvCNet{PerModule: perModule}
		if err := net.Build(Env{G: gorgonia.NewGraph(), Layers: 1}, data, start); err != nil {
			t.Fatal(err)
		}
		optest.LetNode(t, net.Represent.Theta(1), []float64{0})
		runGraph(t, net.Loss().Graph())
		if got := optest.NodeValues(t, net.Loss().Value())[0]; math.Abs(got-want) > 1e-6*want {
			t.Errorf("loss %.9g, want %.9g", got, want)
		}
	})
}

// TestScaledLoss: the gradient of 0.5·loss is half that of the loss.
func TestScaledLoss(t *testing.T) {
	c := randomNetwork(21, 15, 2, 2, []int{4, 3}, ReLU, false)
	eachPath(t, func(t *testing.T, perModule bool) {
		whole, half := c.buildRandom(t, "full", perModule), c.buildRandom(t, "full", perModule)
		want := gradients(t, whole.Loss(), whole.Learnables())
		got := gradients(t, times(half.Loss(), constant(0.5)), half.Learnables())
		for i := range want {
			for j := range want[i] {
				if want[i][j] != 2*got[i][j] {
					t.Errorf("gradient %g of half the loss, %g of the loss", got[i][j], want[i][j])
				}
			}
		}
	})
}

func TestReduction(t *testing.T) {
	if ReductionMean.String() != "mean" || ReductionRelative.String() != "relative" ||
		Reduction(5).String() != "unknown (5)" {
		t.Error("names of reductions")
	}
	c := randomNetwork(22, 9, 2, 1, []int{3}, ReLU, false)
	data, err := NewData(tensor.Float64, c.views, nil)
	if err != nil {
		t.Fatal(err)
	}
	net := &LargeMvCNet{Reduction: 5}
	if err := net.Build(Env{G: gorgonia.NewGraph()}, data, c.start); err == nil {
		t.Error("no error for an unknown reduction")
	}
}

// TestNullLoss: the loss of H = 0, by which a loss counts as diverged, is 1 where it is relative to the views, else the mean of
// their squares, over the samples that have a view.
func TestNullLoss(t *testing.T) {
	views := []mat.Matrix{
		mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}),
		mat.NewDense(3, 1, []float64{2, 100, 4}),
	}
	data, err := NewData(tensor.Float64, views, [][]bool{{true, true}, {true, false}, {true, true}})
	if err != nil {
		t.Fatal(err)
	}
	for reduction, want := range map[Reduction]float64{ReductionRelative: 1, ReductionMean: 91./6 + 20./2} {
		net := &lossNetwork[float64]{in: &prepared[float64]{data: data}, config: &Config{Reduction: reduction}}
		if loss := net.NullLoss(); math.Abs(loss-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", reduction, loss, want)
		}
	}
}
