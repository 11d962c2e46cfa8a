package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// learned is the result of a run with one pair of L and m.
type learned struct {
	ACC   float64
	Theta []float64   // per layer
	Rho   [][]float64 // per layer and view
}

// sensitivity varies the layers and the anchors, and looks at the thresholds.
func sensitivity(ctx context.Context, s *study) error {
	layers, factors := []int{1, 2, 3, 5, 9}, []int{1, 2, 3}
	if s.quick {
		layers = []int{1, 2, 3}
	}
	chosen := s.small(4)
	var jobs []work.Job[learned]
	for _, d := range chosen {
		for _, f := range factors {
			for _, l := range layers {
				for draw := range s.draws {
					jobs = append(jobs, s.thresholdJob(d, f, l, draw))
				}
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "sensitivity", jobs)
	if err != nil {
		return err
	}
	maps := viz.Figure{Columns: min(2, len(chosen)), SharedLegend: true}
	thresholds := viz.Figure{Columns: 2, Width: 11}
	g := tables.Grid{Name: "sensitivity", Header: []string{"set, m"}}
	for _, l := range layers {
		g.Header = append(g.Header, fmt.Sprintf("L = %d", l))
	}
	for _, d := range chosen {
		heat := viz.HeatMap{Title: d.Name, XLabel: "layers L", YLabel: "anchors m", Label: "ACC (%)"}
		for _, l := range layers {
			heat.Columns = append(heat.Columns, fmt.Sprint(l))
		}
		deepest := got[(len(layers)-1)*s.draws] // with m = c, the first of factors
		for _, f := range factors {
			multiple := strings.TrimPrefix(fmt.Sprintf("%dc", f), "1")
			cells := cellsOf(got[:len(layers)*s.draws], s.draws)
			got = got[len(layers)*s.draws:]
			g.Rows = append(g.Rows, tables.Line{Name: d.Name + ", m = " + multiple, Cells: cells})
			var means []float64
			for _, c := range cells {
				means = append(means, c.Mean)
			}
			heat.Rows, heat.Values = append(heat.Rows, multiple), append(heat.Values, means)
		}
		maps.Panels = append(maps.Panels, heat)
		theta, rho := deepest.curves(d)
		thresholds.Panels = append(thresholds.Panels, theta, rho)
	}
	return s.publish(page{
		name: "sensitivity", title: "Layers, anchors and thresholds",
		caption: "ACC of the paper preset on " + sets.Names(chosen) + ".",
		notes: "The paper reports L = 2 and m = c as best, on its own sets, with L of 1 to 9 and m of c to 3c searched by the " +
			"labels. Here every pair is shown and none is chosen.",
		data: []tables.Grid{g},
		figures: []picture{
			{"sensitivity-map", "ACC of the paper preset over layers, and over anchors as multiples of c, mean over draws, a " +
				"map for each set.", maps},
			{"sensitivity-thresholds", fmt.Sprintf("The thresholds θ, and ρ in units of the standardised views, as "+
				"learned by %d layers with m = c, in the first draw, for each set.", layers[len(layers)-1]), thresholds},
		},
	})
}

// cellsOf returns the mean ACC of each run of draws results.
func cellsOf(runs []learned, draws int) []tables.Cell {
	var cells []tables.Cell
	for part := range slices.Chunk(runs, draws) {
		var values []float64
		for _, run := range part {
			values = append(values, run.ACC)
		}
		cells = append(cells, tables.MeanOf(values))
	}
	return cells
}

// thresholdJob trains the paper preset on one draw of d, with layers layers and factor anchors a cluster.
func (s *study) thresholdJob(d *sets.Set, factor, layers, draw int) work.Job[learned] {
	return work.Job[learned]{
		Key: fmt.Sprintf("%s | L %d | m %dc | draw %d | epochs %d", d.About(), layers, factor, draw, s.epochs),
		Do: func(ctx context.Context) (learned, error) {
			c := s.configFor(presets.Paper.Of(largemvc.Config{Layers: layers,
				Anchors: min(factor*d.Classes, d.N)}), d, draw)
			d := s.draw(d, draw)
			r, err := largemvc.Fit(ctx, d.Views, c)
			if err != nil {
				return learned{}, err
			}
			e, err := largemvc.Evaluate(d.Labels, r.Labels)
			return learned{100 * e.ACC, r.Theta, r.Rho}, err
		},
	}
}

// curves are the thresholds over the layers.
func (l learned) curves(d *sets.Set) (theta, rho viz.Lines) {
	theta = viz.Lines{Title: d.Name + ": θ", XLabel: "layer", YLabel: "θ", Markers: true}
	rho = viz.Lines{Title: d.Name + ": ρ", XLabel: "layer", YLabel: "ρ", Markers: true}
	var x []float64
	for i := range l.Theta {
		x = append(x, float64(i+1))
	}
	theta.Series = []viz.Series{{X: x, Y: l.Theta}}
	theta.XTicks, rho.XTicks = x, x
	for v := range l.Rho[0] {
		series := viz.Series{Name: fmt.Sprintf("view %d", v), X: x}
		for _, layer := range l.Rho {
			series.Y = append(series.Y, layer[v])
		}
		rho.Series = append(rho.Series, series)
	}
	return theta, rho
}
