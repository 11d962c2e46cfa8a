package trust

import (
	"math"
	"slices"
)

const (
	// mostRatio bounds the logarithm of the ratio of the likelihoods that a row belongs to its view or is noise.
	mostRatio = 30
	// trims is the number of times that rows that look like noise are removed before learning again.
	trims = 2
	// If at most the share `between` of the rows and of the noise have odds within e^±apart, rows and noise are separate. Then
	// only the penalty on the weights limits the odds, and the odds of noise are brought to e^−surely.
	between, apart, surely = 0.02, 2, 20
)

// Noise distinguishes rows of a view from noise by marks of the rows, without the other views.
type Noise struct{ from *logistic }

// NewNoise learns from the marks of rows of the view, and of rows of noise. Some rows of the view may be noise: rows that look
// more like noise are removed, and the rest is learned again.
func NewNoise(rows, noise [][]float64) *Noise {
	kept := rows
	var l *logistic
	for t := 0; t <= trims && (l == nil || len(kept) >= fewestPairs); t++ {
		var x [][]float64
		var y, weights []float64
		for _, m := range kept {
			x, y, weights = append(x, slices.Clone(m)), append(y, 1), append(weights, 1)
		}
		for _, m := range noise {
			x, y = append(x, slices.Clone(m)), append(y, 0)
			weights = append(weights, float64(len(kept))/float64(len(noise)))
		}
		l = newLogistic(x, y, weights)
		kept = nil
		for _, m := range rows {
			if l.at(m) > 0 {
				kept = append(kept, m)
			}
		}
	}
	n := &Noise{l}
	n.sharpen(rows, noise)
	return n
}

// sharpen raises the odds if rows and noise are separate.
func (n *Noise) sharpen(rows, noise [][]float64) {
	odds := make([]float64, 0, len(noise))
	for _, m := range noise {
		odds = append(odds, -n.from.at(m))
	}
	for _, some := range [][][]float64{rows, noise} {
		close := 0.0
		for _, m := range some {
			if math.Abs(n.from.at(m)) < apart {
				close++
			}
		}
		if close > between*float64(len(some)) {
			return
		}
	}
	slices.Sort(odds)
	up := surely / odds[len(odds)/2]
	for c := range n.from.weights {
		n.from.weights[c] *= max(up, 1)
	}
}

// Oddness returns the logarithm of a likelihood ratio, from the marks of a row: that the row is bad, because it is another
// sample's or noise, against the estimate from the other views.
func (n *Noise) Oddness(marks []float64) float64 {
	return math.Log((1 + math.Exp(-max(-mostRatio, min(mostRatio, n.from.at(marks))))) / 2)
}

// Values returns the values for NoiseOf.
func (n *Noise) Values() []float64 { return slices.Concat(n.from.mean, n.from.std, n.from.weights) }

// NoiseValues is the number of values for the given number of marks.
func NoiseValues(marks int) int { return 3*marks + 1 }

// NoiseOf is the inverse of Values.
func NoiseOf(values []float64, marks int) *Noise {
	return &Noise{&logistic{values[:marks], values[marks : 2*marks], values[2*marks:]}}
}
