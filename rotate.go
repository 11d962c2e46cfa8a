package largemvc

import (
	"context"

	"github.com/largemvc/largemvc/internal/prepare"
)

// Rotation says whether views of a rank k below their d_v features are trained in k columns: X_v = X̃_v·Qᵀ with
// orthonormal columns in Q (d_v×k), and P_v = P̃_v·Qᵀ. All that the network does with a view goes through inner products
// of its rows, so the result is the same to rounding, at k/d_v of the cost of an epoch; the loss keeps the mean over d_v
// columns. Anchors, representation, trust and labels are those of the network in the original columns, where new samples
// are predicted too: nothing of the rotation is left after training.
type Rotation int

const (
	// RotateAuto rotates where the saving in 100 epochs exceeds the cost of finding Q, mostly views of fewer samples than
	// features. It leaves the views as they are where there is an ExtraLoss, whose P nodes are m×k for a rotated view.
	RotateAuto Rotation = iota
	// RotateAlways rotates every view whose rank is at least m and below d_v.
	RotateAlways
	// RotateNever leaves the views as they are. So do given StartAnchors, which need not lie in the span of the rows.
	RotateNever
)

var rotationNames = []string{"auto", "always", "never"}

func (r Rotation) String() string { return optionName(rotationNames, int(r)) }

// ParseRotation returns the rotation of that name: auto, always or never.
func ParseRotation(s string) (Rotation, error) {
	i, err := parseOption("rotation", rotationNames, s)
	return Rotation(i), err
}

// represent sends the training samples through a trained network in the original columns, as Predict does: it returns H
// (n×m, with the stride kernel.Pad(m)) and the trust of every view, nil without noise.
func (j *job[T]) represent(ctx context.Context, p *Predictor) (h []T, trust [][]float64, err error) {
	standard := *j.standard
	for _, x := range j.views {
		standard.Applied = append(standard.Applied, prepare.InPlace[T](x, j.config.Overwrite))
	}
	f, err := newFitted(p, prepare.NewRows[T](&standard, p.dims), nil)
	if err != nil {
		return nil, nil, err
	}
	out := &predictions{wantH: true}
	if j.config.Variant == Large {
		for range j.views {
			out.trust = append(out.trust, make([]float64, p.samples))
		}
	}
	if err := f.run(ctx, j.views, j.config.Workers, out); err != nil {
		return nil, nil, err
	}
	if h, ok := any(out.h.f32).([]T); ok {
		return h, out.trust, nil
	}
	return any(out.h.f64).([]T), out.trust, nil
}
