package kmeans

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// What goes over all rows after the starts on a sample of them is made of sums over chunks of rows, so that it can be done by the
// processes of a group, each for its rows, to the bits of one process.

// checkRanks refuses what cannot be done over the rows of several processes.
func (s *Source[T]) checkRanks(g *ranks.Group, cfg *Config) error {
	switch {
	case g == nil:
		return nil
	case cfg.Full:
		return errors.New("kmeans: all starts on all rows need all rows in one process")
	case s.scale != nil:
		return errors.New("kmeans: rows of several processes must have all views")
	}
	return nil
}

// runGathered is Run for rows that are so few that every process of the group can have all of them.
func runGathered[T kernel.Float](ctx context.Context, g *ranks.Group, src *Source[T], cfg Config) (*Result[T], error) {
	all, err := src.sample(ctx, cfg.Workers, g.Total(src.n), cfg.Seed)
	if err != nil {
		return nil, err
	}
	lo, hi := g.First(), g.First()+src.n
	if cfg.Labels != nil {
		if cfg.Labels, err = ranks.GatherAll(g, "the labels that a k-means begins with", cfg.Labels, g.Total(src.n)); err != nil {
			return nil, err
		}
	}
	if score := cfg.Score; score != nil {
		cfg.Score = func(_ context.Context, labels []int) (float64, error) { return score(ctx, labels[lo:hi]) }
	}
	r, err := Run(ranks.Alone(ctx), all, cfg)
	if err != nil {
		return nil, err
	}
	r.Labels = slices.Clone(r.Labels[lo:hi])
	return r, nil
}

// iterateRows is iterate for the rows of all processes.
func (s *solver[T]) iterateRows(ctx context.Context, r *start[T]) error {
	r.iterations++
	changed, err := s.count(ctx, r)
	if err != nil {
		return err
	}
	repaired, err := s.repairRows(ctx, r)
	if err != nil {
		return err
	}
	if repaired {
		if changed, err = s.count(ctx, r); err != nil {
			return err
		}
	}
	if changed == 0 {
		r.converged = true
		return nil
	}
	before := slices.Clone(r.centroids)
	if err := s.updateRows(ctx, r, 3*changed > ranks.Of(ctx).Total(s.src.n)); err != nil {
		return err
	}
	s.compare(r, before)
	return nil
}

// count sets the sizes of the clusters to those of next, and returns the number of labels that it changes.
func (s *solver[T]) count(ctx context.Context, r *start[T]) (changed int, err error) {
	counts := make([]int, len(r.size)+1)
	for i, k := range r.next {
		counts[k]++
		if k != r.labels[i] {
			counts[len(r.size)]++
		}
	}
	if err := ranks.Of(ctx).SumInts("the sizes of the clusters", counts); err != nil {
		return 0, err
	}
	copy(r.size, counts)
	return counts[len(r.size)], nil
}

// repairRows is repair for the rows of all processes. It says whether there was something to repair.
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
		if at >= 0 {
			r.next[at], far[at] = k, 0
		}
		r.repaired++
		repaired = true
	}
	return repaired, nil
}

// farthestRow returns the row of largest distance above 0, the first of equals, that is not alone in its cluster, differs from
// those taken and lies in the cluster from, −1 if there is none; at is its number where it is this process that has it, else −1.
func (s *solver[T]) farthestRow(
	ctx context.Context, r *start[T], far []float64, taken [][]T,
) (at int, row []T, from int, err error) {
	g := ranks.Of(ctx)
	row = make([]T, s.src.width())
	answer := make([]byte, 8+len(ranks.Bytes(row))) // the cluster, or −1 for a row that is taken, and the row
search:
	for {
		best := -1
		for i, d := range far {
			if d > 0 && r.size[r.next[i]] > 1 && (best < 0 || d > far[best]) {
				best = i
			}
		}
		d := -1.0
		if best >= 0 {
			d = far[best]
		}
		all, err := g.Gather("the farthest row", binary.LittleEndian.AppendUint64(nil, math.Float64bits(d)))
		if err != nil {
			return -1, nil, -1, err
		}
		owner, most := -1, 0.0
		for rank, b := range all {
			if x := math.Float64frombits(binary.LittleEndian.Uint64(b)); x > most {
				owner, most = rank, x
			}
		}
		if owner < 0 {
			return -1, nil, -1, nil
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

// updateRows is update for the rows of all processes, whose clusters have the sizes in r.size: what the rows of a chunk add to
// the sums of all clusters is added up in the tree of the chunks.
func (s *solver[T]) updateRows(ctx context.Context, r *start[T], fresh bool) error {
	width, views, c := s.src.width(), len(s.src.views), len(r.centroids)
	each := width + 2*views // of a cluster: sums, weights and counts
	chunk := parallel.ChunkRows(ranks.Of(ctx).Total(s.src.n), frameRows)
	total, err := ranks.SumRows(ctx, "the sums of the clusters", s.cfg.Workers, s.src.n, chunk, c*each,
		func() []float64 { return make([]float64, c*views) },
		func(worker, lo, hi int, shift, part []float64) error {
			clear(shift)
			row := s.spaces[worker].row
			add := func(i, k int, sign float64) {
				own := part[k*each : (k+1)*each]
				scale := s.src.scaleOf(i)
				addSample(s.src, own[:width], i, sign*scale, row, shift[k*views:(k+1)*views])
				for v := range views {
					if s.src.present(v, i) {
						own[width+v] += sign * scale
						own[width+views+v] += sign
					}
				}
			}
			for i := lo; i < hi; i++ {
				was, is := r.labels[i], r.next[i]
				if !fresh && was == is {
					continue
				}
				add(i, is, 1)
				if !fresh && was >= 0 {
					add(i, was, -1)
				}
			}
			for k := range c {
				addShifts(s.src, part[k*each:k*each+width], shift[k*views:(k+1)*views])
			}
			return nil
		})
	if err != nil {
		return err
	}
	for k := range c {
		own := total[k*each : (k+1)*each]
		if fresh {
			clear(r.sums[k])
			clear(r.weights[k])
			clear(r.counts[k])
		}
		for j, x := range own[:width] {
			r.sums[k][j] += x
		}
		for v := range views {
			r.weights[k][v] += own[width+v]
			r.counts[k][v] += int(own[width+views+v])
		}
	}
	copy(r.labels, r.next)
	return parallel.For(ctx, s.cfg.Workers, c, func(_, k int) error {
		s.centroid(r, k)
		return nil
	})
}

// usedBy says which of k clusters have a label, in any process.
func usedBy(ctx context.Context, k int, labels []int) ([]bool, error) {
	counts := make([]int, k)
	for _, l := range labels {
		counts[l]++
	}
	if err := ranks.Of(ctx).SumInts("the clusters in use", counts); err != nil {
		return nil, err
	}
	used := make([]bool, k)
	for i, n := range counts {
		used[i] = n > 0
	}
	return used, nil
}
