package smooth

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// How unlike the training samples a sample is: 1 − ⟨x, y⟩, the mean over its inputs, with the row x before smoothing, which has
// at most the norm 1, and y after it, at norm 1. A sample that is like its neighbours is nearly what smoothing makes of it; of
// one that is far from all of them nothing is left, nor of one whose features point where no sample's did.

const (
	unlikeGroup  = 16 // training samples that are taken at once
	unlikeGroups = 12
)

// Unlike returns that of some training samples, drawn at random, each as if it were new: what smoothing makes of it by its
// neighbours alone. The blocks are those before smoothing.
func (s *Graph[T]) Unlike(ctx context.Context, blocks []neighbor.Block[T], n int, o Options) ([]float64, error) {
	chosen := rows.Sample(rand.New(rand.NewPCG(o.Seed, 2)), n, min(n, unlikeGroup*unlikeGroups))
	x := Matrices(blocks, n)
	out := make([]float64, 0, len(chosen))
	share := T(math.Pow(0.5, float64(o.steps(n))))
	weights, next := make([]T, n*unlikeGroup), make([]T, n*unlikeGroup)
	for lo := 0; lo < len(chosen); lo += unlikeGroup {
		group := chosen[lo:min(lo+unlikeGroup, len(chosen))]
		clear(weights)
		for g, i := range group {
			weights[i*unlikeGroup+g] = 1
		}
		for range o.steps(n) { // the columns of ((I + A)/2)^S that belong to the samples, which are its rows
			if err := neighbor.Mul(ctx, s.Operator(), o.Workers, next, weights, unlikeGroup); err != nil {
				return nil, ofNeighbors(ctx, err)
			}
			for i, a := range next {
				weights[i] = (weights[i] + a) / 2
			}
		}
		for g, i := range group { // of itself a new sample keeps this much
			weights[i*unlikeGroup+g] = share
		}
		sums := make([]float64, unlikeGroup*len(blocks))
		err := parallel.For(ctx, o.Workers, len(blocks), func(_, k int) error {
			b := &blocks[k]
			ld := kernel.Pad(b.Cols)
			smoothed, row := make([]T, unlikeGroup*ld), make([]T, b.Cols)
			for from := 0; from < n; from += fillRows {
				x[k].TMulAdd(from, min(from+fillRows, n), unlikeGroup, weights[from*unlikeGroup:], unlikeGroup, smoothed, ld)
			}
			for g, i := range group {
				sums[g*len(blocks)+k] = math.NaN()
				if b.Present == nil || b.Present[i] {
					x[k].Row(i, row)
					sums[g*len(blocks)+k] = unlike(row, smoothed[g*ld:g*ld+b.Cols])
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for g := range group {
			out = append(out, meanOf(sums[g*len(blocks):(g+1)*len(blocks)]))
		}
	}
	return out, nil
}

// unlike is 1 − ⟨x, y/‖y‖⟩, from 0 to 1.
func unlike[T kernel.Float](x, y []T) float64 {
	dot, square := 0.0, 0.0
	for j, a := range y {
		dot += float64(a) * float64(x[j])
		square += float64(a) * float64(a)
	}
	if square == 0 {
		return 1
	}
	return min(max(1-dot/math.Sqrt(square), 0), 1)
}

// meanOf is the mean of the numbers that exist, 1 where none does.
func meanOf(x []float64) float64 {
	sum, count := 0.0, 0.0
	for _, a := range x {
		if !math.IsNaN(a) {
			sum, count = sum+a, count+1
		}
	}
	if count == 0 {
		return 1
	}
	return sum / count
}

// unlikeRows is the number of new samples that are taken at once.
const unlikeRows = 256

// Unlike returns how unlike the training samples new ones are.
func (s *Transform[T]) Unlike(ctx context.Context, views []view.View, workers int) ([]float64, error) {
	n := views[0].Rows
	out := make([]float64, n)
	err := parallel.For(ctx, workers, (n+unlikeRows-1)/unlikeRows, func(_, c int) error {
		lo, hi := c*unlikeRows, min((c+1)*unlikeRows, n)
		smoothed, err := s.Take(ctx, views, lo, hi, hi-lo, nil)
		if err != nil {
			return err
		}
		each := make([]float64, (hi-lo)*len(smoothed))
		for k, in := range s.inputs.Inputs {
			x := views[in.View].Window(lo, hi)
			unit, err := UnitRows[T](ctx, s.inputs.Standardised, k, x, 1)
			if err != nil {
				return err
			}
			before, ld := s.inputs.rows(k, unit, 0, hi-lo, nil), neighbor.Stride(in.Columns)
			after := make([]T, in.Columns)
			for i := range hi - lo {
				each[i*len(smoothed)+k] = math.NaN()
				if x.Has(i) {
					smoothed[k].Row(i, after)
					each[i*len(smoothed)+k] = unlike(before[i*ld:i*ld+in.Columns], after)
				}
			}
		}
		for i := range hi - lo {
			out[lo+i] = meanOf(each[i*len(smoothed) : (i+1)*len(smoothed)])
		}
		return nil
	})
	return out, err
}
