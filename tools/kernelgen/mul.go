package main

import "fmt"

// mulTiles gives, for a strip of w vectors, the numbers of rows that are worked on together, largest first, ending in 1.
// The first keeps 24 (AVX-512) or 12 (AVX2) sums in registers and divides 96, the usual block.
var mulTiles = map[isa][][]int{
	avx512: {1: {12, 4, 1}, 2: {12, 4, 1}, 3: {8, 4, 1}, 4: {6, 3, 1}},
	avx2:   {1: {12, 4, 1}, 2: {6, 2, 1}},
}

// mulKernels writes Y = X·B for strips of 1, 2, ... vectors of columns: lanes run along the columns of B, an element of
// X is broadcast over them. Every element of Y is one chain of fused multiply-adds in the order of k, whatever the tile.
func mulKernels(g *gen) {
	for w := 1; w < len(mulTiles[g.isa]); w++ {
		g.begin("mul", fmt.Sprintf("W%d", w), "mulArgs")
		g.args("mulArgs", "DI", "x AX", "ldx BX", "b DX", "y SI", "n R9")
		g.op("LEAQ (BX)(BX*2), R11")
		if g.isa == avx512 {
			g.arg("mulArgs", "keep", "DI", "R8")
			g.loadMask("R8", "R10", 1)
			g.arg("mulArgs", "store", "DI", "R8")
			g.loadMask("R8", "R10", 2)
		}
		for _, rows := range mulTiles[g.isa][w] {
			g.mulTile(rows, w)
		}
		g.end()
	}
}

// mulTile writes the loop over tiles of the given number of rows.
func (g *gen) mulTile(rows, w int) {
	bases := []string{"R12", "R13", "CX"}
	x := func(i int) string { return row(i, bases, "BX", "R11") }
	acc := func(i, j int) string { return g.v(i*w + j) }
	b := func(j int) string { return g.v(rows*w + j) }
	spare := rows*w + w // registers from here on hold broadcast elements in turn
	line := 64 / g.elem.size

	g.label("tile%d", rows)
	g.op("CMPQ R9, $%d", rows)
	g.op("JLT after%d", rows)
	g.op("MOVQ AX, R12")
	if rows > 4 {
		g.op("LEAQ (AX)(BX*4), R13")
	}
	if rows > 8 {
		g.op("LEAQ (AX)(BX*8), CX")
	}
	g.op("MOVQ a+0(FP), DI")
	g.op("MOVQ DX, R15")
	g.op("CMPQ mulArgs_load(DI), $0")
	g.op("JNE load%d", rows)
	for i := range rows * w {
		g.zero(i)
	}
	g.op("JMP start%d", rows)
	g.label("load%d", rows)
	g.arg("mulArgs", "ldy", "DI", "R8")
	g.op("MOVQ SI, R10")
	for i := range rows {
		for j := range w {
			g.op("%s %d(R10), %s", g.mov(), j*g.width, acc(i, j))
		}
		if i < rows-1 {
			g.op("ADDQ R8, R10")
		}
	}
	g.label("start%d", rows)
	g.arg("mulArgs", "k", "DI", "R8")

	// A cache line of every row at a time: fetch that line of the tile after this one, then go through its elements.
	g.label("line%d", rows)
	g.op("MOVQ a+0(FP), DI")
	g.arg("mulArgs", "ahead", "DI", "R10")
	g.op("ADDQ R12, R10")
	for i := range rows {
		g.op("PREFETCHT0 %s", row(i%4, []string{"R10"}, "BX", "R11"))
		if i%4 == 3 && i < rows-1 {
			g.op("LEAQ (R10)(BX*4), R10")
		}
	}
	g.op("MOVQ $%d, DI", line)
	g.op("CMPQ R8, DI")
	g.op("CMOVQLT R8, DI")
	g.op("SUBQ DI, R8")
	g.label("step%d", rows)
	for j := range w {
		g.op("%s %d(R15), %s", g.mov(), j*g.width, b(j))
	}
	for i := range rows {
		if w == 1 && g.isa == avx512 {
			g.op("%s.BCST %s, %s, %s", g.fma(), x(i), b(0), acc(i, 0))
			continue
		}
		t := g.v(spare + i%(g.regs-spare))
		g.op("%s %s, %s", g.broadcast(), x(i), t)
		for j := range w {
			g.op("%s %s, %s, %s", g.fma(), b(j), t, acc(i, j))
		}
	}
	g.op("ADDQ $%d, R15", w*g.width)
	for i := 0; i < rows; i += 4 {
		g.op("ADDQ $%d, %s", g.elem.size, bases[i/4])
	}
	g.op("DECQ DI")
	g.op("JNZ step%d", rows)
	g.op("TESTQ R8, R8")
	g.op("JNZ line%d", rows)

	g.op("MOVQ a+0(FP), DI")
	g.arg("mulArgs", "ldy", "DI", "R8")
	keep, store := rows*w, rows*w+1
	if g.isa == avx2 {
		g.arg("mulArgs", "keep", "DI", "R10")
		g.loadMask("R10", "R12", keep)
		g.arg("mulArgs", "store", "DI", "R10")
		g.loadMask("R10", "R12", store)
	}
	for i := range rows {
		for j := range w - 1 {
			g.op("%s %s, %d(SI)", g.mov(), acc(i, j), j*g.width)
		}
		// Columns beyond m: zero in the first pass over k, left alone after it.
		last := acc(i, w-1)
		if g.isa == avx512 {
			g.op("%s.Z %s, K1, %s", g.mov(), last, last)
			g.op("%s %s, K2, %d(SI)", g.mov(), last, (w-1)*g.width)
		} else {
			g.op("VANDPS %s, %s, %s", g.v(keep), last, last)
			g.op("%s %s, %s, %d(SI)", g.maskmov(), last, g.v(store), (w-1)*g.width)
		}
		g.op("ADDQ R8, SI")
	}
	g.addRows("AX", rows, "BX")
	g.op("SUBQ $%d, R9", rows)
	g.op("JMP tile%d", rows)
	g.label("after%d", rows)
}
