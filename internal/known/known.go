// Package known labels samples by a few known labels: a ridge regression in closed form on features of the samples, its
// leave-one-out scores, and the probability that a label is right.
//
// A row of features φ has the inputs of the network after and before smoothing, each at norm 1 and divided by the root of the
// number of inputs that the sample has, and its row of H at norm 1. The ridge solves (Φ·Φᵀ + λI)·α = Y for the known samples, Y
// being one-hot minus 1/c; the weights are Φᵀ·α. The system has the known samples or the features as its unknowns, whichever
// are fewer.
package known

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Lambda is the weight of the penalty of the ridge.
const Lambda = 0.1

// Ridge learns from the known samples. Add all their rows in order, then Solve, and LeaveOut in the same order.
type Ridge struct {
	features, classes int
	labels            []int // of the known samples, 0 to classes−1

	phi  []float64 // rows of the known samples (row-major), if these are fewer than the features; else nil
	gram []float64 // ΦᵀΦ (features²), if the features are fewer; else nil
	sums []float64 // ΦᵀY (features×classes), if the features are fewer

	inverse *mat.SymDense // of the matrix of the system
	alpha   *mat.Dense    // α, if the known samples are fewer
	weights *mat.Dense    // features×classes
}

// NewRidge returns the ridge for known samples of some classes, with rows of a number of features.
func NewRidge(features, classes int, labels []int) *Ridge {
	r := &Ridge{features: features, classes: classes, labels: labels}
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
		return 8 * (k*f + 3*k*k + f*int64(classes))
	}
	return 8 * (4*f*f + 2*f*int64(classes))
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

// Solve solves the system and returns the weights (features×classes).
func (r *Ridge) Solve() (*mat.Dense, error) {
	size, a := r.features, r.gram
	if r.gram == nil {
		size = len(r.labels)
		a = make([]float64, size*size)
		kernel.MulRowsT(size, size, r.features, r.phi, r.features, r.phi, r.features, a, size)
	}
	for i := range size {
		a[i*size+i] += Lambda
	}
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(size, a)) {
		return nil, errSingular
	}
	r.inverse = mat.NewSymDense(size, nil)
	if err := c.InverseTo(r.inverse); err != nil && !errors.As(err, new(mat.Condition)) {
		return nil, err
	}
	r.weights = mat.NewDense(r.features, r.classes, nil)
	if r.gram != nil {
		r.weights.Mul(r.inverse, mat.NewDense(size, r.classes, r.sums))
		return r.weights, nil
	}
	y := mat.NewDense(size, r.classes, nil)
	for i := range size {
		for k := range r.classes {
			y.Set(i, k, r.target(i, k))
		}
	}
	r.alpha = mat.NewDense(size, r.classes, nil)
	r.alpha.Mul(r.inverse, y)
	r.weights.Mul(mat.NewDense(size, r.features, r.phi).T(), r.alpha)
	return r.weights, nil
}

// NeedsRows reports whether LeaveOut needs the rows of the known samples again.
func (r *Ridge) NeedsRows() bool { return r.gram != nil }

// LeaveOut returns the scores (row-major, by class) of n known samples from number first on, each by a ridge without that sample.
// phi has their rows if NeedsRows.
func (r *Ridge) LeaveOut(first, n int, phi []float64) []float64 {
	out := make([]float64, n*r.classes)
	if r.gram == nil { // y − α/(A⁻¹)ᵢᵢ
		for i := range n {
			a := r.inverse.At(first+i, first+i)
			for k := range r.classes {
				out[i*r.classes+k] = r.target(first+i, k) - r.alpha.At(first+i, k)/a
			}
		}
		return out
	}
	x := mat.NewDense(n, r.features, phi)
	var product, fit mat.Dense
	product.Mul(x, r.inverse)
	fit.Mul(x, r.weights)
	for i := range n {
		h := mat.Dot(product.RowView(i), x.RowView(i)) // leverage, below 1 for λ > 0
		for k := range r.classes {
			out[i*r.classes+k] = (fit.At(i, k) - h*r.target(first+i, k)) / (1 - h)
		}
	}
	return out
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
