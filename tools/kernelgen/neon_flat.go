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
	// dst += a, dst of float64
	g.flatMap("addTo", func() {
		g.wideUnit(flatA, 8)
		g.load(flatDst, 0, neonSums, counting(16))
		each(func(j int) { g.d3("fadd", 8+j, 8+j, 16+j) })
		g.storeNext(flatDst, neonSums, counting(8))
	})
}

// flatArgs loads the arguments that the flat kernels share.
func (g *neon) flatArgs() {
	for _, f := range []struct {
		field string
		reg   int
	}{{"a", flatA}, {"b", flatB}, {"dst", flatDst}, {"units", flatUnits}} {
		g.arg("flatArgs", f.field, f.reg)
	}
	g.spreadArg("flatArgs", "shift", flatShift)
	g.spreadArg("flatArgs", "scale", flatScale)
}

// spreadArg sets both lanes of a vector register to a float64 argument. R25 is overwritten.
func (g *neon) spreadArg(args, field string, reg int) {
	g.op("ADD $%s_%s, R0, R25", args, field)
	g.op("VLD1R (R25), [V%d.D2]", reg)
}

func (g *neon) flatSum(family string, body func()) {
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	for j := range neonSums {
		g.zero(j)
	}
	g.flatLoop(body)
	g.storeSums("flatArgs")
	g.end()
}

// storeSums stores the 16 sums in the field of that name. R25 is overwritten.
func (g *neon) storeSums(args string) {
	g.op("ADD $%s_sums, R0, R25", args)
	g.storeNext(25, neonSums, counting(0))
}

func (g *neon) flatMap(family string, body func()) {
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	g.flatLoop(body)
	g.end()
}

func (g *neon) flatLoop(body func()) {
	g.label("unit")
	body()
	g.op("SUBS $1, R%d, R%d", flatUnits, flatUnits)
	g.op("BNE unit")
}

// neonPeakChains is the number of independent sums in the peak loop: enough for four units of a latency of four.
const neonPeakChains = 24

// neonPeak writes a loop of nothing but fused multiply-adds on registers: 2·lanes·neonPeakChains operations a turn.
func neonPeak(g *neon) {
	g.begin("peak", "", "peakArgs")
	g.arg("peakArgs", "turns", 1)
	for i := range neonPeakChains + 2 {
		g.zero(i)
	}
	g.label("turn")
	for i := range neonPeakChains {
		g.v3("fmla", i, neonPeakChains, neonPeakChains+1)
	}
	g.op("SUBS $1, R1, R1")
	g.op("BNE turn")
	g.end()
}
