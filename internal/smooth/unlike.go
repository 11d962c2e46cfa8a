package smooth

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// The unlikeness of a sample is 1 − ⟨x, y⟩, the mean over its inputs, with the row x before smoothing, of norm at most 1, and the
// row y after it, at norm 1. Smoothing hardly changes a sample that is like its neighbours. ⟨x, y⟩ is near 0 for a sample that is
// far from all others, or whose features point in a direction without samples.

// unlikeSamples is the number of training samples whose unlikeness is computed.
const unlikeSamples = 192

// Some holds some training samples, drawn at random, before smoothing.
type Some[T kernel.Float] struct {
	all     []int // of all ranks
	samples []int // samples of this rank, by their numbers here
	blocks  []neighbor.Block[T]
}

// SomeOf returns this rank's part of some samples of all ranks. This rank has n samples, and blocks holds their inputs before
// smoothing.
func SomeOf[T kernel.Float](blocks []neighbor.Block[T], n int, o Options) *Some[T] {
	g := o.Group
	total := g.Total(n)
	s := &Some[T]{all: rows.Sample(rand.New(rand.NewPCG(o.Seed, 2)), total, min(total, unlikeSamples))}
	s.samples = g.Here(s.all, n)
	for _, b := range blocks {
		to := neighbor.Block[T]{Ld: neighbor.Stride(b.Cols), Cols: b.Cols}
		to.X = make([]T, len(s.samples)*to.Ld)
		for r, i := range s.samples {
			copy(to.X[r*to.Ld:r*to.Ld+b.Cols], b.X[i*b.Ld:])
			if b.Present != nil {
				to.Present = append(to.Present, b.Present[i])
			}
		}
		s.blocks = append(s.blocks, to)
	}
	return s
}

// UnlikeSome returns the unlikeness of training samples, each as if it were new: smoothed by its neighbours only.
func (s *Transform[T]) UnlikeSome(ctx context.Context, some *Some[T], n int, o Options) ([]float64, error) {
	op := s.graph.Operator()
	g := o.Group
	self, err := neighbor.SelfWeights[T](ctx, op, o.steps(g.Total(n)), o.Workers, some.all, o.Device)
	if err != nil {
		return nil, ofNeighbors(ctx, err)
	}
	if len(some.samples) > 0 {
		at, _ := slices.BinarySearch(some.all, g.First()+some.samples[0])
		self = self[at : at+len(some.samples)]
	}
	each := make([][]float64, len(some.samples))
	for k, b := range some.blocks {
		if len(each) == 0 {
			break
		}
		before := Matrices(some.blocks[k:k+1], len(each))[0]
		after := b
		after.X = slices.Clone(b.X)
		if err := s.filters[k].Alone(op, some.samples, self, after); err != nil {
			return nil, ofNeighbors(ctx, err)
		}
		row := make([]T, b.Cols)
		for r := range each {
			if b.Present == nil || b.Present[r] {
				before.Row(r, row)
				each[r] = append(each[r], unlike(row, after.X[r*b.Ld:r*b.Ld+b.Cols]))
			}
		}
	}
	out := make([]float64, len(each))
	for r, x := range each {
		out[r] = meanOf(x)
	}
	return ranks.GatherAll(g, "the unlikeness of samples", out, len(some.all))
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

// meanOf returns the mean of the numbers that are not NaN, 1 if there is none.
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

// Unlike sets dst to the unlikeness of the new samples that b took last, from sample lo of the views on. b must keep their
// inputs.
func (s *Transform[T]) Unlike(views []view.View, lo int, b *prepare.Buffer[T], dst []float64) {
	t := b.Other.(*taken[T])
	each := make([]float64, len(t.blocks))
	for i := range dst {
		for k, after := range t.blocks {
			each[k] = math.NaN()
			if at := i * after.Ld; views[s.inputs.Inputs[k].View].Has(lo + i) {
				each[k] = unlike(t.kept[k][at:at+after.Cols], after.X[at:at+after.Cols])
			}
		}
		dst[i] = meanOf(each)
	}
}
