package main

import "fmt"

// stripsTogether is the number of strips that the kernels for a single row go through side by side.
const stripsTogether = 4

// stripKernels writes Y = X·B for one row of X and some strips of B that follow each other. A strip by itself has a chain of
// multiply-adds for each of its vectors, which are too few with AVX2 to keep the units busy: each waits for the one before. The
// wider strips of AVX-512 are not in want of this.
func stripKernels(g *gen) {
	if g.isa != avx2 {
		return
	}
	w := len(mulTiles[g.isa]) - 1
	g.begin("strips", fmt.Sprintf("W%d", w), "stripsArgs")
	g.args("stripsArgs", "DI", "x AX", "b DX", "stride BX", "y SI", "load R9", "k R8")
	g.op("LEAQ (BX)(BX*2), R11")
	at := func(strip, vector int) string {
		return fmt.Sprintf("%d%s", vector*g.width, row(strip, []string{"DX"}, "BX", "R11"))
	}
	acc := func(strip, vector int) int { return strip*w + vector }
	each := func(do func(strip, vector int)) {
		for s := range stripsTogether {
			for v := range w {
				do(s, v)
			}
		}
	}
	each(func(s, v int) { g.zero(acc(s, v)) })
	g.op("TESTQ R9, R9")
	g.op("JZ step")
	each(func(s, v int) { g.op("%s %d(SI), %s", g.mov(), acc(s, v)*g.width, g.v(acc(s, v))) })
	g.label("step")
	x := g.v(stripsTogether * w)
	g.op("%s (AX), %s", g.broadcast(), x)
	each(func(s, v int) { g.op("%s %s, %s, %s", g.fma(), at(s, v), x, g.v(acc(s, v))) })
	g.op("ADDQ $%d, AX", g.elem.size)
	g.op("ADDQ $%d, DX", w*g.width)
	g.op("DECQ R8")
	g.op("JNZ step")
	each(func(s, v int) { g.op("%s %s, %d(SI)", g.mov(), g.v(acc(s, v)), acc(s, v)*g.width) })
	g.end()
}
