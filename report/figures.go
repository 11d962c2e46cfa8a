package report

import (
	"math"
	"strconv"
	"strings"
)

// The map.
const (
	mapWidth, mapHeight = 960, 680
	mapMargin           = 24
)

type mapFigure struct {
	Method        string
	Shown, Of     int
	Width, Height int
	Groups        []mapGroup
	Label         string // describes the picture to a screen reader
	Points        mapPoints
}

// mapGroup holds the points of a cluster.
type mapGroup struct {
	Cluster int
	Colour  int // of the palette
	Shape   string
	Path    string
	X, Y    float64 // position of its number
	Size    int
}

// mapPoints holds the points for the script.
type mapPoints struct {
	ID         []string  `json:"id"`
	X          []float64 `json:"x"`
	Y          []float64 `json:"y"`
	Cluster    []int     `json:"k"`
	Next       []int     `json:"n"`
	Confidence []float64 `json:"c"`
	Class      []int     `json:"t,omitempty"`
	ClassNames []string  `json:"names,omitempty"`
	Shapes     []string  `json:"shapes"`
	Colours    int       `json:"colours"`
}

// colours is the number of colours of the palette, which style.css has.
const colours = 8

// shapes are the marks of points, as ends of a path that begins in their middle: a circle (by a round end), a square, a
// triangle, a cross, a diamond.
var shapes = [...]string{
	"h0", "m-2.4-2.4h4.8v4.8h-4.8z", "m0-3.4l3 5.4h-6z", "m-2.8 0h5.6m-2.8-2.8v5.6", "m0-3.4l3 3.4l-3 3.4l-3-3.4z",
}

// shapeOf returns the mark of a group. The first groups, as many as there are colours, differ in colour and in shape.
func shapeOf(k int) int { return (k + k/colours) % len(shapes) }

func newMapFigure(m *mapping, r *result, o *Options, sure *certainty) *mapFigure {
	f := &mapFigure{Method: m.method, Shown: len(m.of), Of: r.samples(), Width: mapWidth, Height: mapHeight}
	x, y := fit(m.x, m.y)
	points := &f.Points
	points.X, points.Y, points.Shapes, points.Colours = x, y, shapes[:], colours
	paths := make([]strings.Builder, r.clusters())
	members := make([][]int, r.clusters())
	for q, i := range m.of {
		k := r.labels[i]
		members[k] = append(members[k], q)
		points.ID = append(points.ID, o.id(i))
		points.Cluster = append(points.Cluster, k)
		points.Next = append(points.Next, sure.next[i])
		points.Confidence = append(points.Confidence, math.Round(100*sure.confidence[i])/100)
		if o.Classes != nil {
			points.Class = append(points.Class, o.Classes[i])
		}
		b := &paths[k]
		b.WriteByte('M')
		b.WriteString(strconv.FormatFloat(x[q], 'f', -1, 64))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatFloat(y[q], 'f', -1, 64))
		b.WriteString(shapes[shapeOf(k)])
	}
	for _, name := range o.ClassNames {
		points.ClassNames = append(points.ClassNames, shorten(name))
	}
	var sizes []string
	for k := range paths {
		if len(members[k]) == 0 {
			continue
		}
		mx, my := middle(members[k], x, y)
		f.Groups = append(f.Groups, mapGroup{k, k % colours, shapes[shapeOf(k)], paths[k].String(), mx, my, len(members[k])})
		if len(sizes) < 12 {
			sizes = append(sizes, "cluster "+thousands(k)+" near "+where(mx, my))
		}
	}
	f.Label = "Map of " + plural(len(m.of), "sample") + ", coloured by cluster: " + list(sizes) + "."
	return f
}

// fit scales points to the figure, by one factor for both axes, with one decimal.
func fit(x, y []float64) (px, py []float64) {
	x0, x1 := ends(x)
	y0, y1 := ends(y)
	scale := min((mapWidth-2*mapMargin)/max(x1-x0, 1e-300), (mapHeight-2*mapMargin)/max(y1-y0, 1e-300))
	if math.IsInf(scale, 0) || x1-x0 < 1e-290 && y1-y0 < 1e-290 {
		scale = 0
	}
	px, py = make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		px[i] = math.Round(10*(mapWidth/2+scale*(x[i]-(x0+x1)/2))) / 10
		py[i] = math.Round(10*(mapHeight/2-scale*(y[i]-(y0+y1)/2))) / 10
	}
	return px, py
}

func ends(x []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, a := range x {
		lo, hi = min(lo, a), max(hi, a)
	}
	return lo, hi
}

// middle returns the point of a group whose coordinates are nearest to the medians of both.
func middle(members []int, x, y []float64) (float64, float64) {
	pick := func(of []float64) float64 {
		mine := make([]float64, len(members))
		for q, i := range members {
			mine[q] = of[i]
		}
		return median(mine)
	}
	mx, my := pick(x), pick(y)
	at := lowest(len(members), 1, nil, func(q int) float64 { return math.Hypot(x[members[q]]-mx, y[members[q]]-my) })[0]
	return x[members[at]], y[members[at]]
}

// where describes in words the place of a point.
func where(x, y float64) string {
	word := func(v float64, size int, words [3]string) string {
		return words[min(max(int(3*v/float64(size)), 0), 2)]
	}
	vertical, horizontal := word(y, mapHeight, [3]string{"top", "middle", "bottom"}),
		word(x, mapWidth, [3]string{"left", "centre", "right"})
	if vertical == "middle" && horizontal == "centre" {
		return "the centre"
	}
	return "the " + vertical + " " + horizontal
}

// bars is a histogram of values from 0 to 1.
type bars struct {
	Bars  []bar
	Label string
}

type bar struct {
	X, Y, Width, Height float64
	From, To            float64
	Count               int
}

const (
	barsWidth, barsHeight = 600.0, 150.0
	unitBins              = 20
)

func unitBars(name string, values []float64) *bars {
	counts := histogram(values, unitBins)
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	out := &bars{}
	width := barsWidth / unitBins
	for b, n := range counts {
		h := barsHeight * float64(n) / float64(most)
		out.Bars = append(out.Bars, bar{
			X: float64(b)*width + 1, Y: math.Round(10*(barsHeight-h)) / 10, Width: width - 2, Height: math.Round(10*h) / 10,
			From: float64(b) / unitBins, To: float64(b+1) / unitBins, Count: n,
		})
	}
	out.Label = "Histogram of the " + name + ": " + percent(shareBelow(values, 0.25)) + " of the samples are below 0.25, " +
		percent(shareBelow(values, 0.5)) + " below 0.5 and " + percent(shareBelow(values, 0.75)) + " below 0.75."
	return out
}

func shareBelow(values []float64, limit float64) float64 {
	n := 0
	for _, x := range values {
		if x < limit {
			n++
		}
	}
	return float64(n) / float64(len(values))
}

type lossFigure struct {
	Path        string
	Ticks       []tick
	Steps       int
	First, Last float64
	Label       string
	Values      []lossValue
}

type tick struct {
	Y    float64
	Text string
}

type lossValue struct {
	Epoch int
	Loss  float64
}

const (
	lossWidth, lossHeight = 600.0, 200.0
	lossPoints            = 400
	lossValues            = 11
)

// newLossFigure draws the loss, or returns nil if there are fewer than two values.
func newLossFigure(loss []float64) *lossFigure {
	if len(loss) < 2 {
		return nil
	}
	f := &lossFigure{Steps: len(loss) - 1, First: loss[0], Last: loss[len(loss)-1]}
	lo, hi := ends(loss)
	if hi == lo {
		hi, lo = hi+0.5, lo-0.5
	}
	y := func(x float64) float64 { return math.Round(10*(lossHeight-lossHeight*(x-lo)/(hi-lo))) / 10 }
	var b strings.Builder
	for _, e := range spread(len(loss), lossPoints) {
		letter := byte('L')
		if e == 0 {
			letter = 'M'
		}
		b.WriteByte(letter)
		b.WriteString(strconv.FormatFloat(math.Round(10*lossWidth*float64(e)/float64(f.Steps))/10, 'f', -1, 64))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatFloat(y(loss[e]), 'f', -1, 64))
	}
	f.Path = b.String()
	for q := range 3 {
		x := lo + (hi-lo)*float64(q)/2
		f.Ticks = append(f.Ticks, tick{y(x), strconv.FormatFloat(x, 'g', 4, 64)})
	}
	for _, e := range spread(len(loss), lossValues) {
		f.Values = append(f.Values, lossValue{e, loss[e]})
	}
	f.Label = "The loss went from " + number(f.First) + " to " + number(f.Last) + " in " + plural(f.Steps, "step") + "."
	return f
}

// spread returns at most `most` of the numbers below n, the first and the last among them.
func spread(n, most int) []int {
	if n <= most {
		most = n
	}
	out := make([]int, most)
	for q := range out {
		out[q] = int(math.Round(float64(q) * float64(n-1) / float64(most-1)))
	}
	return out
}
