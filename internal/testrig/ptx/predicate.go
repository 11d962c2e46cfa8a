package ptx

import (
	"math/bits"
	"strings"
)

// choose decodes selp.
func (c *compiler) choose(st *step) error {
	in := c.in
	if err := c.arguments(4); err != nil {
		return err
	}
	t, ok := in.op.typ()
	if !ok || len(in.op.mods) != 1 || t.bits < 16 || t.kind == 'h' {
		return c.unknown()
	}
	to, err := c.target(&in.args[0], t, false)
	if err != nil {
		return err
	}
	s, err := c.sources(in.args[1:3], []typ{t, t}, false)
	if err != nil {
		return err
	}
	p, flip, err := c.predicate(&in.args[3])
	if err != nil || to < 0 {
		return err
	}
	if flip != 0 {
		return c.wrong("a negated predicate")
	}
	st.run = func(w *warp, m uint32) { selectLanes(&w.r[to], &w.r[s[0]], &w.r[s[1]], w.p[p], m) }
	return nil
}

// selectLanes copies the lanes of m to d: those of q from a, others from b.
func selectLanes(d, a, b *lanes, q, m uint32) {
	if m == full {
		for l := range d {
			v := b[l]
			if q>>l&1 != 0 {
				v = a[l]
			}
			d[l] = v
		}
		return
	}
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		if q>>l&1 != 0 {
			d[l] = a[l]
		} else {
			d[l] = b[l]
		}
	}
}

// logicOfPredicates decodes mov, and, or, xor and not of predicates.
func (c *compiler) logicOfPredicates(st *step) error {
	in := c.in
	f := map[string]func(a, b uint32) uint32{
		"mov.pred": func(a, _ uint32) uint32 { return a }, "not.pred": func(a, _ uint32) uint32 { return ^a },
		"and.pred": func(a, b uint32) uint32 { return a & b }, "or.pred": func(a, b uint32) uint32 { return a | b },
		"xor.pred": func(a, b uint32) uint32 { return a ^ b },
	}[in.op.text]
	if f == nil {
		return c.unknown()
	}
	n := 2
	if in.op.base == "mov" || in.op.base == "not" {
		n = 1
	}
	if err := c.arguments(n + 1); err != nil {
		return err
	}
	to, err := c.predicateResult(&in.args[0])
	if err != nil {
		return err
	}
	var get [2]func(w *warp) uint32
	for i := range n {
		if o := &in.args[i+1]; o.kind == intOperand { // any number but 0 is true: clang writes -1
			v := uint32(0)
			if o.value != 0 {
				v = full
			}
			get[i] = func(*warp) uint32 { return v }
			continue
		}
		p, flip, err := c.predicate(&in.args[i+1])
		if err != nil {
			return err
		}
		get[i] = func(w *warp) uint32 { return w.p[p] ^ flip }
	}
	if n == 1 {
		get[1] = get[0]
	}
	st.run = func(w *warp, m uint32) { w.p[to] = w.p[to]&^m | f(get[0](w), get[1](w))&m }
	return nil
}

// test decodes testp.
func (c *compiler) test(st *step) error {
	in := c.in
	if err := c.arguments(2); err != nil {
		return err
	}
	t, ok := in.op.typ()
	if !ok || len(in.op.mods) != 2 || t.kind != 'f' || t.bits < 32 {
		return c.unknown()
	}
	exponent, fraction := uint64(0x7f800000), uint64(0x7fffff)
	if t.bits == 64 {
		exponent, fraction = 0x7ff<<52, 1<<52-1
	}
	f := map[string]func(v uint64) bool{
		"finite":     func(v uint64) bool { return v&exponent != exponent },
		"infinite":   func(v uint64) bool { return v&(exponent|fraction) == exponent },
		"number":     func(v uint64) bool { return v&(exponent|fraction) <= exponent },
		"notanumber": func(v uint64) bool { return v&(exponent|fraction) > exponent },
		"normal":     func(v uint64) bool { return v&exponent != 0 && v&exponent != exponent },
		"subnormal":  func(v uint64) bool { return v&exponent == 0 && v&fraction != 0 },
	}[in.op.mods[0]]
	if f == nil {
		return c.unknown()
	}
	p, err := c.predicateResult(&in.args[0])
	if err != nil {
		return err
	}
	s, err := c.source(&in.args[1], t, false)
	all := compareBy(func(a, _ uint64) bool { return f(a) })
	st.run = func(w *warp, m uint32) { w.p[p] = w.p[p]&^m | all(&w.r[s], &w.r[s])&m }
	return err
}

// insert decodes bfi.
func (c *compiler) insert(st *step) error {
	t, ok := c.in.op.typ()
	if !ok || strings.Join(c.in.op.mods, ".") != "b32" && strings.Join(c.in.op.mods, ".") != "b64" {
		return c.unknown()
	}
	to, s, err := c.operands(t, []typ{t, t, types["u32"], types["u32"]})
	if err != nil || to < 0 {
		return err
	}
	st.run = func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			w.r[to][l] = insert(w.r[s[0]][l], w.r[s[1]][l], w.r[s[2]][l], w.r[s[3]][l], t.bits)
		}
	}
	return nil
}

// logic decodes lop3.
func (c *compiler) logic(st *step) error {
	t := types["b32"]
	if c.in.op.text != "lop3.b32" {
		return c.unknown()
	}
	to, s, err := c.operands(t, []typ{t, t, t, t})
	if err != nil || to < 0 {
		return err
	}
	if c.in.args[4].kind != intOperand || c.in.args[4].value > 255 {
		return c.wrong("the table is not a number up to 255")
	}
	lut := c.in.args[4].value
	o := operation{tri: func(x, y, z uint64) uint64 { return logic3(x, y, z, lut) }}
	st.run = o.code(to, s[:3])
	return nil
}

// operands returns the slots of a result and of sources.
func (c *compiler) operands(result typ, sources []typ) (int, []int, error) {
	if err := c.arguments(len(sources) + 1); err != nil {
		return 0, nil, err
	}
	to, err := c.target(&c.in.args[0], result, false)
	if err != nil {
		return 0, nil, err
	}
	s, err := c.sources(c.in.args[1:], sources, false)
	return to, s, err
}
