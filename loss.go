package largemvc

import (
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"gorgonia.org/gorgonia"
)

// Reduction says what the loss makes of the squared errors of a view.
type Reduction int

const (
	// PresetReduction is what the preset says in a Config, and Mean in a Model.
	PresetReduction Reduction = iota
	// Mean averages over the entries of the rows that have the view: w_v = 1/(n_v d_v), as torch's MSE does.
	Mean
	// Sum adds them up, which gives ‖X_v − H P_v‖²_F.
	Sum
	// Relative takes a view's sum relative to that of the view, and the mean over views: w_v = 1/(V ‖X_v‖²_F). The loss
	// of H = 0 is 1.
	Relative
)

var reductionNames = []string{"preset", "mean", "sum", "relative"}

// ParseReduction returns the reduction of that name: preset, mean, sum or relative.
func ParseReduction(s string) (Reduction, error) {
	i, err := parseOption("reduction", reductionNames, s)
	return Reduction(i), err
}

// String returns preset, mean, sum or relative.
func (r Reduction) String() string { return optionName(reductionNames, int(r)) }

func (r Reduction) check() error {
	if r < PresetReduction || r > Relative {
		return fmt.Errorf("largemvc: unknown reduction %d", int(r))
	}
	return nil
}

// lossWeights returns w_v of every view.
func lossWeights[T kernel.Float](r Reduction, views []*view[T]) []float64 {
	out := make([]float64, len(views))
	for v, w := range views {
		switch r {
		case Sum:
			out[v] = 1
		case Relative:
			if square := kernel.Sum(w.norms); square > 0 {
				out[v] = 1 / (float64(len(views)) * square)
			}
		default:
			out[v] = 1 / (float64(w.count) * float64(w.lossDim))
		}
	}
	return out
}

// loss returns the scalar Σ_v w_v Σ_i ‖x_iv − h_i P_v‖² over the rows present. The sums are taken in float64.
func loss[T kernel.Float](b *builder[T], r Reduction, h *gorgonia.Node, y, p []*gorgonia.Node) (*gorgonia.Node, error) {
	var total *gorgonia.Node
	for v, weight := range lossWeights(r, b.views) {
		part, err := residualNode(b, residual{view: v, loss: true, weight: weight}, h, y[v], p[v])
		if err != nil {
			return nil, err
		}
		if total == nil {
			total = part
			continue
		}
		if total, err = gorgonia.Add(total, part); err != nil {
			return nil, fmt.Errorf("loss: %w", err)
		}
	}
	return total, nil
}
