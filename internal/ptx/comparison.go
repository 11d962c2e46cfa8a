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
	less := lessUnsigned
	if t.signed() {
		switch t.bits {
		case 16:
			less = compareBy(func(a, b uint64) bool { return int16(a) < int16(b) })
		case 32:
			less = lessSigned32
		default:
			less = lessSigned64
		}
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
	if t.kind == 'u' {
		switch name {
		case "lo":
			return less
		case "hs":
			return negate(less)
		case "hi":
			return swap(less)
		case "ls":
			return negate(swap(less))
		}
	}
	return nil
}

func comparedFloats(name string, t typ, ftz bool) comparison {
	var value func(v uint64) float64
	switch {
	case t.pack != 1:
		return nil
	case t.kind == 'f' && t.bits == 64:
		value = f64
	case t.kind == 'f' && t.bits == 32 && ftz:
		value = func(v uint64) float64 { return float64(f32(flush(v))) }
	case t.kind == 'f' && t.bits == 32:
		value = func(v uint64) float64 { return float64(f32(v)) }
	case t.kind == 'f':
		value = func(v uint64) float64 { return halfValue[v&0xffff] }
	case t.kind == 'h':
		value = func(v uint64) float64 { return unbfloat(v & 0xffff) }
	default:
		return nil
	}
	by := func(f func(x, y float64) bool) comparison {
		return compareBy(func(a, b uint64) bool { return f(value(a), value(b)) })
	}
	switch name {
	case "eq":
		return by(func(x, y float64) bool { return x == y })
	case "ne": // ordered: false for a NaN
		return by(func(x, y float64) bool { return x < y || x > y })
	case "lt":
		return by(func(x, y float64) bool { return x < y })
	case "le":
		return by(func(x, y float64) bool { return x <= y })
	case "gt":
		return by(func(x, y float64) bool { return x > y })
	case "ge":
		return by(func(x, y float64) bool { return x >= y })
	case "equ":
		return by(func(x, y float64) bool { return !(x < y || x > y) })
	case "neu":
		return by(func(x, y float64) bool { return x != y })
	case "ltu":
		return by(func(x, y float64) bool { return !(x >= y) })
	case "leu":
		return by(func(x, y float64) bool { return !(x > y) })
	case "gtu":
		return by(func(x, y float64) bool { return !(x <= y) })
	case "geu":
		return by(func(x, y float64) bool { return !(x < y) })
	case "num":
		return by(func(x, y float64) bool { return x == x && y == y })
	case "nan":
		return by(func(x, y float64) bool { return x != x || y != y })
	}
	return nil
}

// comparing reads what setp and set have in common: the comparison of operands a and b, joined with a predicate.
func (c *compiler) comparing(t typ, a, b, p *operand) (func(w *warp) (uint32, uint32), error) {
	in := c.in
	mods := in.op.without("ftz")
	f := compared(mods[0], t, in.op.has("ftz"))
	if f == nil {
		return nil, wrong(in.line, "unknown instruction %s", in.op.text)
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
	return nil, wrong(in.line, "unknown instruction %s", in.op.text)
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
		p, flip, err := c.predicate(&results[i])
		if err != nil || flip != 0 {
			return c.or(err, "the result is negated")
		}
		to[i] = p
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
		return wrong(in.line, "unknown instruction %s", in.op.text)
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
