package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"gorgonia.org/gorgonia"
)

// Reduction says what the loss makes of the squared errors of a view.
type Reduction int

const (
	// Mean averages over the entries of the rows that have the view: w_v = 1/(n_v d_v), as torch's MSE does.
	Mean Reduction = iota
	// Sum adds them up, which gives ‖X_v − H P_v‖²_F.
	Sum
)

// String returns mean or sum.
func (r Reduction) String() string {
	switch r {
	case Mean:
		return "mean"
	case Sum:
		return "sum"
	}
	return fmt.Sprintf("Reduction(%d)", int(r))
}

func (r Reduction) check() error {
	if r != Mean && r != Sum {
		return fmt.Errorf("largemvc: unknown reduction %d", int(r))
	}
	return nil
}

// weight returns w_v for a view that count samples have.
func (r Reduction) weight(count, d int) float64 {
	if r == Sum {
		return 1
	}
	return 1 / (float64(count) * float64(d))
}

// loss returns the scalar Σ_v w_v Σ_i ‖x_iv − h_i P_v‖² over the rows present. The sums are taken in float64.
func loss[T kernel.Float](b *builder[T], r Reduction, h *gorgonia.Node, y, p []*gorgonia.Node) (*gorgonia.Node, error) {
	var total *gorgonia.Node
	for v, w := range b.views {
		part, err := residualNode(b, residual{view: v, loss: true, weight: r.weight(w.count, w.lossDim)}, h, y[v], p[v])
		if err != nil {
			return nil, err
		}
		if total == nil {
			total = part
			continue
		}
		if total, err = gorgonia.Add(total, part); err != nil {
			return nil, fmt.Errorf("largemvc: loss: %w", err)
		}
	}
	return total, nil
}
