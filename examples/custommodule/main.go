// Command custommodule puts a Noise module of its own into the network and trains it with a solver of Gorgonia.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/synthetic"
)

// cauchy trusts a sample with the residual norm r by t = w²/(w² + r²), with a learnable width w for each view. It is smooth,
// where the paper's min(1, ρ/r) has a kink.
type cauchy struct{ width gorgonia.Nodes }

// Init makes the learnable nodes, one for each view.
func (c *cauchy) Init(e largemvc.Env) error {
	c.width = nil
	var first any = 5.0
	if e.Of == tensor.Float32 {
		first = float32(5)
	}
	for v := range e.Views {
		c.width = append(c.width, gorgonia.NewScalar(e.G, e.Of, gorgonia.WithName(e.Name("width_%d", v)),
			gorgonia.WithValue(first)))
	}
	return nil
}

// Learnables returns them.
func (c *cauchy) Learnables() gorgonia.Nodes { return c.width }

// Project has nothing to do: the width enters by its square.
func (c *cauchy) Project() error { return nil }

// Trust returns the n weights t from the n norms of X − HP. X − E = diag(t)X + diag(1−t)HP follows from them.
func (c *cauchy) Trust(_, v int, norm *gorgonia.Node) (*gorgonia.Node, error) {
	square, err := gorgonia.Square(norm)
	if err != nil {
		return nil, err
	}
	w, err := gorgonia.Square(c.width[v])
	if err != nil {
		return nil, err
	}
	sum, err := gorgonia.Add(square, w)
	if err != nil {
		return nil, err
	}
	return gorgonia.HadamardDiv(w, sum)
}

// network is the paper's with the other noise. Represent and Anchor are the stock modules.
type network = largemvc.Model[*largemvc.SoftThreshold, *cauchy, *largemvc.Procrustes]

func main() {
	if err := run(context.Background(), os.Stdout, 60); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, epochs int) error {
	x, _ := synthetic.Views(4, 300, 3, 0.8, 16, 8)
	// An untrained network has the anchors of the start, P_v = polar(ZᵀX_v) for the labels Z of one k-means over all views. The
	// paper preset sees the views themselves; the default one has neighbours, and anchors of smoothed views.
	views := []largemvc.View{largemvc.MatrixView(x[0]), largemvc.MatrixView(x[1])}
	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: 3, Epochs: largemvc.None,
		Preset: largemvc.PresetPaper, Preprocess: largemvc.None})
	if err != nil {
		return err
	}
	start := largemvc.StartPoint{Anchors: []mat.Matrix{c.Anchors(0, 0), c.Anchors(0, 1)}}

	data, err := largemvc.NewData(tensor.Float64, []mat.Matrix{x[0], x[1]}, nil)
	if err != nil {
		return err
	}
	net := network{Noise: &cauchy{}}
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph()}, data, start); err != nil {
		return err
	}
	if _, err := gorgonia.Grad(net.Loss(), net.Learnables()...); err != nil {
		return err
	}
	vm := gorgonia.NewTapeMachine(net.Loss().Graph(), gorgonia.BindDualValues(net.Learnables()...))
	defer vm.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.05))
	for epoch := 1; epoch <= epochs; epoch++ {
		if err := vm.RunAll(); err != nil {
			return err
		}
		if epoch == 1 || epoch == epochs {
			fmt.Fprintf(w, "epoch %d: loss %.4f, widths %.2f and %.2f\n", epoch, net.Loss().Value().Data(),
				net.Noise.width[0].Value().Data(), net.Noise.width[1].Value().Data())
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(net.Learnables())); err != nil {
			return err
		}
		if err := net.Project(); err != nil {
			return err
		}
		vm.Reset()
	}
	return nil
}
