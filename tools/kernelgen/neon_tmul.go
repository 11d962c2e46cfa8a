package main

import "fmt"

// neonTMulSize gives the most rows of a tile of C (columns of A) for tiles of 1, 2, ... vectors.
var neonTMulSize = []int{16, 12, 8}

// neonTMul writes C += Aᵀ·X for tiles of C: lanes run along the columns of X; a vector of A holds the next elements of a
// row, each of which a multiply-add takes from its lane. A tile of C has whole vectors; X may end inside its last one.
func neonTMul(g *neon) {
	for w, most := range neonTMulSize {
		for m := 1; m <= most; m++ {
			g.tmulTile(m, w+1)
		}
	}
}

func (g *neon) tmulTile(m, w int) {
	const x, ldx, a, lda, n, ahead, c, ldc, lanes, tmp = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
	acc := func(i, j int) int { return i*w + j }
	xs := func(j int) int { return m*w + j }
	as := m*w + w // the registers of A's row
	per := g.lanes()
	g.begin("tmul", fmt.Sprintf("W%dM%d", w, m), "tmulArgs")
	for _, f := range []struct {
		field string
		reg   int
	}{{"x", x}, {"ldx", ldx}, {"a", a}, {"lda", lda}, {"n", n}, {"ahead", ahead}, {"c", c}, {"ldc", ldc}, {"lanes", lanes}} {
		g.arg("tmulArgs", f.field, f.reg)
	}
	g.op("CMP $%d, R%d", per, lanes)
	g.op("CSEL EQ, ZR, R%d, R%d", lanes, lanes) // lanes of the last vector, 0 for all of them
	for i := range m * w {
		g.zero(i)
	}
	g.label("row")
	g.op("CBNZ R%d, part", lanes)
	g.load(x, 0, w, xs)
	g.label("loaded")
	g.prefetch("1", x, ahead)
	g.load(a, 0, m/per, counting(as))
	top := as + m/per
	if m%per > 0 {
		g.loadSome(a, m/per*neonWidth, m%per, top)
	}
	for i := range m {
		for j := range w {
			g.lane("fmla", acc(i, j), xs(j), as+i/per, i%per)
		}
	}
	g.op("ADD R%d, R%d, R%d", ldx, x, x)
	g.op("ADD R%d, R%d, R%d", lda, a, a)
	g.op("SUBS $1, R%d, R%d", n, n)
	g.op("BNE row")

	for i := range m {
		g.load(c, 0, w, xs)
		for j := range w {
			g.v3("fadd", xs(j), xs(j), acc(i, j))
		}
		g.store(c, 0, w, xs)
		g.op("ADD R%d, R%d, R%d", ldc, c, c)
	}
	g.end()

	// The last vector of the tile is a part of one: only X is, the caller hands over a whole tile of C.
	g.label("part")
	g.load(x, 0, w-1, xs)
	g.someLanes(lanes, func(lanes int) { g.loadSome(x, (w-1)*neonWidth, lanes, xs(w-1)) })
	g.op("B loaded")
}

// neonGramSize is the most rows of X, and of Y, in a tile.
const neonGramSize = 4

// neonGram writes C += X·Yᵀ for a few rows of X and of Y, in float64 alone: lanes run along the rows, which are used
// where they lie, and the lanes of each sum are added up at the end.
func neonGram(g *neon) {
	if g.elem != float64s {
		return
	}
	for r := 1; r <= neonGramSize; r++ {
		for c := 1; c <= neonGramSize; c++ {
			g.gramTile(r, c)
		}
	}
}

func (g *neon) gramTile(r, c int) {
	const x, ldx, y, ldy, steps, tail, cAt, ldc, tmp = 1, 2, 3, 4, 5, 6, 7, 8, 9
	yRows := []int{10, 11, 12, 22}
	acc := func(i, j int) int { return i*c + j }
	ys := func(j, half int) int { return r*c + 2*j + half }
	xs := func(half int) int { return r*c + 2*c + half }
	g.begin("gram", fmt.Sprintf("R%dC%d", r, c), "gramArgs")
	for _, f := range []struct {
		field string
		reg   int
	}{{"x", x}, {"ldx", ldx}, {"y", y}, {"ldy", ldy}, {"steps", steps}, {"tail", tail}, {"c", cAt}, {"ldc", ldc}} {
		g.arg("gramArgs", f.field, f.reg)
	}
	g.rowsFrom(x, ldx, r)
	g.op("MOVD R%d, R%d", y, yRows[0])
	for j := 1; j < c; j++ {
		g.op("ADD R%d, R%d, R%d", ldy, yRows[j-1], yRows[j])
	}
	for i := range r * c {
		g.zero(i)
	}
	// Two vectors of every row at a time, then what is left.
	g.op("SUBS $2, R%d, R%d", steps, steps)
	g.op("BLT one")
	g.label("two")
	for j := range c {
		g.loadNext(yRows[j], 2, func(half int) int { return ys(j, half) })
	}
	for i := range r {
		g.loadNext(rowPointers[i], 2, xs)
		for half := range 2 {
			for j := range c {
				g.v3("fmla", acc(i, j), xs(half), ys(j, half))
			}
		}
	}
	g.op("SUBS $2, R%d, R%d", steps, steps)
	g.op("BGE two")
	g.label("one")
	single := func(load func(base, reg int)) {
		for j := range c {
			load(yRows[j], ys(j, 0))
		}
		for i := range r {
			load(rowPointers[i], xs(0))
			for j := range c {
				g.v3("fmla", acc(i, j), xs(0), ys(j, 0))
			}
		}
	}
	g.op("ADDS $2, R%d, R%d", steps, steps)
	g.op("BEQ tail")
	single(func(base, reg int) { g.op("FMOVQ.P %d(R%d), F%d", neonWidth, base, reg) })
	g.label("tail")
	g.op("CBZ R%d, sum", tail)
	single(func(base, reg int) { g.op("FMOVD (R%d), F%d", base, reg) })
	g.label("sum")
	t := xs(0)
	for i := range r {
		for j := range c {
			a := acc(i, j)
			g.sumPair(a, a)
			g.op("FMOVD %d(R%d), F%d", 8*j, cAt, t)
			g.op("FADDD F%d, F%d, F%d", t, a, a)
			g.op("FMOVD F%d, %d(R%d)", a, 8*j, cAt)
		}
		g.op("ADD R%d, R%d, R%d", ldc, cAt, cAt)
	}
	g.end()
}
