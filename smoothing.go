package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/neighbor"
)

// smoothing takes views to the inputs of a network that knows of neighbours: every view in one or both standardisations,
// rows at norm 1, in its leading singular directions, then smoothed along the graph of the samples' neighbours.
type smoothing[T kernel.Float] struct {
	prepare []*standardiser // one per standardisation
	inputs  []smoothInput[T]
	index   *neighbor.Index[T]
	before  []neighbor.Block[T]         // the inputs before they were smoothed, which an index of exact neighbours needs; else nil
	filters []*neighbor.Filter[T]       // of the inputs
	heldOut *information.LeaveOneOut[T] // of the inputs before they were smoothed; nil without that term of the loss
}

// smoothInput is a view in one standardisation.
type smoothInput[T kernel.Float] struct {
	Input
	prepare   int             // of smoothing.prepare
	basis     *spectral.Basis // its directions; nil: all columns
	projector *spectral.Projector[T]
}

// standardisations are those that a Preprocess stands for.
func (p Preprocess) standardisations() []Preprocess {
	if p == Both {
		return []Preprocess{PerSample, ZScore}
	}
	return []Preprocess{p}
}

// newSmoothing measures everything on the training samples. It returns their inputs too, which with Config.Overwrite take
// the place of the views in the caller's memory where they fit there.
func newSmoothing[T kernel.Float](ctx context.Context, views []View, c *Config) (*smoothing[T], []rows.Matrix[T], error) {
	s := &smoothing[T]{}
	if err := s.chooseInputs(ctx, views, c); err != nil {
		return nil, nil, err
	}
	for k := range s.inputs {
		if err := s.findDirections(ctx, k, views[s.inputs[k].View], c); err != nil {
			return nil, nil, err
		}
	}
	blocks := make([]neighbor.Block[T], len(s.inputs))
	dims := make([]int, len(views))
	for v, x := range views {
		dims[v] = x.cols
	}
	var free []spare[T]
	for _, v := range widestFirst(dims) {
		if inPlace[T](views[v], c.Overwrite) {
			free = append(free, spare[T]{ownMemory[T](views[v]), dims[v], 0})
		}
		if err := s.fill(ctx, blocks, v, views[v], free, c); err != nil {
			return nil, nil, err
		}
	}
	if c.HeldOutWeight > 0 && c.Anchors > 1 { // A single anchor has no information.
		var err error
		// Its search for directions starts from the same seed in every fit: runs of a Restarts share it, each with a seed of its own.
		if s.heldOut, err = information.NewLeaveOneOut(ctx, matrices(blocks, views[0].rows), information.Regression{Workers: c.Workers}); err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("largemvc: %w", err)
			}
			return nil, nil, err
		}
	}
	if err := s.join(ctx, blocks, views[0].rows, c); err != nil {
		return nil, nil, ofNeighbors(ctx, err)
	}
	var err error
	s.filters, err = neighbor.Smooth(ctx, s.index.Operator(), blocks, c.filterSteps(views[0].rows), c.Workers)
	if err != nil {
		return nil, nil, ofNeighbors(ctx, err)
	}
	s.makeEqual(blocks)
	return s, matrices(blocks, views[0].rows), nil
}

// ofNeighbors says where an error comes from, unless it is the context's.
func ofNeighbors(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("largemvc: neighbours: %w", err)
}

// chooseInputs measures the standardisations and leaves out what is zero everywhere.
func (s *smoothing[T]) chooseInputs(ctx context.Context, views []View, c *Config) error {
	kinds := c.Preprocess.standardisations()
	left := make([][]bool, len(kinds)) // of each standardisation and view, whether it leaves something
	for q, kind := range kinds {
		st := &standardiser{kind: kind}
		if err := st.fit(ctx, views, c.Workers); err != nil {
			return err
		}
		s.prepare, left[q] = append(s.prepare, st), make([]bool, len(views))
		for v, x := range views {
			err := usable[T](ctx, st, x, v, c.Workers)
			if err != nil && (len(kinds) == 1 || !errors.Is(err, errNothingLeft)) {
				return err
			}
			left[q][v] = err == nil
		}
	}
	for q, kind := range kinds {
		for v, x := range views {
			if !left[q][v] || kind == PerSample && x.cols < fewFeatures && left[len(kinds)-1][v] && len(kinds) > 1 {
				continue // Of a row of few features, its mean and its length are most of what it says.
			}
			s.inputs = append(s.inputs, smoothInput[T]{Input: Input{View: v, Preprocess: kind}, prepare: q})
		}
	}
	for v, x := range views {
		if !slices.ContainsFunc(left, func(l []bool) bool { return l[v] }) {
			return fmt.Errorf("largemvc: %s has %w: every sample is constant over its features, and every feature over the samples", x.label(v), errNothingLeft)
		}
	}
	return nil
}

// directionPasses is the number of passes over a view in which its directions are found. They need not be exact: what
// matters is that they hold nearly all of the view.
const directionPasses = 4

// findDirections finds the directions of input k, which comes from the view x.
func (s *smoothing[T]) findDirections(ctx context.Context, k int, x View, c *Config) error {
	in := &s.inputs[k]
	in.Columns = in.Preprocess.width(x.cols)
	if c.Directions == None || c.Directions >= in.Columns {
		return nil
	}
	unit, err := unitRows[T](ctx, s.prepare[in.prepare], x, in.View, c.Workers)
	if err != nil {
		return err
	}
	in.Columns = min(c.Directions, x.rows)
	in.basis, err = spectral.Find(ctx, []rows.Matrix[T]{unit}, spectral.Config{Rank: in.Columns, Iterations: directionPasses, Seed: c.Seed, Workers: c.Workers})
	if err == nil {
		in.projector = spectral.NewProjector[T](in.basis)
	}
	return err
}

// widestFirst returns the numbers of views by their width, in which order inputs take the place of views: what a wide one
// leaves has room for those of narrow ones.
func widestFirst(dims []int) []int {
	order := make([]int, len(dims))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return dims[b] - dims[a] })
	return order
}

// spare is the memory of a view that is being replaced by inputs: of each row, the columns from taken on.
type spare[T kernel.Float] struct {
	x           []T
	cols, taken int
}

// fill makes the blocks of the inputs that come from view v, in free memory where they fit: that of views which were filled
// before, and of v.
func (s *smoothing[T]) fill(ctx context.Context, blocks []neighbor.Block[T], v int, x View, free []spare[T], c *Config) error {
	var mine []int
	units := make([]rows.Matrix[T], len(blocks))
	for k := range s.inputs {
		in := &s.inputs[k]
		if in.View != v {
			continue
		}
		mine = append(mine, k)
		var err error
		if units[k], err = unitRows[T](ctx, s.prepare[in.prepare], x, v, c.Workers); err != nil {
			return err
		}
		width := neighbor.Stride(in.Columns)
		if at := slices.IndexFunc(free, func(f spare[T]) bool { return f.taken+width <= f.cols }); at >= 0 {
			f := &free[at]
			blocks[k] = neighbor.Block[T]{X: f.x[f.taken:], Ld: f.cols, Cols: in.Columns, Present: x.present}
			f.taken += width
			continue
		}
		blocks[k] = neighbor.Block[T]{X: make([]T, x.rows*width), Ld: width, Cols: in.Columns, Present: x.present}
	}
	return parallel.For(ctx, c.Workers, (x.rows+fillRows-1)/fillRows, func(_, q int) error {
		lo, hi := q*fillRows, min((q+1)*fillRows, x.rows)
		parts := make([][]T, len(mine))
		for i, k := range mine { // All of them before the first is written: it may lie where the view's rows are.
			parts[i] = s.inputs[k].rows(units[k], lo, hi)
		}
		for i, k := range mine {
			b, width := &blocks[k], neighbor.Stride(s.inputs[k].Columns)
			for r := lo; r < hi; r++ {
				copy(b.X[r*b.Ld:r*b.Ld+b.Cols], parts[i][(r-lo)*width:])
			}
		}
		return nil
	})
}

// fillRows is the number of rows that a goroutine takes to their directions at once.
const fillRows = 256

// rows returns rows [lo, hi) of a view, standardised and at norm 1, in the directions of the input, with the stride that
// operators multiply.
func (in *smoothInput[T]) rows(unit rows.Matrix[T], lo, hi int) []T {
	ld := neighbor.Stride(in.Columns)
	out := make([]T, (hi-lo)*ld)
	if in.projector != nil {
		in.projector.Rows(unit, lo, hi, out)
		return out
	}
	for i := lo; i < hi; i++ {
		unit.Row(i, out[(i-lo)*ld:(i-lo)*ld+in.Columns])
	}
	return out
}

// spaces are where neighbours are sought: half of the graph comes from the inputs of each standardisation side by side, half
// from single inputs.
func (s *smoothing[T]) spaces() []neighbor.Space {
	groups := make([][]int, len(s.prepare))
	for k, in := range s.inputs {
		groups[in.prepare] = append(groups[in.prepare], k)
	}
	return neighbor.Spaces(slices.DeleteFunc(groups, func(g []int) bool { return len(g) == 0 })...)
}

// join builds the graph of the n samples.
func (s *smoothing[T]) join(ctx context.Context, blocks []neighbor.Block[T], n int, c *Config) error {
	cfg := neighbor.Config{Neighbors: c.Neighbors, ExactUpTo: -1, Landmarks: min(c.Landmarks, n), Nearest: nearestOf(n), Seed: c.Seed, Workers: c.Workers}
	if c.Landmarks > 0 {
		cfg.Nearest = nearestOf(cfg.Landmarks)
	}
	before := blocks
	if c.exactNeighbors(n) { // The index keeps the rows, which the filter will change.
		cfg.ExactUpTo = n
		s.before = make([]neighbor.Block[T], len(blocks))
		for k := range blocks {
			s.before[k] = packed(&blocks[k], n)
		}
		before = s.before
	}
	x, err := viewsOfBlocks(before, n)
	if err != nil {
		return err
	}
	s.index, err = neighbor.Build(ctx, x, s.spaces(), cfg)
	return err
}

// packed returns a copy of the n rows of a block, one after another.
func packed[T kernel.Float](b *neighbor.Block[T], n int) neighbor.Block[T] {
	out := neighbor.Block[T]{Ld: neighbor.Stride(b.Cols), Cols: b.Cols, Present: b.Present}
	out.X = make([]T, n*out.Ld)
	for i := range n {
		copy(out.X[i*out.Ld:i*out.Ld+b.Cols], b.X[i*b.Ld:])
	}
	return out
}

func viewsOfBlocks[T kernel.Float](blocks []neighbor.Block[T], n int) ([]neighbor.View[T], error) {
	out := make([]neighbor.View[T], len(blocks))
	for k, b := range blocks {
		var err error
		if out[k], err = neighbor.Dense(n, b.Cols, b.Ld, b.X, b.Present); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func matrices[T kernel.Float](blocks []neighbor.Block[T], n int) []rows.Matrix[T] {
	out := make([]rows.Matrix[T], len(blocks))
	for k, b := range blocks {
		out[k] = rows.NewDense(n, b.Cols, b.Ld, b.X)
	}
	return out
}

// take attaches new samples to the graph and smooths them as the training samples were.
func (s *smoothing[T]) take(ctx context.Context, views []View, lo, hi, _ int, b *intakeBuffer[T]) ([]rows.Matrix[T], error) {
	blocks := make([]neighbor.Block[T], len(s.inputs))
	for k := range s.inputs {
		in := &s.inputs[k]
		x := views[in.View].window(lo, hi)
		unit, err := unitRows[T](ctx, s.prepare[in.prepare], x, in.View, 1)
		if err != nil {
			return nil, err
		}
		blocks[k] = neighbor.Block[T]{X: in.rows(unit, 0, hi-lo), Ld: neighbor.Stride(in.Columns), Cols: in.Columns, Present: x.present}
	}
	x, err := viewsOfBlocks(blocks, hi-lo)
	if err != nil {
		return nil, err
	}
	links, err := s.index.Attach(ctx, x, 1)
	if err != nil {
		return nil, err
	}
	for k, block := range blocks {
		if err := s.filters[k].Apply(ctx, links, block, 1); err != nil {
			return nil, err
		}
	}
	b.inputs = matrices(blocks, hi-lo)
	return b.inputs, nil
}

// list describes the inputs.
func (s *smoothing[T]) list() []Input {
	out := make([]Input, len(s.inputs))
	for k, in := range s.inputs {
		out[k] = in.Input
	}
	return out
}

// inputViews returns the views that the inputs come from, one an input, for messages and presence.
func inputViews(views []View, inputs []Input) []View {
	out := make([]View, len(inputs))
	for k, in := range inputs {
		out[k] = views[in.View]
		out[k].cols = in.Columns
	}
	return out
}
