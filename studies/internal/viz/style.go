package viz

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette has the colours of Okabe and Ito, ordered so that neighbours differ in lightness too. Its yellow is darker, for white
// paper.
var palette = [...]color.NRGBA{
	{R: 0, G: 114, B: 178, A: 255},  // blue
	{R: 230, G: 159, B: 0, A: 255},  // orange
	{R: 0, G: 0, B: 0, A: 255},      // black
	{R: 86, G: 180, B: 233, A: 255}, // sky blue
	{R: 213, G: 94, B: 0, A: 255},   // vermilion
	{R: 204, G: 121, B: 167, A: 255},
	{R: 0, G: 158, B: 115, A: 255}, // bluish green
	{R: 178, G: 168, B: 0, A: 255}, // dark yellow
	{R: 120, G: 120, B: 120, A: 255},
	{R: 110, G: 60, B: 20, A: 255}, // brown
}

// glyphs are the markers, in the order in which classes and series take them.
var glyphs = [...]draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.SquareGlyph{}, draw.PlusGlyph{}, draw.RingGlyph{},
	draw.PyramidGlyph{}, draw.BoxGlyph{}, diamond{}, star{},
}

// dashes are the line patterns, in points.
var dashes = [...][]vg.Length{nil, {7, 3}, {2, 2}, {9, 3, 2, 3}, {4, 4}, {12, 4}}

var (
	white = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	ink   = color.NRGBA{R: 30, G: 30, B: 30, A: 255}
	faint = color.NRGBA{R: 225, G: 225, B: 225, A: 255}
)

const (
	margin      = 6 // around a panel, in points
	titleSize   = 15
	labelSize   = 14
	tickSize    = 12
	legendSize  = 12
	markerSize  = 3.2
	lineWidth   = 1.6
	panelWidth  = 15 * vg.Centimeter
	panelHeight = 10.5 * vg.Centimeter
)

func colour(i int) color.NRGBA { return palette[i%len(palette)] }

// marker combines shapes and colours so that the first 100 combinations differ.
func marker(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colour(i), Radius: markerSize, Shape: glyphs[(i+i/len(palette))%len(glyphs)]}
}

func lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: colour(i), Width: lineWidth, Dashes: dashes[i%len(dashes)]}
}

// diamond is a filled square on its corner.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, p vg.Point) {
	r := s.Radius * 1.25
	c.FillPolygon(s.Color, []vg.Point{{X: p.X - r, Y: p.Y}, {X: p.X, Y: p.Y - r}, {X: p.X + r, Y: p.Y}, {X: p.X, Y: p.Y + r}})
}

// star is a plus and a cross in one place.
type star struct{}

func (star) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, p vg.Point) {
	draw.PlusGlyph{}.DrawGlyph(c, s, p)
	draw.CrossGlyph{}.DrawGlyph(c, s, p)
}

// newPlot returns a plot in the common style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size, p.Title.Padding = titleSize, 6
	p.Title.TextStyle.Font.Variant = "Sans"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = font.Font{Typeface: p.Title.TextStyle.Font.Typeface, Variant: "Sans", Size: labelSize}
		a.Tick.Label.Font = font.Font{Typeface: p.Title.TextStyle.Font.Typeface, Variant: "Sans", Size: tickSize}
		a.Label.Padding = 4
		a.LineStyle = draw.LineStyle{Color: ink, Width: 0.8}
		a.Tick.LineStyle = a.LineStyle
	}
	return p
}

func textStyle(size font.Length, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: ink, Font: font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: size},
		XAlign: x, YAlign: y, Handler: plot.DefaultTextHandler,
	}
}
