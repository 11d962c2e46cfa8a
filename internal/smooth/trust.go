package smooth

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// judging is the trust in views, learned from some of the training samples when it is first asked for.
type judging[T kernel.Float] struct {
	seed  uint64
	known *trust.Rows[T] // nil with exact neighbours, whose index has the rows
	once  sync.Once
	judge *trust.Judge[T]
	err   error
}

// Trust returns the trust in the rows of samples: of each view and sample, see internal/trust.
func (s *Transform[T]) Trust(ctx context.Context, views []view.View, workers int) ([][]float64, error) {
	j := s.judging
	j.once.Do(func() { // It belongs to all who ask, so none of them can call it off.
		var known trust.Rows[T]
		if known, j.err = s.known(); j.err == nil {
			j.judge, j.err = trust.New(context.WithoutCancel(ctx), known, j.seed, workers)
		}
	})
	if j.err != nil {
		return nil, j.err
	}
	n, out := views[0].Rows, make([][]float64, len(views))
	for v := range out {
		out[v] = make([]float64, n)
	}
	return out, parallel.For(ctx, workers, (n+trustRows-1)/trustRows, func(_, c int) error {
		lo, hi := c*trustRows, min((c+1)*trustRows, n)
		blocks, err := s.before(ctx, views, lo, hi)
		if err != nil {
			return err
		}
		found, err := j.judge.Of(ctx, s.inputs.sideBySide(blocks, upTo(hi-lo)), 1)
		for v := range found {
			copy(out[v][lo:], found[v])
		}
		return err
	})
}

// trustRows is the number of samples that a goroutine judges at once.
const trustRows = 256

// upTo returns the numbers below n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// known returns the rows of the training samples that others are compared with.
func (s *Transform[T]) known() (trust.Rows[T], error) {
	switch {
	case s.judging.known != nil:
		return *s.judging.known, nil
	case s.graph.before == nil:
		return trust.Rows[T]{}, errors.New("the model was saved without the samples that trust compares others with")
	}
	b := s.graph.before[0]
	return s.inputs.sideBySide(s.graph.before, trust.Samples(len(b.X)/b.Ld, s.judging.seed)), nil
}

// sideBySide returns the rows of some samples, the inputs of each view side by side.
func (s *Inputs[T]) sideBySide(blocks []neighbor.Block[T], samples []int) trust.Rows[T] {
	dims := viewColumns(s.Inputs)
	out := trust.Rows[T]{
		Views: make([][]T, len(dims)), Dims: dims, Parts: inputColumns(s.Inputs), Present: make([][]bool, len(dims)),
	}
	at := make([]int, len(dims))
	for k, in := range s.Inputs {
		v, b := in.View, &blocks[k]
		if out.Views[v] == nil {
			out.Views[v] = make([]T, len(samples)*dims[v])
		}
		if b.Present != nil && out.Present[v] == nil {
			out.Present[v] = make([]bool, len(samples))
		}
		for r, i := range samples {
			copy(out.Views[v][r*dims[v]+at[v]:], b.X[i*b.Ld:i*b.Ld+b.Cols])
			if b.Present != nil {
				out.Present[v][r] = b.Present[i]
			}
		}
		at[v] += b.Cols
	}
	return out
}

// viewColumns returns the number of columns of the inputs of each view.
func viewColumns(inputs []prepare.Input) []int {
	var out []int
	for _, in := range inputs {
		for len(out) <= in.View {
			out = append(out, 0)
		}
		out[in.View] += in.Columns
	}
	return out
}

// inputColumns returns, of each view, the columns of its inputs.
func inputColumns(inputs []prepare.Input) [][]int {
	var out [][]int
	for _, in := range inputs {
		for len(out) <= in.View {
			out = append(out, nil)
		}
		out[in.View] = append(out[in.View], in.Columns)
	}
	return out
}

// saveKnown appends the rows that others are compared with, where the index does not have them.
func (s *Transform[T]) saveKnown(f *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	known := s.judging.known
	if known == nil {
		return
	}
	for v, x := range known.Views {
		f.Tensors = append(f.Tensors, floats(knownName(v), kernel.Float64s(x), known.Len(), known.Dims[v]))
		if known.Present[v] != nil {
			f.Tensors = append(f.Tensors, safetensors.Ints(knownPresentName(v), ones(known.Present[v]), known.Len()))
		}
	}
}

// readKnown reads what saveKnown wrote, if it did.
func (s *Transform[T]) readKnown(in *file.Tensors) {
	if !in.Has(knownName(0)) {
		return
	}
	known := trust.Rows[T]{Dims: viewColumns(s.inputs.Inputs), Parts: inputColumns(s.inputs.Inputs)}
	for v, d := range known.Dims {
		x := in.Floats(knownName(v), -1, d)
		if in.Err != nil {
			return
		}
		if n := len(x) / d; n < 1 || v > 0 && n != known.Len() {
			in.Fail("%q has %d rows", knownName(v), n)
			return
		}
		known.Views = append(known.Views, kernel.Convert[T](x))
		var present []bool
		if name := knownPresentName(v); in.Has(name) {
			for _, e := range in.Ints(name, len(x)/d) {
				present = append(present, e != 0)
			}
		}
		known.Present = append(known.Present, present)
	}
	s.judging.known = &known
}

func knownName(v int) string        { return fmt.Sprintf("known_samples.%d", v) }
func knownPresentName(v int) string { return fmt.Sprintf("known_present.%d", v) }
