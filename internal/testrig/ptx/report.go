package ptx

import (
	"fmt"
	"math/bits"
)

// parted reports the barrier that not all threads of the block reached.
func (w *worker) parted() {
	var here *warp
	for _, q := range w.warps {
		if q.live != 0 {
			here = q
			break
		}
	}
	for _, q := range w.warps {
		missing := q.all &^ q.live
		switch {
		case missing != 0:
			fail(Divergence, -1, "thread %v ended, but thread %v waits at the barrier at %s",
				q.thread(bits.TrailingZeros32(missing)), here.thread(bits.TrailingZeros32(here.live)),
				w.place(here.atBarrier))
		case q.atBarrier != here.atBarrier:
			fail(Divergence, -1, "thread %v waits at the barrier at %s, thread %v at the one at %s",
				here.thread(bits.TrailingZeros32(here.live)), w.place(here.atBarrier), q.thread(0), w.place(q.atBarrier))
		}
	}
}

// place names an instruction.
func (w *worker) place(pc int) string {
	if pc < 0 || pc >= len(w.kernel.lines) || pc >= whereMask {
		return "an instruction that is not known"
	}
	return fmt.Sprintf("line %d (%s)", w.kernel.lines[pc], w.kernel.texts[pc])
}

// report completes a fault.
func (w *worker) report(q *warp, e *fault) *Fault {
	f := &Fault{Kind: e.kind, Kernel: w.kernel.name, Block: w.block, Thread: [3]int{-1, -1, -1}, Space: e.space,
		Address: e.address, Detail: e.detail}
	if q != nil {
		f.Line, f.Instruction = w.kernel.lines[q.pc], w.kernel.texts[q.pc]
		if e.lane >= 0 {
			f.Thread = q.thread(e.lane)
		}
	}
	return f
}

// thread returns the index of a lane's thread in its block.
func (w *warp) thread(lane int) [3]int { return w.worker.threadIndex(32*w.id + lane) }

func (w *worker) threadIndex(n int) [3]int {
	d := w.launch.Block
	return [3]int{n % d[0], n / d[0] % d[1], n / (d[0] * d[1])}
}

// crossed returns the race between the blocks of two workers, nil for none.
func (w *worker) crossed(v *worker) (f *Fault) {
	crossing(w, v, func(p *page, c int, mine, other uint64, wrote bool) {
		how := "reads"
		if wrote {
			how = "writes"
		}
		at := where(mine)
		f = &Fault{Kind: Race, Kernel: w.kernel.name, Block: w.shadow.blockAt(mine), Thread: w.threadIndex(thread(mine)),
			Space: "global", Address: uint64(p.owner.base()) + uint64(p.number<<pageBits+c)<<w.kernel.globalShift}
		if at < whereMask {
			f.Line, f.Instruction = w.kernel.lines[at], w.kernel.texts[at]
		}
		f.Detail = fmt.Sprintf("byte %d of %s, which thread %v of block %v %s at %s", f.Address-uint64(p.owner.base()),
			p.owner.name, v.threadIndex(thread(other)), v.shadow.blockAt(other), how, v.place(where(other)))
	})
	return f
}
