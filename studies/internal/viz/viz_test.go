package viz

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

func lines() Lines {
	return Lines{
		Title: "ACC over rates", XLabel: "rate", YLabel: "ACC (%)", Markers: true,
		Series: []Series{
			{Name: "net", X: []float64{1, 2, 4}, Y: []float64{80, 70, 40}, Low: []float64{78, 69, 30},
				High: []float64{82, 71, 50}},
			{Name: "k-means", X: []float64{1, 2, 4}, Y: []float64{70, 60, 35}},
		},
	}
}

func heat() HeatMap {
	return HeatMap{
		Title: "ACC (%)", XLabel: "layers L", YLabel: "anchors m", Rows: []string{"c", "2c"}, Columns: []string{"1", "2", "3"},
		Values: [][]float64{{51.25, 62.5, 73.75}, {41, math.NaN(), 99}},
	}
}

func bars3() Bars {
	return Bars{
		Title: "Ablation", YLabel: "ACC (%)", Groups: []string{"orl", "webkb"},
		Series: []BarSeries{{Name: "large", Values: []float64{80, 60}, Errors: []float64{2, 4}},
			{Name: "amvc", Values: []float64{70, math.NaN()}}},
	}
}

// drawing is what a panel without legend draws on a canvas of 400×300 points.
type drawing struct {
	texts   map[string]int
	strokes []vg.Path
	fills   []vg.Path
}

func record(t *testing.T, p Panel) drawing {
	t.Helper()
	if err := p.check(); err != nil {
		t.Fatal(err)
	}
	var c recorder.Canvas
	p.plot().Draw(draw.NewCanvas(&c, 400, 300))
	d := drawing{texts: map[string]int{}}
	for _, a := range c.Actions {
		switch a := a.(type) {
		case *recorder.FillString:
			d.texts[a.String]++
		case *recorder.Stroke:
			d.strokes = append(d.strokes, a.Path)
		case *recorder.Fill:
			d.fills = append(d.fills, a.Path)
		}
	}
	return d
}

// closed says whether a path has the given number of corners.
func corners(p vg.Path) (out []vg.Point) {
	for _, c := range p {
		if c.Type == vg.MoveComp || c.Type == vg.LineComp {
			out = append(out, c.Pos)
		}
	}
	return out
}

func TestLinesDrawTheirPoints(t *testing.T) {
	l := lines()
	d := record(t, l)
	for _, text := range []string{"ACC over rates", "rate", "ACC (%)"} {
		if d.texts[text] != 1 {
			t.Errorf("%q is drawn %d times", text, d.texts[text])
		}
	}
	// Each series is a stroke of three corners whose y are an affine image of the values.
	found := 0
	for _, path := range d.strokes {
		at := corners(path)
		if len(at) != 3 || at[0].X == at[2].X || at[0].Y == at[2].Y {
			continue
		}
		for _, s := range l.Series {
			shareX := float64((at[1].X - at[0].X) / (at[2].X - at[0].X))
			shareY := float64((at[1].Y - at[0].Y) / (at[2].Y - at[0].Y))
			if math.Abs(shareX-1./3) < 1e-6 && math.Abs(shareY-(s.Y[1]-s.Y[0])/(s.Y[2]-s.Y[0])) < 1e-6 {
				found++
			}
		}
	}
	if found != 2 {
		t.Errorf("%d lines through the points, want 2", found)
	}
	// The band has a corner for every low and every high.
	bands := 0
	for _, path := range d.fills {
		if len(corners(path)) >= 6 {
			bands++
		}
	}
	if bands == 0 {
		t.Error("no band")
	}
}

func TestExponent(t *testing.T) {
	x := []float64{10, 100, 1000}
	var y []float64
	for _, a := range x {
		y = append(y, 3*math.Pow(a, 1.25))
	}
	a, b, err := Exponent(x, y)
	if err != nil || math.Abs(a-3) > 1e-9 || math.Abs(b-1.25) > 1e-12 {
		t.Errorf("%v·x^%v, %v; want 3·x^1.25", a, b, err)
	}
	for _, bad := range [][2][]float64{{{1, 2}, {1}}, {{1}, {1}}, {{1, -2}, {1, 2}}, {{1, 2}, {1, 0}}, {{2, 2}, {1, 3}}} {
		if _, _, err := Exponent(bad[0], bad[1]); err == nil {
			t.Errorf("%v, %v: no error", bad[0], bad[1])
		}
	}
	l := Lines{XLabel: "n (samples)", YLabel: "s", LogX: true, LogY: true, Fit: true, Series: []Series{{Name: "net", X: x, Y: y}}}
	if got := l.legend()[0].name; got != "net: ~ n^1.25" {
		t.Errorf("legend %q", got)
	}
	// On logarithmic axes a power law is straight.
	for _, path := range record(t, l).strokes {
		if at := corners(path); len(at) == 3 && at[0].Y != at[2].Y {
			if share := float64((at[1].Y - at[0].Y) / (at[2].Y - at[0].Y)); math.Abs(share-0.5) > 1e-6 {
				t.Errorf("the middle of the power law lies at %v", share)
			}
		}
	}
}

func TestHeatMapShowsItsValues(t *testing.T) {
	h := heat()
	d := record(t, h)
	for _, text := range []string{"51.2", "62.5", "73.8", "41.0", "99.0", "c", "2c", "1", "2", "3", "layers L", "anchors m"} {
		if d.texts[text] != 1 {
			t.Errorf("%q is drawn %d times", text, d.texts[text])
		}
	}
	if d.texts["NaN"] != 0 {
		t.Error("an empty cell shows NaN")
	}
	cells := 0
	for _, path := range d.fills {
		if len(corners(path)) == 4 {
			cells++
		}
	}
	if cells != 5 {
		t.Errorf("%d cells, want 5", cells)
	}
}

func TestBarsHaveTheirHeights(t *testing.T) {
	b := bars3()
	d := record(t, b)
	var heights []float64
	for _, path := range d.fills {
		if at := corners(path); len(at) == 4 {
			heights = append(heights, float64(at[2].Y-at[0].Y))
		}
	}
	if len(heights) != 3 {
		t.Fatalf("%d bars, want 3", len(heights))
	}
	for i, want := range []float64{80, 70, 60} { // in the order of groups and series
		if got := heights[i] / heights[0] * 80; math.Abs(got-want) > 1e-6 {
			t.Errorf("bar %d is as high as %v, want %v", i, got, want)
		}
	}
}

// Classes and series must be told apart by colour alone, by shape alone for neighbours, and in grey.
func TestStylesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100 {
		m := marker(i)
		key := fmt.Sprintf("%v %T", m.Color, m.Shape)
		if seen[key] {
			t.Errorf("marker %d repeats an earlier one", i)
		}
		seen[key] = true
		if i > 0 && fmt.Sprintf("%T", marker(i-1).Shape) == fmt.Sprintf("%T", m.Shape) {
			t.Errorf("markers %d and %d have one shape", i-1, i)
		}
	}
	lightness := func(c color.NRGBA) float64 { return 0.2126*float64(c.R) + 0.7152*float64(c.G) + 0.0722*float64(c.B) }
	for i := 1; i < 6; i++ {
		if math.Abs(lightness(colour(i))-lightness(colour(i-1))) < 20 {
			t.Errorf("colours %d and %d are equally light", i-1, i)
		}
	}
	last := math.Inf(1)
	for x := 0.0; x <= 1; x += 0.05 {
		if l := lightness(shade(x)); l >= last {
			t.Errorf("the heat map's colours are not ordered by lightness at %v", x)
		} else {
			last = l
		}
	}
}

func TestTables(t *testing.T) {
	f := Figure{Panels: []Panel{lines(), heat(), bars3()}}
	var b bytes.Buffer
	if err := f.CSV(&b); err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(&b)
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"panel", "series", "rate", "ACC (%)", "low", "high"},
		{"ACC over rates", "net", "4", "40", "30", "50"},
		{"ACC over rates", "k-means", "2", "60", "", ""},
		{"ACC (%)", "2c", "3", "99"},
		{"Ablation", "webkb", "large", "60", "4"},
	} {
		if !slices.ContainsFunc(records, func(got []string) bool { return slices.Equal(got, want) }) {
			t.Errorf("no record %q in %q", want, records)
		}
	}
}

func TestSave(t *testing.T) {
	folder := t.TempDir()
	f := Figure{Panels: []Panel{lines(), lines()}, SharedLegend: true}
	path := filepath.Join(folder, "a.svg")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
	}
	if n := strings.Count(string(data), ">k-means<"); n != 1 {
		t.Errorf("the shared legend is drawn %d times", n)
	}
	if err := f.Save(filepath.Join(folder, "a.pdf")); err == nil {
		t.Error("an ending that is not known is no error")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A legend lies beside the data, whatever its length.
func TestLegendLeavesTheDataAlone(t *testing.T) {
	l := lines()
	l.Series[0].Name = strings.Repeat("a long name ", 4)
	var c recorder.Canvas
	left := splitLegend(draw.NewCanvas(&c, 600, 300), l.legend())
	width := textStyle(legendSize, draw.XLeft, draw.YCenter).Width(l.Series[0].Name)
	texts := 0
	for _, a := range c.Actions {
		if a, ok := a.(*recorder.FillString); ok {
			texts++
			if a.Point.X <= left.Max.X || (a.String == l.Series[0].Name && a.Point.X+width > 600) {
				t.Errorf("%q at %v, data end at %v", a.String, a.Point.X, left.Max.X)
			}
		}
	}
	if texts != 2 {
		t.Errorf("%d names", texts)
	}
	// The figure grows by the legend, so that long names take nothing from the data.
	short, _, err := Figure{Panels: []Panel{lines()}}.layout()
	if err != nil {
		t.Fatal(err)
	}
	long, _, err := Figure{Panels: []Panel{l}}.layout()
	if err != nil {
		t.Fatal(err)
	}
	if grown := long - short; grown < width/2 {
		t.Errorf("the figure grew by %v", grown)
	}
}

func TestErrors(t *testing.T) {
	nan := math.NaN()
	for name, p := range map[string]Panel{
		"no series":        Lines{},
		"fit of one point": Lines{Fit: true, Series: []Series{{X: []float64{1}, Y: []float64{1}}}},
		"log of 0":         Lines{LogY: true, Series: []Series{{X: []float64{1}, Y: []float64{0}}}},
		"lengths":          Lines{Series: []Series{{X: []float64{1}, Y: nil}}},
		"NaN":              Lines{Series: []Series{{X: []float64{1}, Y: []float64{nan}}}},
		"half a band":      Lines{Series: []Series{{X: []float64{1}, Y: []float64{1}, Low: []float64{0}}}},
		"ragged cells":     HeatMap{Rows: []string{"a"}, Columns: []string{"b", "c"}, Values: [][]float64{{1}}},
		"empty cells":      HeatMap{Rows: []string{"a"}, Columns: []string{"b"}, Values: [][]float64{{nan}}},
		"no bars":          Bars{},
		"missing bar":      Bars{Groups: []string{"a", "b"}, Series: []BarSeries{{Values: []float64{1}}}},
	} {
		if err := (Figure{Panels: []Panel{p}}).SVG(io.Discard); err == nil || !strings.HasPrefix(err.Error(), "viz: panel 0: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]Figure{"no panels": {}, "columns": {Panels: []Panel{heat()}, Columns: -1}} {
		if err := f.SVG(io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTicks(t *testing.T) {
	label := func(f func(lo, hi float64) []string, lo, hi float64) string { return strings.Join(f(lo, hi), " ") }
	linear := func(lo, hi float64) (out []string) {
		for _, k := range (linearTicks{}).Ticks(lo, hi) {
			out = append(out, k.Label)
		}
		return out
	}
	logarithmic := func(lo, hi float64) (out []string) {
		for _, k := range (logTicks{}).Ticks(lo, hi) {
			if k.Label != "" {
				out = append(out, k.Label)
			}
		}
		return out
	}
	for _, c := range []struct {
		got, want string
	}{
		{label(linear, 0, 1), "0 0.2 0.4 0.6 0.8 1.0"},
		{label(linear, 30, 84), "30 40 50 60 70 80"},
		{label(linear, -1, 1), "-1.0 -0.5 0 0.5 1.0"},
		{label(linear, 5, 5), "5"},
		{label(logarithmic, 900, 250000), "1k 3k 10k 30k 100k"},
		{label(logarithmic, 0.01, 2000), "0.01 0.1 1 10 100 1k"},
		{label(logarithmic, 1, 12), "1 2 5 10"},
	} {
		if c.got != c.want {
			t.Errorf("ticks %q, want %q", c.got, c.want)
		}
	}
}

// TestSVGCanBeReadAnywhere wants other fonts to fall back on, and a title.
func TestSVGCanBeReadAnywhere(t *testing.T) {
	var b bytes.Buffer
	if err := (Figure{Panels: []Panel{lines(), heat()}}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{`<svg role="img" `, "<title>ACC over rates; ACC (%)</title>", "Arial,Helvetica,sans-serif;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(text, "font-family:Liberation Sans;") {
		t.Error("a text has one font only")
	}
	b.Reset()
	if err := (Figure{Title: "a < b", Panels: []Panel{lines()}}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "<title>a &lt; b</title>") {
		t.Error("the title of the figure is not that of the picture, or is not quoted")
	}
	if err := xml.Unmarshal(b.Bytes(), new(any)); err != nil {
		t.Error(err)
	}
}

// TestHeatMapsShareTheirScale wants one value to have one colour in all maps of a figure, and the scale to say which.
func TestHeatMapsShareTheirScale(t *testing.T) {
	low := HeatMap{Title: "low", Rows: []string{"a"}, Columns: []string{"b", "c"}, Values: [][]float64{{10, 20}}, Label: "ACC"}
	high := low
	high.Title, high.Values = "high", [][]float64{{20, 40}}
	f := Figure{Panels: []Panel{low, high}}.sharedScale()
	for _, p := range f.Panels {
		if lo, hi := p.(HeatMap).scale(); lo != 10 || hi != 40 {
			t.Errorf("%s: the scale runs from %v to %v", p.(HeatMap).Title, lo, hi)
		}
		entries := p.legend()
		if entries[0].name != "ACC" || entries[1].name != "40.0" || entries[len(entries)-1].name != "10.0" {
			t.Errorf("the scale says %v", entries)
		}
	}
	if low.Low != low.High {
		t.Error("the caller's panel was changed")
	}
	own := high
	own.Low, own.High = 0, 100
	if lo, hi := (Figure{Panels: []Panel{low, own}}).sharedScale().Panels[1].(HeatMap).scale(); lo != 0 || hi != 100 {
		t.Errorf("a scale of its own became %v to %v", lo, hi)
	}
}

// TestManyLinesAreParted wants no more lines in a panel than can be told apart.
func TestManyLinesAreParted(t *testing.T) {
	l := Lines{Title: "loss"}
	for i := range 15 {
		l.Series = append(l.Series, Series{Name: fmt.Sprint(i), X: []float64{0, 1}, Y: []float64{0, 1}})
	}
	if err := l.check(); err == nil || !strings.Contains(err.Error(), "see Split") {
		t.Errorf("15 lines: %v", err)
	}
	parts, all := l.Split(), 0
	for _, p := range parts {
		if err := p.check(); err != nil || len(p.Series) != 5 {
			t.Errorf("%d lines, %v", len(p.Series), err)
		}
		all += len(p.Series)
	}
	if len(parts) != 3 || all != 15 || parts[2].Title != "loss (3 of 3)" {
		t.Errorf("%d panels of %d lines, the last %q", len(parts), all, parts[len(parts)-1].Title)
	}
}
