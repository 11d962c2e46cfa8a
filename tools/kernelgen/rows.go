package main

// Row kernels work in units of 16 elements. A row of row state has a whole number of units.
const unit = 16

// vectors is the number of vectors in a unit.
func (g *gen) vectors() int { return unit / g.lanes() }

// rowKernels writes the elementwise work on row state: a loop over rows, inside it a loop over units.
func rowKernels(g *gen) {
	// s in register 0, and 1−s in register 1
	scalar := func() { g.broadcastArg("(R8)", 0) }
	scalars := func() {
		scalar()
		g.op("%s %s, %s, %s", g.sub(), g.v(0), g.v(15), g.v(1))
	}
	// dst = s·a
	g.rowLoop("rowScale", scalar, func(j int) {
		g.op("%s %d(AX), %s, %s", g.mul(), j*g.width, g.v(0), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(4), j*g.width)
	})
	// dst += s·a
	g.rowLoop("rowAxpy", scalar, func(j int) {
		g.op("%s %d(DI), %s", g.mov(), j*g.width, g.v(4))
		g.op("%s %d(AX), %s, %s", g.fma(), j*g.width, g.v(0), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(4), j*g.width)
	})
	// dst += s·(a − b)
	g.rowLoop("rowDiffAxpy", scalar, func(j int) {
		g.op("%s %d(AX), %s", g.mov(), j*g.width, g.v(5))
		g.op("%s %d(BX), %s, %s", g.sub(), j*g.width, g.v(5), g.v(5))
		g.op("%s %d(DI), %s", g.mov(), j*g.width, g.v(4))
		g.op("%s %s, %s, %s", g.fma(), g.v(5), g.v(0), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(4), j*g.width)
	})
	// dst = s·a + (1−s)·b
	g.rowLoop("rowLerp", scalars, func(j int) {
		g.op("%s %d(BX), %s, %s", g.mul(), j*g.width, g.v(1), g.v(4))
		g.op("%s %d(AX), %s, %s", g.fma(), j*g.width, g.v(0), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(4), j*g.width)
	})
	// dst += s·a + (1−s)·b
	g.rowLoop("rowLerpAxpy", scalars, func(j int) {
		g.op("%s %d(DI), %s", g.mov(), j*g.width, g.v(4))
		g.op("%s %d(AX), %s, %s", g.fma(), j*g.width, g.v(0), g.v(4))
		g.op("%s %d(BX), %s, %s", g.fma(), j*g.width, g.v(1), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(4), j*g.width)
	})
	// dst = s·a, b = (1−s)·a
	g.rowLoop("rowSplit", scalars, func(j int) {
		g.op("%s %d(AX), %s", g.mov(), j*g.width, g.v(4))
		g.op("%s %s, %s, %s", g.mul(), g.v(4), g.v(0), g.v(5))
		g.op("%s %s, %s, %s", g.mul(), g.v(4), g.v(1), g.v(4))
		g.op("%s %s, %d(DI)", g.mov(), g.v(5), j*g.width)
		g.op("%s %s, %d(BX)", g.mov(), g.v(4), j*g.width)
	})
	g.rowDot()
	g.rowResidual()
}

func (g *gen) broadcastArg(addr string, reg int) {
	g.op("%s %s, %s", g.broadcast(), addr, g.v(reg))
}

// rowArgs loads the arguments that the row kernels share.
func (g *gen) rowArgs() {
	g.args("rowArgs", "SI", "dst DI", "a AX", "b BX", "s R8", "rows R9", "units R10")
}

// ones sets register reg to ones.
func (g *gen) ones(reg int) {
	one := uint64(0x3ff0000000000000)
	if g.elem == float32s {
		one = 0x3f800000_3f800000
	}
	g.table("one"+g.elem.name, []uint64{one})
	g.op("%s one%s<>(SB), %s", g.broadcast(), g.elem.name, g.v(reg))
}

// rowLoop writes a kernel that treats each row with a scalar of its own: head once a row, body once a vector of a unit.
// Register 15 holds ones.
func (g *gen) rowLoop(family string, head func(), body func(j int)) {
	g.begin(family, "", "rowArgs")
	g.rowArgs()
	g.ones(15)
	g.label("row")
	head()
	g.op("MOVQ R10, R11")
	g.label("unit")
	for j := range g.vectors() {
		body(j)
	}
	g.nextUnit("unit", "AX", "BX", "DI")
	g.op("ADDQ $%d, R8", g.elem.size)
	g.nextRow("row")
	g.end()
}

// nextUnit moves the addresses of a row's elements on by a unit, and closes the loop over units that has the label.
func (g *gen) nextUnit(label string, addresses ...string) {
	for _, reg := range addresses {
		g.op("ADDQ $%d, %s", unit*g.elem.size, reg)
	}
	g.op("DECQ R11")
	g.op("JNZ %s", label)
}

// nextRow closes the loop over rows that has the label.
func (g *gen) nextRow(label string) {
	g.op("DECQ R9")
	g.op("JNZ %s", label)
}

// sums is the number of float64 vectors that hold the 16 sums of a unit: the first ones of the register file.
func (g *gen) sums() int { return unit / (g.width / 8) }

// wide loads float64 vector j of a unit at base.
func (g *gen) wide(base string, j, reg int) {
	if g.elem == float64s {
		g.op("VMOVUPD %d(%s), %s", j*g.width, base, g.v(reg))
		return
	}
	g.op("VCVTPS2PD %d(%s), %s", j*g.width/2, base, g.v(reg))
}

// fold adds the 16 sums up, element l with l+8, then with l+4, l+2 and l+1, into register X0.
func (g *gen) fold() {
	if g.isa == avx512 {
		g.op("VADDPD Z1, Z0, Z0")
		g.op("VEXTRACTF64X4 $1, Z0, Y1")
	} else {
		g.op("VADDPD Y2, Y0, Y0")
		g.op("VADDPD Y3, Y1, Y1")
	}
	g.op("VADDPD Y1, Y0, Y0")
	g.op("VEXTRACTF128 $1, Y0, X1")
	g.op("VADDPD X1, X0, X0")
	g.op("VPERMILPD $1, X0, X1")
	g.op("VADDSD X1, X0, X0")
}

// rowDot writes dst_i = Σ a_ij·b_ij.
func (g *gen) rowDot() {
	g.begin("rowDot", "", "rowArgs")
	g.rowArgs()
	g.rowSums("row", func(j int) {
		g.wide("AX", j, 4+j)
		g.wide("BX", j, 8+j)
		g.op("VFMADD231PD %s, %s, %s", g.v(8+j), g.v(4+j), g.v(j))
	})
	g.end()
}

// rowResidual writes dst_i = Σ a_ij·(b_ij − 2·s_ij). 2·s_ij is exact. Turning values into float64 takes most of the time, so that
// those of a row that is both a and b are turned once.
func (g *gen) rowResidual() {
	g.begin("rowResidual", "", "rowArgs")
	g.rowArgs()
	g.table("twoF64", []uint64{0x4000000000000000})
	g.op("VBROADCASTSD twoF64<>(SB), %s", g.v(15))
	g.op("CMPQ AX, BX")
	g.op("JEQ own")
	g.rowSums("row", func(j int) {
		g.residual("BX", j)
		g.wide("AX", j, 8+j)
		g.op("VFMADD231PD %s, %s, %s", g.v(8+j), g.v(4+j), g.v(j))
	})
	g.end()
	g.rowSums("own", func(j int) {
		g.residual("AX", j)
		g.op("VFMADD231PD %s, %s, %s", g.v(8+j), g.v(4+j), g.v(j))
	})
	g.end()
}

// residual sets register 4+j to b − 2·s of float64 vector j of a unit, and 8+j to b, whose address is in reg base.
func (g *gen) residual(base string, j int) {
	g.wide("R8", j, 4+j)
	g.wide(base, j, 8+j)
	g.op("VFNMADD132PD %s, %s, %s", g.v(15), g.v(8+j), g.v(4+j))
}

// rowSums writes a loop over rows, with the label `row`, for a float64 sum of each: body once a vector of a unit.
func (g *gen) rowSums(row string, body func(j int)) {
	unit := row + "Unit"
	g.label("%s", row)
	for j := range g.sums() {
		g.op("VXORPD X%d, X%d, X%d", j, j, j)
	}
	g.op("MOVQ R10, R11")
	g.label("%s", unit)
	for j := range g.sums() {
		body(j)
	}
	g.nextUnit(unit, "AX", "BX", "R8")
	g.fold()
	g.op("VMOVSD X0, (DI)")
	g.op("ADDQ $8, DI")
	g.nextRow(row)
}
