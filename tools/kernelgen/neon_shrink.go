package main

// The general registers of the kernels on row values, and the vector registers of the arguments, of ones, of zeros and
// of what was found.
const (
	shrinkA, shrinkB, shrinkDst, shrinkDst2, shrinkUnits                   = 1, 2, 3, 4, 5
	shrinkBound, shrinkRest, shrinkScale, shrinkOne, shrinkZero, shrinkHas = 26, 27, 28, 29, 30, 31
)

// neonShrink writes the work of the noise module on values that a row has one of: whole units of 16, one lane a row, in
// float64; the caller does what is left. Each lane goes through the same operations as in the caller's plain Go.
func neonShrink(g *neon) {
	if g.elem == float64s {
		g.addNorms()
	}
	g.shrink()
	g.shrinkGrad()
}

// addNorms writes dst += a, and whether any sum is less than scale·a.
func (g *neon) addNorms() {
	g.shrinkKernel("addNorms", nothing, func() {
		g.loadNext(shrinkA, neonSums, 0)
		g.load(shrinkDst, 0, neonSums, 8)
		for j := range neonSums {
			g.d3("fadd", 8+j, 8+j, j)
			g.d3("fmul", j, j, shrinkScale)
			g.d3("fcmgt", j, j, 8+j)
			g.logic("orr", shrinkHas, shrinkHas, j)
		}
		g.storeNext(shrinkDst, neonSums, 8)
	}, g.found)
}

// shrink writes dst = √max(a, 0) and, where that is greater than bound, dst2 = rest + scale/dst, elsewhere 1.
func (g *neon) shrink() {
	g.shrinkKernel("shrink", nothing, func() {
		const norm, trust, test = 0, 8, 16
		g.loadNext(shrinkA, neonSums, norm)
		for j := range neonSums {
			r, t := norm+j, trust+j
			g.d3("fcmgt", test, shrinkZero, r) // NaN stays
			g.logic("bic", r, r, test)
			g.d2("fsqrt", r, r)
			g.d3("fdiv", t, shrinkScale, r)
			g.d3("fadd", t, shrinkRest, t)
			g.d3("fcmgt", test, r, shrinkBound)
			g.logic("bif", t, shrinkOne, test)
		}
		g.narrowUnit(shrinkDst, norm)
		g.narrowUnit(shrinkDst2, trust)
	}, nothing)
}

// shrinkGrad writes, where a is greater than bound, p = b·scale/a, −dst = dst2 = p·rest/a², and elsewhere 0; and the sums
// of p and whether there was any.
func (g *neon) shrinkGrad() {
	g.shrinkKernel("shrinkGrad", g.zeroSums, func() {
		const norm, by, inverse, test = 8, 16, 24, 25
		g.wideUnit(shrinkA, norm)
		g.wideUnit(shrinkB, by)
		for j := range neonSums {
			r, p := norm+j, by+j
			g.d3("fdiv", inverse, shrinkOne, r)
			g.d3("fmul", p, p, shrinkScale)
			g.d3("fmul", p, p, inverse)
			g.d3("fcmgt", test, r, shrinkBound)
			g.logic("orr", shrinkHas, shrinkHas, test)
			g.logic("and", p, p, test)
			g.d3("fadd", j, j, p)
			g.d3("fmul", p, p, shrinkRest)
			g.d3("fmul", p, p, inverse)
			g.d3("fmul", p, p, inverse)
			g.logic("and", p, p, test)
			g.d3("fsub", r, shrinkZero, p)
		}
		g.narrowUnit(shrinkDst, norm)
		g.narrowUnit(shrinkDst2, by)
	}, func() {
		g.found()
		g.storeSums("shrinkArgs")
	})
}

// shrinkKernel writes a kernel: its arguments and head, body for each unit, tail.
func (g *neon) shrinkKernel(family string, head, body, tail func()) {
	g.begin(family, "", "shrinkArgs", field{"a", shrinkA}, field{"b", shrinkB}, field{"dst", shrinkDst},
		field{"dst2", shrinkDst2}, field{"units", shrinkUnits})
	g.spreadArg("shrinkArgs", "bound", shrinkBound)
	g.spreadArg("shrinkArgs", "rest", shrinkRest)
	g.spreadArg("shrinkArgs", "scale", shrinkScale)
	g.constant(float64s, shrinkOne, 1)
	g.zero(shrinkZero)
	g.zero(shrinkHas)
	head()
	g.label("unit")
	body()
	g.op("SUBS $1, R%d, R%d", shrinkUnits, shrinkUnits)
	g.op("BNE unit")
	tail()
	g.end()
}

// found stores whether a comparison held somewhere.
func (g *neon) found() {
	g.op("VMOV V%d.D[0], R6", shrinkHas)
	g.op("VMOV V%d.D[1], R7", shrinkHas)
	g.op("ORR R6, R7, R7")
	g.op("MOVD R7, shrinkArgs_found(R0)")
}
