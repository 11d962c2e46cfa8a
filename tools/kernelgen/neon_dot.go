package main

import "fmt"

// neonDotRows gives, for a strip of c columns, the number of rows that are worked on together.
var neonDotRows = []int{1: 8, 2: 8, 3: 6, 4: 6, 5: 4, 6: 4}

// neonLineSteps is the number of vectors in a cache line.
const neonLineSteps = 64 / neonWidth

// neonDot writes Y = X·B for few columns and a long k: lanes run along k, a sum for each row and column. It wastes no
// lanes where m is no multiple of them, but must add up the lanes of each sum at the end. A row goes through the same
// operations in every tile.
func neonDot(g *neon) {
	for c := 1; c < len(neonDotRows); c++ {
		g.begin("dot", fmt.Sprintf("C%d", c), "dotArgs", field{"x", 1}, field{"ldx", 2}, field{"b", 3}, field{"y", 4},
			field{"n", 5}, field{"ldy", 6}, field{"ahead", 7}, field{"old", 10}, field{"ldold", 12}, field{"zeros", 22},
			field{"tail", 23})
		g.dotTile(neonDotRows[c], c)
		g.dotTile(1, c)
		g.end()
	}
}

func (g *neon) dotTile(rows, c int) {
	const x, ldx, b, y, n, ldy, ahead, next = 1, 2, 3, 4, 5, 6, 7, 8
	const steps, old, tmp, ldold, zeros, tail, count = 9, 10, 11, 12, 22, 23, 24
	acc := func(i, j int) int { return i*c + j }
	xs := func(i int) int { return rows*c + i }
	spare := rows*c + rows
	madd := func() {
		pool := min(c, neonRegs-spare) &^ 1
		if pool == 0 {
			pool = 1
		}
		for j0 := 0; j0 < c; j0 += pool {
			cols := min(pool, c-j0)
			g.loadNext(next, cols, spare)
			for i := range rows {
				for j := range cols {
					g.v3("fmla", acc(i, j0+j), xs(i), spare+j)
				}
			}
		}
	}
	step := func() {
		for i := range rows {
			g.op("FMOVQ.P %d(R%d), F%d", neonWidth, rowPointers[i], xs(i))
		}
		madd()
	}
	g.label("tile%d", rows)
	g.op("CMP $%d, R%d", rows, n)
	g.op("BLT after%d", rows)
	g.rowsFrom(x, ldx, rows)
	g.op("MOVD R%d, R%d", b, next)
	for i := range rows * c {
		g.zero(i)
	}
	g.arg("dotArgs", "steps", steps)
	g.op("SUBS $%d, R%d, R%d", neonLineSteps, steps, steps)
	g.op("BLT few%d", rows)
	g.label("line%d", rows)
	for i := range rows {
		g.prefetch("2", rowPointers[i], ahead)
	}
	for range neonLineSteps {
		step()
	}
	g.op("SUBS $%d, R%d, R%d", neonLineSteps, steps, steps)
	g.op("BGE line%d", rows)
	g.label("few%d", rows)
	g.op("ADDS $%d, R%d, R%d", neonLineSteps, steps, steps)
	g.op("BEQ tail%d", rows)
	g.label("step%d", rows)
	step()
	g.op("SUBS $1, R%d, R%d", steps, steps)
	g.op("BNE step%d", rows)
	g.label("tail%d", rows)
	g.op("CBZ R%d, sum%d", tail, rows)
	g.someLanes(tail, func(lanes int) {
		for i := range rows {
			g.loadSome(rowPointers[i], 0, lanes, xs(i))
		}
	})
	madd()

	g.label("sum%d", rows)
	zero, t := rows*c, rows*c+1
	g.zero(zero)
	for i := range rows {
		g.sumLanes(acc(i, 0), c, zero, t, y, old)
		g.op("CBZ R%d, row%dof%d", zeros, i, rows)
		g.op("ADD $%d, R%d, R%d", (c*g.elem.size+15)/16*16, y, tmp)
		g.op("MOVD R%d, R%d", zeros, count)
		g.label("zero%dof%d", i, rows)
		g.op("FMOVQ.P F%d, 16(R%d)", zero, tmp)
		g.op("SUBS $1, R%d, R%d", count, count)
		g.op("BNE zero%dof%d", i, rows)
		g.label("row%dof%d", i, rows)
		g.op("ADD R%d, R%d, R%d", ldy, y, y)
		g.op("ADD R%d, R%d, R%d", ldold, old, old)
	}
	g.op("SUB $%d, R%d, R%d", rows, n, n)
	g.op("B tile%d", rows)
	g.label("after%d", rows)
}

// sumLanes adds up the lanes of the c registers from first on, adds the values at old and stores them at y, in pieces of
// 16 bytes; the last one is filled up with zeros. The registers are used up, and tmp.
func (g *neon) sumLanes(first, c, zero, tmp, y, old int) {
	per := g.lanes()
	for j := 0; j < c; j += per {
		n := min(per, c-j)
		in := func(i int) int {
			if i < n {
				return first + j + i
			}
			return zero
		}
		r := first + j
		g.v3("faddp", r, in(0), in(1))
		if per == 4 {
			upper := zero
			if n > 2 {
				upper = first + j + 2
				g.v3("faddp", upper, in(2), in(3))
			}
			g.v3("faddp", r, r, upper)
		}
		g.op("FMOVQ %d(R%d), F%d", j*g.elem.size, old, tmp)
		g.v3("fadd", r, r, tmp)
		g.op("FMOVQ F%d, %d(R%d)", r, j*g.elem.size, y)
	}
}
