package ptx

import "math/bits"

// copies are the asynchronous copies of a thread that it has not waited for.
type copies struct {
	list  []copy1
	group int // the one that cp.async joins; those before it are committed
}

type copy1 struct {
	to    uint64
	n     int
	group int
	where int
}

func (c *copies) reset() { c.list, c.group = c.list[:0], 0 }

// copyAsync returns the code of cp.async: n bytes; the first ones come from global memory, the others are zero. The bytes
// are there at once, but nothing may use them: whoever reads them before the wait is found by the flag.
func copyAsync(dst, src int, dstOffset, srcOffset uint64, n, count int) func(w *warp, m uint32) {
	return func(w *warp, m uint32) {
		to, from := &w.r[dst], &w.r[src]
		w.traffic("shared", to, dstOffset, n, m)
		if some := w.some(count, m); some != 0 {
			w.traffic("global", from, srcOffset, n, some)
		}
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			p, q, k := to[l]+dstOffset, from[l]+srcOffset, uint64(n)
			if count >= 0 {
				if k = w.r[count][l]; k > uint64(n) {
					fail(OutOfBounds, l, "cp.async of %d of %d bytes", int32(k), n)
				}
			}
			aligned(q, n, l, "global")
			b := w.sharedWrite(p, n, l, inFlight)
			if k > 0 {
				a, at := w.locateAny(q, int(k), l)
				w.globalRead(a, at, int(k), l)
				w.worker.stats.GlobalRead += int64(k)
				copy(b, a.data[at:at+int(k)])
			}
			clear(b[k:])
			c := &w.copies[l]
			c.list = append(c.list, copy1{p, n, c.group, w.pc})
		}
	}
}

// some returns the lanes whose number of bytes is not zero.
func (w *warp) some(count int, m uint32) uint32 {
	if count < 0 {
		return m
	}
	out := m
	for l, v := range w.r[count] {
		if v == 0 {
			out &^= 1 << l
		}
	}
	return out
}

// locateAny is locate for a number of bytes that need not divide the address.
func (w *warp) locateAny(addr uint64, n, lane int) (*allocation, int) {
	a, at := w.locate(addr, 1, lane)
	if at+n > len(a.data) {
		w.lost(addr, n, lane)
	}
	return a, at
}

func commitGroup(w *warp, m uint32) {
	for ; m != 0; m &= m - 1 {
		w.copies[bits.TrailingZeros32(m)].group++
	}
}

// waitGroup returns the code of cp.async.wait_group: all but the last committed groups are there. all waits for those that are
// not committed, too.
func waitGroup(last int, all bool) func(w *warp, m uint32) {
	return func(w *warp, m uint32) {
		k := w.worker
		shift := k.kernel.sharedShift
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			c := &w.copies[l]
			end := c.group - last
			if all {
				end = c.group + 1
			}
			n := 0
			mine := w.mine(l)
			for n < len(c.list) && c.list[n].group < end {
				for i := c.list[n].to >> shift; i <= (c.list[n].to+uint64(c.list[n].n)-1)>>shift; i++ {
					k.cells[i].w = mine
				}
				n++
			}
			c.list = append(c.list[:0], c.list[n:]...)
		}
	}
}
