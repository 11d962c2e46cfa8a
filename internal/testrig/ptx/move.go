package ptx

import (
	"math/bits"
	"strings"
)

// move decodes mov: values, predicates, addresses, and the packing of narrow values into wide ones.
func (c *compiler) move(st *step) error {
	in := c.in
	if err := c.arguments(2); err != nil {
		return err
	}
	t, ok := in.op.typ()
	if !ok || len(in.op.mods) != 1 {
		return c.unknown()
	}
	d, s := &in.args[0], &in.args[1]
	switch {
	case t.kind == 'p':
		return c.logicOfPredicates(st)
	case d.kind == vectorOperand:
		return c.unpack(st, t)
	case s.kind == vectorOperand:
		return c.packed(st, t)
	}
	to, err := c.target(d, t, false)
	if err != nil {
		return err
	}
	from, err := c.source(s, t, false)
	if err != nil || to < 0 {
		return err
	}
	st.run = func(w *warp, m uint32) {
		d, a := &w.r[to], &w.r[from]
		if m == full {
			*d = *a
			return
		}
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			d[l] = a[l]
		}
	}
	return nil
}

func (c *compiler) unpack(st *step, t typ) error {
	list := c.in.args[0].list
	n := t.bits / len(list)
	if len(list) != 2 && len(list) != 4 || n < 8 {
		return c.wrong("%d parts", len(list))
	}
	from, err := c.source(&c.in.args[1], t, false)
	if err != nil {
		return err
	}
	var to []int
	for i := range list {
		d, err := c.target(&list[i], typ{'b', n, 1}, false)
		if err != nil {
			return err
		}
		to = append(to, d)
	}
	st.run = func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := w.r[from][l]
			for i, d := range to {
				if d >= 0 {
					w.r[d][l] = cut(v>>(i*n), n)
				}
			}
		}
	}
	return nil
}

func (c *compiler) packed(st *step, t typ) error {
	list := c.in.args[1].list
	n := t.bits / len(list)
	if len(list) != 2 && len(list) != 4 || n < 8 {
		return c.wrong("%d parts", len(list))
	}
	to, err := c.target(&c.in.args[0], t, false)
	if err != nil || to < 0 {
		return err
	}
	var from []int
	for i := range list {
		s, err := c.source(&list[i], typ{'b', n, 1}, false)
		if err != nil {
			return err
		}
		from = append(from, s)
	}
	st.run = func(w *warp, m uint32) {
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			v := uint64(0)
			for i, s := range from {
				v |= w.r[s][l] << (i * n)
			}
			w.r[to][l] = v
		}
	}
	return nil
}

// generic decodes cvta: global addresses are the same in the generic space, the others have windows.
func (c *compiler) generic(st *step) error {
	in := c.in
	if err := c.arguments(2); err != nil {
		return err
	}
	t, ok := in.op.typ()
	if !ok || t.bits != 64 {
		return c.unknown()
	}
	add := uint64(0)
	switch strings.Join(in.op.mods[:len(in.op.mods)-1], ".") {
	case "global", "to.global", "const", "to.const":
	case "shared", "shared::cta":
		add = sharedWindow
	case "to.shared", "to.shared::cta":
		add = ^uint64(sharedWindow) + 1
	case "local":
		add = localWindow
	case "to.local":
		add = ^uint64(localWindow) + 1
	default:
		return c.unknown()
	}
	to, err := c.target(&in.args[0], t, false)
	if err != nil {
		return err
	}
	from, err := c.source(&in.args[1], t, false)
	if err != nil || to < 0 {
		return err
	}
	o := operation{one: func(a uint64) uint64 { return a + add }}
	st.run = o.code(to, []int{from})
	return nil
}
