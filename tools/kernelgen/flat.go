package main

// flatKernels writes the sums and maps over plain slices, in whole units of 16 elements; the caller does what is left.
// Sums are taken in float64, element j in sum j%16; the 16 sums go back to the caller.
func flatKernels(g *gen) {
	g.flatSum("sum", 0, func(j int) {
		g.wide("AX", j, 4+j)
		g.op("VADDPD %s, %s, %s", g.v(4+j), g.v(j), g.v(j))
	})
	// Σ (a − mean)²
	g.flatSum("sumSquares", 0, func(j int) {
		g.wide("AX", j, 4+j)
		g.op("VSUBPD %s, %s, %s", g.v(14), g.v(4+j), g.v(4+j))
		g.op("VFMADD231PD %s, %s, %s", g.v(4+j), g.v(4+j), g.v(j))
	})
	// Σ (a − b)²
	g.flatSum("squaredDistance", 1, func(j int) {
		g.wide("AX", j, 4+j)
		g.wide("BX", j, 8+j)
		g.op("VSUBPD %s, %s, %s", g.v(8+j), g.v(4+j), g.v(4+j))
		g.op("VFMADD231PD %s, %s, %s", g.v(4+j), g.v(4+j), g.v(j))
	})
	// dst = scale·(a − shift), rounded to the element type at the end
	g.flatMap("affine", g.elem.size, g.elem.size, func(j int) {
		g.wide("AX", j, 4+j)
		g.op("VSUBPD %s, %s, %s", g.v(14), g.v(4+j), g.v(4+j))
		g.op("VMULPD %s, %s, %s", g.v(15), g.v(4+j), g.v(4+j))
		g.narrow("DI", j, 4+j, 4+j)
	})
	// dst = scale·a, a of float64, rounded to the element type at the end
	g.flatMap("scaleTo", 8, g.elem.size, func(j int) {
		g.op("VMULPD %d(AX), %s, %s", j*g.width, g.v(15), g.v(4+j))
		g.narrow("DI", j, 4+j, 4+j)
	})
	// dst += a, dst of float64
	g.flatMap("addTo", g.elem.size, 8, func(j int) {
		g.wide("AX", j, 4+j)
		g.op("VADDPD %d(DI), %s, %s", j*g.width, g.v(4+j), g.v(4+j))
		g.op("VMOVUPD %s, %d(DI)", g.v(4+j), j*g.width)
	})
}

// flatArgs loads the arguments that the flat kernels share; registers 14 and 15 hold shift (or mean) and scale.
func (g *gen) flatArgs() {
	g.args("flatArgs", "SI", "a AX", "b BX", "dst DI", "units R9")
	g.op("VBROADCASTSD flatArgs_shift(SI), %s", g.v(14))
	g.op("VBROADCASTSD flatArgs_scale(SI), %s", g.v(15))
}

func (g *gen) flatSum(family string, second int, body func(j int)) {
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	for j := range g.sums() {
		g.op("VXORPD X%d, X%d, X%d", j, j, j)
	}
	g.label("unit")
	for j := range g.sums() {
		body(j)
	}
	g.op("ADDQ $%d, AX", unit*g.elem.size)
	if second > 0 {
		g.op("ADDQ $%d, BX", unit*g.elem.size)
	}
	g.op("DECQ R9")
	g.op("JNZ unit")
	for j := range g.sums() {
		g.op("VMOVUPD %s, flatArgs_sums+%d(SI)", g.v(j), j*g.width)
	}
	g.end()
}

// flatMap writes a map between elements of the given sizes.
func (g *gen) flatMap(family string, from, to int, body func(j int)) {
	g.begin(family, "", "flatArgs")
	g.flatArgs()
	g.label("unit")
	for j := range g.sums() {
		body(j)
	}
	g.op("ADDQ $%d, AX", unit*from)
	g.op("ADDQ $%d, DI", unit*to)
	g.op("DECQ R9")
	g.op("JNZ unit")
	g.end()
}
