package choose

import (
	"fmt"
	"math"
)

// steadyHalves is the agreement of halves from which clusters count as found again in other samples. From 0.5 to 0.8 it gives the
// same suggestions on the sets that it was tried on.
const steadyHalves = 0.6

// The rule without that term.
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
	if c.byLoss {
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

// suggestByNeighbors takes the number of the lowest loss where its clusters are found again in other samples, else that of the
// largest eigengap.
func (c *Choices) suggestByNeighbors() {
	lowest := c.best(func(x *Choice) float64 { return -x.Loss })
	steadiest := c.best(func(x *Choice) float64 { return x.Halves })
	widest := c.best(func(x *Choice) float64 { return x.Gap })
	if lowest < 0 {
		return
	}
	because := func(format string, args ...any) { c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...)) }
	low, at := &c.Choices[lowest], lowest
	edge := lowest == len(c.Choices)-1 && len(c.Choices) > 1
	steady := !(low.Halves < steadyHalves) // halves that were not tried do not speak against it
	switch {
	case edge:
		because("the loss is lowest at the highest number tried, %d, and may be lower beyond it", low.Clusters)
	case !steady:
		because("the loss is lowest at %d, but fits of two halves of the samples agree to %.2f only on these "+
			"clusters", low.Clusters,
			low.Halves)
	case math.IsNaN(low.Halves):
		because("the loss is lowest at %d", low.Clusters)
	default:
		because("the loss is lowest at %d, and fits of two halves of the samples agree to %.2f on these clusters", low.Clusters,
			low.Halves)
	}
	if (edge || !steady) && widest >= 0 {
		at = widest
	}
	c.Suggested = c.Choices[at].Clusters
	agree := 0
	near := func(place int, text string) {
		if place < 0 {
			return
		}
		k := c.Choices[place].Clusters
		switch d := place - lowest; {
		case d == 0:
			because("%s there too", text)
			agree++
		case d == 1 || d == -1:
			because("%s next to it, at %d", text, k)
			agree++
		default:
			because("%s at %d", text, k)
		}
	}
	near(steadiest, "the halves agree most")
	near(widest, "the eigengap of the neighbours is largest")
	c.Clear = agree > 0 && !edge && steady
}

// suggestBySilhouette takes the highest number of clusters among the peaks of the silhouette.
func (c *Choices) suggestBySilhouette() {
	s := func(i int) float64 {
		if i < 0 || i >= len(c.Choices) || math.IsNaN(c.Choices[i].Silhouette) {
			return math.Inf(-1)
		}
		return c.Choices[i].Silhouette
	}
	stable := func(i int) bool { return !(c.Choices[i].Stability < suggestStable) } // a single fit counts as stable
	highest, steady, at := -1, -1, -1
	for i := range c.Choices {
		if s(i) > s(highest) {
			highest = i
		}
		if stable(i) && s(i) > s(steady) {
			steady = i
		}
	}
	for i := len(c.Choices) - 2; i >= 0 && at < 0; i-- {
		if stable(i) && s(i) > s(i-1) && s(i) > s(i+1) && s(i) >= suggestShare*s(highest) {
			at = i
		}
	}
	peak := at >= 0
	switch {
	case peak:
	case steady >= 0:
		at = steady
	case highest >= 0:
		at = highest
	default:
		return
	}
	x := &c.Choices[at]
	c.Suggested = x.Clusters
	c.Reasons = append(c.Reasons, fmt.Sprintf("the silhouette is %.3f (highest at %d)", x.Silhouette, c.at(highest)))
	if !math.IsNaN(x.Halves) {
		c.Reasons = append(c.Reasons, fmt.Sprintf("fits of two halves of the samples agree to %.2f", x.Halves))
	}
	if !peak {
		c.Reasons = append(c.Reasons, "the silhouette has no peak there")
	}
	c.Clear = peak && !(x.Halves < steadyHalves)
}
