package main

import "fmt"

// dotRows gives, for a strip of c columns, the number of rows that are worked on together.
var dotRows = map[isa][]int{
	avx512: {1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 6: 4, 7: 3, 8: 3, 9: 3, 10: 2},
	avx2:   {1: 4, 2: 4, 3: 3, 4: 3, 5: 2, 6: 2},
}

// dotKernels writes Y = X·B for few columns and a long k: lanes run along k, a sum for each row and column. It wastes no
// lanes where m is no multiple of them, but must add up the lanes of each sum at the end. A row goes through the same
// operations in every tile.
func dotKernels(g *gen) {
	for c := 1; c < len(dotRows[g.isa]); c++ {
		g.begin("dot", fmt.Sprintf("C%d", c), "dotArgs")
		g.op("MOVQ a+0(FP), DI")
		if g.isa == avx512 {
			g.arg("dotArgs", "tail", "DI", "R8")
			g.loadMask("R8", "R9", 1)
		}
		if g.treeSums() {
			g.arg("dotArgs", "store", "DI", "R8")
			g.loadMask("R8", "R9", storeMask)
			g.treeMasks(c)
		}
		g.fields("dotArgs", "DI", "x AX", "ldx BX", "b DX", "y SI", "n R9", "old R10")
		g.op("LEAQ (BX)(BX*2), R11")
		g.dotTile(dotRows[g.isa][c], c)
		if dotRows[g.isa][c] > 1 {
			g.dotTile(1, c)
		}
		g.end()
	}
}

func (g *gen) dotTile(rows, c int) {
	acc := func(i, j int) int { return i*c + j }
	x := func(i int) string { return g.v(rows*c + i) }
	spare := rows*c + rows
	at := func(base string, i int) string { return row(i, []string{base}, "BX", "R11") }
	madd := func() {
		for j := range c {
			b := g.v(spare + j%min(2, g.regs-spare))
			g.op("%s %d(R15), %s", g.mov(), j*g.width, b)
			for i := range rows {
				g.op("%s %s, %s, %s", g.fma(), b, x(i), g.v(acc(i, j)))
			}
		}
	}
	g.label("tile%d", rows)
	g.op("CMPQ R9, $%d", rows)
	g.op("JLT after%d", rows)
	g.op("MOVQ a+0(FP), DI")
	g.op("MOVQ AX, R12")
	g.arg("dotArgs", "ahead", "DI", "R13")
	g.op("ADDQ AX, R13")
	g.op("MOVQ DX, R15")
	for i := range rows * c {
		g.zero(i)
	}
	g.arg("dotArgs", "steps", "DI", "R8")
	g.op("TESTQ R8, R8")
	g.op("JZ tail%d", rows)
	g.label("step%d", rows)
	for i := range rows {
		g.op("%s %s, %s", g.mov(), at("R12", i), x(i))
		g.op("PREFETCHT1 %s", at("R13", i))
	}
	madd()
	g.op("ADDQ $%d, R12", g.width)
	g.op("ADDQ $%d, R13", g.width)
	g.op("ADDQ $%d, R15", c*g.width)
	g.op("DECQ R8")
	g.op("JNZ step%d", rows)
	g.label("tail%d", rows)
	g.arg("dotArgs", "tail", "DI", "R8")
	g.op("TESTQ R8, R8")
	g.op("JZ sum%d", rows)
	mask := 1
	if g.isa == avx2 {
		mask = spare
		g.loadMask("R8", "CX", mask)
	}
	for i := range rows {
		g.maskedLoad(at("R12", i), x(i), mask)
		g.op("PREFETCHT1 %s", at("R13", i))
	}
	madd()
	g.label("sum%d", rows)
	g.arg("dotArgs", "ldold", "DI", "R8")
	g.arg("dotArgs", "ldy", "DI", "CX")
	zero, behind := g.lowZero(c), (c*g.elem.size+15)/16*16
	if g.treeSums() {
		zero, behind = rows*c, g.width
	}
	for i := range rows {
		if g.treeSums() {
			g.sumTree(acc(i, 0), c, rows*c)
		} else {
			g.sumLanes(acc(i, 0), c)
		}
		g.arg("dotArgs", "zeros", "DI", "R12")
		g.op("TESTQ R12, R12")
		g.op("JZ row%dof%d", i, rows)
		if g.treeSums() {
			g.zero(zero)
		} else {
			g.op("VXORPS X%d, X%d, X%d", zero, zero, zero)
		}
		g.op("LEAQ %d(SI), R13", behind)
		g.label("zero%dof%d", i, rows)
		g.op("VMOVUPS X%d, (R13)", zero)
		g.op("ADDQ $16, R13")
		g.op("DECQ R12")
		g.op("JNZ zero%dof%d", i, rows)
		g.label("row%dof%d", i, rows)
		g.op("ADDQ CX, SI")
		g.op("ADDQ R8, R10")
	}
	g.addRows("AX", rows, "BX")
	g.op("SUBQ $%d, R9", rows)
	g.op("JMP tile%d", rows)
	g.label("after%d", rows)
}

// sumLanes adds up the lanes of the c registers from first on, adds the values at R10 and stores them at SI, in pieces of
// 16 bytes; the last one is filled up with zeros. Sums of later rows, in the registers from first+c on, stay as they
// are; those below first are free.
func (g *gen) sumLanes(first, c int) {
	per := 16 / g.elem.size
	hadd := "VHADD" + g.elem.packed
	zero := g.lowZero(c)
	for j := 0; j < c; j += per {
		n := min(per, c-j)
		// The horizontal instructions exist for the first 16 registers only, so with AVX-512 the halves of each sum are
		// added into the lowest registers, which hold nothing any more.
		r := first + j
		if g.isa == avx512 {
			for i := range n {
				g.op("VEXTRACTF64X4 $1, Z%d, Y31", r+i)
				g.op("%s Y31, Y%d, Y%d", g.add(), r+i, i)
			}
			r = 0
		}
		if n < per {
			g.op("VXORPS Y%d, Y%d, Y%d", zero, zero, zero)
		}
		in := func(i int) int {
			if i < n {
				return r + i
			}
			return zero
		}
		g.op("%s Y%d, Y%d, Y%d", hadd, in(1), in(0), r)
		if per == 4 {
			if n > 2 {
				g.op("%s Y%d, Y%d, Y%d", hadd, in(3), in(2), r+2)
				g.op("%s Y%d, Y%d, Y%d", hadd, r+2, r, r)
			} else {
				g.op("%s Y%d, Y%d, Y%d", hadd, zero, r, r)
			}
		}
		if g.isa == avx512 {
			g.op("VEXTRACTF32X4 $1, Y%d, X31", r)
			g.op("%s X31, X%d, X%d", g.add(), r, r)
		} else {
			g.op("VEXTRACTF128 $1, Y%d, X14", r)
			g.op("%s X14, X%d, X%d", g.add(), r, r)
		}
		g.op("%s %d(R10), X%d, X%d", g.add(), j*g.elem.size, r, r)
		g.op("%s X%d, %d(SI)", g.mov(), r, j*g.elem.size)
	}
}

// lowZero is the register among the first 16 that can be zeroed while the lanes of a row of c sums are added up: with
// few columns the tile leaves register 15 free, with more the first piece of the row has freed register 3.
func (g *gen) lowZero(c int) int {
	if g.isa == avx512 && c >= 4 {
		return 3
	}
	return 15
}

// The mask registers of sumTree.
const (
	storeMask  = 2 // the lanes to store, c and zeros behind them
	columnMask = 3 // the first c lanes
	pairMask   = 4 // the upper half of each quarter
	halfMask   = 5 // the upper half
)

// treeSums says whether the lanes are added up by sumTree, which needs all sums of a row in one vector.
func (g *gen) treeSums() bool { return g.isa == avx512 && g.elem == float32s }

// treeMasks sets the masks of sumTree for c columns.
func (g *gen) treeMasks(c int) {
	for _, m := range []struct{ mask, lanes int }{{columnMask, 1<<c - 1}, {pairMask, 0xCCCC}, {halfMask, 0xFF00}} {
		g.op("MOVQ $%d, R8", m.lanes)
		g.op("KMOVW R8, K%d", m.mask)
	}
}

// sumTree adds up the lanes of the c registers from first on, adds the values at R10 and stores them at SI. Registers are
// added two by two, each sum keeping half the lanes of both, until one register holds a lane for each column:
//
//	pairs of neighbours, the halves of their quarters;   columns 0 1 and 4 5, 2 3 and 6 7, ..., their halves
//	those with and without column 2, pairs of lanes;     columns below 8 and from 8 on, pairs of quarters
//
// Lanes that have no column hold anything on the way. The registers of the row are used up, and tmp.
func (g *gen) sumTree(first, c, tmp int) {
	// halves keeps the lower halves of x and the upper ones of y that the mask names, plus the others.
	halves := func(shuffle string, mask, x, y int) {
		g.op("%s $0x4E, Z%d, Z%d, Z%d", shuffle, y, x, tmp)
		if x != y {
			g.op("VBLENDMPS Z%d, Z%d, K%d, Z%d", y, x, mask, x)
		}
		g.op("VADDPS Z%d, Z%d, Z%d", tmp, x, x)
	}
	// evens adds the even to the odd parts of x and y.
	evens := func(shuffle string, x, y int) {
		g.op("%s $0x88, Z%d, Z%d, Z%d", shuffle, y, x, tmp)
		g.op("%s $0xDD, Z%d, Z%d, Z%d", shuffle, y, x, x)
		g.op("VADDPS Z%d, Z%d, Z%d", tmp, x, x)
	}
	at := func(column, other int) (x, y int) {
		if other < c {
			return first + column, first + other
		}
		return first + column, first + column
	}
	for j := 0; j < c; j += 2 {
		x, y := at(j, j+1)
		halves("VSHUFPS", pairMask, x, y)
	}
	for j := 0; j < c; j += 8 {
		for k := j; k < min(j+4, c); k += 2 {
			x, y := at(k, k+4)
			halves("VSHUFF32X4", halfMask, x, y)
		}
		x, y := at(j, j+2)
		evens("VSHUFPS", x, y)
	}
	x, y := at(0, 8)
	evens("VSHUFF32X4", x, y)
	g.op("VADDPS.Z (R10), Z%d, K%d, Z%d", x, columnMask, x)
	g.op("VMOVUPS Z%d, K%d, (SI)", x, storeMask)
}
