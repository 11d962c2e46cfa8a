package largemvc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/view"
)

// noveltySteps is the number of equal steps of the quantiles that a model keeps.
const noveltySteps = 100

// Novelty returns how far samples are from what the training saw, from 0 to 1: the share of the training samples that are nearer
// to the others. Of samples like those of the training, one in twenty has a novelty above 0.95; 1 is farther than any of them.
//
// With neighbours, far is what smoothing along the neighbours changes: 1 − ⟨x, y⟩, the mean over the inputs of the sample, with
// the row x before smoothing and y after it. Without them it is the share ‖x − hP‖²/‖x‖² of an input that the anchors do not
// explain. The quantiles are of some 200 training samples, with neighbours each taken as if it were new.
//
// Where the training had fewer samples than features, samples like its own seem newer than they are: a fifth of them had a
// novelty above 0.95 after a training on 105 samples of 48 to 1,302 features, and 5 % after one on 1,000 samples of 6 to 240.
//
// It costs about as much as Assign, and has its errors; a model that an earlier version saved has no quantiles,
// which is an error.
func (p *Predictor) Novelty(ctx context.Context, views []View) ([]float64, error) {
	in, err := p.checked(ctx, views)
	if err != nil {
		return nil, err
	}
	if p.novelty == nil {
		return nil, errors.New("largemvc: the model was saved by a version that did not keep what novelty needs: fit it again")
	}
	far, err := p.model.unlike(ctx, in, p)
	if err != nil {
		return nil, withName(err)
	}
	for i, x := range far {
		far[i] = shareBelow(p.novelty, x)
	}
	return far, nil
}

// HasNovelty says whether Novelty is known: for models that a version before it saved, it is not.
func (p *Predictor) HasNovelty() bool { return p != nil && p.novelty != nil }

// shareBelow is the share of a distribution, given by its quantiles in equal steps, that is below x.
func shareBelow(quantiles []float64, x float64) float64 {
	steps := float64(len(quantiles) - 1)
	at, found := slices.BinarySearch(quantiles, x)
	switch {
	case found: // the last of equal ones
		for at+1 < len(quantiles) && quantiles[at+1] == x {
			at++
		}
		return float64(at) / steps
	case at == 0:
		return 0
	case at == len(quantiles):
		return 1
	}
	below, above := quantiles[at-1], quantiles[at]
	return (float64(at-1) + (x-below)/(above-below)) / steps
}

// quantilesOf returns quantiles in equal steps.
func quantilesOf(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	out := make([]float64, noveltySteps+1)
	for q := range out {
		at := float64(q) / noveltySteps * float64(len(sorted)-1)
		lo := int(at)
		hi := min(lo+1, len(sorted)-1)
		out[q] = sorted[lo] + (at-float64(lo))*(sorted[hi]-sorted[lo])
	}
	return out
}

// setNovelty keeps the quantiles of how far the training samples are.
func setNovelty[T kernel.Float](ctx context.Context, p *Predictor, views []view.View, in *prepared[T], h mat.Matrix) error {
	far := in.unlike
	if in.standard != nil {
		const samples = 2000
		chosen := rows.Sample(rand.New(rand.NewPCG(p.config.Seed, 2)), p.samples, min(p.samples, samples))
		standard := *in.standard
		some := make([]view.View, len(views))
		for v, x := range views {
			standard.Applied = append(standard.Applied, prepare.InPlace[T](x, p.config.Overwrite))
			some[v] = x.Take(chosen)
		}
		var err error
		far, err = unexplained(ctx, p, prepare.NewRows[T](&standard, p.dims), some, func(dst []float64, i int) {
			for j := range dst {
				dst[j] = h.At(chosen[i], j)
			}
		})
		if err != nil {
			return err
		}
	}
	p.novelty = quantilesOf(far)
	return nil
}

// unexplained returns the shares of samples that the anchors do not explain: ‖x − hP‖²/‖x‖², the mean over the inputs that they
// have. row gives the representation of sample i.
func unexplained[T kernel.Float](
	ctx context.Context, p *Predictor, from *prepare.Rows[T], views []view.View, row func(dst []float64, i int),
) ([]float64, error) {
	const chunk = 256
	n := views[0].Rows
	out := make([]float64, n)
	err := parallel.For(ctx, p.config.Workers, (n+chunk-1)/chunk, func(_, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		var buffer prepare.Buffer[T]
		inputs, err := from.Take(ctx, views, lo, hi, chunk, &buffer)
		if err != nil {
			return err
		}
		h := make([]float64, p.config.Anchors)
		for i := lo; i < hi; i++ {
			row(h, i)
			sum, count := 0.0, 0.0
			for k, x := range inputs {
				if !views[p.inputs[k].View].Has(i) {
					continue
				}
				sum, count = sum+unexplainedRow(x, i-lo, h, p.P[k]), count+1
			}
			out[i] = sum / max(count, 1)
		}
		return nil
	})
	return out, err
}

func unexplainedRow[T kernel.Float](x rows.Matrix[T], i int, h []float64, anchors *mat.Dense) float64 {
	_, d := anchors.Dims()
	values, fit := make([]T, d), make([]float64, d)
	x.Row(i, values)
	for m, a := range h {
		if a != 0 {
			for j, b := range anchors.RawRowView(m) {
				fit[j] += a * b
			}
		}
	}
	residual, square := 0.0, 0.0
	for j, a := range values {
		residual += (float64(a) - fit[j]) * (float64(a) - fit[j])
		square += float64(a) * float64(a)
	}
	if square == 0 {
		return 1
	}
	return math.Min(residual/square, 1)
}

// unlike is what Novelty has its shares of.
func (f *fitted[T]) unlike(ctx context.Context, views []view.View, p *Predictor) ([]float64, error) {
	switch from := f.intake.(type) {
	case *smooth.Transform[T]:
		return from.Unlike(ctx, views, p.config.Workers)
	case *prepare.Rows[T]:
		h, err := f.transform(ctx, views, p.config.Workers)
		if err != nil {
			return nil, err
		}
		return unexplained(ctx, p, from, views, func(dst []float64, i int) { h.Row(dst, i) })
	}
	return nil, errors.New("no such intake")
}
