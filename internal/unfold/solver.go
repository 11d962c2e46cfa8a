package unfold

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/optim"
)

// Adam is the optimiser of Kingma and Ba (2015) as a gorgonia.Solver. Unlike Gorgonia's own it keeps its state in float64
// and in reach, so that a run can be continued to the same bits. The zero value is ready.
type Adam struct {
	optim.Options // without its schedule, which Schedule applies

	state   adam.State
	plateau adam.Plateau
}

var _ gorgonia.Solver = (*Adam)(nil)

// State returns a copy of what the optimiser remembers of its steps.
func (a *Adam) State() adam.State { return a.state.Clone() }

// SetState makes a the optimiser that had the state. It keeps a copy: its next steps, on the same values, have
// the same bits. It returns an error, and changes nothing, if the moments do not fit each other.
func (a *Adam) SetState(state adam.State) error {
	if err := state.Check(); err != nil {
		return fmt.Errorf("Adam: %w", err)
	}
	a.state = state.Clone()
	return nil
}

// Schedule sets the learning rate that follows the losses of further epochs, one each before the step of the epoch.
func (a *Adam) Schedule(losses ...float64) {
	a.Options = a.WithDefaults()
	for _, loss := range losses {
		a.LearningRate = a.plateau.After(a.Options, a.LearningRate, loss)
	}
}

// Step moves every value against its gradient and sets the gradient to zero. The values must be the same, in the same
// order, in every call.
func (a *Adam) Step(model []gorgonia.ValueGrad) error {
	values, gradients := make([]adam.Entries, len(model)), make([]adam.Entries, len(model))
	for i, vg := range model {
		gradient, err := vg.Grad()
		if err != nil {
			return fmt.Errorf("Adam: no gradient of value %d: %w", i, err)
		}
		x, g := op.EntriesOf(vg.Value()), op.EntriesOf(gradient)
		if x == nil || g == nil {
			return fmt.Errorf("Adam: value %d is %T, its gradient %T", i, vg.Value(), gradient)
		}
		values[i], gradients[i] = x, g
	}
	if err := a.state.Step(a.WithDefaults(), values, gradients); err != nil {
		return fmt.Errorf("Adam: %w", err)
	}
	return nil
}
