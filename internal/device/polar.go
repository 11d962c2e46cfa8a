package device

import (
	"fmt"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/linalg"
)

var (
	_ engine.PolarShard = (*Shard[float32])(nil)
	_ engine.PolarShard = (*Shard[float64])(nil)
	_ linalg.Direct     = (*wide)(nil)
)

// worthMoving is the number of multiply-adds of a product from which a Procrustes step runs on the device: below, the transfers
// cost more.
const worthMoving = 1 << 21

// Wide returns the wide products of a Procrustes step, in float64. The eigenvectors of a gradient are computed on the host.
func (s *Shard[T]) Wide(layer, view int) linalg.Wide {
	for _, w := range s.polar.wides {
		if w.layer == layer && w.view == view {
			return w
		}
	}
	return nil
}

// Keeps reports whether the matrices of a view stay on the device.
func (s *Shard[T]) Keeps(view int) bool { return s.plan.keeps(view) }

// Anchors downloads P_l of a kept view.
func (s *Shard[T]) Anchors(layer, view int, p []float64) error {
	return s.polar.of(layer, view).Get(p, linalg.SlotP, 1)
}

// Coupling sets c to P_{l−1} P_lᵀ of a kept view.
func (s *Shard[T]) Coupling(layer, view int, c []float64) error {
	w := s.polar.of(layer, view)
	if !w.ok {
		return w.TimesT(c, w.k, before(linalg.SlotP), linalg.SlotP)
	}
	w.copy(c, w.k, w.coupling)
	return nil
}

// Factor computes the polar factors of a layer's matrices; M of a kept view is made of the sums of the last pass first.
func (s *Shard[T]) Factor(layer int) error {
	o := &s.polar
	var ready []*wide
	for _, w := range o.wides {
		if w.layer == layer && (w.begun || w.kept) {
			ready = append(ready, w)
		}
	}
	if o.kept > 0 && s.spec.Noise {
		o.together(ready[:o.kept]).times(o.own(squareW+layer-1), before(linalg.SlotP), linalg.SlotA, 1, 1)
	}
	for len(ready) > 0 {
		n := 1
		for n < len(ready) && ready[n].k == ready[0].k && ready[n].at == ready[0].at+n && ready[n].kept == ready[0].kept {
			n++
		}
		if err := o.factor(ready[:n], ready[0].kept && s.spec.Noise && layer < s.plan.layers); err != nil {
			return err
		}
		ready = ready[n:]
	}
	return nil
}

// movesPolar reports whether the wide products of a view's Procrustes steps run on the device.
func (p *plan) movesPolar(v int) bool {
	k, q := min(p.m, p.dims[v]), max(p.m, p.dims[v])
	return p.anchored && p.training && k*k*q >= p.tuning.worthMoving
}

// keeps reports whether the matrices of a view stay on the device.
func (p *plan) keeps(v int) bool { return p.movesPolar(v) && p.m <= p.dims[v] }

// polarColumns is the number of columns of a part of a product, see kernels/polar.cu.
const polarColumns = 32

// The squares of the kept views, m×m with the stride ld. There is one of each kind for every kept view.
const (
	squareVectors = iota // left singular vectors in rows
	squareScaled         // the same divided by the singular values
	squareDC             // cotangent of C_{l+1}
	squareTurned         // its transpose
	squareInverse        // (M·Pᵀ)⁻¹
	squareProduct        // P·Gᵀ
	squareFirst          // scratch
	squareSecond         // scratch
	squareW              // W_1, and so on to W_L
)

// before is the slot of the layer before, of a kept view. Before the first layer there is only P.
func before(x linalg.Slot) linalg.Slot { return x - linalg.Slots }

// polarProducts holds the memory that the Procrustes steps of a shard share. Squares are k×k with the stride ldk, two for every
// view.
type polarProducts struct {
	mu     sync.Mutex // views may ask side by side
	k      *kernels[float64]
	module Module
	wides  []*wide // by layer; the kept views of a layer first
	kept   int     // number of views whose matrices stay on the device
	parts  int     // of a product

	matrices, table, scales Ptr
	squares, result, part   Ptr
	spare                   Ptr     // k×q
	values, owned           Ptr     // singular values and squares of the kept views, side by side
	maxima                  Ptr     // of dM of each view
	narrow                  [][]Ptr // P_l and dM (last) of each view, in the type of the data
	largest                 [][]float64

	stage []float64 // of squares
	most  []float32
}

// allocate takes all arrays from mem.
func (o *polarProducts) allocate(p *plan, mem *memory) {
	square, largest, total, views := 0, 0, 0, len(p.dims)
	*o = polarProducts{k: o.k, module: o.module, narrow: make([][]Ptr, views), largest: make([][]float64, views)}
	first := make([]int, views) // place of the first layer
	for v, d := range p.dims {
		if first[v] = total; !p.movesPolar(v) {
			continue
		}
		k, ldq := min(p.m, d), padded(max(p.m, d))
		if p.keeps(v) {
			o.kept++
			first[v] += k * ldq // P_0
			o.narrow[v] = mem.takeEach(p.layers+2, int64(k*ldq)*p.size, "anchors of view %d, array", v)
			o.largest[v] = slices.Repeat([]float64{1}, p.layers+2) // a bound where rows are orthonormal
		}
		square, largest = max(square, k*stride(k)), max(largest, k*ldq)
		o.parts = max(o.parts, ceil(max(p.m, d), polarColumns))
		total = first[v] + p.layers*int(linalg.Slots)*k*ldq
	}
	for l := range p.layers {
		begin := len(o.wides)
		for _, kept := range []bool{true, false} {
			for v, d := range p.dims {
				if !p.movesPolar(v) || p.keeps(v) != kept {
					continue
				}
				w := &wide{shared: o, layer: l + 1, view: v, at: len(o.wides), index: len(o.wides) - begin, kept: kept}
				w.k, w.q = min(p.m, d), max(p.m, d)
				w.ldk, w.ldq = stride(w.k), padded(w.q)
				w.begins = first[v] + l*int(linalg.Slots)*w.k*w.ldq
				o.wides = append(o.wides, w)
			}
		}
	}
	of := func(n int, name string) Ptr { return mem.take(int64(n)*8, "Procrustes %s", name) }
	some := min(views, total) // 0 without a moved view
	o.matrices, o.table, o.scales = of(total, "matrices"), of(3*(len(o.wides)+o.kept), "table"), of(some, "scales")
	o.squares, o.result = of(2*views*square, "factors"), of(2*views*square+some, "products")
	o.part, o.spare = of(views*o.parts*square, "parts"), of(largest, "sum")
	o.values = of(o.kept*(p.ld+(squareW+p.layers)*p.m*p.ld), "squares")
	o.owned = o.values + Ptr(8*o.kept*p.ld)
	o.maxima = mem.take(int64(4*maximaBlocks*o.kept), "largest values of dM")
}

// fill makes the memory for copies, and uploads the table of kernels/polar.cu.
func (o *polarProducts) fill(mem *memory) {
	if len(o.wides) == 0 || mem.err != nil {
		return
	}
	square, table := 0, []int64{}
	for _, w := range o.wides {
		square = max(square, w.k*w.ldk)
		table = append(table, int64(w.begins), int64(w.ldq), int64(w.q))
		w.rows = host[float64](mem, w.k*w.ldq)
	}
	for i, w := range o.wides[:o.kept] {
		table = append(table, int64(i*w.k*w.ldk), int64(w.ldk), int64(w.k))
	}
	o.stage = host[float64](mem, 3*len(o.wides)*square)
	o.most = host[float32](mem, o.kept*maximaBlocks)
	if mem.err == nil {
		mem.err = mem.drv.Upload(o.table, rawBytes(table))
	}
}

// own returns the address of the squares of a kind.
func (o *polarProducts) own(kind int) Ptr {
	w := o.wides[0]
	return o.owned + Ptr(8*kind*o.kept*w.k*w.ldk)
}

// of returns the step of a kept view.
func (o *polarProducts) of(layer, view int) *wide {
	for _, w := range o.wides {
		if w.layer == max(layer, 1) && w.view == view {
			return w
		}
	}
	return nil
}

// wide is linalg.Direct on a device. Rows of its matrices have a stride that is a multiple of 4.
type wide struct {
	shared         *polarProducts
	layer, view    int
	kept           bool // M, P and their cotangents stay on the device
	at, begins     int  // place in the table, and of the first matrix (elements)
	index          int  // place among the views of the layer
	k, q, ldk, ldq int
	rows           []float64 // k×ldq, for copies

	begun, factored bool // SlotA has a new matrix; the fields below belong to it
	ok              bool
	factor          linalg.Slot
	square          []float64 // A·Pᵀ
	coupling        []float64 // P_{l−1}·Pᵀ, of a kept view
}

// slot returns the address of a matrix.
func (w *wide) slot(i linalg.Slot) Ptr {
	return w.shared.matrices + Ptr(8*(w.begins+int(i)*w.k*w.ldq))
}

// Resize checks the size, which the network determines.
func (w *wide) Resize(k, q int) error {
	if k != w.k || q != w.q {
		return fmt.Errorf("device: a Procrustes step of %d×%d, want %d×%d", k, q, w.k, w.q)
	}
	return nil
}

// Put uploads scale·x.
func (w *wide) Put(to linalg.Slot, x []float64, scale float64) error {
	w.pack(x, scale)
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	if to == linalg.SlotA {
		w.begun, w.factored = true, false
	}
	return w.send(to)
}

// pack sets the rows for copies to scale·x, and send uploads them.
func (w *wide) pack(x []float64, scale float64) {
	for i := range w.k {
		row := w.rows[i*w.ldq : i*w.ldq+w.q]
		for j, e := range x[i*w.q : (i+1)*w.q] {
			row[j] = scale * e
		}
	}
}

func (w *wide) send(to linalg.Slot) error { return w.shared.k.drv.Upload(w.slot(to), rawBytes(w.rows)) }

// Get downloads scale times a matrix.
func (w *wide) Get(x []float64, from linalg.Slot, scale float64) error {
	w.shared.mu.Lock()
	err := w.shared.k.drv.Download(rawBytes(w.rows), w.slot(from))
	w.shared.mu.Unlock()
	if err != nil {
		return err
	}
	for i := range w.k {
		for j, e := range w.rows[i*w.ldq : i*w.ldq+w.q] {
			x[i*w.q+j] = scale * e
		}
	}
	return nil
}

// Factor returns the polar factor that Shard.Factor has computed, or computes it.
func (w *wide) Factor(dst []float64, ld int) (linalg.Slot, bool, error) {
	if !w.factored {
		if err := w.shared.factor([]*wide{w}, false); err != nil {
			return 0, false, err
		}
	}
	w.copy(dst, ld, w.square)
	return w.factor, w.ok, nil
}

// Move sets a matrix to another one.
func (w *wide) Move(to, from linalg.Slot) error {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	w.add(to, 0, from)
	return w.shared.k.failed()
}

// add sets a matrix to scale times itself and another one.
func (w *wide) add(to linalg.Slot, scale float64, with linalg.Slot) {
	w.shared.k.byElement("scale_add", w.k*w.ldq, w.slot(to), scale, w.slot(with), int64(w.k*w.ldq))
}

// TimesT sets dst to X·Yᵀ.
func (w *wide) TimesT(dst []float64, ld int, x, y linalg.Slot) error {
	p := w.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.together([]*wide{w})
	one.multiply(x, y)
	one.fold(p.result, 0, 1, 0)
	got, err := one.download(w.k * w.ldk)
	if err == nil {
		w.copy(dst, ld, got)
	}
	return err
}

// copy sets dst (stride ld) to a square.
func (w *wide) copy(dst []float64, ld int, square []float64) {
	for i := range w.k {
		copy(dst[i*ld:i*ld+w.k], square[i*w.ldk:])
	}
}

// Combine sets to = WᵀX, or WᵀX + UᵀY.
func (w *wide) Combine(to linalg.Slot, ld int, a []float64, x linalg.Slot, u []float64, y linalg.Slot) error {
	p, size := w.shared, w.k*w.ldk
	p.mu.Lock()
	defer p.mu.Unlock()
	used := p.stage[:size]
	w.pad(used, a, ld)
	if u != nil {
		used = p.stage[:2*size]
		w.pad(used[size:], u, ld)
	}
	if err := p.k.drv.Upload(p.squares, rawBytes(used)); err != nil {
		return err
	}
	w.times(w.slot(to), p.squares, x)
	if u != nil {
		w.times(p.spare, p.squares+Ptr(size*8), y)
		p.k.byElement("scale_add", w.k*w.ldq, w.slot(to), 1.0, p.spare, int64(w.k*w.ldq))
	}
	return p.k.failed()
}

// pad sets a square to a k×k matrix with the stride ld, and its padding to zeros.
func (w *wide) pad(square, a []float64, ld int) {
	clear(square)
	for i := range w.k {
		copy(square[i*w.ldk:i*w.ldk+w.k], a[i*ld:])
	}
}

// times sets to = AᵀX, with zeros in the padding.
func (w *wide) times(to, a Ptr, x linalg.Slot) {
	w.shared.k.transposedTimes(sums{part: to, a: a, lda: w.ldk, x: w.slot(x), ldx: w.ldq, n: w.k, m: w.k, d: w.ldq, chunk: w.k})
}
