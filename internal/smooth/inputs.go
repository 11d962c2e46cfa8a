// Package smooth makes the inputs of a network with neighbours. Every view has one or both standardisations, rows at norm 1, in
// its leading singular directions, smoothed along the graph of the samples' neighbours. The measured values transform new samples
// in the same way, and can be saved.
package smooth

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

type Options struct {
	Kind       prepare.Kind
	Neighbors  int    // k of the graph
	Directions int    // singular directions kept of each view; 0: all
	Steps      int    // of the filter
	Exact      int    // largest number of samples with exact neighbours, with landmarks above
	Landmarks  int    // 0: neighbor.DefaultLandmarks
	Seed       uint64 // of the directions and the landmarks
	Workers    int
	Overwrite  bool // inputs may replace the views in the caller's memory

	// Device, if not nil, computes the products of the searches for directions and neighbours, and smooths along landmarks.
	// Projections are computed here in any case, so that a new sample has the bits of an equal training sample.
	Device rows.Device

	Group *ranks.Group // processes that hold the other rows; nil: there are none

	Keeper *Keeper // of the graphs for a checkpoint; nil: none. With a Group no graph is kept
}

// Standardised holds the views in the standardisations that do not make them zero.
type Standardised struct {
	Inputs  []prepare.Input // their Columns are those of rows at norm 1
	prepare []*prepare.Standardiser
	part    []int // of each input, its place in prepare
}

// Standardise measures the standardisations of kind and leaves out inputs that are zero everywhere, on all ranks of a group.
func Standardise[T kernel.Float](
	ctx context.Context, g *ranks.Group, views []view.View, kind prepare.Kind, workers int,
) (*Standardised, error) {
	s := &Standardised{}
	kinds := kind.Parts()
	left := make([][]bool, len(kinds)) // for each standardisation and view, whether it is not zero
	for q, kind := range kinds {
		st, err := prepare.Measure(ctx, g, kind, views, workers)
		if err != nil {
			return nil, err
		}
		s.prepare, left[q] = append(s.prepare, st), make([]bool, len(views))
		for v, x := range views {
			err := prepare.Usable[T](ctx, g, st, x, v, workers)
			if err != nil && (len(kinds) == 1 || !errors.Is(err, prepare.ErrNothingLeft)) {
				return nil, err
			}
			left[q][v] = err == nil
		}
	}
	for q, kind := range kinds {
		for v, x := range views {
			if !left[q][v] ||
				kind == prepare.PerSample && s.varying(q, v, x) < prepare.FewFeatures && left[len(kinds)-1][v] && len(kinds) > 1 {
				continue // In a row of few features, the mean and the length have most of the information.
			}
			length := prepare.Length(kind, s.varying(q, v, x))
			s.Inputs = append(
				s.Inputs,
				prepare.Input{View: v, Kind: kind, Columns: prepare.Width(x.Cols, length), Length: length},
			)
			s.part = append(s.part, q)
		}
	}
	for v, x := range views {
		if !slices.ContainsFunc(left, func(l []bool) bool { return l[v] }) {
			return nil, view.Wrong(v, -1,
				"%s has %w: every sample is constant over its features, and every feature over the samples",
				x.Label(v), prepare.ErrNothingLeft,
			)
		}
	}
	return s, nil
}

// varying returns the number of features of view v that are not constant, by part q.
func (s *Standardised) varying(q, v int, x view.View) int { return x.Cols - s.prepare[q].LeftOut(v) }

// LeftOut returns the number of features of view v that are left out because they are constant.
func (s *Standardised) LeftOut(v int) int { return s.prepare[0].LeftOut(v) }

// InputCounts returns the least and the largest number of inputs that Standardise makes of views: if a view has two, one of them
// may be zero.
func InputCounts(views []view.View, kind prepare.Kind) (least, most int) {
	for _, x := range views {
		least++
		if x.Cols < prepare.FewFeatures { // which has one standardisation only
			most++
		} else {
			most += len(kind.Parts())
		}
	}
	return least, most
}

// UnitRows returns the rows of input k at norm 1. x is the view of the input, in training or of new samples.
func UnitRows[T kernel.Float](ctx context.Context, s *Standardised, k int, x view.View, workers int) (rows.Matrix[T], error) {
	return prepare.UnitRows[T](ctx, s.prepare[s.part[k]], x, s.Inputs[k].View, s.Inputs[k].Length, workers)
}

// Inputs are standardised views in their leading singular directions.
type Inputs[T kernel.Float] struct {
	*Standardised
	directions []direction[T] // of the inputs
	look       []appearance   // of the views, for trust in them; nil for a single view
}

// direction is the basis that the rows of an input are projected to; the zero value keeps all columns.
type direction[T kernel.Float] struct {
	basis     *spectral.Basis   // of its columns
	span      *spectral.RowSpan // in place of basis, for sparse rows of very many columns
	projector projector[T]
}

// DirectionPasses is the number of passes over a view that find its directions. They need not be exact, as long as they contain
// nearly all of the view.
const DirectionPasses = 4

// Find measures the standardisations and directions of the views.
func Find[T kernel.Float](ctx context.Context, views []view.View, o Options) (*Inputs[T], error) {
	look := newLooks(views, o)
	parallel.Tell(ctx, 0, 1+len(views)*len(o.Kind.Parts())+look.rows())
	standardised, err := Standardise[T](ctx, o.Group, views, o.Kind, o.Workers)
	if err != nil {
		return nil, err
	}
	s := &Inputs[T]{Standardised: standardised, directions: make([]direction[T], len(standardised.Inputs))}
	var wide []int // the inputs with directions
	for k := range s.Inputs {
		if in := &s.Inputs[k]; o.Directions > 0 && o.Directions < in.Columns {
			wide = append(wide, k)
			in.Columns = min(o.Directions, o.Group.Total(views[0].Rows))
		}
	}
	before := 1 + len(wide)
	total := before + look.steps(standardised, wide)
	if err := s.findDirections(ctx, views, wide, total, o); err != nil {
		return nil, err
	}
	s.look, err = look.learn(ctx, before, total)
	return s, err
}

// findDirections finds the directions of some inputs. Each is a step of a work of total steps, after the first one.
func (s *Inputs[T]) findDirections(ctx context.Context, views []view.View, wide []int, total int, o Options) error {
	if o.Group != nil {
		return s.findOnRanks(ctx, views, wide, o)
	}
	find := func(k, workers int) error {
		unit, err := UnitRows[T](ctx, s.Standardised, k, views[s.Inputs[k].View], workers)
		if err != nil {
			return err
		}
		cfg := o.search(s.Inputs[k].Columns)
		cfg.Workers = workers
		s.directions[k], err = findDirection(ctx, unit, cfg)
		return err
	}
	if beside := s.beside(views, wide, o); beside > 1 {
		parallel.Tell(ctx, 1, total)
		workers := parallel.Workers(o.Workers) / beside
		return parallel.For(ctx, beside, len(wide), func(_, i int) error { return find(wide[i], workers) })
	}
	for step, k := range wide {
		parallel.Tell(ctx, 1+step, total)
		if err := find(k, o.Workers); err != nil {
			return err
		}
	}
	return nil
}

// The most inputs whose directions are found at the same time, and the most numbers that each of them may have. The parts of so
// small a search are too short for several goroutines; larger ones would take too much memory together.
const mostBeside, besideNumbers = 4, 16 << 20

// beside returns the number of inputs whose directions are found at the same time.
func (s *Inputs[T]) beside(views []view.View, wide []int, o Options) int {
	for _, k := range wide {
		if x := views[s.Inputs[k].View]; o.Device != nil || x.Rows*x.Cols > besideNumbers {
			return 1
		}
	}
	return min(mostBeside, len(wide), parallel.Workers(o.Workers))
}

// search returns the settings of a search for directions if all rows are in this process.
func (o Options) search(rank int) spectral.Config {
	return spectral.Config{Rank: rank, Iterations: DirectionPasses, Seed: o.Seed, Workers: o.Workers, Device: o.Device}
}

// findDirection finds the leading directions of rows, in the form that takes less memory. Dense directions of many rows come from
// some of them, whose singular values approximate those of all.
func findDirection[T kernel.Float](ctx context.Context, x rows.Matrix[T], cfg spectral.Config) (to direction[T], err error) {
	if !spectral.Spans(x, cfg.Rank) {
		some := rows.Thin([]rows.Matrix[T]{x}, spectral.EnoughRows)
		if some[0], err = rows.Held(ctx, some[0], cfg.Workers); err != nil {
			return to, err
		}
		if to.basis, err = spectral.Find(ctx, some, cfg); err != nil {
			return to, err
		}
		n, _ := x.Dims()
		seen, _ := some[0].Dims()
		for i := range to.basis.S {
			to.basis.S[i] *= math.Sqrt(float64(n) / float64(seen))
		}
		to.projector = spectral.NewProjector[T](to.basis)
		return to, nil
	}
	if to.span, err = spectral.FindSpan(ctx, x, cfg); err != nil {
		return to, err
	}
	to.projector, err = spectral.NewSpanProjector[T](to.span)
	return to, err
}

// rows returns rows [lo, hi) of input k, given at norm 1, in its directions, with the stride for operators, in buf if there is
// room. The padding is zero or old content of buf.
func (s *Inputs[T]) rows(k int, unit rows.Matrix[T], lo, hi int, buf []T) []T {
	columns := s.Inputs[k].Columns
	ld := neighbor.Stride(columns)
	out := slices.Grow(buf[:0], (hi-lo)*ld)[:(hi-lo)*ld]
	if p := s.directions[k].projector; p != nil {
		p.Rows(unit, lo, hi, out)
		return out
	}
	for i := lo; i < hi; i++ {
		unit.Row(i, out[(i-lo)*ld:(i-lo)*ld+columns])
	}
	return out
}
