package main

import "fmt"

// sparseStrip is the largest number of vectors of columns that a kernel for sparse rows works on together.
const sparseStrip = 4

// sparseKernels writes Y = S·B for sparse rows and a strip of whole vectors of columns. Entries of even and of odd number
// have sums of their own, so that no sum waits for the one before; a row goes through the same operations anywhere.
func sparseKernels(g *gen) {
	for w := 1; w <= sparseStrip; w++ {
		g.begin("sparse", fmt.Sprintf("W%d", w), "sparseArgs")
		g.op("MOVQ a+0(FP), DI")
		g.arg("sparseArgs", "n", "DI", "R9")
		g.arg("sparseArgs", "ptr", "DI", "R10")
		g.arg("sparseArgs", "cols", "DI", "SI")
		g.arg("sparseArgs", "values", "DI", "DX")
		g.arg("sparseArgs", "b", "DI", "BX")
		g.arg("sparseArgs", "ldb", "DI", "R11")
		g.arg("sparseArgs", "y", "DI", "AX")
		g.arg("sparseArgs", "ldy", "DI", "R12")
		g.label("row")
		for i := range 2 * w {
			g.zero(i)
		}
		g.op("MOVQ (R10), R8") // the entry at hand
		g.op("MOVQ 8(R10), R13")
		g.op("SUBQ R8, R13") // entries left
		g.op("SUBQ $2, R13")
		g.op("JLT odd")
		g.label("pair")
		for side := range 2 {
			g.sparseEntry(w, side)
		}
		g.op("ADDQ $2, R8")
		g.op("SUBQ $2, R13")
		g.op("JGE pair")
		g.label("odd")
		g.op("CMPQ R13, $-1")
		g.op("JNE done")
		g.sparseEntry(w, 0)
		g.label("done")
		for i := range w {
			g.op("%s %s, %s, %s", g.add(), g.v(w+i), g.v(i), g.v(i))
			g.op("%s %s, %d(AX)", g.mov(), g.v(i), i*g.width)
		}
		g.op("ADDQ R12, AX")
		g.op("ADDQ $8, R10")
		g.op("DECQ R9")
		g.op("JNZ row")
		g.end()
	}
}

// sparseEntry adds entry R8+side times its row of B to the sums of that side.
func (g *gen) sparseEntry(w, side int) {
	g.op("MOVLQSX %d(SI)(R8*4), CX", 4*side)
	g.op("IMULQ R11, CX")
	x := g.v(2*w + side)
	g.op("%s %d(DX)(R8*%d), %s", g.broadcast(), g.elem.size*side, g.elem.size, x)
	for i := range w {
		g.op("%s %d(BX)(CX*1), %s, %s", g.fma(), i*g.width, x, g.v(side*w+i))
	}
}
