package largemvc

import (
	"fmt"
	"math"
)

// The rule of Choices.Suggested, where the loss has the term of neighbours.
const (
	lossWeight  = 3.0  // of a difference of losses
	halfWeight  = 1.0  // of the agreement of halves
	gapWeight   = 0.25 // of an eigengap, as a share of the largest
	clearHalves = 0.6  // the agreement of halves from which a suggestion can stand out
)

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

// suggestByNeighbors weighs the loss, the agreement of halves and the eigengap.
func (c *Choices) suggestByNeighbors() {
	lowest := c.best(func(x *Choice) float64 { return -x.Loss })
	steadiest := c.best(func(x *Choice) float64 { return x.Halves })
	widest := c.best(func(x *Choice) float64 { return x.Gap })
	if lowest < 0 {
		return
	}
	within := func(x, from float64) float64 { // 0 where x does not exist
		if math.IsNaN(x) {
			return 0
		}
		return x / from
	}
	total := func(x *Choice) float64 {
		if math.IsNaN(x.Loss) {
			return math.NaN()
		}
		sum := lossWeight*(c.Choices[lowest].Loss-x.Loss) + halfWeight*within(x.Halves, 1)
		if widest >= 0 && c.Choices[widest].Gap > 0 {
			sum += gapWeight * max(within(x.Gap, c.Choices[widest].Gap), 0)
		}
		return sum
	}
	at := c.best(total)
	x := &c.Choices[at]
	c.Suggested = x.Clusters
	agree := 0
	say := func(place int, format string, value float64) {
		if place < 0 {
			return
		}
		k := c.Choices[place].Clusters
		near := "far from it"
		switch d := place - at; {
		case d == 0:
			near, agree = "there", agree+1
		case d == 1 || d == -1:
			near, agree = "next to it", agree+1
		}
		c.Reasons = append(c.Reasons, fmt.Sprintf(format, value)+fmt.Sprintf(" (best at %d, %s)", k, near))
	}
	say(lowest, "the loss is %.4g", x.Loss)
	say(steadiest, "fits of two halves of the samples agree to %.2f", x.Halves)
	say(widest, "the eigengap of the neighbours is %.3f", x.Gap)
	edge := at == len(c.Choices)-1 && len(c.Choices) > 1
	if edge {
		c.Reasons = append(c.Reasons, "it is the highest number tried: higher ones may be better")
	}
	c.Clear = agree >= 2 && !edge && !(x.Halves < clearHalves)
	if x.Halves < clearHalves {
		c.Reasons = append(c.Reasons, fmt.Sprintf("clusters that agree to less than %.1f between halves are not there again in "+
			"other samples", clearHalves))
	}
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
	c.Clear = peak && !(x.Halves < clearHalves)
}
