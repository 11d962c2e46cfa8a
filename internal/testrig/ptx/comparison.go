package ptx

import (
	"math"
	"math/bits"
)

// A comparison gives the lanes of a and b for which it holds. Bits of lanes that do not take part may be anything.
type comparison func(a, b *lanes) uint32

func compareBy(f func(a, b uint64) bool) comparison {
	return func(a, b *lanes) uint32 {
		out := uint32(0)
		for l := range a {
			if f(a[l], b[l]) {
				out |= 1 << l
			}
		}
		return out
	}
}

func negate(f comparison) comparison {
	return func(a, b *lanes) uint32 { return ^f(a, b) }
}

func swap(f comparison) comparison {
	return func(a, b *lanes) uint32 { return f(b, a) }
}

func equal(a, b *lanes) uint32 {
	out := uint32(0)
	for l := range a {
		v := uint32(0)
		if a[l] == b[l] {
			v = 1
		}
		out |= v << l
	}
	return out
}

func lessUnsigned(a, b *lanes) uint32 {
	out := uint32(0)
	for l := range a {
		v := uint32(0)
		if a[l] < b[l] {
			v = 1
		}
		out |= v << l
	}
	return out
}

func lessSigned32(a, b *lanes) uint32 {
	out := uint32(0)
	for l := range a {
		v := uint32(0)
		if int32(a[l]) < int32(b[l]) {
			v = 1
		}
		out |= v << l
	}
	return out
}

func lessSigned64(a, b *lanes) uint32 {
	out := uint32(0)
	for l := range a {
		v := uint32(0)
		if int64(a[l]) < int64(b[l]) {
			v = 1
		}
		out |= v << l
	}
	return out
}

// compared returns the comparison that an instruction names.
func compared(name string, t typ, ftz bool) comparison {
	if t.float() {
		return comparedFloats(name, t, ftz)
	}
	switch name {
	case "eq":
		return equal
	case "ne":
		return negate(equal)
	}
	if t.kind == 'b' {
		return nil
	}
	if same, ok := unsignedNames[name]; ok && t.kind == 'u' {
		name = same
	}
	less := lessOf(t)
	switch name {
	case "lt":
		return less
	case "ge":
		return negate(less)
	case "gt":
		return swap(less)
	case "le":
		return negate(swap(less))
	}
	return nil
}

// unsignedNames are other names of comparisons that unsigned types have.
var unsignedNames = map[string]string{"lo": "lt", "hs": "ge", "hi": "gt", "ls": "le"}

// lessOf returns the order of a type of integers.
func lessOf(t typ) comparison {
	switch {
	case !t.signed():
		return lessUnsigned
	case t.bits == 16:
		return compareBy(func(a, b uint64) bool { return int16(a) < int16(b) })
	case t.bits == 32:
		return lessSigned32
	}
	return lessSigned64
}

// floatComparisons are the comparisons of floats. Those whose names end in u hold for a NaN, others do not.
var floatComparisons = map[string]func(x, y float64) bool{
	"eq":  func(x, y float64) bool { return x == y },
	"ne":  func(x, y float64) bool { return x < y || x > y },
	"lt":  func(x, y float64) bool { return x < y },
	"le":  func(x, y float64) bool { return x <= y },
	"gt":  func(x, y float64) bool { return x > y },
	"ge":  func(x, y float64) bool { return x >= y },
	"equ": func(x, y float64) bool { return !(x < y || x > y) },
	"neu": func(x, y float64) bool { return x != y },
	"ltu": func(x, y float64) bool { return !(x >= y) },
	"leu": func(x, y float64) bool { return !(x > y) },
	"gtu": func(x, y float64) bool { return !(x <= y) },
	"geu": func(x, y float64) bool { return !(x < y) },
	"num": func(x, y float64) bool { return x == x && y == y },
	"nan": func(x, y float64) bool { return x != x || y != y },
}

func comparedFloats(name string, t typ, ftz bool) comparison {
	f, value := floatComparisons[name], floatOf(t, ftz)
	if f == nil || value == nil {
		return nil
	}
	return compareBy(func(a, b uint64) bool { return f(value(a), value(b)) })
}

// floatOf returns how the bits of a type become a number; nil for a type that has no comparisons of floats.
func floatOf(t typ, ftz bool) func(v uint64) float64 {
	switch {
	case t.pack != 1:
		return nil
	case t.kind == 'h':
		return func(v uint64) float64 { return unbfloat(v & 0xffff) }
	case t.kind != 'f':
		return nil
	case t.bits == 64:
		return f64
	case t.bits == 32 && ftz:
		return func(v uint64) float64 { return float64(f32(flush(v))) }
	case t.bits == 32:
		return func(v uint64) float64 { return float64(f32(v)) }
	}
	return func(v uint64) float64 { return halfValue[v&0xffff] }
}

// comparing reads what setp and set have in common: the comparison of operands a and b, joined with a predicate.
func (c *compiler) comparing(t typ, a, b, p *operand) (func(w *warp) (uint32, uint32), error) {
	in := c.in
	mods := in.op.without("ftz")
	f := compared(mods[0], t, in.op.has("ftz"))
	if f == nil {
		return nil, c.unknown()
	}
	x, err := c.source(a, t, false)
	if err != nil {
		return nil, err
	}
	y, err := c.source(b, t, false)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return func(w *warp) (uint32, uint32) { v := f(&w.r[x], &w.r[y]); return v, ^v }, nil
	}
	q, flip, err := c.predicate(p)
	if err != nil {
		return nil, err
	}
	switch mods[1] {
	case "and":
		return func(w *warp) (uint32, uint32) {
			v, z := f(&w.r[x], &w.r[y]), w.p[q]^flip
			return v & z, ^v & z
		}, nil
	case "or":
		return func(w *warp) (uint32, uint32) {
			v, z := f(&w.r[x], &w.r[y]), w.p[q]^flip
			return v | z, ^v | z
		}, nil
	case "xor":
		return func(w *warp) (uint32, uint32) {
			v, z := f(&w.r[x], &w.r[y]), w.p[q]^flip
			return v ^ z, ^v ^ z
		}, nil
	}
	return nil, c.unknown()
}

// compare decodes setp.
func (c *compiler) compare(st *step) error {
	in := c.in
	t, ok := in.op.typ()
	mods := in.op.without("ftz")
	if !ok || len(mods) != len(in.args)-1 || len(mods) < 2 || len(mods) > 3 || t.bits < 16 {
		return wrong(in.line, "unknown instruction %s with %d operands", in.op.text, len(in.args))
	}
	var joined *operand
	if len(mods) == 3 {
		joined = &in.args[3]
	}
	f, err := c.comparing(t, &in.args[1], &in.args[2], joined)
	if err != nil {
		return err
	}
	to := [2]int{-1, -1}
	results := []operand{in.args[0]}
	if in.args[0].kind == pairOperand {
		results = in.args[0].list
	}
	for i := range results {
		if results[i].kind == sinkOperand {
			continue
		}
		if to[i], err = c.predicateResult(&results[i]); err != nil {
			return err
		}
	}
	p, q := to[0], to[1]
	st.run = func(w *warp, m uint32) {
		yes, no := f(w)
		if p >= 0 {
			w.p[p] = w.p[p]&^m | yes&m
		}
		if q >= 0 {
			w.p[q] = w.p[q]&^m | no&m
		}
	}
	return nil
}

// compareValue decodes set, which gives all ones or 1.0 in place of a predicate.
func (c *compiler) compareValue(st *step) error {
	in := c.in
	mods := in.op.without("ftz")
	if len(mods) != 3 || len(in.args) != 3 {
		return wrong(in.line, "unknown instruction %s with %d operands", in.op.text, len(in.args))
	}
	result, from := types[mods[1]], types[mods[2]]
	one := uint64(0xffffffff)
	if mods[1] == "f32" {
		one = uint64(math.Float32bits(1))
	}
	if result.bits != 32 || result.pack != 1 || mods[1] == "b32" || from.bits < 16 {
		return c.unknown()
	}
	f, err := c.comparing(from, &in.args[1], &in.args[2], nil)
	if err != nil {
		return err
	}
	to, err := c.target(&in.args[0], result, false)
	if err != nil || to < 0 {
		return err
	}
	st.run = func(w *warp, m uint32) {
		yes, _ := f(w)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			w.r[to][l] = one * uint64(yes>>l&1)
		}
	}
	return nil
}
