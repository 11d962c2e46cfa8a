// Package optim has the settings of the optimiser of a fit, Adam (Kingma and Ba, 2015), or another one.
package optim

import (
	"cmp"

	"gorgonia.org/gorgonia"
)

// Options are the settings of Adam. A field that is 0 stands for its default.
type Options struct {
	LearningRate float64 // size of a step; default 0.01, and 0.03 for a fit with neighbours
	Beta1, Beta2 float64 // decay of the means of gradients and of their squares, below 1; default 0.9 and 0.999
	Epsilon      float64 // added to the root of the mean of squares; default 1e-8
	WeightDecay  float64 // λ: each step adds λ times the parameter to its gradient; default 0

	// Plateau is the number of epochs in a row without a lower loss that are allowed; default 0: the rate is constant. After
	// one more the learning rate is multiplied by Factor (down to 1e-8) and the count begins again. A loss is lower if it is
	// below the best one by more than 1/10,000 of its size. PyTorch calls this ReduceLROnPlateau.
	Plateau int
	Factor  float64 // factor of the learning rate, up to 1; default 0.1 if Plateau is set

	// Solver, if not nil, makes the optimiser of each restart in place of Adam; all other fields must then be zero. Its steps
	// move the learnable nodes; some are scalars, which Gorgonia's Barzilai-Borwein solver does not take. Ranks in one process
	// call Solver at the same time, and their steps must be equal. Files have no Solver, and a fit with
	// Checkpoint.Path cannot have one.
	Solver func() gorgonia.Solver `json:"-"`
}

// Published returns the settings of the code that the authors of LargeMvC-Net published. They keep θ at 0.01 and ρ at 0.001.
func Published() Options {
	return Options{LearningRate: 0.05, Beta1: 0.9, Beta2: 0.92, Epsilon: 0.01, WeightDecay: 0.15, Plateau: 15, Factor: 0.3}
}

// WithDefaults returns o with its defaults filled in; with a Solver it returns o.
func (o Options) WithDefaults() Options {
	if o.Solver != nil {
		return o
	}
	o.LearningRate, o.Epsilon = cmp.Or(o.LearningRate, 0.01), cmp.Or(o.Epsilon, 1e-8)
	o.Beta1, o.Beta2 = cmp.Or(o.Beta1, 0.9), cmp.Or(o.Beta2, 0.999)
	if o.Plateau > 0 {
		o.Factor = cmp.Or(o.Factor, 0.1)
	}
	return o
}
