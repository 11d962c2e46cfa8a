package main

import "fmt"

// neonMulTiles gives, for a strip of w vectors, the numbers of rows that are worked on together, largest first, ending
// in 1. The first keeps 8 to 24 sums in registers and divides 96, the usual block.
var neonMulTiles = [][]int{1: {8, 4, 1}, 2: {8, 4, 1}, 3: {6, 2, 1}, 4: {6, 2, 1}}

// The general registers of a tile of mul or dot: rowPointers on hold the address in each row of X.
var rowPointers = []int{13, 14, 15, 16, 17, 19, 20, 21}

// neonMul writes Y = X·B for strips of 1, 2, ... vectors of columns: lanes run along the columns of B; a vector of X
// holds the next elements of a row, each of which a multiply-add takes from its lane. Every element of Y is one chain
// of fused multiply-adds in the order of k, whatever the tile.
func neonMul(g *neon) {
	const x, ldx, b, y, n, ldy, ahead, load, mask = 1, 2, 3, 4, 5, 6, 7, 12, 22
	for w := 1; w < len(neonMulTiles); w++ {
		g.begin("mul", fmt.Sprintf("W%d", w), "mulArgs", field{"x", x}, field{"ldx", ldx}, field{"b", b}, field{"y", y},
			field{"n", n}, field{"ldy", ldy}, field{"ahead", ahead}, field{"load", load})
		g.op("NEG R%d, R%d", load, load)
		// One of the two counts has all lanes: the other says where the columns end.
		g.arg("mulArgs", "keep", mask)
		g.arg("mulArgs", "store", 11)
		g.op("CMP R%d, R11", mask)
		g.op("CSEL LT, R11, R%d, R%d", mask, mask)
		for _, rows := range neonMulTiles[w] {
			g.mulTile(rows, w)
		}
		g.end()
	}
}

// mulTile writes the loop over tiles of the given number of rows.
func (g *neon) mulTile(rows, w int) {
	const x, ldx, b, y, n, ldy, ahead, next, left, line, tmp, load, mask = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 22
	acc := func(i, j int) int { return i*w + j }
	xs := func(i int) int { return rows*w + i }
	spare := rows*w + rows
	perLine := 64 / g.elem.size

	g.label("tile%d", rows)
	g.op("CMP $%d, R%d", rows, n)
	g.op("BLT after%d", rows)
	g.rowsFrom(x, ldx, rows)
	g.op("MOVD R%d, R%d", b, next)
	g.op("CBNZ R%d, load%d", load, rows)
	for i := range rows * w {
		g.zero(i)
	}
	g.op("B start%d", rows)
	g.label("load%d", rows)
	g.op("MOVD R%d, R%d", y, tmp)
	for i := range rows {
		g.load(tmp, 0, w, acc(i, 0))
		if i < rows-1 {
			g.op("ADD R%d, R%d, R%d", ldy, tmp, tmp)
		}
	}
	g.label("start%d", rows)
	g.arg("mulArgs", "k", left)

	// A cache line of every row at a time: fetch that line of the tile after this one, then go through its elements.
	g.label("line%d", rows)
	for i := range rows {
		g.prefetch("1", rowPointers[i], ahead)
	}
	g.op("MOVD $%d, R%d", perLine, line)
	g.op("CMP R%d, R%d", line, left)
	g.op("CSEL LT, R%d, R%d, R%d", left, line, line)
	g.op("SUB R%d, R%d, R%d", line, left, left)
	g.op("SUBS $%d, R%d, R%d", g.lanes(), line, line)
	g.op("BLT rest%d", rows)
	g.label("step%d", rows)
	for i := range rows {
		g.op("FMOVQ.P %d(R%d), F%d", neonWidth, rowPointers[i], xs(i))
	}
	for k := range g.lanes() {
		g.mulElement(rows, w, k, next, spare, acc, xs)
	}
	g.op("SUBS $%d, R%d, R%d", g.lanes(), line, line)
	g.op("BGE step%d", rows)
	g.label("rest%d", rows)
	g.op("ADDS $%d, R%d, R%d", g.lanes(), line, line)
	g.op("BEQ done%d", rows)
	g.label("single%d", rows)
	for i := range rows {
		g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, rowPointers[i], xs(i))
	}
	g.mulElement(rows, w, 0, next, spare, acc, xs)
	g.op("SUBS $1, R%d, R%d", line, line)
	g.op("BNE single%d", rows)
	g.label("done%d", rows)
	g.op("CBNZ R%d, line%d", left, rows)

	// Columns beyond m: zero in the first pass over k, left alone after it. Row state reaches to whole vectors.
	lanes, old, t := rows*w, rows*w+1, rows*w+2
	g.firstLanes(mask, lanes)
	g.spreadGeneral(old, load, true)
	for i := range rows {
		last := acc(i, w-1)
		g.op("FMOVQ %d(R%d), F%d", (w-1)*neonWidth, y, t)
		g.logic("and", t, t, old)
		g.logic("bif", last, t, lanes)
		g.store(y, 0, w, acc(i, 0))
		g.op("ADD R%d, R%d, R%d", ldy, y, y)
	}
	g.op("SUB $%d, R%d, R%d", rows, n, n)
	g.op("B tile%d", rows)
	g.label("after%d", rows)
}

// mulElement adds the products of lane k of the vectors of X and the next row of B.
func (g *neon) mulElement(rows, w, k, next, spare int, acc func(i, j int) int, x func(i int) int) {
	pool := min(w, neonRegs-spare)
	if pool%2 == 1 && pool < w {
		pool--
	}
	b := func(j int) int { return spare + j%pool }
	for j0 := 0; j0 < w; j0 += pool {
		cols := min(pool, w-j0)
		g.loadNext(next, cols, b(j0))
		for i := range rows {
			for j := j0; j < j0+cols; j++ {
				g.lane("fmla", acc(i, j), b(j), x(i), k)
			}
		}
	}
}

// rowsFrom sets the row pointers to the next rows of a matrix and base to the row behind them.
func (g *neon) rowsFrom(base, stride, rows int) {
	g.op("MOVD R%d, R%d", base, rowPointers[0])
	for i := 1; i < rows; i++ {
		g.op("ADD R%d, R%d, R%d", stride, rowPointers[i-1], rowPointers[i])
	}
	g.op("ADD R%d, R%d, R%d", stride, rowPointers[rows-1], base)
}
