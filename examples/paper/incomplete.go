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

// incomplete drops views of samples at growing rates; every seed draws another mask.
func incomplete(ctx context.Context, s *study) error {
	type method struct {
		name string
		run  func(ctx context.Context, d *sets.Set, present [][]bool, seed int) ([]int, error)
	}
	var methods []method
	for _, m := range models() {
		fit := func(ctx context.Context, d *sets.Set, present [][]bool, seed int) ([]int, error) {
			views, err := largemvc.Mask(d.Views, present)
			if err != nil {
				return nil, err
			}
			c, err := largemvc.Fit(ctx, views, s.configFor(m.config, d, seed))
			if err != nil {
				return nil, err
			}
			return c.Labels, nil
		}
		methods = append(methods, method{m.name, fit})
	}
	methods = append(methods, method{"mean imputation + k-means",
		func(ctx context.Context, d *sets.Set, present [][]bool, seed int) ([]int, error) {
			return baseline.MeanImputed(ctx, d.Matrices(), present, d.Classes, uint64(seed))
		}})
	chosen := s.small(6)
	var jobs []work.Job[float64]
	for _, d := range chosen {
		for _, m := range methods {
			for _, rate := range missingRates {
				for seed := range s.seedsFor(d) {
					jobs = append(jobs, work.Job[float64]{
						Key: fmt.Sprintf("%s | %s | rate %g | mask %d | epochs %d", d.About(), m.name, rate, seed, s.epochs),
						Do: func(ctx context.Context) (float64, error) {
							present, err := dataset.Drop(d.N, len(d.Views), rate, uint64(seed))
							if err != nil {
								return 0, err
							}
							labels, err := m.run(ctx, d, present, seed)
							if err != nil {
								return 0, err
							}
							acc, err := largemvc.Accuracy(d.Labels, labels)
							return 100 * acc, err
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
	g := tables.Grid{Name: "incomplete-acc", Title: "ACC (%) over missing rates", Header: []string{"set, method"}}
	for _, rate := range missingRates {
		g.Header = append(g.Header, fmt.Sprint(rate))
	}
	var panels []viz.Lines
	for _, d := range chosen {
		panel := viz.Lines{Title: d.Name, XLabel: "missing rate", YLabel: "ACC (%)"}
		for _, m := range methods {
			r := tables.Line{Name: d.Name + ", " + m.name}
			series := viz.Series{Name: m.name}
			for _, rate := range missingRates {
				k := s.seedsFor(d)
				c := tables.MeanOf(got[:k])
				got = got[k:]
				r.Cells = append(r.Cells, c)
				series.X, series.Y = append(series.X, rate), append(series.Y, c.Mean)
				series.Low, series.High = append(series.Low, c.Mean-c.Std), append(series.High, c.Mean+c.Std)
			}
			g.Rows = append(g.Rows, r)
			panel.Series = append(panel.Series, series)
		}
		panels = append(panels, panel)
	}
	caption := s.protocolText() + " " + bothPresets +
		" A seed draws the mask too. The rate is the share of all sample–view pairs that is absent, spread " +
		"evenly over the views; " +
		"every sample keeps at least one view, which caps it at 1 − 1/V (" + capText(chosen) +
		"). Absent rows are imputed by the view's mean for k-means, on unit rows; the networks impute " +
		"nothing."
	return s.publish(page{
		name: "incomplete", title: "Incomplete views", caption: caption,
		notes: "The paper shows six sets that cannot be had here, and does not say how it reaches a rate " +
			"of 0.9 with two views; our cap says what was really absent.",
		tables: []tables.Grid{g},
		figures: []picture{{"incomplete", "ACC over missing rates; bands are one standard deviation over masks.",
			incompleteFigure(panels)}},
	})
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
