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
	_ linalg.Wide       = (*wide)(nil)
)

// worthMoving is the number of multiply-adds of a product from which a Procrustes step runs on the device: below, the transfers
// cost more.
const worthMoving = 1 << 21

// Wide returns the wide products of a Procrustes step, in float64. The eigenvectors are computed on the host.
func (s *Shard[T]) Wide(layer, view int) linalg.Wide {
	k, q := min(s.plan.m, s.plan.dims[view]), max(s.plan.m, s.plan.dims[view])
	if !s.plan.movesPolar(view) {
		return nil
	}
	return &wide{shared: &s.polar, slots: s.polar.slots[layer][view], k: k, q: q, ldq: padded(q)}
}

// movesPolar reports whether the wide products of a view's Procrustes steps run on the device.
func (p *plan) movesPolar(v int) bool {
	k, q := min(p.m, p.dims[v]), max(p.m, p.dims[v])
	return p.anchored && k*k*q >= p.tuning.worthMoving
}

// polarProducts holds the memory that the Procrustes steps of a shard share.
type polarProducts struct {
	mu      sync.Mutex // views may ask side by side
	k       *kernels[float64]
	slots   [][][linalg.Slots]Ptr // k×q, by layer and view
	squares [2]Ptr                // k×k, for uploads
	result  Ptr                   // k×k, for downloads
	spare   Ptr                   // k×q
	stage   []float64
}

// allocate takes all arrays from mem.
func (o *polarProducts) allocate(p *plan, mem *memory) {
	square, largest := 0, 0
	o.slots = make([][][linalg.Slots]Ptr, p.layers+1)
	for l := range o.slots {
		o.slots[l] = make([][linalg.Slots]Ptr, len(p.dims))
		for v, d := range p.dims {
			if l == 0 || !p.movesPolar(v) {
				continue
			}
			k := min(p.m, d)
			size := k * padded(max(p.m, d))
			square, largest = max(square, k*stride(k)), max(largest, size)
			for i := range o.slots[l][v] {
				o.slots[l][v][i] = mem.take(int64(size)*8, "Procrustes matrix %d of layer %d, view %d", i, l, v)
			}
		}
	}
	o.squares[0], o.squares[1] = mem.take(int64(square)*8, "Procrustes factor"), mem.take(int64(square)*8, "Procrustes factor")
	o.result, o.spare = mem.take(int64(square)*8, "Procrustes product"), mem.take(int64(largest)*8, "Procrustes sum")
}

// wide is linalg.Wide on a device. Rows of its matrices have a stride that is a multiple of 4.
type wide struct {
	shared    *polarProducts
	k, q, ldq int
	slots     [linalg.Slots]Ptr
	rows      []float64
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
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	w.rows = grown(w.rows, w.k*w.ldq)
	for i := range w.k {
		row := w.rows[i*w.ldq : i*w.ldq+w.q]
		for j, e := range x[i*w.q : (i+1)*w.q] {
			row[j] = scale * e
		}
	}
	return w.shared.k.drv.Upload(w.slots[to], rawBytes(w.rows))
}

// Get downloads scale times a matrix.
func (w *wide) Get(x []float64, from linalg.Slot, scale float64) error {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	got := make([]float64, w.k*w.ldq)
	if err := w.shared.k.drv.Download(rawBytes(got), w.slots[from]); err != nil {
		return err
	}
	for i := range w.k {
		for j, e := range got[i*w.ldq : i*w.ldq+w.q] {
			x[i*w.q+j] = scale * e
		}
	}
	return nil
}

// TimesT sets dst to X·Yᵀ.
func (w *wide) TimesT(dst []float64, ld int, x, y linalg.Slot) error {
	p := w.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	out := stride(w.k)
	p.k.timesTransposed(product{op: store, out: p.result, ldOut: out, a: w.slots[x], lda: w.ldq, b: w.slots[y], ldb: w.ldq,
		n: w.k, m: w.k, k: w.q})
	if err := p.k.failed(); err != nil {
		return err
	}
	p.stage = grown(p.stage, w.k*out)
	if err := p.k.drv.Download(rawBytes(p.stage), p.result); err != nil {
		return err
	}
	for i := range w.k {
		copy(dst[i*ld:i*ld+w.k], p.stage[i*out:])
	}
	return nil
}

// Combine sets to = WᵀX, or WᵀX + UᵀY.
func (w *wide) Combine(to linalg.Slot, ld int, a []float64, x linalg.Slot, u []float64, y linalg.Slot) error {
	p := w.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := w.times(w.slots[to], 0, a, ld, x); err != nil {
		return err
	}
	if u != nil {
		if err := w.times(p.spare, 1, u, ld, y); err != nil {
			return err
		}
		p.k.byElement("scale_add", w.k*w.ldq, w.slots[to], 1.0, p.spare, int64(w.k*w.ldq))
	}
	return p.k.failed()
}

// times sets to = AᵀX, with zeros in the padding, through one of the places for factors.
func (w *wide) times(to Ptr, place int, a []float64, ld int, x linalg.Slot) error {
	p, lda := w.shared, padded(w.k)
	p.stage = grown(p.stage, w.k*lda)
	clear(p.stage)
	for i := range w.k {
		copy(p.stage[i*lda:i*lda+w.k], a[i*ld:])
	}
	if err := p.k.drv.Upload(p.squares[place], rawBytes(p.stage)); err != nil {
		return err
	}
	p.k.transposedTimes(sums{part: to, a: p.squares[place], lda: lda, x: w.slots[x], ldx: w.ldq, n: w.k, m: w.k, d: w.ldq,
		chunk: w.k})
	return p.k.failed()
}

// grown returns x, or a new slice, of the length n.
func grown(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n)
	}
	return x[:n]
}
