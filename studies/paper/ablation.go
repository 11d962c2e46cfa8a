package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/tables"
	"github.com/largemvc/largemvc/studies/internal/viz"
)

// ablation takes the modules away.
func ablation(ctx context.Context, s *study) error {
	variants := []model{
		{"RMvC-Net (Represent)", largemvc.Config{Noise: &largemvc.NoNoise{}, Anchor: &largemvc.FixedAnchors{}}},
		{"AMvC-Net (+ Anchor)", largemvc.Config{Noise: &largemvc.NoNoise{}}},
		{unitRow, largemvc.Config{}},
		{"LargeMvC-Net, P detached", largemvc.Config{Anchor: &largemvc.Procrustes{Detach: true}}},
		{"paper preset, untrained", largemvc.Config{Epochs: largemvc.None}},
	}
	var methods []row
	for _, m := range variants {
		m.config = presets.Paper.Of(m.config)
		methods = append(methods, row{name: m.name, run: m.scored})
	}
	got, err := s.scoreAll(ctx, "ablation", s.sets, methods)
	if err != nil {
		return err
	}
	names := []string{"RMvC-Net (Represent)", "AMvC-Net (+ Anchor)", "LargeMvC-Net (+ Noise)", "LargeMvC-Net, P detached",
		"LargeMvC-Net, untrained"}
	accuracy := measures[0].of
	g := tables.Grid{Name: "ablation-acc", Plain: true, Header: []string{"network", "mean ACC"}}
	bars := viz.Bars{Title: "Ablation", YLabel: "ACC (%)"}
	for k, name := range names {
		g.Rows = append(g.Rows, tables.Line{Name: name, Cells: []tables.Cell{overSets(got, k, accuracy)}})
		bars.Series = append(bars.Series, viz.BarSeries{Name: name})
	}
	for i, d := range s.sets {
		g.Header = append(g.Header, d.Name)
		bars.Groups = append(bars.Groups, d.Name)
		for k := range names {
			c := cellOf(got[i][k], accuracy)
			g.Rows[k].Cells = append(g.Rows[k].Cells, c)
			bars.Series[k].Values = append(bars.Series[k].Values, c.Mean)
			bars.Series[k].Errors = append(bars.Series[k].Errors, c.Std)
		}
	}
	g.Rank()
	figure := viz.Figure{Panels: []viz.Panel{bars}}
	if half := (len(bars.Groups) + 1) / 2; len(bars.Groups) > 7 { // two rows, so that names stay readable
		upper, lower := bars, bars
		upper.Groups, lower.Groups, lower.Title = bars.Groups[:half], bars.Groups[half:], ""
		upper.Series, lower.Series = nil, nil
		for _, b := range bars.Series {
			upper.Series = append(upper.Series, viz.BarSeries{Name: b.Name, Values: b.Values[:half], Errors: b.Errors[:half]})
			lower.Series = append(lower.Series, viz.BarSeries{Name: b.Name, Values: b.Values[half:], Errors: b.Errors[half:]})
		}
		figure = viz.Figure{Panels: []viz.Panel{upper, lower}, Columns: 1, SharedLegend: true}
	}
	return s.publish(page{
		name: "ablation", title: "Ablation", caption: "ACC (%). All networks here have the paper preset. “P detached” treats " +
			"the anchors as constants in the backward pass; the untrained network is not in the paper and shows how much of " +
			"the result is the start. What the parts of the default preset are worth is a study of its own, `studies/quality`.",
		notes:  ablationOrder(g),
		tables: []tables.Grid{g},
		figures: []picture{{"ablation", "ACC of the networks on each set; whiskers are one standard deviation over " +
			"draws.", figure}},
	})
}

// ablationOrder compares the order of the first three networks, fewest modules first, with the paper.
func ablationOrder(g tables.Grid) string {
	order := []int{0, 1, 2}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(math.Copysign(1, g.Rows[b].Cells[0].Mean-g.Rows[a].Cells[0].Mean))
	})
	var found []string
	for _, k := range order {
		name, _, _ := strings.Cut(g.Rows[k].Name, " ")
		found = append(found, fmt.Sprintf("%s %.1f", name, g.Rows[k].Cells[0].Mean))
	}
	return fmt.Sprintf("In the paper every module helps, on all its sets and with the epoch chosen by labels: LargeMvC-Net "+
		"before AMvC-Net before RMvC-Net, which is poor. Here the order of the means is %s. With the anchor module %s; with "+
		"the noise module in addition %s.", strings.Join(found, ", "), compared(g, 1, 0), compared(g, 2, 1))
}

// compared says on how many sets a row is above another, as they are shown.
func compared(g tables.Grid, row, other int) string {
	above, below := 0, 0
	for i, c := range g.Rows[row].Cells[1:] {
		switch d := math.Round(10*c.Mean) - math.Round(10*g.Rows[other].Cells[1+i].Mean); {
		case d > 0:
			above++
		case d < 0:
			below++
		}
	}
	return fmt.Sprintf("ACC is higher on %d of %s and lower on %d", above, textfile.Count(len(g.Rows[row].Cells)-1, "set"), below)
}
