package smooth

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/spectral"
	"github.com/largemvc/largemvc/neighbor"
)

// Save appends all tensors that Take needs: docs/format.md lists the names.
func (s *Transform[T]) Save(f *safetensors.File, floats func(string, []float64, ...int) safetensors.Tensor) {
	add := func(t safetensors.Tensor) { f.Tensors = append(f.Tensors, t) }
	for _, st := range s.inputs.prepare {
		st.Save(f)
	}
	for k, in := range s.inputs.Inputs {
		if b := s.inputs.directions[k].basis; b != nil {
			add(safetensors.Float64s(fmt.Sprintf("directions.%d", k), b.V[0], in.Columns, b.Dims[0]))
			add(safetensors.Float64s(fmt.Sprintf("singular_values.%d", k), b.S, in.Columns))
		} else if b := s.inputs.directions[k].span; b != nil {
			saveSpan(f, k, b)
		}
		filter := s.filters[k]
		add(
			floats(
				fmt.Sprintf("filter.%d", k), withoutPadding(filter.Table, filter.Atoms, filter.Cols),
				filter.Atoms, filter.Cols,
			),
		)
		if filter.All != nil {
			add(safetensors.Float64s(fmt.Sprintf("filter_all.%d", k), filter.All, filter.Atoms))
			add(safetensors.Float64s(fmt.Sprintf("filter_have.%d", k), filter.Have, filter.Atoms))
		}
	}
	s.saveLast(f, floats)
	s.saveKnown(f, floats)
	state := s.graph.index.State()
	if state.Spaces[0].Filled {
		add(safetensors.Ints(filledName, []int{fillSteps}, 1))
	}
	saveIndex(f, "", floats, state)
	for k, b := range s.graph.before {
		n := len(b.X) / b.Ld
		add(floats(fmt.Sprintf("samples.%d", k), withoutPadding(b.X, n, b.Cols), n, b.Cols))
		if s.filters[k].All != nil {
			add(safetensors.Ints(fmt.Sprintf("present.%d", k), ones(b.Present), n))
		}
	}
}

// saveIndex appends the neighbours or the landmarks of an index, whose names begin with prefix.
func saveIndex[T kernel.Float](
	f *safetensors.File, prefix string, floats func(string, []float64, ...int) safetensors.Tensor, state neighbor.State[T],
) {
	add := func(t safetensors.Tensor) {
		t.Name = prefix + t.Name
		f.Tensors = append(f.Tensors, t)
	}
	if state.Lengths != nil {
		add(safetensors.Float64s(lengthsName, state.Lengths, len(state.Lengths)))
	}
	for q, l := range state.Lists {
		index, square := make([]int, len(l.Index)), make([]float64, len(l.Index))
		for e, j := range l.Index {
			if index[e], square[e] = int(j), l.Square[e]; j < 0 {
				square[e] = -1
			}
		}
		add(safetensors.Ints(fmt.Sprintf("neighbors.%d", q), index, l.N, l.K))
		add(safetensors.Float64s(fmt.Sprintf("neighbor_distances.%d", q), square, l.N, l.K))
	}
	for q, l := range state.Landmarks {
		for i, k := range state.Spaces[q].Views {
			add(floats(fmt.Sprintf("landmarks.%d.%d", q, k), kernel.Float64s(l.Centroids[i]), len(l.Scale), state.Dims[k]))
		}
		add(safetensors.Float64s(fmt.Sprintf("landmark_scale.%d", q), l.Scale, len(l.Scale)))
	}
}

// filledName is the tensor with the number of steps that fill the rows of absent views in spaces of several views.
const filledName = "filled"

// lengthsName is the tensor with the lengths to which short rows of new samples are scaled. Models without it do not scale rows,
// nor do they fill rows that new samples lack.
const lengthsName = "lengths"

// withoutPadding returns the n×d entries of rows with the stride for operators.
func withoutPadding[T kernel.Float](x []T, n, d int) []float64 {
	out, ld := make([]float64, 0, n*d), neighbor.Stride(d)
	for i := range n {
		for _, e := range x[i*ld : i*ld+d] {
			out = append(out, float64(e))
		}
	}
	return out
}

// withPadding is the inverse of withoutPadding.
func withPadding[T kernel.Float](x []float64, n, d int) []T {
	ld := neighbor.Stride(d)
	out := make([]T, n*ld)
	for i := range n {
		for j, e := range x[i*d : (i+1)*d] {
			out[i*ld+j] = T(e)
		}
	}
	return out
}

func ones(b []bool) []int {
	out := make([]int, len(b))
	for i, x := range b {
		if x {
			out[i] = 1
		}
	}
	return out
}

// Read reads the result of Save for a transform with the given options and inputs, views of dims features and the given numbers
// of training samples and of columns of the representation; in has the first error.
func Read[T kernel.Float](in *file.Tensors, o Options, inputs []prepare.Input, dims []int, samples, columns int) *Transform[T] {
	st := &Standardised{Inputs: inputs}
	s := &Transform[T]{inputs: &Inputs[T]{Standardised: st}, graph: &Graph[T]{}, judging: &judging[T]{seed: o.Seed}}
	kinds := o.Kind.Parts()
	for _, kind := range kinds {
		st.prepare = append(st.prepare, prepare.Read(in, kind, dims))
	}
	for k, is := range inputs {
		part := slices.Index(kinds, is.Kind)
		if part < 0 {
			in.Fail("input %d has the preprocessing %v, the model has %v", k, is.Kind, o.Kind)
			return s
		}
		st.part = append(st.part, part)
		var to direction[T]
		if d := prepare.Width(dims[is.View], is.Length); is.Columns < d && in.Has(spanName("weights", k)) {
			to.span = readSpan(in, k, is.Columns, d)
			if in.Err != nil {
				return s
			}
			var err error
			if to.projector, err = spectral.NewSpanProjector[T](to.span); err != nil {
				in.Fail("input %d: %w", k, err)
				return s
			}
		} else if is.Columns < d {
			to.basis = &spectral.Basis{
				Dims: []int{d}, V: [][]float64{in.Floats(fmt.Sprintf("directions.%d", k), is.Columns, d)},
				S: in.Floats(fmt.Sprintf("singular_values.%d", k), is.Columns),
			}
			if in.Err != nil {
				return s
			}
			to.projector = spectral.NewProjector[T](to.basis)
		}
		s.inputs.directions = append(s.inputs.directions, to)
	}
	filled := in.Has(filledName)
	if filled {
		if steps := in.Ints(filledName, 1); in.Err == nil && steps[0] != fillSteps {
			in.Fail("%q is %d, want %d", filledName, steps[0], fillSteps)
		}
		if in.Err != nil {
			return s
		}
	}
	state := neighbor.State[T]{Spaces: s.inputs.spaces(filled), Config: neighbor.Config{Neighbors: o.Neighbors}}
	for _, is := range inputs {
		state.Dims = append(state.Dims, is.Columns)
	}
	atoms := samples
	if o.Searched(samples) {
		s.readNeighbors(in, &state, samples)
	} else {
		readLandmarks(in, "", &state)
		atoms = atomsOf(state.Landmarks)
	}
	s.readFilters(in, atoms, o.steps(samples))
	s.readLast(in, atoms, columns)
	s.readKnown(in, dims)
	if in.Err != nil {
		return s
	}
	x, err := viewsOfBlocks(s.graph.before, samples)
	if err == nil {
		s.graph.index, err = neighbor.Restore(context.Background(), state, x, o.Workers)
	}
	if err != nil {
		in.Fail("its neighbours: %w", err)
		return s
	}
	s.graph.index.Prepare()
	return s
}

// readLists reads the neighbours of n samples that saveIndex wrote.
func readLists[T kernel.Float](in *file.Tensors, prefix string, state *neighbor.State[T], n int) {
	if in.Has(prefix + lengthsName) {
		state.Config.Adapt, state.Lengths = true, in.Floats(prefix+lengthsName, len(state.Dims))
	}
	most := max(1, min(state.Config.Neighbors, n-1))
	for q := range state.Spaces {
		index := in.Ints(fmt.Sprintf("%sneighbors.%d", prefix, q), n, most)
		square := in.Floats(fmt.Sprintf("%sneighbor_distances.%d", prefix, q), n, most)
		if in.Err != nil {
			return
		}
		l := &neighbor.Lists{N: n, K: most, Index: make([]int32, len(index)), Square: square}
		for e, j := range index {
			if j < -1 || j >= n {
				in.Fail("a neighbour in space %d is %d, of %d samples", q, j, n)
				return
			}
			if l.Index[e] = int32(j); j < 0 {
				square[e] = math.Inf(1)
			}
		}
		state.Lists = append(state.Lists, l)
	}
}

// readNeighbors reads the state of an index of exact neighbours among n samples.
func (s *Transform[T]) readNeighbors(in *file.Tensors, state *neighbor.State[T], n int) {
	readLists(in, "", state, n)
	for k, is := range s.inputs.Inputs {
		x := in.Floats(fmt.Sprintf("samples.%d", k), n, is.Columns)
		if in.Err != nil {
			return
		}
		b := neighbor.Block[T]{X: withPadding[T](x, n, is.Columns), Ld: neighbor.Stride(is.Columns), Cols: is.Columns}
		if incomplete(in, k) {
			b.Present = make([]bool, n)
			for i, is := range in.Ints(fmt.Sprintf("present.%d", k), n) {
				b.Present[i] = is != 0
			}
		}
		s.graph.before = append(s.graph.before, b)
	}
}

// readLandmarks reads the landmarks that saveIndex wrote.
func readLandmarks[T kernel.Float](in *file.Tensors, prefix string, state *neighbor.State[T]) {
	for q, space := range state.Spaces {
		l := neighbor.Landmarks[T]{Scale: in.Floats(fmt.Sprintf("%slandmark_scale.%d", prefix, q), -1)}
		l.Nearest = nearestOf(len(l.Scale))
		for _, k := range space.Views {
			l.Centroids = append(
				l.Centroids,
				kernel.Convert[T](in.Floats(fmt.Sprintf("%slandmarks.%d.%d", prefix, q, k), len(l.Scale), state.Dims[k])),
			)
		}
		state.Landmarks = append(state.Landmarks, l)
	}
}

// readFilters reads the filters of the inputs over the given number of atoms.
func (s *Transform[T]) readFilters(in *file.Tensors, atoms, steps int) {
	for k, is := range s.inputs.Inputs {
		table := in.Floats(fmt.Sprintf("filter.%d", k), atoms, is.Columns)
		if in.Err != nil {
			return
		}
		f := &neighbor.Filter[T]{
			Steps: steps, Cols: is.Columns, Atoms: atoms, Table: withPadding[T](table, atoms, is.Columns),
		}
		if incomplete(in, k) {
			f.All = in.Floats(fmt.Sprintf("filter_all.%d", k), atoms)
			f.Have = in.Floats(fmt.Sprintf("filter_have.%d", k), atoms)
		}
		s.filters = append(s.filters, f)
	}
}

// incomplete reports whether some samples lack an input: then the file has all of these tensors.
func incomplete(in *file.Tensors, input int) bool {
	return slices.ContainsFunc([]string{"present", "filter_all", "filter_have"}, func(name string) bool {
		return in.Has(fmt.Sprintf("%s.%d", name, input))
	})
}
