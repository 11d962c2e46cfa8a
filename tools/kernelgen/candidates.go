package main

// dotElements is the number of elements that go through a turn of dotRows.
const dotElements = 32

// lessEqual is a relation of VCMPPS, false where an operand is NaN.
const lessEqual = 0x12

// candidateKernels writes what the search for the lowest of many scores needs, in float32.
func candidateKernels(g *gen) {
	if g.elem != float32s {
		return
	}
	g.laneMinima()
	g.below("below", false)
	g.below("belowSum", true)
	g.dotRows()
}

// laneMinima writes the minima of the elements j of a with equal j%16, over units of 16.
func (g *gen) laneMinima() {
	g.begin("laneMinima", "", "candidateArgs")
	g.candidateArgs()
	for j := range g.vectors() {
		g.op("VMOVUPS %d(AX), %s", j*g.width, g.v(j))
	}
	g.op("JMP next")
	g.label("unit")
	for j := range g.vectors() {
		g.op("VMINPS %d(AX), %s, %s", j*g.width, g.v(j), g.v(j))
	}
	g.label("next")
	g.op("ADDQ $%d, AX", unit*g.elem.size)
	g.op("DECQ R9")
	g.op("JNZ unit")
	for j := range g.vectors() {
		g.op("VMOVUPS %s, %d(DI)", g.v(j), j*g.width)
	}
	g.end()
}

// below writes the numbers of the elements of a, or with sum of a + b, over units of 16, that are at most bound, and how many
// there are. There is room for 16 numbers more.
func (g *gen) below(name string, sum bool) {
	g.begin(name, "", "candidateArgs")
	g.candidateArgs()
	if sum {
		g.arg("candidateArgs", "b", "SI", "BX")
	}
	g.op("VBROADCASTSS candidateArgs_bound(SI), %s", g.v(15))
	g.op("XORQ R10, R10")
	if g.isa == avx512 {
		g.belowCompressed(sum)
	} else {
		g.belowBits(sum)
	}
	g.op("MOVQ R10, candidateArgs_found(SI)")
	g.end()
}

// candidates loads vector j of a unit, or of its sum with b, into register to.
func (g *gen) candidates(j int, sum bool, to int) {
	g.op("VMOVUPS %d(AX), %s", j*g.width, g.v(to))
	if sum {
		g.op("VADDPS %d(BX), %s, %s", j*g.width, g.v(to), g.v(to))
	}
}

// nextCandidates moves on to the next unit.
func (g *gen) nextCandidates(sum bool) {
	g.op("ADDQ $%d, AX", unit*g.elem.size)
	if sum {
		g.op("ADDQ $%d, BX", unit*g.elem.size)
	}
	g.op("DECQ R9")
	g.op("JNZ unit")
}

func (g *gen) belowCompressed(sum bool) {
	var first []uint64
	for j := uint64(0); j < unit; j += 2 {
		first = append(first, j|(j+1)<<32)
	}
	g.table("numbers", first)
	g.table("unitStep", []uint64{unit | unit<<32})
	g.op("VMOVDQU32 numbers<>(SB), Z0")
	g.op("VPBROADCASTD unitStep<>(SB), Z1")
	g.label("unit")
	g.candidates(0, sum, 4)
	g.op("VCMPPS $0x%x, Z15, Z4, K1", lessEqual)
	g.op("KMOVW K1, R11")
	g.op("TESTL R11, R11")
	g.op("JZ next")
	g.op("VPCOMPRESSD Z0, K1, Z2")
	g.op("VMOVDQU32 Z2, (DI)(R10*4)")
	g.op("POPCNTL R11, R11")
	g.op("ADDQ R11, R10")
	g.label("next")
	g.op("VPADDD Z1, Z0, Z0")
	g.nextCandidates(sum)
}

func (g *gen) belowBits(sum bool) {
	g.op("XORQ R8, R8") // the number of the unit's first element
	g.label("unit")
	for j := range g.vectors() {
		g.candidates(j, sum, 4+j)
		g.op("VCMPPS $0x%x, %s, %s, %s", lessEqual, g.v(15), g.v(4+j), g.v(4+j))
	}
	g.op("VMOVMSKPS Y4, R11")
	g.op("VMOVMSKPS Y5, CX")
	g.op("SHLL $8, CX")
	g.op("ORL CX, R11")
	g.op("JZ next")
	g.label("bit")
	g.op("BSFL R11, CX")
	g.op("ADDL R8, CX")
	g.op("MOVL CX, (DI)(R10*4)")
	g.op("INCQ R10")
	g.op("LEAL -1(R11), CX")
	g.op("ANDL CX, R11")
	g.op("JNZ bit")
	g.label("next")
	g.op("ADDQ $%d, R8", unit)
	g.nextCandidates(sum)
}

// dotRows writes the inner products of a with the rows of b that list names, over units of 32 elements. The sums of a row
// are the same, in the same order, among four rows and alone.
func (g *gen) dotRows() {
	g.begin("dotRows", "", "candidateArgs")
	g.candidateArgs()
	g.arg("candidateArgs", "b", "SI", "BX")
	g.arg("candidateArgs", "ldb", "SI", "DX")
	g.arg("candidateArgs", "list", "SI", "R10")
	g.arg("candidateArgs", "count", "SI", "SI")
	g.label("four")
	g.op("CMPQ SI, $4")
	g.op("JLT rest")
	g.dotTurn(4)
	g.op("SUBQ $4, SI")
	g.op("JMP four")
	g.label("rest")
	g.op("TESTQ SI, SI")
	g.op("JZ done")
	g.dotTurn(1)
	g.op("DECQ SI")
	g.op("JMP rest")
	g.label("done")
	g.end()
}

// dotTurn writes the products of the next rows of the list, each with two sums of vectors.
func (g *gen) dotTurn(rows int) {
	base := []string{"R8", "R11", "R12", "R13"}
	for i := range rows {
		g.op("MOVLQSX %d(R10), %s", 4*i, base[i])
		g.op("IMULQ DX, %s", base[i])
		g.op("ADDQ BX, %s", base[i])
		g.zero(i)
		g.zero(4 + i)
	}
	g.op("XORQ CX, CX")
	g.op("MOVQ R9, R15")
	g.label("unit%d", rows)
	for j := range dotElements / g.lanes() {
		x := 8 + j%2
		g.op("VMOVUPS %d(AX)(CX*1), %s", j*g.width, g.v(x))
		for i := range rows {
			g.op("VFMADD231PS %d(%s)(CX*1), %s, %s", j*g.width, base[i], g.v(x), g.v(4*(j%2)+i))
		}
	}
	g.op("ADDQ $%d, CX", dotElements*g.elem.size)
	g.op("DECQ R15")
	g.op("JNZ unit%d", rows)
	for i := range rows {
		g.op("VADDPS %s, %s, %s", g.v(4+i), g.v(i), g.v(i))
		if g.isa == avx512 {
			g.op("VEXTRACTF64X4 $1, Z%d, Y9", i)
			g.op("VADDPS Y9, Y%d, Y%d", i, i)
		}
		g.op("VEXTRACTF128 $1, Y%d, X9", i)
		g.op("VADDPS X9, X%d, X%d", i, i)
		g.op("VPERMILPD $1, X%d, X9", i)
		g.op("VADDPS X9, X%d, X%d", i, i)
		g.op("VMOVSHDUP X%d, X9", i)
		g.op("VADDSS X9, X%d, X%d", i, i)
		g.op("VMOVSS X%d, %d(DI)", i, 4*i)
	}
	g.op("ADDQ $%d, DI", 4*rows)
	g.op("ADDQ $%d, R10", 4*rows)
}

// candidateArgs loads the arguments that the kernels share.
func (g *gen) candidateArgs() {
	g.op("MOVQ a+0(FP), SI")
	g.arg("candidateArgs", "a", "SI", "AX")
	g.arg("candidateArgs", "dst", "SI", "DI")
	g.arg("candidateArgs", "units", "SI", "R9")
}
