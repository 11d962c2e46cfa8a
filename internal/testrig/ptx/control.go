package ptx

import (
	"math/bits"
	"strings"
)

func (c *compiler) branch(st *step) error {
	st.kind, st.target = branch, c.in.target
	return nil
}

func (c *compiler) table(st *step) error {
	if c.in.op.mods == nil || c.in.op.mods[0] != "idx" {
		return c.unknown()
	}
	s, err := c.source(&c.in.args[0], types["u32"], false)
	st.kind, st.index, st.targets = branchTable, s, c.in.targets
	return err
}

func (c *compiler) end(st *step) error {
	st.kind = ending
	return c.arguments(0)
}

func (c *compiler) trap(st *step) error {
	st.kind = ending
	st.run = func(w *warp, m uint32) { fail(Trap, bits.TrailingZeros32(m), "the kernel ended itself") }
	return c.arguments(0)
}

// nothing decodes what has no effect here: hints, and fences, since a race is reported whether fenced or not.
func (c *compiler) nothing(st *step) error {
	st.run = func(*warp, uint32) {}
	return nil
}

// barrier decodes bar.sync, barrier.sync.aligned and bar.warp.sync.
func (c *compiler) barrier(st *step) error {
	in := c.in
	switch strings.Join(in.op.without("cta", "aligned"), ".") {
	case "sync":
		if len(in.args) < 1 || len(in.args) > 2 {
			return c.wrong("%d operands", len(in.args))
		}
		for i, most := range []uint64{15, maxThreadsOfBlock}[:len(in.args)] {
			if in.args[i].kind != intOperand || in.args[i].value > most {
				return c.wrong("operand %d is not a number up to %d", i, most)
			}
		}
		if in.op.base == "barrier" && !in.op.has("aligned") {
			return c.unknown()
		}
		if len(in.args) == 2 { // only all threads of the block are known
			n := int(in.args[1].value)
			st.run = func(w *warp, m uint32) {
				if n != w.worker.threads {
					fail(Undefined, -1, "a barrier of %d threads in a block of %d: the simulator knows those of all threads",
						n, w.worker.threads)
				}
			}
		}
		st.kind = barrier
		return nil
	case "warp.sync":
		if err := c.arguments(1); err != nil {
			return err
		}
		s, err := c.source(&in.args[0], types["b32"], false)
		st.kind, st.members = collective, s
		st.run = func(w *warp, m uint32) {
			if m != w.live {
				fail(Undefined, bits.TrailingZeros32(w.live&^m),
					"a barrier of part of a warp: the simulator knows those of all its lanes")
			}
			w.time++
		}
		return err
	}
	return c.unknown()
}
