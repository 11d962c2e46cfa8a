package viz

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Series is a line through points, with an optional band.
type Series struct {
	Name string
	X, Y []float64
	// Low and High bound the band, for example one standard deviation to either side; nil: none.
	Low, High []float64
}

// Lines draws series over a common axis.
type Lines struct {
	Title, XLabel, YLabel string // labels name the units
	Series                []Series
	// Markers marks the points. They suit up to about twenty points for each line.
	Markers bool
	XTicks  []float64 // where the x axis is labelled; nil: where it suits
}

// MostSeries is the number of lines that a reader can distinguish in a panel.
const MostSeries = 7

// Table returns the points: series, x, y, and low and high where a series has a band.
func (l Lines) Table() Table {
	t := Table{Title: l.Title, Columns: []string{"series", l.XLabel, l.YLabel}}
	bands := false
	for _, s := range l.Series {
		bands = bands || s.Low != nil
	}
	if bands {
		t.Columns = append(t.Columns, "low", "high")
	}
	for _, s := range l.Series {
		for i := range s.X {
			row := []any{s.Name, s.X[i], s.Y[i]}
			if s.Low != nil {
				row = append(row, s.Low[i], s.High[i])
			} else if bands {
				row = append(row, "", "")
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func (l Lines) check() error {
	if len(l.Series) == 0 {
		return errors.New("no series")
	}
	if len(l.Series) > MostSeries {
		return fmt.Errorf("%d series, want at most %d in a panel", len(l.Series), MostSeries)
	}
	for _, s := range l.Series {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error for lists of different lengths and for points that are not finite.
func (s Series) check() error {
	n := len(s.X)
	band := 0 // points of a band
	if s.Low != nil || s.High != nil {
		band = n
	}
	if n == 0 || len(s.Y) != n || len(s.Low) != band || len(s.High) != band {
		return fmt.Errorf("series %q has %d x, %d y, %d low and %d high", s.Name, n, len(s.Y), len(s.Low), len(s.High))
	}
	for i := range n {
		low, high := s.Y[i], s.Y[i]
		if s.Low != nil {
			low, high = s.Low[i], s.High[i]
		}
		if slices.ContainsFunc([]float64{s.X[i], s.Y[i], low, high}, func(x float64) bool { return !finite(x) }) {
			return fmt.Errorf("series %q: point %d is (%v, %v)", s.Name, i, s.X[i], s.Y[i])
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (l Lines) size() (w, h vg.Length) { return panelWidth, panelHeight }

func (l Lines) legend() []legendEntry {
	if len(l.Series) == 1 && l.Series[0].Name == "" {
		return nil
	}
	var entries []legendEntry
	for i, s := range l.Series {
		e := legendEntry{name: s.Name, line: ptr(lineStyle(i))}
		if l.Markers {
			e.marker = ptr(marker(i))
		}
		entries = append(entries, e)
	}
	return entries
}

func (l Lines) plot() *plot.Plot {
	p := newPlot(l.Title, l.XLabel, l.YLabel)
	p.Add(grid{})
	for i, s := range l.Series {
		if s.Low != nil {
			p.Add(band(s, i))
		}
	}
	for i, s := range l.Series {
		xy := points(s.X, s.Y)
		line := &plotter.Line{XYs: xy, LineStyle: lineStyle(i)}
		p.Add(line)
		if l.Markers {
			p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: marker(i)})
		}
	}
	if p.Y.Min == p.Y.Max {
		p.Y.Min, p.Y.Max = p.Y.Min-0.5, p.Y.Max+0.5
	}
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = p.X.Min-0.5, p.X.Max+0.5
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks{}, linearTicks{}
	if l.XTicks != nil {
		p.X.Tick.Marker = fixedTicks(l.XTicks)
	}
	return p
}

// band is the polygon between low and high.
func band(s Series, i int) *plotter.Polygon {
	ring := points(s.X, s.High)
	for j := len(s.X) - 1; j >= 0; j-- {
		ring = append(ring, plotter.XY{X: s.X[j], Y: s.Low[j]})
	}
	fill := colour(i)
	fill.A = 45
	return &plotter.Polygon{XYs: []plotter.XYs{ring}, Color: color.Color(fill)}
}

func points(x, y []float64) plotter.XYs {
	out := make(plotter.XYs, len(x))
	for i := range x {
		out[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return out
}
