package largemvc

import (
	"context"
	"fmt"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// Input is what the network sees of a view. Without Config.Neighbors input v is view v in its own columns. With it, a view
// is an input for each of its standardisations, unless that leaves nothing of it.
type Input struct {
	View       int        // the number of the view
	Preprocess Preprocess // its standardisation
	Columns    int        // d_v, or the number of directions of the view that are kept, of few features with one more that keeps their length
}

// intake turns rows of views into the network's inputs. A training sample gets the bits that it had in training. It is
// safe for concurrent use.
type intake[T kernel.Float] interface {
	// take returns samples [lo, hi) of the views, at most room, as inputs in the memory of b.
	take(ctx context.Context, views []View, lo, hi, room int, b *intakeBuffer[T]) ([]rows.Matrix[T], error)
	// save appends the tensors that a file needs for it; floats makes one in the arithmetic of the fit.
	save(f *safetensors.File, floats func(name string, x []float64, shape ...int) safetensors.Tensor)
}

// intakeBuffer is the memory for some samples.
type intakeBuffer[T kernel.Float] struct {
	views  []rowBuffer[T]
	inputs []rows.Matrix[T]
}

func (p *preparer[T]) take(_ context.Context, views []View, lo, hi, room int, b *intakeBuffer[T]) ([]rows.Matrix[T], error) {
	if b.views == nil {
		b.views, b.inputs = make([]rowBuffer[T], len(views)), make([]rows.Matrix[T], len(views))
	}
	for v, x := range views {
		b.inputs[v] = p.rows(v, x, lo, hi, room, &b.views[v])
	}
	return b.inputs, nil
}

func (p *preparer[T]) save(f *safetensors.File, _ func(string, []float64, ...int) safetensors.Tensor) {
	p.standardiser.save(f)
}

// save appends what was measured on the training samples.
func (s *standardiser) save(f *safetensors.File) {
	for v, mean := range s.mean {
		f.Tensors = append(f.Tensors, safetensors.Float64s(fmt.Sprintf("mean.%d", v), mean, len(mean)),
			safetensors.Float64s(fmt.Sprintf("scale.%d", v), s.scale[v], len(mean)))
	}
}

// inputsOf describes the inputs of views that the network sees as they are preprocessed.
func inputsOf(views []View, kind Preprocess) []Input {
	out := make([]Input, len(views))
	for v, x := range views {
		out[v] = Input{View: v, Preprocess: kind, Columns: x.cols}
	}
	return out
}
