package information

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
)

const (
	// DefaultPenalty and DefaultDirections are the defaults of a Regression.
	DefaultPenalty = 1e-3
	// leastRest is the least 1 − h, in units of the rounding error, for which a value of norm 1 is predicted to about a
	// hundredth.
	leastRest = 256
)

// DefaultDirections is the number of directions for n samples. Their rows are stored, and for many samples fewer directions
// suffice.
func DefaultDirections(n int) int {
	if n > 10_000 {
		return 64
	}
	return 200
}

// Regression sets how samples are predicted.
type Regression struct {
	Directions int         // singular directions of all views together in the regression; 0: DefaultDirections
	Penalty    float64     // λ; 0: DefaultPenalty
	Seed       uint64      // of the search for the directions
	Workers    int         // goroutines; 0: GOMAXPROCS
	Device     rows.Device // computes the products of this search; nil: this process

	Group *ranks.Group // processes that hold the other rows; nil: there are none
}

// LeaveOneOut predicts every sample's value from the values of all other samples, by ridge regression on its features. X (n×D)
// holds the rows of all views side by side, Y = X Vᵀ their coordinates along the leading singular directions. The predictions of
// values Q (n×m) are
//
//	S = Y (YᵀY + λ‖X‖²I)⁻¹ Yᵀ,    h_i = S_ii,    K Q = ((S Q)_i − h_i q_i) / (1 − h_i)  by rows i,
//
// These equal the predictions of n regressions that each leave one sample out (D. M. Allen, Technometrics 1974).
type LeaveOneOut[T kernel.Float] struct {
	group       *ranks.Group // of the processes with the other samples; nil: there are none
	n, rank, ld int
	y           []T       // Y, n rows with the stride ld
	weight      []float64 // the diagonal of (YᵀY + λ‖X‖²I)⁻¹
	leverage    []T       // h
	rest        []T       // 1 − h, not small
}

// rowChunk is the number of rows in one partial sum.
const rowChunk = 512

// directionPasses is the number of passes over the views that find their directions. They need not be exact, as long as they
// contain nearly all of the views.
const directionPasses = 4

// Samples returns n.
func (r *LeaveOneOut[T]) Samples() int { return r.n }

// RegressionRows holds the stored values of a LeaveOneOut, without a copy.
type RegressionRows[T kernel.Float] struct {
	Rank, Stride   int
	Y              []T       // n rows with the stride
	Weight         []float64 // the diagonal of (YᵀY + λ‖X‖²I)⁻¹
	Leverage, Rest []T       // h and 1 − h
}

// Parts returns the stored values, for products on a device.
func (r *LeaveOneOut[T]) Parts() RegressionRows[T] {
	return RegressionRows[T]{Rank: r.rank, Stride: r.ld, Y: r.y, Weight: r.weight, Leverage: r.leverage, Rest: r.rest}
}

// NewLeaveOneOut computes the regression for the views x; with a group, for the views of all ranks. It takes memory for n rows of
// the directions, and time linear in n.
func NewLeaveOneOut[T kernel.Float](ctx context.Context, x []rows.Matrix[T], c Regression) (*LeaveOneOut[T], error) {
	if c.Penalty == 0 {
		c.Penalty = DefaultPenalty
	}
	n, _ := x[0].Dims()
	total := c.Group.Total(n)
	if c.Directions == 0 {
		c.Directions = DefaultDirections(total)
	}
	width, square, norms := 0, 0.0, make([]float64, n)
	for _, m := range x {
		_, d := m.Dims()
		width += d
		err := parallel.For(ctx, c.Workers, (n+rowChunk-1)/rowChunk, func(_, q int) error {
			lo, hi := q*rowChunk, min((q+1)*rowChunk, n)
			m.SquaredNorms(lo, hi, norms[lo:hi])
			return nil
		})
		if err != nil {
			return nil, err
		}
		own, err := ranks.Sum(ctx, c.Group, "the squares of an input", c.Workers, norms)
		if err != nil {
			return nil, err
		}
		square += own
	}
	if square == 0 {
		return nil, errors.New("held-out prediction: all rows are zero")
	}
	r := &LeaveOneOut[T]{group: c.Group, n: n, rank: min(c.Directions, total, width)}
	r.ld = kernel.Pad(r.rank)
	basis, y, err := spectral.FindAndProject(ctx, x, spectral.Config{
		Rank: r.rank, Iterations: directionPasses, Seed: c.Seed, Workers: c.Workers, Group: c.Group, Device: c.Device})
	if err != nil {
		return nil, err
	}
	r.y = y
	for _, s := range basis.S {
		r.weight = append(r.weight, 1/(s*s+c.Penalty*square))
	}
	r.leverage, r.rest = make([]T, n), make([]T, n)
	err = parallel.Spans(c.Workers, n, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			h := 0.0
			for j, w := range r.weight {
				e := float64(r.y[i*r.ld+j])
				h += w * e * e
			}
			if 1-h < leastRest*kernel.Epsilon[T]() {
				return fmt.Errorf(
					"held-out prediction: with a Penalty of %g the others' share in the regression at sample %d "+
						"is %.1g, lost in rounding; a larger one is needed",
					c.Penalty, c.Group.First()+i, 1-h,
				)
			}
			r.leverage[i], r.rest[i] = T(h), T(1-h)
		}
		return nil
	})
	return r, err
}

// coefficients returns (YᵀY + λ‖X‖²I)⁻¹ YᵀQ (rank×m) for Q with the stride of s.
func (r *LeaveOneOut[T]) coefficients(ctx context.Context, s softAssignment[T], q []T) (*kernel.Panel[T], error) {
	c, err := s.products(ctx, q, s.ld, s.m, r.y, r.ld, r.rank)
	if err != nil {
		return nil, err
	}
	for a := range s.m {
		for j, w := range r.weight {
			c[a*r.rank+j] *= w
		}
	}
	panel := new(kernel.Panel[T])
	kernel.PackT(panel, r.rank, s.m, c, r.rank)
	return panel, nil
}

// predict returns K·Q.
func (r *LeaveOneOut[T]) predict(ctx context.Context, s softAssignment[T], q []T) ([]T, error) {
	panel, err := r.coefficients(ctx, s, q)
	if err != nil {
		return nil, err
	}
	out := make([]T, s.n*s.ld)
	return out, parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, panel, out[lo*s.ld:], s.ld, false)
		for i := lo; i < hi; i++ {
			h, rest := r.leverage[i], r.rest[i]
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				out[j] = (out[j] - h*q[j]) / rest
			}
		}
		return nil
	})
}

// predictT adds Kᵀ·D to dst. It changes D.
func (r *LeaveOneOut[T]) predictT(s softAssignment[T], dst, d []T) error {
	err := parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		for i := lo; i < hi; i++ {
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				d[j] /= r.rest[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	panel, err := r.coefficients(context.Background(), s, d)
	if err != nil {
		return err
	}
	return parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		kernel.Mul(hi-lo, r.y[lo*r.ld:], r.ld, panel, dst[lo*s.ld:], s.ld, true)
		for i := lo; i < hi; i++ {
			for j := i * s.ld; j < i*s.ld+s.m; j++ {
				dst[j] -= r.leverage[i] * d[j]
			}
		}
		return nil
	})
}
