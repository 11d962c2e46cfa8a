package largemvc

import (
	"fmt"
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

// weights returns the w_v of the data's views.
func (r Reduction) weights(d *Data) []float64 {
	out := make([]float64, d.Views())
	for v, square := range d.squares {
		switch r {
		case Sum:
			out[v] = 1
		case Relative:
			if square > 0 {
				out[v] = 1 / (float64(d.Views()) * square)
			}
		default:
			out[v] = 1 / (float64(d.counts[v]) * float64(d.lossDims[v]))
		}
	}
	return out
}
