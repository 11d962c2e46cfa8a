package largemvc

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/neighbor"
)

// lossTerms are the terms of a loss beside the reconstruction.
type lossTerms[T kernel.Float] struct {
	neighbors float64 // weight of the information of neighbours; 0: without that term
	heldOut   float64 // weight of the held-out information; 0: without that term
	known     float64 // weight of the known labels; 0: without that term
	graph     neighbor.Operator
	held      *information.LeaveOneOut[T]
	columns   []int                                     // of H, of the known classes of the samples; −1: not known
	extra     func(net Network) (*gorgonia.Node, error) // nil: there is none
	samples   int                                       // of all ranks
	workers   int
}

// add returns the cost of a network: its reconstruction loss and the terms. The fused passes take the information of neighbours
// and the held-out information into their own loss.
func (l *lossTerms[T]) add(m *Model[Represent, Noise, Anchor]) (*gorgonia.Node, error) {
	cost, ops := m.Loss(), *l
	var err error
	if fused := m.fused(); fused != nil {
		err = l.setFused(m.env.Anchors, fused)
		ops.neighbors, ops.heldOut = 0, 0
	}
	if err == nil {
		cost, err = ops.addOps(m, cost)
	}
	if err != nil {
		return nil, fmt.Errorf("largemvc: clusters in the loss: %w", err)
	}
	if l.extra == nil {
		return cost, nil
	}
	err = guarded(func() error {
		extra, err := l.extra(m)
		if err != nil || extra == nil {
			return err
		}
		if !extra.IsScalar() {
			return fmt.Errorf("its shape is %v, want a scalar", extra.Shape())
		}
		cost, err = op.Sum[T]("loss and extra loss", cost, extra)
		return err
	})
	if err != nil && strings.Contains(err.Error(), "Unification Fail") { // Gorgonia's words
		err = fmt.Errorf("%w; nodes and constants must have the element type %v", err, m.env.Of)
	}
	if err != nil {
		return nil, fmt.Errorf("largemvc: extra loss: %w", err)
	}
	return cost, nil
}

// setFused gives the terms for clusters to the fused passes.
func (l *lossTerms[T]) setFused(anchors int, fused unfold.Fused) error {
	if l.neighbors == 0 && l.heldOut == 0 {
		return nil
	}
	o := information.TermsOptions[T]{Workers: l.workers, Samples: l.samples}
	if l.neighbors > 0 {
		o.Graph, o.Neighbors = l.graph, l.neighbors
	}
	if l.heldOut > 0 {
		o.Held, o.HeldOut = l.held, l.heldOut
	}
	return device.SetTerms(fused.Engine(), anchors, o)
}

// addOps adds the terms for clusters to a cost as ops of the graph.
func (l *lossTerms[T]) addOps(m *Model[Represent, Noise, Anchor], cost *gorgonia.Node) (*gorgonia.Node, error) {
	if l.neighbors == 0 && l.heldOut == 0 && l.known == 0 {
		return cost, nil
	}
	h, err := m.H(m.env.Layers)
	if err != nil {
		return nil, err
	}
	add := func(what string, weight float64, x *gorgonia.Node, err error) error {
		if err != nil {
			return err
		}
		if x, err = op.Scale[T](what, x, weight); err != nil {
			return err
		}
		cost, err = op.Sum[T]("loss and "+what, cost, x)
		return err
	}
	if l.neighbors > 0 {
		x, err := term.Neighbors[T](l.workers, h, l.graph, 0)
		if err := add("neighbours", l.neighbors, x, err); err != nil {
			return nil, err
		}
	}
	if l.heldOut > 0 {
		x, err := term.HeldOut(l.workers, h, l.held, 0)
		if err := add("held-out prediction", l.heldOut, x, err); err != nil {
			return nil, err
		}
	}
	if l.known > 0 {
		x, err := term.Known[T](l.workers, h, l.columns, 0)
		if err := add("known labels", l.known, x, err); err != nil {
			return nil, err
		}
	}
	return cost, nil
}
