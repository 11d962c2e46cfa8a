package kmeans

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

type start[T kernel.Float] struct {
	labels    []int       // of the last update; −1: none yet
	next      []int       // labels of the last assignment
	centroids [][]T       // c; nil: an empty cluster
	sums      [][]float64 // Σ scale_i x_i over the members that have the view, as long as a centroid
	weights   [][]float64 // Σ scale_i of the members that have the view, c×V
	counts    [][]int     // of the members that have the view, c×V
	size      []int       // of the clusters

	iterations, repaired int
	converged            bool
}

func newStart[T kernel.Float](src *Source[T], clusters int) *start[T] {
	r := &start[T]{
		centroids: make([][]T, clusters),
		sums:      make([][]float64, clusters),
		weights:   make([][]float64, clusters),
		counts:    make([][]int, clusters),
		size:      make([]int, clusters),
	}
	for k := range clusters {
		r.sums[k] = make([]float64, src.width())
		r.weights[k] = make([]float64, len(src.views))
		r.counts[k] = make([]int, len(src.views))
	}
	r.moveTo(src)
	return r
}

// moveTo changes the start to the rows of another source, without labels; the centroids stay.
func (r *start[T]) moveTo(src *Source[T]) {
	for k := range r.sums {
		clear(r.sums[k])
		clear(r.weights[k])
		clear(r.counts[k])
	}
	clear(r.size)
	r.labels, r.next = slices.Repeat([]int{-1}, src.n), make([]int, src.n)
	r.converged = false
}

// lloyd iterates the starts together until each has converged or reached the limit of iterations.
func (s *solver[T]) lloyd(ctx context.Context, starts []*start[T]) error {
	if s.wide {
		return s.lloydRows(ctx, starts)
	}
	active := append([]*start[T](nil), starts...)
	for iter := 0; iter < s.cfg.MaxIter && len(active) > 0; iter++ {
		if err := s.assign(ctx, active); err != nil {
			return err
		}
		if err := s.iterateAll(ctx, active); err != nil {
			return err
		}
		active = slices.DeleteFunc(active, func(r *start[T]) bool { return r.converged })
	}
	return nil
}

// all returns the hand with which all goroutines work on one start.
func (s *solver[T]) all() *hand[T] { return &hand[T]{s.cfg.Workers, s.spaces, &s.orders[0]} }

// iterateAll iterates the starts: side by side if there are enough of them, which saves starting goroutines for the little work
// of each, else one after another. The result is the same.
func (s *solver[T]) iterateAll(ctx context.Context, starts []*start[T]) error {
	if len(starts) < len(s.spaces) || len(starts) == 1 {
		for _, r := range starts {
			if err := s.iterate(ctx, s.all(), r); err != nil {
				return err
			}
		}
		return nil
	}
	return parallel.For(ctx, s.cfg.Workers, len(starts), func(worker, i int) error {
		return s.iterate(ctx, &hand[T]{1, s.spaces[worker : worker+1], &s.orders[worker]}, starts[i])
	})
}

// aim makes the panel of the centroids of the starts.
func (s *solver[T]) aim(ctx context.Context, starts []*start[T]) error {
	all := make([][]T, 0, len(starts)*s.cfg.Clusters)
	for _, r := range starts {
		all = append(all, r.centroids...)
	}
	return s.panel.set(ctx, s.src, s.cfg.Workers, s.frame.centre, all)
}

// assign sets next of the starts to the nearest centroids.
func (s *solver[T]) assign(ctx context.Context, starts []*start[T]) error {
	if err := s.aim(ctx, starts); err != nil {
		return err
	}
	if s.products != nil {
		return s.assignElsewhere(ctx, starts)
	}
	return parallel.For(ctx, s.cfg.Workers, s.src.blocks(), func(worker, b int) error {
		lo, hi := s.src.block(b)
		ws := s.spaces[worker]
		s.panel.multiply(s.src, lo, hi, ws)
		for j, r := range starts {
			for i := lo; i < hi; i++ {
				r.next[i] = s.nearest(i, lo, j, r.next[i], ws)
			}
		}
		return nil
	})
}

// assignElsewhere is assign with the products of a device. A sample whose lowest scores are too close is multiplied here, where
// the distances decide.
func (s *solver[T]) assignElsewhere(ctx context.Context, starts []*start[T]) error {
	c, count := s.cfg.Clusters, s.src.n*len(starts)
	first, low, next := make([]int32, count), make([]float64, count), make([]float64, count)
	if err := s.products.Lowest(ctx, s.panel.columns, s.panel.viewBias, c, first, low, next); err != nil {
		return err
	}
	return parallel.For(ctx, s.cfg.Workers, s.src.blocks(), func(worker, b int) error {
		lo, hi := s.src.block(b)
		ws := s.spaces[worker]
		for i := lo; i < hi; i++ {
			multiplied := false
			for j, r := range starts {
				at := i*len(starts) + j
				if next[at]-low[at] > s.panel.noise(s.norm[i]) {
					r.next[i] = int(first[at]) - j*c
					continue
				}
				if !multiplied {
					s.panel.multiply(s.src, i, i+1, ws)
					multiplied = true
				}
				k, _ := s.panel.nearest(s.src, i, i, j*c, (j+1)*c, s.norm[i], ws)
				r.next[i] = k - j*c
			}
		}
		return nil
	})
}

// iterate repairs empty clusters, compares labels and moves the centroids.
func (s *solver[T]) iterate(ctx context.Context, h *hand[T], r *start[T]) error {
	r.iterations++
	if err := s.repair(ctx, h, r); err != nil {
		return err
	}
	changed := 0
	for i, k := range r.next {
		if k != r.labels[i] {
			changed++
		}
	}
	if changed == 0 {
		r.converged = true
		return nil
	}
	before := append([][]T(nil), r.centroids...)
	// If much has changed, a fresh sum costs less and has less rounding error.
	if err := s.update(ctx, h, r, 3*changed > s.src.n); err != nil {
		return err
	}
	s.compare(r, before)
	return nil
}

// compare decides whether the centroids, compared with those before, have converged.
func (s *solver[T]) compare(r *start[T], before [][]T) {
	shift := 0.0
	for k, c := range r.centroids {
		if (before[k] == nil) != (c == nil) {
			return
		}
		if c == nil || &before[k][0] == &c[0] {
			continue
		}
		for v := range s.src.views {
			shift += s.src.views[v].Weight * kernel.SquaredDistance(s.src.part(v, c), s.src.part(v, before[k]))
		}
	}
	r.converged = shift <= s.cfg.Tol*s.frame.variance
}

// repair gives each empty cluster the sample farthest from its centroid, the first of equal ones. It takes only samples that
// share their cluster and whose distance is more than the rounding error of a mean of equal samples.
func (s *solver[T]) repair(ctx context.Context, h *hand[T], r *start[T]) error {
	clear(r.size)
	for _, k := range r.next {
		r.size[k]++
	}
	var far []float64
	var taken []int
	for k, size := range r.size {
		if size > 0 {
			continue
		}
		if far == nil {
			var err error
			if far, err = s.distances(ctx, h, r); err != nil {
				return err
			}
		}
		at := s.farthest(h, r, far, taken)
		if at < 0 {
			return nil
		}
		taken = append(taken, at)
		r.size[r.next[at]]--
		r.size[k]++
		r.next[at] = k
		far[at] = 0
		r.repaired++
	}
	return nil
}

// distances returns the distance of every sample to its centroid, 0 if it may be the rounding error of a mean of equal samples.
func (s *solver[T]) distances(ctx context.Context, h *hand[T], r *start[T]) ([]float64, error) {
	far := make([]float64, s.src.n)
	err := parallel.For(ctx, h.workers, s.src.blocks(), func(worker, b int) error {
		lo, hi := s.src.block(b)
		for i := lo; i < hi; i++ {
			far[i] = s.src.distance(i, r.centroids[r.next[i]], h.spaces[worker].row)
			if e := meanError[T]() * s.norm[i]; far[i] <= e*e*s.src.scaleOf(i) {
				far[i] = 0
			}
		}
		return nil
	})
	return far, err
}

// meanError bounds the relative error of the mean of many equal rows. In float64 it is the error of the sums. In float32 it is
// the rounding to T, because sums are in float64.
func meanError[T kernel.Float]() float64 { return max(2*kernel.Epsilon[T](), 0x1p-44) }

// farthest returns the sample of largest distance above 0 that is not alone in its cluster and differs from those
// taken; −1 if there is none. A sample found equal to one taken gets the distance 0.
func (s *solver[T]) farthest(h *hand[T], r *start[T], far []float64, taken []int) int {
	c := make([]T, s.src.width())
search:
	for {
		at := -1
		for i, d := range far {
			if d > 0 && r.size[r.next[i]] > 1 && (at < 0 || d > far[at]) {
				at = i
			}
		}
		if at < 0 {
			return -1
		}
		for _, i := range taken {
			s.src.copyRow(i, c, s.cfg.Seed)
			if s.src.distance(at, c, h.spaces[0].row) == 0 {
				far[at] = 0
				continue search
			}
		}
		return at
	}
}

// update makes next the labels and moves the centroids to the means of their members. It corrects the sums for the samples that
// changed; with fresh it computes them from all samples.
func (s *solver[T]) update(ctx context.Context, h *hand[T], r *start[T], fresh bool) error {
	if fresh {
		for k := range r.sums {
			clear(r.sums[k])
			clear(r.weights[k])
			clear(r.counts[k])
		}
	}
	order := h.order
	order.collect(r.labels, r.next, len(r.centroids), fresh)
	err := parallel.Fold(ctx, h.workers, len(order.items),
		func() []float64 { return make([]float64, s.src.width()) },
		func(worker, item int, buf []float64) error {
			clear(buf)
			shift := make([]float64, len(s.src.views))
			for _, e := range order.entries(item) {
				i, sign := e.sample()
				addSample(s.src, buf, i, sign*s.src.scaleOf(i), h.spaces[worker].row, shift)
			}
			addShifts(s.src, buf, shift)
			return nil
		},
		func(item int, buf []float64) error {
			k := order.items[item].cluster
			for j, x := range buf {
				r.sums[k][j] += x
			}
			for _, e := range order.entries(item) {
				i, sign := e.sample()
				for v := range s.src.views {
					if s.src.present(v, i) {
						r.weights[k][v] += sign * s.src.scaleOf(i)
						r.counts[k][v] += int(sign)
					}
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	copy(r.labels, r.next)
	clear(r.size)
	for _, k := range r.labels {
		r.size[k]++
	}
	return parallel.For(ctx, h.workers, len(r.centroids), func(_, k int) error {
		if fresh || order.touched[k] {
			s.centroid(r, k)
		}
		return nil
	})
}

// centroid sets centroid k, in memory of its own, from the sums.
func (s *solver[T]) centroid(r *start[T], k int) {
	if r.size[k] == 0 {
		clear(r.sums[k])
		clear(r.weights[k])
		r.centroids[k] = nil
		return
	}
	c := make([]T, s.src.width())
	for v := range s.src.views {
		part, sums := s.src.part(v, c), r.sums[k][s.src.offset[v]:s.src.offset[v+1]]
		if r.counts[k][v] == 0 {
			clear(sums)
			r.weights[k][v] = 0
			s.src.fill(v, part, s.cfg.Seed, uint64(k))
			continue
		}
		inverse := 1 / r.weights[k][v]
		for j, x := range sums {
			part[j] = T(x * inverse)
		}
	}
	r.centroids[k] = c
}

// inertia returns Σ_i d²(i, mean of i's cluster): the spread around the centre less the spread of the means.
func (s *solver[T]) inertia(r *start[T]) float64 { return math.Max(0, s.frame.total-s.between(r)) }

// between is Σ_i scale_i·‖mean of i's cluster − μ‖².
func (s *solver[T]) between(r *start[T]) float64 {
	between := 0.0
	for k := range r.centroids {
		for v := range s.src.views {
			if r.counts[k][v] == 0 {
				continue
			}
			sum, w := 0.0, r.weights[k][v]
			for j := s.src.offset[v]; j < s.src.offset[v+1]; j++ {
				d := r.sums[k][j]/w - float64(s.frame.centre[j])
				sum += d * d
			}
			between += s.src.views[v].Weight * w * sum
		}
	}
	return between
}
