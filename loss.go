package largemvc

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
