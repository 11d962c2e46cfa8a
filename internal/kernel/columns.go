package kernel

import "unsafe"

// Columns is a sparse n×d matrix S by columns, for AᵀS with all n rows at once: then an element of the product is one
// sum, and no row of S writes to many places.
type Columns[T Float] struct {
	n, d     int
	segments []segment[T]
}

// segment is some of the rows: column j has values[ptr[j]:ptr[j+1]] in the rows of the same range, counted from the first.
type segment[T Float] struct {
	ptr    []int
	rows   []int32
	values []T
}

// segmentRows is the number of rows whose products are summed in the precision of the data.
const segmentRows = 1 << 15

// NewColumns returns the n×d matrix of the compressed rows that MulSparse takes.
func NewColumns[T Float](n, d int, ptr []int, cols []int32, values []T) *Columns[T] {
	c := &Columns[T]{n: n, d: d}
	for lo := 0; lo < n; lo += segmentRows {
		hi := min(lo+segmentRows, n)
		size := ptr[hi] - ptr[lo]
		s := segment[T]{ptr: make([]int, d+1), rows: make([]int32, size), values: make([]T, size)}
		// Offsets are counted one place on, so that filling a column moves its begin to where the next one begins.
		next := s.ptr[1:]
		for _, j := range cols[ptr[lo]:ptr[hi]] {
			if int(j)+1 < d {
				next[j+1]++
			}
		}
		for j := 1; j < d; j++ {
			next[j] += next[j-1]
		}
		for i := lo; i < hi; i++ {
			for q := ptr[i]; q < ptr[i+1]; q++ {
				j := cols[q]
				at := next[j]
				next[j]++
				s.rows[at], s.values[at] = int32(i-lo), values[q]
			}
		}
		c.segments = append(c.segments, s)
	}
	return c
}

// Bytes is the memory of the matrix.
func (c *Columns[T]) Bytes() int64 {
	var t T
	total := 0
	for _, s := range c.segments {
		total += 8*len(s.ptr) + (4+int(unsafe.Sizeof(t)))*len(s.rows)
	}
	return int64(total)
}

// TMulAdd adds columns lo to hi of AᵀS to those of dst, which is m×d and has no gaps. A has m columns, the stride Pad(m) and
// zeros beyond m. y is for scratch and has at least (hi−lo)·Pad(m) elements. An element of the sum has the same bits
// whatever columns it is computed with.
func (c *Columns[T]) TMulAdd(lo, hi, m int, a, y []T, dst []float64) {
	ld := Pad(m)
	y = y[:(hi-lo)*ld]
	for i, s := range c.segments {
		MulSparse(s.ptr[lo:hi+1], s.rows, s.values, m, a[i*segmentRows*ld:], y, ld)
		addTransposed(dst[lo:], c.d, y, ld, m)
	}
}

// addTransposed adds yᵀ to dst (stride ldd); y has m columns and the stride ld.
func addTransposed[T Float](dst []float64, ldd int, y []T, ld, m int) {
	k := len(y) / ld
	q := 0
	for ; q+4 <= m; q += 4 {
		d0, d1, d2, d3 := dst[q*ldd:][:k], dst[(q+1)*ldd:][:k], dst[(q+2)*ldd:][:k], dst[(q+3)*ldd:][:k]
		at := q
		for j := range d0 {
			s := (*[4]T)(y[at:])
			d0[j] += float64(s[0])
			d1[j] += float64(s[1])
			d2[j] += float64(s[2])
			d3[j] += float64(s[3])
			at += ld
		}
	}
	for ; q < m; q++ {
		at := q
		row := dst[q*ldd:][:k]
		for j := range row {
			row[j] += float64(y[at])
			at += ld
		}
	}
}
