// Package viz draws results of clustering experiments with gonum.org/v1/plot: lines with bands, log–log scaling with the fitted
// exponent, heat maps with values, and bars, as SVG.
//
//	fig := viz.Figure{Panels: []viz.Panel{viz.Lines{
//		Title: "Loss", XLabel: "epoch", YLabel: "loss", Series: []viz.Series{{Name: "ORL", X: epochs, Y: loss}},
//	}}}
//	err := fig.Save("loss.svg")
//
// The colours come from M. Okabe and K. Ito and differ for colour-blind readers. Markers and dashes repeat the information of
// colours, so that figures can be read in grey. Legends lie beside the data, never on them. The type is large enough for half the
// size.
//
// Every panel returns its content as a table, for the file beside the picture.
package viz

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/largemvc/largemvc/internal/file"
)

// Panel is one of the plots of a figure.
type Panel interface {
	// Table returns the content of the panel.
	Table() Table
	// check returns an error for content that cannot be drawn.
	check() error
	// plot builds the panel without its legend; check has passed.
	plot() *plot.Plot
	legend() []legendEntry
	// size is the natural size of the panel without its legend.
	size() (w, h vg.Length)
}

var (
	_ Panel = Lines{}
	_ Panel = HeatMap{}
	_ Panel = Bars{}
)

// Figure is one or several panels side by side.
type Figure struct {
	// Title describes the figure to screen readers, as the title of the SVG. Empty: the titles of the panels.
	Title   string
	Panels  []Panel
	Columns int // panels in a row; 0: all of them, up to 3
	// SharedLegend draws the legend of the first panel, beside all of them, in place of a legend for each panel.
	SharedLegend bool
	// Width and Height of each panel in centimetres, without its legend; 0: what suits the panels.
	Width, Height float64
}

// Save writes the figure to a file that ends in .svg. It never leaves a partial file.
func (f Figure) Save(path string) error {
	if ext := filepath.Ext(path); ext != ".svg" {
		return fmt.Errorf("viz: %s: ending %q, want .svg", path, ext)
	}
	return file.Replace(path, f.SVG)
}

// SVG writes the figure as SVG.
func (f Figure) SVG(w io.Writer) error {
	f = f.sharedScale()
	width, height, err := f.layout()
	if err != nil {
		return err
	}
	c := vgsvg.New(width, height)
	f.render(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:"+fonts+";")
	head, rest, ok := strings.Cut(text, "<g ")
	if !ok {
		return errors.New("viz: the picture has no content")
	}
	head = strings.Replace(head, "<svg ", `<svg role="img" `, 1)
	_, err = fmt.Fprintf(w, "%s<title>%s</title>\n<g %s", head, html.EscapeString(f.title()), rest)
	return err
}

// fonts are the fonts of an SVG. The first four are monospaced, and the layout is computed for them. If a system has none of
// them, the legend has room for a wider font.
const fonts = "Liberation Sans,Arimo,Arial,Helvetica,sans-serif"

// title says what the figure shows.
func (f Figure) title() string {
	if f.Title != "" {
		return f.Title
	}
	var titles []string
	for _, p := range f.Panels {
		if t := p.Table().Title; t != "" && !slices.Contains(titles, t) {
			titles = append(titles, t)
		}
	}
	return strings.Join(titles, "; ")
}

// sharedScale gives the heat maps of a figure one scale of colours, so that readers can compare them.
func (f Figure) sharedScale() Figure {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range f.Panels {
		if h, ok := p.(HeatMap); ok && h.Low == h.High {
			a, b := h.span()
			lo, hi = min(lo, a), max(hi, b)
		}
	}
	f.Panels = slices.Clone(f.Panels)
	for i, p := range f.Panels {
		if h, ok := p.(HeatMap); ok && h.Low == h.High && hi > lo {
			h.Low, h.High = lo, hi
			f.Panels[i] = h
		}
	}
	return f
}

// layout checks the figure and returns its size.
func (f Figure) layout() (w, h vg.Length, err error) {
	if len(f.Panels) == 0 {
		return 0, 0, errors.New("viz: no panels")
	}
	if f.Columns < 0 || f.Width < 0 || f.Height < 0 {
		return 0, 0, fmt.Errorf("viz: %d columns of %v×%v cm", f.Columns, f.Width, f.Height)
	}
	for i, p := range f.Panels {
		if err := p.check(); err != nil {
			return 0, 0, fmt.Errorf("viz: panel %d: %w", i, err)
		}
	}
	pw, ph, shared := f.panelSize()
	columns, rows := f.grid()
	return pw*vg.Length(columns) + shared, max(ph*vg.Length(rows), f.legendRoom()), nil
}

func (f Figure) grid() (columns, rows int) {
	columns = f.Columns
	if columns == 0 {
		columns = min(3, len(f.Panels))
	}
	return columns, (len(f.Panels) + columns - 1) / columns
}

// panelSize returns the size of every panel, its legend included, and the width of the shared legend.
func (f Figure) panelSize() (w, h, shared vg.Length) {
	legend := vg.Length(0)
	for _, p := range f.Panels {
		pw, ph := p.size()
		w, h = max(w, pw), max(h, ph)
		if !f.SharedLegend {
			legend = max(legend, legendWidth(p.legend()))
			h = max(h, legendHeight(p.legend()))
		}
	}
	if f.Width > 0 {
		w = vg.Length(f.Width) * vg.Centimeter
	}
	if f.Height > 0 {
		h = vg.Length(f.Height) * vg.Centimeter
	}
	if f.SharedLegend {
		shared = legendWidth(f.Panels[0].legend())
	}
	return w + legend, h, shared
}

func (f Figure) legendRoom() vg.Length {
	if !f.SharedLegend {
		return 0
	}
	return legendHeight(f.Panels[0].legend())
}

func (f Figure) render(c draw.Canvas) {
	c.FillPolygon(white, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	w, h, shared := f.panelSize()
	columns, _ := f.grid()
	for i, p := range f.Panels {
		x, top := c.Min.X+vg.Length(i%columns)*w, c.Max.Y-vg.Length(i/columns)*h
		area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x + margin, Y: top - h + margin}, Max: vg.Point{X: x + w - margin, Y: top - margin},
		}}
		if !f.SharedLegend {
			area = splitLegend(area, p.legend())
		}
		p.plot().Draw(area)
	}
	if shared > 0 {
		splitLegend(draw.Crop(c, 0, -margin, 0, -margin), f.Panels[0].legend())
	}
}
