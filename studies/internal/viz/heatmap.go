package viz

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap draws a matrix as coloured cells with their values. Colours run from light (low) to dark (high), so that they
// read the same in grey; NaN is an empty cell.
type HeatMap struct {
	Title, XLabel, YLabel string
	Rows, Columns         []string // names, from the top and from the left
	Values                [][]float64
	Format                string // of the values; "": %.1f
	Label                 string // what the values are, above the scale of colours
	// Low and High are the ends of the scale of colours if they differ; otherwise the values of all heat maps of the figure
	// determine them.
	Low, High float64
}

// span is the lowest and the highest value.
func (h HeatMap) span() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, row := range h.Values {
		for _, x := range row {
			if !math.IsNaN(x) {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
	}
	return lo, hi
}

// scale is the range of the colours.
func (h HeatMap) scale() (lo, hi float64) {
	if h.Low != h.High {
		return h.Low, h.High
	}
	return h.span()
}

// Table returns the cells: row, column, value.
func (h HeatMap) Table() Table {
	t := Table{Title: h.Title, Columns: []string{orElse(h.YLabel, "row"), orElse(h.XLabel, "column"), "value"}}
	for i, row := range h.Values {
		for j, x := range row {
			t.Rows = append(t.Rows, []any{h.Rows[i], h.Columns[j], x})
		}
	}
	return t
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (h HeatMap) check() error {
	if len(h.Rows) == 0 || len(h.Columns) == 0 || len(h.Values) != len(h.Rows) {
		return fmt.Errorf("%d rows of values for %d×%d cells", len(h.Values), len(h.Rows), len(h.Columns))
	}
	some := false
	for i, row := range h.Values {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %d has %d values for %d columns", i, len(row), len(h.Columns))
		}
		for j, x := range row {
			if math.IsInf(x, 0) {
				return fmt.Errorf("the value in row %d, column %d is %v", i, j, x)
			}
			some = some || !math.IsNaN(x)
		}
	}
	if !some {
		return errors.New("no value")
	}
	return nil
}

func (h HeatMap) size() (w, hh vg.Length) {
	w = vg.Length(4+1.7*float64(len(h.Columns))) * vg.Centimeter
	hh = vg.Length(3+1.05*float64(len(h.Rows))) * vg.Centimeter
	return max(w, 9*vg.Centimeter), max(hh, 7*vg.Centimeter)
}

// legend is the scale of colours, the highest value first.
func (h HeatMap) legend() []legendEntry {
	lo, hi := h.scale()
	if !(hi > lo) {
		return nil
	}
	const steps = 6
	var entries []legendEntry
	if h.Label != "" {
		entries = append(entries, legendEntry{name: h.Label})
	}
	for k := steps; k >= 0; k-- {
		share := float64(k) / steps
		entries = append(entries, legendEntry{
			name: fmt.Sprintf(orElse(h.Format, "%.1f"), lo+share*(hi-lo)),
			fill: func(c *draw.Canvas, r vg.Rectangle) {
				c.FillPolygon(shade(share), []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
			},
		})
	}
	return entries
}

func (h HeatMap) plot() *plot.Plot {
	p := newPlot(h.Title, h.XLabel, h.YLabel)
	reversed := make([]string, len(h.Rows))
	for i, name := range h.Rows {
		reversed[len(h.Rows)-1-i] = name
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(h.Columns))-0.5, -0.5, float64(len(h.Rows))-0.5
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker, p.Y.Tick.Marker = nameTicks(h.Columns), nameTicks(reversed)
	p.X.Tick.Length, p.Y.Tick.Length = 0, 0
	p.Add(cells{h})
	return p
}

// nameTicks labels 0, 1, … with names.
type nameTicks []string

func (t nameTicks) Ticks(lo, hi float64) []plot.Tick {
	out := make([]plot.Tick, len(t))
	for i, name := range t {
		out[i] = plot.Tick{Value: float64(i), Label: name}
	}
	return out
}

// cells draws the cells of a heat map.
type cells struct{ HeatMap }

func (h cells) Plot(c draw.Canvas, p *plot.Plot) {
	lo, hi := h.scale()
	tx, ty := p.Transforms(&c)
	format := orElse(h.Format, "%.1f")
	for i, row := range h.Values {
		for j, x := range row {
			if math.IsNaN(x) {
				continue
			}
			y := float64(len(h.Values) - 1 - i)
			x0, x1, y0, y1 := tx(float64(j)-0.5), tx(float64(j)+0.5), ty(y-0.5), ty(y+0.5)
			share := 0.5
			if hi > lo {
				share = min(max((x-lo)/(hi-lo), 0), 1)
			}
			c.FillPolygon(shade(share), []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
			style := textStyle(tickSize, draw.XCenter, draw.YCenter)
			if share > 0.55 {
				style.Color = white
			}
			c.FillText(style, vg.Point{X: (x0 + x1) / 2, Y: (y0 + y1) / 2}, fmt.Sprintf(format, x))
		}
	}
}

// shade runs from near white through blue to dark blue, evenly in lightness.
func shade(t float64) color.NRGBA {
	stops := [...][3]float64{{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}}
	u := min(max(t, 0), 1) * float64(len(stops)-1)
	i := min(int(u), len(stops)-2)
	f := u - float64(i)
	mix := func(k int) uint8 { return uint8(math.Round(stops[i][k]*(1-f) + stops[i+1][k]*f)) }
	return color.NRGBA{R: mix(0), G: mix(1), B: mix(2), A: 255}
}
