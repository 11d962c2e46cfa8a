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

// bitTables loads, from vector register first on, the bit of each lane of the vectors that share a byte of the pattern:
// 2 registers for float32, 4 for float64.
func (g *neon) bitTables(first int) {
	if g.elem == float32s {
		g.table("bitsF32", []uint64{2<<32 | 1, 8<<32 | 4, 32<<32 | 16, 128<<32 | 64})
	} else {
		g.table("bitsF64", []uint64{1, 2, 4, 8, 16, 32, 64, 128})
	}
	g.op("MOVD $bits%s<>(SB), R%d", g.elem.name, bitsValue)
	g.load(bitsValue, 0, 8/g.lanes(), counting(first))
}

func neonThresholds(g *neon) {
	g.threshold()
	g.thresholdGrad()
}

// threshold writes acc += w·S_θ(a) and its pattern of bits.
func (g *neon) threshold() {
	const weight, theta, oneSided, bits = 0, 1, 2, 28
	const up, down, accs = 3, 4, 16 // bits of a byte; the vectors of acc
	perByte := 8 / g.lanes()
	g.begin("threshold", "", "rowArgs")
	g.thresholdArgs()
	g.op("%s rowArgs_theta(R0), F%d", g.scalarMove(), theta)
	g.spread(theta, theta)
	g.arg("rowArgs", "negative", bitsValue)
	g.op("MVN R%d, R%d", bitsValue, bitsValue)
	g.spreadGeneral(oneSided, bitsValue, true)
	g.bitTables(bits)
	g.label("row")
	g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, rowS, weight)
	g.op("MOVD R%d, R%d", rowUnits, rowLeft)
	g.label("unit")
	n := g.vectors()
	g.load(rowDst, 0, n, counting(accs))
	g.op("ADD R%d, R%d, R%d", bitsAt, bitsRow, bitsOther)
	for j := range n {
		const a, minus, isUp, isDown, lane = 5, 6, 7, 24, 25
		part := j % perByte
		g.op("FMOVQ.P %d(R%d), F%d", neonWidth, rowA, a)
		g.v2("fneg", minus, a)
		// Where a ≤ θ there is nothing, which is false where an operand is NaN.
		g.v3("fcmge", isUp, theta, a)
		g.v3("fcmge", isDown, theta, minus)
		g.logic("orr", isDown, isDown, oneSided)
		g.v3("fsub", a, a, theta)
		g.v3("fsub", minus, minus, theta)
		g.logic("bic", a, a, isUp)
		g.logic("bic", minus, minus, isDown)
		g.v3("fsub", a, a, minus)
		g.lane("fmla", accs+j, a, weight, 0)
		if part == 0 {
			g.logic("bic", up, bits, isUp)
			g.logic("bic", down, bits, isDown)
		} else {
			g.logic("bic", lane, bits+part, isUp)
			g.logic("orr", up, up, lane)
			g.logic("bic", lane, bits+part, isDown)
			g.logic("orr", down, down, lane)
		}
		if part == perByte-1 {
			g.sumIntegers(up, up)
			g.sumIntegers(down, down)
			g.op("VMOV V%d.B[0], R%d", up, bitsValue)
			g.op("MOVB R%d, %d(R%d)", bitsValue, j/perByte, bitsAt)
			g.op("VMOV V%d.B[0], R%d", down, bitsValue)
			g.op("MOVB R%d, %d(R%d)", bitsValue, j/perByte, bitsOther)
		}
	}
	g.storeNext(rowDst, n, counting(accs))
	g.thresholdNext()
	g.end()
}

// thresholdNext closes the loops over units and rows.
func (g *neon) thresholdNext() {
	g.op("ADD $2, R%d, R%d", bitsAt, bitsAt)
	g.op("SUBS $1, R%d, R%d", rowLeft, rowLeft)
	g.op("BNE unit")
	g.op("ADD R%d, R%d, R%d", bitsRow, bitsAt, bitsAt)
	g.op("SUBS $1, R%d, R%d", rowRows, rowRows)
	g.op("BNE row")
}

// thresholdGrad writes g = w·dh·(pos+neg) and the sum of w·dh·(neg−pos).
func (g *neon) thresholdGrad() {
	const weight, ones, bits = 8, 9, 28
	const posByte, negByte, pos, neg, v, both, wide = 10, 11, 12, 13, 14, 15, 16
	perByte := 8 / g.lanes()
	g.begin("thresholdGrad", "", "rowArgs")
	g.thresholdArgs()
	g.one(g.elem, ones)
	g.bitTables(bits)
	for j := range neonSums {
		g.zero(j)
	}
	g.label("row")
	g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, rowS, weight)
	g.op("MOVD R%d, R%d", rowUnits, rowLeft)
	g.label("unit")
	g.op("ADD R%d, R%d, R%d", bitsAt, bitsRow, bitsOther)
	for j := range g.vectors() {
		if j%perByte == 0 {
			for _, b := range []struct{ at, reg int }{{bitsAt, posByte}, {bitsOther, negByte}} {
				g.op("MOVBU %d(R%d), R%d", j/perByte, b.at, bitsValue)
				g.spreadGeneral(b.reg, bitsValue, g.elem == float64s)
			}
		}
		lane := bits + j%perByte
		g.v3("cmtst", pos, posByte, lane)
		g.v3("cmtst", neg, negByte, lane)
		g.logic("and", pos, pos, ones)
		g.logic("and", neg, neg, ones)
		g.op("FMOVQ.P %d(R%d), F%d", neonWidth, rowA, v)
		g.lane("fmul", v, v, weight, 0)
		g.v3("fadd", both, pos, neg)
		g.v3("fsub", pos, neg, pos)
		g.v3("fmul", both, both, v)
		g.op("FMOVQ.P F%d, %d(R%d)", both, neonWidth, rowDst)
		g.v3("fmul", pos, pos, v)
		if g.elem == float64s {
			g.d3("fadd", j, j, pos)
			continue
		}
		g.widen(wide, pos, false)
		g.widen(wide+1, pos, true)
		g.d3("fadd", 2*j, 2*j, wide)
		g.d3("fadd", 2*j+1, 2*j+1, wide+1)
	}
	g.thresholdNext()
	g.fold()
	g.op("FMOVD F0, rowArgs_sum(R0)")
	g.end()
}
