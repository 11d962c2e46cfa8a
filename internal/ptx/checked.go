package ptx

import "math/bits"

// checked adds the checks of registers that some path leaves unwritten. Copies carry an undefined value on: only a use is a
// fault.
func (c *compiler) checked(st *step, e *effect) {
	in := c.in
	type use struct {
		track int
		name  string
	}
	var uses, copied []use
	var defs []int
	add := func(list *[]use, o *operand) {
		o.registers(func(r int) {
			if t := c.track[r]; t >= 0 {
				*list = append(*list, use{t, c.parser.nameOf(in, r)})
			}
		})
	}
	guard := -1
	if in.guard >= 0 {
		guard = c.track[in.guard]
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
	for _, r := range e.defs {
		if t := c.track[r]; t >= 0 {
			defs = append(defs, t)
		}
	}
	if guard < 0 && len(uses) == 0 && len(defs) == 0 {
		return
	}
	good := func(w *warp) uint32 {
		v := full
		for _, u := range copied {
			v &= w.written[u.track]
		}
		return v
	}
	if in.op.base == "selp" && len(in.args) == 4 && in.args[3].kind == regOperand {
		of := func(o *operand) func(w *warp) uint32 {
			if o.kind != regOperand || c.track[o.reg] < 0 {
				return func(*warp) uint32 { return full }
			}
			t := c.track[o.reg]
			return func(w *warp) uint32 { return w.written[t] }
		}
		yes, no, p := of(&in.args[1]), of(&in.args[2]), c.slot[in.args[3].reg]
		good = func(w *warp) uint32 { return w.p[p]&yes(w) | ^w.p[p]&no(w) }
	}
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
