package largemvc

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Adam is the optimiser of Kingma and Ba (2015) as a gorgonia.Solver. Unlike Gorgonia's own it keeps its state in float64
// and in reach, so that a run can be continued to the same bits. The zero value is ready.
type Adam struct {
	LearningRate float64 // 0: 0.01
	Beta1, Beta2 float64 // 0: 0.9 and 0.999
	Epsilon      float64 // 0: 1e-8

	steps         int
	first, second [][]float64
}

var _ gorgonia.Solver = (*Adam)(nil)

// AdamState is what an Adam remembers of its steps.
type AdamState struct {
	Steps         int
	First, Second [][]float64 // moments of the gradient, one slice a value; nil before the first step
}

// State returns a copy of the state.
func (a *Adam) State() AdamState {
	return AdamState{Steps: a.steps, First: cloneRows(a.first), Second: cloneRows(a.second)}
}

// SetState makes a the optimiser that had the state s, of which it keeps a copy: its next steps, on the same values, have
// the same bits. It is an error, and changes nothing, if the moments do not fit each other.
func (a *Adam) SetState(s AdamState) error {
	if s.Steps < 0 || len(s.First) != len(s.Second) || (s.Steps > 0) != (s.First != nil) {
		return fmt.Errorf("largemvc: Adam: %d steps with moments of %d and %d values", s.Steps, len(s.First), len(s.Second))
	}
	for i, first := range s.First {
		if len(first) != len(s.Second[i]) {
			return fmt.Errorf("largemvc: Adam: moments of value %d have %d and %d entries", i, len(first), len(s.Second[i]))
		}
	}
	a.steps, a.first, a.second = s.Steps, cloneRows(s.First), cloneRows(s.Second)
	return nil
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
// order, in every call.
func (a *Adam) Step(model []gorgonia.ValueGrad) error {
	if a.first == nil {
		a.first, a.second = make([][]float64, len(model)), make([][]float64, len(model))
	}
	if len(model) != len(a.first) {
		return fmt.Errorf("largemvc: Adam steps %d values, %d before", len(model), len(a.first))
	}
	a.steps++
	beta1, beta2 := orDefault(a.Beta1, 0.9), orDefault(a.Beta2, 0.999)
	rate := orDefault(a.LearningRate, 0.01)
	correct1, correct2 := 1-math.Pow(beta1, float64(a.steps)), 1-math.Pow(beta2, float64(a.steps))
	for i, vg := range model {
		grad, err := vg.Grad()
		if err != nil {
			return fmt.Errorf("largemvc: Adam: no gradient of value %d: %w", i, err)
		}
		x, g := asNumbers(vg.Value()), asNumbers(grad)
		if x == nil || g == nil || x.len() != g.len() {
			return fmt.Errorf("largemvc: Adam: value %d is %T, its gradient %T", i, vg.Value(), grad)
		}
		if a.first[i] == nil {
			a.first[i], a.second[i] = make([]float64, x.len()), make([]float64, x.len())
		}
		if len(a.first[i]) != x.len() {
			return fmt.Errorf("largemvc: Adam: value %d has %d entries, %d before", i, x.len(), len(a.first[i]))
		}
		for j := range x.len() {
			d := g.at(j)
			a.first[i][j] = beta1*a.first[i][j] + (1-beta1)*d
			a.second[i][j] = beta2*a.second[i][j] + (1-beta2)*d*d
			x.set(j, x.at(j)-rate*(a.first[i][j]/correct1)/(math.Sqrt(a.second[i][j]/correct2)+orDefault(a.Epsilon, 1e-8)))
			g.set(j, 0)
		}
	}
	return nil
}

// numbers gives access to the entries of a Gorgonia value in place, whatever its kind.
type numbers interface {
	len() int
	at(j int) float64
	set(j int, x float64)
}

type float64s []float64

func (f float64s) len() int             { return len(f) }
func (f float64s) at(j int) float64     { return f[j] }
func (f float64s) set(j int, x float64) { f[j] = x }

type float32s []float32

func (f float32s) len() int             { return len(f) }
func (f float32s) at(j int) float64     { return float64(f[j]) }
func (f float32s) set(j int, x float64) { f[j] = float32(x) }

type scalar64 struct{ x *gorgonia.F64 }

func (s scalar64) len() int             { return 1 }
func (s scalar64) at(int) float64       { return float64(*s.x) }
func (s scalar64) set(_ int, x float64) { *s.x = gorgonia.F64(x) }

type scalar32 struct{ x *gorgonia.F32 }

func (s scalar32) len() int             { return 1 }
func (s scalar32) at(int) float64       { return float64(*s.x) }
func (s scalar32) set(_ int, x float64) { *s.x = gorgonia.F32(x) }

// asNumbers returns the entries of v, nil if v is of no kind that holds floats in order.
func asNumbers(v gorgonia.Value) numbers {
	switch x := v.(type) {
	case *gorgonia.F64:
		return scalar64{x}
	case *gorgonia.F32:
		return scalar32{x}
	case *tensor.Dense:
		if x.RequiresIterator() || !x.DataOrder().IsRowMajor() {
			return nil
		}
		switch x.Dtype() {
		case tensor.Float64:
			return float64s(x.Float64s())
		case tensor.Float32:
			return float32s(x.Float32s())
		}
	}
	return nil
}
