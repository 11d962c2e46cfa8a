package main

import "fmt"

// gramSize is the most rows of X, and of Y, in a tile.
var gramSize = map[isa]int{avx512: 4, avx2: 3}

// gramKernels writes C += X·Yᵀ for a few rows of X and of Y, in float64 alone: lanes run along the rows, which are used where
// they lie, and the lanes of each sum are added up at the end.
func gramKernels(g *gen) {
	if g.elem != float64s {
		return
	}
	for r := 1; r <= gramSize[g.isa]; r++ {
		for c := 1; c <= gramSize[g.isa]; c++ {
			g.gramTile(r, c)
		}
	}
}

func (g *gen) gramTile(r, c int) {
	acc := func(i, j int) int { return i*c + j }
	y := func(j int) string { return g.v(r*c + j) }
	x, mask := g.v(r*c+c), 1
	xAt := func(i int) string { return row(i, []string{"AX"}, "BX", "R11") }
	yAt := func(j int) string { return row(j, []string{"DX"}, "R10", "R12") }
	g.begin("gram", fmt.Sprintf("R%dC%d", r, c), "gramArgs")
	g.args("gramArgs", "DI", "x AX", "ldx BX", "y DX", "ldy R10", "steps R9")
	g.op("LEAQ (BX)(BX*2), R11")
	g.op("LEAQ (R10)(R10*2), R12")
	for i := range r * c {
		g.zero(i)
	}
	madd := func(load func(addr, reg string)) {
		for j := range c {
			load(yAt(j), y(j))
		}
		for i := range r {
			load(xAt(i), x)
			for j := range c {
				g.op("%s %s, %s, %s", g.fma(), y(j), x, g.v(acc(i, j)))
			}
		}
	}
	g.op("TESTQ R9, R9")
	g.op("JZ tail")
	g.label("step")
	madd(func(addr, reg string) { g.op("%s %s, %s", g.mov(), addr, reg) })
	g.op("ADDQ $%d, AX", g.width)
	g.op("ADDQ $%d, DX", g.width)
	g.op("DECQ R9")
	g.op("JNZ step")
	g.label("tail")
	g.arg("gramArgs", "tail", "DI", "R8")
	g.op("TESTQ R8, R8")
	g.op("JZ sum")
	if g.isa == avx2 {
		mask = g.regs - 1
	}
	g.loadMask("R8", "R13", mask)
	madd(func(addr, reg string) { g.maskedLoad(addr, reg, mask) })
	g.label("sum")
	g.arg("gramArgs", "c", "DI", "SI")
	g.arg("gramArgs", "ldc", "DI", "R8")
	spare := r*c + c
	for i := range r {
		for j := range c {
			a := acc(i, j)
			if g.isa == avx512 {
				g.op("VEXTRACTF64X4 $1, Z%d, Y%d", a, spare)
				g.op("VADDPD Y%d, Y%d, Y%d", spare, a, a)
			}
			extract := "VEXTRACTF128"
			if g.isa == avx512 {
				extract = "VEXTRACTF64X2" // reaches all 32 registers
			}
			g.op("%s $1, Y%d, X%d", extract, a, spare)
			g.op("VADDPD X%d, X%d, X%d", spare, a, a)
			g.op("VPERMILPD $1, X%d, X%d", a, spare)
			g.op("VADDSD X%d, X%d, X%d", spare, a, a)
			g.op("VADDSD %d(SI), X%d, X%d", 8*j, a, a)
			g.op("VMOVSD X%d, %d(SI)", a, 8*j)
		}
		g.op("ADDQ R8, SI")
	}
	g.end()
}
