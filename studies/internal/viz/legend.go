package viz

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legendEntry is a sample of a line, of a marker, or of both, and its name.
type legendEntry struct {
	name   string
	line   *draw.LineStyle
	marker *draw.GlyphStyle
	fill   func(c *draw.Canvas, r vg.Rectangle)
}

const (
	sampleWidth = 26
	legendGap   = 8
	fontSlack   = 1.2 // a viewer's font may be wider than the font of the layout
	entryHeight = legendSize * 1.45
)

// sample is the width of the samples in front of the names.
func sample(entries []legendEntry) vg.Length {
	for _, e := range entries {
		if e.line != nil {
			return sampleWidth
		}
	}
	return 12
}

// legendWidth is the width of the strip that a legend needs.
func legendWidth(entries []legendEntry) vg.Length {
	if len(entries) == 0 {
		return 0
	}
	style := textStyle(legendSize, draw.XLeft, draw.YCenter)
	width := vg.Length(0)
	for _, e := range entries {
		width = max(width, style.Width(e.name))
	}
	return fontSlack*width + sample(entries) + 2.5*legendGap
}

// legendHeight is the height of a legend, with the panel's title.
func legendHeight(entries []legendEntry) vg.Length {
	return titleSize*1.6 + vg.Length(len(entries))*entryHeight + 2*margin
}

// splitLegend draws the legend in a strip at the right of c and returns what is left. With no entries it is all of c.
func splitLegend(c draw.Canvas, entries []legendEntry) draw.Canvas {
	if len(entries) == 0 {
		return c
	}
	style := textStyle(legendSize, draw.XLeft, draw.YCenter)
	width, sample := legendWidth(entries), sample(entries)
	x, y := c.Max.X-width+1.5*legendGap, c.Max.Y-titleSize*1.6-entryHeight/2
	for _, e := range entries {
		mid := vg.Point{X: x + sample/2, Y: y}
		if e.line != nil {
			c.StrokeLine2(*e.line, x, y, x+sample, y)
		}
		if e.marker != nil {
			g := *e.marker
			g.Radius = max(g.Radius, markerSize)
			c.DrawGlyphNoClip(g, mid)
		}
		if e.fill != nil {
			e.fill(&c, vg.Rectangle{Min: vg.Point{X: mid.X - 6, Y: y - 5}, Max: vg.Point{X: mid.X + 6, Y: y + 5}})
		}
		c.FillText(style, vg.Point{X: x + sample + legendGap/2, Y: y}, e.name)
		y -= entryHeight
	}
	c.Max.X -= width
	return c
}

func ptr[T any](x T) *T { return &x }
