package viz

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// linearTicks labels 4 to 8 round values: steps of 1, 2 or 5 times a power of ten.
type linearTicks struct{}

func (linearTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) {
		return []plot.Tick{{Value: lo, Label: number(lo, 1)}}
	}
	step := math.Pow(10, math.Floor(math.Log10(hi-lo)))
	for _, f := range []float64{1, 0.5, 0.2, 0.1} {
		if (hi-lo)/(step*f) >= 4 {
			step *= f
			break
		}
	}
	var out []plot.Tick
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: number(k*step, step)})
	}
	return out
}

// number writes x with the digits that a step needs.
func number(x, step float64) string {
	if math.Abs(x) < step*1e-6 {
		return "0"
	}
	if math.Abs(x) >= 1e5 || step < 1e-4 {
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, int(math.Ceil(-math.Log10(step)-1e-9))), 64)
}

// fixedTicks labels the given values.
type fixedTicks []float64

func (t fixedTicks) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for _, v := range t {
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
	}
	return out
}

// grid draws faint lines at the labelled ticks.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: faint, Width: 0.6}
	x, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if h := y(t.Value); t.Label != "" && c.ContainsY(h) {
			c.StrokeLine2(style, c.Min.X, h, c.Max.X, h)
		}
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if w := x(t.Value); t.Label != "" && c.ContainsX(w) {
			c.StrokeLine2(style, w, c.Min.Y, w, c.Max.Y)
		}
	}
}
