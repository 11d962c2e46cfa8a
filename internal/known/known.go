// Package known labels samples by a few known labels: a ridge regression in closed form on features of the samples, its
// leave-one-out scores, and the probability that a label is right.
//
// A row of features φ has three parts: the inputs of the network after smoothing, each at norm 1 and divided by the root of the
// number of inputs that the sample has; the inputs before smoothing side by side, at the lengths of their standardised rows,
// divided by the root of the number of their features; the row of H at norm 1. The ridge solves (ΦDΦᵀ + λI)·α = Y for the known
// samples, Y being one-hot minus 1/c, and D having a weight for the inputs before smoothing, else 1; the weights of a class are
// DΦᵀ·α. The system has the known samples or the features as its unknowns, whichever are fewer.
//
// D is 1, or Heavy where smoothing does not help: neighbours mislead, or the classes are not what the neighbours have in common.
// With fewer than Enough known samples a class it is 1. With more it is Heavy, unless the mean squared leave-one-out error with
// 1 is smaller by more than its standard error.
package known

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

const (
	// Lambda is the weight of the penalty of the ridge.
	Lambda = 0.1
	// Heavy is the larger weight of the inputs before smoothing.
	Heavy = 10
	// Enough is the mean number of known samples of a class from which the weight is chosen.
	Enough = 4
)

// Ridge learns from the known samples. Add all their rows in order, then Solve, LeaveOut in the same order, and Choose.
type Ridge struct {
	features, classes int
	labels            []int  // of the known samples, 0 to classes−1
	before            [2]int // the features [from, to) of inputs before smoothing

	phi  []float64 // rows of the known samples (row-major), if these are fewer than the features; else nil
	gram []float64 // ΦᵀΦ (features²), if the features are fewer; else nil
	sums []float64 // ΦᵀY (features×classes), if the features are fewer

	solved []*solution // for 1, and for Heavy if there are enough known samples
}

// solution is a ridge for a weight of the inputs before smoothing.
type solution struct {
	inverse *mat.SymDense // of the matrix of the system, between D^½ if the features are fewer
	alpha   *mat.Dense    // α, if the known samples are fewer
	weights *mat.Dense    // features×classes
	left    []float64     // leave-one-out scores (known×classes)
}

// NewRidge returns the ridge for known samples of some classes, for inputs of some columns and m columns of H.
func NewRidge(columns []int, m, classes int, labels []int) *Ridge {
	features := Features(columns, m)
	from := Features(columns, 0) / 2
	r := &Ridge{features: features, classes: classes, labels: labels, before: [2]int{from, 2 * from}}
	if len(labels) <= features {
		r.phi = make([]float64, 0, len(labels)*features)
	} else {
		r.gram, r.sums = make([]float64, features*features), make([]float64, features*classes)
	}
	return r
}

// Bytes returns the memory of a ridge at its largest.
func Bytes(features, classes, known int) int64 {
	f, k := int64(features), int64(known)
	if k <= f {
		return 8 * (k*f + 5*k*k + 2*(f+k)*int64(classes))
	}
	return 8 * (5*f*f + (3*f+2*k)*int64(classes))
}

// target returns the value of a known sample for a class.
func (r *Ridge) target(i, class int) float64 {
	y := -1 / float64(r.classes)
	if r.labels[i] == class {
		y++
	}
	return y
}

// span is the number of columns of the Gram matrix that a goroutine adds up at once.
const span = 64

// Add adds the rows (row-major) of the known samples from number first on.
func (r *Ridge) Add(ctx context.Context, workers, first int, phi []float64) error {
	if r.gram == nil {
		r.phi = append(r.phi, phi...)
		return nil
	}
	n, d := len(phi)/r.features, r.features
	for i := range n {
		for k := range r.classes {
			y := r.target(first+i, k)
			for j, x := range phi[i*d : (i+1)*d] {
				r.sums[j*r.classes+k] += x * y
			}
		}
	}
	return parallel.For(ctx, workers, (d+span-1)/span, func(_, c int) error {
		lo := c * span
		kernel.TMulAdd(n, min(span, d-lo), d, phi[lo:], d, phi, d, r.gram[lo*d:], d)
		return nil
	})
}

// errSingular says that the system has no solution in float64, which λ excludes for finite rows.
var errSingular = errors.New("the features of the known samples are not finite")

// Solve solves the system.
func (r *Ridge) Solve() error {
	weights := []float64{1, Heavy}
	if len(r.labels) < Enough*r.classes {
		weights = weights[:1]
	}
	for _, w := range weights {
		f, err := r.solve(w)
		if err != nil {
			return err
		}
		r.solved = append(r.solved, f)
	}
	return nil
}

// solve solves the system with a weight of the inputs before smoothing.
func (r *Ridge) solve(weight float64) (*solution, error) {
	size, a := r.features, slices.Clone(r.gram)
	if r.gram == nil {
		size = len(r.labels)
		a = r.kernel(weight)
	} else {
		r.scale(a, size, math.Sqrt(weight))
	}
	for i := range size {
		a[i*size+i] += Lambda
	}
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(size, a)) {
		return nil, errSingular
	}
	f := &solution{inverse: mat.NewSymDense(size, nil), weights: mat.NewDense(r.features, r.classes, nil)}
	if err := c.InverseTo(f.inverse); err != nil && !errors.As(err, new(mat.Condition)) {
		return nil, err
	}
	if r.gram != nil {
		r.scale(f.inverse.RawSymmetric().Data, size, math.Sqrt(weight))
		f.weights.Mul(f.inverse, mat.NewDense(size, r.classes, r.sums))
		return f, nil
	}
	y := mat.NewDense(size, r.classes, nil)
	for i := range size {
		for k := range r.classes {
			y.Set(i, k, r.target(i, k))
		}
	}
	f.alpha = mat.NewDense(size, r.classes, nil)
	f.alpha.Mul(f.inverse, y)
	f.weights.Mul(mat.NewDense(size, r.features, r.phi).T(), f.alpha)
	from, to := r.before[0], r.before[1]
	heavy := f.weights.Slice(from, to, 0, r.classes).(*mat.Dense)
	heavy.Scale(weight, heavy)
	return f, nil
}

// kernel returns ΦDΦᵀ.
func (r *Ridge) kernel(weight float64) []float64 {
	size, d, from := len(r.labels), r.features, r.before[0]
	a := make([]float64, size*size)
	kernel.MulRowsT(size, size, d, r.phi, d, r.phi, d, a, size)
	if weight == 1 {
		return a
	}
	b := make([]float64, size*size)
	kernel.MulRowsT(size, size, r.before[1]-from, r.phi[from:], d, r.phi[from:], d, b, size)
	for i := range a {
		a[i] += (weight - 1) * b[i]
	}
	return a
}

// scale multiplies rows and columns of a (size²) that belong to inputs before smoothing by a factor each.
func (r *Ridge) scale(a []float64, size int, factor float64) {
	from, to := r.before[0], r.before[1]
	for i := range size {
		row := a[i*size : (i+1)*size]
		if i >= from && i < to {
			floats.Scale(factor, row)
		}
		floats.Scale(factor, row[from:to])
	}
}

// NeedsRows reports whether LeaveOut needs the rows of the known samples again.
func (r *Ridge) NeedsRows() bool { return r.gram != nil }

// LeaveOut finds the scores of n known samples from number first on, each by a ridge without that sample. phi has their rows if
// NeedsRows.
func (r *Ridge) LeaveOut(first, n int, phi []float64) {
	for _, f := range r.solved {
		f.left = append(f.left, r.leaveOut(f, first, n, phi)...)
	}
}

func (r *Ridge) leaveOut(f *solution, first, n int, phi []float64) []float64 {
	out := make([]float64, n*r.classes)
	if r.gram == nil { // y − α/(A⁻¹)ᵢᵢ
		for i := range n {
			a := f.inverse.At(first+i, first+i)
			for k := range r.classes {
				out[i*r.classes+k] = r.target(first+i, k) - f.alpha.At(first+i, k)/a
			}
		}
		return out
	}
	x := mat.NewDense(n, r.features, phi)
	var product, fit mat.Dense
	product.Mul(x, f.inverse)
	fit.Mul(x, f.weights)
	for i := range n {
		h := mat.Dot(product.RowView(i), x.RowView(i)) // leverage, below 1 for λ > 0
		for k := range r.classes {
			out[i*r.classes+k] = (fit.At(i, k) - h*r.target(first+i, k)) / (1 - h)
		}
	}
	return out
}

// Choose chooses the weight of the inputs before smoothing, and returns the weights (features×classes) with it and the
// leave-one-out scores (row-major, by class).
func (r *Ridge) Choose() (weights *mat.Dense, left []float64) {
	chosen := r.solved[len(r.solved)-1]
	if len(r.solved) > 1 && r.lighter() {
		chosen = r.solved[0]
	}
	return chosen.weights, chosen.left
}

// lighter reports whether the leave-one-out scores are worse with Heavy than with 1 by more than chance. A sample that is the
// only known one of its class does not count: the others cannot give it that class.
func (r *Ridge) lighter() bool {
	count := make([]int, r.classes)
	for _, l := range r.labels {
		count[l]++
	}
	var differences []float64
	for i, l := range r.labels {
		if count[l] < 2 {
			continue
		}
		d := 0.0
		for k := range r.classes {
			y := r.target(i, k)
			one, heavy := r.solved[0].left[i*r.classes+k]-y, r.solved[1].left[i*r.classes+k]-y
			d += heavy*heavy - one*one
		}
		differences = append(differences, d)
	}
	mean, deviation := stat.MeanStdDev(differences, nil)
	return mean > stat.StdErr(deviation, float64(len(differences)))
}

// Best returns the class with the highest score, and its margin above the next one. Of equal scores the first class counts.
func Best(scores []float64) (class int, margin float64) {
	for k, s := range scores {
		if s > scores[class] {
			class = k
		}
	}
	margin = -1
	for k, s := range scores {
		if d := scores[class] - s; k != class && (margin < 0 || d < margin) {
			margin = d
		}
	}
	return class, max(margin, 0)
}
