package neighbor

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// Config sets how Build makes a graph. Each field documents what its zero value means.
type Config struct {
	Neighbors int     // k of the exact graph; 0: 10
	Rest      float64 // weight of one-sided edges, at most 1e100; 0: 0.05; negative: none
	// ExactUpTo is the number of samples up to which neighbours are exact, with landmarks above; 0: 10,000; negative:
	// landmarks always. Exact neighbours cost O(n²·d), landmarks O(n·M·d).
	ExactUpTo int
	Landmarks int // M, at most n; 0: n/4, at least 40 and at most 1,000
	Nearest   int // s, the landmarks of a sample, below M; 0: 5
	// Adapt lengthens short rows of new samples before they are attached to an exact index, see Attach. Set it for rows at norm 1
	// that were then cut to their leading directions.
	Adapt   bool
	Seed    uint64 // for drawing the samples that landmarks begin with
	Workers int    // goroutines; 0: GOMAXPROCS
	// Single stores the weights of links to landmarks in float32 only if the views are float32, in a third of the memory.
	// Products in float32 do not change. Products in float64, Links.Row (which then copies), and Filter and Fill for absent views
	// use the rounded weights.
	Single bool
	// Device, if not nil, computes the products of the search for neighbours and landmarks. Distances are then compared here.
	// Results differ only where products differ by less than their rounding error.
	Device rows.Device

	spread // with a group, the operator is of the samples of all ranks, by landmarks alone
}

// spread holds the group of processes that hold the samples. A fit sets it. The unexported name hides the field from the
// documentation of Config, because other modules cannot name its type.
type spread = ranks.Spread

const (
	defaultNeighbors = 10
	defaultRest      = 0.05
	mostRest         = 1e100 // larger ones make degrees infinite
	defaultExactUpTo = 10000
)

func (c Config) complete() (Config, error) {
	if c.Neighbors == 0 {
		c.Neighbors = defaultNeighbors
	}
	switch {
	case c.Rest == 0:
		c.Rest = defaultRest
	case c.Rest < 0:
		c.Rest = 0
	}
	if c.ExactUpTo == 0 {
		c.ExactUpTo = defaultExactUpTo
	}
	switch {
	case c.Neighbors < 1:
		return c, fmt.Errorf("neighbor: %d neighbours; want at least 1", c.Neighbors)
	case !(c.Rest <= mostRest):
		return c, fmt.Errorf("neighbor: one-sided edges have the factor %v; want at most %g", c.Rest, mostRest)
	}
	return c, nil
}

// Index is an operator over samples, to which new samples can be attached. It is immutable and safe for concurrent use.
type Index[T Float] struct {
	cfg     Config
	given   []Space   // as passed to Build
	spaces  []Space   // given, with the numbers of views in the sources, see doubled
	weights []float64 // of the spaces; their sum is 1
	dims    []int     // of the views
	op      Operator

	exact *exactIndex[T]
	sets  []*landmarks[T] // of each space
}

// exactIndex holds the data for attaching to mutual neighbours.
type exactIndex[T Float] struct {
	src    *source[T]
	places []*place[T]
	lists  []*Lists
	length []float64   // of each view, the root mean square of the rows' norms; nil without Config.Adapt
	degree [][]float64 // of each space's graph before it was normalised
	cover  []float64
	graph  *Links
	twins  *twins[T] // over all views of the spaces

	// The following fields are set in once.
	once   sync.Once
	limits [][]limit // of each space and sample
	over   [][]T     // the bias of the scores less the limit
	most   []float64 // of each space, the largest finite limit

	packing sync.Once
	words   *wordBase[T] // the samples, if products with them are computed in words; else nil

	attachers sync.Pool // of *attacher[T]
}

// Build returns the index of samples. Its operator is the weighted mean of the graphs of the spaces: exact neighbours up to
// Config.ExactUpTo samples, landmarks above. A sample that lacks views is joined as strongly as others. An index of exact
// neighbours refers to the views, which must not change while the index is used. An index of landmarks does not.
//
// Landmarks in float32 need values near zero. If all samples have a common offset of a thousand times their spread, or if the
// squares of values vanish, some landmarks are not the nearest. Centre and scale such views first.
//
// If the views have 16 million values or more, Build returns unused memory to the system after each space.
//
// Build returns an error for a configuration, views or spaces that do not fit, and for values that are not finite. If ctx is
// cancelled, it returns the context's error.
func Build[T Float](ctx context.Context, views []View[T], spaces []Space, cfg Config) (*Index[T], error) {
	if err := parallel.CheckContext(ctx); err != nil {
		return nil, fmt.Errorf("neighbor: %w", err)
	}
	src, x, err := prepare(ctx, views, spaces, cfg)
	if err != nil {
		return nil, err
	}
	device := cfg.Device
	cfg = x.cfg
	if src.group.Total(src.n) > cfg.ExactUpTo {
		if err := x.buildLandmarks(ctx, src, device); err != nil {
			return nil, err
		}
		return x, nil
	}
	hashes, err := src.rowHashes(ctx, cfg.Workers)
	if err != nil {
		return nil, err
	}
	places := newPlaces(src, hashes, x.spaces, cfg.Neighbors)
	lists, err := nearest(ctx, src, places, cfg.Neighbors, cfg.Workers, device)
	if err != nil {
		return nil, err
	}
	if err := x.buildExact(ctx, src, hashes, places, lists); err != nil {
		return nil, err
	}
	if cfg.Adapt {
		x.exact.length = src.lengths(x.sourceViews())
	}
	return x, nil
}

// prepare checks the arguments of Build.
func prepare[T Float](ctx context.Context, views []View[T], spaces []Space, cfg Config) (*source[T], *Index[T], error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, nil, err
	}
	if err := checkSpaces(spaces, len(views)); err != nil {
		return nil, nil, err
	}
	x := &Index[T]{cfg: cfg}
	x.cfg.Device, x.cfg.Group = nil, nil // new samples are attached here
	if x.weights, err = spaceShares(spaces); err != nil {
		return nil, nil, err
	}
	src, err := newSource(ctx, cfg.Group, views, cfg.Workers)
	if err != nil {
		return nil, nil, err
	}
	x.dims = src.dims
	x.setSpaces(spaces)
	if x.doubles() {
		if src, err = src.doubled(ctx, true, cfg.Workers); err != nil {
			return nil, nil, err
		}
	}
	return src, x, nil
}

// setSpaces keeps the spaces. With filled ones the sources have every view twice, filled and then as it is.
func (x *Index[T]) setSpaces(spaces []Space) {
	for _, p := range spaces {
		x.given = append(x.given, Space{Views: append([]int(nil), p.Views...), Weight: p.Weight, Filled: p.Filled})
	}
	for _, p := range x.given {
		if x.doubles() && !p.Filled {
			p = x.asPresent(p)
		}
		x.spaces = append(x.spaces, p)
	}
}

// doubles reports whether the sources have every view twice.
func (x *Index[T]) doubles() bool {
	return slices.ContainsFunc(x.given, func(p Space) bool { return p.Filled })
}

// asPresent returns a space of filled views with the views as they are.
func (x *Index[T]) asPresent(p Space) Space {
	out := Space{Weight: p.Weight}
	for _, v := range p.Views {
		out.Views = append(out.Views, v+len(x.dims))
	}
	return out
}

func (x *Index[T]) buildExact(ctx context.Context, src *source[T], hashes [][]uint64, places []*place[T], lists []*Lists) error {
	e := &exactIndex[T]{src: src, places: places, lists: lists, twins: newTwins(src, x.usedViews(), hashes)}
	parts := make([]*Links, len(lists))
	for q, l := range lists {
		var degree []float64
		parts[q], degree = l.mutual(x.cfg.Rest)
		e.degree = append(e.degree, degree)
	}
	e.cover = covered(parts, x.weights)
	var err error
	if e.graph, err = mix(ctx, parts, x.weights, e.cover, x.cfg.Workers); err != nil {
		return err
	}
	x.exact, x.op = e, &Graph{links: e.graph}
	return nil
}

func (x *Index[T]) buildLandmarks(ctx context.Context, src *source[T], device rows.Device) error {
	c, err := landmarkConfig{Count: x.cfg.Landmarks, Nearest: x.cfg.Nearest, Seed: x.cfg.Seed,
		Workers: x.cfg.Workers, Device: device, Single: x.cfg.Single}.complete(src.group.Total(src.n))
	if err != nil {
		return err
	}
	var found []*landmarks[T]
	if src.group != nil {
		if found, err = landmarksOfRanks(ctx, src, x.spaces, c); err != nil {
			return err
		}
	}
	parts, memory := make([]*Links, len(x.spaces)), make([][]T, len(src.views))
	for q, p := range x.spaces {
		var m *landmarks[T]
		if found != nil {
			m = found[q]
		} else if m, err = findLandmarks(ctx, src, p, c, uint64(q), memory); err != nil {
			return err
		}
		if p.Filled { // Samples are linked by the views that they have, like new samples.
			m.space = x.asPresent(p)
		}
		if parts[q], err = m.link(ctx, src, c); err != nil {
			return err
		}
		if err = m.setScale(ctx, parts[q], c.Workers); err != nil {
			return err
		}
		m.unpack()
		x.sets = append(x.sets, m)
		if q == len(x.spaces)-1 {
			memory = nil
		}
		rows.CollectGarbage(src.n * src.width(x.sourceViews())) // the memory of finding and packing landmarks
	}
	b, err := join(ctx, x.sets, parts, x.weights, c)
	if err != nil {
		return err
	}
	x.op = &Factor{links: b}
	return nil
}

// usedViews returns the views of all spaces, in order, by their numbers in the sources as they are, not filled. New samples are
// compared with the index in these views.
func (x *Index[T]) usedViews() []int {
	used := make([]bool, len(x.dims))
	for _, p := range x.given {
		for _, v := range p.Views {
			used[v] = true
		}
	}
	var views []int
	for v, at := range x.sourceViews() {
		if used[v] {
			views = append(views, at)
		}
	}
	return views
}

// sourceViews returns the numbers of the views in the sources as they are, not filled.
func (x *Index[T]) sourceViews() []int {
	out := make([]int, len(x.dims))
	for v := range out {
		if out[v] = v; x.doubles() {
			out[v] += len(x.dims)
		}
	}
	return out
}

// Exact reports whether the operator is a Graph of exact neighbours; else it is a Factor.
func (x *Index[T]) Exact() bool { return x.exact != nil }

// Operator returns the operator: a *Graph or a *Factor, nil for an index of landmarks that was restored from its state.
func (x *Index[T]) Operator() Operator { return x.op }

// Prepare packs the landmarks for products. Without it, the first call of Attach does.
func (x *Index[T]) Prepare() {
	for _, m := range x.sets {
		m.packing.Do(m.packRows)
	}
}
