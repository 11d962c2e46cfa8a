package kmeans

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// ended is a finished start, with its inertia on the rows that it used.
type ended[T kernel.Float] struct {
	*start[T]
	inertia float64
}

// run finishes the starts, in groups. Without a Score it returns only the start of lowest inertia.
func (s *solver[T]) run(ctx context.Context) ([]ended[T], error) {
	if s.cfg.Labels != nil {
		r := newStart(s.src, s.cfg.Clusters)
		copy(r.next, s.cfg.Labels)
		if err := s.begin(ctx, r); err != nil {
			return nil, err
		}
		return []ended[T]{{r, 0}}, s.lloyd(ctx, []*start[T]{r})
	}
	return s.runSome(ctx, 0, s.groups())
}

func (s *solver[T]) groups() int {
	group := s.together()
	return (s.cfg.Starts + group - 1) / group
}

// together returns the number of starts in a group.
func (s *solver[T]) together() int { return max(1, panelColumns/s.cfg.Clusters) }

// runSome runs the groups of starts from lo to hi−1.
func (s *solver[T]) runSome(ctx context.Context, lo, hi int) ([]ended[T], error) {
	var ends []ended[T]
	group := s.together()
	for from := lo * group; from < min(hi*group, s.cfg.Starts); from += group {
		parallel.Tell(ctx, from, s.cfg.Starts)
		starts := make([]*start[T], min(group, s.cfg.Starts-from))
		rngs := make([]*rand.Rand, len(starts))
		for i := range starts {
			starts[i] = newStart(s.src, s.cfg.Clusters)
			rngs[i] = rand.New(rand.NewPCG(s.cfg.Seed, uint64(from+i)))
		}
		if err := s.seed(ctx, starts, rngs); err != nil {
			return nil, err
		}
		if err := s.lloyd(ctx, starts); err != nil {
			return nil, err
		}
		for _, r := range starts {
			ends = s.keep(ends, ended[T]{r, s.inertia(r)})
		}
	}
	return ends, nil
}

// keep adds a start to the kept ones: with a Score it keeps all, else the first of lowest inertia.
func (s *solver[T]) keep(ends []ended[T], e ended[T]) []ended[T] {
	switch {
	case s.cfg.Score != nil || ends == nil:
		return append(ends, e)
	case e.inertia < ends[0].inertia:
		ends[0] = e
	}
	return ends
}

// begin makes next the labels of a start, with the centroids of their clusters.
func (s *solver[T]) begin(ctx context.Context, r *start[T]) error {
	if s.wide {
		if _, err := s.sumRows(ctx, []*start[T]{r}, false); err != nil {
			return err
		}
		return s.settle(ctx, r)
	}
	if err := s.update(ctx, s.all(), r, true); err != nil {
		return err
	}
	for i := range r.labels {
		r.labels[i] = -1
	}
	return nil
}

// scoredTogether bounds the starts that hold labels of all samples at once.
const scoredTogether = 8

// pick returns the selected start. polish finishes it, and the starts that it is compared with by score.
func (s *solver[T]) pick(ctx context.Context, ends []ended[T], polish func([]*start[T]) error) (*start[T], error) {
	if s.cfg.Score == nil || s.cfg.Labels != nil {
		return ends[0].start, polish([]*start[T]{ends[0].start})
	}
	slices.SortStableFunc(ends, func(a, b ended[T]) int { return cmp.Compare(a.inertia, b.inertia) })
	limit := s.cfg.Within * ends[0].inertia
	ends = slices.DeleteFunc(ends, func(e ended[T]) bool { return e.inertia > limit })
	var best *ended[T]
	most := math.Inf(-1)
	for group := range slices.Chunk(ends, max(1, min(scoredTogether, panelColumns/s.cfg.Clusters))) {
		starts := make([]*start[T], len(group))
		for i, e := range group {
			starts[i] = e.start
		}
		if err := polish(starts); err != nil {
			return nil, err
		}
		for i, r := range starts {
			score, err := s.cfg.Score(ctx, r.labels)
			if err != nil {
				return nil, err
			}
			loser := &group[i]
			if best == nil || score > most {
				best, loser, most = loser, best, score
			}
			if loser != nil {
				loser.start = nil // releases its labels
			}
		}
	}
	return best.start, nil
}
