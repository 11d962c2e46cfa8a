package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Memory is a Shard whose rows and row state lie in memory. Its passes run over fixed chunks of rows, several at a time, and add
// the chunks' sums in order: the bits do not depend on the number of goroutines.
type Memory[T kernel.Float] struct {
	spec *Spec
	n    int // rows of this shard
	from int // its first row among all samples
	ld   int // stride of row state
	x    []rows.Matrix[T]

	present [][]T // b per view, 0 or 1; nil where every sample has the view
	weight  [][]T // b/V_i per view: the weight of a view in a sample's mean over views
	norms   [][]float64

	h       [][]T       // H_l, l from 0; h[0] is nil for a zero start
	y       [][][]T     // Y_l per view, l from 0 to L−1 (constant anchors: Y_0 alone)
	noise   [][]T       // E_0·P_0ᵀ per view; nil for E_0 = 0
	trust   [][][]T     // t_l per view, l from 1
	resid   [][][]T     // r_l
	direct  [][][]uint8 // rows whose residual was computed from x − hP
	pattern [][][]uint8
	a       [][][]T // SELU keeps A itself

	dh     []T   // cotangent of H in the current pass
	dt     [][]T // cotangent of t_{l−1} per view
	addedH [][]T
	addedT [][][]T

	term Term[T] // nil: none

	columns []*byColumns[T] // of the sparse views with products by columns; nil until a pass needs them
	panels  panels[T]
	block   int
	chunk   int
	scratch []*scratch[T]
	sums    []*chunkSums[T]
	free    int
	mu      sync.Mutex
}

var (
	_ Shard = (*Memory[float32])(nil)
	_ Shard = (*Memory[float64])(nil)
)

const (
	denseChunk = 512
	mostRows   = 192
	// Sparse rows cost m×d_v additions for each chunk besides their entries, and as many for each block without products by
	// columns. So these blocks are large.
	sparseChunk = 1024
	sparseRows  = 512
	// sparseShare is the approximate share of the columns in which a row of a sparse view has entries.
	sparseShare = 32
)

// blockRows returns the number of rows that stay in cache together, for rows of the given bytes: about 3/4 MiB of X.
func blockRows(bytes, most int) int { return min(max(768<<10/max(bytes, 1), 24), most) &^ 7 }

func elementSize[T kernel.Float]() int { var t T; return int(unsafe.Sizeof(t)) }

// ChunkRows returns the number of rows in one partial sum, for a network with or without sparse views. A shard must begin at a
// multiple of it.
func ChunkRows(spec *Spec, sparse bool) int {
	if sparse {
		return parallel.ChunkRows(spec.Samples, sparseChunk)
	}
	return parallel.ChunkRows(spec.Samples, denseChunk)
}

// NewMemory returns a shard of the rows in x. The first row is sample number `first`, a multiple of ChunkRows. present[v] says
// which of the rows have view v (nil: all rows of all shards); absent rows of x must be zero. h0 is the initial representation
// (row-major, m values a row), nil for zero. Without training, state for backward passes is omitted.
func NewMemory[T kernel.Float](
	spec *Spec, first int, x []rows.Matrix[T], present [][]bool, h0 []float64, training bool,
) (*Memory[T], error) {
	return newMemoryWithin(spec, first, x, present, h0, training, nil)
}

func newMemoryWithin[T kernel.Float](
	spec *Spec, first int, x []rows.Matrix[T], present [][]bool, h0 []float64, training bool, spare [][]T,
) (*Memory[T], error) {
	s, err := newMemory(spec, first, x, present)
	if err != nil {
		return nil, err
	}
	s.allocate(h0, training, spare)
	return s, nil
}

// newMemory returns a shard without state.
func newMemory[T kernel.Float](spec *Spec, first int, x []rows.Matrix[T], present [][]bool) (*Memory[T], error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	if len(x) != len(spec.Dims) {
		return nil, fmt.Errorf("engine: the data have %d views, the network has %d", len(x), len(spec.Dims))
	}
	n, _ := x[0].Dims()
	bytes, most, any := 0, mostRows, false
	sparse := make([]bool, len(x))
	for v, xv := range x {
		nv, d := xv.Dims()
		if nv != n || d != spec.Dims[v] {
			return nil, fmt.Errorf("engine: view %d is %d×%d, want %d×%d", v, nv, d, n, spec.Dims[v])
		}
		// The layout of a row depends only on its width, because the bits of sums within a chunk depend on its blocks.
		if sparse[v] = isSparse(xv); sparse[v] {
			any, most, d = true, sparseRows, (d+sparseShare-1)/sparseShare
		}
		bytes += d * elementSize[T]()
	}
	s := &Memory[T]{spec: spec, panels: panels[T]{sparse: sparse}, n: n, from: first, ld: kernel.Pad(spec.Anchors), x: x,
		block: blockRows(bytes, most), chunk: ChunkRows(spec, any)}
	if first%s.chunk != 0 {
		return nil, fmt.Errorf("engine: the first sample of a shard is %d, want a multiple of %d", first, s.chunk)
	}
	s.setPresence(present)
	return s, nil
}

// Factory makes the shards of a network for training, for the rows of all samples. Its arguments are the arguments of NewMemory.
type Factory[T kernel.Float] func(spec *Spec, x []rows.Matrix[T], present [][]bool, h0 []float64) ([]Shard, error)

// InMemory is the Factory of a single shard in memory.
func InMemory[T kernel.Float](spec *Spec, x []rows.Matrix[T], present [][]bool, h0 []float64) ([]Shard, error) {
	return InMemoryFrom[T](0)(spec, x, present, h0)
}

// InMemoryFrom returns the Factory of a single shard in memory whose first row is the given sample. It puts state in spare
// memory, as far as that reaches. Nothing else may use this memory while the shard is used.
func InMemoryFrom[T kernel.Float](first int, spare ...[]T) Factory[T] {
	return func(spec *Spec, x []rows.Matrix[T], present [][]bool, h0 []float64) ([]Shard, error) {
		s, err := newMemoryWithin(spec, first, x, present, h0, true, spare)
		if err != nil {
			return nil, err
		}
		return []Shard{s}, nil
	}
}

func (s *Memory[T]) setPresence(present [][]bool) {
	views := len(s.x)
	s.present = make([][]T, views)
	s.weight = make([][]T, views)
	count := make([]int, s.n)
	for v := range views {
		for i := range count {
			if present == nil || present[v] == nil || present[v][i] {
				count[i]++
			}
		}
	}
	full := make([]T, s.n)
	for i, c := range count {
		full[i] = 1 / T(max(c, 1))
	}
	for v := range views {
		s.weight[v] = full
		if present == nil || present[v] == nil || s.n == s.spec.Samples && all(present[v]) {
			continue
		}
		s.present[v] = make([]T, s.n)
		s.weight[v] = make([]T, s.n)
		for i, ok := range present[v] {
			if ok {
				s.present[v][i], s.weight[v][i] = 1, full[i]
			}
		}
	}
}

func all(b []bool) bool { return !slices.Contains(b, false) }

func (s *Memory[T]) allocate(h0 []float64, training bool, spare [][]T) {
	sp, views, spare := s.spec, len(s.x), slices.Clone(spare)
	values := func() []T { return make([]T, s.n) }
	state := func() []T { return make([]T, s.n*s.ld) }
	s.h = make([][]T, sp.Layers+1)
	for l := 1; l <= sp.Layers; l++ {
		s.h[l] = state()
	}
	if h0 != nil {
		s.h[0] = s.padded(h0)
	}
	stored := 1
	if sp.Anchored {
		stored = sp.Layers
	}
	s.y = make([][][]T, stored)
	for l := range s.y {
		s.y[l] = make([][]T, views)
		for v := range views {
			s.y[l][v] = takeSpare(spare, s.n*s.ld)
		}
	}
	s.allocateLayers(training)
	if training {
		s.dh = state()
		s.dt = make([][]T, views)
		for v := range views {
			s.dt[v] = values()
		}
	}
	s.norms = make([][]float64, views)
	for v := range views {
		s.norms[v] = make([]float64, s.n)
	}
}

// AddStartNoise sets the initial E of the next view, by E_v·P_vᵀ of its rows and of the initial anchors, row-major.
func (s *Memory[T]) AddStartNoise(x []float64) { s.noise = append(s.noise, s.padded(x)) }

// padded copies n×m values, row-major, to rows with the stride of row state.
func (s *Memory[T]) padded(x []float64) []T {
	out, m := make([]T, s.n*s.ld), s.spec.Anchors
	for i := range s.n {
		for j := range m {
			out[i*s.ld+j] = T(x[i*m+j])
		}
	}
	return out
}

// takeSpare returns size zeros, in spare memory if there is room.
func takeSpare[T kernel.Float](spare [][]T, size int) []T {
	at := slices.IndexFunc(spare, func(x []T) bool { return len(x) >= size })
	if at < 0 {
		return make([]T, size)
	}
	x := spare[at][:size:size]
	spare[at] = spare[at][size:]
	clear(x)
	return x
}

// allocateLayers allocates the state of each layer and view.
func (s *Memory[T]) allocateLayers(training bool) {
	sp, views := s.spec, len(s.x)
	values := func() []T { return make([]T, s.n) }
	s.trust = make([][][]T, sp.Layers+1)
	s.resid = make([][][]T, sp.Layers+1)
	s.direct = make([][][]uint8, sp.Layers+1)
	s.pattern = make([][][]uint8, sp.Layers+1)
	s.a = make([][][]T, sp.Layers+1)
	for l := 1; l <= sp.Layers; l++ {
		s.trust[l], s.resid[l] = make([][]T, views), make([][]T, views)
		s.direct[l] = make([][]uint8, views)
		s.pattern[l], s.a[l] = make([][]uint8, views), make([][]T, views)
		for v := range views {
			if sp.Noise {
				s.trust[l][v], s.resid[l][v], s.direct[l][v] = values(), values(), make([]uint8, s.n)
			}
			if sp.Represent == SELU && training {
				s.a[l][v] = make([]T, s.n*s.ld)
			} else if sp.Represent == ReLU {
				s.pattern[l][v] = make([]uint8, s.n*s.ld/4)
			}
		}
	}
	s.addedH = make([][]T, sp.Layers+1)
	s.addedT = make([][][]T, sp.Layers+1)
	for l := range s.addedT {
		s.addedT[l] = make([][]T, views)
	}
}

// Rows is the number of rows.
func (s *Memory[T]) Rows() int { return s.n }

// yOf returns Y_l of a view: with constant anchors, all layers share Y_0.
func (s *Memory[T]) yOf(l, v int) []T { return s.y[min(l, len(s.y)-1)][v] }

// Run does a pass over all rows.
func (s *Memory[T]) Run(ctx context.Context, p *Pass, tree *Tree) error {
	if err := s.panels.pack(ctx, s.spec, p); err != nil {
		return err
	}
	if s.spec.Anchored {
		s.makeColumns()
	}
	if err := rows.Failure(s.x); err != nil { // including failures after the last pass
		return err
	}
	s.free = 0
	correlates := p.Correlates(s.spec)
	chunks := (s.n + s.chunk - 1) / s.chunk
	err := parallel.Sum(ctx, s.spec.Workers, s.from/s.chunk, chunks, tree, s.chunkBuffer,
		func(worker, i int, acc *chunkSums[T], part *Sums) error {
			acc.clear(p)
			part.Begin(p, correlates)
			w := s.scratchOf(worker)
			lo, hi := i*s.chunk, min((i+1)*s.chunk, s.n)
			acc.first = lo
			for b := lo; b < hi; b += s.block {
				s.runBlock(p, &s.panels, w, acc, b, min(b+s.block, hi))
			}
			acc.addTo(p, correlates, part)
			if correlates {
				s.finishColumns(i, hi-lo, acc, w, part)
			}
			return nil
		})
	if failed := rows.Failure(s.x); failed != nil {
		return failed
	}
	return err
}

func (s *Memory[T]) runBlock(p *Pass, pk *panels[T], w *scratch[T], acc *chunkSums[T], lo, hi int) {
	switch p.Kind {
	case Project:
		for v, x := range s.x {
			x.Mul(lo, hi, &pk.views[v].p, s.y[0][v][lo*s.ld:hi*s.ld], s.ld)
			x.SquaredNorms(lo, hi, s.norms[v][lo:hi])
		}
	case Forward:
		s.forward(p, pk, w, acc, lo, hi)
	case Final:
		s.final(p, pk, w, acc, lo, hi)
	case Backward:
		s.backward(p, pk, w, acc, lo, hi)
	}
}

// chunkBuffer returns the shard's chunk sums, which exist as long as the shard.
func (s *Memory[T]) chunkBuffer() *chunkSums[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == len(s.sums) {
		s.sums = append(s.sums, newChunkSums(s.spec, s.columns, min(s.chunk, s.n)))
	}
	s.free++
	return s.sums[s.free-1]
}

func (s *Memory[T]) scratchOf(worker int) *scratch[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	for worker >= len(s.scratch) {
		s.scratch = append(s.scratch, newScratch[T](s.spec, s.block, s.ld))
	}
	return s.scratch[worker]
}

// AddH adds to the cotangent of H_l.
func (s *Memory[T]) AddH(layer int, cotangent []float64) error {
	if layer < 0 || layer > s.spec.Layers {
		return fmt.Errorf("engine: no layer %d", layer)
	}
	if s.addedH[layer] == nil {
		s.addedH[layer] = make([]T, s.n*s.ld)
	}
	dst, m := s.addedH[layer], s.spec.Anchors
	for i := range s.n {
		for j := range m {
			dst[i*s.ld+j] += T(cotangent[i*m+j])
		}
	}
	return nil
}

// AddTrust adds to the cotangent of t_lv.
func (s *Memory[T]) AddTrust(layer, view int, cotangent []float64) error {
	if layer < 1 || layer > s.spec.Layers || !s.spec.Noise {
		return fmt.Errorf("engine: no trust of layer %d", layer)
	}
	if s.addedT[layer][view] == nil {
		s.addedT[layer][view] = make([]T, s.n)
	}
	for i, c := range cotangent {
		s.addedT[layer][view][i] += T(c)
	}
	return nil
}

// ClearAdded clears the cotangents of AddH and AddTrust.
func (s *Memory[T]) ClearAdded() {
	for l := range s.addedH {
		clear(s.addedH[l])
		for v := range s.addedT[l] {
			clear(s.addedT[l][v])
		}
	}
}

// Bytes is the memory of the rows and their state.
func (s *Memory[T]) Bytes() int64 {
	total := int64(0)
	for _, x := range s.x {
		total += x.Bytes()
	}
	for _, c := range s.columns {
		if c != nil {
			total += c.bytes()
		}
	}
	start := len(s.noise)
	if s.h[0] != nil {
		start++
	}
	return total + StateBytes(s.spec, s.n, elementSize[T](), start, s.dh != nil)
}

// rest releases all state except H and the trust of the last layer.
func (s *Memory[T]) rest() {
	l := s.spec.Layers
	h, trust := make([][]T, l+1), make([][][]T, l+1)
	h[l], trust[l] = s.h[l], s.trust[l]
	*s = Memory[T]{spec: s.spec, n: s.n, from: s.from, ld: s.ld, x: s.x, h: h, trust: trust}
}

// Close releases the rows and their state.
func (s *Memory[T]) Close() error {
	*s = Memory[T]{spec: s.spec}
	return nil
}
