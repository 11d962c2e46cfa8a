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

// BarSeries is a bar in each group.
type BarSeries struct {
	Name   string
	Values []float64 // one a group; NaN: no bar
	Errors []float64 // half the length of the whisker, for example one standard deviation; nil: none
}

// Bars draws groups of bars.
type Bars struct {
	Title, YLabel string
	Groups        []string
	Series        []BarSeries
}

// Table returns the bars: group, series, value, and error where a series has errors.
func (b Bars) Table() Table {
	t := Table{Title: b.Title, Columns: []string{"group", "series", b.YLabel}}
	whiskers := false
	for _, s := range b.Series {
		whiskers = whiskers || s.Errors != nil
	}
	if whiskers {
		t.Columns = append(t.Columns, "error")
	}
	for g, name := range b.Groups {
		for _, s := range b.Series {
			row := []any{name, s.Name, s.Values[g]}
			if s.Errors != nil {
				row = append(row, s.Errors[g])
			} else if whiskers {
				row = append(row, "")
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func (b Bars) check() error {
	if len(b.Groups) == 0 || len(b.Series) == 0 {
		return errors.New("no bars")
	}
	for _, s := range b.Series {
		if len(s.Values) != len(b.Groups) || (s.Errors != nil && len(s.Errors) != len(b.Groups)) {
			return fmt.Errorf("series %q has %d values and %d errors for %d groups", s.Name, len(s.Values),
				len(s.Errors), len(b.Groups))
		}
		for g, x := range s.Values {
			if math.IsInf(x, 0) || (s.Errors != nil && math.IsInf(s.Errors[g], 0)) {
				return fmt.Errorf("series %q is %v in group %q", s.Name, x, b.Groups[g])
			}
		}
	}
	return nil
}

func (b Bars) size() (w, h vg.Length) {
	w = vg.Length(3+0.55*float64(len(b.Groups)*(len(b.Series)+1))) * vg.Centimeter
	return max(w, 11*vg.Centimeter), panelHeight
}

func (b Bars) legend() []legendEntry {
	if len(b.Series) == 1 && b.Series[0].Name == "" {
		return nil
	}
	entries := make([]legendEntry, len(b.Series))
	for k, s := range b.Series {
		entries[k] = legendEntry{name: s.Name, fill: func(c *draw.Canvas, r vg.Rectangle) { fillBar(c, k, r) }}
	}
	return entries
}

func (b Bars) plot() *plot.Plot {
	p := newPlot(b.Title, "", b.YLabel)
	p.X.Min, p.X.Max = -0.5, float64(len(b.Groups))-0.5
	top, bottom := 0.0, 0.0
	for _, s := range b.Series {
		for g, x := range s.Values {
			e := 0.0
			if s.Errors != nil {
				e = s.Errors[g]
			}
			if !math.IsNaN(x) {
				top, bottom = max(top, x+e), min(bottom, x-e)
			}
		}
	}
	if top == bottom {
		top = 1
	}
	p.Y.Min, p.Y.Max = min(0, bottom), top
	p.Y.Padding = 0
	p.Y.Tick.Marker = linearTicks{}
	p.X.Tick.Marker, p.X.Tick.Length = nameTicks(b.Groups), 0
	if len(b.Groups) > 8 {
		p.X.Tick.Label.Rotation = math.Pi / 5
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	}
	p.Add(bars{b})
	return p
}

// bars draws the bars and whiskers.
type bars struct{ Bars }

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if h := ty(t.Value); c.ContainsY(h) {
			c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.6}, c.Min.X, h, c.Max.X, h)
		}
	}
	width := 0.8 / float64(len(b.Series))
	base := ty(max(0, p.Y.Min))
	clip := func(y vg.Length) vg.Length { return min(max(y, c.Min.Y), c.Max.Y) }
	for g := range b.Groups {
		for k, s := range b.Series {
			x := s.Values[g]
			if math.IsNaN(x) {
				continue
			}
			left := float64(g) - 0.4 + float64(k)*width
			x0, x1, y := tx(left+0.05*width), tx(left+0.95*width), clip(ty(x))
			fillBar(&c, k, vg.Rectangle{Min: vg.Point{X: x0, Y: min(base, y)}, Max: vg.Point{X: x1, Y: max(base, y)}})
			if s.Errors != nil && !math.IsNaN(s.Errors[g]) && s.Errors[g] > 0 {
				style := draw.LineStyle{Color: ink, Width: 0.9}
				mid, cap := (x0+x1)/2, (x1-x0)/5
				lo, hi := clip(ty(x-s.Errors[g])), clip(ty(x+s.Errors[g]))
				c.StrokeLine2(style, mid, lo, mid, hi)
				c.StrokeLine2(style, mid-cap, lo, mid+cap, lo)
				c.StrokeLine2(style, mid-cap, hi, mid+cap, hi)
			}
		}
	}
}

// barColour leaves out black, on which whiskers would not show.
func barColour(k int) color.NRGBA {
	order := [...]int{0, 1, 6, 3, 4, 5, 8, 7, 9}
	return palette[order[k%len(order)]]
}

// fillBar fills a bar in its colour. Every other bar is hatched, so that bars differ in grey.
func fillBar(c *draw.Canvas, k int, r vg.Rectangle) {
	c.FillPolygon(barColour(k), []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
	if k%2 == 0 {
		return
	}
	style := draw.LineStyle{Color: white, Width: 0.8}
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	const gap = 5
	for s := vg.Length(gap); s < w+h; s += gap { // the line x + y = s, clipped to the bar
		x0, x1 := max(0, s-h), min(w, s)
		c.StrokeLine2(style, r.Min.X+x0, r.Min.Y+s-x0, r.Min.X+x1, r.Min.Y+s-x1)
	}
}
