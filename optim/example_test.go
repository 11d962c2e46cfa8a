package optim_test

import (
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/optim"
)

// The optimiser of the authors' published code with the paper's network.
func ExampleOptions() {
	config := largemvc.PaperConfig(3)
	config.Optimizer = optim.Options{LearningRate: 0.05, Beta2: 0.92, Epsilon: 0.01, WeightDecay: 0.15, Plateau: 15, Factor: 0.3}
	fmt.Printf("%+v\n", config.WithDefaults().Optimizer)
	fmt.Printf("%+v\n", optim.Options{}.WithDefaults())
	// Output:
	// {LearningRate:0.05 Beta1:0.9 Beta2:0.92 Epsilon:0.01 WeightDecay:0.15 Plateau:15 Factor:0.3}
	// {LearningRate:0.01 Beta1:0.9 Beta2:0.999 Epsilon:1e-08 WeightDecay:0 Plateau:0 Factor:0}
}
