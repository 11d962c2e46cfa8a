package main

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/internal/tables"
	"github.com/largemvc/largemvc/examples/internal/viz"
	"github.com/largemvc/largemvc/examples/internal/work"
)

// ablation takes the modules away.
func ablation(ctx context.Context, s *study) error {
	variants := []model{
		{"RMvC-Net (Represent)", largemvc.Config{Noise: &largemvc.NoNoise{}, Anchor: &largemvc.FixedAnchors{}}},
		{"AMvC-Net (+ Anchor)", largemvc.Config{Noise: &largemvc.NoNoise{}}},
		{"LargeMvC-Net (+ Noise)", largemvc.Config{}},
		{"LargeMvC-Net, P detached", largemvc.Config{Anchor: &largemvc.Procrustes{Detach: true}}},
		{"LargeMvC-Net, untrained", largemvc.Config{Epochs: largemvc.None}},
	}
	for i := range variants {
		variants[i].config.Preset = largemvc.PresetPaper
	}
	var jobs []work.Job[scores]
	for _, d := range s.sets {
		for _, m := range variants {
			for seed := range s.seedsFor(d) {
				jobs = append(jobs, work.Job[scores]{
					Key: fmt.Sprintf("%s | %s | seed %d | epochs %d", d.About(), m.name, seed, s.epochs),
					Do: func(ctx context.Context) (scores, error) {
						plainly := *s
						plainly.protocol = plain
						return m.scored(ctx, &plainly, d, seed)
					},
				})
			}
		}
	}
	got, err := work.All(ctx, s.path("work"), s.stderr, "ablation", jobs)
	if err != nil {
		return err
	}
	g := tables.Grid{Name: "ablation-acc", Title: "ACC (%)", Header: []string{"network"}}
	bars := viz.Bars{Title: "Ablation", YLabel: "ACC (%)"}
	for _, m := range variants {
		g.Rows = append(g.Rows, tables.Line{Name: m.name})
		bars.Series = append(bars.Series, viz.BarSeries{Name: m.name})
	}
	for _, d := range s.sets {
		g.Header = append(g.Header, d.Name)
		bars.Groups = append(bars.Groups, d.Name)
		for k := range variants {
			var values []float64
			for range s.seedsFor(d) {
				values = append(values, got[0].ACC)
				got = got[1:]
			}
			c := tables.MeanOf(values)
			g.Rows[k].Cells = append(g.Rows[k].Cells, c)
			bars.Series[k].Values = append(bars.Series[k].Values, c.Mean)
			bars.Series[k].Errors = append(bars.Series[k].Errors, c.Std)
		}
	}
	g.Rank()
	return s.publish(page{
		name: "ablation", title: "Ablation", caption: s.protocolText() + " " + paperPreset +
			" “P detached” treats the anchors as constants in the backward pass.",
		notes: "In the paper every module helps: RMvC-Net is poor, AMvC-Net far better, LargeMvC-Net better still, on all " +
			"its sets. The paper ablates on its own sets, with the epoch chosen by labels. The untrained " +
			"network is not in the paper: it shows how much of the result is the start. What the default " +
			"preset adds has an ablation of its own in `examples/quality`.",
		tables: []tables.Grid{g},
		figures: []picture{{"ablation", "ACC of the networks; whiskers are one standard deviation over seeds.",
			ablationFigure([]viz.Bars{bars})}},
	})
}
