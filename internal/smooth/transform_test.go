package smooth

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/trust"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/neighbor"
)

// made are inputs of n samples, before and after smoothing, and what takes new ones there.
type made struct {
	inputs        *Inputs[float64]
	before, after []neighbor.Block[float64]
	transform     *Transform[float64]
}

func makeInputs(t *testing.T, views []view.View, n int, o Options) made {
	t.Helper()
	ctx := context.Background()
	in, err := Find[float64](ctx, views, o)
	if err != nil {
		t.Fatal(err)
	}
	blocks, _, err := in.Fill(ctx, views, o)
	if err != nil {
		t.Fatal(err)
	}
	m := made{inputs: in, after: blocks}
	for _, b := range blocks {
		b.X = slices.Clone(b.X)
		m.before = append(m.before, b)
	}
	filled, err := in.Filled(ctx, blocks, n, o)
	if err != nil {
		t.Fatal(err)
	}
	graph, err := in.Join(ctx, blocks, filled, n, o)
	if err != nil {
		t.Fatal(err)
	}
	if m.transform, err = graph.Smooth(ctx, in, blocks, n, o); err != nil {
		t.Fatal(err)
	}
	return m
}

// A training sample that is taken as a new one gets the bits that it had in training; novelty and trust are those of the rows
// before and after smoothing; and a transform that was saved does the same.
func TestTrainingSamplesAsNewOnes(t *testing.T) {
	const n = 90
	views := denseViews(n, 30, 5, 24)
	for i := range n { // samples of three kinds
		for _, x := range views {
			for j := range x.Cols {
				x.F64[i*x.Cols+j] += float64(3 * ((i%3*7 + j) % 3))
			}
		}
	}
	views[2].Present = make([]bool, n)
	for i := range n {
		views[2].Present[i] = i%4 != 1
	}
	for _, x := range views { // samples 5 and 41 are equal in the views that they have
		copy(x.F64[41*x.Cols:42*x.Cols], x.F64[5*x.Cols:6*x.Cols])
	}
	for j := range 24 {
		views[2].F64[41*24+j]++ // of a row that is not there
	}
	dims := []int{30, 5, 24}
	for name, exact := range map[string]int{"exact": 1000, "landmarks": -1} {
		t.Run(name, func(t *testing.T) {
			o := Options{Kind: prepare.Both, Neighbors: 5, Directions: 12, Steps: 6, Exact: exact, Seed: 3, Workers: 1}
			m := makeInputs(t, views, n, o)
			checkAlone(t, &m, views, o)
			checkLast(t, &m, views, o)
			f := &safetensors.File{}
			m.transform.Save(f, safetensors.Float64s)
			in := &file.Tensors{File: f}
			read := Read[float64](in, o, m.inputs.Inputs, dims, n, 4)
			if in.Err != nil {
				t.Fatal(in.Err)
			}
			for _, s := range []*Transform[float64]{m.transform, read} {
				checkTaken(t, s, &m, views)
			}
			f.Tensor(filledName).Data[0]++
			if Read[float64](in, o, m.inputs.Inputs, dims, n, 4); in.Err == nil {
				t.Error("a file whose rows were filled in another number of steps is read")
			}
		})
	}
}

// unlikeAll takes samples as new ones, in two parts, and returns how unlike the training samples they are.
func unlikeAll(t *testing.T, s *Transform[float64], views []view.View) []float64 {
	t.Helper()
	n := views[0].Rows
	out, b := make([]float64, n), &prepare.Buffer[float64]{Keeps: true}
	for _, part := range [][2]int{{0, n / 3}, {n / 3, n}} {
		lo, hi := part[0], part[1]
		if _, err := s.Take(t.Context(), views, lo, hi, hi-lo, b); err != nil {
			t.Fatal(err)
		}
		s.Unlike(views, lo, b, out[lo:hi])
	}
	return out
}

// checkAlone compares what novelty is measured by, of samples without their own part in what they are smoothed to, with the same
// of training samples, which have it: nothing is more like a sample than that.
func checkAlone(t *testing.T, m *made, views []view.View, o Options) {
	t.Helper()
	n := views[0].Rows
	alone, err := m.transform.UnlikeSome(t.Context(), SomeOf(m.before, n, o), n, o)
	if err != nil {
		t.Fatal(err)
	}
	within := unlikeAll(t, m.transform, views)
	for i, x := range alone {
		if !(x > within[i]) {
			t.Errorf("sample %d is unlike the others by %v without itself, by %v with itself", i, x, within[i])
		}
	}
}

// checkLast smooths a representation of the training samples, and the same as that of new ones.
func checkLast(t *testing.T, m *made, views []view.View, o Options) {
	t.Helper()
	const columns, ld, lo, hi = 3, 16, 20, 75
	n := views[0].Rows
	given := make([]float64, n*ld)
	for i := range n {
		given[i*ld+i%columns] = 1
	}
	h, s := slices.Clone(given), *m.transform
	if err := s.SmoothLast(t.Context(), h, n, columns, ld, o); err != nil {
		t.Fatal(err)
	}
	var b prepare.Buffer[float64]
	if _, err := s.Take(t.Context(), views, lo, hi, hi-lo, &b); err != nil {
		t.Fatal(err)
	}
	part := given[lo*ld : hi*ld]
	if err := s.Last(t.Context(), part, columns, ld, &b); err != nil {
		t.Fatal(err)
	}
	for j, x := range part {
		if math.Abs(x-h[lo*ld+j]) > 1e-12 {
			t.Fatalf("column %d of sample %d is %v, in training it was %v", j%ld, lo+j/ld, x, h[lo*ld+j])
		}
	}
}

func checkTaken(t *testing.T, s *Transform[float64], m *made, views []view.View) {
	t.Helper()
	ctx, n := context.Background(), views[0].Rows
	const lo, hi = 20, 75
	taken, err := s.Take(ctx, views, lo, hi, hi-lo, &prepare.Buffer[float64]{})
	if err != nil {
		t.Fatal(err)
	}
	far := make([]float64, n)
	for k, b := range m.after {
		if b.Present == nil && !slices.Equal(b.X[5*b.Ld:6*b.Ld], b.X[41*b.Ld:42*b.Ld]) {
			t.Errorf("input %d of equal samples differs", k)
		}
	}
	for i := range n {
		count := 0.0
		for k, in := range m.inputs.Inputs {
			if !views[in.View].Has(i) {
				continue
			}
			b := m.after[k]
			before, after := m.before[k].X[i*b.Ld:i*b.Ld+b.Cols], b.X[i*b.Ld:i*b.Ld+b.Cols]
			far[i], count = far[i]+unlike(before, after), count+1
			if row := make([]float64, b.Cols); i >= lo && i < hi {
				if taken[k].Row(i-lo, row); !slices.Equal(row, after) {
					t.Fatalf("input %d of sample %d is another", k, i)
				}
			}
		}
		far[i] /= count
	}
	for i, x := range unlikeAll(t, s, views) {
		if math.Abs(x-far[i]) > 1e-12 {
			t.Fatalf("sample %d is unlike the others by %v, want %v", i, x, far[i])
		}
	}
	want := trustByHand(t, m, views)
	found, err := s.Trust(ctx, views, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(found, want, slices.Equal[[]float64]) {
		t.Error("the trust in the views is another")
	}
	if two, err := s.Trust(ctx, views[:1], 1); err == nil {
		t.Errorf("the trust in one view is %v", two)
	}
}

// trustByHand is the trust in rows of which the inputs of each view are side by side, before smoothing.
func trustByHand(t *testing.T, m *made, views []view.View) [][]float64 {
	t.Helper()
	n := views[0].Rows
	side := func(samples []int) trust.Rows[float64] {
		r := trust.Rows[float64]{Present: make([][]bool, len(views)), Odd: make([][]float64, len(views))}
		for v, x := range views {
			values, raw := []float64(nil), make([]float64, x.Cols)
			for _, i := range samples {
				for k, in := range m.inputs.Inputs {
					if b := m.before[k]; in.View == v {
						values = append(values, b.X[i*b.Ld:i*b.Ld+b.Cols]...)
					}
				}
				r.Present[v] = append(r.Present[v], x.Has(i))
				odd := 0.0
				if x.Has(i) {
					x.Row(i, raw)
					odd = m.inputs.look[v].noise.Oddness(view.Marks(raw, m.inputs.look[v].mean))
				}
				r.Odd[v] = append(r.Odd[v], odd)
			}
			r.Views, r.Dims = append(r.Views, values), append(r.Dims, len(values)/len(samples))
		}
		return r
	}
	judge, err := trust.New(context.Background(), side(trust.Samples(n, 3)), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	out, err := judge.Of(context.Background(), side(lists.Indices(n)), 1)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A filter of the representation of another number of steps, as another version would save it, is refused.
func TestLastFilterOfAnotherVersion(t *testing.T) {
	for steps, good := range map[int]bool{lastSteps: true, lastSteps + 1: false, lastSteps - 1: false} {
		in := &file.Tensors{File: &safetensors.File{Tensors: []safetensors.Tensor{
			safetensors.Float64s(lastName, []float64{1, 2, 3, 4, 5, 6}, 2, 3), safetensors.Ints(lastStepsName, []int{steps}, 1),
		}}}
		s := &Transform[float64]{}
		if s.readLast(in, 2, 3); (in.Err == nil) != good || s.Smooths() != good {
			t.Errorf("%d steps: %v", steps, in.Err)
		}
	}
}
