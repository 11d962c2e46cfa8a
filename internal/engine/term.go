package engine

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Term is a part of the loss beside the reconstruction. It is a function of H_L whose value and cotangent are computed in steps
// over the rows of a shard. In a step the rows of a chunk add to sums; the total over all chunks of all shards goes into the next
// step. So no row leaves its shard. Every shard has a Term for its rows.
type Term[T kernel.Float] interface {
	// Chunk is the number of rows of a chunk, a function of the number of all samples.
	Chunk() int
	// Steps returns the number of steps to the value, and to the cotangent.
	Steps() (value, all int)
	// Size is the number of sums of a step; the last one may have none.
	Size(step int) int
	// Rows does a step for a chunk, the rows from lo to hi, on one of the workers. h holds the chunk's rows of H_L, with the
	// stride ld. The last step adds the cotangent to dh. sums are zero on entry.
	Rows(step, worker, lo, hi int, h, dh []T, ld int, sums []float64)
	// Total receives the sums over all chunks.
	Total(step int, sums []float64)
	// Value returns the term after the steps to it.
	Value() float64
}

// TermShard is a Shard that can have a term.
type TermShard interface {
	// TermSteps returns the steps of the term, and TermSize the number of sums of a step.
	TermSteps() (value, all int)
	TermSize(step int) int
	// RunTerm does a step and pushes the sums of its chunks.
	RunTerm(ctx context.Context, step int, tree *parallel.Tree[[]float64]) error
	// TermTotal passes the total of a step to the term, and TermValue returns the term.
	TermTotal(step int, sums []float64)
	TermValue() float64
}

// SetTerm adds a term to a network whose rows lie in memory, made for the rows from lo to hi of every shard. The terms' value and
// cotangent are part of every later Forward.
func SetTerm[T kernel.Float](n *Net, term func(lo, hi int) (Term[T], error)) error {
	return n.SetTerms(func(s Shard, lo, hi int) error {
		m, ok := s.(*Memory[T])
		if !ok {
			return fmt.Errorf("engine: a %T has no term", s)
		}
		t, err := term(lo, hi)
		if err != nil {
			return err
		}
		if m.from%t.Chunk() != 0 {
			return fmt.Errorf("engine: a shard with a term begins at sample %d, want a multiple of %d", m.from, t.Chunk())
		}
		m.term = t
		return nil
	})
}

// SetTerms calls set for every shard, which must be a TermShard, with its rows from lo to hi.
func (n *Net) SetTerms(set func(s Shard, lo, hi int) error) error {
	err := n.eachShard(set)
	n.terms = err == nil
	return err
}

// TermValue returns the value of the term in the last Forward; 0 without one.
func (n *Net) TermValue() float64 { return n.termValue }

// runTerm runs the steps of the terms on all shards.
func (n *Net) runTerm(ctx context.Context, gradient bool) error {
	shards := make([]TermShard, len(n.shards))
	for i, s := range n.shards {
		shards[i] = s.(TermShard)
	}
	value, all := shards[0].TermSteps()
	if !gradient {
		all = value
	}
	for step := range all {
		size := shards[0].TermSize(step)
		for len(n.termTrees) <= step {
			n.termTrees = append(n.termTrees, make([]*parallel.Tree[[]float64], len(shards)))
		}
		trees := n.termTrees[step]
		err := parallel.For(ctx, len(shards), len(shards), func(_, i int) error {
			if trees[i] == nil {
				trees[i] = parallel.NewTree(func() []float64 { return make([]float64, size) }, kernel.AddTo[float64])
			}
			trees[i].Reset()
			return shards[i].RunTerm(ctx, step, trees[i])
		})
		if err != nil {
			return err
		}
		for _, t := range trees[1:] {
			trees[0].Join(t)
		}
		if over, ok := n.reduce.(OverRanks); ok && size > 0 {
			own := func(part, _ []float64) []float64 { return part }
			if err := ranks.JoinTree(over.Group, "the sums of a term", trees[0], own); err != nil {
				return err
			}
		}
		total := trees[0].Total()
		for _, s := range shards {
			s.TermTotal(step, total)
		}
		if step == value-1 {
			n.termValue = shards[0].TermValue()
		}
	}
	return nil
}

func (s *Memory[T]) TermSteps() (value, all int) { return s.term.Steps() }

func (s *Memory[T]) TermSize(step int) int { return s.term.Size(step) }

func (s *Memory[T]) TermTotal(step int, sums []float64) { s.term.Total(step, sums) }

func (s *Memory[T]) TermValue() float64 { return s.term.Value() }

func (s *Memory[T]) RunTerm(ctx context.Context, step int, tree *parallel.Tree[[]float64]) error {
	chunk, h := s.term.Chunk(), s.h[s.spec.Layers]
	return parallel.Sum(ctx, s.spec.Workers, s.from/chunk, (s.n+chunk-1)/chunk, tree, func() struct{} { return struct{}{} },
		func(worker, i int, _ struct{}, part []float64) error {
			lo, hi := i*chunk, min((i+1)*chunk, s.n)
			clear(part)
			var dh []T
			if s.dh != nil {
				dh = s.dh[lo*s.ld : hi*s.ld]
			}
			s.term.Rows(step, worker, lo, hi, h[lo*s.ld:hi*s.ld], dh, s.ld, part)
			return nil
		})
}
