package main

import "fmt"

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
	g.begin("gram", fmt.Sprintf("R%dC%d", r, c), "gramArgs", field{"x", x}, field{"ldx", ldx}, field{"y", y},
		field{"ldy", ldy}, field{"steps", steps}, field{"tail", tail}, field{"c", cAt}, field{"ldc", ldc})
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
		g.loadNext(yRows[j], 2, ys(j, 0))
	}
	for i := range r {
		g.loadNext(rowPointers[i], 2, xs(0))
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
