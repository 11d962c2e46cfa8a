// Command customloss adds a custom term to the loss: the entropy of softmax(H), row by row. It is low if each sample belongs to
// one cluster. The program adds it by Config.ExtraLoss, then on a Gorgonia graph that it runs itself.
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
	"github.com/largemvc/largemvc/examples/synthetic"
)

func main() {
	if err := run(context.Background(), os.Stdout, 100); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, epochs int) error {
	x, classes := synthetic.Views(3, 400, 4, 1.5, 20, 10)
	views := []largemvc.View{largemvc.MatrixView(x[0]), largemvc.MatrixView(x[1])}
	for _, weight := range []float64{0, 0.1} {
		// The loss of PaperConfig is the reconstruction alone; the loss of the defaults has a term for neighbours already.
		config := largemvc.PaperConfig(4)
		config.Epochs, config.Float64 = epochs, true
		config.ExtraLoss = func(net largemvc.Network) (*gorgonia.Node, error) { return entropy(net, weight) }
		c, err := largemvc.Fit(ctx, views, config)
		if err != nil {
			return err
		}
		scores, err := largemvc.Evaluate(classes, c.Labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "Fit with entropy × %.1f: loss %.4f → %.4f, ACC %.3f\n",
			weight, c.Loss[0], c.Loss[len(c.Loss)-1], scores.ACC)
	}
	// An untrained network has the anchors of the start: here those of the data as they are.
	config := largemvc.PaperConfig(4)
	config.Epochs, config.Preprocess = largemvc.None, largemvc.None
	c, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		return err
	}
	return onGraph(w, x, largemvc.StartPoint{Anchors: []mat.Matrix{c.Anchors(0, 0), c.Anchors(0, 1)}}, epochs)
}

// onGraph trains a network by hand: network, loss, gradients, solver. Its θ and ρ stay at 0 or above, as in the default preset;
// PaperConfig has SoftThreshold and RowShrink with Unconstrained.
func onGraph(w io.Writer, x []*mat.Dense, start largemvc.StartPoint, epochs int) error {
	data, err := largemvc.NewData(tensor.Float64, []mat.Matrix{x[0], x[1]}, nil)
	if err != nil {
		return err
	}
	var net largemvc.LargeMvCNet
	if err := net.Build(largemvc.Env{G: gorgonia.NewGraph()}, data, start); err != nil {
		return err
	}
	extra, err := entropy(&net, 0.1)
	if err != nil {
		return err
	}
	cost, err := gorgonia.Add(net.Loss(), extra)
	if err != nil {
		return err
	}
	if _, err := gorgonia.Grad(cost, net.Learnables()...); err != nil {
		return err
	}
	vm := gorgonia.NewTapeMachine(cost.Graph(), gorgonia.BindDualValues(net.Learnables()...))
	defer vm.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))
	var first float64
	for epoch := range epochs {
		if err := vm.RunAll(); err != nil {
			return err
		}
		if epoch == 0 {
			first = cost.Value().Data().(float64)
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(net.Learnables())); err != nil {
			return err
		}
		if err := net.Project(); err != nil {
			return err
		}
		if epoch < epochs-1 {
			vm.Reset()
		}
	}
	fmt.Fprintf(w, "on a graph, views as they are: loss %.4f → %.4f with the entropy term %.4f\n",
		first, cost.Value().Data(), extra.Value().Data())
	_, err = fmt.Fprintln(w, "A custom term is trained with the loss, in Fit and on a graph that you run yourself.")
	return err
}
