package device

import (
	"fmt"
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

// Factor computes the polar factors of a layer's matrices.
func (s *Shard[T]) Factor(layer int) error {
	var ready []*wide
	for _, w := range s.polar.wides {
		if w.layer == layer && w.begun {
			ready = append(ready, w)
		}
	}
	for len(ready) > 0 {
		n := 1
		for n < len(ready) && ready[n].k == ready[0].k && ready[n].at == ready[0].at+n {
			n++
		}
		if err := s.polar.factor(ready[:n]); err != nil {
			return err
		}
		ready = ready[n:]
	}
	return nil
}

// movesPolar reports whether the wide products of a view's Procrustes steps run on the device.
func (p *plan) movesPolar(v int) bool {
	k, q := min(p.m, p.dims[v]), max(p.m, p.dims[v])
	return p.anchored && k*k*q >= p.tuning.worthMoving
}

// polarColumns is the number of columns of a part of a product, see kernels/polar.cu.
const polarColumns = 32

// polarProducts holds the memory that the Procrustes steps of a shard share. Squares are k×k with the stride ldk, two for every
// view.
type polarProducts struct {
	mu     sync.Mutex // views may ask side by side
	k      *kernels[float64]
	module Module
	wides  []*wide // by layer and view
	parts  int     // of a product

	matrices, table, scales Ptr
	squares, result, part   Ptr
	spare                   Ptr       // k×q
	stage                   []float64 // of squares
	scale                   []float64
}

// allocate takes all arrays from mem.
func (o *polarProducts) allocate(p *plan, mem *memory) {
	square, largest, total := 0, 0, 0
	o.wides = nil
	for l := 1; l <= p.layers; l++ {
		for v, d := range p.dims {
			if !p.movesPolar(v) {
				continue
			}
			k, q := min(p.m, d), max(p.m, d)
			w := &wide{shared: o, layer: l, view: v, at: len(o.wides), begins: total, k: k, q: q, ldk: stride(k), ldq: padded(q)}
			square, largest = max(square, k*w.ldk), max(largest, k*w.ldq)
			o.parts = max(o.parts, ceil(q, polarColumns))
			total += int(linalg.Slots) * k * w.ldq
			o.wides = append(o.wides, w)
		}
	}
	views, of := len(p.dims), func(n int, name string) Ptr { return mem.take(int64(n)*8, "Procrustes %s", name) }
	o.matrices, o.table, o.scales = of(total, "matrices"), of(3*len(o.wides), "table"), of(min(views, total), "scales")
	o.squares, o.result = of(2*views*square, "factors"), of(2*views*square, "products")
	o.part, o.spare = of(views*o.parts*square, "parts"), of(largest, "sum")
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
	o.stage, o.scale = host[float64](mem, 2*len(o.wides)*square), host[float64](mem, len(o.wides))
	if mem.err == nil {
		mem.err = mem.drv.Upload(o.table, rawBytes(table))
	}
}

// wide is linalg.Direct on a device. Rows of its matrices have a stride that is a multiple of 4.
type wide struct {
	shared         *polarProducts
	layer, view    int
	at, begins     int // place in the table, and of the first matrix (elements)
	k, q, ldk, ldq int
	rows           []float64 // k×ldq, for copies

	begun, factored bool // SlotA has a new matrix; the fields below belong to it
	ok              bool
	factor          linalg.Slot
	square          []float64 // A·Pᵀ
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
	for i := range w.k {
		row := w.rows[i*w.ldq : i*w.ldq+w.q]
		for j, e := range x[i*w.q : (i+1)*w.q] {
			row[j] = scale * e
		}
	}
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	if to == linalg.SlotA {
		w.begun, w.factored = true, false
	}
	return w.shared.k.drv.Upload(w.slot(to), rawBytes(w.rows))
}

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
		if err := w.shared.factor([]*wide{w}); err != nil {
			return 0, false, err
		}
	}
	w.copy(dst, ld, w.square)
	return w.factor, w.ok, nil
}

// TimesT sets dst to X·Yᵀ.
func (w *wide) TimesT(dst []float64, ld int, x, y linalg.Slot) error {
	p := w.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	one := batch{p, []*wide{w}}
	one.multiply(x, y)
	one.fold(p.result, 0, 1, 0)
	got, err := one.download(1)
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
	w.put(used, a, ld)
	if u != nil {
		used = p.stage[:2*size]
		w.put(used[size:], u, ld)
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

// put sets a square to a k×k matrix with the stride ld, and its padding to zeros.
func (w *wide) put(square, a []float64, ld int) {
	clear(square)
	for i := range w.k {
		copy(square[i*w.ldk:i*w.ldk+w.k], a[i*ld:])
	}
}

// times sets to = AᵀX, with zeros in the padding.
func (w *wide) times(to, a Ptr, x linalg.Slot) {
	w.shared.k.transposedTimes(sums{part: to, a: a, lda: w.ldk, x: w.slot(x), ldx: w.ldq, n: w.k, m: w.k, d: w.ldq, chunk: w.k})
}
