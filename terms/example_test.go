package terms_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc"
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
