package viz

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// setAxis gives an axis its ticks and, if it is logarithmic, its scale.
func setAxis(a *plot.Axis, logarithmic bool) {
	if !logarithmic {
		a.Tick.Marker = linearTicks{}
		return
	}
	if a.Max <= a.Min*1.0001 { // one value: a decade around it
		a.Min, a.Max = a.Min/3, a.Max*3
	}
	a.Min, a.Max = a.Min/1.1, a.Max*1.1
	a.Scale = plot.LogScale{}
	a.Tick.Marker = logTicks{}
}

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

// logTicks labels powers of ten, and 3 times, or 2 and 5 times them where the axis spans few of them.
type logTicks struct{}

func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	factors := map[float64]bool{1: true}
	switch decades := math.Log10(hi / lo); {
	case decades < 1.5:
		factors[2], factors[5] = true, true
	case decades < 2.8:
		factors[3] = true
	}
	var out []plot.Tick
	for e := math.Floor(math.Log10(lo)); math.Pow(10, e) <= hi; e++ {
		for f := 1.0; f < 10; f++ {
			v := f * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			label := ""
			if factors[f] {
				label = power(v)
			}
			out = append(out, plot.Tick{Value: v, Label: label})
		}
	}
	return out
}

// power writes 1 to 5 times a power of ten: with suffixes for thousands, plainly down to 0.001.
func power(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", round(v/1e6))
	case v >= 1e3:
		return fmt.Sprintf("%gk", round(v/1e3))
	default:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
}

func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }

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
