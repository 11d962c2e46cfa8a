package main

import (
	"fmt"
	"strings"
)

const constraintAMD64 = "//go:build amd64 && !noasm\n\n"

// isa is an instruction set: the letter, width and number of its vector registers.
type isa struct {
	name, file string
	reg        string
	width      int // bytes of a vector
	regs       int
}

var (
	avx512 = isa{name: "AVX512", file: "avx512", reg: "Z", width: 64, regs: 32}
	avx2   = isa{name: "AVX2", file: "avx2", reg: "Y", width: 32, regs: 16}
	sets   = []isa{avx512, avx2}
)

// gen writes one file of amd64 assembly.
type gen struct {
	emitter
	isa
}

func newGen(set isa, d *declarations) *gen {
	return &gen{emitter: newEmitter(set.name, constraintAMD64, d), isa: set}
}

// lanes is the number of elements in a vector.
func (g *gen) lanes() int { return g.width / g.elem.size }

// end closes a kernel.
func (g *gen) end() {
	g.op("VZEROUPPER")
	g.op("RET")
}

// v names vector register i.
func (g *gen) v(i int) string { return fmt.Sprintf("%s%d", g.reg, i) }

// mov and the others name the packed instruction of the element type.
func (g *gen) mov() string       { return "VMOVU" + g.elem.packed }
func (g *gen) fma() string       { return "VFMADD231" + g.elem.packed }
func (g *gen) add() string       { return "VADD" + g.elem.packed }
func (g *gen) sub() string       { return "VSUB" + g.elem.packed }
func (g *gen) mul() string       { return "VMUL" + g.elem.packed }
func (g *gen) maskmov() string   { return "VMASKMOV" + g.elem.packed }
func (g *gen) broadcast() string { return "VBROADCAST" + g.elem.scalar }

// zero clears vector register i.
func (g *gen) zero(i int) {
	if g.isa == avx512 {
		g.op("VPXORQ Z%d, Z%d, Z%d", i, i, i)
	} else {
		g.op("VXORPS Y%d, Y%d, Y%d", i, i, i)
	}
}

// arg loads field f of the arguments, whose address is in reg base.
func (g *gen) arg(args, f, base, reg string) { g.op("MOVQ %s_%s(%s), %s", args, f, base, reg) }

// args loads the address of the arguments into reg base, and fields of them into registers, as in "x AX".
func (g *gen) args(args, base string, fields ...string) {
	g.op("MOVQ a+0(FP), %s", base)
	g.fields(args, base, fields...)
}

// fields is args where reg base holds the address already.
func (g *gen) fields(args, base string, fields ...string) {
	for _, f := range fields {
		name, reg, _ := strings.Cut(f, " ")
		g.arg(args, name, base, reg)
	}
}

// addRows adds rows·stride to reg, where stride is a register that holds the bytes of a row.
func (g *gen) addRows(reg string, rows int, stride string) {
	for _, s := range []int{8, 4, 2, 1} {
		for ; rows >= s; rows -= s {
			g.op("LEAQ (%s)(%s*%d), %s", reg, stride, s, reg)
		}
	}
}

// row is the address of row i of a tile: bases holds the addresses of rows 0, 4, 8, stride the bytes of a row and
// stride3 three times as many.
func row(i int, bases []string, stride, stride3 string) string {
	index := []string{"", "(" + stride + "*1)", "(" + stride + "*2)", "(" + stride3 + "*1)"}
	return "(" + bases[i/4] + ")" + index[i%4]
}

// loadMask sets the mask for the first count lanes, 0 ≤ count ≤ lanes, where count is a register that is overwritten:
// mask register K of AVX-512, vector register of AVX2. CX and tmp are overwritten.
func (g *gen) loadMask(count, tmp string, mask int) {
	if g.isa == avx512 {
		g.op("MOVQ %s, CX", count)
		g.op("MOVQ $1, %s", tmp)
		g.op("SHLQ CX, %s", tmp)
		g.op("DECQ %s", tmp)
		g.op("KMOVW %s, K%d", tmp, mask)
		return
	}
	ones := ^uint64(0)
	g.table("firstLanes", []uint64{ones, ones, ones, ones, 0, 0, 0, 0})
	g.op("NEGQ %s", count)
	g.op("LEAQ firstLanes<>+32(SB), %s", tmp)
	g.op("VMOVDQU (%s)(%s*%d), Y%d", tmp, count, g.elem.size, mask)
}
