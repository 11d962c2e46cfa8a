package neighbor

import (
	"context"
	"fmt"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
)

// State holds the parts of an index, for storage.
type State[T Float] struct {
	Config Config
	Spaces []Space
	Dims   []int
	// Lists are the neighbours in each space; nil for landmarks.
	Lists []*Lists
	// Lengths are the root mean square norms of the rows of each view, for an exact index with Config.Adapt.
	Lengths []float64
	// Landmarks are the landmarks of each space; nil for an exact index.
	Landmarks []Landmarks[T]
	// Links are the links of the samples to the landmarks of all spaces; nil for an exact index. New samples do not need them.
	Links *Links
}

// Landmarks are the landmarks of a space.
type Landmarks[T Float] struct {
	Nearest   int
	Centroids [][]T     // of each view of the space, M×d_v, row-major
	Scale     []float64 // of each landmark: 1/√(sum of the weights of its samples), or 0
}

// State returns the parts of the index, for Restore. They must not be modified.
func (x *Index[T]) State() State[T] {
	s := State[T]{Config: x.cfg, Spaces: x.given, Dims: x.dims}
	if s.Config.Rest == 0 {
		s.Config.Rest = -1
	}
	if x.exact != nil {
		s.Lists, s.Lengths = x.exact.lists, x.exact.length
		return s
	}
	if f, ok := x.op.(*Factor); ok {
		s.Links = f.links
	}
	for _, m := range x.sets {
		s.Landmarks = append(s.Landmarks, Landmarks[T]{Nearest: m.nearest, Centroids: m.centroids, Scale: m.scale})
	}
	return s
}

// Restore returns the index of a state, and refers to the state. An exact index needs the views from which it was built. An index
// of landmarks needs none; without links it has no operator. Restore returns an error if state and views do not fit each other.
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
	atoms := 0
	for q, l := range s.Landmarks {
		if err := l.check(s.Spaces[q].Views, s.Dims); err != nil {
			return nil, fmt.Errorf("neighbor: space %d: %w", q, err)
		}
		m := &landmarks[T]{space: x.spaces[q], nearest: l.Nearest, count: len(l.Scale), centroids: l.Centroids, scale: l.Scale}
		if m.space.Filled {
			m.space = x.asPresent(m.space)
		}
		if err := m.ready(ctx, workers); err != nil {
			return nil, err
		}
		x.sets, atoms = append(x.sets, m), atoms+m.count
	}
	if l := s.Links; l != nil {
		if l.atoms != atoms {
			return nil, fmt.Errorf("neighbor: links to %d landmarks, there are %d", l.atoms, atoms)
		}
		if cfg.Single && kernel.Is32[T]() {
			l = l.rounded()
		}
		x.op = &Factor{links: l}
	}
	return x, nil
}

// check reports whether the landmarks have one scale each, and one centroid in each of the views.
func (l *Landmarks[T]) check(views, dims []int) error {
	count := len(l.Scale)
	if l.Nearest < 1 || l.Nearest >= count || len(l.Centroids) != len(views) {
		return fmt.Errorf("%d nearest of %d landmarks in %d views", l.Nearest, count, len(l.Centroids))
	}
	for i, v := range views {
		if len(l.Centroids[i]) != count*dims[v] {
			return fmt.Errorf("%d values for %d landmarks in view %d of %d features", len(l.Centroids[i]), count, v, dims[v])
		}
	}
	for j, f := range l.Scale {
		if !(f >= 0) || math.IsInf(f, 1) {
			return fmt.Errorf("landmark %d has the scale %v", j, f)
		}
	}
	return nil
}

// restoreExact returns an index of exact neighbours from its state and the views.
func restoreExact[T Float](ctx context.Context, s State[T], views []View[T]) (*Index[T], error) {
	src, x, err := prepare(ctx, views, s.Spaces, s.Config)
	if err != nil {
		return nil, err
	}
	if err := s.checkLists(src.n, x.dims); err != nil {
		return nil, err
	}
	hashes, err := src.rowHashes(ctx, s.Config.Workers)
	if err != nil {
		return nil, err
	}
	if err := x.buildExact(ctx, src, hashes, newPlaces(src, hashes, x.spaces, x.cfg.Neighbors), s.Lists); err != nil {
		return nil, err
	}
	if s.Config.Adapt {
		if err := s.checkLengths(); err != nil {
			return nil, err
		}
		x.exact.length = s.Lengths
	}
	return x, nil
}

// checkLists reports whether the lists have n samples and the views have dims[v] features.
func (s *State[T]) checkLists(n int, dims []int) error {
	if len(s.Lists) != len(s.Spaces) {
		return fmt.Errorf("neighbor: neighbours in %d spaces for %d", len(s.Lists), len(s.Spaces))
	}
	for q, l := range s.Lists {
		if err := l.check(); err != nil {
			return err
		}
		if l.N != n || l.K != s.Lists[0].K {
			return fmt.Errorf("neighbor: %d neighbours of %d samples in space %d, the views have %d", l.K, l.N, q, n)
		}
	}
	if len(s.Dims) != len(dims) {
		return fmt.Errorf("neighbor: %d views, the index was built from %d", len(dims), len(s.Dims))
	}
	for v, d := range s.Dims {
		if d != dims[v] {
			return fmt.Errorf("neighbor: view %d has %d columns, the index was built with %d", v, dims[v], d)
		}
	}
	return nil
}

// checkLengths reports whether each view has a length whose square T can hold.
func (s *State[T]) checkLengths() error {
	if len(s.Lengths) != len(s.Dims) {
		return fmt.Errorf("neighbor: lengths of %d views for %d", len(s.Lengths), len(s.Dims))
	}
	for v, l := range s.Lengths {
		if !(l >= 0) || l*l >= largestSquare[T]() {
			return fmt.Errorf("neighbor: the rows of view %d have the length %v", v, l)
		}
	}
	return nil
}
