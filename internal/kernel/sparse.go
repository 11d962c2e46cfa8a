package kernel

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// plain is a Panel's matrix B as products with sparse rows need it. It is made at the first such product after a Pack.
type plain[T Float] struct {
	mu    sync.Mutex
	ready atomic.Bool
	b     []T // k×m, row-major with the stride Pad(m); all of its memory is zero beyond m
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
	r.sums.Store(nil)
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
	ld := Pad(p.m)
	if cap(r.b) < p.k*ld {
		r.b = make([]T, p.k*ld)
	} else if r.m != p.m {
		clear(r.b[:cap(r.b)])
	}
	r.b, r.m = r.b[:p.k*ld], p.m
	p.unpack(r.b, ld)
	r.ready.Store(true)
	return r.b
}

// unpack writes B to dst with the stride ld. What lies beyond m is left alone.
func (p *Panel[T]) unpack(dst []T, ld int) {
	switch l := lanes[T](p.path); p.form {
	case formDot:
		for j := range p.m {
			for i, v := range p.data[j*p.k : (j+1)*p.k] {
				dst[i*ld+j] = v
			}
		}
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
	Mul(1, u, p.k, p, c.y, Pad(p.m), false)
	r.sums.Store(c)
	return c.y
}

// sparseArgs: n rows of Y = S·B for a strip of columns; B is row-major, ptr holds 64-bit offsets and cols 32-bit columns.
type sparseArgs struct {
	n            int
	ptr          unsafe.Pointer
	cols, values unsafe.Pointer
	b            unsafe.Pointer
	ldb          int
	y            unsafe.Pointer
	ldy          int
}

// sparseStrip is the largest number of vectors of columns that the assembly takes together.
const sparseStrip = 4

// strip is the number of columns whose sums plain Go keeps in registers.
const strip = 8

// MulSparse computes Y = S·B for n sparse rows: row i has values[ptr[i]:ptr[i+1]] in the columns of cols, all of which are
// rows of B. b is B in the form of RowMajor for m columns, and Y has the stride ldy ≥ Pad(m). The columns of Y from m to
// Pad(m) become zero. A row of Y has the same bits whatever n and the place of the row.
func MulSparse[T Float](ptr []int, cols []int32, values []T, m int, b []T, y []T, ldy int) {
	n, ld := len(ptr)-1, Pad(m)
	if n < 1 || m == 0 {
		return
	}
	_ = y[(n-1)*ldy+ld-1]
	if active == pathPortable || ptr[n] == ptr[0] {
		mulSparsePortable(ptr, cols, values, m, b, y, ldy)
		return
	}
	_, _ = cols[ptr[n]-1], values[ptr[n]-1]
	var t T
	size, l := int(unsafe.Sizeof(t)), lanes[T](active)
	first := firstSparse[active][kind[T]()] - 1
	args := sparseArgs{n: n, ptr: unsafe.Pointer(&ptr[0]), cols: unsafe.Pointer(&cols[0]), values: unsafe.Pointer(&values[0]),
		ldb: ld * size, ldy: ldy * size}
	for j := 0; j < ld; {
		w := min(sparseStrip, (ld-j)/l)
		args.b, args.y = unsafe.Pointer(&b[j]), unsafe.Pointer(&y[j])
		callSparse(first+w, &args)
		j += w * l
	}
}

func mulSparsePortable[T Float](ptr []int, cols []int32, values []T, m int, b []T, y []T, ldy int) {
	ld := Pad(m)
	for i := range len(ptr) - 1 {
		at, row := cols[ptr[i]:ptr[i+1]], values[ptr[i]:ptr[i+1]]
		yi := y[i*ldy : i*ldy+ld]
		j := 0
		for ; j < m; j += strip {
			mulStrip((*[strip]T)(yi[j:]), at, row, b[j:], ld)
		}
		clear(yi[j:])
	}
}

// mulStrip sets y to the strip of a row of S·B; b begins at the strip.
func mulStrip[T Float](y *[strip]T, at []int32, row, b []T, ld int) {
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	at = at[:len(row)]
	for q, x := range row {
		v := (*[strip]T)(b[int(at[q])*ld:])
		s0 += x * v[0]
		s1 += x * v[1]
		s2 += x * v[2]
		s3 += x * v[3]
		s4 += x * v[4]
		s5 += x * v[5]
		s6 += x * v[6]
		s7 += x * v[7]
	}
	*y = [strip]T{s0, s1, s2, s3, s4, s5, s6, s7}
}

// sparseTMulArgs: C += Aᵀ·S over n rows for some rows of C, with ptr, cols and values as in sparseArgs.
type sparseTMulArgs struct {
	n            int
	ptr          unsafe.Pointer
	cols, values unsafe.Pointer
	a            unsafe.Pointer
	lda          int
	c            unsafe.Pointer
	ldc          int
}

// firstLevel is the part of the first-level cache that is counted on.
const firstLevel = 32 << 10

// rowsTogether returns how many rows of C, of the given bytes, are added to in one run through the sparse rows: as many as
// stay in the first-level cache, and four where not even two do.
func rowsTogether(bytes int) int {
	if fit := firstLevel / bytes; fit >= 2 {
		return min(fit, 4)
	}
	return 4
}

// TMulAddSparse computes C += Aᵀ·S over the rows that MulSparse takes: A has m columns (stride lda), C is m×d (stride ldc).
func TMulAddSparse[T Float](ptr []int, cols []int32, values []T, m, d int, a []T, lda int, c []T, ldc int) {
	n := len(ptr) - 1
	if n < 1 || m == 0 || ptr[n] == ptr[0] {
		return
	}
	_, _ = c[(m-1)*ldc+d-1], a[(n-1)*lda+m-1]
	if active == pathPortable {
		tmulSparsePortable(ptr, cols, values, m, d, a, lda, c, ldc)
		return
	}
	_, _ = cols[ptr[n]-1], values[ptr[n]-1]
	var t T
	size := int(unsafe.Sizeof(t))
	first := firstSparseTMul[active][kind[T]()] - 1
	args := sparseTMulArgs{n: n, ptr: unsafe.Pointer(&ptr[0]), cols: unsafe.Pointer(&cols[0]), values: unsafe.Pointer(&values[0]),
		lda: lda * size, ldc: ldc * size}
	for j, most := 0, rowsTogether(d*size); j < m; {
		w := min(most, m-j)
		args.a, args.c = unsafe.Pointer(&a[j]), unsafe.Pointer(&c[j*ldc])
		callSparseTMul(first+w, &args)
		j += w
	}
}

// tmulSparsePortable goes through all rows for two rows of C at a time.
func tmulSparsePortable[T Float](ptr []int, cols []int32, values []T, m, d int, a []T, lda int, c []T, ldc int) {
	for j := 0; j < m; j += 2 {
		single := j == m-1
		c0 := c[j*ldc : j*ldc+d]
		c1 := c0
		if !single {
			c1 = c[(j+1)*ldc : (j+1)*ldc+d]
		}
		for i := range len(ptr) - 1 {
			at, row := cols[ptr[i]:ptr[i+1]], values[ptr[i]:ptr[i+1]]
			at = at[:len(row)]
			w0 := a[i*lda+j]
			if single {
				for q, x := range row {
					c0[at[q]] += w0 * x
				}
				continue
			}
			w1 := a[i*lda+j+1]
			for q, x := range row {
				p := at[q]
				c0[p] += w0 * x
				c1[p] += w1 * x
			}
		}
	}
}

// Combination sets y (Pad(m) elements) to Σ_i w_i·a_i over len(w) rows of A, which has m columns (stride lda ≥ Pad(m)).
func Combination[T Float](w []T, m int, a []T, lda int, y []T) {
	clear(y[:Pad(m)])
	for j := 0; j < m; j += strip {
		var s0, s1, s2, s3, s4, s5, s6, s7 T
		for i, x := range w {
			v := (*[strip]T)(a[i*lda+j:])
			s0 += x * v[0]
			s1 += x * v[1]
			s2 += x * v[2]
			s3 += x * v[3]
			s4 += x * v[4]
			s5 += x * v[5]
			s6 += x * v[6]
			s7 += x * v[7]
		}
		for k, s := range [strip]T{s0, s1, s2, s3, s4, s5, s6, s7} {
			if j+k < m {
				y[j+k] = s
			}
		}
	}
}
