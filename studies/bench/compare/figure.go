package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
)

// The figure has a panel for each set: seconds, from left to right by powers of ten, and the share of samples in the cluster of
// their class, from bottom to top. What has no accuracy is not in it.

const (
	panelWidth, panelHeight = 460.0, 330.0
	left, right, top, below = 52.0, 18.0, 34.0, 46.0
	letter, line            = 6.6, 14.0 // about the size of a letter of a name
	step                    = 0.125     // of the accuracies that are marked
)

// saveFigure draws the panels side by side.
func saveFigure(path string, sets []string, panels [][]outcome) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" `,
		panelWidth*float64(len(sets)), panelHeight)
	fmt.Fprintln(&b, `font-family="Liberation Sans,Arial,Helvetica,sans-serif" font-size="12">`)
	fmt.Fprintln(&b, `<title>Accuracy of the methods over their seconds, for each set</title>`)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="#fff"/>`)
	for q, set := range sets {
		fmt.Fprintf(&b, `<g transform="translate(%g 0)">`+"\n", panelWidth*float64(q))
		drawPanel(&b, set, panels[q])
		fmt.Fprintln(&b, `</g>`)
	}
	fmt.Fprintln(&b, `</svg>`)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// box is where a text stands.
type box struct{ x, y, w, h float64 }

func (a box) meets(b box) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

func drawPanel(b *strings.Builder, set string, rows []outcome) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(o outcome) bool { return math.IsNaN(o.accuracy) || !(o.seconds > 0) })
	lo, hi, least := 0.0, 1.0, 0.0
	if len(rows) > 0 {
		bySeconds := func(x, y outcome) int { return cmp.Compare(x.seconds, y.seconds) }
		lo = math.Floor(math.Log10(slices.MinFunc(rows, bySeconds).seconds))
		byAccuracy := func(x, y outcome) int { return cmp.Compare(x.accuracy, y.accuracy) }
		least = min(math.Floor(slices.MinFunc(rows, byAccuracy).accuracy/step)*step, 1-step)
		hi = max(math.Ceil(math.Log10(slices.MaxFunc(rows, bySeconds).seconds)), lo+1)
	}
	w, h := panelWidth-left-right, panelHeight-top-below
	xOf := func(seconds float64) float64 { return left + (math.Log10(seconds)-lo)/(hi-lo)*w }
	yOf := func(accuracy float64) float64 { return top + (1-accuracy)/(1-least)*h }
	fmt.Fprintf(b, `<text x="%g" y="20" font-size="14" fill="#1e1e1e">%s</text>`+"\n", left, html.EscapeString(set))
	for e := lo; e <= hi; e++ {
		x := xOf(math.Pow(10, e))
		fmt.Fprintf(b, `<path d="M%.1f %gV%g" stroke="#e1e1e1"/>`, x, top, top+h)
		fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle" fill="#1e1e1e">%g</text>`+"\n", x, top+h+18, math.Pow(10, e))
	}
	for a := least; a <= 1; a += step {
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#e1e1e1"/><text x="%g" y="%.1f" text-anchor="end" fill="#1e1e1e">%g</text>`+
			"\n", left, yOf(a), left+w, left-6, yOf(a)+4, 100*a)
	}
	fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="middle" fill="#1e1e1e">seconds</text>`+"\n", left+w/2, panelHeight-10)
	fmt.Fprintf(b, `<text transform="translate(14 %g) rotate(-90)" text-anchor="middle" fill="#1e1e1e">accuracy, %%</text>`+"\n",
		top+h/2)
	var taken []box
	for _, o := range rows {
		taken = append(taken, box{xOf(o.seconds) - 5, yOf(o.accuracy) - 5, 10, 10})
	}
	for _, o := range rows {
		x, y := xOf(o.seconds), yOf(o.accuracy)
		own := strings.HasPrefix(o.method, "largemvc")
		colour, weight := "#787878", "normal"
		if own {
			colour, weight = "#0072b2", "bold"
		}
		at := place(o.method, x, y, taken)
		taken = append(taken, at)
		if dx, dy := at.x+at.w/2-x, at.y+line/2-y; math.Abs(dx) > at.w/2+9 || math.Abs(dy) > line {
			fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#969696"/>`+"\n",
				x, y, min(max(x, at.x), at.x+at.w), min(max(y, at.y), at.y+line))
		}
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>`+
			`<text x="%.1f" y="%.1f" font-size="11" font-weight="%s" fill="#1e1e1e">%s</text>`+"\n",
			x, y, colour, at.x, at.y+line-4, weight, html.EscapeString(o.method))
	}
}

// place finds room for a name near its point, within the panel.
func place(name string, x, y float64, taken []box) box {
	w := letter * float64(len([]rune(name)))
	var best box
	for r := 0.0; r < panelHeight/line; r++ { // farther and farther up and down
		for _, at := range []box{
			{x + 8, y - line/2 - r*line, w, line}, {x - 8 - w, y - line/2 - r*line, w, line},
			{x + 8, y - line/2 + r*line, w, line}, {x - 8 - w, y - line/2 + r*line, w, line},
			{x - w/2, y - line - 5 - r*line, w, line}, {x - w/2, y + 5 + r*line, w, line},
		} {
			if at.x < left || at.x+at.w > panelWidth-4 || at.y < top-line || at.y+at.h > panelHeight-below {
				continue
			}
			if best.w == 0 {
				best = at
			}
			if !slices.ContainsFunc(taken, at.meets) {
				return at
			}
		}
	}
	if best.w == 0 {
		best = box{max(left, x-w), y, w, line}
	}
	return best
}
