package ptx

import "math/bits"

// lanes holds one register of a warp: what is narrower than 64 bits is extended by zeros.
type lanes [32]uint64

const full = ^uint32(0)

// A step is a decoded instruction.
type step struct {
	run     func(w *warp, m uint32)       // m: the lanes that take part, at least one
	before  func(w *warp, mask, m uint32) // checks of registers; nil: none is needed
	guard   int                           // predicate, -1: none
	flip    uint32                        // all ones where the guard is negated
	kind    stepKind
	target  int
	targets []int
	index   int // slot of a table's index
	members int // slot of the lanes that must take part in a collective; -1: all 32
}

type stepKind byte

const (
	simple     stepKind = iota
	collective          // the lanes it names take part together
	branch
	branchTable
	barrier
	ending
)

// A fragment is a part of a warp whose lanes are at the same instruction.
type fragment struct {
	pc      int
	mask    uint32
	blocked bool // until others come
}

// A warp runs in fragments. Of those, the one that is furthest behind goes on until it meets the next, so that a warp that parted
// comes together where compilers lay out the code for it. An instruction that needs lanes of other fragments waits for them.
type warp struct {
	worker    *worker
	id        int // in the block
	r         []lanes
	p         []uint32
	written   []uint32 // lanes that wrote a register that is checked
	all, live uint32
	fragments []fragment
	pc        int    // of the running instruction
	time      uint64 // warp barriers since the last barrier
	local     [32]localMemory
	copies    [32]copies
	atBarrier int // its pc
}

func (w *warp) reset(threads int) {
	w.all = full
	if left := threads - 32*w.id; left < 32 {
		w.all = 1<<left - 1
	}
	w.live = w.all
	w.fragments = append(w.fragments[:0], fragment{0, w.all, false})
	clear(w.written)
	w.time = 0
	for i := range w.copies {
		w.copies[i].reset()
		w.local[i].reset(w.worker.kernel.localBytes)
	}
}

// run goes on until all living lanes are at a barrier, which it reports, or have ended.
func (w *warp) run() bool {
	for len(w.fragments) > 0 {
		at := -1
		for i := range w.fragments {
			if !w.fragments[i].blocked {
				at = i
				break
			}
		}
		if at < 0 {
			f := w.fragments[0]
			w.pc = f.pc
			if w.worker.kernel.code[f.pc].kind == barrier && len(w.fragments) == 1 {
				w.atBarrier = f.pc
				return true
			}
			w.stuck()
		}
		w.advance(at)
	}
	return false
}

// stuck reports that every fragment waits for another.
func (w *warp) stuck() {
	f := w.fragments[0]
	w.pc = f.pc
	lane := bits.TrailingZeros32(f.mask)
	if len(w.fragments) > 1 {
		g := w.fragments[1]
		other := bits.TrailingZeros32(g.mask)
		fail(Divergence, lane, "%d lanes of the warp are here, but lane %d is at %s",
			bits.OnesCount32(f.mask), other, w.worker.place(g.pc))
	}
	fail(Divergence, lane, "only lanes %#08x of the warp are here; those that are missing have ended", f.mask)
}

// advance runs fragment i until it meets another, waits, ends, or parts.
func (w *warp) advance(i int) {
	code := w.worker.kernel.code
	pc, mask := w.fragments[i].pc, w.fragments[i].mask
	stop, alone := len(code), len(w.fragments) == 1
	if i+1 < len(w.fragments) {
		stop = w.fragments[i+1].pc
	}
	var steps, threads int64
	for {
		st := &code[pc]
		m := mask
		if st.guard >= 0 {
			m &= w.p[st.guard] ^ st.flip
		}
		steps++
		threads += int64(bits.OnesCount32(m))
		if st.before != nil {
			w.pc = pc
			st.before(w, mask, m)
		}
		again := false
		if st.kind == simple {
			if m != 0 {
				w.pc = pc
				st.run(w, m)
			}
			pc++
		} else {
			at, then := pc, goesOn
			switch pc, mask, then = w.control(i, st, pc, mask, m); then {
			case jumps:
				again = pc <= at || !alone
			case waits:
				w.worker.count(steps-1, threads-int64(bits.OnesCount32(m)))
				return
			case leaves:
				w.worker.count(steps, threads)
				return
			}
		}
		if again || pc >= stop {
			w.fragments[i].pc, w.fragments[i].mask = pc, mask
			w.worker.count(steps, threads)
			steps, threads = 0, 0
			if !alone {
				w.meet()
				return
			}
		}
	}
}

// following says what a fragment does after an instruction of control.
type following int

const (
	goesOn following = iota
	jumps
	waits  // the instruction has not run
	leaves // the fragment has ended, parted or arrived at a barrier
)

// control runs an instruction of fragment i that is not simple, in the lanes m of mask. It returns the place of the fragment and
// its lanes after the instruction.
func (w *warp) control(i int, st *step, pc int, mask, m uint32) (int, uint32, following) {
	switch {
	case st.kind == branchTable:
		w.part(i, st, pc, m)
		return pc, mask, leaves
	case st.kind == ending:
		if mask = w.retire(i, st, pc, m); mask == 0 {
			w.fragments = append(w.fragments[:i], w.fragments[i+1:]...)
			return pc, mask, leaves
		}
	case m == 0:
	case st.kind == branch && m == mask:
		return st.target, mask, jumps
	case st.kind == branch:
		w.fragments[i] = fragment{pc + 1, mask &^ m, false}
		w.fragments = append(w.fragments, fragment{st.target, m, false})
		w.meet()
		return pc, mask, leaves
	case st.kind == barrier:
		w.arrive(i, pc, m)
		return pc, mask, leaves
	case !w.together(i, st, pc, m):
		return pc, mask, waits
	}
	return pc + 1, mask, goesOn
}

// together runs a collective if all lanes that it needs are in fragment i. Otherwise the fragment waits for them.
func (w *warp) together(i int, st *step, pc int, m uint32) bool {
	w.pc = pc
	if need := w.members(st, m); need&^m != 0 {
		if need&w.fragments[i].mask&^m != 0 {
			fail(Divergence, bits.TrailingZeros32(need&^m), "the lane is named but its predicate keeps it out")
		}
		w.wait(i, pc)
		return false
	}
	st.run(w, m)
	return true
}

// arrive makes fragment i wait at a barrier of the block.
func (w *warp) arrive(i, pc int, m uint32) {
	w.pc = pc
	if mask := w.fragments[i].mask; m != mask {
		fail(Divergence, bits.TrailingZeros32(mask&^m), "a predicate keeps the lane out of the barrier")
	}
	w.wait(i, pc)
}

// retire ends the lanes of m and returns those of fragment i that go on.
func (w *warp) retire(i int, st *step, pc int, m uint32) uint32 {
	if st.run != nil && m != 0 {
		w.pc = pc
		st.run(w, m)
	}
	w.live &^= m
	w.fragments[i].mask &^= m
	return w.fragments[i].mask
}

func (w *warp) wait(i, pc int) {
	w.fragments[i].pc, w.fragments[i].blocked = pc, true
	w.meet()
}

// meet sorts the fragments and joins those that are at one instruction.
func (w *warp) meet() {
	fs := w.fragments
	for i := 1; i < len(fs); i++ {
		for j := i; j > 0 && fs[j].pc < fs[j-1].pc; j-- {
			fs[j], fs[j-1] = fs[j-1], fs[j]
		}
	}
	n := 0
	for i := 1; i < len(fs); i++ {
		if fs[i].pc == fs[n].pc {
			fs[n].mask |= fs[i].mask
			fs[n].blocked = false
		} else {
			n++
			fs[n] = fs[i]
		}
	}
	w.fragments = fs[:n+1]
}

// part sends the lanes of m to the entries of a table.
func (w *warp) part(i int, st *step, pc int, m uint32) {
	mask := w.fragments[i].mask
	w.pc = pc
	if mask&^m != 0 {
		w.fragments[i] = fragment{pc + 1, mask &^ m, false}
	} else {
		w.fragments = append(w.fragments[:i], w.fragments[i+1:]...)
	}
	for ; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		v := w.r[st.index][l]
		if v >= uint64(len(st.targets)) {
			fail(OutOfBounds, l, "entry %d of a table of %d", v, len(st.targets))
		}
		w.fragments = append(w.fragments, fragment{st.targets[v], 1 << l, false})
	}
	w.meet()
}

// members returns the lanes that have to take part in a collective together with those of m.
func (w *warp) members(st *step, m uint32) uint32 {
	if st.members < 0 {
		return full
	}
	need := uint32(0)
	of := &w.r[st.members]
	for rest := m; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest)
		mine := uint32(of[l])
		if mine>>l&1 == 0 {
			fail(Divergence, l, "the lane is not among the lanes %#08x that it names", mine)
		}
		need |= mine
	}
	return need & w.all
}
