package largemvc

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/op"

	"github.com/largemvc/largemvc/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// informationTerm is −I/log m of some table of clusters as a node: what NeighborInformation and HeldOutInformation share.
type informationTerm[T kernel.Float, V any] struct {
	softAssignment[T]
	name        string                                         // with all that the term depends on but the temperature
	table       func(h []T) (*V, error)                        // what it makes of an H
	information func(*V) float64                               // I
	gradient    func(h []T, t *V, factor float64) ([]T, error) // factor·∂I/∂H, n×m; it may change the table
}

// checkTerm refuses an H or a temperature that such a term cannot have; samples is the number that it knows.
func checkTerm(what, of string, h *gorgonia.Node, samples int, temperature float64) error {
	n, m := h.Shape()[0], h.Shape()[1]
	switch {
	case samples != n:
		return fmt.Errorf("H has %d rows, the %s has %d samples", n, of, samples)
	case m < 2:
		return fmt.Errorf("%s of %d clusters, want at least 2", what, m)
	case !(temperature >= 0) || math.IsInf(temperature, 1):
		return fmt.Errorf("the temperature is %g", temperature)
	}
	return nil
}

// node makes the term of H.
func (s informationTerm[T, V]) node(h *gorgonia.Node) (*gorgonia.Node, error) {
	kept := new(latest[T, V])
	scale := math.Log(float64(s.m))
	o := &op.Operation{
		Label: fmt.Sprintf("%s at %g", s.name, s.temperature),
		Diff:  op.All(1),
		Run: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := op.Elements[T](in[0])
			if err != nil {
				return nil, err
			}
			t, err := s.table(x)
			if err != nil {
				return nil, err
			}
			kept.put(x, t)
			return op.Scalar[T](-s.information(t) / scale), nil
		},
		Grad: func(_ int, in gorgonia.Nodes, _, g *gorgonia.Node) (*gorgonia.Node, error) {
			return s.derivative(kept, scale, in[0], g)
		},
	}
	return op.Apply(o, op.Dtype[T](), nil, h)
}

// derivative makes that of the term by H, times the scalar cotangent g.
func (s informationTerm[T, V]) derivative(kept *latest[T, V], scale float64, h, g *gorgonia.Node) (*gorgonia.Node, error) {
	o := &op.Operation{
		Label: fmt.Sprintf("derivative of %s at %g", s.name, s.temperature),
		Run: func(in []gorgonia.Value) (gorgonia.Value, error) {
			x, err := op.Inputs[T](in)
			if err != nil {
				return nil, err
			}
			t := kept.take(x[0])
			if t == nil {
				if t, err = s.table(x[0]); err != nil {
					return nil, err
				}
			}
			dh, err := s.gradient(x[0], t, -float64(x[1][0])/scale)
			return op.Dense(dh, s.n, s.m), err
		},
	}
	return op.Apply(o, op.Dtype[T](), tensor.Shape{s.n, s.m}, h, g)
}

// latest hands what a term made of an H over to its derivative, which would make the same again.
type latest[T kernel.Float, V any] struct {
	mutex sync.Mutex
	h     []T
	value *V
}

func (l *latest[T, V]) put(h []T, value *V) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.h, l.value = append(l.h[:0], h...), value
}

// take returns the value of h, nil if the latest is of another H, and forgets it.
func (l *latest[T, V]) take(h []T) *V {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	value := l.value
	l.value = nil
	if value == nil || !slices.Equal(l.h, h) {
		return nil
	}
	return value
}

// jointTable is the mutual information of a table J (m×m) that sums to 1.
type jointTable struct {
	ratio       []float64 // log(J_ab / (Σ_b J_ab · Σ_a J_ab)), m×m
	information float64
}

// informationFloor keeps logarithms finite where a softmax has underflowed.
const informationFloor = 1e-300

func newJointTable(joint []float64, m int) jointTable {
	t := jointTable{ratio: make([]float64, m*m)}
	rows, columns := make([]float64, m), make([]float64, m)
	for a := range m {
		for b := range m {
			rows[a] += joint[a*m+b]
			columns[b] += joint[a*m+b]
		}
	}
	for a := range m {
		for b := range m {
			x := joint[a*m+b]
			l := math.Log(max(x, informationFloor)) - math.Log(max(rows[a], informationFloor)) - math.Log(max(columns[b], informationFloor))
			t.ratio[a*m+b] = l
			t.information += x * l
		}
	}
	return t
}
