package main

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

// logistic returns the classes of the samples by multinomial logistic regression on the columns of all views side by side, each
// in z-scores, with the penalty ½‖W‖² beside the sum of the losses (C = 1 in scikit-learn). It learns from the given labels. The
// weights lie in the span of the known rows, and so the search uses coordinates in this span.
func logistic(d *sets.Set, given []int) ([]int, error) {
	var known []int
	for i, l := range given {
		if l >= 0 {
			known = append(known, i)
		}
	}
	x, err := coordinates(zScores(d), known)
	if err != nil {
		return nil, err
	}
	_, width := x.Dims()
	weights := fitLogistic(x, known, given, d.Classes)
	out := make([]int, d.N)
	for i := range out {
		best := math.Inf(-1)
		for k := range d.Classes {
			w := weights[k*(width+1) : (k+1)*(width+1)]
			if s := logit(w, x.RawRowView(i)); s > best && seen(given, k) {
				best, out[i] = s, k
			}
		}
	}
	return out, nil
}

// seen reports whether a class has a given label.
func seen(given []int, class int) bool {
	for _, l := range given {
		if l == class {
			return true
		}
	}
	return false
}

// zScores returns the columns of all views side by side, of mean 0 and variance 1 each.
func zScores(d *sets.Set) *mat.Dense {
	width := 0
	for _, m := range d.Values {
		width += m.D
	}
	out, at := mat.NewDense(d.N, width, nil), 0
	for _, m := range d.Values {
		for j := range m.D {
			sum, square := 0.0, 0.0
			for i := range d.N {
				sum += m.At(i, j)
			}
			mean := sum / float64(d.N)
			for i := range d.N {
				square += (m.At(i, j) - mean) * (m.At(i, j) - mean)
			}
			scale := 0.0
			if square > 0 {
				scale = math.Sqrt(float64(d.N) / square)
			}
			for i := range d.N {
				out.Set(i, at+j, (m.At(i, j)-mean)*scale)
			}
		}
		at += m.D
	}
	return out
}

// coordinates returns the rows of z in an orthonormal basis of the span of some of them.
func coordinates(z *mat.Dense, known []int) (*mat.Dense, error) {
	n, width := z.Dims()
	some := mat.NewDense(len(known), width, nil)
	for k, i := range known {
		some.SetRow(k, z.RawRowView(i))
	}
	var gram mat.Dense
	gram.Mul(some, some.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(len(known), gram.RawMatrix().Data), true) {
		return nil, errors.New("the known rows have no span")
	}
	values := eigen.Values(nil)
	var vectors, cross, out mat.Dense
	eigen.VectorsTo(&vectors)
	largest := values[len(values)-1]
	for k, v := range values {
		scale := 0.0
		if v > 1e-12*largest {
			scale = 1 / math.Sqrt(v)
		}
		for i := range known {
			vectors.Set(i, k, vectors.At(i, k)*scale)
		}
	}
	cross.Mul(z, some.T())
	out.Mul(&cross, &vectors)
	if r, _ := out.Dims(); r != n {
		return nil, errors.New("rows are lost")
	}
	return &out, nil
}

// logit is the score of a row by weights, whose last one is the intercept.
func logit(w, x []float64) float64 {
	s := w[len(x)]
	for j, v := range x {
		s += w[j] * v
	}
	return s
}

// fitLogistic returns the weights, by class, of the regression on the known rows of x.
func fitLogistic(x *mat.Dense, known, given []int, classes int) []float64 {
	_, width := x.Dims()
	p := make([]float64, classes)
	// visit returns the loss at w, and adds its gradient to grad if that is not nil.
	visit := func(w, grad []float64) float64 {
		loss := 0.0
		for k := range classes {
			for j := range width {
				v := w[k*(width+1)+j]
				loss += v * v / 2
				if grad != nil {
					grad[k*(width+1)+j] += v
				}
			}
		}
		for _, i := range known {
			row, most, sum := x.RawRowView(i), math.Inf(-1), 0.0
			for k := range p {
				p[k] = logit(w[k*(width+1):(k+1)*(width+1)], row)
				most = max(most, p[k])
			}
			for k := range p {
				sum += math.Exp(p[k] - most)
			}
			loss += most + math.Log(sum) - p[given[i]]
			if grad == nil {
				continue
			}
			for k := range p {
				g := math.Exp(p[k]-most) / sum
				if k == given[i] {
					g--
				}
				to := grad[k*(width+1) : (k+1)*(width+1)]
				for j, v := range row {
					to[j] += g * v
				}
				to[width] += g
			}
		}
		return loss
	}
	return minimise(make([]float64, classes*(width+1)), visit)
}

// Settings of minimise: stored pairs, most steps, and the largest component of a gradient that counts as zero.
const (
	pairsKept   = 10
	mostSteps   = 500
	smallEnough = 1e-4
)

// minimise returns a minimum of a smooth convex function by L-BFGS from w on. visit returns its value, and adds its gradient to
// grad if that is not nil.
func minimise(w []float64, visit func(w, grad []float64) float64) []float64 {
	type pair struct{ step, change []float64 }
	var pairs []pair
	grad := make([]float64, len(w))
	value := visit(w, grad)
	for range mostSteps {
		if floats.Norm(grad, math.Inf(1)) < smallEnough {
			break
		}
		to := slices.Clone(grad)
		factors := make([]float64, len(pairs))
		for k := len(pairs) - 1; k >= 0; k-- {
			p := pairs[k]
			factors[k] = floats.Dot(p.step, to) / floats.Dot(p.step, p.change)
			floats.AddScaled(to, -factors[k], p.change)
		}
		scale := 1 / max(1, floats.Norm(grad, 2))
		if len(pairs) > 0 {
			last := pairs[len(pairs)-1]
			scale = floats.Dot(last.step, last.change) / floats.Dot(last.change, last.change)
		}
		floats.Scale(scale, to)
		for k, p := range pairs {
			floats.AddScaled(to, factors[k]-floats.Dot(p.change, to)/floats.Dot(p.step, p.change), p.step)
		}
		slope, length := floats.Dot(grad, to), 1.0
		next := make([]float64, len(w))
		for {
			floats.AddScaledTo(next, w, -length, to)
			if visit(next, nil) <= value-1e-4*length*slope {
				break
			}
			if length /= 2; length < 1e-10 {
				return w
			}
		}
		after := make([]float64, len(w))
		value = visit(next, after)
		p := pair{floats.SubTo(make([]float64, len(w)), next, w), floats.SubTo(make([]float64, len(w)), after, grad)}
		if floats.Dot(p.step, p.change) > 0 {
			pairs = append(pairs, p)[max(0, len(pairs)+1-pairsKept):]
		}
		w, grad = next, after
	}
	return w
}
