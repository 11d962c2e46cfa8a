package optim_test

import (
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/optim"
)

// A larger step, and the paper's network with the optimiser and the thresholds of the authors' published code.
func ExampleOptions() {
	fmt.Printf("%+v\n", largemvc.Config{Optimizer: optim.Options{LearningRate: 0.02}}.WithDefaults().Optimizer)

	config := largemvc.PaperConfig(3)
	config.Represent = &largemvc.SoftThreshold{Fixed: true}
	config.Noise = &largemvc.RowShrink{Rho0: 0.001, Fixed: true}
	config.Optimizer = optim.Published()
	fmt.Printf("%+v\n", config.WithDefaults().Optimizer)
	// Output:
	// {LearningRate:0.02 Beta1:0.9 Beta2:0.999 Epsilon:1e-08 WeightDecay:0 Plateau:0 Factor:0 Solver:<nil>}
	// {LearningRate:0.05 Beta1:0.9 Beta2:0.92 Epsilon:0.01 WeightDecay:0.15 Plateau:15 Factor:0.3 Solver:<nil>}
}
