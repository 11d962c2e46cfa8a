package ptx

import (
	"strconv"
	"strings"
)

// A typ is a fundamental type of PTX: its letter (b bits, u unsigned, s signed, f IEEE float, h bfloat16, t tf32, p predicate),
// the bits of one element, and how many elements one register holds.
type typ struct {
	kind byte
	bits int // of the register
	pack int // 2 for f16x2 and bf16x2, otherwise 1
}

var types = map[string]typ{
	"pred": {'p', 1, 1}, "b1": {'b', 1, 1},
	"b8": {'b', 8, 1}, "b16": {'b', 16, 1}, "b32": {'b', 32, 1}, "b64": {'b', 64, 1},
	"u8": {'u', 8, 1}, "u16": {'u', 16, 1}, "u32": {'u', 32, 1}, "u64": {'u', 64, 1},
	"s8": {'s', 8, 1}, "s16": {'s', 16, 1}, "s32": {'s', 32, 1}, "s64": {'s', 64, 1},
	"f16": {'f', 16, 1}, "f16x2": {'f', 32, 2}, "f32": {'f', 32, 1}, "f64": {'f', 64, 1},
	"bf16": {'h', 16, 1}, "bf16x2": {'h', 32, 2}, "tf32": {'t', 32, 1},
}

func (t typ) float() bool  { return t.kind == 'f' || t.kind == 'h' || t.kind == 't' }
func (t typ) signed() bool { return t.kind == 's' }

// An opcode is an instruction's word cut at its dots.
type opcode struct {
	text string
	base string
	mods []string
}

func newOpcode(text string) opcode {
	base, rest, dotted := strings.Cut(text, ".")
	op := opcode{text: text, base: base}
	if dotted {
		op.mods = strings.Split(rest, ".")
	}
	return op
}

func (o *opcode) has(mod string) bool {
	for _, m := range o.mods {
		if m == mod {
			return true
		}
	}
	return false
}

// typ returns the last type among the modifiers.
func (o *opcode) typ() (typ, bool) {
	for i := len(o.mods) - 1; i >= 0; i-- {
		if t, ok := types[o.mods[i]]; ok {
			return t, true
		}
	}
	return typ{}, false
}

// without returns the modifiers but those named, in order.
func (o *opcode) without(drop ...string) []string {
	var out []string
next:
	for _, m := range o.mods {
		for _, d := range drop {
			if m == d {
				continue next
			}
		}
		out = append(out, m)
	}
	return out
}

// An operandKind says what an operand of an instruction is.
type operandKind byte

const (
	regOperand     operandKind = iota
	intOperand                 // value
	floatOperand               // value holds the bits, wide says whether of a float64
	symbolOperand              // a variable's address plus value, or a label
	specialOperand             // %tid.x and its like
	vectorOperand              // {a, b}
	addressOperand             // [a + value]
	pairOperand                // a|b
	sinkOperand                // _
)

type operand struct {
	kind    operandKind
	reg     int // of regOperand
	negated bool
	value   uint64
	wide    bool
	name    string
	list    []operand // vectorOperand, pairOperand: the parts; addressOperand: the base
}

// registers calls f for each register in the operand.
func (o *operand) registers(f func(int)) {
	if o.kind == regOperand {
		f(o.reg)
	}
	for i := range o.list {
		o.list[i].registers(f)
	}
}

// integer parses 12, 0x1f, 017, 0b11, each with an optional U.
func integer(s string) (uint64, bool) {
	s = strings.TrimSuffix(s, "U")
	if s == "" || s[0] < '0' || s[0] > '9' || strings.Contains(s, "_") {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 0, 64)
	return v, err == nil
}
