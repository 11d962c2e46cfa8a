package largemvc

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/smooth"
	vw "github.com/largemvc/largemvc/internal/view"
)

// fittedNetwork is a trained network in its own arithmetic.
type fittedNetwork interface {
	// run takes samples through preprocessing, layers and clusters. It fills what is not nil: labels (n), near and next
	// (n squared distances), trust; h if it is wanted.
	run(ctx context.Context, views []vw.View, workers int, out *predictions) error
	// save appends the tensors of what the samples go through first.
	save(f *safetensors.File, floats func(name string, x []float64, shape ...int) safetensors.Tensor)
}

// predictions receives what a fittedNetwork computes.
type predictions struct {
	labels     []int
	near, next []float64
	h          *Matrix
	wantH      bool
	trust      [][]float64 // per view, n
}

// fitted is a fittedNetwork: all that new samples need, without a graph.
type fitted[T kernel.Float] struct {
	spec     engine.Spec
	frozen   *engine.Frozen[T]
	inputs   []Input
	readOut  ReadOut
	intake   intake[T]
	clusters *kmeans.Assigner[T]
	few      sync.Pool // of *predictWorker[T] with room for fewRows
	many     sync.Pool // with room for predictChunk rows
}

const (
	// predictChunk is the number of samples that a goroutine takes through the network at once.
	predictChunk = 256
	// fewRows is the largest number of samples for which a worker with little memory is used.
	fewRows = 8
)

// newFitted makes the network of a predictor whose parameters are set.
func newFitted[T kernel.Float](p *Predictor, from intake[T], clusters *kmeans.Assigner[T]) (*fitted[T], error) {
	f := &fitted[T]{spec: p.spec(), inputs: p.inputs, readOut: p.config.ReadOut, intake: from, clusters: clusters}
	q := &engine.Params{Theta: p.Theta, Rho: p.Rho, R: p.r, U: p.u}
	var err error
	f.frozen, err = engine.NewFrozen[T](f.spec, q, func(l, v int) []float64 { return p.anchors[l][v].RawMatrix().Data })
	return f, err
}

func (f *fitted[T]) save(to *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	switch from := f.intake.(type) {
	case *smooth.Transform[T]:
		from.Save(to, floats)
	case *prepare.Rows[T]:
		from.Save(to)
	}
}

// predictWorker is the memory of one goroutine.
type predictWorker[T kernel.Float] struct {
	room       int
	buffer     prepare.Buffer[T]
	present    [][]bool // per input
	runner     *engine.FrozenRows[T]
	h          []T
	source     *kmeans.Source[T]
	near, next []float64
}

func (f *fitted[T]) newWorker(room int) (*predictWorker[T], error) {
	w := &predictWorker[T]{room: room, near: make([]float64, room), next: make([]float64, room)}
	for range f.spec.Dims {
		w.present = append(w.present, make([]bool, room))
	}
	var err error
	if w.runner, err = f.frozen.NewRows(room, w.present); err != nil {
		return nil, err
	}
	h, ld := w.runner.H()
	w.h = h
	w.source, err = kmeans.NewSource(kmeans.View[T]{Rows: rows.NewDense(room, f.spec.Anchors, ld, h), Weight: 1})
	return w, err
}

func (f *fitted[T]) run(ctx context.Context, views []vw.View, workers int, out *predictions) error {
	n := views[0].Rows
	ld := kernel.Pad(f.spec.Anchors)
	var h []T
	if out.wantH {
		h = make([]T, n*ld)
		out.h = resultMatrix(n, f.spec.Anchors, ld, h)
	}
	pool, room := &f.many, predictChunk
	if n <= fewRows {
		pool, room = &f.few, fewRows
	}
	return parallel.For(ctx, workers, (n+room-1)/room, func(_, c int) error {
		w, _ := pool.Get().(*predictWorker[T])
		if w == nil {
			var err error
			if w, err = f.newWorker(room); err != nil {
				return err
			}
		}
		defer pool.Put(w)
		lo := c * room
		return f.chunk(ctx, w, views, lo, min(lo+room, n), h, out)
	})
}

// chunk predicts samples [lo, hi).
func (f *fitted[T]) chunk(ctx context.Context, w *predictWorker[T], views []vw.View, lo, hi int, h []T, out *predictions) error {
	inputs, err := f.intake.Take(ctx, views, lo, hi, w.room, &w.buffer)
	if err != nil {
		return err
	}
	for k, x := range inputs {
		for i := lo; i < hi; i++ {
			w.present[k][i-lo] = views[f.inputs[k].View].Has(i)
		}
		w.runner.Use(k, x)
	}
	w.runner.Run(hi - lo)
	limit := prepare.LargestNorm[T]()
	for i := lo; i < hi; i++ {
		at := (i - lo) * kernel.Pad(f.spec.Anchors)
		if q := kernel.SumSquares(w.h[at:at+f.spec.Anchors], 0); !(q < limit*limit) {
			return tooLarge(views, i, math.Sqrt(q), limit)
		}
	}
	if h != nil {
		ld := kernel.Pad(f.spec.Anchors)
		copy(h[lo*ld:hi*ld], w.h)
	}
	for v, trust := range out.trust {
		for i, t := range w.runner.Trust(v)[:hi-lo] {
			trust[lo+i] = float64(t)
		}
	}
	if out.labels == nil {
		return nil
	}
	if f.readOut == UnitRows {
		unitRowsOf(w.h[:(hi-lo)*kernel.Pad(f.spec.Anchors)], f.spec.Anchors)
	}
	if err := f.clusters.Assign(w.source, 0, hi-lo, out.labels[lo:hi], w.near[:hi-lo], w.next[:hi-lo]); err != nil {
		return err
	}
	copy(out.near[lo:hi], w.near)
	copy(out.next[lo:hi], w.next)
	return nil
}

// tooLarge is the error for sample i, whose representation has a norm that is not below the limit.
func tooLarge(views []vw.View, i int, norm, limit float64) error {
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
	return fmt.Errorf("largemvc: %s: row %d holds up to %.3g (feature %d), which gives a representation of norm %.3g, too large to compute with (%.0e)",
		views[at].Label(at), i, most, feature, norm, limit)
}
