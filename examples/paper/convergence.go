package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/classical"
	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// convergence follows the loss of the network and the objective of the alternating solver that it unfolds.
func convergence(ctx context.Context, s *study) error {
	type curve struct {
		name string
		run  func(ctx context.Context, d *sets.Set) ([]float64, error)
	}
	fit := func(c largemvc.Config) func(context.Context, *sets.Set) ([]float64, error) {
		return func(ctx context.Context, d *sets.Set) ([]float64, error) {
			r, err := largemvc.Fit(ctx, d.Views, s.configFor(c, d, 1))
			if err != nil {
				return nil, err
			}
			return r.Loss, nil
		}
	}
	curves := []curve{
		{"loss, paper preset", fit(largemvc.Config{Preset: largemvc.PresetPaper})},
		{"objective J, classical solver", func(ctx context.Context, d *sets.Set) ([]float64, error) {
			r, err := classical.Fit(ctx, d.Views, classical.Config{
				Clusters: d.Classes, Alpha: 0.01, Iterations: s.epochs, Tolerance: -1, Seed: 1,
			})
			if err != nil {
				return nil, err
			}
			return r.Objective, nil
		}},
	}
	var jobs []work.Job[[]float64]
	for _, k := range curves {
		for _, d := range s.sets {
			jobs = append(jobs, work.Job[[]float64]{
				Key: fmt.Sprintf("%s | %s | epochs %d", d.About(), k.name, s.epochs),
				Do:  func(ctx context.Context) ([]float64, error) { return k.run(ctx, d) },
			})
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "convergence", jobs)
	if err != nil {
		return err
	}
	var panels []viz.Lines
	g := tables.Grid{Name: "convergence", Title: "First and last value, and rises on the way", Header: []string{"set"}}
	for _, d := range s.sets {
		g.Rows = append(g.Rows, tables.Line{Name: d.Name})
	}
	for _, k := range curves {
		g.Header = append(g.Header, k.name)
		x := "epoch"
		if k.name == curves[len(curves)-1].name {
			x = "iteration"
		}
		panel := viz.Lines{Title: k.name, XLabel: x, YLabel: "share of the first value"}
		for i, d := range s.sets {
			values := got[0]
			got = got[1:]
			series := viz.Series{Name: d.Name}
			rises := 0
			for t, v := range values {
				series.X, series.Y = append(series.X, float64(t)), append(series.Y, v/values[0])
				if t > 0 && v > values[t-1]*(1+1e-6) {
					rises++
				}
			}
			panel.Series = append(panel.Series, series)
			text := fmt.Sprintf("%.4g → %.4g, %d rises", values[0], values[len(values)-1], rises)
			g.Rows[i].Cells = append(g.Rows[i].Cells, tables.Cell{Text: text})
		}
		panels = append(panels, panel)
	}
	return s.publish(page{
		name: "convergence", title: "Convergence",
		caption: fmt.Sprintf("Seed 1, %d epochs or iterations, paper preset (views standardised per "+
			"sample, joint k-means start); the classical solver starts from the same. Curves are divided "+
			"by their first value, so that sets share an axis. "+
			"J = Σ_v ½‖X_v − H P_v − E_v‖² + α‖H‖₁ + β_v‖E_v‖₂,₁ with α = 0.01 and β_v the view's median "+
			"residual at the start; it begins at H = 0, E = 0.", s.epochs),
		notes: "The paper's proof is about J under its alternating steps, which the trained network does " +
			"not take; its H step does not always lower J, ours does (see package classical). The loss is " +
			"minimised by Adam and may rise.",
		tables: []tables.Grid{g},
		figures: []picture{{"convergence", "Loss of the network, and objective of the classical solver, " +
			"relative to their first values.", convergenceFigure(panels)}},
	})
}
