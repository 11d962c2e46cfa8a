package main

import (
	"context"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/neighbor"
)

// plainDetectors are the two that trust is compared with, as negative squared distances of a row, on columns of mean 0 and
// deviation 1 and rows at norm 1: to the mean of the ten nearest samples by the other views, and to its leave-one-out ridge
// regression on them.
func plainDetectors(ctx context.Context, d *sets.Set, _ int) (near, regressed [][]float64, err error) {
	x := make([]*mat.Dense, len(d.Values))
	for v, m := range d.Values {
		x[v] = leading(standardised(m), 200)
	}
	for v := range x {
		var others []*mat.Dense
		for u := range x {
			if u != v {
				others = append(others, x[u])
			}
		}
		joint := beside(others)
		n, width := joint.Dims()
		view, err := neighbor.Dense(n, width, width, joint.RawMatrix().Data, nil)
		if err != nil {
			return nil, nil, err
		}
		lists, err := neighbor.Nearest(ctx, []neighbor.View[float64]{view}, []neighbor.Space{{Views: []int{0}, Weight: 1}}, 10, 0)
		if err != nil {
			return nil, nil, err
		}
		near = append(near, toNeighbors(x[v], lists[0]))
		r, err := toRegression(joint, x[v])
		if err != nil {
			return nil, nil, err
		}
		regressed = append(regressed, r)
	}
	for _, all := range [][][]float64{near, regressed} {
		for v := range all { // comparable between views: the share of the rows of the view that are no nearer
			all[v] = ranks(all[v])
		}
	}
	return near, regressed, nil
}

func standardised(m sets.Matrix) *mat.Dense {
	out := mat.NewDense(m.N, m.D, nil)
	for c := range m.D {
		sum, square := 0., 0.
		for i := range m.N {
			a := float64(m.X[i*m.D+c])
			sum, square = sum+a, square+a*a
		}
		mean := sum / float64(m.N)
		std := math.Sqrt(math.Max(square/float64(m.N)-mean*mean, 0))
		for i := range m.N {
			if std > 1e-9 {
				out.Set(i, c, (float64(m.X[i*m.D+c])-mean)/std)
			}
		}
	}
	for i := range m.N {
		row := out.RawRowView(i)
		norm := mat.Norm(mat.NewVecDense(m.D, row), 2)
		for c := range row {
			row[c] /= norm + 1e-12
		}
	}
	return out
}

// leading returns rows in their leading right singular directions, where they have more columns.
func leading(x *mat.Dense, most int) *mat.Dense {
	n, d := x.Dims()
	if d <= most {
		return x
	}
	wide := d > n
	size := min(n, d)
	gram := mat.NewSymDense(size, nil)
	if wide {
		gram.SymOuterK(1, x)
	} else {
		gram.SymOuterK(1, x.T())
	}
	var e mat.EigenSym
	var vectors mat.Dense
	e.Factorize(gram, true)
	e.VectorsTo(&vectors)
	values := e.Values(nil)
	keep := min(most, size)
	part := vectors.Slice(0, size, size-keep, size)
	out := mat.NewDense(n, keep, nil)
	if !wide {
		out.Mul(x, part)
		return out
	}
	for c := range keep { // rows are U·S
		s := math.Sqrt(math.Max(values[size-keep+c], 0))
		for i := range n {
			out.Set(i, c, part.At(i, c)*s)
		}
	}
	return out
}

func beside(x []*mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(x[0])
	for _, more := range x[1:] {
		var next mat.Dense
		next.Augment(out, more)
		out = &next
	}
	return out
}

func toNeighbors(x *mat.Dense, l *neighbor.Lists) []float64 {
	n, d := x.Dims()
	out, mean := make([]float64, n), make([]float64, d)
	for i := range n {
		clear(mean)
		for _, j := range l.Index[i*l.K : (i+1)*l.K] {
			for c, a := range x.RawRowView(int(j)) {
				mean[c] += a / float64(l.K)
			}
		}
		out[i] = -squared(mean, x.RawRowView(i))
	}
	return out
}

func squared(a, b []float64) float64 {
	sum := 0.
	for c, x := range a {
		sum += (x - b[c]) * (x - b[c])
	}
	return sum
}

// toRegression returns the negative squared residuals of leave-one-out ridge regression.
func toRegression(x, y *mat.Dense) ([]float64, error) {
	n, d := x.Dims()
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, x.T())
	trace := mat.Trace(gram)
	for c := range d {
		gram.SetSym(c, c, gram.At(c, c)+1e-3*trace)
	}
	var factor mat.Cholesky
	factor.Factorize(gram)
	var inverse, weights, fit mat.Dense
	if err := factor.SolveTo(&inverse, x.T()); err != nil {
		return nil, err
	}
	weights.Mul(&inverse, y)
	fit.Mul(x, &weights)
	out := make([]float64, n)
	for i := range n {
		h := 0.
		for c, a := range x.RawRowView(i) {
			h += a * inverse.At(c, i)
		}
		out[i] = -squared(fit.RawRowView(i), y.RawRowView(i)) / ((1 - h) * (1 - h))
	}
	return out, nil
}

// ranks returns, for each value, the share of values that are at most as large.
func ranks(x []float64) []float64 {
	sorted := append([]float64(nil), x...)
	sort.Float64s(sorted)
	out := make([]float64, len(x))
	for i, a := range x {
		out[i] = float64(sort.SearchFloat64s(sorted, a)) / float64(len(x))
	}
	return out
}
