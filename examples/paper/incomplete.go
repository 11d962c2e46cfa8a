package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
	"github.com/largemvc/largemvc/internal/baseline"
)

var missingRates = []float64{0.1, 0.3, 0.5, 0.7, 0.9}

// incompleteMethod clusters samples that lack views.
type incompleteMethod struct {
	name string
	run  onMasked
}

type onMasked func(ctx context.Context, d *sets.Set, present [][]bool, draw int) ([]int, error)

// incompleteMethods are those that the experiment compares, no more than lines can be told apart in a panel.
func (s *study) incompleteMethods() []incompleteMethod {
	var out []incompleteMethod
	for _, m := range models()[:3] {
		fit := func(ctx context.Context, d *sets.Set, present [][]bool, draw int) ([]int, error) {
			views, err := largemvc.Mask(d.Views, present)
			if err != nil {
				return nil, err
			}
			c, err := largemvc.Fit(ctx, views, s.configFor(m.config, d, draw))
			if err != nil {
				return nil, err
			}
			return c.Labels, nil
		}
		out = append(out, incompleteMethod{m.name, fit})
	}
	for _, m := range baseline.IncompleteMethods() {
		run := func(ctx context.Context, d *sets.Set, present [][]bool, draw int) ([]int, error) {
			return m.Run(ctx, d.Matrices(), present, d.Classes, uint64(draw))
		}
		out = append(out, incompleteMethod{m.Name, run})
	}
	return out
}

// permits says whether every sample can keep a view where the share of all sample–view pairs that is absent is rate.
func permits(d *sets.Set, rate float64) bool { return rate <= 1-1/float64(len(d.Views))+1e-9 }

// incomplete drops views of samples at growing rates, as far as the sets have views enough; every draw has another mask.
func incomplete(ctx context.Context, s *study) error {
	methods, chosen := s.incompleteMethods(), s.small(6)
	var jobs []work.Job[float64]
	for _, d := range chosen {
		for _, m := range methods {
			for _, rate := range missingRates {
				if !permits(d, rate) {
					continue
				}
				for draw := range s.draws {
					jobs = append(jobs, s.incompleteJob(d, m, rate, draw))
				}
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "incomplete", jobs)
	if err != nil {
		return err
	}
	all := tables.Grid{Name: "incomplete-sets", Header: []string{"set, method"}}
	for _, rate := range missingRates {
		all.Header = append(all.Header, fmt.Sprint(rate))
	}
	figure := viz.Figure{SharedLegend: true, Columns: min(3, len(chosen)), Width: 11}
	means := make(rateMeans)
	for _, d := range chosen {
		panel := viz.Lines{Title: d.Name, XLabel: "missing rate", YLabel: "ACC (%)", Markers: true}
		for k, m := range methods {
			r, series := tables.Line{Name: d.Name + ", " + m.name}, viz.Series{Name: m.name}
			for j, rate := range missingRates {
				if !permits(d, rate) {
					r.Cells = append(r.Cells, tables.Cell{})
					continue
				}
				c := tables.MeanOf(got[:s.draws])
				got = got[s.draws:]
				r.Cells = append(r.Cells, c)
				series.X, series.Y = append(series.X, rate), append(series.Y, c.Mean)
				series.Low, series.High = append(series.Low, c.Mean-c.Std), append(series.High, c.Mean+c.Std)
				means[[2]int{k, j}] = append(means[[2]int{k, j}], c.Mean)
			}
			panel.XTicks = series.X
			all.Rows = append(all.Rows, r)
			if len(series.X) > 0 {
				panel.Series = append(panel.Series, series)
			}
		}
		if len(panel.Series) > 0 {
			figure.Panels = append(figure.Panels, panel)
		}
	}
	return s.publish(page{
		name: "incomplete", title: "Incomplete views",
		caption: "ACC (%), the mean of the sets that permit the rate: the share of all sample–view pairs that is absent, " +
			"spread evenly over the views. Every sample keeps at least one view, which caps the rate at 1 − 1/V " +
			"(" + capText(chosen) + "). " + incompleteSettings(),
		notes: "The paper shows six sets that cannot be had here, at rates from 0.1 to 0.9, and does not say how it reaches " +
			"0.9 with two views; a rate that a set does not permit is left out here.",
		tables: []tables.Grid{means.table(methods)}, data: []tables.Grid{all},
		figures: []picture{{"incomplete-rates", "ACC of seven methods over missing rates, a panel for each set; bands are " +
			"one standard deviation over draws.", figure}},
	})
}

// incompleteJob scores one method on one draw of d, with the rows of one mask.
func (s *study) incompleteJob(d *sets.Set, m incompleteMethod, rate float64, draw int) work.Job[float64] {
	return work.Job[float64]{
		Key: fmt.Sprintf("%s | %s | rate %g | draw %d | epochs %d", d.About(), m.name, rate, draw, s.epochs),
		Do: func(ctx context.Context) (float64, error) {
			d := s.draw(d, draw)
			present, err := dataset.Drop(d.N, len(d.Views), rate, uint64(draw))
			if err != nil {
				return 0, err
			}
			labels, err := m.run(ctx, d, present, draw)
			if err != nil {
				return 0, err
			}
			acc, err := largemvc.Accuracy(d.Labels, labels)
			return 100 * acc, err
		},
	}
}

// rateMeans holds by method and missing rate the mean ACC of each set that permits the rate.
type rateMeans map[[2]int][]float64

// table returns the means over the sets.
func (r rateMeans) table(methods []incompleteMethod) tables.Grid {
	g := tables.Grid{Name: "incomplete", Header: []string{"method"}}
	for k, m := range methods {
		g.Rows = append(g.Rows, tables.Line{Name: m.name})
		for j, rate := range missingRates {
			values := r[[2]int{k, j}]
			if len(values) == 0 {
				continue
			}
			if k == 0 {
				g.Header = append(g.Header, fmt.Sprintf("%g (sets: %d)", rate, len(values)))
			}
			g.Rows[k].Cells = append(g.Rows[k].Cells, tables.Cell{Mean: tables.MeanOf(values).Mean, Count: 1})
		}
	}
	g.Rank()
	return g
}

// incompleteSettings says what the other methods do.
func incompleteSettings() string {
	text := "The networks take absent rows as absent; the others, from their papers and none of them tuned:"
	for i, m := range baseline.IncompleteMethods() {
		sep := ""
		if i > 0 {
			sep = ";"
		}
		source := ""
		if m.Source != "" {
			source = " (" + m.Source + ")"
		}
		text += fmt.Sprintf("%s **%s**%s: %s", sep, m.Name, source, m.Settings)
	}
	return text + "."
}

func capText(chosen []*sets.Set) string {
	text := ""
	for i, d := range chosen {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %.2f", d.Name, 1-1/float64(len(d.Views)))
	}
	return text
}
