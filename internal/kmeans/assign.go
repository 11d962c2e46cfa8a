package kmeans

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
)

// Assigner finds the nearest centroids of samples. The result for a sample depends only on the sample and the centroids, to the
// bit. It is safe for concurrent use.
type Assigner[T kernel.Float] struct {
	panel   panel[T]
	dims    []int
	weights []float64
	spaces  sync.Pool // *workspace[T]
}

// NewAssigner returns the assigner to k centroids: for each view a k×d_v row-major matrix and the weight w_v > 0. It
// copies the centroids.
func NewAssigner[T kernel.Float](k int, centroids [][]T, weights []float64) (*Assigner[T], error) {
	if k < 1 || len(centroids) == 0 || len(weights) != len(centroids) {
		return nil, fmt.Errorf("kmeans: %d centroids in %d views with %d weights", k, len(centroids), len(weights))
	}
	frame := &Source[T]{views: make([]View[T], len(centroids)), offset: make([]int, len(centroids)+1)}
	a := &Assigner[T]{weights: append([]float64(nil), weights...), dims: make([]int, len(centroids))}
	for v, c := range centroids {
		if len(c) == 0 || len(c)%k != 0 {
			return nil, fmt.Errorf("kmeans: view %d has %d values for %d centroids", v, len(c), k)
		}
		if !(weights[v] > 0) || math.IsInf(weights[v], 1) {
			return nil, fmt.Errorf("kmeans: weight %v of view %d is not positive and finite", weights[v], v)
		}
		a.dims[v] = len(c) / k
		frame.views[v].Weight = weights[v]
		frame.offset[v+1] = frame.offset[v] + a.dims[v]
	}
	joint := make([][]T, k)
	mean := make([]float64, frame.width())
	for j := range joint {
		joint[j] = make([]T, 0, frame.width())
		for v, d := range a.dims {
			joint[j] = append(joint[j], centroids[v][j*d:(j+1)*d]...)
		}
		for i, x := range joint[j] {
			mean[i] += float64(x) / float64(k)
		}
	}
	// The centre is the mean of the centroids, so that a sample's result depends on nothing else.
	centre := make([]T, len(mean))
	for i, x := range mean {
		centre[i] = T(x)
	}
	if err := a.panel.set(context.Background(), frame, 1, centre, joint); err != nil {
		return nil, err
	}
	if !(a.panel.reach < 2*largest[T]()) {
		return nil, fmt.Errorf("kmeans: centroids of length %.3g, squared distances would not be finite", a.panel.reach)
	}
	views, width := len(centroids), frame.width()
	a.spaces.New = func() any { return newWorkspace[T](views, width) }
	return a, nil
}

// Assign sets labels to the nearest centroids of the samples from lo to hi of src, the first of equal ones. If they are not nil,
// it sets dist1 and dist2 to the squared distances to the nearest and the next nearest centroid (+∞ if there is only one). All
// have the length hi−lo. It returns an error if src's views do not fit the centroids, the range or the lengths are wrong, or a
// sample is so large that squared distances overflow.
func (a *Assigner[T]) Assign(src *Source[T], lo, hi int, labels []int, dist1, dist2 []float64) error {
	if err := a.check(src, lo, hi, labels, dist1, dist2); err != nil {
		return err
	}
	ws := a.spaces.Get().(*workspace[T])
	defer a.spaces.Put(ws)
	k := len(a.panel.centroids)
	for from := lo; from < hi; from += blockRows {
		to := min(from+blockRows, hi)
		a.panel.multiply(src, from, to, ws)
		src.blockNorms(from, to, ws.norm[:to-from], ws.square)
		if err := checkNorms[T](ws.norm[:to-from], from); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			first, second := a.panel.nearest(src, i, from, 0, k, ws.norm[i-from], ws)
			labels[i-lo] = first
			if dist1 != nil {
				dist1[i-lo] = src.distance(i, a.panel.centroids[first], ws.row)
			}
			if dist2 != nil {
				dist2[i-lo] = math.Inf(1)
				if second >= 0 {
					dist2[i-lo] = src.distance(i, a.panel.centroids[second], ws.row)
				}
			}
		}
	}
	return nil
}

func (a *Assigner[T]) check(src *Source[T], lo, hi int, labels []int, dist1, dist2 []float64) error {
	if len(src.views) != len(a.dims) {
		return fmt.Errorf("kmeans: %d views, the centroids have %d", len(src.views), len(a.dims))
	}
	for v, d := range a.dims {
		if _, got := src.views[v].Rows.Dims(); got != d {
			return fmt.Errorf("kmeans: view %d has %d columns, the centroids have %d", v, got, d)
		}
		if src.views[v].Weight != a.weights[v] {
			return fmt.Errorf("kmeans: view %d has the weight %v, the centroids have %v", v,
				src.views[v].Weight, a.weights[v])
		}
	}
	if lo < 0 || hi < lo || hi > src.n {
		return fmt.Errorf("kmeans: rows %d to %d of %d", lo, hi, src.n)
	}
	if len(labels) != hi-lo || dist1 != nil && len(dist1) != hi-lo || dist2 != nil && len(dist2) != hi-lo {
		return fmt.Errorf("kmeans: %d rows into %d labels, %d and %d distances", hi-lo, len(labels), len(dist1), len(dist2))
	}
	return nil
}

// finish takes the means of a start's clusters as centroids and labels every sample by the nearest. It removes a cluster without
// samples and then labels the samples again.
func (s *solver[T]) finish(ctx context.Context, r *start[T]) (*Result[T], error) {
	if !s.wide { // else the sums belong to the labels, and the centroids are their means
		copy(r.next, r.labels)
		if err := s.update(ctx, s.all(), r, true); err != nil {
			return nil, err
		}
	}
	res := &Result[T]{
		Labels: make([]int, s.src.n), Iterations: r.iterations, Repaired: r.repaired, Converged: r.converged,
	}
	weights := make([]float64, len(s.src.views))
	for v, w := range s.src.views {
		weights[v] = w.Weight
	}
	live := make([][]T, 0, len(r.centroids))
	for _, c := range r.centroids {
		if c != nil {
			live = append(live, c)
		}
	}
	dist := make([]float64, s.src.n)
	for {
		res.Found = len(live)
		res.Centroids = make([][]T, len(weights))
		for v := range weights {
			for _, c := range live {
				res.Centroids[v] = append(res.Centroids[v], s.src.part(v, c)...)
			}
		}
		var err error
		if res.Assigner, err = NewAssigner(res.Found, res.Centroids, weights); err != nil {
			return nil, err
		}
		if err := parallel.For(ctx, s.cfg.Workers, s.src.blocks(), func(_, b int) error {
			lo, hi := s.src.block(b)
			return res.Assign(s.src, lo, hi, res.Labels[lo:hi], dist[lo:hi], nil)
		}); err != nil {
			return nil, err
		}
		used, err := usedBy(s.src.group, len(live), res.Labels)
		if err != nil {
			return nil, err
		}
		kept := live[:0]
		for k, c := range live {
			if used[k] {
				kept = append(kept, c)
			}
		}
		live = kept
		if len(live) == res.Found {
			res.Inertia, err = ranks.Sum(ctx, s.src.group, "the inertia", s.cfg.Workers, dist)
			return res, err
		}
	}
}
