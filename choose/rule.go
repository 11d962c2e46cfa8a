package choose

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/score"
)

// spreadShare is the share of the eigengaps that the suggested number and those next to it have where it stands out.
const spreadShare = 0.5

// The rule without neighbours.
const (
	suggestShare  = 0.85
	suggestStable = 0.8
)

// suggest sets Suggested and what goes with it.
func (c *Choices) suggest() {
	c.Suggested, c.Clear, c.Reasons = 0, false, nil
	c.BySilhouette = c.at(c.best(func(x *Choice) float64 { return x.Silhouette }))
	c.ByGap = c.at(c.best(func(x *Choice) float64 { return x.Gap }))
	if len(c.Choices) == 0 {
		return
	}
	if c.best(func(x *Choice) float64 { return x.GapShare }) >= 0 {
		c.suggestByNeighbors()
	} else {
		c.suggestBySilhouette()
	}
}

// at is the number of clusters of a place, 0 for −1.
func (c *Choices) at(i int) int {
	if i < 0 {
		return 0
	}
	return c.Choices[i].Clusters
}

// best is the place of the highest value that exists, −1 if none does.
func (c *Choices) best(of func(*Choice) float64) int {
	at := -1
	for i := range c.Choices {
		if v := of(&c.Choices[i]); !math.IsNaN(v) && (at < 0 || v > of(&c.Choices[at])) {
			at = i
		}
	}
	return at
}

// median is the place at which half of the shares are reached.
func (c *Choices) median() int {
	sum := 0.0
	for i := range c.Choices {
		if x := c.Choices[i].GapShare; x > 0 {
			sum += x
		}
	}
	half := 0.0
	for i := range c.Choices {
		if x := c.Choices[i].GapShare; x > 0 {
			half += x
		}
		if half >= sum/2 {
			return i
		}
	}
	return len(c.Choices) - 1
}

// suggestByNeighbors takes the median of the shares of the eigengaps.
func (c *Choices) suggestByNeighbors() {
	at := c.median()
	near := c.shareNear(at)
	because := func(format string, args ...any) { c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...)) }
	x := &c.Choices[at]
	c.Suggested = x.Clusters
	because("%d is the median of the eigengaps of five graphs of neighbours; %.0f %% of their weight is at this number or one "+
		"away", x.Clusters, 100*near)
	agree, where := c.lossAgrees(at)
	if where != "" {
		because("%s", where)
	}
	edge := at == len(c.Choices)-1 && max(len(c.Choices), c.wanted) > 1
	if edge {
		because("%d is the highest number tried: higher ones may be better", x.Clusters)
	}
	c.Clear = c.judged(at) && agree && !edge && near >= spreadShare
}

// shareNear is the share of the eigengaps that the number at a place has together with the numbers one away.
func (c *Choices) shareNear(at int) float64 {
	near := 0.0
	for i := max(0, at-1); i <= min(at+1, len(c.Choices)-1); i++ {
		if x := c.Choices[i].GapShare; x > 0 && c.Choices[i].Clusters-c.Choices[at].Clusters <= 1 &&
			c.Choices[at].Clusters-c.Choices[i].Clusters <= 1 {
			near += x
		}
	}
	return near
}

// lossAgrees reports whether the loss is lowest at a place or next to it, and where it is lowest, in words. A loss that says
// nothing of the number of clusters agrees, without words.
func (c *Choices) lossAgrees(at int) (agree bool, where string) {
	if !c.byLoss {
		return true, ""
	}
	lowest := c.best(func(x *Choice) float64 { return -x.Loss })
	switch d := lowest - at; {
	case lowest < 0:
		return true, ""
	case d == 0:
		return true, "the loss is lowest there too"
	case d == 1 || d == -1:
		return true, fmt.Sprintf("the loss is lowest next to it, at %d", c.at(lowest))
	}
	return false, fmt.Sprintf("the loss is lowest elsewhere, at %d", c.at(lowest))
}

// suggestBySilhouette takes the highest number of clusters among the peaks of the silhouette.
func (c *Choices) suggestBySilhouette() {
	highest, steady := -1, -1
	for i := range c.Choices {
		if c.silhouette(i) > c.silhouette(highest) {
			highest = i
		}
		if c.stable(i) && c.silhouette(i) > c.silhouette(steady) {
			steady = i
		}
	}
	if highest < 0 {
		return
	}
	at := c.lastPeak(suggestShare * c.silhouette(highest))
	peak := at >= 0
	switch {
	case peak:
	case steady >= 0:
		at = steady
	default:
		at = highest
	}
	x := &c.Choices[at]
	c.Suggested = x.Clusters
	c.Reasons = append(c.Reasons, fmt.Sprintf("the silhouette is %.3f (highest at %d)", x.Silhouette, c.at(highest)))
	judged := c.judged(at)
	if !peak {
		c.Reasons = append(c.Reasons, "the silhouette has no peak there")
	}
	c.Clear = judged && peak
}

// judged adds what the structure of the number at a place is, and reports whether it is clear: weak clusters are more than noise,
// but do not stand out, and nothing is known of clusters that were not judged.
func (c *Choices) judged(at int) bool {
	x := &c.Choices[at]
	if x.Structure.Judgement == score.StructureUnknown {
		c.Reasons = append(c.Reasons, fmt.Sprintf("the structure of %d clusters was not judged", x.Clusters))
		return false
	}
	c.Reasons = append(c.Reasons, fmt.Sprintf("the structure of %d clusters is %v", x.Clusters, x.Structure))
	if !slices.ContainsFunc(c.Choices, func(x Choice) bool { return x.Structure.Judgement != score.StructureNone }) {
		c.Reasons = append(c.Reasons, "no number of clusters that was tried gives more than noise does")
	}
	return x.Structure.Judgement == score.StructureClear
}

// silhouette is the silhouette at a place, −Inf if there is none.
func (c *Choices) silhouette(i int) float64 {
	if i < 0 || i >= len(c.Choices) || math.IsNaN(c.Choices[i].Silhouette) {
		return math.Inf(-1)
	}
	return c.Choices[i].Silhouette
}

// stable reports whether the fits at a place agree. A single fit counts as stable.
func (c *Choices) stable(i int) bool { return !(c.Choices[i].SeedARI < suggestStable) }

// lastPeak is the last stable place before the end whose silhouette is at least least and higher than those next to it, or −1.
func (c *Choices) lastPeak(least float64) int {
	for i := len(c.Choices) - 2; i >= 0; i-- {
		s := c.silhouette(i)
		if c.stable(i) && s > c.silhouette(i-1) && s > c.silhouette(i+1) && s >= least {
			return i
		}
	}
	return -1
}
