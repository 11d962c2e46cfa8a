package terms_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/neighbor"
	"github.com/largemvc/largemvc/terms"
)

// The paper's network with a term that asks for clusters which can be told from the features.
func ExampleHeldOutInformation() {
	ctx := context.Background()
	views := []largemvc.View{
		largemvc.MatrixView(mat.NewDense(6, 3, []float64{3, 0, 0, 3, 0, 1, 2, 0, 0, 0, 3, 0, 0, 2, 1, 0, 3, 0})),
		largemvc.MatrixView(mat.NewDense(6, 3, []float64{2, 0, 1, 2, 1, 0, 2, 0, 0, 0, 2, 0, 0, 2, 1, 1, 2, 0})),
	}
	held, err := terms.NewHeldOut(ctx, views, terms.HeldOutConfig{Preprocess: largemvc.PreprocessSample})
	if err != nil {
		fmt.Println(err)
		return
	}
	config := largemvc.PaperConfig(2)
	config.ExtraLoss = func(net largemvc.Network) (*gorgonia.Node, error) {
		h, err := net.H(2)
		if err != nil {
			return nil, err
		}
		return terms.HeldOutInformation(h, held, 0)
	}
	c, err := largemvc.Fit(ctx, views, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Labels)
	// Output: [0 0 0 1 1 1]
}

// A graph of your own, of samples that were bought together, asks for clusters that do not part them.
func ExampleNeighborInformation() {
	const n = 40
	var cols []int32
	rowPtr, weights := []int{0}, []float64{}
	x := make([]float64, 0, 3*n)
	for i := range n {
		x = append(x, float64(i%2)*5, float64(i%7)/10, float64(1-i%2)*5)
		cols, weights = append(cols, int32(i^2)), append(weights, 1) // i was bought with one other sample of its kind
		rowPtr = append(rowPtr, len(cols))
	}
	links, err := neighbor.NewLinks(n, n, rowPtr, cols, weights)
	if err != nil {
		log.Fatal(err)
	}
	graph, err := neighbor.NewGraph(links)
	if err != nil {
		log.Fatal(err)
	}
	config := largemvc.Config{Clusters: 2, Epochs: 20}
	config.ExtraLoss = func(net largemvc.Network) (*gorgonia.Node, error) {
		h, err := net.H(2) // of the last layer
		if err != nil {
			return nil, err
		}
		return terms.NeighborInformation(h, graph, 0)
	}
	c, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.DenseView(n, 3, x)}, config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes)
	// Output: [20 20]
}

// Two groups of samples, and the known clusters of four of them. The network begins with labels that agree with these.
func ExampleKnownClusters() {
	const n = 40
	x, start, known := make([]float64, 0, 3*n), make([]int, n), make([]int, n)
	for i := range n {
		x = append(x, float64(i%2)*5, float64(i%7)/10, float64(1-i%2)*5)
		if start[i], known[i] = i%2, -1; i < 4 {
			known[i] = i % 2
		}
	}
	config := largemvc.Config{Clusters: 2, Epochs: 20, StartLabels: start}
	config.ExtraLoss = func(net largemvc.Network) (*gorgonia.Node, error) {
		h, err := net.H(2) // of the last layer
		if err != nil {
			return nil, err
		}
		term, err := terms.KnownClusters(h, known, 0)
		if err != nil {
			return nil, err
		}
		return gorgonia.Mul(gorgonia.NewConstant(float32(3)), term)
	}
	c, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.DenseView(n, 3, x)}, config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Sizes)
	// Output: [20 20]
}
