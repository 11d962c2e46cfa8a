// Package term makes nodes of a Gorgonia graph from the terms of package information, of a representation H.
package term

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/neighbor"
)

// Node is a node of a Gorgonia graph.
type Node = gorgonia.Node

// table holds the values of a term for an H, for its value and its gradient.
type table interface{ Gain() float64 }

// Neighbors returns the term of H (n×m) and a graph of its samples.
func Neighbors[T kernel.Float](workers int, h *Node, graph neighbor.Operator, temperature float64) (*Node, error) {
	if err := neighbor.CheckOperator(graph); err != nil {
		return nil, fmt.Errorf("neighbour information: %w", err)
	}
	if err := check("neighbour information", "graph", h, graph.Len(), temperature); err != nil {
		return nil, err
	}
	s := information.NewNeighbors[T](nil, workers, h.Shape()[1], graph, temperature)
	return node(fmt.Sprintf("neighbour information of %T %p", graph, graph), source[T, *information.NeighborTable[T]](s), h)
}

// HeldOut returns the term of H (n×m) and a regression of its samples.
func HeldOut[T kernel.Float](workers int, h *Node, held *information.LeaveOneOut[T], temperature float64) (*Node, error) {
	if err := check("held-out information", "HeldOut", h, held.Samples(), temperature); err != nil {
		return nil, err
	}
	s := information.NewHeldOut(workers, h.Shape()[1], held, temperature)
	return node(fmt.Sprintf("held-out information of %p", held), source[T, *information.HeldOutTable[T]](s), h)
}

// Known returns the term of H (n×m) and the clusters of its samples, −1 where they are not known: −(mean of log q_iy)/log m.
func Known[T kernel.Float](workers int, h *Node, clusters []int, temperature float64) (*Node, error) {
	if err := check("known clusters", "list of known clusters", h, len(clusters), temperature); err != nil {
		return nil, err
	}
	for i, y := range clusters {
		if m := h.Shape()[1]; y < -1 || y >= m {
			return nil, fmt.Errorf("the known cluster of sample %d is %d, want −1 (not known) or 0 to %d", i, y, m-1)
		}
	}
	if !slices.ContainsFunc(clusters, func(y int) bool { return y >= 0 }) {
		return nil, errors.New("no sample has a known cluster")
	}
	s := information.NewKnown[T](workers, h.Shape()[1], slices.Clone(clusters), temperature)
	return node(fmt.Sprintf("known clusters %p", s), source[T, information.MeanLog](s), h)
}

// check returns an error for an H or a temperature that does not fit the term; samples is its number of samples.
func check(what, of string, h *Node, samples int, temperature float64) error {
	n, m := h.Shape()[0], h.Shape()[1]
	switch {
	case samples != n:
		return fmt.Errorf("the matrix H has %d rows, the %s has %d samples", n, of, samples)
	case m < 2:
		return fmt.Errorf("%s of %d clusters, want at least 2", what, m)
	case !(temperature >= 0) || math.IsInf(temperature, 1):
		return fmt.Errorf("the temperature is %g, want 0 (the default) or a positive finite number", temperature)
	}
	return nil
}

// source computes a term.
type source[T kernel.Float, V table] interface {
	Dims() (n, m int)
	Temperature() float64
	Table(h []T) (V, error)
	Gradient(h []T, t V, factor float64) ([]T, error) // factor·∂I/∂H, n×m; it may change the table
}

// node makes the node of a term. name identifies the term except for the temperature.
func node[T kernel.Float, V table](name string, s source[T, V], h *Node) (*Node, error) {
	kept := new(latest[T, V])
	_, m := s.Dims()
	scale := math.Log(float64(m))
	o := &op.Operation{
		Label: fmt.Sprintf("%s at %g", name, s.Temperature()),
		Diff:  op.All(1),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			t, err := s.Table(x[0])
			if err != nil {
				return nil, err
			}
			kept.put(x[0], t)
			return op.Scalar[T](-t.Gain() / scale), nil
		}),
		Grad: func(_ int, in gorgonia.Nodes, _, g *Node) (*Node, error) {
			return derivative(name, s, kept, scale, in[0], g)
		},
	}
	n, err := op.Apply(o, op.Dtype[T](), nil, h)
	if err != nil {
		return nil, err
	}
	return op.Anchored(n)
}

// derivative makes the derivative of the term by H, times the scalar cotangent g.
func derivative[T kernel.Float, V table](name string, s source[T, V], kept *latest[T, V], scale float64,
	h, g *Node) (*Node, error) {
	n, m := s.Dims()
	o := &op.Operation{
		Label: fmt.Sprintf("derivative of %s at %g", name, s.Temperature()),
		Run: op.On(func(x [][]T) (gorgonia.Value, error) {
			t, ok := kept.take(x[0])
			if !ok {
				var err error
				if t, err = s.Table(x[0]); err != nil {
					return nil, err
				}
			}
			dh, err := s.Gradient(x[0], t, -float64(x[1][0])/scale)
			return op.Dense(dh, n, m), err
		}),
	}
	return op.Apply(o, op.Dtype[T](), tensor.Shape{n, m}, h, g)
}

// latest passes the values of a term for an H to its derivative, which would compute the same again.
type latest[T kernel.Float, V any] struct {
	mutex sync.Mutex
	h     []T
	value V
	full  bool
}

func (l *latest[T, V]) put(h []T, value V) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.h, l.value, l.full = append(l.h[:0], h...), value, true
}

// take returns and removes the value of h, if the latest value belongs to this H.
func (l *latest[T, V]) take(h []T) (value V, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var none V
	value, ok = l.value, l.full && slices.Equal(l.h, h)
	l.value, l.full = none, false
	return value, ok
}
