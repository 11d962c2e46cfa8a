package kernel

import "unsafe"

// form is the way in which a panel is packed and multiplied.
type form uint8

const (
	// formDot (portable): Bᵀ row-major, m×k, for inner products.
	formDot form = iota
	// formLanesM: strips of whole vectors of columns, each strip k rows; lanes run along m.
	formLanesM
	// formLanesK: strips of a few columns, in each strip a vector along k of every column in turn; lanes run along k.
	formLanesK
)

// Panel is the right-hand side B (k×m) of Mul, packed for the kernels. Its zero value is an empty matrix. Once packed it
// may be read by many goroutines.
type Panel[T Float] struct {
	k, m int
	path path
	form form
	data []T

	plain plain[T]
}

// Dims returns the size of B: k rows, m columns.
func (p *Panel[T]) Dims() (k, m int) { return p.k, p.m }

const (
	cacheLine = 64
	// panelBytes is the part of a packed strip that is worked on at a time; it stays in the first-level cache.
	panelBytes = 32 << 10
	// lanesKMaxM is the most columns for formLanesK, which reads X again for every few columns.
	lanesKMaxM = 48
)

// lanesAlongK reports whether formLanesK is the faster one for a k×m matrix. Lanes along m are used to m of the next
// multiple of the lanes; lanes along k are used fully, but adding them up costs as much as some more steps along k: about
// five vectors (AVX-512; three and a half in float32) or two (AVX2), as measured for k from 48 to 784. For NEON, which no
// measurement was made for, two are taken.
func lanesAlongK[T Float](p path, k, m int) bool {
	l := lanes[T](p)
	padded := (m + l - 1) / l * l
	return m <= lanesKMaxM && k*(padded-m) > sumSteps[T](p)*m // k/(k+steps) > m/padded
}

// blockRows returns the number of rows of B that are worked on at a time, where a row of a strip has the given number of
// elements: a multiple of 16 that divides k about evenly.
func blockRows[T Float](k, width int) int {
	var t T
	most := panelBytes / (width * int(unsafe.Sizeof(t)))
	blocks := (k + most - 1) / most
	return ((k+blocks-1)/blocks + 15) &^ 15
}

// resize sets the size of B, without room for its packed form.
func (p *Panel[T]) resize(k, m int) {
	p.k, p.m, p.path = k, m, active
	p.plain.packed()
	switch {
	case active == pathPortable:
		p.form = formDot
	case lanesAlongK[T](active, k, m):
		p.form = formLanesK
	default:
		p.form = formLanesM
	}
}

// makeData makes room for the packed form.
func (p *Panel[T]) makeData() {
	k, m, l := p.k, p.m, lanes[T](p.path)
	size := k * m
	switch p.form {
	case formLanesK:
		size = (k + l - 1) / l * l * m
	case formLanesM:
		size = (m + l - 1) / l * l * k
	}
	if cap(p.data) < size {
		p.data = aligned[T](size)
	}
	p.data = p.data[:size]
}

// aligned returns a slice of n elements that begins at a cache line.
func aligned[T Float](n int) []T {
	var t T
	per := cacheLine / int(unsafe.Sizeof(t))
	s := make([]T, n+per-1)
	skip := 0
	if off := int(uintptr(unsafe.Pointer(unsafe.SliceData(s))) % cacheLine); off != 0 {
		skip = (cacheLine - off) / int(unsafe.Sizeof(t))
	}
	return s[skip : skip+n : skip+n]
}

// Pack sets p to the k×m matrix b with stride ldb, reusing p's memory.
func Pack[T, S Float](p *Panel[T], k, m int, b []S, ldb int) {
	p.resize(k, m)
	p.makeData()
	packData(p, b, ldb)
}

// packData packs b, in a panel that has its size.
func packData[T, S Float](p *Panel[T], b []S, ldb int) {
	k, m := p.k, p.m
	switch l := lanes[T](p.path); p.form {
	case formDot:
		for i := range k {
			for j, v := range b[i*ldb : i*ldb+m] {
				p.data[j*k+i] = T(v)
			}
		}
	case formLanesM:
		data := p.data
		for j, nv := 0, (m+l-1)/l; nv > 0; {
			w := stripVectors(p.path, nv)
			cols := min(w*l, m-j)
			for i := range k {
				row := data[i*w*l : (i+1)*w*l]
				for q, v := range b[i*ldb+j : i*ldb+j+cols] {
					row[q] = T(v)
				}
				clear(row[cols:])
			}
			data, j, nv = data[k*w*l:], j+cols, nv-w
		}
	case formLanesK:
		data, chunks := p.data, (k+l-1)/l
		for j := 0; j < m; {
			c := stripColumns[T](p.path, m-j)
			clear(data[(chunks-1)*c*l : chunks*c*l])
			for i := range k {
				at := i/l*c*l + i%l
				for q, v := range b[i*ldb+j : i*ldb+j+c] {
					data[at+q*l] = T(v)
				}
			}
			data, j = data[chunks*c*l:], j+c
		}
	}
}

// PackT sets p to the transpose of b (m×k with stride ldb), reusing p's memory.
func PackT[T, S Float](p *Panel[T], k, m int, b []S, ldb int) {
	p.resize(k, m)
	p.makeData()
	switch l := lanes[T](p.path); p.form {
	case formDot:
		for j := range m {
			row := p.data[j*k : (j+1)*k]
			for i, v := range b[j*ldb : j*ldb+k] {
				row[i] = T(v)
			}
		}
	case formLanesM:
		data := p.data
		for j, nv := 0, (m+l-1)/l; nv > 0; {
			w := stripVectors(p.path, nv)
			cols := min(w*l, m-j)
			packStripT(data[:k*w*l], w*l, k, cols, b[j*ldb:], ldb)
			data, j, nv = data[k*w*l:], j+cols, nv-w
		}
	case formLanesK:
		data, chunks := p.data, (k+l-1)/l
		for j := 0; j < m; {
			c := stripColumns[T](p.path, m-j)
			for q := range c {
				row := b[(j+q)*ldb : (j+q)*ldb+k]
				for at := q * l; len(row) > 0; at += c * l {
					piece := data[at : at+l]
					n := min(l, len(row))
					for i, v := range row[:n] {
						piece[i] = T(v)
					}
					clear(piece[n:])
					row = row[n:]
				}
			}
			data, j = data[chunks*c*l:], j+c
		}
	}
}

// packStripT packs cols rows of b as the columns of a strip of the given width, in blocks that stay in the cache.
func packStripT[T, S Float](strip []T, width, k, cols int, b []S, ldb int) {
	const block = 32
	for i0 := 0; i0 < k; i0 += block {
		rows := strip[i0*width : min(k, i0+block)*width]
		for j := range cols {
			at := j
			for _, v := range b[j*ldb+i0 : j*ldb+min(k, i0+block)] {
				rows[at] = T(v)
				at += width
			}
		}
		for at := 0; cols < width && at < len(rows); at += width {
			clear(rows[at+cols : at+width])
		}
	}
}
