package neighbor

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// findLandmarks returns the landmarks of a space: samples chosen at random, then three Lloyd steps over at most 20 samples for
// each. A landmark that is nearest to no sample does not move. With absent views, samples are chosen among those that have a view
// of the space, if there are enough. The part of a landmark in a view is the mean of its samples that have the view, or the mean
// of all if none has. memory has an entry for each view, for the samples in work.
func findLandmarks[T Float](
	ctx context.Context, src *source[T], space Space, c landmarkConfig, stream uint64, memory [][]T,
) (*landmarks[T], error) {
	order, err := someSamples(c.rng(stream), src, space.Views, min(src.n, samplesPerLandmark*c.Count), c.Count)
	if err != nil {
		return nil, err
	}
	sub, err := src.take(ctx, space.Views, order, memory, c.Workers)
	if err != nil {
		return nil, err
	}
	return moveLandmarks(ctx, sub, space, c)
}

// rng returns the generator of a space's landmarks.
func (c *landmarkConfig) rng(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.Seed, landmarkStream^stream))
}

// moveLandmarks returns the landmarks of a space from some samples in random order, whose source has only the views of the space.
func moveLandmarks[T Float](ctx context.Context, sub *source[T], space Space, c landmarkConfig) (_ *landmarks[T], err error) {
	m := &landmarks[T]{space: space, nearest: c.Nearest, count: c.Count}
	for q := range space.Views {
		d := sub.dims[q]
		x := make([]T, c.Count*d)
		for j := range c.Count {
			// The first of the samples, which are in random order.
			sub.views[q].Rows.Row(j, x[j*d:(j+1)*d])
		}
		if sub.masked[q] {
			sub.fill(q, c.Count, x)
		}
		m.centroids = append(m.centroids, x)
	}
	all := make([]int, len(space.Views))
	for q := range all {
		all[q] = q
	}
	labels := make([]int32, sub.n)
	spaces := make([]*landmarkSpace[T], parallel.Workers(c.Workers))
	var products rows.Products[T]
	if m.prunes(1) {
		if products, err = sub.onDevice(c.Device, all, m.use(1)); err != nil {
			return nil, err
		}
	}
	defer func() { err = closed(products, err) }()
	for range lloydSteps {
		if err := m.ready(ctx, c.Workers); err != nil {
			return nil, err
		}
		m.packing.Do(m.packRows)
		inner := *m
		inner.space.Views = all
		among, err := inner.find(ctx, products, 1)
		if err != nil {
			return nil, err
		}
		err = parallel.For(ctx, c.Workers, sub.blocks(), func(w, b int) error {
			if spaces[w] == nil {
				spaces[w] = inner.newSpace(sub)
			}
			spaces[w].among = among
			lo, hi := sub.block(b)
			for i := lo; i < hi; i++ {
				labels[i] = -1
			}
			inner.closest(sub, lo, hi, 1, false, spaces[w], func(i int, near []found) { labels[i] = near[0].index })
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := m.update(ctx, sub, labels, c.Workers); err != nil {
			return nil, err
		}
	}
	return m, m.ready(ctx, c.Workers)
}

// someSamples returns count of the samples of all ranks in random order. The first `starts` of them have one of the views, if
// there are enough such samples: landmarks begin there.
func someSamples[T Float](rng *rand.Rand, src *source[T], views []int, count, starts int) ([]int, error) {
	n := src.group.Total(src.n)
	order, moved := shuffled(rng, n, count)
	if !src.lacks(views) {
		return order, nil
	}
	var first, rest []int
	for lo, hi := 0, count; len(first) < starts && lo < n; lo, hi = hi, min(2*hi, n) {
		some := make([]int, 0, hi-lo)
		for at := lo; at < hi; at++ {
			i, known := moved[at]
			switch {
			case at < count:
				i = order[at]
			case !known:
				i = at
			}
			some = append(some, i)
		}
		has, err := rows.CollectBits(src.group, "the samples that have a view", src.n, some,
			func(i int) bool { return src.has(views, i) })
		if err != nil {
			return nil, err
		}
		for k, i := range some {
			switch {
			case has[k] && len(first) < starts:
				first = append(first, i)
			case len(rest) < count:
				rest = append(rest, i)
			}
		}
	}
	return append(first, rest...)[:count], nil
}

// shuffled returns the first count of n numbers in random order. moved has the numbers at places from count on that are not the
// place itself. Its memory grows with count only.
func shuffled(rng *rand.Rand, n, count int) (order []int, moved map[int]int) {
	order, moved = lists.Indices(count), make(map[int]int, count)
	for i := range order {
		j := i + rng.IntN(n-i)
		if j < count {
			order[i], order[j] = order[j], order[i]
			continue
		}
		other, known := moved[j]
		if !known {
			other = j
		}
		order[i], moved[j] = other, order[i]
	}
	return order, moved
}

// take returns the given samples with the given views as a source, view q in memory[q], which take enlarges if needed.
func (s *source[T]) take(ctx context.Context, views []int, samples []int, memory [][]T, workers int) (*source[T], error) {
	out := make([]View[T], len(views))
	for q, v := range views {
		d := s.dims[v]
		memory[q] = slices.Grow(memory[q][:0], len(samples)*d)
		x := memory[q][:len(samples)*d]
		var present []bool
		if s.masked[v] {
			present = make([]bool, len(samples))
		}
		if err := eachRow(ctx, workers, len(samples), func(i int) {
			if s.present(v, samples[i]) {
				s.views[v].Rows.Row(samples[i], x[i*d:(i+1)*d])
				if present != nil {
					present[i] = true
				}
			} else {
				clear(x[i*d : (i+1)*d])
			}
		}); err != nil {
			return nil, err
		}
		var err error
		if out[q], err = Dense(len(samples), d, d, x, present); err != nil {
			return nil, err
		}
	}
	return newSource(ctx, nil, out, workers)
}

// fill sets the rows of x whose samples, the first `count`, lack view v to the mean of all present rows.
func (s *source[T]) fill(v, count int, x []T) {
	d := s.dims[v]
	mean, buf, present := make([]float64, d), make([]T, d), 0
	for i := range s.n {
		if s.present(v, i) {
			kernel.AddTo(mean, s.row(v, i, buf))
			present++
		}
	}
	for i := range count {
		for j := 0; !s.present(v, i) && j < d; j++ {
			x[i*d+j] = T(mean[j] / float64(max(present, 1)))
		}
	}
}

// update moves the landmarks to the means of the samples with their labels.
func (m *landmarks[T]) update(ctx context.Context, sub *source[T], labels []int32, workers int) error {
	from := make([]int, m.count+1)
	for _, l := range labels {
		if l >= 0 {
			from[l+1]++
		}
	}
	for j := range m.count {
		from[j+1] += from[j]
	}
	members, next := make([]int, from[m.count]), append([]int(nil), from...)
	for i, l := range labels {
		if l >= 0 {
			members[next[l]] = i
			next[l]++
		}
	}
	buffers := make([][2][]T, parallel.Workers(workers))
	sums := make([][]float64, len(buffers))
	return parallel.For(ctx, workers, m.count, func(w, j int) error {
		if sums[w] == nil {
			buffers[w] = sub.rowBuffers()
			sums[w] = make([]float64, slices.Max(sub.dims))
		}
		for q, c := range m.centroids {
			d := sub.dims[q]
			sum, count := sums[w][:d], 0
			clear(sum)
			for _, i := range members[from[j]:from[j+1]] {
				if sub.present(q, i) {
					kernel.AddTo(sum, sub.row(q, i, buffers[w][0]))
					count++
				}
			}
			if count == 0 {
				continue
			}
			for p, x := range sum {
				c[j*d+p] = T(x / float64(count))
			}
		}
		return nil
	})
}
