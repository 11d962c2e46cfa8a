package main

// The general registers of the flat kernels, and the vector registers of shift (or mean) and scale.
const (
	flatA, flatB, flatDst, flatUnits = 1, 2, 3, 4
	flatShift, flatScale             = 30, 31
)

// neonFlat writes the sums and maps over plain slices, in whole units of 16 elements; the caller does what is left. Sums
// are taken in float64, element j in sum j%16; the 16 sums go back to the caller.
func neonFlat(g *neon) {
	each := func(body func(j int)) {
		for j := range neonSums {
			body(j)
		}
	}
	g.flatSum("sum", func() {
		g.wideUnit(flatA, 8)
		each(func(j int) { g.d3("fadd", j, j, 8+j) })
	})
	// Σ (a − mean)²
	g.flatSum("sumSquares", func() {
		g.wideUnit(flatA, 8)
		each(func(j int) { g.d3("fsub", 8+j, 8+j, flatShift) })
		each(func(j int) { g.d3("fmla", j, 8+j, 8+j) })
	})
	// Σ (a − b)²
	g.flatSum("squaredDistance", func() {
		g.wideUnit(flatA, 8)
		g.wideUnit(flatB, 16)
		each(func(j int) { g.d3("fsub", 8+j, 8+j, 16+j) })
		each(func(j int) { g.d3("fmla", j, 8+j, 8+j) })
	})
	// dst = scale·(a − shift), rounded to the element type at the end
	g.flatMap("affine", func() {
		g.wideUnit(flatA, 8)
		each(func(j int) { g.d3("fsub", 8+j, 8+j, flatShift) })
		each(func(j int) { g.d3("fmul", 8+j, 8+j, flatScale) })
		g.narrowUnit(flatDst, 8)
	})
	// dst = scale·a, a of float64, rounded to the element type at the end
	g.flatMap("scaleTo", func() {
		g.loadNext(flatA, neonSums, 8)
		each(func(j int) { g.d3("fmul", 8+j, 8+j, flatScale) })
		g.narrowUnit(flatDst, 8)
	})
	// dst += a, dst of float64
	g.flatMap("addTo", func() {
		g.wideUnit(flatA, 8)
		g.load(flatDst, 0, neonSums, 16)
		each(func(j int) { g.d3("fadd", 8+j, 8+j, 16+j) })
		g.storeNext(flatDst, neonSums, 8)
	})
}

// flatArgs loads the arguments that the flat kernels share.
func (g *neon) flatArgs() {
	g.args("flatArgs", field{"a", flatA}, field{"b", flatB}, field{"dst", flatDst}, field{"units", flatUnits})
	g.spreadArg("flatArgs", "shift", flatShift)
	g.spreadArg("flatArgs", "scale", flatScale)
}

// spreadArg sets both lanes of a vector register to a float64 argument. R25 is overwritten.
func (g *neon) spreadArg(args, field string, reg int) {
	g.op("ADD $%s_%s, R0, R25", args, field)
	g.op("VLD1R (R25), [V%d.D2]", reg)
}

func (g *neon) flatSum(family string, body func()) {
	unit := g.macro(family+"Unit", body)
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	g.zeroSums()
	g.repeat(flatUnits, flatUnitsATurn, func() { g.op(unit) })
	g.storeSums("flatArgs")
	g.end()
}

// storeSums stores the 16 sums in the field of that name. R25 is overwritten.
func (g *neon) storeSums(args string) {
	g.op("ADD $%s_sums, R0, R25", args)
	g.storeNext(25, neonSums, 0)
}

func (g *neon) flatMap(family string, body func()) {
	unit := g.macro(family+"Unit", body)
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	g.repeat(flatUnits, flatUnitsATurn, func() { g.op(unit) })
	g.end()
}

// flatUnitsATurn is the number of units that a turn of the loop goes through.
const flatUnitsATurn = 4
