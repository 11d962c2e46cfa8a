package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/score"
)

const (
	choicePanelWidth  = 300.0
	choicePanelHeight = 150.0
	choiceLeft        = 64.0 // of a panel, for the numbers beside it
	choiceTop         = 44.0
	choiceColumns     = 3
)

// choicePanel is an index over the numbers of clusters.
type choicePanel struct {
	title string
	of    func(choose.Choice) float64
}

// WriteChoices draws the result of choose.Clusters as SVG: each index over the numbers of clusters, with the suggested number
// marked. If no number was tried, it returns an error.
func WriteChoices(w io.Writer, c *choose.Choices) error {
	if parallel.Nil(w) {
		return fmt.Errorf("report: the writer is nil")
	}
	if c == nil || len(c.Choices) == 0 {
		return fmt.Errorf("report: no numbers of clusters were tried")
	}
	var panels []string
	for _, p := range []choicePanel{
		{"loss, lower is better", func(c choose.Choice) float64 { return c.Loss }},
		{"agreement of halves beyond noise, high is good", beyondNoise},
		{"agreement over seeds, high is good", func(c choose.Choice) float64 { return c.SeedARI }},
		{"share of the eigengaps, high is good", func(c choose.Choice) float64 { return c.GapShare }},
		{"eigengap of the neighbours, high is good", func(c choose.Choice) float64 { return c.Gap }},
		{"silhouette, high is good", func(c choose.Choice) float64 { return c.Silhouette }},
	} {
		if text := p.draw(c, len(panels)); text != "" {
			panels = append(panels, text)
		}
	}
	columns := min(choiceColumns, len(panels))
	rows := (len(panels) + choiceColumns - 1) / choiceColumns
	width := float64(columns)*(choicePanelWidth+choiceLeft+16) + 16
	height := float64(rows)*(choicePanelHeight+choiceTop+40) + 34
	title := "Numbers of clusters from " + thousands(c.Choices[0].Clusters) + " to " +
		thousands(c.Choices[len(c.Choices)-1].Clusters)
	if c.Suggested > 0 {
		title += fmt.Sprintf("; suggested: %d", c.Suggested)
		if !c.Clear {
			title += ", but no number stands out"
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %g %g" width="%g" height="%g" `+
		`font-family="system-ui,Liberation Sans,Arial,Helvetica,sans-serif" font-size="12">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
<text x="16" y="24" font-size="15" font-weight="600" fill="#1c1e21">%[5]s</text>
%s</svg>
`, width, height, width, height, html.EscapeString(title), strings.Join(panels, ""))
	return err
}

func beyondNoise(c choose.Choice) float64 {
	if c.Structure.Judgement == score.StructureUnknown {
		return math.NaN()
	}
	return c.Structure.Stability - c.Structure.NullStability
}

// draw returns the panel at a place, "" if the index does not exist.
func (p *choicePanel) draw(c *choose.Choices, at int) string {
	var ks, values []float64
	for _, x := range c.Choices {
		if v := p.of(x); !math.IsNaN(v) && !math.IsInf(v, 0) {
			ks, values = append(ks, float64(x.Clusters)), append(values, v)
		}
	}
	if len(ks) == 0 {
		return ""
	}
	lo, hi := ends(values)
	if hi == lo {
		lo, hi = lo-0.5, hi+0.5
	}
	first, last := float64(c.Choices[0].Clusters), float64(c.Choices[len(c.Choices)-1].Clusters)
	x := func(k float64) float64 {
		return math.Round(10*(choicePanelWidth-24)*(k-first)/max(last-first, 1))/10 + 12
	}
	y := func(v float64) float64 { return math.Round(10*choicePanelHeight*(hi-v)/(hi-lo)) / 10 }
	var b strings.Builder
	fmt.Fprintf(&b, "<g transform=\"translate(%g %g)\">\n",
		16+choiceLeft+float64(at%choiceColumns)*(choicePanelWidth+choiceLeft+16),
		34+choiceTop+float64(at/choiceColumns)*(choicePanelHeight+choiceTop+40))
	fmt.Fprintf(&b, "<text x=\"0\" y=\"-14\" font-size=\"13\" fill=\"#1c1e21\">%s</text>\n", p.title)
	for q := range 3 {
		v := lo + (hi-lo)*float64(q)/2
		fmt.Fprintf(&b, "<line x1=\"0\" x2=\"%g\" y1=\"%g\" y2=\"%[2]g\" stroke=\"#d4d8de\"/>"+
			"<text x=\"-6\" y=\"%g\" text-anchor=\"end\" fill=\"#575d66\">%s</text>\n", choicePanelWidth, y(v),
			y(v)+4, number3(v))
	}
	if c.Suggested > 0 {
		fmt.Fprintf(&b, "<line x1=\"%g\" x2=\"%[1]g\" y1=\"0\" y2=\"%g\" stroke=\"#d55e00\" stroke-width=\"2\" "+
			"stroke-dasharray=\"5 4\"/>\n",
			x(float64(c.Suggested)), choicePanelHeight)
	}
	letter := "M"
	var path, dots strings.Builder
	for i, k := range ks {
		fmt.Fprintf(&path, "%s%g %g", letter, x(k), y(values[i]))
		letter = "L"
		fmt.Fprintf(&dots, "<circle cx=\"%g\" cy=\"%g\" r=\"3.5\"><title>%g clusters: %s</title></circle>", x(k), y(values[i]), k,
			number3(values[i]))
	}
	fmt.Fprintf(&b, "<path d=\"%s\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\"/><g "+
		"fill=\"#0072b2\">%s</g>\n", path.String(),
		dots.String())
	step := max(1, int(math.Ceil((last-first)/12)))
	for k := int(first); k <= int(last); k += step {
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" fill=\"#575d66\">%d</text>", x(float64(k)),
			choicePanelHeight+18, k)
	}
	b.WriteString("\n</g>\n")
	return b.String()
}

func number3(x float64) string { return fmt.Sprintf("%.3g", x) }
