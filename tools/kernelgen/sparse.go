package main

import "fmt"

// sparseStrip is the largest number of vectors of columns that a kernel for sparse rows works on together.
var sparseStrip = map[isa]int{avx512: 4, avx2: 3}

// sparseChains is the number of entries of a row that have sums of their own.
const sparseChains = 4

// sparseKernels writes Y = S·B + b·cᵀ for sparse rows and a strip of whole vectors of columns, the sums of a row beginning
// with its shift b times the strip of c where there are shifts. Four entries in turn have sums of
// their own, so that no sum waits for the one before; a row goes through the same operations anywhere, and a column in every
// strip.
func sparseKernels(g *gen) {
	for w := 1; w <= sparseStrip[g.isa]; w++ {
		g.begin("sparse", fmt.Sprintf("W%d", w), "sparseArgs")
		g.args("sparseArgs", "DI", "n R9", "ptr R10", "cols SI", "values DX", "b BX", "ldb R11", "y AX", "ldy R12", "shift R15")
		g.label("row")
		for i := range sparseChains * w {
			g.zero(i)
		}
		g.op("TESTQ R15, R15")
		g.op("JZ begin")
		g.arg("sparseArgs", "common", "DI", "CX")
		g.broadcastArg("(R15)", sparseChains*w)
		for i := range w {
			g.op("%s %d(CX), %s, %s", g.mul(), i*g.width, g.v(sparseChains*w), g.v(i))
		}
		g.op("ADDQ $%d, R15", g.elem.size)
		g.label("begin")
		g.op("MOVQ (R10), R8") // the entry at hand
		g.op("MOVQ 8(R10), R13")
		g.op("SUBQ R8, R13") // entries left
		g.op("SUBQ $%d, R13", sparseChains)
		g.op("JLT rest")
		g.label("turn")
		for chain := range sparseChains {
			g.sparseEntry(w, chain)
		}
		g.op("ADDQ $%d, R8", sparseChains)
		g.op("SUBQ $%d, R13", sparseChains)
		g.op("JGE turn")
		g.label("rest")
		for chain := range sparseChains - 1 {
			g.op("CMPQ R13, $%d", chain-sparseChains)
			g.op("JEQ done")
			g.sparseEntry(w, chain)
		}
		g.label("done")
		for i := range w {
			at := func(chain int) string { return g.v(chain*w + i) }
			g.op("%s %s, %s, %s", g.add(), at(1), at(0), at(0))
			g.op("%s %s, %s, %s", g.add(), at(3), at(2), at(2))
			g.op("%s %s, %s, %s", g.add(), at(2), at(0), at(0))
			g.op("%s %s, %d(AX)", g.mov(), at(0), i*g.width)
		}
		g.op("ADDQ R12, AX")
		g.op("ADDQ $8, R10")
		g.op("DECQ R9")
		g.op("JNZ row")
		g.end()
	}
}

// sparseEntry adds entry R8+chain times its row of B to the sums of that chain.
func (g *gen) sparseEntry(w, chain int) {
	g.op("MOVLQSX %d(SI)(R8*4), CX", 4*chain)
	g.op("IMULQ R11, CX")
	x := g.v(sparseChains*w + chain%2)
	g.op("%s %d(DX)(R8*%d), %s", g.broadcast(), g.elem.size*chain, g.elem.size, x)
	for i := range w {
		g.op("%s %d(BX)(CX*1), %s, %s", g.fma(), i*g.width, x, g.v(chain*w+i))
	}
}

// sparseTMulKernels writes C += Aᵀ·S for up to four columns of A and sparse rows, in scalar instructions: each entry adds
// to one element of every row of C.
func sparseTMulKernels(g *gen) {
	c := []string{"AX", "BX", "R11", "R12"}
	mov := "VMOV" + g.elem.scalar
	for m := 1; m <= len(c); m++ {
		g.begin("sparseTMul", fmt.Sprintf("M%d", m), "sparseTMulArgs")
		g.args("sparseTMulArgs", "DI", "n R9", "ptr R10", "cols SI", "values DX", "a R13", "lda R15", "c "+c[0], "ldc CX")
		for j := 1; j < m; j++ {
			g.op("LEAQ (%s)(CX*1), %s", c[j-1], c[j])
		}
		g.label("row")
		for j := range m {
			g.op("%s %d(R13), X%d", mov, j*g.elem.size, j)
		}
		g.op("MOVQ (R10), R8") // the entry at hand
		g.op("MOVQ 8(R10), DI")
		g.op("CMPQ R8, DI")
		g.op("JGE done")
		g.label("entry")
		g.op("MOVLQSX (SI)(R8*4), CX")
		g.op("%s (DX)(R8*%d), X4", mov, g.elem.size)
		for j := range m {
			g.op("%s (%s)(CX*%d), X%d", mov, c[j], g.elem.size, 5+j)
			g.op("VFMADD231%s X4, X%d, X%d", g.elem.scalar, j, 5+j)
			g.op("%s X%d, (%s)(CX*%d)", mov, 5+j, c[j], g.elem.size)
		}
		g.op("INCQ R8")
		g.op("CMPQ R8, DI")
		g.op("JLT entry")
		g.label("done")
		g.op("ADDQ R15, R13")
		g.op("ADDQ $8, R10")
		g.op("DECQ R9")
		g.op("JNZ row")
		g.end()
	}
}
