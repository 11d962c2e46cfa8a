package main

// Of the kernels below each works on whole units of 16 row values, one lane a row, in float64; the caller does what is
// left.
const (
	greater = 0x1e // ordered: false where an operand is NaN
	less    = 0x11
)

// shrinkKernels writes the work of the noise module on values that a row has one of.
func shrinkKernels(g *gen) {
	if g.elem == float64s {
		g.addNorms()
	}
	g.shrink()
	g.shrinkGrad()
}

// addNorms writes dst += a, and whether any sum is less than scale·a.
func (g *gen) addNorms() {
	g.begin("addNorms", "", "shrinkArgs")
	g.shrinkArgs()
	g.shrinkLoop(func(j int) {
		g.op("VMOVUPD %d(AX), %s", j*g.width, g.v(4))
		g.op("VADDPD %d(DI), %s, %s", j*g.width, g.v(4), g.v(5))
		g.op("VMOVUPD %s, %d(DI)", g.v(5), j*g.width)
		g.op("VMULPD %s, %s, %s", g.v(15), g.v(4), g.v(4))
		g.find(less, 4, 5)
	}, 8, 0, 8, 0)
	g.found()
	g.end()
}

// shrink writes dst = √max(a, 0) and, where that is greater than bound, dst2 = rest + scale/dst, elsewhere 1.
func (g *gen) shrink() {
	g.begin("shrink", "", "shrinkArgs")
	g.shrinkArgs()
	g.zero(12)
	g.shrinkLoop(func(j int) {
		g.op("VMAXPD %d(AX), %s, %s", j*g.width, g.v(12), g.v(4)) // NaN stays
		g.op("VSQRTPD %s, %s", g.v(4), g.v(4))
		g.narrow("DI", j, 4, 6)
		g.op("VDIVPD %s, %s, %s", g.v(4), g.v(15), g.v(5))
		g.op("VADDPD %s, %s, %s", g.v(14), g.v(5), g.v(5))
		if g.isa == avx512 {
			g.op("VCMPPD $0x%x, %s, %s, K1", greater, g.v(11), g.v(4))
			g.op("VMOVAPD %s, %s", g.v(10), g.v(7))
			g.op("VMOVAPD %s, K1, %s", g.v(5), g.v(7))
		} else {
			g.op("VCMPPD $0x%x, %s, %s, %s", greater, g.v(11), g.v(4), g.v(7))
			g.op("VBLENDVPD %s, %s, %s, %s", g.v(7), g.v(5), g.v(10), g.v(7))
		}
		g.narrow("R8", j, 7, 6)
	}, 8, 0, g.elem.size, g.elem.size)
	g.end()
}

// shrinkGrad writes, where a is greater than bound, p = b·scale/a, −dst = dst2 = p·rest/a², and elsewhere 0; and the sums of
// p and whether there was any.
func (g *gen) shrinkGrad() {
	g.begin("shrinkGrad", "", "shrinkArgs")
	g.shrinkArgs()
	g.zero(12)
	for j := range g.sums() {
		g.zero(j)
	}
	g.shrinkLoop(func(j int) {
		g.wide("AX", j, 4)
		g.wide("BX", j, 5)
		g.op("VDIVPD %s, %s, %s", g.v(4), g.v(10), g.v(6)) // 1/a
		g.op("VMULPD %s, %s, %s", g.v(15), g.v(5), g.v(5))
		g.op("VMULPD %s, %s, %s", g.v(6), g.v(5), g.v(5))
		g.find(greater, 11, 4)
		g.zeroElsewhere(5)
		g.op("VADDPD %s, %s, %s", g.v(5), g.v(j), g.v(j))
		g.op("VMULPD %s, %s, %s", g.v(14), g.v(5), g.v(5))
		g.op("VMULPD %s, %s, %s", g.v(6), g.v(5), g.v(5))
		g.op("VMULPD %s, %s, %s", g.v(6), g.v(5), g.v(5))
		g.zeroElsewhere(5)
		g.op("VSUBPD %s, %s, %s", g.v(5), g.v(12), g.v(4))
		g.narrow("DI", j, 4, 6)
		g.narrow("R8", j, 5, 6)
	}, g.elem.size, g.elem.size, g.elem.size, g.elem.size)
	g.found()
	for j := range g.sums() {
		g.op("VMOVUPD %s, shrinkArgs_sums+%d(SI)", g.v(j), j*g.width)
	}
	g.end()
}

// shrinkArgs loads the arguments: registers 11, 14 and 15 hold bound, rest and scale, register 10 ones.
func (g *gen) shrinkArgs() {
	g.args("shrinkArgs", "SI", "a AX", "b BX", "dst DI", "dst2 R8", "units R9")
	g.op("VBROADCASTSD shrinkArgs_bound(SI), %s", g.v(11))
	g.op("VBROADCASTSD shrinkArgs_rest(SI), %s", g.v(14))
	g.op("VBROADCASTSD shrinkArgs_scale(SI), %s", g.v(15))
	g.table("oneF64", []uint64{0x3ff0000000000000})
	g.op("VBROADCASTSD oneF64<>(SB), %s", g.v(10))
	g.op("XORQ R10, R10")
}

// shrinkLoop writes the loop over units: body for each float64 vector, then a, b, dst and dst2 advance by 16 elements of the
// given sizes.
func (g *gen) shrinkLoop(body func(j int), a, b, dst, dst2 int) {
	g.label("unit")
	for j := range g.sums() {
		body(j)
	}
	for _, p := range []struct {
		reg  string
		size int
	}{{"AX", a}, {"BX", b}, {"DI", dst}, {"R8", dst2}} {
		if p.size > 0 {
			g.op("ADDQ $%d, %s", unit*p.size, p.reg)
		}
	}
	g.op("DECQ R9")
	g.op("JNZ unit")
}

// find compares register y with register x by a relation, y ∘ x, and remembers in R10 if it held in any lane; the lanes are
// K1 of AVX-512, register 7 of AVX2.
func (g *gen) find(relation, x, y int) {
	if g.isa == avx512 {
		g.op("VCMPPD $0x%x, %s, %s, K1", relation, g.v(x), g.v(y))
		g.op("KMOVB K1, R11")
	} else {
		g.op("VCMPPD $0x%x, %s, %s, %s", relation, g.v(x), g.v(y), g.v(7))
		g.op("VMOVMSKPD %s, R11", g.v(7))
	}
	g.op("ORQ R11, R10")
}

// zeroElsewhere clears the lanes of register reg in which the last find did not hold.
func (g *gen) zeroElsewhere(reg int) {
	if g.isa == avx512 {
		g.op("VMOVAPD.Z %s, K1, %s", g.v(reg), g.v(reg))
	} else {
		g.op("VANDPD %s, %s, %s", g.v(7), g.v(reg), g.v(reg))
	}
}

// found stores what find remembered.
func (g *gen) found() { g.op("MOVQ R10, shrinkArgs_found(SI)") }

// narrow stores float64 register reg as vector j of a unit at base; tmp is overwritten.
func (g *gen) narrow(base string, j, reg, tmp int) {
	switch {
	case g.elem == float64s:
		g.op("VMOVUPD %s, %d(%s)", g.v(reg), j*g.width, base)
	case g.isa == avx512:
		g.op("VCVTPD2PS Z%d, Y%d", reg, tmp)
		g.op("VMOVUPS Y%d, %d(%s)", tmp, j*32, base)
	default:
		g.op("VCVTPD2PSY Y%d, X%d", reg, tmp)
		g.op("VMOVUPS X%d, %d(%s)", tmp, j*16, base)
	}
}
