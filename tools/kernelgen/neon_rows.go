package main

// vectors is the number of vectors in a unit of 16 elements.
func (g *neon) vectors() int { return unit / g.lanes() }

// neonSums is the number of float64 vectors that hold the 16 sums of a unit: the first ones of the register file.
const neonSums = unit * 8 / neonWidth

// The general registers of the row kernels.
const (
	rowDst, rowA, rowB, rowS, rowRows, rowUnits, rowLeft = 1, 2, 3, 4, 5, 6, 7
)

// zeroSums clears the 16 sums.
func (g *neon) zeroSums() {
	for j := range neonSums {
		g.zero(j)
	}
}

// rowArgs loads the arguments that the row kernels share.
func (g *neon) rowArgs() {
	g.args("rowArgs", field{"dst", rowDst}, field{"a", rowA}, field{"b", rowB}, field{"s", rowS}, field{"rows", rowRows},
		field{"units", rowUnits})
}

// The vector registers of rowLoop: the row's scalar s, 1−s and 1, each in lane 0; the vectors that body works on.
const (
	rowScalar, rowRest, rowOne = 0, 1, 2
	inA, inB, inDst            = 4, 12, 20
)

// neonRows writes the elementwise work on row state: a loop over rows, inside it a loop over units of 16 elements.
func neonRows(g *neon) {
	// dst = s·a
	g.rowLoop("rowScale", "a", func(j int) {
		g.lane("fmul", inDst+j, inA+j, rowScalar, 0)
	})
	// dst += s·a
	g.rowLoop("rowAxpy", "ad", func(j int) {
		g.lane("fmla", inDst+j, inA+j, rowScalar, 0)
	})
	// dst += s·(a − b)
	g.rowLoop("rowDiffAxpy", "abd", func(j int) {
		g.v3("fsub", inA+j, inA+j, inB+j)
		g.lane("fmla", inDst+j, inA+j, rowScalar, 0)
	})
	// dst = s·a + (1−s)·b
	g.rowLoop("rowLerp", "ab-", func(j int) {
		g.lane("fmul", inDst+j, inB+j, rowRest, 0)
		g.lane("fmla", inDst+j, inA+j, rowScalar, 0)
	})
	// dst += s·a + (1−s)·b
	g.rowLoop("rowLerpAxpy", "abd-", func(j int) {
		g.lane("fmla", inDst+j, inA+j, rowScalar, 0)
		g.lane("fmla", inDst+j, inB+j, rowRest, 0)
	})
	// dst = s·a, b = (1−s)·a
	g.rowLoop("rowSplit", "a-B", func(j int) {
		g.lane("fmul", inDst+j, inA+j, rowScalar, 0)
		g.lane("fmul", inB+j, inA+j, rowRest, 0)
	})
	g.rowSum("rowDot", nothing, func() {
		g.wideUnit(rowA, 8)
		g.wideUnit(rowB, 16)
		for j := range neonSums {
			g.d3("fmla", j, 8+j, 16+j)
		}
	})
	// Σ a·(b − 2·s)
	const two = 24
	g.rowSum("rowResidual", func() { g.constant(float64s, two, 2) }, func() {
		g.wideUnit(rowS, 8)
		g.wideUnit(rowB, 16)
		for j := range neonSums {
			g.d3("fmls", 16+j, 8+j, two)
		}
		g.wideUnit(rowA, 8)
		for j := range neonSums {
			g.d3("fmla", j, 8+j, 16+j)
		}
	})
}

// rowLoop writes a kernel that treats each row with a scalar of its own: body once for each vector of a unit. uses names
// what it needs: a, b and d (dst) are loaded, - stands for 1−s; dst is stored, and with B b too.
func (g *neon) rowLoop(family, uses string, body func(j int)) {
	need := func(c rune) bool {
		for _, r := range uses {
			if r == c {
				return true
			}
		}
		return false
	}
	g.begin(family, "", "rowArgs")
	g.rowArgs()
	if need('-') {
		g.constant(g.elem, rowOne, 1)
	}
	g.label("row")
	g.op("%s.P %d(R%d), F%d", g.scalarMove(), g.elem.size, rowS, rowScalar)
	if need('-') {
		g.op("%s F%d, F%d, F%d", map[elem]string{float32s: "FSUBS", float64s: "FSUBD"}[g.elem], rowScalar, rowOne, rowRest)
	}
	g.op("MOVD R%d, R%d", rowUnits, rowLeft)
	g.label("unit")
	n := g.vectors()
	if need('a') {
		g.loadNext(rowA, n, inA)
	}
	if need('b') {
		g.loadNext(rowB, n, inB)
	}
	if need('d') {
		g.load(rowDst, 0, n, inDst)
	}
	for j := range n {
		body(j)
	}
	g.storeNext(rowDst, n, inDst)
	if need('B') {
		g.storeNext(rowB, n, inB)
	}
	g.op("SUBS $1, R%d, R%d", rowLeft, rowLeft)
	g.op("BNE unit")
	g.op("SUBS $1, R%d, R%d", rowRows, rowRows)
	g.op("BNE row")
	g.end()
}

// wideUnit loads a unit at base as float64 vectors into the registers from first on, and moves base behind it.
func (g *neon) wideUnit(base, first int) {
	if g.elem == float64s {
		g.loadNext(base, neonSums, first)
		return
	}
	// They are loaded into the upper half of the registers and spread from the first one on, each before it is overwritten.
	const narrow = neonSums / 2
	g.loadNext(base, narrow, first+narrow)
	for j := range narrow {
		g.widen(first+2*j, first+narrow+j, false)
		g.widen(first+2*j+1, first+narrow+j, true)
	}
}

// narrowUnit stores the float64 vectors from first on as a unit at base, and moves base behind it. The vectors are used
// up.
func (g *neon) narrowUnit(base, first int) {
	if g.elem == float64s {
		g.storeNext(base, neonSums, first)
		return
	}
	for j := range neonSums / 2 {
		g.narrow(first+j, first+2*j, false)
		g.narrow(first+j, first+2*j+1, true)
	}
	g.storeNext(base, neonSums/2, first)
}

// nothing writes no instructions.
func nothing() {}

// rowSum writes a kernel with a float64 sum for each row: head once, body, which adds a unit to the sums, once a unit.
func (g *neon) rowSum(family string, head, body func()) {
	g.begin(family, "", "rowArgs")
	g.rowArgs()
	head()
	g.label("row")
	g.zeroSums()
	g.op("MOVD R%d, R%d", rowUnits, rowLeft)
	g.label("unit")
	body()
	g.op("SUBS $1, R%d, R%d", rowLeft, rowLeft)
	g.op("BNE unit")
	g.fold()
	g.op("FMOVD.P F0, 8(R%d)", rowDst)
	g.op("SUBS $1, R%d, R%d", rowRows, rowRows)
	g.op("BNE row")
	g.end()
}

// fold adds the 16 sums up, element l with l+8, then with l+4, l+2 and l+1, into register 0.
func (g *neon) fold() {
	for h := neonSums / 2; h > 0; h /= 2 {
		for j := range h {
			g.d3("fadd", j, j, j+h)
		}
	}
	g.sumPair(0, 0)
}
