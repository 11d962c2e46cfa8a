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
	"gonum.org/v1/plot/vg/draw"
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
	LogX, LogY            bool
	// Fit fits y = a·x^b to every series and draws it as a thin line, with b in the legend. It needs positive values.
	Fit bool
	// Markers marks the points. They suit up to about twenty points for each line.
	Markers bool
	XTicks  []float64 // where the x axis is labelled; nil: where it suits
}

// MostSeries is the number of lines that a reader can distinguish in a panel.
const MostSeries = 7

// Split returns the lines in as few readable panels as possible, each with about equally many.
func (l Lines) Split() []Lines {
	n := len(l.Series)
	panels := (n + MostSeries - 1) / MostSeries
	if panels < 2 {
		return []Lines{l}
	}
	var out []Lines
	for k := range panels {
		part := l
		part.Title = fmt.Sprintf("%s (%d of %d)", l.Title, k+1, panels)
		part.Series = l.Series[k*n/panels : (k+1)*n/panels]
		out = append(out, part)
	}
	return out
}

// Exponent returns a and b of the least-squares line log y = log a + b·log x, the scaling law y = a·x^b. It is an error
// if there are fewer than two different x, or values that are not positive.
func Exponent(x, y []float64) (a, b float64, err error) {
	if len(x) != len(y) || len(x) < 2 {
		return 0, 0, fmt.Errorf("viz: %d and %d values for a fit", len(x), len(y))
	}
	var mx, my float64
	for i := range x {
		if !(x[i] > 0) || !(y[i] > 0) {
			return 0, 0, fmt.Errorf("viz: point %d is (%v, %v); a power law needs positive values", i, x[i], y[i])
		}
		mx += math.Log(x[i]) / float64(len(x))
		my += math.Log(y[i]) / float64(len(x))
	}
	var sxx, sxy float64
	for i := range x {
		d := math.Log(x[i]) - mx
		sxx += d * d
		sxy += d * (math.Log(y[i]) - my)
	}
	if sxx == 0 {
		return 0, 0, errors.New("viz: all x are equal")
	}
	b = sxy / sxx
	return math.Exp(my - b*mx), b, nil
}

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
		return fmt.Errorf("%d series, want at most %d in a panel: see Split", len(l.Series), MostSeries)
	}
	for _, s := range l.Series {
		if err := s.check(l.LogX, l.LogY); err != nil {
			return err
		}
		if l.Fit {
			if _, _, err := Exponent(s.X, s.Y); err != nil {
				return fmt.Errorf("series %q: %w", s.Name, err)
			}
		}
	}
	return nil
}

// check returns an error for lists of different lengths and for points that the axes cannot show.
func (s Series) check(logX, logY bool) error {
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
		if (logX && s.X[i] <= 0) || (logY && min(s.Y[i], low) <= 0) {
			return fmt.Errorf("series %q: point %d is (%v, %v) on a logarithmic axis", s.Name, i, s.X[i], s.Y[i])
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (l Lines) size() (w, h vg.Length) { return panelWidth, panelHeight }

func (l Lines) legend() []legendEntry {
	if len(l.Series) == 1 && l.Series[0].Name == "" && !l.Fit {
		return nil
	}
	var entries []legendEntry
	for i, s := range l.Series {
		name := s.Name
		if l.Fit {
			_, b, _ := Exponent(s.X, s.Y)
			name = fmt.Sprintf("%s: ~ %s^%.2f", s.Name, short(l.XLabel), b)
		}
		e := legendEntry{name: name, line: ptr(lineStyle(i))}
		if l.Markers {
			e.marker = ptr(marker(i))
		}
		entries = append(entries, e)
	}
	return entries
}

// short is the first word of an axis label.
func short(label string) string {
	for i, r := range label {
		if r == ' ' || r == ',' {
			return label[:i]
		}
	}
	return label
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
		if l.Fit {
			a, b, _ := Exponent(s.X, s.Y)
			x0, x1 := span(s.X)
			p.Add(&plotter.Line{
				XYs:       plotter.XYs{{X: x0, Y: a * math.Pow(x0, b)}, {X: x1, Y: a * math.Pow(x1, b)}},
				LineStyle: draw.LineStyle{Color: colour(i), Width: 0.7},
			})
		}
	}
	if p.Y.Min == p.Y.Max {
		p.Y.Min, p.Y.Max = p.Y.Min-0.5, p.Y.Max+0.5
	}
	if p.X.Min == p.X.Max {
		p.X.Min, p.X.Max = p.X.Min-0.5, p.X.Max+0.5
	}
	setAxis(&p.X, l.LogX)
	setAxis(&p.Y, l.LogY)
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

func span(x []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, a := range x {
		lo, hi = min(lo, a), max(hi, a)
	}
	return lo, hi
}
