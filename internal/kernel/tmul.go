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
	var t T
	var edge [tmulEdge]T
	size, l := int(unsafe.Sizeof(t)), lanes[T](active)
	most, mostVectors := blockings[active].tmul, tmulVectors(active, m, (d+l-1)/l)
	args := tmulArgs{n: n, lda: lda * size, ldx: ldx * size, ldc: ldc * size}
	for q, vectors := 0, (d+l-1)/l; vectors > 0; {
		w := evenPart(vectors, mostVectors)
		args.x = unsafe.Pointer(&x[q])
		args.lanes = min(l, d-q-(w-1)*l)
		args.ahead = w * l * size
		first := firstTmul[active][kind[T]()] - 1
		for _, before := range most[:w-1] {
			first += before
		}
		whole := active != pathNEON || args.lanes == l
		if !whole {
			args.ldc = w * l * size
		}
		for j := 0; j < m; {
			rows := evenPart(m-j, most[w-1])
			args.a = unsafe.Pointer(&a[j])
			args.c = unsafe.Pointer(&c[j*ldc+q])
			if !whole {
				clear(edge[:rows*w*l])
				args.c = unsafe.Pointer(&edge)
			}
			callTmul(first+rows, &args)
			if !whole {
				addTile(c[j*ldc+q:], ldc, edge[:rows*w*l], w*l, d-q)
			}
			j += rows
		}
		q, vectors = q+w*l, vectors-w
	}
}

// tmulEdge is the size of the largest tile of C on a path whose kernels know whole vectors only.
const tmulEdge = 96

// addTile adds the first columns of the rows of a tile to those of C.
func addTile[T Float](c []T, ldc int, tile []T, width, columns int) {
	for i := 0; i*width < len(tile); i++ {
		row := c[i*ldc : i*ldc+columns]
		for j, v := range tile[i*width : i*width+columns] {
			row[j] += v
		}
	}
}
