package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/baseline"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

var missingRates = []float64{0.1, 0.3, 0.5, 0.7, 0.9}

// incompleteMethod clusters samples that lack views.
type incompleteMethod struct {
	name string
	run  onMasked
}

type onMasked func(ctx context.Context, d *sets.Set, present [][]bool, draw int) ([]int, error)

// incompleteMethods are the methods of the experiment, at most as many as a reader can distinguish in a panel.
func (s *study) incompleteMethods() []incompleteMethod {
	var out []incompleteMethod
	for _, m := range models()[:3] {
		fit := func(ctx context.Context, d *sets.Set, present [][]bool, draw int) ([]int, error) {
			c, err := largemvc.Fit(ctx, d.Masked(present), s.configFor(m.config, d, draw))
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

// permitted returns the rates at which every sample can keep a view: a rate is the share of all sample–view pairs that is absent.
func permitted(d *sets.Set) []float64 {
	var out []float64
	for _, rate := range missingRates {
		if rate <= 1-1/float64(len(d.Views))+1e-9 {
			out = append(out, rate)
		}
	}
	return out
}

// masked is a piece of the experiment: a method on a set at a rate.
type masked struct {
	d    *sets.Set
	m    incompleteMethod
	rate float64
}

// accuracy returns the accuracy of a draw, which has its own order of the rows and its own mask.
func (p masked) accuracy(ctx context.Context, s *study, draw int) (float64, error) {
	d := s.draw(p.d, draw)
	present, err := dataset.Drop(d.N, len(d.Views), p.rate, uint64(draw))
	if err != nil {
		return 0, err
	}
	labels, err := p.m.run(ctx, d, present, draw)
	if err != nil {
		return 0, err
	}
	e, err := largemvc.Evaluate(d.Labels, labels)
	return 100 * e.ACC, err
}

// incomplete removes views of samples at growing rates, as far as the sets have enough views. Every draw has another mask.
func incomplete(ctx context.Context, s *study) error {
	methods, chosen := s.incompleteMethods(), s.small(6)
	var jobs []work.Job[float64]
	for _, d := range chosen {
		for _, m := range methods {
			for _, rate := range permitted(d) {
				for draw := range s.draws {
					jobs = append(jobs, work.Job[float64]{
						Key: fmt.Sprintf("%s | %s | rate %g | draw %d | epochs %d", d.About(), m.name, rate, draw, s.epochs),
						Do: func(ctx context.Context) (float64, error) {
							return masked{d, m, rate}.accuracy(ctx, s, draw)
						},
					})
				}
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "incomplete", jobs)
	if err != nil {
		return err
	}
	perSet := tables.Grid{Name: "incomplete-sets", Header: []string{"set, method"}}
	for _, rate := range missingRates {
		perSet.Header = append(perSet.Header, fmt.Sprint(rate))
	}
	figure := viz.Figure{SharedLegend: true, Columns: min(3, len(chosen)), Width: 11}
	for _, d := range chosen {
		rates := permitted(d)
		panel := viz.Lines{Title: d.Name, XLabel: "missing rate", YLabel: "ACC (%)", Markers: true, XTicks: rates}
		for _, m := range methods {
			r, series := tables.Line{Name: d.Name + ", " + m.name}, viz.Series{Name: m.name, X: rates}
			for range rates {
				c := tables.MeanOf(got[:s.draws])
				got = got[s.draws:]
				r.Cells, series.Y = append(r.Cells, c), append(series.Y, c.Mean)
				series.Low, series.High = append(series.Low, c.Mean-c.Std), append(series.High, c.Mean+c.Std)
			}
			r.Cells = append(r.Cells, make([]tables.Cell, len(missingRates)-len(rates))...)
			perSet.Rows = append(perSet.Rows, r)
			panel.Series = append(panel.Series, series)
		}
		if len(rates) > 0 {
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
		tables: []tables.Grid{meansByRate(perSet, methods)}, data: []tables.Grid{perSet},
		figures: []picture{{"incomplete-rates", "ACC of seven methods over missing rates, a panel for each set; bands are " +
			"one standard deviation over draws.", figure}},
	})
}

// meansByRate returns, for each method and rate, the mean over the sets that permit the rate. A row of a set is a method.
func meansByRate(perSet tables.Grid, methods []incompleteMethod) tables.Grid {
	g := tables.Grid{Name: "incomplete", Header: []string{"method"}}
	for k, m := range methods {
		line := tables.Line{Name: m.name}
		for j, rate := range missingRates {
			var values []float64
			for i := k; i < len(perSet.Rows); i += len(methods) {
				if c := perSet.Rows[i].Cells[j]; c.Count > 0 {
					values = append(values, c.Mean)
				}
			}
			if len(values) == 0 {
				continue
			}
			if k == 0 {
				g.Header = append(g.Header, fmt.Sprintf("%g (sets: %d)", rate, len(values)))
			}
			line.Cells = append(line.Cells, tables.Cell{Mean: tables.MeanOf(values).Mean, Count: 1})
		}
		g.Rows = append(g.Rows, line)
	}
	g.Rank()
	return g
}

// incompleteSettings describes the other methods.
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
