package main

import "fmt"

// byteKernels writes products of rows of bytes and of words of 16 bits, and what makes rows of bytes of float32, for AVX-512 with
// VNNI.
func byteKernels(g *gen) {
	if g.elem != float32s || g.isa != avx512 {
		return
	}
	g.byteRow()
	for w := 1; w < len(mulTiles[g.isa]); w++ {
		g.mulWhole("mulBytes", "VPDPBUSD", w)
	}
	for w := 1; w < len(mulTiles[g.isa]); w++ {
		g.mulWhole("mulWords", "VPDPWSSD", w)
	}
}

// byteRow writes a row of units of 16 elements as unsigned bytes, 128 being zero, in steps of 1/127 of its largest size, with the
// sum of its squares and the sum of the squared rounding errors.
func (g *gen) byteRow() {
	g.table("absolute", []uint64{0x7fffffff7fffffff})
	g.table("one127", []uint64{0x42fe0000})          // 127
	g.table("zero128", []uint64{0x0000008000000080}) // as 32-bit integers
	g.begin("byteRow", "", "byteRowArgs")
	g.args("byteRowArgs", "SI", "x AX", "units R9", "dst DI")
	g.op("VPBROADCASTQ absolute<>(SB), Z10")
	g.zero(0)
	g.zero(1)
	g.op("MOVQ AX, BX")
	g.op("MOVQ R9, CX")
	g.label("size")
	g.op("VMOVUPS (BX), Z2")
	g.op("VFMADD231PS Z2, Z2, Z1")
	g.op("VPANDQ Z10, Z2, Z2")
	g.op("VMAXPS Z2, Z0, Z0")
	g.op("ADDQ $64, BX")
	g.op("DECQ CX")
	g.op("JNZ size")
	g.foldVector("VMAXPS", "VMAXSS", 0)
	g.foldVector("VADDPS", "VADDSS", 1)
	g.op("VMOVSS X1, byteRowArgs_square(SI)")
	g.zero(1)
	g.op("VXORPS X3, X3, X3")
	g.op("VUCOMISS X3, X0") // a row of zeros has steps of 0
	g.op("JE scaled")
	g.op("VMOVSS one127<>(SB), X4")
	g.op("VDIVSS X0, X4, X3") // steps in one
	g.op("VDIVSS X4, X0, X0") // a step
	g.label("scaled")
	g.op("VMOVSS X0, byteRowArgs_step(SI)")
	g.op("VBROADCASTSS X3, Z3")
	g.op("VBROADCASTSS X0, Z4")
	g.op("VPBROADCASTQ zero128<>(SB), Z5")
	g.label("unit")
	g.op("VMOVUPS (AX), Z6")
	g.op("VMULPS Z3, Z6, Z7")
	g.op("VCVTPS2DQ Z7, Z7")
	g.op("VCVTDQ2PS Z7, Z8")
	g.op("VFNMADD231PS Z4, Z8, Z6")
	g.op("VFMADD231PS Z6, Z6, Z1")
	g.op("VPADDD Z5, Z7, Z7")
	g.op("VPMOVDB Z7, (DI)")
	g.op("ADDQ $64, AX")
	g.op("ADDQ $16, DI")
	g.op("DECQ R9")
	g.op("JNZ unit")
	g.foldVector("VADDPS", "VADDSS", 1)
	g.op("VMOVSS X1, byteRowArgs_lost(SI)")
	g.end()
}

// foldVector folds all elements of register i into the first one, with Z9 as scratch.
func (g *gen) foldVector(packed, scalar string, i int) {
	g.op("VEXTRACTF64X4 $1, Z%d, Y9", i)
	g.op("%s Y9, Y%d, Y%d", packed, i, i)
	g.op("VEXTRACTF128 $1, Y%d, X9", i)
	g.op("%s X9, X%d, X%d", packed, i, i)
	g.op("VPERMILPD $1, X%d, X9", i)
	g.op("%s X9, X%d, X%d", packed, i, i)
	g.op("VMOVSHDUP X%d, X9", i)
	g.op("%s X9, X%d, X%d", scalar, i, i)
}

// mulWhole writes Y = bias + step·X·B for a strip of w vectors of columns, with the instruction for whole numbers, in which four
// bytes of a column follow each other. It multiplies rows of unsigned bytes by columns of signed ones, or words of 16 bits. The
// sums begin with the sums of the strip.
func (g *gen) mulWhole(name, instruction string, w int) {
	g.begin(name, fmt.Sprintf("W%d", w), "byteArgs")
	g.args("byteArgs", "DI", "x AX", "ldx BX", "b DX", "y SI", "n R9", "start R10", "bias R11", "step R12", "ldy R15")
	for _, rows := range mulTiles[g.isa][w] {
		g.wholeTile(instruction, rows, w)
	}
	g.end()
}

// wholeTile writes the loop over tiles of the given number of rows.
func (g *gen) wholeTile(instruction string, rows, w int) {
	acc := func(i, j int) string { return g.v(i*w + j) }
	b := func(j int) string { return g.v(rows*w + j) }
	spare := rows*w + w
	g.label("tile%d", rows)
	g.op("CMPQ R9, $%d", rows)
	g.op("JLT after%d", rows)
	for j := range w {
		g.op("VMOVDQU32 %d(R10), %s", j*g.width, acc(0, j))
	}
	for i := 1; i < rows; i++ {
		for j := range w {
			g.op("VMOVDQA32 %s, %s", acc(0, j), acc(i, j))
		}
	}
	g.op("MOVQ a+0(FP), DI")
	g.arg("byteArgs", "k", "DI", "R8")
	g.op("MOVQ DX, R13")
	g.op("MOVQ AX, CX")
	g.label("step%d", rows)
	for j := range w {
		g.op("VMOVDQU32 %d(R13), %s", j*g.width, b(j))
	}
	g.op("MOVQ CX, DI")
	for i := range rows {
		t := g.v(spare + i%(g.regs-spare))
		g.op("VPBROADCASTD (DI), %s", t)
		if i < rows-1 {
			g.op("ADDQ BX, DI")
		}
		for j := range w {
			g.op("%s %s, %s, %s", instruction, b(j), t, acc(i, j))
		}
	}
	g.op("ADDQ $%d, R13", w*g.width)
	g.op("ADDQ $4, CX")
	g.op("DECQ R8")
	g.op("JNZ step%d", rows)
	for j := range w {
		g.op("VMOVUPS %d(R11), %s", j*g.width, b(j))
	}
	for i := range rows {
		t := g.v(spare + i%(g.regs-spare))
		g.op("VBROADCASTSS %d(R12), %s", 4*i, t)
		for j := range w {
			g.op("VCVTDQ2PS %s, %s", acc(i, j), acc(i, j))
			g.op("VFMADD213PS %s, %s, %s", b(j), t, acc(i, j))
			g.op("VMOVUPS %s, %d(SI)", acc(i, j), j*g.width)
		}
		g.op("ADDQ R15, SI")
	}
	g.addRows("AX", rows, "BX")
	g.op("ADDQ $%d, R12", 4*rows)
	g.op("SUBQ $%d, R9", rows)
	g.op("JMP tile%d", rows)
	g.label("after%d", rows)
}
