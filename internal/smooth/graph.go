package smooth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/neighbor"
)

// Graph joins the training samples to their neighbours.
type Graph[T kernel.Float] struct {
	index  *neighbor.Index[T]
	before []neighbor.Block[T] // the inputs before smoothing, for an index of exact neighbours; else nil
}

// Operator returns the graph as a matrix.
func (s *Graph[T]) Operator() neighbor.Operator { return s.index.Operator() }

// nearestLandmarks is the number of landmarks that a sample is linked to, if there are more.
const nearestLandmarks = 5

// nearestOf returns this number for a number of landmarks, or for an upper bound of fewer than a few dozen.
func nearestOf(landmarks int) int { return min(nearestLandmarks, max(landmarks-1, 1)) }

// Searched reports whether the neighbours of n samples are searched among all of them. A single sample cannot be a landmark for
// others.
func (o Options) Searched(n int) bool { return n <= max(o.Exact, 1) }

// steps returns the number of steps of the filter for n samples. Of two samples each is the other's only neighbour, and a step
// would make them equal.
func (o Options) steps(n int) int {
	if n <= 2 {
		return 0
	}
	return o.Steps
}

// Filters reports whether inputs of n samples are smoothed.
func (o Options) Filters(n int) bool { return o.steps(n) > 0 }

// spaces returns the spaces of the search for neighbours. Half of the weight goes to the inputs of each standardisation side by
// side; a view without an input in one standardisation takes part with its other input. Half goes to single inputs, equally for
// each view.
//
// Side by side, samples that lack views count with their filled rows, if rows were filled. In the graph of a single view, a
// sample that lacks it has no neighbours.
func (s *Inputs[T]) spaces(filled bool) []neighbor.Space {
	groups := s.sides()
	times, total := make([]float64, len(s.Inputs)), 0.0 // how often an input is in a group
	for _, g := range groups {
		for _, k := range g {
			times[k]++
			total++
		}
	}
	var out []neighbor.Space
	for _, g := range groups {
		out = append(out, neighbor.Space{Views: g, Weight: 0.5 / float64(len(groups)), Filled: filled})
	}
	single := func(k int) {
		if times[k] > 0 {
			out = append(out, neighbor.Space{Views: []int{k}, Weight: 0.5 * times[k] / total})
			times[k] = 0
		}
	}
	for _, g := range groups {
		for _, k := range g {
			single(k)
		}
	}
	return out
}

// sides returns the inputs of each standardisation, in the order of their numbers.
func (s *Inputs[T]) sides() [][]int {
	var out [][]int
	for part := range s.prepare {
		var side []int
		for k, in := range s.Inputs {
			own := s.part[k] == part
			missing := !s.isInput(in.View, part) && k == s.firstOf(in.View)
			if own || missing {
				side = append(side, k)
			}
		}
		known := slices.ContainsFunc(out, func(x []int) bool { return slices.Equal(x, side) })
		if len(side) > 0 && !known {
			out = append(out, side)
		}
	}
	return out
}

// isInput says whether a view is an input in a standardisation.
func (s *Inputs[T]) isInput(view, part int) bool {
	for k, in := range s.Inputs {
		if in.View == view && s.part[k] == part {
			return true
		}
	}
	return false
}

// firstOf returns the first input that a view is.
func (s *Inputs[T]) firstOf(view int) int {
	return slices.IndexFunc(s.Inputs, func(in prepare.Input) bool { return in.View == view })
}

// Join builds the graph of the samples of all ranks. This rank has n of them, and blocks holds their rows before smoothing.
// filled is the result of Filled.
func (s *Inputs[T]) Join(ctx context.Context, blocks, filled []neighbor.Block[T], n int, o Options) (*Graph[T], error) {
	g, err := s.join(ctx, blocks, filled, n, o)
	return g, ofNeighbors(ctx, err)
}

// index returns the settings of the graph of the samples; this process has n of them.
func (o Options) index(n int) neighbor.Config {
	n = o.Group.Total(n)
	cfg := neighbor.Config{
		Neighbors: o.Neighbors, ExactUpTo: -1, Landmarks: min(o.Landmarks, n), Nearest: nearestOf(n),
		Seed: o.Seed, Workers: o.Workers, Device: o.Device, Adapt: true,
	}
	if o.Landmarks > 0 {
		cfg.Nearest = nearestOf(cfg.Landmarks)
	}
	if o.Searched(n) {
		cfg.ExactUpTo = n
	}
	cfg.Group = o.Group
	return cfg
}

func (s *Inputs[T]) join(ctx context.Context, blocks, filled []neighbor.Block[T], n int, o Options) (*Graph[T], error) {
	g := &Graph[T]{}
	before := filled
	if o.Searched(o.Group.Total(n)) { // The index keeps the rows, which the filter will change.
		g.before = make([]neighbor.Block[T], len(blocks))
		for k := range blocks {
			if g.before[k] = filled[k]; &filled[k].X[0] == &blocks[k].X[0] {
				g.before[k] = packed(&blocks[k], n)
			}
		}
		before = g.before
	}
	x, err := viewsOfBlocks(before, n)
	if err != nil {
		return nil, err
	}
	lacking, cfg := Incomplete(o.Group, blocks), o.index(n)
	cfg.Single = !lacking // else rounding would change the weights for absent views
	g.index, err = build(ctx, sampleGraph, x, s.spaces(lacking), o, cfg)
	return g, err
}

// ofNeighbors adds the source to an error, unless it is the context's.
func ofNeighbors(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("neighbours: %w", err)
}

// packed returns a copy of the n rows of a block, one after another.
func packed[T kernel.Float](b *neighbor.Block[T], n int) neighbor.Block[T] {
	out := neighbor.Block[T]{Ld: neighbor.Stride(b.Cols), Cols: b.Cols, Present: b.Present}
	out.X = make([]T, n*out.Ld)
	for i := range n {
		copy(out.X[i*out.Ld:i*out.Ld+b.Cols], b.X[i*b.Ld:])
	}
	return out
}

func viewsOfBlocks[T kernel.Float](blocks []neighbor.Block[T], n int) ([]neighbor.View[T], error) {
	out := make([]neighbor.View[T], len(blocks))
	for k, b := range blocks {
		var err error
		if out[k], err = neighbor.Dense(n, b.Cols, b.Ld, b.X, b.Present); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Smooth smooths the n rows of the blocks along the graph and returns the transform for new samples. A neighbor.GrowthError
// counts views, not blocks.
func (s *Graph[T]) Smooth(
	ctx context.Context, in *Inputs[T], blocks []neighbor.Block[T], n int, o Options,
) (*Transform[T], error) {
	judging, total := &judging[T]{seed: o.Seed, look: in.look}, o.Group.Total(n)
	if s.before == nil { // Smoothing will change the rows that trust needs.
		some, samples, err := collected(ctx, blocks, n, trust.Samples(total, o.Seed), o)
		if err != nil {
			return nil, err
		}
		known := in.sideBySide(some, samples)
		judging.known = &known
	}
	there := slices.Clone(blocks)
	for k := range there {
		there[k].Device = o.Device
	}
	filters, err := neighbor.Smooth(ctx, s.Operator(), there, o.steps(total), o.Workers)
	if err != nil {
		if grown := (*neighbor.GrowthError)(nil); errors.As(err, &grown) { // grown counts blocks
			err = &neighbor.GrowthError{View: in.Inputs[grown.View].View, Steps: grown.Steps}
		}
		return nil, ofNeighbors(ctx, err)
	}
	s.makeEqual(blocks)
	return &Transform[T]{in, s, filters, nil, judging}, nil
}

// makeEqual gives samples that are equal in all inputs the filtered rows of the first of them. With exact neighbours their links
// differ, because no sample is its own neighbour. A new sample that is equal to them has one result. Landmarks depend only on the
// values.
func (s *Graph[T]) makeEqual(blocks []neighbor.Block[T]) {
	if s.before == nil {
		return
	}
	first := map[[sha256.Size]byte]int{}
	var content []byte
	for i := range len(s.before[0].X) / s.before[0].Ld {
		content = content[:0]
		for _, b := range s.before {
			if b.Present != nil && !b.Present[i] {
				content = append(content, 0)
				continue
			}
			content = append(content, 1)
			for _, x := range b.X[i*b.Ld : i*b.Ld+b.Cols] {
				content = binary.LittleEndian.AppendUint64(content, math.Float64bits(float64(x)+0)) // −0 + 0 is 0
			}
		}
		key := sha256.Sum256(content)
		j, seen := first[key]
		if !seen {
			first[key] = i
			continue
		}
		for _, b := range blocks {
			copy(b.X[i*b.Ld:i*b.Ld+b.Cols], b.X[j*b.Ld:j*b.Ld+b.Cols])
		}
	}
}
