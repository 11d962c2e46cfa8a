package report

import (
	"fmt"
	"math"
)

const (
	// farBins and farthest are the number of bins and the end of the histogram of remoteness. The last bin also counts all values
	// beyond.
	farBins, farthest = 20, 5.0
	mostOutliers      = 20
)

type outliers struct {
	Count    int
	Share    float64
	Figure   *bars
	Farthest []outlierRow // the most remote first
}

type outlierRow struct {
	sampleRow
	Remoteness float64
}

// addOutliers shows the samples that are far from nearly all others, if the fit has looked for them.
func (p *page) addOutliers(r *result, o *Options, sure *certainty) {
	if r.judged.outlier == nil {
		return
	}
	p.Outliers = &outliers{Figure: newFarFigure(r.judged.remoteness)}
	for _, far := range r.judged.outlier {
		if far {
			p.Outliers.Count++
		}
	}
	p.Outliers.Share = float64(p.Outliers.Count) / float64(p.Samples)
	for _, i := range lowest(p.Samples, mostOutliers, func(i int) bool { return r.judged.outlier[i] },
		func(i int) float64 { return -r.judged.remoteness[i] }) {
		p.Outliers.Farthest = append(p.Outliers.Farthest, outlierRow{r.sampleRow(i, sure, o), r.judged.remoteness[i]})
	}
}

func newFarFigure(remoteness []float64) *bars {
	scaled := make([]float64, len(remoteness))
	beyond := 0
	for i, x := range remoteness {
		scaled[i] = min(x/farthest, 1)
		if x >= farthest {
			beyond++
		}
	}
	counts, most := histogram(scaled, farBins), 1
	for _, n := range counts {
		most = max(most, n)
	}
	out := &bars{Label: fmt.Sprintf("Histogram of the remoteness: %s of the samples are below 1, %s below 2, and %s at %g or "+
		"more.", percent(shareBelow(remoteness, 1)), percent(shareBelow(remoteness, 2)), plural(beyond, "sample"), farthest)}
	width := barsWidth / farBins
	for b, n := range counts {
		h := barsHeight * float64(n) / float64(most)
		out.Bars = append(out.Bars, bar{
			X: float64(b)*width + 1, Y: math.Round(10*(barsHeight-h)) / 10, Width: width - 2, Height: math.Round(10*h) / 10,
			From: farthest * float64(b) / farBins, To: farthest * float64(b+1) / farBins, Count: n,
		})
	}
	return out
}

// sayOutliers adds the outliers to the summary.
func (p *page) sayOutliers(say func(string, ...any)) {
	if p.Outliers != nil && p.Outliers.Count > 0 {
		say("Samples that fit no cluster: %s (%s). They are far from nearly all others: do not rely on their labels.",
			thousands(p.Outliers.Count), percent(p.Outliers.Share))
	}
}
