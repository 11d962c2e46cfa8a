package main

import (
	"bytes"
	"fmt"
)

const constraintARM64 = "//go:build arm64 && !noasm\n\n"

// The vector registers of NEON: 32 of 16 bytes.
const (
	neonWidth = 16
	neonRegs  = 32
)

// neon writes one file of arm64 assembly. Its elem is the type of the kernel being written. General registers: R0 holds
// the address of the arguments; R18 and R26 to R30 belong to the system, the assembler and the Go runtime.
type neon struct {
	elem   elem
	decls  *declarations
	text   bytes.Buffer
	data   bytes.Buffer // read-only tables, written once for each file
	have   map[string]bool
	labels int
}

// neonSubjects are the files of NEON kernels.
var neonSubjects = []struct {
	name string
	emit func(*neon)
}{
	{"mul", neonMul},
	{"dot", neonDot},
	{"tmul", neonTMul},
	{"gram", neonGram},
	{"rows", neonRows},
	{"threshold", neonThresholds},
	{"flat", neonFlat},
	{"shrink", neonShrink},
	{"peak", neonPeak},
	{"sparse", func(g *neon) { neonSparse(g); neonSparseTMul(g) }},
}

func newNEON(d *declarations) *neon { return &neon{decls: d, have: map[string]bool{}} }

func (g *neon) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(header + constraintARM64 + "#include \"go_asm.h\"\n#include \"textflag.h\"\n")
	b.Write(g.data.Bytes())
	b.Write(g.text.Bytes())
	return b.Bytes()
}

// lanes is the number of elements in a vector.
func (g *neon) lanes() int { return neonWidth / g.elem.size }

// begin opens the kernel called family + type + NEON + suffix and loads the address of its arguments.
func (g *neon) begin(family, suffix, args string) {
	name := family + g.elem.name + "NEON" + suffix
	g.decls.add(family, args, g.elem, "NEON", name)
	fmt.Fprintf(&g.text, "\n// func %s(a *%s)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, args, name)
	g.op("MOVD a+0(FP), R0")
}

func (g *neon) end() { g.op("RET") }

// op writes an instruction in the syntax of Go.
func (g *neon) op(format string, args ...any) { fmt.Fprintf(&g.text, "\t"+format+"\n", args...) }

// label writes a label.
func (g *neon) label(format string, args ...any) { fmt.Fprintf(&g.text, format+":\n", args...) }

// fresh returns a label that no other has in this file.
func (g *neon) fresh(name string) string {
	g.labels++
	return fmt.Sprintf("%s%d", name, g.labels)
}

// table adds a read-only table of 64-bit words to the file, once.
func (g *neon) table(name string, words []uint64) {
	if g.have[name] {
		return
	}
	g.have[name] = true
	g.data.WriteString("\n")
	for i, w := range words {
		fmt.Fprintf(&g.data, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, 8*i, w)
	}
	fmt.Fprintf(&g.data, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 8*len(words))
}

// arg loads a field of the arguments.
func (g *neon) arg(args, field string, reg int) { g.op("MOVD %s_%s(R0), R%d", args, field, reg) }

// scalarMove is the instruction that loads or stores one element.
func (g *neon) scalarMove() string {
	if g.elem == float32s {
		return "FMOVS"
	}
	return "FMOVD"
}

// load loads n whole vectors from the memory at general register base on into the vector registers regs names, two at a
// time where it can.
func (g *neon) load(base, off, n int, reg func(j int) int) {
	for j := 0; j < n; {
		at := off + j*neonWidth
		if j+1 < n {
			g.op("FLDPQ %d(R%d), (F%d, F%d)", at, base, reg(j), reg(j+1))
			j += 2
			continue
		}
		g.op("FMOVQ %d(R%d), F%d", at, base, reg(j))
		j++
	}
}

// loadNext is load that moves base behind what was loaded.
func (g *neon) loadNext(base, n int, reg func(j int) int) {
	for j := 0; j < n; {
		if j+1 < n {
			g.op("FLDPQ.P %d(R%d), (F%d, F%d)", 2*neonWidth, base, reg(j), reg(j+1))
			j += 2
			continue
		}
		g.op("FMOVQ.P %d(R%d), F%d", neonWidth, base, reg(j))
		j++
	}
}

// store stores n whole vectors.
func (g *neon) store(base, off, n int, reg func(j int) int) {
	for j := 0; j < n; {
		at := off + j*neonWidth
		if j+1 < n {
			g.op("FSTPQ (F%d, F%d), %d(R%d)", reg(j), reg(j+1), at, base)
			j += 2
			continue
		}
		g.op("FMOVQ F%d, %d(R%d)", reg(j), at, base)
		j++
	}
}

// counting numbers registers from first on.
func counting(first int) func(int) int { return func(j int) int { return first + j } }

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
	shift := 2
	if g.elem == float64s {
		shift = 3
	}
	g.op("MOVD $firstLanes<>+16(SB), R25")
	g.op("SUB R%d<<%d, R25, R25", count, shift)
	g.op("FMOVQ (R25), F%d", reg)
}

// prefetch asks for the line at base + offset, two general registers.
func (g *neon) prefetch(level string, base, offset int) {
	g.word(fmt.Sprintf("prfm pldl%skeep, [x%d, x%d]", level, base, offset),
		0xF8A06800|uint32(offset)<<16|uint32(base)<<5|map[string]uint32{"1": 0, "2": 2}[level])
}

// storeNext is store that moves base behind what was stored.
func (g *neon) storeNext(base, n int, reg func(j int) int) {
	for j := 0; j < n; {
		if j+1 < n {
			g.op("FSTPQ.P (F%d, F%d), %d(R%d)", reg(j), reg(j+1), 2*neonWidth, base)
			j += 2
			continue
		}
		g.op("FMOVQ.P F%d, %d(R%d)", reg(j), neonWidth, base)
		j++
	}
}
