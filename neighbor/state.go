package neighbor

import (
	"context"
	"fmt"
	"math"
)

// State is what an index is made of, to be stored.
type State[T Float] struct {
	Config Config
	Spaces []Space
	Dims   []int
	// Lists are the neighbours in each space, where the index is exact.
	Lists []*Lists
	// Lengths are, where the index is exact and Config.Adapt is set, the root mean square norms of the rows of the views.
	Lengths []float64
	// Landmarks are those of each space, where it is not.
	Landmarks []Landmarks[T]
}

// Landmarks are the landmarks of a space.
type Landmarks[T Float] struct {
	Nearest   int
	Centroids [][]T     // of each view of the space, M×d_v, row-major
	Scale     []float64 // of each landmark: 1/√(sum of the weights of its samples), or 0
}

// State returns what Restore makes the index of again. Nothing in it may be changed.
func (x *Index[T]) State() State[T] {
	s := State[T]{Config: x.cfg, Spaces: x.given, Dims: x.dims}
	if s.Config.Rest == 0 {
		s.Config.Rest = -1
	}
	if x.exact != nil {
		s.Lists, s.Lengths = x.exact.lists, x.exact.length
		return s
	}
	for _, m := range x.sets {
		s.Landmarks = append(s.Landmarks, Landmarks[T]{Nearest: m.nearest, Centroids: m.centroids, Scale: m.scale})
	}
	return s
}

// Restore returns an index from its state, which it keeps, on the given number of workers. An exact index needs the views
// that it was built from; one of landmarks needs none, and has no operator. It returns an error if state and views do not fit
// each other.
func Restore[T Float](ctx context.Context, s State[T], views []View[T], workers int) (*Index[T], error) {
	s.Config.Workers = workers
	if s.Lists != nil {
		return restoreExact(ctx, s, views)
	}
	cfg, err := s.Config.complete()
	if err != nil {
		return nil, err
	}
	if err := checkSpaces(s.Spaces, len(s.Dims)); err != nil {
		return nil, err
	}
	x := &Index[T]{cfg: cfg, dims: s.Dims}
	x.setSpaces(s.Spaces)
	if x.weights, err = spaceShares(s.Spaces); err != nil {
		return nil, err
	}
	if len(s.Landmarks) != len(s.Spaces) {
		return nil, fmt.Errorf("neighbor: landmarks of %d spaces for %d", len(s.Landmarks), len(s.Spaces))
	}
	for q, l := range s.Landmarks {
		m := &landmarks[T]{space: x.spaces[q], nearest: l.Nearest, count: len(l.Scale), centroids: l.Centroids, scale: l.Scale}
		if m.space.Filled {
			m.space = x.asPresent(m.space)
		}
		if l.Nearest < 1 || l.Nearest >= m.count || len(l.Centroids) != len(m.space.Views) {
			return nil, fmt.Errorf("neighbor: space %d: %d nearest of %d landmarks in %d views", q, l.Nearest,
				m.count, len(l.Centroids))
		}
		for i, v := range s.Spaces[q].Views {
			if len(l.Centroids[i]) != m.count*s.Dims[v] {
				return nil, fmt.Errorf("neighbor: space %d: %d values for %d landmarks in view %d of %d features",
					q, len(l.Centroids[i]), m.count, v, s.Dims[v])
			}
		}
		for j, f := range l.Scale {
			if !(f >= 0) || math.IsInf(f, 1) {
				return nil, fmt.Errorf("neighbor: space %d: landmark %d has the scale %v", q, j, f)
			}
		}
		if err := m.ready(ctx, workers); err != nil {
			return nil, err
		}
		x.sets = append(x.sets, m)
	}
	return x, nil
}

func restoreExact[T Float](ctx context.Context, s State[T], views []View[T]) (*Index[T], error) {
	src, x, err := prepare(ctx, views, s.Spaces, s.Config)
	if err != nil {
		return nil, err
	}
	if len(s.Lists) != len(s.Spaces) {
		return nil, fmt.Errorf("neighbor: neighbours in %d spaces for %d", len(s.Lists), len(s.Spaces))
	}
	for q, l := range s.Lists {
		if err := l.check(); err != nil {
			return nil, err
		}
		if l.N != src.n || l.K != s.Lists[0].K {
			return nil, fmt.Errorf("neighbor: %d neighbours of %d samples in space %d, the views have %d", l.K, l.N, q, src.n)
		}
	}
	if len(s.Dims) != len(x.dims) {
		return nil, fmt.Errorf("neighbor: %d views, the index was built from %d", len(x.dims), len(s.Dims))
	}
	for v, d := range s.Dims {
		if d != x.dims[v] {
			return nil, fmt.Errorf("neighbor: view %d has %d columns, the index was built with %d", v, x.dims[v], d)
		}
	}
	hashes, err := src.rowHashes(ctx, s.Config.Workers)
	if err != nil {
		return nil, err
	}
	if err := x.buildExact(ctx, src, hashes, newPlaces(src, hashes, x.spaces, x.cfg.Neighbors), s.Lists); err != nil {
		return nil, err
	}
	if s.Config.Adapt {
		if len(s.Lengths) != len(s.Dims) {
			return nil, fmt.Errorf("neighbor: lengths of %d views for %d", len(s.Lengths), len(s.Dims))
		}
		for v, l := range s.Lengths {
			if !(l >= 0) || l*l >= largestSquare[T]() {
				return nil, fmt.Errorf("neighbor: the rows of view %d have the length %v", v, l)
			}
		}
		x.exact.length = s.Lengths
	}
	return x, nil
}
