package kmeans

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// The passes over all rows after starts on a sample use sums over chunks of rows. So the processes of a group, each with its
// rows, compute the bits of one process.

// checkRanks returns an error for settings that rows of several processes do not allow.
func (s *Source[T]) checkRanks(cfg *Config) error {
	switch {
	case s.group == nil:
		return nil
	case cfg.Full:
		return errors.New("kmeans: all starts on all rows need all rows in one process")
	case s.scale != nil:
		return errors.New("kmeans: rows of several processes must have all views")
	}
	return nil
}

// runGathered is Run for so few rows that every process of the group gets all of them.
func runGathered[T kernel.Float](ctx context.Context, src *Source[T], cfg Config) (*Result[T], error) {
	g := src.group
	all, err := src.sample(ctx, cfg.Workers, g.Total(src.n), cfg.Seed)
	if err != nil {
		return nil, err
	}
	lo, hi := g.First(), g.First()+src.n
	if cfg.Labels != nil {
		if cfg.Labels, err = ranks.GatherAll(g, "the initial labels of a k-means", cfg.Labels, g.Total(src.n)); err != nil {
			return nil, err
		}
	}
	if score := cfg.Score; score != nil {
		cfg.Score = func(ctx context.Context, labels []int) (float64, error) { return score(ctx, labels[lo:hi]) }
	}
	r, err := Run(ctx, all, cfg)
	if err != nil {
		return nil, err
	}
	r.Labels = slices.Clone(r.Labels[lo:hi])
	return r, nil
}

// runShared is run on rows that every process of the group has, with some groups of starts in each process. Of other processes'
// starts it has only the centroids and the inertia, which choosing one and continuing with it need.
func (s *solver[T]) runShared(ctx context.Context, g *ranks.Group) ([]ended[T], error) {
	groups := s.groups()
	if g == nil || groups == 1 || s.cfg.Labels != nil {
		return s.run(ctx)
	}
	own, err := s.runSome(ctx, groups*g.Rank()/g.Size(), groups*(g.Rank()+1)/g.Size())
	if err != nil {
		return nil, err
	}
	var mine []byte
	for _, e := range own {
		mine = e.append(mine)
	}
	all, err := g.Gather("the starts of the k-means", mine)
	if err != nil {
		return nil, err
	}
	var ends []ended[T]
	for r, b := range all {
		if r == g.Rank() {
			for _, e := range own {
				ends = s.keep(ends, e)
			}
			continue
		}
		for len(b) > 0 {
			e := ended[T]{start: newStart(s.src, s.cfg.Clusters)}
			if b, err = e.read(b, s.src.width()); err != nil {
				return nil, err
			}
			ends = s.keep(ends, e)
		}
	}
	return ends, nil
}

// append writes the start for other processes.
func (e *ended[T]) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.inertia))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.iterations))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.repaired))
	for _, c := range e.centroids {
		if c == nil {
			b = append(b, 0)
			continue
		}
		b = append(append(b, 1), ranks.Bytes(c)...)
	}
	return b
}

// read reads a start of the given width that another process has written, and returns the remaining bytes.
func (e *ended[T]) read(b []byte, width int) ([]byte, error) {
	short := errors.New("kmeans: a start of another process ends too early")
	if len(b) < 24 {
		return nil, short
	}
	e.inertia = math.Float64frombits(binary.LittleEndian.Uint64(b))
	e.iterations, e.repaired = int(binary.LittleEndian.Uint64(b[8:])), int(binary.LittleEndian.Uint64(b[16:]))
	b = b[24:]
	for k := range e.centroids {
		c := make([]T, width)
		own := ranks.Bytes(c)
		switch {
		case len(b) == 0 || b[0] == 1 && len(b) <= len(own):
			return nil, short
		case b[0] == 1:
			b = b[1+copy(own, b[1:]):]
			e.centroids[k] = c
		default:
			b = b[1:]
		}
	}
	return b, nil
}

// repairRows is repair for the rows of all processes, whose sums it corrects. It reports whether a cluster was repaired.
func (s *solver[T]) repairRows(ctx context.Context, r *start[T]) (repaired bool, err error) {
	var far []float64
	var taken [][]T
	for k, size := range r.size {
		if size > 0 {
			continue
		}
		if far == nil {
			if far, err = s.distances(ctx, s.all(), r); err != nil {
				return repaired, err
			}
		}
		at, row, from, err := s.farthestRow(ctx, r, far, taken)
		if err != nil || from < 0 {
			return repaired, err
		}
		taken = append(taken, row)
		r.size[from]--
		r.size[k]++
		s.move(r, row, at, from, -1)
		s.move(r, row, at, k, 1)
		if at >= 0 {
			r.next[at], far[at] = k, 0
		}
		r.repaired++
		repaired = true
	}
	return repaired, nil
}

// farthestRow returns the row of largest distance above 0, the first of equal ones, that shares its cluster, differs from the
// rows in taken and lies in the cluster from; −1 if there is none. at is its number if this process has it, else −1.
func (s *solver[T]) farthestRow(
	ctx context.Context, r *start[T], far []float64, taken [][]T,
) (at int, row []T, from int, err error) {
	g := s.src.group
	row = make([]T, s.src.width())
	answer := make([]byte, 8+len(ranks.Bytes(row))) // the cluster, or −1 for a row in taken, and the row
search:
	for {
		best, d := -1, -1.0
		for i, x := range far {
			if x > 0 && x > d && r.size[r.next[i]] > 1 {
				best, d = i, x
			}
		}
		owner, err := ownerOfFarthest(g, d)
		if err != nil || owner < 0 {
			return -1, nil, -1, err
		}
		if owner == g.Rank() {
			from = r.next[best]
			for _, c := range taken {
				if s.src.distance(best, c, s.spaces[0].row) == 0 {
					from, far[best] = -1, 0
					break
				}
			}
			s.src.copyRow(best, row, s.cfg.Seed)
			binary.LittleEndian.PutUint64(answer, uint64(from))
			copy(answer[8:], ranks.Bytes(row))
		}
		if err := g.Broadcast("the farthest row itself", owner, answer); err != nil {
			return -1, nil, -1, err
		}
		if from = int(binary.LittleEndian.Uint64(answer)); from < 0 {
			continue search
		}
		copy(ranks.Bytes(row), answer[8:])
		if owner != g.Rank() {
			best = -1
		}
		return best, row, from, nil
	}
}

// ownerOfFarthest returns the first rank whose distance d is the largest above 0, −1 if there is none.
func ownerOfFarthest(g *ranks.Group, d float64) (int, error) {
	all, err := g.Gather("the farthest row", binary.LittleEndian.AppendUint64(nil, math.Float64bits(d)))
	owner, most := -1, 0.0
	for rank, b := range all {
		if x := math.Float64frombits(binary.LittleEndian.Uint64(b)); x > most {
			owner, most = rank, x
		}
	}
	return owner, err
}

// usedBy reports which of k clusters have a label in any process of a group.
func usedBy(g *ranks.Group, k int, labels []int) ([]bool, error) {
	counts := make([]int, k)
	for _, l := range labels {
		counts[l]++
	}
	if err := g.SumInts("the clusters in use", counts); err != nil {
		return nil, err
	}
	used := make([]bool, k)
	for i, n := range counts {
		used[i] = n > 0
	}
	return used, nil
}
