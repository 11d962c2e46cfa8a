// Package confidence estimates, from the position of a sample between two centroids, how often its label is found again.
//
// Clusters of parts of the data label the samples outside the part. For a few hundred samples, the share of the parts that give a
// sample the label corresponding to its own is known. A curve relates this share to the margin of the sample: p = 1/(1 + exp(−a −
// b·margin)), b ≥ 0. New samples have a margin too, and get their share from the curve.
//
// With the share c that labels have by chance, q = (p − c)/(1 − c) is 1 if every part gives the label, and 0 if the parts give it
// as often as to a sample drawn at random. The parts are halves of a few hundred samples. Clusters of more samples are found
// again more often: the odds of the confidence are the odds of q times a gain, which grows with the number of samples.
package confidence

import "math"

// Curve relates the margin of a sample to the share of the parts of the data that give it its label.
type Curve struct {
	Chance           float64 // share by chance, 0 to below 1
	Intercept, Slope float64 // a and b; b ≥ 0
	Gain             float64 // factor of the odds, at least 1
}

// Margin returns 1 − √(near/next), 0 to 1, of the squared distances to the sample's centroid and to the nearest other one (+Inf
// if there is none).
func Margin(near, next float64) float64 {
	switch {
	case math.IsInf(next, 1):
		return 1
	case next <= near: // rounding may have swapped them
		return 0
	}
	return 1 - math.Sqrt(near/next)
}

const (
	// ridge is the weight of the squares of both parameters, in samples. It keeps them finite where all shares are 1.
	ridge = 0.01
	// mostChance is the share by chance above which shares have no information.
	mostChance = 0.999
	// newtonSteps bounds the steps of a search; it ends at a change below enough.
	newtonSteps = 60
	enough      = 1e-10
)

// The gain is the power growth of the number of samples over the number with known shares, a ratio of at most mostRatio. Both
// constants were chosen on the noise and on the data sets of studies/confidence. Beyond this ratio the mean odds grow no more.
const growth, mostRatio = 0.75, 4

// Fit returns the curve of samples, of n in all, with known margins and shares (0 to 1), by the largest likelihood. It returns
// nil if there are no samples or if chance is nearly 1.
func Fit(margin, share []float64, chance float64, n int) *Curve {
	if len(margin) == 0 || !(chance < mostChance) {
		return nil
	}
	ratio := min(max(float64(n)/float64(len(margin)), 1), mostRatio)
	c := &Curve{Chance: chance, Gain: math.Pow(ratio, growth)}
	c.Intercept, c.Slope = logistic(margin, share)
	if c.Slope < 0 { // no lower share at a larger margin
		c.Intercept, c.Slope = logistic(make([]float64, len(margin)), share)
	}
	return c
}

// logistic returns the intercept and the slope of the logistic regression of shares on margins, by Newton's method with halved
// steps.
func logistic(margin, share []float64) (a, b float64) {
	loss := func(a, b float64) float64 {
		sum := ridge / 2 * (a*a + b*b)
		for i, m := range margin {
			z := a + b*m
			sum += math.Max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - share[i]*z
		}
		return sum
	}
	now := loss(a, b)
	for range newtonSteps {
		ga, gb := -ridge*a, -ridge*b
		haa, hab, hbb := ridge, 0.0, ridge
		for i, m := range margin {
			p := sigmoid(a + b*m)
			q := p * (1 - p)
			ga, gb = ga+share[i]-p, gb+(share[i]-p)*m
			haa, hab, hbb = haa+q, hab+q*m, hbb+q*m*m
		}
		det := haa*hbb - hab*hab
		da, db := (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		then := loss(a+da, b+db)
		for range newtonSteps {
			if then <= now {
				break
			}
			da, db = da/2, db/2
			then = loss(a+da, b+db)
		}
		if !(then <= now) {
			break
		}
		a, b, now = a+da, b+db, then
		if math.Abs(da)+math.Abs(db) < enough {
			break
		}
	}
	return a, b
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// share returns the share of the parts that give a sample of some margin its label.
func (c *Curve) share(margin float64) float64 { return sigmoid(c.Intercept + c.Slope*margin) }

// At returns the confidence (0 to 1) of a sample by its squared distances.
func (c *Curve) At(near, next float64) float64 {
	q := min(max((c.share(Margin(near, next))-c.Chance)/(1-c.Chance), 0), 1)
	return c.Gain * q / (1 + (c.Gain-1)*q)
}

// Members writes the memberships of a sample to out, by its squared distances to all k centroids. They are softmax(−β·squares)
// with β ≥ 0 such that the largest one is c + (1 − c)·confidence, with the share c by chance, but at least 1/k.
func (c *Curve) Members(out, squares []float64) {
	own := 0
	for k, q := range squares {
		if q < squares[own] {
			own = k
		}
	}
	next := math.Inf(1)
	for k, q := range squares {
		if k != own {
			next = min(next, q)
		}
	}
	want := 1 / max(c.Chance+(1-c.Chance)*c.At(squares[own], next), 1/float64(len(squares)))
	beta, sum := 0.0, float64(len(squares))
	for range newtonSteps { // Σ exp(−β·δ) = want, convex and falling: every step stays on one side of the solution
		slope := 0.0
		sum = 0
		for k, q := range squares {
			out[k] = math.Exp(-beta * (q - squares[own]))
			sum, slope = sum+out[k], slope+out[k]*(q-squares[own])
		}
		if sum-want < enough*want || !(slope > 0) {
			break
		}
		beta += (sum - want) / slope
	}
	for k := range out {
		out[k] /= sum
	}
}
