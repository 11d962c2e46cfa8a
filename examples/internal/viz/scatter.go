package viz

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Scatter draws points in the plane, coloured and shaped by class.
type Scatter struct {
	Title, XLabel, YLabel string // without labels the axes are hidden
	X, Y                  []float64
	Class                 []int    // of every point, 0 … c−1; nil: one class
	Names                 []string // of the classes; nil: their numbers
}

// maxLegend is the number of classes up to which a scatter plot has a legend.
const maxLegend = 20

// Table returns the points: x, y, class.
func (s Scatter) Table() Table {
	t := Table{Title: s.Title, Columns: []string{"x", "y", "class"}}
	for i := range s.X {
		t.Rows = append(t.Rows, []any{s.X[i], s.Y[i], s.name(s.class(i))})
	}
	return t
}

func (s Scatter) class(i int) int {
	if s.Class == nil {
		return 0
	}
	return s.Class[i]
}

func (s Scatter) name(class int) string {
	if s.Names == nil {
		return fmt.Sprint(class)
	}
	return s.Names[class]
}

func (s Scatter) classes() int {
	c := 1
	for _, k := range s.Class {
		c = max(c, k+1)
	}
	return c
}

func (s Scatter) check() error {
	if len(s.X) == 0 || len(s.Y) != len(s.X) || (s.Class != nil && len(s.Class) != len(s.X)) {
		return fmt.Errorf("%d x, %d y and %d classes", len(s.X), len(s.Y), len(s.Class))
	}
	for i := range s.X {
		if !finite(s.X[i]) || !finite(s.Y[i]) {
			return fmt.Errorf("point %d is (%v, %v)", i, s.X[i], s.Y[i])
		}
		if s.class(i) < 0 || (s.Names != nil && s.class(i) >= len(s.Names)) {
			return fmt.Errorf("point %d has the class %d of %d", i, s.class(i), len(s.Names))
		}
	}
	return nil
}

func (s Scatter) size() (w, h vg.Length) { return 10.5 * vg.Centimeter, 11 * vg.Centimeter }

func (s Scatter) legend() []legendEntry {
	if s.Class == nil || s.classes() > maxLegend {
		return nil
	}
	entries := make([]legendEntry, s.classes())
	for k := range entries {
		entries[k] = legendEntry{name: s.name(k), marker: ptr(marker(k))}
	}
	return entries
}

func (s Scatter) plot() *plot.Plot {
	p := newPlot(s.Title, s.XLabel, s.YLabel)
	setAxis(&p.X, false)
	setAxis(&p.Y, false)
	if s.XLabel == "" && s.YLabel == "" {
		p.HideAxes()
	}
	radius := vg.Length(markerSize)
	switch n := len(s.X); {
	case n > 2000:
		radius = 1.5
	case n > 500:
		radius = 2.2
	}
	// Points are drawn in their own order, so that no class covers the others.
	styles := make([]draw.GlyphStyle, s.classes())
	for k := range styles {
		styles[k] = marker(k)
		styles[k].Radius = radius
	}
	p.Add(&plotter.Scatter{XYs: points(s.X, s.Y), GlyphStyleFunc: func(i int) draw.GlyphStyle { return styles[s.class(i)] }})
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		pad := 0.03 * (a.Max - a.Min)
		if pad == 0 {
			pad = 0.5
		}
		a.Min, a.Max = a.Min-pad, a.Max+pad
	}
	return p
}
