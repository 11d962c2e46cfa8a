package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
)

// newSamples fits four fifths of a set and predicts the last one, with as many views missing in both. Clusters are matched to
// classes by the samples of the fit, but where a line says otherwise.
func newSamples(rates []float64) question {
	q := question{
		title: "ACC (%) of samples of the fit and of new ones, by the share of view rows absent",
		lines: []string{
			", fitted",
			", fitted, each fifth matched by the others", // no sample has a part in its own matching
			", new",
			", new, matched by themselves",
			", new, in a fit with them", // matched by those that were not new
		},
	}
	for _, rate := range rates {
		q.cases = append(q.cases, fmt.Sprint(rate))
	}
	q.do = func(ctx context.Context, d *sets.Set, k, draw, epochs int) ([]float64, error) {
		present, err := lacking(d, rates[k], draw)
		if err != nil {
			return nil, err
		}
		return predicted(ctx, d, present, largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), Epochs: epochs})
	}
	return q
}

// fitted is the number of samples that are fitted; the others are new.
func fitted(d *sets.Set) int { return 4 * d.N / 5 }

// lacking drops the same share of the rows of both parts of a set.
func lacking(d *sets.Set, rate float64, draw int) ([][]bool, error) {
	present, cut := whole(d), fitted(d)
	if rate == 0 {
		return present, nil
	}
	for part, rows := range [][][]bool{present[:cut], present[cut:]} {
		mask, err := dataset.Drop(len(rows), len(d.Views), rate, uint64(2*draw+part))
		if err != nil {
			return nil, err
		}
		copy(rows, mask)
	}
	return present, nil
}

// predicted fits the first part of a set, predicts the rest, and fits all of it. It returns the values of the lines.
func predicted(ctx context.Context, d *sets.Set, present [][]bool, config largemvc.Config) ([]float64, error) {
	cut := fitted(d)
	known, young := d.Pick(upTo(0, cut)), d.Pick(upTo(cut, d.N))
	fit := func(d *sets.Set, present [][]bool) (*largemvc.Clustering, error) {
		views, err := largemvc.Mask(d.Views, present)
		if err != nil {
			return nil, err
		}
		return largemvc.Fit(ctx, views, config)
	}
	c, err := fit(known, present[:cut])
	if err != nil {
		return nil, err
	}
	views, err := largemvc.Mask(young.Views, present[cut:])
	if err != nil {
		return nil, err
	}
	labels, err := c.Predict(ctx, views)
	if err != nil {
		return nil, err
	}
	again, err := fit(d, present)
	if err != nil {
		return nil, err
	}
	aside, errAside := matchedAside(known.Labels, c.Labels, d.Classes)
	byFit, errFit := matching(known.Labels, c.Labels, d.Classes)
	byNew, errNew := matching(young.Labels, labels, d.Classes)
	byRefit, errRefit := matching(known.Labels, again.Labels[:cut], d.Classes)
	if err := errors.Join(errAside, errFit, errNew, errRefit); err != nil {
		return nil, err
	}
	return []float64{
		matched(known.Labels, c.Labels, byFit), aside, matched(young.Labels, labels, byFit),
		matched(young.Labels, labels, byNew), matched(young.Labels, again.Labels[cut:], byRefit),
	}, nil
}

func upTo(lo, hi int) []int {
	var out []int
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}
