package trust

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// logistic is a logistic regression on features that are scaled to mean 0 and deviation 1.
type logistic struct {
	mean, std []float64
	weights   []float64 // of the features, and a constant
}

const (
	newtonSteps = 15
	// shrink is the penalty on the weights, as a share of the number of examples.
	shrink = 1e-3
)

// newLogistic fits y, zeros and ones, to the features x by Newton's method.
func newLogistic(x [][]float64, y, weight []float64) *logistic {
	d, n := len(x[0]), float64(len(x))
	l := &logistic{mean: make([]float64, d), std: make([]float64, d), weights: make([]float64, d+1)}
	l.standardise(x)
	// Sums in slices: through the methods of mat.SymDense a fit of six features takes a third longer.
	curves, slopes := make([]float64, (d+1)*(d+1)), make([]float64, d+1)
	hessian, slope := mat.NewSymDense(d+1, curves), mat.NewVecDense(d+1, slopes)
	features := make([]float64, d+1)
	features[d] = 1 // the constant
	for range newtonSteps {
		clear(curves)
		clear(slopes)
		for i, row := range x {
			copy(features, row)
			p := sigmoid(l.sum(row))
			curve, rest := weight[i]*max(p*(1-p), 1e-4), weight[i]*(y[i]-p)
			for a, f := range features {
				slopes[a] += rest * f
				scaled, to := curve*f, curves[a*(d+1)+a:][:d+1-a]
				for b, g := range features[a:] {
					to[b] += scaled * g
				}
			}
		}
		for a := range d + 1 {
			hessian.SetSym(a, a, hessian.At(a, a)+shrink*n)
			if a < d {
				slope.SetVec(a, slope.AtVec(a)-shrink*n*l.weights[a])
			}
		}
		var step mat.VecDense
		if step.SolveVec(hessian, slope) != nil {
			break
		}
		most := 0.0
		for a := range l.weights {
			l.weights[a] += step.AtVec(a)
			most = max(most, math.Abs(step.AtVec(a)))
		}
		if most < 1e-9 {
			break
		}
	}
	return l
}

// standardise measures the mean and the deviation of each feature and applies them to x in place.
func (l *logistic) standardise(x [][]float64) {
	n := float64(len(x))
	for _, row := range x {
		for c, e := range row {
			l.mean[c] += e / n
		}
	}
	for _, row := range x {
		for c, e := range row {
			l.std[c] += (e - l.mean[c]) * (e - l.mean[c]) / n
		}
	}
	for c, e := range l.std {
		l.std[c] = math.Sqrt(e) + 1e-9
	}
	for _, row := range x {
		for c := range row {
			row[c] = (row[c] - l.mean[c]) / l.std[c]
		}
	}
}

func (l *logistic) sum(row []float64) float64 {
	sum := l.weights[len(row)]
	for c, e := range row {
		sum += e * l.weights[c]
	}
	return sum
}

// at returns the logarithm of the odds for unscaled features.
func (l *logistic) at(row []float64) float64 {
	sum := l.weights[len(row)]
	for c, e := range row {
		sum += (e - l.mean[c]) / l.std[c] * l.weights[c]
	}
	return sum
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
