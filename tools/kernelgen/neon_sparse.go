package main

import "fmt"

const (
	// neonSparseStrip is the largest number of vectors of columns that a kernel for sparse rows works on together.
	neonSparseStrip = 8
	// neonSparseChains is the number of entries of a row that have sums of their own.
	neonSparseChains = 2
	// neonSparseTurn is the number of entries of a turn of the loop.
	neonSparseTurn = 4
)

// neonSparse writes Y = S·B + b·cᵀ for sparse rows and a strip of whole vectors of columns, the sums of a row beginning
// with its shift b times the strip of c where there are shifts. Two entries in turn have sums of their own; a row goes
// through the same operations anywhere, and a column in every strip.
func neonSparse(g *neon) {
	const n, ptr, cols, values, b, ldb, y, ldy = 1, 2, 3, 4, 5, 6, 7, 8
	const shift, common, left, at, col, value = 9, 10, 11, 13, 14, 15
	rows := []int{12, 16}          // the numbers of two entries' rows of B, then their addresses
	const bs, quads, x = 16, 3, 28 // registers for four vectors of B in turn; those of entries
	for w := 1; w <= neonSparseStrip; w++ {
		quad := 0
		// entry adds an element, a lane of a register, times its row of B to the sums of a chain.
		entry := func(chain, reg, lane int) {
			g.op("MADD R%d, R%d, R%d, R%d", ldb, b, rows[chain], rows[chain])
			for j := 0; j < w; j += mostListed {
				count, first := min(mostListed, w-j), bs+quad%quads*mostListed
				quad++
				if j+count < w {
					g.loadNext(rows[chain], count, first)
				} else {
					g.load(rows[chain], 0, count, first)
				}
				for i := range count {
					g.lane("fmla", chain*w+j+i, first+i, reg, lane)
				}
			}
		}
		// pair adds the next two entries.
		pair := func(reg int) {
			g.op("LDPSW.P 8(R%d), (R%d, R%d)", col, rows[0], rows[1])
			if g.elem == float32s {
				g.op("FMOVD.P 8(R%d), F%d", value, reg)
			} else {
				g.op("FMOVQ.P 16(R%d), F%d", value, reg)
			}
			entry(0, reg, 0)
			entry(1, reg, 1)
		}
		g.begin("sparse", fmt.Sprintf("W%d", w), "sparseArgs", field{"n", n}, field{"ptr", ptr}, field{"cols", cols},
			field{"values", values}, field{"b", b}, field{"ldb", ldb}, field{"y", y}, field{"ldy", ldy}, field{"shift", shift},
			field{"common", common})
		g.label("row")
		for i := range neonSparseChains * w {
			g.zero(i)
		}
		g.op("CBZ R%d, begin", shift)
		g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, shift, x)
		g.load(common, 0, w, bs)
		for i := range w {
			g.lane("fmul", i, bs+i, x, 0)
		}
		g.label("begin")
		g.op("MOVD.P 8(R%d), R%d", ptr, at)
		g.op("MOVD (R%d), R%d", ptr, left)
		g.op("SUB R%d, R%d, R%d", at, left, left)
		g.op("ADD R%d<<2, R%d, R%d", at, cols, col)
		g.op("ADD R%d<<%d, R%d, R%d", at, g.elem.shift(), values, value)
		g.op("SUBS $%d, R%d, R%d", neonSparseTurn, left, left)
		g.op("BLT rest")
		g.label("turn")
		for i := range neonSparseTurn / 2 {
			pair(x + i)
		}
		g.op("SUBS $%d, R%d, R%d", neonSparseTurn, left, left)
		g.op("BGE turn")
		g.label("rest")
		g.op("TBZ $1, R%d, single", left)
		pair(x)
		g.label("single")
		g.op("TBZ $0, R%d, done", left)
		g.op("MOVW (R%d), R%d", col, rows[0])
		g.op("%s (R%d), F%d", g.scalarMove(), value, x)
		entry(0, x, 0)
		g.label("done")
		for i := range w {
			g.v3("fadd", i, i, w+i)
		}
		g.store(y, 0, w, 0)
		g.op("ADD R%d, R%d, R%d", ldy, y, y)
		g.op("SUBS $1, R%d, R%d", n, n)
		g.op("BNE row")
		g.end()
	}
}

// neonSparseTMul writes C += Aᵀ·S for up to four columns of A and sparse rows, in scalar instructions: each entry adds to
// one element of every row of C.
func neonSparseTMul(g *neon) {
	const n, ptr, cols, values, a, lda, c0, ldc, left, at, col, value, place = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
	c := []int{c0, 14, 15, 16}
	shift := g.elem.shift()
	fma := map[elem]string{float32s: "FMADDS", float64s: "FMADDD"}[g.elem]
	for m := 1; m <= len(c); m++ {
		g.begin("sparseTMul", fmt.Sprintf("M%d", m), "sparseTMulArgs", field{"n", n}, field{"ptr", ptr}, field{"cols", cols},
			field{"values", values}, field{"a", a}, field{"lda", lda}, field{"c", c0}, field{"ldc", ldc})
		for j := 1; j < m; j++ {
			g.op("ADD R%d, R%d, R%d", ldc, c[j-1], c[j])
		}
		g.label("row")
		for j := range m {
			g.op("%s %d(R%d), F%d", g.scalarMove(), j*g.elem.size, a, j)
		}
		g.op("MOVD.P 8(R%d), R%d", ptr, at)
		g.op("MOVD (R%d), R%d", ptr, left)
		g.op("SUBS R%d, R%d, R%d", at, left, left)
		g.op("BLE done")
		g.op("ADD R%d<<2, R%d, R%d", at, cols, col)
		g.op("ADD R%d<<%d, R%d, R%d", at, shift, values, value)
		g.label("entry")
		g.op("MOVW.P 4(R%d), R%d", col, place)
		g.op("%s.P %d(R%d), F4", g.scalarMove(), g.elem.size, value)
		for j := range m {
			g.op("%s (R%d)(R%d<<%d), F%d", g.scalarMove(), c[j], place, shift, 5+j)
			g.op("%s F4, F%d, F%d, F%d", fma, 5+j, j, 5+j)
			g.op("%s F%d, (R%d)(R%d<<%d)", g.scalarMove(), 5+j, c[j], place, shift)
		}
		g.op("SUBS $1, R%d, R%d", left, left)
		g.op("BNE entry")
		g.label("done")
		g.op("ADD R%d, R%d, R%d", lda, a, a)
		g.op("SUBS $1, R%d, R%d", n, n)
		g.op("BNE row")
		g.end()
	}
}
