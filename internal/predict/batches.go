package predict

import (
	"context"
	"errors"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/view"
)

// Batches takes many rows at once through the layers of a trained network, elsewhere than in this process's memory.
type Batches[T kernel.Float] interface {
	// Batch returns how many of n rows there may be at once.
	Batch(n int) (int, error)
	// Run sets h to the representation of rows, with the stride kernel.Pad(m). present says which rows have which input; nil: all
	// have all.
	Run(ctx context.Context, x []rows.Matrix[T], present [][]bool, h []T) error
}

// Layers returns the layers, for those who run them elsewhere. It is an error if they cannot be run elsewhere.
func (f *Network[T]) Layers() (*engine.Frozen[T], error) {
	switch {
	case f.frozen == nil:
		return nil, errors.New("modules that are not from this package take new samples on the CPU")
	case f.start != nil:
		return nil, errors.New("the clusters are those of the start, which new samples are taken to on the CPU")
	case f.smooths():
		return nil, errors.New("the representation is smoothed along the links of each sample, which is done on the CPU")
	}
	return f.frozen, nil
}

// smooths says whether the representation is smoothed too.
func (f *Network[T]) smooths() bool {
	last, ok := f.intake.(Smoother[T])
	return ok && last.Smooths()
}

// RunIn is Run, without trust, with the layers of the network in batches; what comes before and after them is done here.
func (f *Network[T]) RunIn(ctx context.Context, in Batches[T], views []view.View, workers int, out *Output[T]) error {
	n := views[0].Rows
	most, err := in.Batch(n)
	if err != nil {
		return err
	}
	spec, _ := f.frozen.Passes()
	ld := kernel.Pad(f.anchors)
	h, data := make([]T, most*ld), make([][]T, len(spec.Dims))
	for k, d := range spec.Dims {
		data[k] = make([]T, most*d)
	}
	for first := 0; first < n; first += most {
		end := min(first+most, n)
		x := make([]rows.Matrix[T], len(spec.Dims))
		for k, d := range spec.Dims {
			x[k] = rows.NewDense(end-first, d, d, data[k])
		}
		err := f.inChunks(ctx, first, end, workers, func(w *worker[T], lo, hi int) error {
			inputs, err := f.takeIn(ctx, w, views, lo, hi, out)
			for k, in := range inputs {
				d := spec.Dims[k]
				for i := lo; i < hi; i++ {
					in.Row(i-lo, data[k][(i-first)*d:(i-first+1)*d])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := in.Run(ctx, x, f.presence(views, first, end), h); err != nil {
			return err
		}
		err = f.inChunks(ctx, first, end, workers, func(w *worker[T], lo, hi int) error {
			copy(w.h, h[(lo-first)*ld:(hi-first)*ld])
			if err := f.checkNorms(w, views, lo, hi); err != nil {
				return err
			}
			inputs := make([]rows.Matrix[T], len(spec.Dims))
			for k, d := range spec.Dims {
				inputs[k] = rows.NewDense(hi-lo, d, d, data[k][(lo-first)*d:(hi-first)*d])
			}
			if err := f.each(w, views, inputs, lo, hi, out); err != nil {
				return err
			}
			return f.finish(w, lo, hi, out)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// presence says which of samples [lo, hi) have which input; nil where all have all.
func (f *Network[T]) presence(views []view.View, lo, hi int) [][]bool {
	out, all := make([][]bool, len(f.views)), true
	for k, v := range f.views {
		out[k] = make([]bool, hi-lo)
		for i := range out[k] {
			out[k][i] = views[v].Has(lo + i)
			all = all && out[k][i]
		}
	}
	if all {
		return nil
	}
	return out
}
