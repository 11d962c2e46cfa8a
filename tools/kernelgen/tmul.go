package main

import "fmt"

// tmulSize gives the most rows of a tile of C (columns of A) for tiles of 1, 2, ... vectors.
var tmulSize = map[isa][]int{avx512: {16, 13, 8}, avx2: {8, 6}}

// tmulKernels writes C += Aᵀ·X for tiles of C: lanes run along the columns of X, an element of A is broadcast. The last
// vector of a tile is always masked, so that X and C may end anywhere.
func tmulKernels(g *gen) {
	for w, most := range tmulSize[g.isa] {
		for m := 1; m <= most; m++ {
			g.tmulTile(m, w+1)
		}
	}
}

// maskedLoad loads the first lanes of a vector, zero elsewhere.
func (g *gen) maskedLoad(addr, reg string, mask int) {
	if g.isa == avx512 {
		g.op("%s.Z %s, K%d, %s", g.mov(), addr, mask, reg)
	} else {
		g.op("%s %s, Y%d, %s", g.maskmov(), addr, mask, reg)
	}
}

func (g *gen) tmulTile(m, w int) {
	acc := func(i, j int) string { return g.v(i*w + j) }
	x := func(j int) string { return g.v(m*w + j) }
	spare, top := m*w+w, g.regs
	mask := 1
	if g.isa == avx2 {
		top--
		mask = top
	}
	g.begin("tmul", fmt.Sprintf("W%dM%d", w, m), "tmulArgs")
	g.args("tmulArgs", "DI", "lanes R8")
	g.loadMask("R8", "R9", mask)
	g.fields("tmulArgs", "DI", "x AX", "ldx BX", "a DX", "lda R8", "n R9", "ahead R10", "c SI", "ldc R11")
	for i := range m * w {
		g.zero(i)
	}
	g.label("row")
	for j := range w - 1 {
		g.op("%s %d(AX), %s", g.mov(), j*g.width, x(j))
	}
	g.maskedLoad(fmt.Sprintf("%d(AX)", (w-1)*g.width), x(w-1), mask)
	for off := 0; off < w*g.width; off += 64 {
		g.op("PREFETCHT0 %d(AX)(R10*1)", off)
	}
	for i := range m {
		if w == 1 && g.isa == avx512 {
			g.op("%s.BCST %d(DX), %s, %s", g.fma(), i*g.elem.size, x(0), acc(i, 0))
			continue
		}
		t := g.v(spare + i%(top-spare))
		g.op("%s %d(DX), %s", g.broadcast(), i*g.elem.size, t)
		for j := range w {
			g.op("%s %s, %s, %s", g.fma(), x(j), t, acc(i, j))
		}
	}
	g.op("ADDQ BX, AX")
	g.op("ADDQ R8, DX")
	g.op("DECQ R9")
	g.op("JNZ row")
	// All sums first, then all of C: a load right behind a masked store to the same bytes or their neighbours waits for it.
	g.op("MOVQ SI, DX")
	for i := range m {
		for j := range w - 1 {
			g.op("%s %d(DX), %s, %s", g.add(), j*g.width, acc(i, j), acc(i, j))
		}
		last, off := acc(i, w-1), (w-1)*g.width
		if g.isa == avx512 {
			g.op("%s %d(DX), %s, K1, %s", g.add(), off, last, last)
		} else {
			g.op("%s %d(DX), %s, %s", g.maskmov(), off, g.v(mask), x(0))
			g.op("%s %s, %s, %s", g.add(), x(0), last, last)
		}
		if i < m-1 {
			g.op("ADDQ R11, DX")
		}
	}
	for i := range m {
		for j := range w - 1 {
			g.op("%s %s, %d(SI)", g.mov(), acc(i, j), j*g.width)
		}
		last, off := acc(i, w-1), (w-1)*g.width
		if g.isa == avx512 {
			g.op("%s %s, K1, %d(SI)", g.mov(), last, off)
		} else {
			g.op("%s %s, %s, %d(SI)", g.maskmov(), last, g.v(mask), off)
		}
		if i < m-1 {
			g.op("ADDQ R11, SI")
		}
	}
	g.end()
}
