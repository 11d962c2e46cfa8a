package ptx

import "math/bits"

// atomicOp returns the code of atom and red. Lanes come in order; a pair of atomics is no race. result is -1 for red.
func atomicOp(space string, addr, n int, offset uint64, result int, args []int,
	op func(old, b, c uint64) uint64) func(w *warp, m uint32) {
	return func(w *warp, m uint32) {
		k := w.worker
		k.memory.atomics.Lock()
		defer k.memory.atomics.Unlock()
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			p := w.r[addr][l] + offset
			b := w.atomicReach(p, n, l, space)
			old := get(b)
			y, z := w.r[args[0]][l], uint64(0)
			if len(args) > 1 {
				z = w.r[args[1]][l]
			}
			put(b, op(old, y, z))
			if result >= 0 {
				w.r[result][l] = old
			}
		}
	}
}

func (w *warp) atomicReach(p uint64, n, lane int, space string) []byte {
	if space == "" {
		if space = "global"; p-sharedWindow < windowSize {
			space, p = "shared", p-sharedWindow
		}
	}
	k := w.worker
	if space == "shared" {
		w.sharedBounds(p, n, lane)
		for c := p >> k.kernel.sharedShift; c <= (p+uint64(n)-1)>>k.kernel.sharedShift; c++ {
			if k.cells[c].w < k.clock.block {
				failAt(Uninitialized, lane, "shared", p, "nothing in the block wrote it")
			}
		}
		return w.sharedWrite(p, n, lane, atomicWrite)
	}
	a, at := w.locate(p, n, lane)
	for i, r := range a.ready[at : at+n] {
		if r == 0 {
			failAt(Uninitialized, lane, "global", p, "byte %d of %s", at+i, a.name)
		}
	}
	w.globalWrite(a, at, n, lane, atomicWrite)
	k.stats.GlobalWritten += int64(n)
	return a.data[at : at+n]
}
