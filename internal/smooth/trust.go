package smooth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// judging holds the trust in views, learned from some of the training samples at the first use.
type judging[T kernel.Float] struct {
	seed  uint64
	known *trust.Rows[T] // nil with exact neighbours, whose index has the rows
	look  []appearance   // of the views; nil: there is a single view, or the file did not have it
	once  sync.Once
	ready chan struct{} // set in once; closed when judge or err is set
	judge *trust.Judge[T]
	err   error
}

// Trust returns the trust in the rows of samples, for each view and sample, see internal/trust.
func (s *Transform[T]) Trust(ctx context.Context, views []view.View, workers int) ([][]float64, error) {
	if len(views) < 2 {
		return nil, trust.ErrOneView
	}
	j := s.judging
	if err := s.learn(ctx, workers); err != nil {
		return nil, err
	}
	n, out := views[0].Rows, make([][]float64, len(views))
	for v := range out {
		out[v] = make([]float64, n)
	}
	return out, parallel.For(ctx, workers, (n+trustRows-1)/trustRows, func(_, c int) error {
		lo, hi := c*trustRows, min((c+1)*trustRows, n)
		t := newTaken[T](len(s.inputs.Inputs))
		if err := s.before(ctx, views, lo, hi, 1, t); err != nil {
			return err
		}
		rows := s.inputs.sideBySide(t.blocks, lists.Indices(hi-lo))
		var err error
		if rows.Odd, err = j.odd(ctx, views, lo, hi); err != nil {
			return err
		}
		found, err := j.judge.Of(ctx, rows, 1)
		for v := range found {
			copy(out[v][lo:], found[v])
		}
		return err
	})
}

// learn waits for the judge. The first call makes it.
func (s *Transform[T]) learn(ctx context.Context, workers int) error {
	j := s.judging
	j.once.Do(func() {
		j.ready = make(chan struct{})
		go func() { // All callers share the judge, so none of them can cancel it, and none has to wait for it if cancelled.
			defer close(j.ready)
			j.err = parallel.Caught(func() error {
				known, err := s.known()
				if err != nil {
					return err
				}
				j.judge, err = trust.New(context.WithoutCancel(ctx), known, j.seed, workers)
				return err
			})
		}()
	})
	select {
	case <-j.ready:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// odd returns the oddness of the rows of samples.
func (j *judging[T]) odd(ctx context.Context, views []view.View, lo, hi int) ([][]float64, error) {
	out := make([][]float64, len(views))
	for v, x := range views {
		row := make([]float64, x.Cols)
		out[v] = make([]float64, hi-lo)
		for i := lo; i < hi; i++ {
			if err := ctx.Err(); err != nil { // A row can have millions of columns.
				return nil, err
			}
			if x.Has(i) {
				x.Row(i, row)
				out[v][i-lo] = j.look[v].noise.Oddness(view.Marks(row, j.look[v].mean))
			}
		}
	}
	return out, nil
}

// trustRows is the number of samples that a goroutine judges at once.
const trustRows = 256

// known returns the rows of training samples that other samples are compared with.
func (s *Transform[T]) known() (trust.Rows[T], error) {
	missing := errors.New("the model comes from a version that did not save the data for trust in views: fit it again")
	switch {
	case s.judging.look == nil:
		return trust.Rows[T]{}, missing
	case s.judging.known != nil:
		return *s.judging.known, nil
	case s.graph.before == nil:
		return trust.Rows[T]{}, missing
	}
	b := s.graph.before[0]
	return s.inputs.sideBySide(s.graph.before, trust.Samples(len(b.X)/b.Ld, s.judging.seed)), nil
}

// sideBySide returns the rows of some samples, the inputs of each view side by side.
func (s *Inputs[T]) sideBySide(blocks []neighbor.Block[T], samples []int) trust.Rows[T] {
	dims := viewColumns(s.Inputs)
	out := trust.Rows[T]{
		Views: make([][]T, len(dims)), Dims: dims, Present: make([][]bool, len(dims)),
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
	for v, p := range out.Present {
		if !slices.Contains(p, false) { // A mask that hides none of these samples is dropped.
			out.Present[v] = nil
		}
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

// saveKnown appends the rows that samples are compared with, if the index does not have them.
func (s *Transform[T]) saveKnown(f *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	add := func(t safetensors.Tensor) { f.Tensors = append(f.Tensors, t) }
	for v, l := range s.judging.look {
		add(safetensors.Float64s(meanName(v), l.mean, len(l.mean)))
		add(safetensors.Float64s(noiseName(v), l.noise.Values(), trust.NoiseValues(view.MarkCount)))
	}
	known := s.judging.known
	for v := 0; known != nil && v < len(known.Views); v++ {
		add(floats(knownName(v), kernel.Float64s(known.Views[v]), known.Len(), known.Dims[v]))
		if known.Present[v] != nil {
			add(safetensors.Ints(knownPresentName(v), ones(known.Present[v]), known.Len()))
		}
	}
}

// readKnown reads the result of saveKnown, if the file has it.
func (s *Transform[T]) readKnown(in *file.Tensors, dims []int) {
	for v := 0; v < len(dims) && in.Err == nil && in.Has(noiseName(0)); v++ {
		mean, values := in.Floats(meanName(v), dims[v]), in.Floats(noiseName(v), trust.NoiseValues(view.MarkCount))
		if in.Err == nil {
			s.judging.look = append(s.judging.look, appearance{mean, trust.NoiseOf(values, view.MarkCount)})
		}
	}
	if in.Err != nil || !in.Has(knownName(0)) {
		return
	}
	known := trust.Rows[T]{Dims: viewColumns(s.inputs.Inputs)}
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

func noiseName(v int) string        { return fmt.Sprintf("noise.%d", v) }
func meanName(v int) string         { return fmt.Sprintf("noise_mean.%d", v) }
func knownName(v int) string        { return fmt.Sprintf("known_samples.%d", v) }
func knownPresentName(v int) string { return fmt.Sprintf("known_present.%d", v) }
