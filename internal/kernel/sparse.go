package kernel

import "unsafe"

// sparseArgs: n rows of Y = S·B for a strip of columns; B is row-major, ptr holds 64-bit offsets and cols 32-bit columns.
type sparseArgs struct {
	n            int
	ptr          unsafe.Pointer
	cols, values unsafe.Pointer
	b            unsafe.Pointer
	ldb          int
	y            unsafe.Pointer
	ldy          int
	shift        unsafe.Pointer // a number for each row, which times common its sums begin with; or nil
	common       unsafe.Pointer
}

// strip is the number of columns whose sums plain Go keeps in registers.
const strip = 8

// MulSparse computes Y = S·B for n sparse rows: row i has values[ptr[i]:ptr[i+1]] in the columns of cols, all of which are
// rows of B. b is B in the form of RowMajor for m columns, and Y has the stride ldy ≥ Pad(m). The columns of Y from m to
// Pad(m) become zero. An element of Y is one sum over the entries of its row, the same operations in the same order in
// every column: its bits depend neither on n and the place of the row nor on m and the place of the column.
func MulSparse[T Float](ptr []int, cols []int32, values []T, m int, b []T, y []T, ldy int) {
	MulSparseShifted(ptr, cols, values, m, b, nil, nil, y, ldy)
}

// MulSparseShifted is MulSparse for rows with a shift along a common direction u: Y = (S + shift·uᵀ)·B, where common is
// uᵀB as Combine returns it.
func MulSparseShifted[T Float](ptr []int, cols []int32, values []T, m int, b, shift, common []T, y []T, ldy int) {
	n, ld := len(ptr)-1, Pad(m)
	if n < 1 || m == 0 {
		return
	}
	_ = y[(n-1)*ldy+ld-1]
	if shift != nil {
		shift, common = shift[:n], common[:ld]
	}
	if active == pathPortable || len(cols) == 0 {
		mulSparsePortable(ptr, cols, values, m, b, shift, common, y, ldy)
		return
	}
	if ptr[n] > ptr[0] {
		_, _ = cols[ptr[n]-1], values[ptr[n]-1]
	}
	var t T
	size, l := int(unsafe.Sizeof(t)), lanes[T](active)
	first := firstSparse[active][kind[T]()] - 1
	args := sparseArgs{n: n, ptr: unsafe.Pointer(&ptr[0]), cols: at(cols), values: at(values),
		ldb: ld * size, ldy: ldy * size, shift: at(shift)}
	for j := 0; j < ld; {
		w := evenPart((ld-j)/l, blockings[active].sparse)
		args.b, args.y = unsafe.Pointer(&b[j]), unsafe.Pointer(&y[j])
		if shift != nil {
			args.common = unsafe.Pointer(&common[j])
		}
		callSparse(first+w, &args)
		j += w * l
	}
}

func mulSparsePortable[T Float](ptr []int, cols []int32, values []T, m int, b, shift, common []T, y []T, ldy int) {
	ld := Pad(m)
	for i := range len(ptr) - 1 {
		at, row := cols[ptr[i]:ptr[i+1]], values[ptr[i]:ptr[i+1]]
		yi := y[i*ldy : i*ldy+ld]
		clear(yi)
		if shift != nil {
			for j, v := range common[:m] {
				yi[j] = shift[i] * v
			}
		}
		for j := 0; j < m; j += strip {
			mulStrip((*[strip]T)(yi[j:]), at, row, b[j:], ld)
		}
	}
}

// mulStrip adds to y the strip of a row of S·B; b begins at the strip.
func mulStrip[T Float](y *[strip]T, at []int32, row, b []T, ld int) {
	s0, s1, s2, s3, s4, s5, s6, s7 := y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7]
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
