package main

import (
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/examples/internal/viz"
)

// The figures of the experiments, from panels that have their values and labels: those of an experiment that has just been
// run, or of the tables that an earlier one has left (redraw).

func panelsOf[P viz.Panel](panels []P) []viz.Panel {
	out := make([]viz.Panel, len(panels))
	for i, p := range panels {
		out[i] = p
	}
	return out
}

// marked has the points of the lines marked, and the axis labelled at those of the first.
func marked(panels []viz.Lines) []viz.Lines {
	for i := range panels {
		panels[i].Markers, panels[i].XTicks = true, panels[i].Series[0].X
	}
	return panels
}

func timeFigure(panels []viz.Lines) viz.Figure {
	for i := range panels {
		panels[i].LogX, panels[i].LogY, panels[i].Fit, panels[i].Markers = true, true, true, true
	}
	return viz.Figure{
		Title: "Time of an epoch, time in total and peak memory over the number of samples, with the exponents of " +
			"fitted power laws",
		Panels: panelsOf(panels), Columns: 2, Width: 12,
	}
}

func incompleteFigure(panels []viz.Lines) viz.Figure {
	return viz.Figure{
		Title:  "ACC over the share of views missing, a panel for each set, a line for each method",
		Panels: panelsOf(marked(panels)), SharedLegend: true, Columns: min(3, len(panels)), Width: 11,
	}
}

// ablationFigure has two rows where there are many sets, so that names stay readable.
func ablationFigure(panels []viz.Bars) viz.Figure {
	f := viz.Figure{
		Title:   "ACC of the network and of the network without its modules, a group of bars for each set",
		Columns: 1, SharedLegend: true,
	}
	panels[0].Title = "Ablation"
	for _, bars := range panels {
		half := (len(bars.Groups) + 1) / 2
		if len(bars.Groups) <= 7 {
			half = len(bars.Groups)
		}
		upper, lower := bars, bars
		upper.Groups, lower.Groups, lower.Title = bars.Groups[:half], bars.Groups[half:], ""
		upper.Series, lower.Series = nil, nil
		for _, b := range bars.Series {
			if b.Errors == nil {
				b.Errors = make([]float64, len(b.Values))
			}
			upper.Series = append(upper.Series, viz.BarSeries{Name: b.Name, Values: b.Values[:half], Errors: b.Errors[:half]})
			lower.Series = append(lower.Series, viz.BarSeries{Name: b.Name, Values: b.Values[half:], Errors: b.Errors[half:]})
		}
		f.Panels = append(f.Panels, upper)
		if len(lower.Groups) > 0 {
			f.Panels = append(f.Panels, lower)
		}
	}
	return f
}

// convergenceFigure has a column for each of two curves, of as many sets in a panel as can be told apart.
func convergenceFigure(curves []viz.Lines) viz.Figure {
	f := viz.Figure{
		Title: "Loss of the network, and objective of the classical solver, relative to their first values, a line for each set",
		Width: 11, Height: 11, Columns: 2,
	}
	var parts [][]viz.Lines
	for _, curve := range curves {
		parts = append(parts, curve.Split())
	}
	for part := range parts[0] {
		for k := range parts {
			f.Panels = append(f.Panels, parts[k][part])
		}
	}
	return f
}

func mapFigure(panels []viz.HeatMap) viz.Figure {
	for i := range panels {
		panels[i].Label = "ACC (%)"
	}
	return viz.Figure{
		Title:  "ACC over the number of layers and of anchors, a map for each set, in one scale of colours",
		Panels: panelsOf(panels), Columns: min(2, len(panels)), SharedLegend: true,
	}
}

func curvesFigure(panels []viz.Lines) viz.Figure {
	return viz.Figure{
		Title:  "ACC over the number of layers, a panel for each set, a line for each number of anchors",
		Panels: panelsOf(marked(panels)), Columns: min(2, len(panels)), SharedLegend: true, Width: 12,
	}
}

func thresholdsFigure(panels []viz.Lines) viz.Figure {
	return viz.Figure{
		Title:  "The thresholds θ and ρ that were learned, over the layers, two panels for each set",
		Panels: panelsOf(marked(panels)), Columns: 2, Width: 11,
	}
}

// embeddingFigure is called by the name of its files: the method and the set.
func embeddingFigure(name string, panels []viz.Scatter) viz.Figure {
	method, set, _ := strings.Cut(name, "-")
	if method = strings.ToUpper(method); method == "TSNE" {
		method = "t-SNE"
	}
	return viz.Figure{
		Title: fmt.Sprintf("%s of %s: raw views, and H of both presets, at the start and trained, coloured by class",
			method, set),
		Heading: fmt.Sprintf("%s, %s", set, method), Panels: panelsOf(panels), SharedLegend: true, Columns: 3,
	}
}

func precisionFigure(panels []viz.Lines) viz.Figure {
	for i := range panels {
		panels[i].YMin, panels[i].YMax = 0, 1.02
	}
	return viz.Figure{
		Title: "Precision over recall of finding corrupted rows, a panel for each set, a line for each ranking and " +
			"kind of corruption",
		Panels: panelsOf(panels), SharedLegend: true, Columns: min(2, len(panels)), Width: 11,
	}
}

func corruptedFigure(panels []viz.Lines) viz.Figure {
	return viz.Figure{
		Title:  "ACC with and without the noise module over the share of corrupted rows, a panel for each set",
		Panels: panelsOf(marked(panels)), SharedLegend: true, Columns: min(2, len(panels)), Width: 11,
	}
}
