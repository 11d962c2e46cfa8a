package ptx

import "math/bits"

// A checkedUse is a register that is checked and that an instruction reads.
type checkedUse struct {
	track int
	name  string
}

// checked adds the checks of registers that some path leaves unwritten. Copies carry an undefined value on: only a use is a
// fault.
func (c *compiler) checked(st *step, e *effect) {
	in := c.in
	guard := -1
	if in.guard >= 0 {
		guard = c.track[in.guard]
	}
	uses, copied := c.reads()
	var defs []int
	for _, r := range e.defs {
		if t := c.track[r]; t >= 0 {
			defs = append(defs, t)
		}
	}
	if guard < 0 && len(uses) == 0 && len(defs) == 0 {
		return
	}
	good := c.defined(copied)
	st.before = func(w *warp, mask, m uint32) {
		if guard >= 0 {
			if bad := mask &^ w.written[guard]; bad != 0 {
				fail(Uninitialized, bits.TrailingZeros32(bad), "the predicate was never written")
			}
		}
		for _, u := range uses {
			if bad := m &^ w.written[u.track]; bad != 0 {
				fail(Uninitialized, bits.TrailingZeros32(bad), "%s was never written", u.name)
			}
		}
		if len(defs) > 0 {
			v := good(w)
			for _, d := range defs {
				w.written[d] = w.written[d]&^m | v&m
			}
		}
	}
}

// reads returns the checked registers that the instruction uses, and those that it only copies.
func (c *compiler) reads() (uses, copied []checkedUse) {
	in := c.in
	add := func(list *[]checkedUse, o *operand) {
		o.registers(func(r int) {
			if t := c.track[r]; t >= 0 {
				*list = append(*list, checkedUse{t, c.parser.nameOf(in, r)})
			}
		})
	}
	for i := range in.args {
		switch {
		case i == 0 && !targetless[in.op.base] && in.args[0].kind != addressOperand:
		case in.op.base == "mov", in.op.base == "selp" && i < 3:
			add(&copied, &in.args[i])
		default:
			add(&uses, &in.args[i])
		}
	}
	return uses, copied
}

// defined returns what finds the lanes for which the instruction's result is defined: those that wrote what it copies, of
// selp what it chooses.
func (c *compiler) defined(copied []checkedUse) func(w *warp) uint32 {
	if in := c.in; in.op.base == "selp" && len(in.args) == 4 && in.args[3].kind == regOperand {
		yes, no, p := c.writers(&in.args[1]), c.writers(&in.args[2]), c.slot[in.args[3].reg]
		return func(w *warp) uint32 { return w.p[p]&yes(w) | ^w.p[p]&no(w) }
	}
	return func(w *warp) uint32 {
		v := full
		for _, u := range copied {
			v &= w.written[u.track]
		}
		return v
	}
}

// writers returns what finds the lanes that wrote an operand: all, unless it is a register that is checked.
func (c *compiler) writers(o *operand) func(w *warp) uint32 {
	if o.kind != regOperand || c.track[o.reg] < 0 {
		return func(*warp) uint32 { return full }
	}
	t := c.track[o.reg]
	return func(w *warp) uint32 { return w.written[t] }
}
