package main

// notLessEqual is the comparison "not ≤", which is true where an operand is NaN and raises no exception.
const notLessEqual = 0x16

// signBits sets register reg to the sign bit of each lane.
func (g *gen) signBits(reg int) {
	sign := uint64(1 << 63)
	if g.elem == float32s {
		sign |= 1 << 31
	}
	g.table("sign"+g.elem.name, []uint64{sign})
	g.op("%s sign%s<>(SB), %s", g.broadcast(), g.elem.name, g.v(reg))
}

// thresholdArgs loads the arguments of both threshold kernels: DI acc or g, AX a or dh, R8 weights, SI the bits of the
// first part, BX the bytes of one part in a row.
func (g *gen) thresholdArgs() {
	g.rowArgs()
	g.arg("rowArgs", "bits", "SI", "R12")
	g.op("MOVQ R10, BX")
	g.op("ADDQ BX, BX")
}

// thresholdRow begins a row: its weight, and the loop over units.
func (g *gen) thresholdRow(weight int) {
	g.label("row")
	g.broadcastArg("(R8)", weight)
	g.op("MOVQ R10, R11")
	g.label("unit")
}

// thresholdNext closes the loops over units and rows.
func (g *gen) thresholdNext() {
	g.op("ADDQ $2, SI")
	g.nextUnit("unit", "AX", "DI")
	g.op("ADDQ BX, SI")
	g.op("ADDQ $%d, R8", g.elem.size)
	g.nextRow("row")
}

func thresholdKernels(g *gen) {
	g.threshold()
	g.thresholdGrad()
}

// threshold writes acc += w·S_θ(a) and its pattern of bits.
func (g *gen) threshold() {
	const theta, sign, weight, twoSided = 0, 1, 2, 3
	g.begin("threshold", "", "rowArgs")
	g.thresholdArgs()
	g.op("%s rowArgs_theta(SI), %s", g.broadcast(), g.v(theta))
	g.signBits(sign)
	if g.isa == avx512 {
		g.op("MOVQ rowArgs_negative(SI), R13")
		g.op("KMOVW R13, K3")
	} else {
		g.op("VPBROADCASTQ rowArgs_negative(SI), %s", g.v(twoSided))
	}
	g.op("MOVQ R12, SI")
	g.thresholdRow(weight)
	if g.isa == avx512 {
		g.threshold512(theta, sign, weight)
	} else {
		g.threshold2(theta, sign, weight, twoSided)
	}
	g.thresholdNext()
	g.end()
}

func (g *gen) threshold512(theta, sign, weight int) {
	cmp, kmov := "VCMP"+g.elem.packed, "KMOVW"
	if g.elem == float64s {
		kmov = "KMOVB"
	}
	for j := range g.vectors() {
		off := j * g.width
		g.op("%s %d(AX), Z4", g.mov(), off)
		g.op("VXOR%s Z%d, Z4, Z5", g.elem.packed, sign)
		g.op("%s $0x%x, Z%d, Z4, K1", cmp, notLessEqual, theta)
		g.op("%s $0x%x, Z%d, Z5, K2", cmp, notLessEqual, theta)
		g.op("KANDW K3, K2, K2")
		g.op("%s.Z Z%d, Z4, K1, Z4", g.sub(), theta)
		g.op("%s.Z Z%d, Z5, K2, Z5", g.sub(), theta)
		g.op("%s Z5, Z4, Z4", g.sub())
		g.op("%s %d(DI), Z6", g.mov(), off)
		g.op("%s Z4, Z%d, Z6", g.fma(), weight)
		g.op("%s Z6, %d(DI)", g.mov(), off)
		g.op("%s K1, %d(SI)", kmov, j*g.lanes()/8)
		g.op("%s K2, %d(SI)(BX*1)", kmov, j*g.lanes()/8)
	}
}

func (g *gen) threshold2(theta, sign, weight, twoSided int) {
	cmp, and, movmsk := "VCMP"+g.elem.packed, "VAND"+g.elem.packed, "VMOVMSK"+g.elem.packed
	perByte := 8 / g.lanes()
	for j := range g.vectors() {
		off := j * g.width
		g.op("%s %d(AX), Y4", g.mov(), off)
		g.op("VXOR%s Y%d, Y4, Y5", g.elem.packed, sign)
		g.op("%s $0x%x, Y%d, Y4, Y6", cmp, notLessEqual, theta)
		g.op("%s $0x%x, Y%d, Y5, Y7", cmp, notLessEqual, theta)
		g.op("%s Y%d, Y7, Y7", and, twoSided)
		g.op("%s Y%d, Y4, Y4", g.sub(), theta)
		g.op("%s Y%d, Y5, Y5", g.sub(), theta)
		g.op("%s Y6, Y4, Y4", and)
		g.op("%s Y7, Y5, Y5", and)
		g.op("%s Y5, Y4, Y4", g.sub())
		g.op("%s %d(DI), Y8", g.mov(), off)
		g.op("%s Y4, Y%d, Y8", g.fma(), weight)
		g.op("%s Y8, %d(DI)", g.mov(), off)
		if j%perByte == 0 {
			g.op("%s Y6, R12", movmsk)
			g.op("%s Y7, R13", movmsk)
		} else {
			g.op("%s Y6, R15", movmsk)
			g.op("%s Y7, CX", movmsk)
			g.op("SHLQ $%d, R15", g.lanes())
			g.op("SHLQ $%d, CX", g.lanes())
			g.op("ORQ R15, R12")
			g.op("ORQ CX, R13")
		}
		if j%perByte == perByte-1 {
			g.op("MOVB R12, %d(SI)", j/perByte)
			g.op("MOVB R13, %d(SI)(BX*1)", j/perByte)
		}
	}
}

// thresholdGrad writes g = w·dh·(pos+neg) and the sum of w·dh·(neg−pos).
func (g *gen) thresholdGrad() {
	const weight, ones, bits = 14, 15, 12
	g.begin("thresholdGrad", "", "rowArgs")
	g.thresholdArgs()
	g.op("MOVQ R12, SI")
	g.ones(ones)
	if g.isa == avx2 {
		g.bitTable(bits)
	}
	for j := range g.sums() {
		g.op("VXORPD X%d, X%d, X%d", j, j, j)
	}
	g.thresholdRow(weight)
	for j := range g.vectors() {
		pos, neg, v := g.v(4), g.v(5), g.v(6)
		g.loadBits(j, "(SI)", 4, ones, bits)
		g.loadBits(j, "(SI)(BX*1)", 5, ones, bits)
		g.op("%s %d(AX), %s, %s", g.mul(), j*g.width, g.v(weight), v)
		g.op("%s %s, %s, %s", g.add(), neg, pos, g.v(7))
		g.op("%s %s, %s, %s", g.sub(), pos, neg, pos)
		g.op("%s %s, %s, %s", g.mul(), v, g.v(7), g.v(7))
		g.op("%s %s, %d(DI)", g.mov(), g.v(7), j*g.width)
		g.op("%s %s, %s, %s", g.mul(), v, pos, pos)
		g.addWide(j, 4)
	}
	g.thresholdNext()
	g.fold()
	g.op("MOVQ a+0(FP), SI")
	g.op("VMOVSD X0, rowArgs_sum(SI)")
	g.end()
}

// addWide adds register reg, vector j of a unit, to the float64 sums.
func (g *gen) addWide(j, reg int) {
	if g.elem == float64s {
		g.op("VADDPD %s, %s, %s", g.v(reg), g.v(j), g.v(j))
		return
	}
	half := "X"
	extract := "VEXTRACTF128"
	if g.isa == avx512 {
		half, extract = "Y", "VEXTRACTF64X4"
	}
	g.op("VCVTPS2PD %s%d, %s", half, reg, g.v(8))
	g.op("VADDPD %s, %s, %s", g.v(8), g.v(2*j), g.v(2*j))
	g.op("%s $1, %s, %s8", extract, g.v(reg), half)
	g.op("VCVTPS2PD %s8, %s", half, g.v(8))
	g.op("VADDPD %s, %s, %s", g.v(8), g.v(2*j+1), g.v(2*j+1))
}

// loadBits sets register reg to 1 where the bit of vector j of a unit is set and to 0 elsewhere.
func (g *gen) loadBits(j int, addr string, reg, ones, bits int) {
	at := j * g.lanes() / 8
	if g.isa == avx512 {
		kmov := "KMOVW"
		if g.elem == float64s {
			kmov = "KMOVB"
		}
		g.op("%s %d%s, K1", kmov, at, addr)
		g.op("%s.Z Z%d, K1, Z%d", g.mov(), ones, reg)
		return
	}
	g.op("VPBROADCASTB %d%s, Y%d", at, addr, reg)
	if g.elem == float32s {
		g.op("VPAND Y%d, Y%d, Y%d", bits, reg, reg)
		g.op("VPCMPEQD Y%d, Y%d, Y%d", bits, reg, reg)
	} else {
		b := bits + j%2
		g.op("VPAND Y%d, Y%d, Y%d", b, reg, reg)
		g.op("VPCMPEQQ Y%d, Y%d, Y%d", b, reg, reg)
	}
	g.op("VAND%s Y%d, Y%d, Y%d", g.elem.packed, ones, reg, reg)
}

// bitTable loads the bit that each lane looks at: register bits, and for float64 bits+1 for the upper half of a byte.
func (g *gen) bitTable(bits int) {
	if g.elem == float32s {
		g.table("bitsF32", byteBits32)
		g.op("VMOVDQU bitsF32<>(SB), Y%d", bits)
		return
	}
	g.table("bitsF64", byteBits64)
	g.op("VMOVDQU bitsF64<>(SB), Y%d", bits)
	g.op("VMOVDQU bitsF64<>+32(SB), Y%d", bits+1)
}
