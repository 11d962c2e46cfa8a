package largemvc

import (
	"context"
	"fmt"
	"sync"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/kmeans"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// predictor is a trained network in its own arithmetic.
type predictor interface {
	// run takes samples through preprocessing, layers and clusters. It fills what is not nil: labels (n), h, near and
	// next (n squared distances).
	run(ctx context.Context, views []View, workers int, out *predictions) error
}

// predictions receives what a predictor computes.
type predictions struct {
	labels     []int
	near, next []float64
	h          *Matrix
	wantH      bool
}

// fitted is a predictor: all that new samples need.
type fitted[T kernel.Float] struct {
	spec     engine.Spec
	frozen   *engine.Frozen[T]
	prepare  *standardiser
	clusters *kmeans.Assigner[T]
	workers  sync.Pool // of *predictWorker[T]
}

// predictChunk is the number of samples that a goroutine takes through the network at once.
const predictChunk = 256

// predictWorker is the memory of one goroutine.
type predictWorker[T kernel.Float] struct {
	data    [][]T // per view, predictChunk×d_v
	row     [][]float64
	present [][]bool
	runner  *engine.FrozenRows[T]
	h       []T
	source  *kmeans.Source[T]
}

func (f *fitted[T]) newWorker() (*predictWorker[T], error) {
	w := &predictWorker[T]{}
	x := make([]rows.Matrix[T], len(f.spec.Dims))
	for v, d := range f.spec.Dims {
		w.data = append(w.data, make([]T, predictChunk*d))
		w.row = append(w.row, make([]float64, d))
		w.present = append(w.present, make([]bool, predictChunk))
		x[v] = rows.NewDense(predictChunk, d, d, w.data[v])
	}
	var err error
	if w.runner, err = f.frozen.NewRows(x, w.present); err != nil {
		return nil, err
	}
	h, ld := w.runner.H()
	w.h = h
	w.source, err = kmeans.NewSource(kmeans.View[T]{Rows: rows.NewDense(predictChunk, f.spec.Anchors, ld, h), Weight: 1})
	return w, err
}

func (f *fitted[T]) run(ctx context.Context, views []View, workers int, out *predictions) error {
	n := views[0].rows
	ld := kernel.Pad(f.spec.Anchors)
	var h []T
	if out.wantH {
		h = make([]T, n*ld)
		out.h = resultMatrix(n, f.spec.Anchors, ld, h)
	}
	return parallel.For(ctx, workers, (n+predictChunk-1)/predictChunk, func(_, c int) error {
		w, _ := f.workers.Get().(*predictWorker[T])
		if w == nil {
			var err error
			if w, err = f.newWorker(); err != nil {
				return err
			}
		}
		defer f.workers.Put(w)
		lo := c * predictChunk
		return f.chunk(w, views, lo, min(lo+predictChunk, n), h, out)
	})
}

// chunk predicts samples [lo, hi).
func (f *fitted[T]) chunk(w *predictWorker[T], views []View, lo, hi int, h []T, out *predictions) error {
	for v, x := range views {
		for i := lo; i < hi; i++ {
			dst := w.data[v][(i-lo)*x.cols : (i-lo+1)*x.cols]
			if w.present[v][i-lo] = x.Has(i); !x.Has(i) {
				clear(dst)
				continue
			}
			x.row(i, w.row[v])
			f.prepare.apply(v, w.row[v])
			for j, value := range w.row[v] {
				dst[j] = T(value)
			}
		}
	}
	w.runner.Run(hi - lo)
	if h != nil {
		ld := kernel.Pad(f.spec.Anchors)
		copy(h[lo*ld:hi*ld], w.h)
	}
	if out.labels == nil {
		return nil
	}
	near, next := make([]float64, hi-lo), make([]float64, hi-lo)
	if err := f.clusters.Assign(w.source, 0, hi-lo, out.labels[lo:hi], near, next); err != nil {
		return err
	}
	if out.near != nil {
		copy(out.near[lo:hi], near)
		copy(out.next[lo:hi], next)
	}
	return nil
}

// checkNew checks the views of samples not seen in training.
func checkNew(ctx context.Context, views []View, dims []int, workers int) error {
	if _, err := checkShapes(views); err != nil {
		return err
	}
	if len(views) != len(dims) {
		return fmt.Errorf("largemvc: %d views, the network was trained on %d", len(views), len(dims))
	}
	for v, x := range views {
		if x.cols != dims[v] {
			return fmt.Errorf("largemvc: %s has %d features, the network was trained on %d", x.label(v), x.cols, dims[v])
		}
	}
	return checkFinite(ctx, views, workers)
}
