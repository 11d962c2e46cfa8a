package kmeans

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Over all rows an iteration of all starts is one pass, because reading the rows may take most of the time. While a block of rows
// is in memory, it is labelled, and its changes are added to the sums of the clusters.

// lloydRows is lloyd over the rows of all processes.
func (s *solver[T]) lloydRows(ctx context.Context, starts []*start[T]) error {
	active := slices.Clone(starts)
	for iter := 0; iter < s.cfg.MaxIter && len(active) > 0; iter++ {
		changed, err := s.passRows(ctx, active)
		if err != nil {
			return err
		}
		for j, r := range active {
			if err := s.iterateRows(ctx, r, changed[j]); err != nil {
				return err
			}
		}
		active = slices.DeleteFunc(active, func(r *start[T]) bool { return r.converged })
	}
	return nil
}

// iterateRows repairs empty clusters and moves the centroids, after a pass that changed the given number of labels.
func (s *solver[T]) iterateRows(ctx context.Context, r *start[T], changed int) error {
	r.iterations++
	repaired, err := s.repairRows(ctx, r)
	if err != nil {
		return err
	}
	if changed == 0 && !repaired {
		r.converged = true
		return nil
	}
	before := slices.Clone(r.centroids)
	err = s.settle(ctx, r)
	s.compare(r, before)
	return err
}

// settle makes next the labels, and the means of their clusters, whose sums are known, the centroids.
func (s *solver[T]) settle(ctx context.Context, r *start[T]) error {
	copy(r.labels, r.next)
	return parallel.For(ctx, s.cfg.Workers, len(r.centroids), func(_, k int) error {
		s.centroid(r, k)
		return nil
	})
}

// passRows sets next of the starts to the nearest centroids, and sums, weights, counts and sizes to the values for next. It
// returns the number of labels that it changes in each.
func (s *solver[T]) passRows(ctx context.Context, starts []*start[T]) (changed []int, err error) {
	if s.products != nil {
		err = s.assign(ctx, starts)
	} else {
		err = s.aim(ctx, starts)
	}
	if err != nil {
		return nil, err
	}
	changed, err = s.sumRows(ctx, starts, s.products == nil)
	s.measured = true
	return changed, err
}

// sumRows does the pass. Without label, it keeps next.
func (s *solver[T]) sumRows(ctx context.Context, starts []*start[T], label bool) (changed []int, err error) {
	width, views, c := s.src.width(), len(s.src.views), s.cfg.Clusters
	each := width + 2*views + 1 // numbers of a cluster: sums, weights, counts and size
	whole := c*each + 1         // numbers of a start: of its clusters, and the number of changed labels
	n, size, g := s.src.n, len(starts)*whole, s.src.group
	chunk := parallel.ChunkRows(g.Total(n), frameRows)
	all := ranks.RowSum{What: "the sums of the clusters", Workers: s.cfg.Workers, Rows: n, Chunk: chunk, Size: size}
	total, err := ranks.SumRows(ctx, g, all,
		func() []float64 { return make([]float64, len(starts)*c*views) },
		func(worker, lo, hi int, shift, part []float64) error {
			clear(shift)
			for from := lo; from < hi; from += blockRows {
				to := min(from+blockRows, hi)
				if label {
					if err := s.nearestRows(starts, from, to, s.spaces[worker]); err != nil {
						return err
					}
				}
				for j, r := range starts {
					s.addChanges(r, from, to, s.spaces[worker].row, part[j*whole:(j+1)*whole], shift[j*c*views:(j+1)*c*views])
				}
			}
			for k := range len(starts) * c {
				own := part[k/c*whole+k%c*each:]
				addShifts(s.src, own[:width], shift[k*views:(k+1)*views])
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for j, r := range starts {
		own := total[j*whole : (j+1)*whole]
		changed = append(changed, int(own[whole-1]))
		for k := range c {
			part := own[k*each : (k+1)*each]
			kernel.AddTo(r.sums[k], part[:width])
			kernel.AddTo(r.weights[k], part[width:width+views])
			for v, x := range part[width+views : width+2*views] {
				r.counts[k][v] += int(x)
			}
			r.size[k] += int(part[each-1])
		}
	}
	return changed, nil
}

// nearestRows sets next of the starts for rows [lo, hi), at most blockRows, and in the first pass their norms.
func (s *solver[T]) nearestRows(starts []*start[T], lo, hi int, ws *workspace[T]) error {
	if !s.measured {
		s.src.blockNorms(lo, hi, s.norm[lo:hi], ws.square)
		if err := checkNorms[T](s.norm[lo:hi], s.src.group.First()+lo); err != nil {
			return err
		}
	}
	s.panel.multiply(s.src, lo, hi, ws)
	for j, r := range starts {
		for i := lo; i < hi; i++ {
			r.next[i] = s.nearest(i, lo, j, r.next[i], ws)
		}
	}
	return nil
}

// addChanges adds what rows [lo, hi) change to a start's part of a pass's sums.
func (s *solver[T]) addChanges(r *start[T], lo, hi int, row []T, part, shift []float64) {
	width, views := s.src.width(), len(s.src.views)
	each := width + 2*views + 1
	add := func(i, k int, sign float64) {
		own, scale := part[k*each:(k+1)*each], s.src.scaleOf(i)
		addSample(s.src, own[:width], i, sign*scale, row, shift[k*views:(k+1)*views])
		for v := range views {
			if s.src.present(v, i) {
				own[width+v] += sign * scale
				own[width+views+v] += sign
			}
		}
		own[each-1] += sign
	}
	for i := lo; i < hi; i++ {
		was, is := r.labels[i], r.next[i]
		if was == is {
			continue
		}
		part[len(part)-1]++
		add(i, is, 1)
		if was >= 0 {
			add(i, was, -1)
		}
	}
}

// move adds a row to the sums of cluster k, or with sign −1 subtracts it. at is its number in this process, −1 for a row of
// another process.
func (s *solver[T]) move(r *start[T], row []T, at, k int, sign float64) {
	scale := 1.0 // rows of several processes have all views
	if at >= 0 {
		scale = s.src.scaleOf(at)
	}
	for v := range s.src.views {
		if at >= 0 && !s.src.present(v, at) {
			continue
		}
		sums := r.sums[k][s.src.offset[v]:s.src.offset[v+1]]
		for j, x := range s.src.part(v, row) {
			sums[j] += sign * scale * float64(x)
		}
		r.weights[k][v] += sign * scale
		r.counts[k][v] += int(sign)
	}
}
