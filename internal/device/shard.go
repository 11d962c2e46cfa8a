package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Shard is an engine.Shard of all samples in a device's memory. One goroutine at a time may use it.
type Shard[T kernel.Float] struct {
	spec *engine.Spec
	k    *kernels[T]
	mem  memory
	rows []rows.Matrix[T] // on the host, for reads of E
	plan plan
	state
	stage        []T       // constants of a pass, for upload
	result       []float64 // sums of a pass, after download
	term         *term[T]  // nil: none
	polar        polarProducts
	frozen       bool      // passes leave out the sums
	measured     bool      // maxima belong to the current left factor
	scales       []float64 // of X per view on tensor cores; 0: by fused multiply-add
	freeH, freeT *[]Ptr    // arrays for added cotangents that hold none
}

var (
	_ engine.Shard = (*Shard[float32])(nil)
	_ engine.Shard = (*Shard[float64])(nil)
)

// plan holds the values that follow from the sizes of a network.
type plan struct {
	n, m, ld      int
	dims, ldx     []int
	chunk, chunks int
	share         int   // rows of a part of the m×m sums
	shares        []int // rows of a part of the m×d sums, per view
	layers        int
	anchored      bool
	tuning        tuning
	start         bool // H_0 is given
	training      bool
	masked        []bool // views that some samples lack
	size          int64  // of an element

	constants arena // in elements
	sums      arena // in float64
	at        constantPlaces
	to        sumPlaces
}

// state holds the addresses of a shard's arrays on the device. Layers count from 1, for H and Y from 0.
type state struct {
	x, norms        []Ptr // per view
	full            Ptr   // 1/V_i
	present, weight []Ptr // per view, if some samples lack it; otherwise 0 and full
	h               []Ptr // h[0] is 0 for a zero start
	y               [][]Ptr
	trust, norm     [][]Ptr
	direct          [][]Ptr
	pattern, a      [][]Ptr
	dh              Ptr
	dt              []Ptr
	addedH          []Ptr
	addedT          [][]Ptr

	constant, sum, part Ptr
	scratch             [5]Ptr // n×ld
	q                   Ptr    // n float64
	flags               Ptr    // n bytes
	rowC, rowW, rowR    Ptr    // n elements
	minus               []Ptr  // n elements per view
	hi, lo, maxima      Ptr    // of products on tensor cores
	values, valueParts  Ptr    // n and chunks rows of V+1 float64
}

// arena assigns places in one array, each aligned to granule bytes.
type arena struct{ length, size int }

func (a *arena) take(n int) (at int) {
	at = a.length
	step := granule / a.size
	a.length += (n + step - 1) / step * step
	return at
}

func newPlan[T kernel.Float](spec *engine.Spec, masked []bool, start, training bool) (plan, error) {
	p := plan{n: spec.Samples, m: spec.Anchors, ld: stride(spec.Anchors), dims: spec.Dims, layers: spec.Layers,
		anchored: spec.Anchored, tuning: tuning{worthMoving, fewRows}, chunk: engine.ChunkRows(spec, false), start: start,
		training: training, masked: masked, size: int64(size[T]())}
	p.chunks, p.share = ceil(p.n, p.chunk), shareRows(p.n, p.m, p.m, p.chunk)
	for _, d := range spec.Dims {
		p.ldx = append(p.ldx, padded(d))
		p.shares = append(p.shares, shareRows(p.n, p.m, d, p.chunk))
	}
	return p, checkSizes(p.n, p.dims, p.m, p.chunks)
}

// shareRows divides the chunks of sums of m×d until there are enough blocks for a large card.
func shareRows(n, m, d, chunk int) int {
	const enough, least = 2 * 132, 128
	t := sumsTile(n, m, d)
	for t.area(m, d)/(t.rows*t.columns)*ceil(n, chunk) < enough && chunk > least {
		chunk /= 2
	}
	return chunk
}

func (p *plan) rowBytes() int64 { return int64(p.n) * int64(p.ld) * p.size }

// allocate takes all arrays from mem.
func (s *state) allocate(spec *engine.Spec, p *plan, mem *memory) {
	n, views := int64(p.n), len(p.dims)
	masked := func(v int) int64 { return n * p.size * int64(toInt(p.masked[v])) }
	s.x = mem.takeViews(views, func(v int) int64 { return n * int64(p.ldx[v]) * p.size }, "X")
	s.norms = mem.takeEach(views, n*8, "squared norms")
	s.full = mem.take(n*p.size, "weights")
	s.present = mem.takeViews(views, masked, "mask")
	s.weight = mem.takeViews(views, masked, "weights")
	for v, masked := range p.masked {
		if !masked {
			s.weight[v] = s.full
		}
	}
	s.allocateLayers(spec, p, mem)
	s.allocateWork(p, mem)
	s.constant = mem.take(int64(p.constants.length)*p.size, "constants")
	s.sum = mem.take(int64(p.sums.length)*8, "sums")
}

// allocateLayers takes the row state of each layer.
func (s *state) allocateLayers(spec *engine.Spec, p *plan, mem *memory) {
	n, layers, views := int64(p.n), p.layers, len(p.dims)
	rowState := p.rowBytes()
	s.h = make([]Ptr, layers+1)
	if p.start {
		s.h[0] = mem.take(rowState, "H_0")
	}
	for l := 1; l <= layers; l++ {
		s.h[l] = mem.take(rowState, "H_%d", l)
	}
	stored := 1
	if spec.Anchored {
		stored = layers
	}
	for l := range stored {
		s.y = append(s.y, mem.takeEach(views, rowState, "Y_%d", l))
	}
	none := make([]Ptr, views)
	s.trust, s.norm, s.direct, s.pattern, s.a = [][]Ptr{none}, [][]Ptr{none}, [][]Ptr{none}, [][]Ptr{none}, [][]Ptr{none}
	for l := 1; l <= layers; l++ {
		trust, norm, direct, pattern, a := none, none, none, none, none
		if spec.Noise {
			trust, norm = mem.takeEach(views, n*p.size, "t_%d", l), mem.takeEach(views, n*p.size, "r_%d", l)
			direct = mem.takeEach(views, n, "direct residuals of layer %d", l)
		}
		if spec.Represent == engine.ReLU {
			pattern = mem.takeEach(views, n*int64(p.ld)/4, "pattern of layer %d", l)
		} else if p.training {
			a = mem.takeEach(views, rowState, "A_%d", l)
		}
		s.trust, s.norm, s.direct = append(s.trust, trust), append(s.norm, norm), append(s.direct, direct)
		s.pattern, s.a = append(s.pattern, pattern), append(s.a, a)
	}
	s.addedH, s.addedT = make([]Ptr, layers+1), make([][]Ptr, layers+1)
	for l := range s.addedT {
		s.addedT[l] = make([]Ptr, views)
	}
	if p.training {
		s.dh = mem.take(rowState, "dH")
		s.dt = mem.takeEach(views, n*p.size, "dt")
	}
}

// allocateWork takes the scratch of a pass.
func (s *state) allocateWork(p *plan, mem *memory) {
	n, views := int64(p.n), len(p.dims)
	parts := int64(ceil(p.n, p.share)) * int64(p.ld)
	for v, ldx := range p.ldx {
		parts = max(parts, int64(ceil(p.n, p.shares[v]))*int64(ldx))
	}
	s.part = mem.take(parts*int64(p.m)*p.size, "sums of the chunks")
	scratch := 4
	if p.training {
		scratch = len(s.scratch)
	}
	for i := range scratch {
		s.scratch[i] = mem.take(p.rowBytes(), "scratch rows %d", i)
	}
	s.q, s.flags = mem.take(n*8, "squared residuals"), mem.take(n, "direct residuals")
	s.rowC, s.rowW, s.rowR = mem.take(n*p.size, "row factors"), mem.take(n*p.size, "row weights"), mem.take(n*p.size, "row rests")
	if p.training {
		s.minus = mem.takeEach(views, n*p.size, "factors of H in dY")
	}
	s.values = mem.take(n*int64(views+1)*8, "row sums")
	if p.mayTensor() {
		widest := 0
		for _, ldx := range p.ldx {
			widest = max(widest, halved(ldx))
		}
		s.hi, s.lo = mem.take(int64(p.m*widest)*2, "upper halves"), mem.take(int64(p.m*widest)*2, "lower halves")
		s.maxima = mem.take(2*4*maximaBlocks, "largest values")
	}
	s.valueParts = mem.take(int64(p.chunks*(views+1))*8, "row sums of the chunks")
}

// Bytes returns the memory of a shard on a device, as New allocates it.
func Bytes[T kernel.Float](spec *engine.Spec, present [][]bool, start, training bool) (int64, error) {
	p, err := newPlan[T](spec, maskedViews(spec, present), start, training)
	if err != nil {
		return 0, err
	}
	p.reserve(spec)
	var mem memory
	new(state).allocate(spec, &p, &mem)
	new(polarProducts).allocate(&p, &mem)
	return mem.total, nil
}

func maskedViews(spec *engine.Spec, present [][]bool) []bool {
	masked := make([]bool, len(spec.Dims))
	for v := range present {
		for _, ok := range present[v] {
			masked[v] = masked[v] || !ok
		}
	}
	return masked
}

// spare is the divisor for the reserve beyond a plan: the driver has its own buffers.
const spare = 20

// New returns a shard of all samples, whose rows are x, on the device. The arguments are the arguments of engine.NewMemory.
// Sparse rows become dense. If the device has too little memory, the error is a *MemoryError.
func New[T kernel.Float](drv Driver, spec *engine.Spec, x []rows.Matrix[T], present [][]bool, h0 []float64,
	training bool) (*Shard[T], error) {
	return newShard(drv, spec, x, present, h0, training, tuning{worthMoving: worthMoving, tensorRows: fewRows})
}

// tuning decides where work runs, and with which kernels.
type tuning struct {
	worthMoving int // multiply-adds of a product of a Procrustes step from which it is done on the device
	tensorRows  int // products with X of more rows are done by tensor cores
}

func newShard[T kernel.Float](drv Driver, spec *engine.Spec, x []rows.Matrix[T], present [][]bool, h0 []float64,
	training bool, tune tuning) (*Shard[T], error) {
	if len(x) != len(spec.Dims) {
		return nil, fmt.Errorf("device: the data have %d views, the network has %d", len(x), len(spec.Dims))
	}
	for v, xv := range x {
		if n, d := xv.Dims(); n != spec.Samples || d != spec.Dims[v] {
			return nil, fmt.Errorf("device: view %d is %d×%d, want %d×%d", v, n, d, spec.Samples, spec.Dims[v])
		}
	}
	s, err := emptyShard[T](drv, spec, maskedViews(spec, present), h0 != nil, training, tune)
	if err != nil {
		return nil, err
	}
	s.rows = x
	if err := s.fill(present, h0); err != nil {
		return nil, errors.Join(err, s.mem.release())
	}
	return s, nil
}

// emptyShard returns a shard whose arrays have no values yet.
func emptyShard[T kernel.Float](drv Driver, spec *engine.Spec, masked []bool, start, training bool,
	tune tuning) (*Shard[T], error) {
	p, err := newPlan[T](spec, masked, start, training)
	if err != nil {
		return nil, err
	}
	if training {
		if err := rowFits(drv, p.m, p.size); err != nil {
			return nil, err
		}
	}
	p.tuning = tune
	p.reserve(spec)
	var count memory
	new(state).allocate(spec, &p, &count)
	new(polarProducts).allocate(&p, &count)
	if err := fits(drv, fmt.Sprintf("a network of %d samples", p.n), count.total); err != nil {
		return nil, err
	}
	s := &Shard[T]{spec: spec, plan: p, mem: memory{drv: drv}, freeH: new([]Ptr),
		freeT: new([]Ptr), scales: make([]float64, len(p.dims))}
	if s.k, err = loadKernels[T](drv); err != nil {
		return nil, err
	}
	for v := range p.dims {
		if s.polar.k == nil && p.movesPolar(v) {
			if s.polar.k, err = loadKernels[float64](drv); err != nil {
				return nil, err
			}
			if s.polar.module, err = drv.Load(polarDouble()); err != nil {
				return nil, err
			}
		}
	}
	s.allocate(spec, &s.plan, &s.mem)
	s.polar.allocate(&s.plan, &s.mem)
	s.polar.fill(&s.mem)
	s.stage, s.result = host[T](&s.mem, p.constants.length), host[float64](&s.mem, p.sums.length)
	if s.mem.err != nil {
		return nil, errors.Join(s.mem.err, s.mem.release())
	}
	return s, nil
}

// Rows is the number of rows.
func (s *Shard[T]) Rows() int { return s.plan.n }

// Bytes is the memory held on the device.
func (s *Shard[T]) Bytes() int64 { return s.mem.total }

// Close releases the memory on the device. The caller owns the driver.
func (s *Shard[T]) Close() error {
	err := s.mem.release()
	*s = Shard[T]{spec: s.spec, k: s.k}
	return err
}

// yOf returns Y_l of a view: with constant anchors, all layers share Y_0.
func (s *Shard[T]) yOf(l, v int) Ptr { return s.y[min(l, len(s.y)-1)][v] }

// Run does a pass over all rows and pushes its sums to the tree, as one chunk: the device adds in the tree's order.
func (s *Shard[T]) Run(ctx context.Context, p *engine.Pass, tree *engine.Tree) error {
	s.k.ctx = ctx
	c, err := s.upload(p)
	if err != nil {
		return err
	}
	switch p.Kind {
	case engine.Project:
		s.project(c)
	case engine.Forward:
		s.forward(p, c)
	case engine.Final:
		s.final(p, c)
	case engine.Backward:
		s.backward(p, c)
	default:
		return fmt.Errorf("device: no pass %d", p.Kind)
	}
	if err := s.k.failed(); err != nil {
		return err
	}
	return s.collect(p, tree)
}
