package kernel

import (
	"sync"
	"sync/atomic"
)

// plain is a Panel's matrix B as products with sparse rows need it. After Pack it is made at the first such product; after
// PackRowsT it is there, and what Mul needs is made at the first Mul.
type plain[T Float] struct {
	mu    sync.Mutex
	ready atomic.Bool // b is there
	alone atomic.Bool // the panel's data is not
	b     []T         // k×m, row-major with the stride Pad(m); all of its memory is zero beyond m
	m     int

	sums atomic.Pointer[combination[T]]
}

// combination is uᵀB.
type combination[T Float] struct {
	u *T // the first element of u
	y []T
}

// packed forgets what was made of the matrix before.
func (r *plain[T]) packed() {
	r.ready.Store(false)
	r.alone.Store(false)
	r.sums.Store(nil)
}

// room makes room for a k×m matrix.
func (r *plain[T]) room(k, m int) {
	ld := Pad(m)
	if cap(r.b) < k*ld {
		r.b = aligned[T](k * ld)
	} else if r.m != m {
		clear(r.b[:cap(r.b)])
	}
	r.b, r.m = r.b[:k*ld], m
}

// RowMajor returns B (k×m) in row-major order with the stride Pad(m), zero beyond m. It is the panel's own until the
// next Pack. It is safe for concurrent use.
func (p *Panel[T]) RowMajor() []T {
	r := &p.plain
	if r.ready.Load() {
		return r.b
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready.Load() {
		return r.b
	}
	r.room(p.k, p.m)
	p.unpack(r.b, Pad(p.m))
	r.ready.Store(true)
	return r.b
}

// PackRowsT is PackT for a panel that will mostly be multiplied by sparse rows: RowMajor is made at once, and what Mul needs at
// the first Mul. Results have the same bits as after PackT.
func PackRowsT[T, S Float](p *Panel[T], k, m int, b []S, ldb int) {
	p.resize(k, m)
	r := &p.plain
	r.room(k, m)
	transpose(r.b, Pad(m), b, ldb, m, k)
	r.alone.Store(true)
	r.ready.Store(true)
}

// transpose sets dst (k×m, stride ldd) to bᵀ; b is m×k with the stride ldb.
func transpose[T, S Float](dst []T, ldd int, b []S, ldb, m, k int) {
	j := 0
	for ; j+4 <= m; j += 4 {
		b0, b1, b2, b3 := b[j*ldb:][:k], b[(j+1)*ldb:][:k], b[(j+2)*ldb:][:k], b[(j+3)*ldb:][:k]
		b1, b2, b3 = b1[:len(b0)], b2[:len(b0)], b3[:len(b0)]
		at := j
		for i, v := range b0 {
			d := (*[4]T)(dst[at:])
			d[0], d[1], d[2], d[3] = T(v), T(b1[i]), T(b2[i]), T(b3[i])
			at += ldd
		}
	}
	if j+2 <= m {
		b0, b1 := b[j*ldb:][:k], b[(j+1)*ldb:][:k]
		b1 = b1[:len(b0)]
		at := j
		for i, v := range b0 {
			d := (*[2]T)(dst[at:])
			d[0], d[1] = T(v), T(b1[i])
			at += ldd
		}
		j += 2
	}
	if j < m {
		at := j
		for _, v := range b[j*ldb:][:k] {
			dst[at] = T(v)
			at += ldd
		}
	}
}

// complete makes what Mul needs of a panel that PackRowsT packed. It is safe for concurrent use.
func (p *Panel[T]) complete() {
	r := &p.plain
	if !r.alone.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alone.Load() {
		p.makeData()
		packData(p, r.b, Pad(p.m))
		r.alone.Store(false)
	}
}

// unpack writes B to dst with the stride ld. What lies beyond m is left alone.
func (p *Panel[T]) unpack(dst []T, ld int) {
	switch l := lanes[T](p.path); p.form {
	case formDot:
		transpose(dst, ld, p.data, p.k, p.m, p.k)
	case formLanesM:
		data := p.data
		for j, nv := 0, (p.m+l-1)/l; nv > 0; {
			w := stripVectors(p.path, nv)
			cols := min(w*l, p.m-j)
			for i := range p.k {
				copy(dst[i*ld+j:i*ld+j+cols], data[i*w*l:])
			}
			data, j, nv = data[p.k*w*l:], j+cols, nv-w
		}
	case formLanesK:
		data, chunks := p.data, (p.k+l-1)/l
		for j := 0; j < p.m; {
			c := stripColumns[T](p.path, p.m-j)
			for at := 0; at < chunks; at++ {
				rows := dst[at*l*ld : min(p.k, (at+1)*l)*ld]
				for q := range c {
					piece := data[(at*c+q)*l : (at*c+q+1)*l]
					for i, k := j+q, 0; i < len(rows); i, k = i+ld, k+1 {
						rows[i] = piece[k]
					}
				}
			}
			data, j = data[chunks*c*l:], j+c
		}
	}
}

// Combine returns uᵀB for a u of k elements, with Pad(m) elements. The answer for the u last asked for is kept until the
// next Pack: u must not change meanwhile. It is safe for concurrent use.
func (p *Panel[T]) Combine(u []T) []T {
	r := &p.plain
	if c := r.sums.Load(); c != nil && c.u == &u[0] {
		return c.y
	}
	c := &combination[T]{u: &u[0], y: make([]T, Pad(p.m))}
	TMulAdd(p.k, 1, p.m, u, 1, p.RowMajor(), Pad(p.m), c.y, Pad(p.m))
	r.sums.Store(c)
	return c.y
}
