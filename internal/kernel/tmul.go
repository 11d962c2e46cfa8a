package kernel

import "unsafe"

// tmulRows is the most rows that are added up in registers before the sums go to C.
const tmulRows = 128

// TMulAdd computes C += Aᵀ·X over n rows: A has m columns (stride lda), X has d (stride ldx), C is m×d (stride ldc).
// Rows are added up in order, in blocks of at most 128 whose sizes depend on n alone.
func TMulAdd[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	if n <= 0 || m <= 0 || d <= 0 {
		return
	}
	_, _, _ = a[(n-1)*lda+m-1], x[(n-1)*ldx+d-1], c[(m-1)*ldc+d-1]
	blocks := (n + tmulRows - 1) / tmulRows
	for i, b := 0, 0; b < blocks; b++ {
		rows := (n - i + blocks - b - 1) / (blocks - b)
		ai, xi := a[i*lda:], x[i*ldx:]
		if active == pathPortable {
			tmulPortable(rows, m, d, ai, lda, xi, ldx, c, ldc)
		} else {
			tmulTiles(rows, m, d, ai, lda, xi, ldx, c, ldc)
		}
		i += rows
	}
}

// narrowBytes is the longest row of X for tiles of fewer vectors than there could be: over wider rows, which lie on many
// pages, more tiles cost more than they gain.
// For NEON, whose vectors are a quarter as wide and which no measurement was made for, the fewer instructions decide.
const narrowBytes = 2048

// tmulVectors returns the most vectors in a tile for m columns of A and rows of X of the given vectors: fewer where all of
// A then goes through X at once.
func tmulVectors(p path, m, vectors int) int {
	size := blockings[p].tmul
	most := len(size)
	narrow := p == pathNEON || vectors*blockings[p].width <= narrowBytes
	if most > 2 && m > size[most-1] && m <= size[most-2] && narrow {
		return most - 1
	}
	return most
}

// tmulTiles goes through the columns of X in tiles, which stay in the first-level cache while all columns of A are done.
// Rows of X were mostly in the second-level cache before (Mul has read them), so the next tile is fetched from there.
func tmulTiles[T Float](n, m, d int, a []T, lda int, x []T, ldx int, c []T, ldc int) {
	var v T
	size, l := int(unsafe.Sizeof(v)), lanes[T](active)
	vectors := (d + l - 1) / l
	// Tiles are about equally wide, the wider ones first.
	tiles := (vectors + tmulVectors(active, m, vectors) - 1) / tmulVectors(active, m, vectors)
	width, wide := vectors/tiles+1, vectors%tiles
	t := tmulTask[T]{m: m, a: a, c: c, ldc: ldc}
	t.args = tmulArgs{n: n, lda: lda * size, ldx: ldx * size, ldc: ldc * size}
	for i, q := 0, 0; i < tiles; i++ {
		if i == 0 || i == wide {
			if i == wide {
				width--
			}
			t.split(active, width)
			t.args.lanes, t.args.ahead = l, width*l*size
		}
		t.args.x = unsafe.Pointer(&x[q])
		if i == tiles-1 {
			t.args.lanes = d - q - (width-1)*l
		}
		if t.args.lanes < l && active == pathNEON {
			t.edge(q, width*l, d-q)
		} else {
			t.columns(q)
		}
		q += width * l
	}
}

// tmulTask holds what the tiles of a product have in common, and how the columns of A are cut for the present tiles: into parts
// about equal, the taller ones first.
type tmulTask[T Float] struct {
	args  tmulArgs
	first int // the number of the kernel for a tile of one column of A, less one
	tall  int // parts with
	high  int // columns of A; the others have
	low   int // columns, and the last one may have fewer
	m     int
	a, c  []T
	ldc   int
}

// split cuts the columns of A for tiles of w vectors.
func (t *tmulTask[T]) split(p path, w int) {
	b := &blockings[p]
	units, most := (t.m+b.step-1)/b.step, b.tmul[w-1]/b.step
	parts := (units + most - 1) / most
	t.tall, t.low = units%parts, units/parts*b.step
	t.high = t.low + b.step
	t.first = firstTmul[p][kind[T]()] - 1
	for _, before := range b.tmul[:w-1] {
		t.first += before
	}
}

// rows is the number of columns of A in part i, which begins at column j.
func (t *tmulTask[T]) rows(i, j int) int {
	if i < t.tall {
		return min(t.high, t.m-j)
	}
	return min(t.low, t.m-j)
}

// columns treats all columns of A for the tile at column q of X.
func (t *tmulTask[T]) columns(q int) {
	for i, j := 0, 0; j < t.m; i++ {
		rows := t.rows(i, j)
		t.args.a, t.args.c = unsafe.Pointer(&t.a[j]), unsafe.Pointer(&t.c[j*t.ldc+q])
		callTmul(t.first+rows, &t.args)
		j += rows
	}
}

// edgeElements is the size of the largest tile of C on a path whose kernels know whole vectors only.
const edgeElements = 96

// edge is columns for the last tile where its columns do not fill its vectors, on a path whose kernels write whole ones: a tile
// is width wide, and C has fewer columns.
func (t *tmulTask[T]) edge(q, width, columns int) {
	var tile [edgeElements]T
	args := t.args // of its own, so that the tile stays on the stack
	args.ldc = width * int(unsafe.Sizeof(tile[0]))
	args.c = unsafe.Pointer(&tile)
	for i, j := 0, 0; j < t.m; i++ {
		rows := t.rows(i, j)
		clear(tile[:rows*width])
		args.a = unsafe.Pointer(&t.a[j])
		callTmul(t.first+rows, &args)
		addTile(t.c[j*t.ldc+q:], t.ldc, tile[:rows*width], width, columns)
		j += rows
	}
}

// addTile adds the first columns of the rows of a tile to those of C.
func addTile[T Float](c []T, ldc int, tile []T, width, columns int) {
	for i := 0; i*width < len(tile); i++ {
		row := c[i*ldc : i*ldc+columns]
		for j, v := range tile[i*width : i*width+columns] {
			row[j] += v
		}
	}
}
