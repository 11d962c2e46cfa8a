package ptx

import (
	"math/bits"
	"slices"
	"strings"
)

// shuffle decodes shfl.sync.
func (c *compiler) shuffle(st *step) error {
	in := c.in
	if err := c.arguments(5); err != nil {
		return err
	}
	t := types["b32"]
	if len(in.op.mods) != 3 || in.op.mods[0] != "sync" || in.op.mods[2] != "b32" {
		return c.unknown()
	}
	result, inRange := in.args[0], -1
	if result.kind == pairOperand {
		if second := &result.list[1]; second.kind != sinkOperand {
			var err error
			if inRange, err = c.predicateResult(second); err != nil {
				return err
			}
		}
		result = result.list[0]
	}
	to, err := c.target(&result, t, false)
	if err != nil {
		return err
	}
	s, err := c.sources(in.args[1:], []typ{t, t, t, t}, false)
	if err != nil {
		return err
	}
	mode := in.op.mods[1]
	if !slices.Contains([]string{"up", "down", "bfly", "idx"}, mode) {
		return c.unknown()
	}
	st.kind, st.members = collective, s[3]
	st.run = func(w *warp, m uint32) {
		var out lanes
		good := uint32(0)
		for rest := m; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			j, ok := shuffled(mode, l, int(w.r[s[1]][l]&31), int(w.r[s[2]][l]))
			if ok {
				good |= 1 << l
			} else {
				j = l
			}
			if m>>j&1 == 0 {
				fail(Uninitialized, l, "reads lane %d, which does not take part", j)
			}
			out[l] = w.r[s[0]][j]
		}
		w.put(to, m, &out)
		if inRange >= 0 {
			w.p[inRange] = w.p[inRange]&^m | good
		}
	}
	return nil
}

// shuffled returns the lane that lane l of a shuffle reads, and whether it is in the bound.
func shuffled(mode string, l, b, bound int) (int, bool) {
	clamp, segment := bound&31, bound>>8&31
	least := l & segment
	most := least | clamp&^segment
	switch mode {
	case "up":
		return l - b, l-b >= most
	case "down":
		return l + b, l+b <= most
	case "bfly":
		return l ^ b, l^b <= most
	}
	j := least | b&^segment
	return j, j <= most
}

// put writes the lanes of m to a register; to is negative for none.
func (w *warp) put(to int, m uint32, values *lanes) {
	for ; m != 0 && to >= 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		w.r[to][l] = values[l]
	}
}

// vote decodes vote.sync.
func (c *compiler) vote(st *step) error {
	in := c.in
	if err := c.arguments(3); err != nil {
		return err
	}
	if len(in.op.mods) != 3 || in.op.mods[0] != "sync" {
		return c.unknown()
	}
	p, flip, err := c.predicate(&in.args[1])
	if err != nil {
		return err
	}
	members, err := c.source(&in.args[2], types["b32"], false)
	if err != nil {
		return err
	}
	st.kind, st.members = collective, members
	if strings.Join(in.op.mods[1:], ".") == "ballot.b32" {
		to, err := c.target(&in.args[0], types["b32"], false)
		st.run = func(w *warp, m uint32) {
			each(w, m, members, func(l int, group uint32) {
				if to >= 0 {
					w.r[to][l] = uint64((w.p[p] ^ flip) & group)
				}
			})
		}
		return err
	}
	f := map[string]func(v, group uint32) bool{
		"any.pred": func(v, _ uint32) bool { return v != 0 },
		"all.pred": func(v, group uint32) bool { return v == group },
		"uni.pred": func(v, group uint32) bool { return v == 0 || v == group },
	}[strings.Join(in.op.mods[1:], ".")]
	if f == nil {
		return c.unknown()
	}
	to, err := c.predicateResult(&in.args[0])
	if err != nil {
		return err
	}
	st.run = func(w *warp, m uint32) {
		v, out := w.p[p]^flip, uint32(0)
		each(w, m, members, func(l int, group uint32) {
			if f(v&group, group) {
				out |= 1 << l
			}
		})
		w.p[to] = w.p[to]&^m | out
	}
	return nil
}

// each calls f for every lane of m with the lanes of the warp that it names.
func each(w *warp, m uint32, members int, f func(lane int, group uint32)) {
	for rest := m; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		f(l, uint32(w.r[members][l])&w.all)
	}
}

// active decodes activemask.
func (c *compiler) active(st *step) error {
	if c.in.op.text != "activemask.b32" {
		return c.unknown()
	}
	if err := c.arguments(1); err != nil {
		return err
	}
	to, err := c.target(&c.in.args[0], types["b32"], false)
	st.run = func(w *warp, m uint32) {
		for rest := m; rest != 0 && to >= 0; rest &= rest - 1 {
			w.r[to][bits.TrailingZeros32(rest)] = uint64(m)
		}
	}
	return err
}

// reductions are the operations of redux.sync.
var reductions = []string{"and.b32", "or.b32", "xor.b32",
	"add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32"}

// reduce decodes redux.sync.
func (c *compiler) reduce(st *step) error {
	mods := c.in.op.mods
	if len(mods) != 3 || mods[0] != "sync" || !slices.Contains(reductions, mods[1]+"."+mods[2]) {
		return c.unknown()
	}
	two, t := table()[mods[1]+"."+mods[2]].two, types[mods[2]]
	to, s, err := c.operands(t, []typ{t, types["b32"]})
	if err != nil || to < 0 {
		return err
	}
	st.kind, st.members = collective, s[1]
	st.run = func(w *warp, m uint32) {
		var out lanes
		each(w, m, s[1], func(l int, group uint32) {
			first := bits.TrailingZeros32(group)
			v := w.r[s[0]][first]
			for rest := group & (group - 1); rest != 0; rest &= rest - 1 {
				v = two(v, w.r[s[0]][bits.TrailingZeros32(rest)])
			}
			out[l] = v
		})
		w.put(to, m, &out)
	}
	return nil
}

// match decodes match.any.sync.
func (c *compiler) match(st *step) error {
	in := c.in
	t, ok := in.op.typ()
	if !ok || len(in.op.mods) != 3 || in.op.mods[0] != "any" || in.op.mods[1] != "sync" || t.kind != 'b' || t.bits < 32 {
		return c.unknown()
	}
	to, s, err := c.operands(types["b32"], []typ{t, types["b32"]})
	if err != nil || to < 0 {
		return err
	}
	st.kind, st.members = collective, s[1]
	st.run = func(w *warp, m uint32) {
		a := w.r[s[0]]
		each(w, m, s[1], func(l int, group uint32) {
			same := uint32(0)
			for rest := group; rest != 0; rest &= rest - 1 {
				if j := bits.TrailingZeros32(rest); a[j] == a[l] {
					same |= 1 << j
				}
			}
			w.r[to][l] = uint64(same)
		})
	}
	return nil
}
