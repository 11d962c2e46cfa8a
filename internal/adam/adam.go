// Package adam is the arithmetic of the optimiser of Kingma and Ba (2015). Its state is in float64, whatever the values are
// held in, and in reach, so that a run can be continued to the same bits.
package adam

import (
	"fmt"
	"math"

	"github.com/largemvc/largemvc/optim"
)

// Entries are the entries of a value, or of its gradient, in place.
type Entries interface {
	Len() int
	At(j int) float64
	Set(j int, x float64)
}

// State holds the moments that the optimiser keeps from step to step.
type State struct {
	Steps         int
	First, Second [][]float64 // moments of the gradient, one slice a value; nil before the first step
}

// Check refuses moments that do not fit each other or the number of steps.
func (s *State) Check() error {
	if s.Steps < 0 || len(s.First) != len(s.Second) || (s.Steps > 0) != (s.First != nil) {
		return fmt.Errorf("%d steps with moments of %d and %d values", s.Steps, len(s.First), len(s.Second))
	}
	for i, first := range s.First {
		if len(first) != len(s.Second[i]) {
			return fmt.Errorf("moments of value %d have %d and %d entries", i, len(first), len(s.Second[i]))
		}
	}
	return nil
}

// Clone returns a copy of the state.
func (s *State) Clone() State {
	return State{Steps: s.Steps, First: cloneRows(s.First), Second: cloneRows(s.Second)}
}

func cloneRows(x [][]float64) [][]float64 {
	if x == nil {
		return nil
	}
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = append([]float64(nil), row...)
	}
	return out
}

// Step moves every value against its gradient and sets the gradient to zero. The values must be the same, in the same
// order, in every call. The settings are used as they are. Step returns an error, and changes nothing, where the sizes do not
// fit each other.
func (s *State) Step(r optim.Options, values, gradients []Entries) error {
	if s.First != nil && len(values) != len(s.First) {
		return fmt.Errorf("a step of %d values, %d before", len(values), len(s.First))
	}
	for i, x := range values {
		if n := gradients[i].Len(); n != x.Len() {
			return fmt.Errorf("value %d has %d entries, its gradient %d", i, x.Len(), n)
		}
		if s.First != nil && len(s.First[i]) != x.Len() {
			return fmt.Errorf("value %d has %d entries, %d before", i, x.Len(), len(s.First[i]))
		}
	}
	if s.First == nil {
		s.First, s.Second = zeros(values), zeros(values)
	}
	s.Steps++
	correct1, correct2 := 1-math.Pow(r.Beta1, float64(s.Steps)), 1-math.Pow(r.Beta2, float64(s.Steps))
	for i, x := range values {
		g, first, second := gradients[i], s.First[i], s.Second[i]
		for j := range first {
			d := g.At(j)
			if r.WeightDecay != 0 {
				d += r.WeightDecay * x.At(j)
			}
			first[j] = r.Beta1*first[j] + (1-r.Beta1)*d
			second[j] = r.Beta2*second[j] + (1-r.Beta2)*d*d
			x.Set(j, x.At(j)-r.LearningRate*(first[j]/correct1)/(math.Sqrt(second[j]/correct2)+r.Epsilon))
			g.Set(j, 0)
		}
	}
	return nil
}

func zeros(like []Entries) [][]float64 {
	out := make([][]float64, len(like))
	for i, x := range like {
		out[i] = make([]float64, x.Len())
	}
	return out
}

// Plateau lowers a learning rate when a loss stops falling, see optim.Options. The zero value is the beginning.
type Plateau struct {
	begun bool
	best  float64 // loss
	bad   int     // epochs since then
}

// After returns the rate that follows rate after the loss of an epoch.
func (p *Plateau) After(o optim.Options, rate, loss float64) float64 {
	p.bad++
	if !p.begun || loss < p.best-1e-4*math.Abs(p.best) {
		p.begun, p.best, p.bad = true, loss, 0
	}
	if o.Plateau > 0 && p.bad > o.Plateau {
		p.bad = 0
		return min(rate, max(o.Factor*rate, 1e-8))
	}
	return rate
}
