package main

import "fmt"

// Go's assembler knows few of NEON's floating-point instructions. The others are written as words, each with the
// instruction in a comment in the syntax of the GNU disassembler, against which TestWords holds it.

// word writes an instruction as its code.
func (g *neon) word(text string, code uint32) { g.op("WORD $0x%08x // %s", code, text) }

// arrangement is how a vector is cut into lanes, for elements of the type in use: 4 of 4 bytes or 2 of 8.
func (g *neon) arrangement() (text string, bits uint32) { return arrangementOf(g.elem) }

func arrangementOf(e elem) (text string, bits uint32) {
	if e == float32s {
		return "4s", 0
	}
	return "2d", 1 << 22
}

// threeOperand are instructions on three vectors of floating-point or integer lanes, in their code for 4 lanes; for the
// integer ones (marked) the bit of the size is another.
var threeOperand = map[string]uint32{
	"fadd": 0x4E20D400, "fsub": 0x4EA0D400, "fmul": 0x6E20DC00, "fdiv": 0x6E20FC00, "fmla": 0x4E20CC00, "fmls": 0x4EA0CC00,
	"fmax": 0x4E20F400, "fminnm": 0x4EA0C400,
	"faddp": 0x6E20D400, "fcmgt": 0x6EA0E400, "fcmge": 0x6E20E400, "cmtst": 0x4EA08C00,
}

// bitwise are instructions on all bits of three vectors.
var bitwise = map[string]uint32{
	"and": 0x4E201C00, "bic": 0x4E601C00, "orr": 0x4EA01C00, "eor": 0x6E201C00, "orn": 0x4EE01C00,
	"bif": 0x6EE01C00,
}

// twoOperand are instructions on two vectors.
var twoOperand = map[string]uint32{"fneg": 0x6EA0F800, "fsqrt": 0x6EA1F800}

// v3 writes d = n op m lane by lane; fmla adds the product to d.
func (g *neon) v3(op string, d, n, m int) { g.v3of(g.elem, op, d, n, m) }

// d3 is v3 on float64 lanes, whatever the element type.
func (g *neon) d3(op string, d, n, m int) { g.v3of(float64s, op, d, n, m) }

func (g *neon) v3of(e elem, op string, d, n, m int) {
	t, bits := arrangementOf(e)
	g.word(fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s", op, d, t, n, t, m, t), threeOperand[op]|bits|rdnm(d, n, m))
}

// lane writes d = n op (lane of m); fmla adds the product to d.
func (g *neon) lane(op string, d, n, m, index int) {
	t, bits := g.arrangement()
	code := map[string]uint32{"fmla": 0x4F801000, "fmul": 0x4F809000}[op] | bits | rdnm(d, n, m)
	if g.elem == float32s {
		code |= uint32(index&1)<<21 | uint32(index>>1)<<11
	} else {
		code |= uint32(index) << 11
	}
	g.word(fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s[%d]", op, d, t, n, t, m, t[1:], index), code)
}

// logic writes d = n op m on all bits.
func (g *neon) logic(op string, d, n, m int) {
	g.word(fmt.Sprintf("%s v%d.16b, v%d.16b, v%d.16b", op, d, n, m), bitwise[op]|rdnm(d, n, m))
}

// v2 writes d = op n lane by lane, d2 on float64 lanes.
func (g *neon) v2(op string, d, n int) { g.v2of(g.elem, op, d, n) }
func (g *neon) d2(op string, d, n int) { g.v2of(float64s, op, d, n) }

func (g *neon) v2of(e elem, op string, d, n int) {
	t, bits := arrangementOf(e)
	g.word(fmt.Sprintf("%s v%d.%s, v%d.%s", op, d, t, n, t), twoOperand[op]|bits|rdnm(d, n, 0))
}

// widen turns the lower or upper two float32 lanes of n into float64.
func (g *neon) widen(d, n int, upper bool) {
	if upper {
		g.word(fmt.Sprintf("fcvtl2 v%d.2d, v%d.4s", d, n), 0x4E617800|rdnm(d, n, 0))
	} else {
		g.word(fmt.Sprintf("fcvtl v%d.2d, v%d.2s", d, n), 0x0E617800|rdnm(d, n, 0))
	}
}

// narrow rounds two float64 lanes of n to the lower or upper two float32 lanes of d; the lower ones clear the upper.
func (g *neon) narrow(d, n int, upper bool) {
	if upper {
		g.word(fmt.Sprintf("fcvtn2 v%d.4s, v%d.2d", d, n), 0x4E616800|rdnm(d, n, 0))
	} else {
		g.word(fmt.Sprintf("fcvtn v%d.2s, v%d.2d", d, n), 0x0E616800|rdnm(d, n, 0))
	}
}

// zero clears vector register d.
func (g *neon) zero(d int) { g.word(fmt.Sprintf("movi v%d.2d, #0x0", d), 0x6F00E400|uint32(d)) }

// constant sets the lanes of vector register d to 1 or 2.
func (g *neon) constant(e elem, d, value int) {
	t, _ := arrangementOf(e)
	code := map[elem]uint32{float32s: 0x4F00F400, float64s: 0x6F00F400}[e] // the code of 2
	if value == 1 {
		code |= 0x70>>5<<16 | 0x70&31<<5
	}
	g.word(fmt.Sprintf("fmov v%d.%s, #%.18e", d, t, float64(value)), code|uint32(d))
}

// spread sets the lanes of d to lane 0 of n.
func (g *neon) spread(d, n int) {
	t, _ := g.arrangement()
	imm := map[elem]uint32{float32s: 4, float64s: 8}[g.elem]
	g.word(fmt.Sprintf("dup v%d.%s, v%d.%s[0]", d, t, n, t[1:]), 0x4E000400|imm<<16|rdnm(d, n, 0))
}

// spreadGeneral sets the lanes of d to general register n: 2 of 64 bits, or 4 of 32.
func (g *neon) spreadGeneral(d, n int, wide bool) {
	if wide {
		g.word(fmt.Sprintf("dup v%d.2d, x%d", d, n), 0x4E080C00|rdnm(d, n, 0))
	} else {
		g.word(fmt.Sprintf("dup v%d.4s, w%d", d, n), 0x4E040C00|rdnm(d, n, 0))
	}
}

// sumPair sets the low float64 of d to the sum of the two of n.
func (g *neon) sumPair(d, n int) {
	g.word(fmt.Sprintf("faddp d%d, v%d.2d", d, n), 0x7E70D800|rdnm(d, n, 0))
}

// everyOther sets d to every other element of n and then of m, beginning with the first; an element has the given bytes.
func (g *neon) everyOther(d, n, m, bytes int) {
	t := map[int]string{1: "16b", 2: "8h", 4: "4s"}[bytes]
	g.word(fmt.Sprintf("uzp1 v%d.%s, v%d.%s, v%d.%s", d, t, n, t, m, t), 0x4E001800|uint32(bytes/2)<<22|rdnm(d, n, m))
}

// addPairs sets the bytes of d to the sums of two neighbouring bytes of n and then of m.
func (g *neon) addPairs(d, n, m int) {
	g.word(fmt.Sprintf("addp v%d.16b, v%d.16b, v%d.16b", d, n, m), 0x4E20BC00|rdnm(d, n, m))
}

// rdnm places three registers.
func rdnm(d, n, m int) uint32 { return uint32(m)<<16 | uint32(n)<<5 | uint32(d) }
