package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// fresh are accuracies of the samples of a fit and of new ones. Clusters are matched to classes by the samples of the fit, but
// where it says otherwise.
type fresh struct {
	Fitted float64 // of the samples of the fit
	Aside  float64 // the same, each fifth of them matched by the other four: no sample has a part in its own matching
	New    float64 // of new samples, predicted
	Own    float64 // the same, matched by themselves
	Refit  float64 // of the new samples in a fit of all, matched by those that were not new
}

// freshLines are the lines of the table of each rate.
var freshLines = []struct {
	name  string
	value func(fresh) float64
}{
	{"fitted", func(f fresh) float64 { return f.Fitted }},
	{"fitted, each fifth matched by the others", func(f fresh) float64 { return f.Aside }},
	{"new", func(f fresh) float64 { return f.New }},
	{"new, matched by themselves", func(f fresh) float64 { return f.Own }},
	{"new, in a fit with them", func(f fresh) float64 { return f.Refit }},
}

// newSamples fits four fifths of a set and predicts the last one, with as many views missing in both.
func newSamples(ctx context.Context, s *study, all []*sets.Set) error {
	var jobs []work.Job[fresh]
	var wanted []float64
	for _, rate := range s.rates {
		if rate <= 0.5 { // which sets of three views permit
			wanted = append(wanted, rate)
		}
	}
	for draw := range s.draws {
		for _, d := range all {
			for _, rate := range wanted {
				name := fmt.Sprintf("%s | new samples | rate %g | draw %d | epochs %d", d.About(), rate, draw, s.epochs)
				jobs = append(jobs, work.Job[fresh]{Key: name, Name: name, Do: func(ctx context.Context) (fresh, error) {
					return predicted(ctx, d.InOrder(draw), rate, draw, s.epochs)
				}})
			}
		}
	}
	got, err := work.All(ctx, s.work(), s.stderr, "new samples", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Title: "ACC (%) of samples of the fit and of new ones, by the share of view rows absent"}
	g.Header = []string{"absent"}
	for _, d := range all {
		g.Header = append(g.Header, d.Name)
	}
	g.Header = append(g.Header, "mean")
	for r, rate := range wanted {
		for _, x := range freshLines {
			g.Rows = append(g.Rows, lineOf(fmt.Sprintf("%g, %s", rate, x.name), len(all), s.draws, func(set, draw int) float64 {
				return x.value(got[(draw*len(all)+set)*len(wanted)+r])
			}))
		}
	}
	s.print(g)
	return nil
}

// predicted fits the first four fifths of a set, predicts the rest, and fits all of it.
func predicted(ctx context.Context, d *sets.Set, rate float64, draw, epochs int) (fresh, error) {
	var out fresh
	cut := 4 * d.N / 5
	known, young := d.Pick(upTo(0, cut)), d.Pick(upTo(cut, d.N))
	present := whole(d)
	for part, at := range [][]int{{0, cut}, {cut, d.N}} { // Each part lacks its share.
		if rate == 0 {
			break
		}
		mask, err := dataset.Drop(at[1]-at[0], len(d.Views), rate, uint64(2*draw+part))
		if err != nil {
			return out, err
		}
		copy(present[at[0]:at[1]], mask)
	}
	config := largemvc.Config{Clusters: d.Classes, Seed: uint64(draw), Epochs: epochs}
	fit := func(d *sets.Set, present [][]bool) (*largemvc.Clustering, error) {
		views, err := largemvc.Mask(d.Views, present)
		if err != nil {
			return nil, err
		}
		return largemvc.Fit(ctx, views, config)
	}
	c, err := fit(known, present[:cut])
	if err != nil {
		return out, err
	}
	views, err := largemvc.Mask(young.Views, present[cut:])
	if err != nil {
		return out, err
	}
	labels, err := c.Predict(ctx, views)
	if err != nil {
		return out, err
	}
	to, err := matching(known.Labels, c.Labels, d.Classes)
	if err != nil {
		return out, err
	}
	out.Fitted, out.New = matched(known.Labels, c.Labels, to), matched(young.Labels, labels, to)
	if out.Aside, err = matchedAside(known.Labels, c.Labels, d.Classes); err != nil {
		return out, err
	}
	if to, err = matching(young.Labels, labels, d.Classes); err != nil {
		return out, err
	}
	out.Own = matched(young.Labels, labels, to)
	if c, err = fit(d, present); err != nil {
		return out, err
	}
	if to, err = matching(known.Labels, c.Labels[:cut], d.Classes); err != nil {
		return out, err
	}
	out.Refit = matched(young.Labels, c.Labels[cut:], to)
	return out, nil
}

func upTo(lo, hi int) []int {
	var out []int
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}
