package main

import (
	"fmt"
	"strings"
)

const constraintARM64 = "//go:build arm64 && !noasm\n\n"

// The vector registers of NEON: 32 of 16 bytes.
const (
	neonWidth = 16
	neonRegs  = 32
)

// neon writes one file of arm64 assembly. General registers: R0 holds the address of the arguments; R18 and R26 to R30
// belong to the system, the assembler and the Go runtime.
type neon struct {
	emitter
	labels int
}

func newNEON(d *declarations) *neon { return &neon{emitter: newEmitter("NEON", constraintARM64, d)} }

// lanes is the number of elements in a vector.
func (g *neon) lanes() int { return neonWidth / g.elem.size }

// field is a field of the arguments and the general register that it is loaded into.
type field struct {
	name string
	reg  int
}

// begin opens a kernel and loads the address of its arguments, and fields of them.
func (g *neon) begin(family, suffix, args string, fields ...field) {
	g.emitter.begin(family, suffix, args)
	g.op("MOVD a+0(FP), R0")
	g.args(args, fields...)
}

func (g *neon) end() { g.op("RET") }

// fresh returns a label that no other has in this file.
func (g *neon) fresh(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// arg loads a field of the arguments.
func (g *neon) arg(args, field string, reg int) { g.op("MOVD %s_%s(R0), R%d", args, field, reg) }

// args loads fields of the arguments.
func (g *neon) args(args string, fields ...field) {
	for _, f := range fields {
		g.arg(args, f.name, f.reg)
	}
}

// scalarMove is the instruction that loads or stores one element.
func (g *neon) scalarMove() string {
	if g.elem == float32s {
		return "FMOVS"
	}
	return "FMOVD"
}

// mostListed is the number of vector registers that one instruction can load or store, without an offset.
const mostListed = 4

// list names n vector registers from first on.
func list(first, n int, arrangement string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("V%d.%s", first+i, arrangement)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// load loads n whole vectors from the memory at general register base on into the vector registers from first on, in as
// few instructions as there are.
func (g *neon) load(base, off, n, first int) {
	for n > 0 {
		c := min(n, 2)
		switch {
		case off == 0 && n > 2:
			c = min(n, mostListed)
			g.op("VLD1 (R%d), %s", base, list(first, c, "B16"))
		case n > 1:
			g.op("FLDPQ %d(R%d), (F%d, F%d)", off, base, first, first+1)
		default:
			g.op("FMOVQ %d(R%d), F%d", off, base, first)
		}
		off, n, first = off+c*neonWidth, n-c, first+c
	}
}

// loadNext is load that moves base behind what was loaded.
func (g *neon) loadNext(base, n, first int) {
	for n > 0 {
		c := min(n, mostListed)
		switch c {
		case 1:
			g.op("FMOVQ.P %d(R%d), F%d", neonWidth, base, first)
		case 2:
			g.op("FLDPQ.P %d(R%d), (F%d, F%d)", 2*neonWidth, base, first, first+1)
		default:
			g.op("VLD1.P %d(R%d), %s", c*neonWidth, base, list(first, c, "B16"))
		}
		n, first = n-c, first+c
	}
}

// loadRow loads n vectors, at most mostListed, and moves base on by a general register.
func (g *neon) loadRow(base, stride, n, first int) {
	g.op("VLD1.P (R%d)(R%d), %s", base, stride, list(first, n, "B16"))
}

// store stores n whole vectors.
func (g *neon) store(base, off, n, first int) {
	for n > 0 {
		c := min(n, 2)
		switch {
		case off == 0 && n > 2:
			c = min(n, mostListed)
			g.op("VST1 %s, (R%d)", list(first, c, "B16"), base)
		case n > 1:
			g.op("FSTPQ (F%d, F%d), %d(R%d)", first, first+1, off, base)
		default:
			g.op("FMOVQ F%d, %d(R%d)", first, off, base)
		}
		off, n, first = off+c*neonWidth, n-c, first+c
	}
}

// storeNext is store that moves base behind what was stored.
func (g *neon) storeNext(base, n, first int) {
	for n > 0 {
		c := min(n, mostListed)
		switch c {
		case 1:
			g.op("FMOVQ.P F%d, %d(R%d)", first, neonWidth, base)
		case 2:
			g.op("FSTPQ.P (F%d, F%d), %d(R%d)", first, first+1, 2*neonWidth, base)
		default:
			g.op("VST1.P %s, %d(R%d)", list(first, c, "B16"), c*neonWidth, base)
		}
		n, first = n-c, first+c
	}
}

// storeRow stores n vectors, at most mostListed, and moves base on by a general register.
func (g *neon) storeRow(base, stride, n, first int) {
	g.op("VST1.P %s, (R%d)(R%d)", list(first, n, "B16"), base, stride)
}

// loadSome loads the first n lanes of a vector, 0 < n < lanes, and clears the others. R25 is overwritten.
func (g *neon) loadSome(base, off, n, reg int) {
	switch {
	case n == 1:
		g.op("%s %d(R%d), F%d", g.scalarMove(), off, base, reg)
	case n == 2:
		g.op("FMOVD %d(R%d), F%d", off, base, reg)
	default:
		g.op("FMOVD %d(R%d), F%d", off, base, reg)
		g.op("ADD $%d, R%d, R25", off+8, base)
		g.op("VLD1 (R25), V%d.S[2]", reg)
	}
}

// someLanes writes body for every number of lanes of a part of a vector and jumps into the one that general register
// count names.
func (g *neon) someLanes(count int, body func(n int)) {
	done := g.fresh("part")
	for n := 1; n < g.lanes(); n++ {
		next := g.fresh("lanes")
		if n < g.lanes()-1 {
			g.op("CMP $%d, R%d", n, count)
			g.op("BNE %s", next)
		}
		body(n)
		if n < g.lanes()-1 {
			g.op("B %s", done)
			g.label("%s", next)
		}
	}
	g.label("%s", done)
}

// firstLanes sets vector register reg to ones in the first lanes, as many as general register count says (1 to all), and
// to zeros elsewhere. R25 is overwritten.
func (g *neon) firstLanes(count, reg int) {
	ones := ^uint64(0)
	g.table("firstLanes", []uint64{ones, ones, 0, 0})
	g.op("MOVD $firstLanes<>+16(SB), R25")
	g.op("SUB R%d<<%d, R25, R25", count, g.elem.shift())
	g.op("FMOVQ (R25), F%d", reg)
}

// prefetch asks for the line at base + offset, two general registers.
func (g *neon) prefetch(level string, base, offset int) {
	g.word(fmt.Sprintf("prfm pldl%skeep, [x%d, x%d]", level, base, offset),
		0xF8A06800|uint32(offset)<<16|uint32(base)<<5|map[string]uint32{"1": 0, "2": 2}[level])
}
