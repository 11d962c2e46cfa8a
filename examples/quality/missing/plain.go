package main

import (
	"context"
	"math"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/examples/internal/sets"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/neighbor"
)

const (
	// all is the number of directions up to which all of them are found, which is exact.
	all = 1000
	// passes over the rows of larger views find their leading directions; more of them change no area by more than 0.2 %.
	passes = 12
)

// plainRows are the rows of views that the plain detectors compare: columns of mean 0 and deviation 1, rows at norm 1, in at
// most 200 directions.
func plainRows(ctx context.Context, views ...sets.Matrix) ([]*mat.Dense, error) {
	out := make([]*mat.Dense, len(views))
	for v, m := range views {
		var err error
		if out[v], err = leading(ctx, standardised(m), 200); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// plainDetectors are the two that trust is compared with, as negative squared distances of a row of plainRows: to the mean of
// the ten nearest samples by the other views, and to its leave-one-out ridge regression on them.
func plainDetectors(ctx context.Context, x []*mat.Dense) (near, regressed [][]float64, err error) {
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
func leading(ctx context.Context, x *mat.Dense, most int) (*mat.Dense, error) {
	n, d := x.Dims()
	if d <= most {
		return x, nil
	}
	cfg := spectral.Config{Rank: min(most, n), Oversample: most / 2, Iterations: passes}
	if min(n, d) <= all {
		cfg.Oversample = all
	}
	view := []rows.Matrix[float64]{rows.NewDense(n, d, d, x.RawMatrix().Data)}
	basis, err := spectral.Find(ctx, view, cfg)
	if err != nil {
		return nil, err
	}
	y, err := spectral.Project(ctx, basis, view, 0)
	if err != nil {
		return nil, err
	}
	out := mat.NewDense(n, len(basis.S), nil)
	for i := range n {
		copy(out.RawRowView(i), y[i*kernel.Pad(len(basis.S)):])
	}
	return out, nil
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
