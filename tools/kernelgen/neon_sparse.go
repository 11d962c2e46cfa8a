package main

import "fmt"

// neonSparseStrip is the largest number of vectors of columns that a kernel for sparse rows works on together.
const neonSparseStrip = 4

// neonSparse writes Y = S·B + b·cᵀ for sparse rows and a strip of whole vectors of columns, the sums of a row beginning
// with its shift b times the strip of c where there are shifts. Four entries in turn have sums of their own, so that no
// sum waits for the one before; a row goes through the same operations anywhere, and a column in every strip.
func neonSparse(g *neon) {
	const n, ptr, cols, values, b, ldb, y, ldy = 1, 2, 3, 4, 5, 6, 7, 8
	const shift, common, left, end, at, col, value = 9, 10, 11, 12, 13, 14, 15
	for w := 1; w <= neonSparseStrip; w++ {
		x := func(chain int) int { return sparseChains*w + chain%2 }
		bs := func(chain int) func(int) int { return counting(sparseChains*w + 2 + chain%2*w) }
		// entry adds the next entry times its row of B to the sums of a chain.
		entry := func(chain int) {
			g.op("MOVW.P 4(R%d), R%d", col, end)
			g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, value, x(chain))
			g.op("MADD R%d, R%d, R%d, R%d", ldb, b, end, end)
			g.load(end, 0, w, bs(chain))
			for i := range w {
				g.lane("fmla", chain*w+i, bs(chain)(i), x(chain), 0)
			}
		}
		g.begin("sparse", fmt.Sprintf("W%d", w), "sparseArgs")
		for _, f := range []struct {
			field string
			reg   int
		}{
			{"n", n}, {"ptr", ptr}, {"cols", cols}, {"values", values}, {"b", b}, {"ldb", ldb}, {"y", y}, {"ldy", ldy},
			{"shift", shift}, {"common", common},
		} {
			g.arg("sparseArgs", f.field, f.reg)
		}
		g.label("row")
		for i := range sparseChains * w {
			g.zero(i)
		}
		g.op("CBZ R%d, begin", shift)
		g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, shift, x(0))
		g.load(common, 0, w, bs(0))
		for i := range w {
			g.lane("fmul", i, bs(0)(i), x(0), 0)
		}
		g.label("begin")
		g.op("MOVD.P 8(R%d), R%d", ptr, at)
		g.op("MOVD (R%d), R%d", ptr, left)
		g.op("SUB R%d, R%d, R%d", at, left, left)
		g.op("ADD R%d<<2, R%d, R%d", at, cols, col)
		g.op("ADD R%d<<%d, R%d, R%d", at, map[elem]int{float32s: 2, float64s: 3}[g.elem], values, value)
		g.op("SUBS $%d, R%d, R%d", sparseChains, left, left)
		g.op("BLT rest")
		g.label("turn")
		for chain := range sparseChains {
			entry(chain)
		}
		g.op("SUBS $%d, R%d, R%d", sparseChains, left, left)
		g.op("BGE turn")
		g.label("rest")
		g.op("ADDS $%d, R%d, R%d", sparseChains, left, left)
		for chain := range sparseChains - 1 {
			g.op("BEQ done")
			entry(chain)
			g.op("SUBS $1, R%d, R%d", left, left)
		}
		g.label("done")
		for i := range w {
			at := func(chain int) int { return chain*w + i }
			g.v3("fadd", at(0), at(0), at(1))
			g.v3("fadd", at(2), at(2), at(3))
			g.v3("fadd", at(0), at(0), at(2))
		}
		g.store(y, 0, w, counting(0))
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
	shift := map[elem]int{float32s: 2, float64s: 3}[g.elem]
	fma := map[elem]string{float32s: "FMADDS", float64s: "FMADDD"}[g.elem]
	for m := 1; m <= len(c); m++ {
		g.begin("sparseTMul", fmt.Sprintf("M%d", m), "sparseTMulArgs")
		for _, f := range []struct {
			field string
			reg   int
		}{{"n", n}, {"ptr", ptr}, {"cols", cols}, {"values", values}, {"a", a}, {"lda", lda}, {"c", c0}, {"ldc", ldc}} {
			g.arg("sparseTMulArgs", f.field, f.reg)
		}
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
