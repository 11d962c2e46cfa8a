package main

// The general registers of the threshold kernels, beside those of the row kernels.
const (
	bitsAt, bitsRow, bitsValue, bitsOther = 8, 9, 10, 11
)

// thresholdArgs loads the arguments of both threshold kernels: bitsAt is the address of the bits of the first part,
// bitsRow the bytes of one part in a row, behind which the second one begins.
func (g *neon) thresholdArgs() {
	g.rowArgs()
	g.arg("rowArgs", "bits", bitsAt)
	g.op("LSL $1, R%d, R%d", rowUnits, bitsRow)
}

func neonThresholds(g *neon) {
	g.threshold()
	g.thresholdGrad()
}

// thresholdRow begins a row: the address of its bits of the second part, and its weight.
func (g *neon) thresholdRow(weight int) {
	g.label("row")
	g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, rowS, weight)
	g.op("MOVD R%d, R%d", rowUnits, rowLeft)
	g.op("ADD R%d, R%d, R%d", bitsAt, bitsRow, bitsOther)
	g.label("unit")
}

// thresholdNext closes the loops over units and rows. The bits of a row lie behind those of the row before.
func (g *neon) thresholdNext() {
	g.op("SUBS $1, R%d, R%d", rowLeft, rowLeft)
	g.op("BNE unit")
	g.op("MOVD R%d, R%d", bitsOther, bitsAt)
	g.op("SUBS $1, R%d, R%d", rowRows, rowRows)
	g.op("BNE row")
}

// threshold writes acc += w·S_θ(a), S_θ(a) = max(a−θ, 0) + min(a+θ, 0), and its pattern of bits.
func (g *neon) threshold() {
	const weight, theta, minusTheta, thetaBelow, zero, upBits, downBits, tmp = 0, 1, 2, 3, 4, 5, 6, 7
	const as, accs, downs = 8, 16, 24
	g.begin("threshold", "", "rowArgs")
	g.thresholdArgs()
	g.op("%s rowArgs_theta(R0), F%d", g.scalarMove(), theta)
	g.spread(theta, theta)
	g.v2("fneg", minusTheta, theta)
	g.zero(zero)
	// Without the second part θ is NaN there, which minimum ignores, and no bit is ever set.
	g.op("MOVD $0x8040201008040201, R%d", bitsValue)
	g.spreadGeneral(upBits, bitsValue, true)
	g.arg("rowArgs", "negative", bitsValue)
	g.spreadGeneral(downBits, bitsValue, true)
	g.logic("orn", thetaBelow, theta, downBits)
	g.logic("and", downBits, downBits, upBits)
	g.thresholdRow(weight)
	n := g.vectors()
	g.load(rowDst, 0, n, accs)
	g.loadNext(rowA, n, as)
	for j := range n {
		a, down := as+j, downs+j
		g.v3("fsub", tmp, a, theta)
		g.v3("fmax", tmp, tmp, zero) // NaN stays
		g.v3("fadd", down, a, thetaBelow)
		g.v3("fminnm", down, down, zero)
		g.v3("fadd", tmp, tmp, down)
		g.lane("fmla", accs+j, tmp, weight, 0)
		// Where a ≤ θ the first part is not active, which is false where an operand is NaN; where −a ≤ θ not the second.
		g.v3("fcmge", down, a, minusTheta)
		g.v3("fcmge", a, theta, a)
	}
	g.storeNext(rowDst, n, accs)
	g.everyByte(as, n)
	g.everyByte(downs, n)
	g.logic("bic", as, upBits, as)
	g.logic("bic", downs, downBits, downs)
	g.addPairs(as, as, downs)
	g.addPairs(as, as, as)
	g.addPairs(as, as, as)
	g.op("VST1.P V%d.H[0], 2(R%d)", as, bitsAt)
	g.op("VST1.P V%d.H[1], 2(R%d)", as, bitsOther)
	g.thresholdNext()
	g.end()
}

// everyByte turns n vectors from register first on, whose lanes are all ones or zeros, into the bytes of one.
func (g *neon) everyByte(first, n int) {
	for bytes := g.elem.size / 2; n > 1; bytes, n = bytes/2, n/2 {
		for j := range n / 2 {
			g.everyOther(first+j, first+2*j, first+2*j+1, bytes)
		}
	}
}

// bitTables loads, from vector register first on, the bit of each lane of the vectors that share a byte of the pattern:
// 2 registers for float32, 4 for float64.
func (g *neon) bitTables(first int) {
	g.table("bits"+g.elem.name, map[elem][]uint64{float32s: byteBits32, float64s: byteBits64}[g.elem])
	g.op("MOVD $bits%s<>(SB), R%d", g.elem.name, bitsValue)
	g.load(bitsValue, 0, 8/g.lanes(), first)
}

// thresholdGrad writes g = w·dh·(pos+neg) and the sum of w·dh·(neg−pos).
func (g *neon) thresholdGrad() {
	const weight, ones, bits = 8, 9, 28
	const posByte, negByte, pos, neg, wide, vs = 10, 11, 12, 13, 14, 16
	perByte := 8 / g.lanes()
	g.begin("thresholdGrad", "", "rowArgs")
	g.thresholdArgs()
	g.constant(g.elem, ones, 1)
	g.bitTables(bits)
	g.zeroSums()
	g.thresholdRow(weight)
	n := g.vectors()
	g.loadNext(rowA, n, vs)
	for j := range n {
		v := vs + j
		if j%perByte == 0 {
			for _, b := range []struct{ at, reg int }{{bitsAt, posByte}, {bitsOther, negByte}} {
				g.op("MOVBU.P 1(R%d), R%d", b.at, bitsValue)
				g.spreadGeneral(b.reg, bitsValue, g.elem == float64s)
			}
		}
		lane := bits + j%perByte
		g.v3("cmtst", pos, posByte, lane)
		g.v3("cmtst", neg, negByte, lane)
		g.logic("and", pos, pos, ones)
		g.logic("and", neg, neg, ones)
		g.lane("fmul", v, v, weight, 0)
		g.v3("fadd", wide, pos, neg)
		g.v3("fsub", pos, neg, pos)
		g.v3("fmul", pos, pos, v)
		g.v3("fmul", v, v, wide)
		if g.elem == float64s {
			g.d3("fadd", j, j, pos)
			continue
		}
		g.widen(wide, pos, false)
		g.widen(wide+1, pos, true)
		g.d3("fadd", 2*j, 2*j, wide)
		g.d3("fadd", 2*j+1, 2*j+1, wide+1)
	}
	g.storeNext(rowDst, n, vs)
	g.thresholdNext()
	g.fold()
	g.op("FMOVD F0, rowArgs_sum(R0)")
	g.end()
}
