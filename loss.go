package largemvc

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/device"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/information/term"
	"github.com/largemvc/largemvc/internal/op"
)

var reductionOption = option{"reduction", Auto, []string{"auto", "mean", "sum", "relative"}}

// Reduction says what the loss makes of the squared errors of a view. Auto is what the preset says in a Config, and
// ReductionMean in a Model.
type Reduction int

const (
	// ReductionMean averages over the entries of the rows that have the view: w_v = 1/(n_v d_v), as torch's MSE does.
	ReductionMean Reduction = iota + 1
	// ReductionSum adds them up, which gives ‖X_v − H P_v‖²_F.
	ReductionSum
	// ReductionRelative takes a view's sum relative to that of the view, and the mean over views: w_v = 1/(V ‖X_v‖²_F). The
	// loss of H = 0 is 1.
	ReductionRelative
)

// String returns auto, mean, sum or relative.
func (r Reduction) String() string { return reductionOption.name(int(r)) }

// MarshalText returns the name.
func (r Reduction) MarshalText() ([]byte, error) { return marshalOption(&reductionOption, r) }

// UnmarshalText reads a name.
func (r *Reduction) UnmarshalText(text []byte) error {
	return unmarshalOption(&reductionOption, r, text)
}

func (r Reduction) check() error { return reductionOption.check(int(r)) }

// weights returns the w_v of the data's views.
func (r Reduction) weights(d *Data) []float64 {
	out := make([]float64, d.Views())
	for v, square := range d.squares {
		switch r {
		case ReductionSum:
			out[v] = 1
		case ReductionRelative:
			if square > 0 {
				out[v] = 1 / (float64(d.Views()) * square)
			}
		default:
			out[v] = 1 / (float64(d.counts[v]) * float64(d.lossDims[v]))
		}
	}
	return out
}

// sumLosses makes the cost: the network's loss, of which the terms for clusters are part, and what is added to it.
func (t *lossNetwork[T]) sumLosses() error {
	c := t.config
	t.cost = t.model.Loss()
	if err := t.setTerms(); err != nil {
		return fmt.Errorf("largemvc: clusters in the loss: %w", err)
	}
	if c.ExtraLoss == nil {
		return nil
	}
	err := guarded(func() error {
		extra, err := c.ExtraLoss(t.model)
		if err != nil || extra == nil {
			return err
		}
		if !extra.IsScalar() {
			return fmt.Errorf("its shape is %v, want a scalar", extra.Shape())
		}
		t.cost, err = op.Sum[T]("loss and extra loss", t.cost, extra)
		return err
	})
	if err != nil {
		return fmt.Errorf("largemvc: extra loss: %w", err)
	}
	return nil
}

// setTerms gives the network the terms of neighbours and of held-out prediction, where there are weights for them.
func (t *lossNetwork[T]) setTerms() error {
	c := t.config
	if !c.hasNeighborLoss() && !c.hasHeldOutLoss() {
		return nil
	}
	if t.fused == nil {
		return t.addTerms()
	}
	o := information.TermsOptions[T]{
		Temperature: c.Neighborhood.Temperature, Workers: c.Machine.Workers, Samples: t.in.data.group.Total(t.in.data.samples),
	}
	if c.hasNeighborLoss() {
		o.Graph, o.Neighbors = t.in.graph, c.Neighborhood.Weight
	}
	if c.hasHeldOutLoss() {
		o.Held, o.HeldOut = t.in.heldOut, c.Neighborhood.HeldOutWeight
	}
	return device.SetTerms(t.fused.Engine(), c.Anchors, o)
}

// addTerms adds the same terms as ops of the graph.
func (t *lossNetwork[T]) addTerms() error {
	c := t.config
	h, err := t.model.H(c.Layers)
	if err != nil {
		return err
	}
	add := func(what string, weight float64, x *gorgonia.Node, err error) error {
		if err != nil {
			return err
		}
		if x, err = op.Scale[T](what, x, weight); err != nil {
			return err
		}
		t.cost, err = op.Sum[T]("loss and "+what, t.cost, x)
		return err
	}
	if c.hasNeighborLoss() {
		x, err := term.Neighbors[T](c.Machine.Workers, h, t.in.graph, c.Neighborhood.Temperature)
		if err := add("neighbours", c.Neighborhood.Weight, x, err); err != nil {
			return err
		}
	}
	if c.hasHeldOutLoss() {
		x, err := term.HeldOut(c.Machine.Workers, h, t.in.heldOut, c.Neighborhood.Temperature)
		if err := add("held-out prediction", c.Neighborhood.HeldOutWeight, x, err); err != nil {
			return err
		}
	}
	return nil
}
