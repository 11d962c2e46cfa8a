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

// access is a way to load or to store.
type access struct {
	one, two, more string // the instructions for one vector, two, and up to mostListed
	stores         bool
}

var (
	loads  = access{one: "FMOVQ", two: "FLDPQ", more: "VLD1"}
	stores = access{one: "FMOVQ", two: "FSTPQ", more: "VST1", stores: true}
)

// access loads n vector registers from first on from an address, or stores them; suffix marks the instructions that change
// the address.
func (g *neon) access(a access, suffix, address string, n, first int) {
	op, registers := a.more, list(first, n, "B16")
	switch n {
	case 1:
		op, registers = a.one, fmt.Sprintf("F%d", first)
	case 2:
		op, registers = a.two, fmt.Sprintf("(F%d, F%d)", first, first+1)
	}
	if a.stores {
		g.op("%s%s %s, %s", op, suffix, registers, address)
	} else {
		g.op("%s%s %s, %s", op, suffix, address, registers)
	}
}

// accessAt accesses vectors at an offset from general register base. Instructions for more than two vectors have no offset.
func (g *neon) accessAt(a access, base, off, n, first int) {
	for n > 0 {
		c := min(n, 2)
		address := fmt.Sprintf("%d(R%d)", off, base)
		if off == 0 && n > 2 {
			c = min(n, mostListed)
			address = fmt.Sprintf("(R%d)", base)
		}
		g.access(a, "", address, c, first)
		off, n, first = off+c*neonWidth, n-c, first+c
	}
}

// accessNext accesses vectors from general register base on, which it moves behind them.
func (g *neon) accessNext(a access, base, n, first int) {
	for n > 0 {
		c := min(n, mostListed)
		g.access(a, ".P", fmt.Sprintf("%d(R%d)", c*neonWidth, base), c, first)
		n, first = n-c, first+c
	}
}

// load loads n whole vectors from the memory at general register base on into the vector registers from first on, and store
// stores them.
func (g *neon) load(base, off, n, first int)  { g.accessAt(loads, base, off, n, first) }
func (g *neon) store(base, off, n, first int) { g.accessAt(stores, base, off, n, first) }

// loadNext and storeNext move base behind what was loaded or stored.
func (g *neon) loadNext(base, n, first int)  { g.accessNext(loads, base, n, first) }
func (g *neon) storeNext(base, n, first int) { g.accessNext(stores, base, n, first) }

// loadRow and storeRow, of mostListed vectors at most, move base on by a general register.
func (g *neon) loadRow(base, stride, n, first int) {
	g.op("VLD1.P (R%d)(R%d), %s", base, stride, list(first, n, "B16"))
}

func (g *neon) storeRow(base, stride, n, first int) {
	g.op("VST1.P %s, (R%d)(R%d)", list(first, n, "B16"), base, stride)
}

// repeat writes a loop that goes through body, without labels, as often as general register count says, which is once at
// least: many times a turn, then one by one.
func (g *neon) repeat(count, many int, body func()) {
	g.op("SUBS $%d, R%d, R%d", many, count, count)
	g.op("BLT few")
	g.label("many")
	for range many {
		body()
	}
	g.op("SUBS $%d, R%d, R%d", many, count, count)
	g.op("BGE many")
	g.label("few")
	g.op("ADDS $%d, R%d, R%d", many, count, count)
	g.op("BEQ done")
	g.label("one")
	body()
	g.op("SUBS $1, R%d, R%d", count, count)
	g.op("BNE one")
	g.label("done")
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
