// Package predict takes samples through a trained network, without a graph.
package predict

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/known"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Intake turns rows of views into the network's inputs. A training sample gets the bits that it had in training. It is
// safe for concurrent use.
type Intake[T kernel.Float] interface {
	// Take returns samples [lo, hi) of the views, at most room, as inputs, which may be in the memory of b.
	Take(ctx context.Context, views []view.View, lo, hi, room int, b *prepare.Buffer[T]) ([]rows.Matrix[T], error)
}

// Smoother is an Intake that may smooth the representation as well, along the links of samples to those of the training.
type Smoother[T kernel.Float] interface {
	// Smooths says whether it does.
	Smooths() bool
	// Last smooths the rows of h, at norm 1, of the samples that were taken into b last.
	Last(ctx context.Context, h []T, columns, ld int, b *prepare.Buffer[T]) error
}

// Network is a trained network in its own arithmetic, with its clusters. It is safe for concurrent use.
type Network[T kernel.Float] struct {
	newRunner NewRunner[T]
	anchors   int   // m
	views     []int // of the inputs
	unit      bool
	intake    Intake[T]
	clusters  *kmeans.Assigner[T]
	frozen    *engine.Frozen[T]     // the layers, of stock modules; else nil
	start     *cluster.Embedding[T] // gives H in place of the layers, if it is not nil
	few       sync.Pool             // of *worker[T] with room for fewRows
	some      sync.Pool             // with room for some rows
	many      sync.Pool             // with room for manyTimes as many
	chunk     int                   // rows of some
}

// Runner takes a few rows through the layers of a trained network. One goroutine uses it at once.
type Runner[T kernel.Float] interface {
	// Use makes the first n rows of x those of an input for the next run.
	Use(k, n int, x rows.Matrix[T])
	// Run computes H and the trust of the first n rows.
	Run(n int) error
	// H returns the representation row-major with the stride kernel.Pad(m); it is overwritten by the next run.
	H() []T
	// Trust returns the trust of an input per row; it is overwritten by the next run.
	Trust(k int) []T
}

// NewRunner makes a runner with room for some rows. present[k] says which rows have input k; it changes between runs.
type NewRunner[T kernel.Float] func(room int, present [][]bool) (Runner[T], error)

// engineRunner is a Runner of the fused passes.
type engineRunner[T kernel.Float] struct{ *engine.FrozenRows[T] }

func (r engineRunner[T]) Use(k, _ int, x rows.Matrix[T]) { r.FrozenRows.Use(k, x) }
func (r engineRunner[T]) Run(n int) error                { r.FrozenRows.Run(n); return nil }
func (r engineRunner[T]) H() []T                         { h, _ := r.FrozenRows.H(); return h }

const (
	// chunkRows is the number of samples that a goroutine takes through the network at once, and manyTimes what it is multiplied
	// by where there are so many for each goroutine: more of what they are looked up in is then found in the cache.
	chunkRows, manyTimes = 256, 4
	// fewRows is the largest number of samples for which a worker with little memory is used.
	fewRows = 8
)

// New returns the network of a shape, with the parameters as applied and the anchors of every layer and input, whose inputs
// come from the given views. The clusters see rows at norm 1 if unit is set; they may be nil if no labels are wanted.
func New[T kernel.Float](
	spec engine.Spec, params *engine.Params, anchors func(l, v int) []float64,
	views []int, intake Intake[T], unit bool, clusters *kmeans.Assigner[T],
) (*Network[T], error) {
	frozen, err := engine.NewFrozen[T](spec, params, anchors)
	if err != nil {
		return nil, err
	}
	out := NewOf(spec.Anchors, chunkRows, views, intake, unit, clusters, func(room int, present [][]bool) (Runner[T], error) {
		r, err := frozen.NewRows(room, present)
		return engineRunner[T]{r}, err
	})
	out.frozen = frozen
	return out, nil
}

// NewOf is New for the layers of a runner, which takes at most so many rows at once.
func NewOf[T kernel.Float](
	anchors, most int, views []int, intake Intake[T], unit bool, clusters *kmeans.Assigner[T], newRunner NewRunner[T],
) *Network[T] {
	return &Network[T]{
		newRunner: newRunner, anchors: anchors, chunk: most, views: views, unit: unit, intake: intake, clusters: clusters,
	}
}

// KeepStart makes the rows of an embedding of the inputs the representation, in place of what the layers make of them.
func (f *Network[T]) KeepStart(e *cluster.Embedding[T]) { f.start = e }

// worker is the memory of one goroutine.
type worker[T kernel.Float] struct {
	room       int
	buffer     prepare.Buffer[T]
	present    [][]bool // per input
	runner     Runner[T]
	h          []T
	source     *kmeans.Source[T]
	near, next []float64
}

func (f *Network[T]) newWorker(room int) (*worker[T], error) {
	w := &worker[T]{room: room, near: make([]float64, room), next: make([]float64, room)}
	for range f.views {
		w.present = append(w.present, make([]bool, room))
	}
	var err error
	if w.runner, err = f.newRunner(room, w.present); err != nil {
		return nil, err
	}
	w.h = w.runner.H()
	w.source, err = kmeans.NewSource(
		nil, kmeans.View[T]{Rows: rows.NewDense(room, f.anchors, kernel.Pad(f.anchors), w.h), Weight: 1},
	)
	return w, err
}

// Output receives what a network says of samples. Slices that are nil are not filled.
type Output[T kernel.Float] struct {
	H          []T         // n×m, with the stride kernel.Pad(m)
	Trust      [][]float64 // per input, n
	Labels     []int       // n, with Near and Next
	Near, Next []float64   // n squared distances to the nearest and the next nearest centroid
	Unlike     []float64   // n, how unlike the training samples they are; it needs an intake with neighbours

	// Each, if not nil, sees samples from number lo on, with their inputs and their rows of H. With neighbours it sees the inputs
	// before smoothing too, in Run alone. It is called by several goroutines at once, and must not keep what it sees.
	Each func(lo, n int, s *known.Sample[T]) error
}

// Before is an Intake that keeps its inputs before smoothing, in a buffer that asks for it.
type Before[T kernel.Float] interface {
	// Unlike sets dst to how unlike the training samples the samples are that were taken into b last, from sample lo on.
	Unlike(views []view.View, lo int, b *prepare.Buffer[T], dst []float64)
	Before(b *prepare.Buffer[T]) *prepare.Before[T]
}

// Run takes samples through preprocessing, layers and clusters.
func (f *Network[T]) Run(ctx context.Context, views []view.View, workers int, out *Output[T]) error {
	return f.inChunks(ctx, 0, views[0].Rows, workers, func(w *worker[T], lo, hi int) error {
		return f.take(ctx, w, views, lo, hi, out)
	})
}

// inChunks calls f with samples [lo, hi) of [first, end), a few at a time, and the memory of a goroutine for them.
func (f *Network[T]) inChunks(ctx context.Context, first, end, workers int, do func(w *worker[T], lo, hi int) error) error {
	n := end - first
	pool, room := &f.some, f.chunk
	switch {
	case n <= fewRows:
		pool, room = &f.few, fewRows
	case f.chunk == chunkRows && n >= 2*manyTimes*chunkRows*parallel.Workers(workers):
		pool, room = &f.many, manyTimes*chunkRows
	}
	chunks, within := (n+room-1)/room, 1
	if chunks == 1 { // Else every goroutine has some.
		within = parallel.Workers(workers)
	}
	return parallel.For(ctx, workers, chunks, func(_, c int) error {
		w, _ := pool.Get().(*worker[T])
		if w == nil {
			var err error
			if w, err = f.newWorker(room); err != nil {
				return err
			}
		}
		defer pool.Put(w)
		w.buffer.Workers = within
		lo := first + c*room
		return do(w, lo, min(lo+room, end))
	})
}

// take predicts samples [lo, hi).
func (f *Network[T]) take(ctx context.Context, w *worker[T], views []view.View, lo, hi int, out *Output[T]) error {
	inputs, err := f.takeIn(ctx, w, views, lo, hi, out)
	if err != nil {
		return err
	}
	for k, x := range inputs {
		for i := lo; i < hi; i++ {
			w.present[k][i-lo] = views[f.views[k]].Has(i)
		}
		w.runner.Use(k, hi-lo, x)
	}
	if err := w.runner.Run(hi - lo); err != nil {
		return err
	}
	if f.start != nil {
		u, err := f.start.Rows(ctx, inputs, 1)
		if err != nil {
			return err
		}
		copy(w.h, u)
	}
	if err := f.checkNorms(w, views, lo, hi); err != nil {
		return err
	}
	if last, ok := f.intake.(Smoother[T]); ok && last.Smooths() {
		ld := kernel.Pad(f.anchors)
		cluster.UnitRows(w.h[:(hi-lo)*ld], f.anchors)
		if err := last.Last(ctx, w.h, f.anchors, ld, &w.buffer); err != nil {
			return err
		}
		if err := f.checkNorms(w, views, lo, hi); err != nil { // The stored rows may be anything.
			return err
		}
	}
	for v, trust := range out.Trust {
		for i, t := range w.runner.Trust(v)[:hi-lo] {
			trust[lo+i] = float64(t)
		}
	}
	if err := f.each(w, views, inputs, lo, hi, out); err != nil {
		return err
	}
	return f.finish(w, lo, hi, out)
}

// takeIn takes samples [lo, hi) into the worker's buffer, and finds how unlike the training samples they are.
func (f *Network[T]) takeIn(
	ctx context.Context, w *worker[T], views []view.View, lo, hi int, out *Output[T],
) ([]rows.Matrix[T], error) {
	from, ok := f.intake.(Before[T])
	w.buffer.Keeps, w.buffer.Lengths = out.Each != nil || out.Unlike != nil, out.Each != nil
	inputs, err := f.intake.Take(ctx, views, lo, hi, w.room, &w.buffer)
	if err == nil && ok && out.Unlike != nil {
		from.Unlike(views, lo, &w.buffer, out.Unlike[lo:hi])
	}
	return inputs, err
}

// each shows samples [lo, hi) to out.Each.
func (f *Network[T]) each(w *worker[T], views []view.View, inputs []rows.Matrix[T], lo, hi int, out *Output[T]) error {
	if out.Each == nil {
		return nil
	}
	s := &known.Sample[T]{
		Smoothed: inputs, H: w.h, Has: func(input, i int) bool { return views[f.views[input]].Has(lo + i) },
	}
	if from, ok := f.intake.(Before[T]); ok && w.buffer.Lengths {
		before := from.Before(&w.buffer)
		s.Before, s.Lengths, s.Features = before.Rows, before.Lengths, before.Features
	}
	return out.Each(lo, hi-lo, s)
}

// finish gives samples [lo, hi), whose representation is the worker's, to out, and finds their clusters.
func (f *Network[T]) finish(w *worker[T], lo, hi int, out *Output[T]) error {
	if out.H != nil {
		ld := kernel.Pad(f.anchors)
		copy(out.H[lo*ld:hi*ld], w.h)
	}
	if out.Labels == nil {
		return nil
	}
	if f.unit {
		cluster.UnitRows(w.h[:(hi-lo)*kernel.Pad(f.anchors)], f.anchors)
	}
	if err := f.clusters.Assign(w.source, 0, hi-lo, out.Labels[lo:hi], w.near[:hi-lo], w.next[:hi-lo]); err != nil {
		return err
	}
	copy(out.Near[lo:hi], w.near)
	copy(out.Next[lo:hi], w.next)
	return nil
}

// checkNorms returns an error for a row of samples [lo, hi) that is too large to compute with.
func (f *Network[T]) checkNorms(w *worker[T], views []view.View, lo, hi int) error {
	limit := prepare.LargestNorm[T]()
	for i := lo; i < hi; i++ {
		at := (i - lo) * kernel.Pad(f.anchors)
		if q := kernel.SumSquares(w.h[at:at+f.anchors], 0); !(q < limit*limit) {
			return tooLarge(views, i, math.Sqrt(q), limit)
		}
	}
	return nil
}

// tooLarge is the error for sample i, whose representation has a norm that is not below the limit.
func tooLarge(views []view.View, i int, norm, limit float64) error {
	at, feature, most := 0, 0, 0.0
	for v, x := range views {
		if !x.Has(i) {
			continue
		}
		row := make([]float64, x.Cols)
		x.Row(i, row)
		for j, value := range row {
			if a := math.Abs(value); a > most {
				at, feature, most = v, j, a
			}
		}
	}
	wrong := fmt.Errorf(
		"%s: row %d holds up to %.3g (feature %d), which gives a representation of norm %.3g, too large to compute with (%.0e)",
		views[at].Label(at), views[at].Number(i), most, feature, norm, limit,
	)
	return &view.InputError{View: at, Row: views[at].Number(i), Column: feature, Err: wrong}
}
