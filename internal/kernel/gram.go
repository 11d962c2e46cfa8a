package kernel

import "unsafe"

// gramColumns is the length of the pieces of rows that go through all tiles together.
const gramColumns = 512

// MulRowsT sets C = X·Yᵀ: X is n×k (stride ldx), Y m×k (stride ldy), C n×m (stride ldc). Unlike Mul it packs nothing, which
// suits few rows. An element has the same bits whatever n and m and its place.
func MulRowsT(n, m, k int, x []float64, ldx int, y []float64, ldy int, c []float64, ldc int) {
	if n <= 0 || m <= 0 {
		return
	}
	for i := range n {
		clear(c[i*ldc : i*ldc+m])
	}
	if k <= 0 {
		return
	}
	_, _ = x[(n-1)*ldx+k-1], y[(m-1)*ldy+k-1]
	if active == pathPortable {
		mulRowsTPortable(n, m, k, x, ldx, y, ldy, c, ldc)
		return
	}
	l, most := lanes[float64](active), blockings[active].gram
	first := firstGram[active][kind[float64]()]
	args := gramArgs{ldx: 8 * ldx, ldy: 8 * ldy, ldc: 8 * ldc}
	for q := 0; q < k; q += gramColumns {
		part := min(gramColumns, k-q)
		args.steps, args.tail = part/l, part%l
		for i := 0; i < n; {
			rows := evenPart(n-i, most)
			args.x = unsafe.Pointer(&x[i*ldx+q])
			for j := 0; j < m; {
				cols := evenPart(m-j, most)
				args.y = unsafe.Pointer(&y[j*ldy+q])
				args.c = unsafe.Pointer(&c[i*ldc+j])
				callGram(first+(rows-1)*most+cols-1, &args)
				j += cols
			}
			i += rows
		}
	}
}
