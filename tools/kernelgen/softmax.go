package main

import "math"

// softmaxKernels writes the softmax of the rows of row state, and its derivative, for AVX-512 in float32, where a unit is a
// vector. Sums and maxima over a row are those of its 16 lanes, folded in halves.
func softmaxKernels(g *gen) {
	if g.isa != avx512 || g.elem != float32s {
		return
	}
	g.softmax()
	g.softmaxGrad()
}

// expConstants are those of e^x = 2^n·e^f with f = x − n·log 2: bounds and factors, then the polynomial (e^f − 1 − f)/f², which
// is the one of Cephes' expf.
var expConstants = []float32{
	-87, 1.44269504088896341, 0.693359375, -2.12194440e-4, 1,
	1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1,
}

// firstConstant is the register of the first of them.
const firstConstant = 16

// acrossLanes combines all lanes of register reg by an operation, the result in every lane.
func (g *gen) acrossLanes(op string, reg, tmp int) {
	for _, imm := range []int{0x4e, 0xb1} {
		g.op("VSHUFF64X2 $0x%x, Z%d, Z%d, Z%d", imm, reg, reg, tmp)
		g.op("%s Z%d, Z%d, Z%d", op, tmp, reg, reg)
	}
	for _, imm := range []int{0x4e, 0xb1} {
		g.op("VPERMILPS $0x%x, Z%d, Z%d", imm, reg, tmp)
		g.op("%s Z%d, Z%d, Z%d", op, tmp, reg, reg)
	}
}

// unitsOfRow writes a loop over the units of a row, body(last) for the last one. BX is the place in the row.
func (g *gen) unitsOfRow(name string, body func(last bool)) {
	g.op("XORQ BX, BX")
	g.op("MOVQ R10, R11")
	g.op("DECQ R11")
	g.op("JZ %sLast", name)
	g.label("%s", name)
	body(false)
	g.op("ADDQ $%d, BX", g.width)
	g.op("DECQ R11")
	g.op("JNZ %s", name)
	g.label("%sLast", name)
	body(true)
}

// softmax writes dst = softmax(s·a) over the first columns of a row, zeros behind them.
func (g *gen) softmax() {
	g.begin("softmax", "", "softmaxArgs")
	g.op("MOVQ a+0(FP), SI")
	g.softmaxArgs()
	g.op("MOVQ softmaxArgs_last(SI), DX")
	g.loadMask("DX", "R12", 1)
	var words []uint64
	for i := 0; i+1 < len(expConstants); i += 2 {
		words = append(words, uint64(math.Float32bits(expConstants[i]))|uint64(math.Float32bits(expConstants[i+1]))<<32)
	}
	words = append(words, uint64(math.Float32bits(expConstants[len(expConstants)-1])))
	g.table("expF32", words)
	for i := range expConstants {
		g.op("VBROADCASTSS expF32<>+%d(SB), Z%d", 4*i, firstConstant+i)
	}
	const low, log2e, high, rest, one, p = 16, 17, 18, 19, 20, 21
	g.table("lowestF32", []uint64{0xff7fffff_ff7fffff})
	g.op("VBROADCASTSS lowestF32<>(SB), Z15")
	g.label("row")
	g.op("VBROADCASTSS (R8), Z0")
	g.op("VMOVAPS Z15, Z1")
	g.unitsOfRow("most", func(last bool) {
		if last {
			g.op("VMOVAPS Z15, Z2")
			g.op("VMULPS (AX)(BX*1), Z0, K1, Z2")
		} else {
			g.op("VMULPS (AX)(BX*1), Z0, Z2")
		}
		g.op("VMAXPS Z2, Z1, Z1")
	})
	g.acrossLanes("VMAXPS", 1, 3)
	g.zero(4)
	g.unitsOfRow("exp", func(last bool) {
		g.op("VMULPS (AX)(BX*1), Z0, Z2")
		g.op("VSUBPS Z1, Z2, Z2")
		g.op("VMAXPS Z%d, Z2, Z2", low)
		g.op("VMULPS Z%d, Z2, Z3", log2e)
		g.op("VRNDSCALEPS $8, Z3, Z3")
		g.op("VFNMADD231PS Z%d, Z3, Z2", high)
		g.op("VFNMADD231PS Z%d, Z3, Z2", rest)
		g.op("VMOVAPS Z%d, Z5", p)
		for i := 1; i < 6; i++ {
			g.op("VFMADD213PS Z%d, Z2, Z5", p+i)
		}
		g.op("VMULPS Z2, Z2, Z6")
		g.op("VFMADD213PS Z2, Z6, Z5")
		g.op("VADDPS Z%d, Z5, Z5", one)
		g.op("VSCALEFPS Z3, Z5, Z5")
		if last {
			g.op("VMOVAPS.Z Z5, K1, Z5")
		}
		g.op("VADDPS Z5, Z4, Z4")
		g.op("VMOVUPS Z5, (DI)(BX*1)")
	})
	g.acrossLanes("VADDPS", 4, 3)
	g.op("VDIVPS Z4, Z%d, Z4", one)
	g.unitsOfRow("share", func(bool) {
		g.op("VMULPS (DI)(BX*1), Z4, Z5")
		g.op("VMOVUPS Z5, (DI)(BX*1)")
	})
	g.advanceRows("AX", "DI")
}

// softmaxGrad writes dst = s·a·(b − Σ a·b).
func (g *gen) softmaxGrad() {
	g.begin("softmaxGrad", "", "softmaxArgs")
	g.op("MOVQ a+0(FP), SI")
	g.softmaxArgs()
	g.op("MOVQ softmaxArgs_b(SI), DX")
	g.label("row")
	g.op("VBROADCASTSS (R8), Z0")
	g.zero(1)
	g.unitsOfRow("mean", func(bool) {
		g.op("VMOVUPS (AX)(BX*1), Z2")
		g.op("VFMADD231PS (DX)(BX*1), Z2, Z1")
	})
	g.acrossLanes("VADDPS", 1, 3)
	g.unitsOfRow("grad", func(bool) {
		g.op("VMULPS (AX)(BX*1), Z0, Z2")
		g.op("VMOVUPS (DX)(BX*1), Z3")
		g.op("VSUBPS Z1, Z3, Z3")
		g.op("VMULPS Z3, Z2, Z2")
		g.op("VMOVUPS Z2, (DI)(BX*1)")
	})
	g.advanceRows("AX", "DX", "DI")
}

// softmaxArgs loads the arguments that both share.
func (g *gen) softmaxArgs() {
	g.arg("softmaxArgs", "a", "SI", "AX")
	g.arg("softmaxArgs", "dst", "SI", "DI")
	g.arg("softmaxArgs", "s", "SI", "R8")
	g.arg("softmaxArgs", "rows", "SI", "R9")
	g.arg("softmaxArgs", "units", "SI", "R10")
}

// advanceRows advances to the next row, BX holding the place of its last unit, and ends the kernel after the last.
func (g *gen) advanceRows(rows ...string) {
	for _, r := range rows {
		g.op("LEAQ %d(%s)(BX*1), %s", g.width, r, r)
	}
	g.op("ADDQ $%d, R8", g.elem.size)
	g.op("DECQ R9")
	g.op("JNZ row")
	g.end()
}
