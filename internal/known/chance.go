package known

import "math"

// Fewest is the number of known samples, in classes with at least two of them, from which Calibrate learns.
const Fewest = 20

// Chance is the probability that a class is right, 1/(1 + exp(−Offset − Slope·margin)).
type Chance struct{ Offset, Slope float64 }

// Of returns the probability for a margin.
func (c Chance) Of(margin float64) float64 { return 1 / (1 + math.Exp(-c.Offset-c.Slope*margin)) }

// Calibrate learns the probability from margins and from whether the class was right, by logistic regression. The targets are
// those of J. Platt (1999), which leave room for errors that were not seen. The slope is not negative: a larger margin never
// makes a class less sure.
func Calibrate(margins []float64, right []bool) Chance {
	yes := 0.0
	for _, ok := range right {
		if ok {
			yes++
		}
	}
	no := float64(len(right)) - yes
	high, low := (yes+1)/(yes+2), 1/(no+2)
	mean := 0.0
	for _, ok := range right {
		if mean += low; ok {
			mean += high - low
		}
	}
	mean /= float64(len(right))
	flat := Chance{Offset: math.Log(mean / (1 - mean))}
	c := flat
	for range 100 { // Newton's method; the loss is convex
		var g0, g1, h00, h01, h11 float64
		for i, m := range margins {
			t := low
			if right[i] {
				t = high
			}
			p := c.Of(m)
			w := max(p*(1-p), 1e-12)
			g0, g1 = g0+p-t, g1+(p-t)*m
			h00, h01, h11 = h00+w, h01+w*m, h11+w*m*m
		}
		h00, h11 = h00+1e-9, h11+1e-9
		det := h00*h11 - h01*h01
		if !(det > 0) {
			break
		}
		d0, d1 := (h11*g0-h01*g1)/det, (h00*g1-h01*g0)/det
		size := math.Max(math.Abs(d0), math.Abs(d1))
		step := 1 / math.Max(1, size/10) // far from the end a full step may go too far
		c.Offset, c.Slope = c.Offset-step*d0, c.Slope-step*d1
		if size < 1e-9 {
			break
		}
	}
	if !(c.Slope >= 0) || math.IsNaN(c.Offset) || math.IsInf(c.Offset, 0) {
		return flat
	}
	return c
}
