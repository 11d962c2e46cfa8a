package ptx

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A reach finds n bytes at an address for one lane, checks that the lane may use them, and notes the use. n divides the address.
type reach func(w *warp, addr uint64, n, lane int, write bool) []byte

// mine is the record of a use of memory by a lane.
func (w *warp) mine(lane int) uint64 {
	return w.worker.clock.now | uint64(min(w.pc, whereMask))<<whereShift | (w.time&warpMask)<<warpShift |
		uint64(32*w.id+lane)<<threadShift
}

func aligned(addr uint64, n, lane int, space string) {
	if addr&uint64(n-1) != 0 {
		failAt(Misaligned, lane, space, addr, "an access of %d bytes", n)
	}
}

// locate finds an allocation.
func (w *warp) locate(addr uint64, n, lane int) (*allocation, int) {
	aligned(addr, n, lane, "global")
	m := w.worker.memory
	i, at := int(addr>>rangeBits)-1, int(addr&(1<<rangeBits-1))
	if uint(i) < uint(len(m.list)) {
		if a := m.list[i]; at+n <= len(a.data) {
			return a, at
		}
	}
	w.lost(addr, n, lane)
	return nil, 0
}

// lost says where an address leads that is in no allocation.
func (w *warp) lost(addr uint64, n, lane int) {
	m := w.worker.memory
	i, at := int(addr>>rangeBits)-1, int64(addr&(1<<rangeBits-1))
	if i >= 0 && i < len(m.list) {
		if a := m.list[i]; a.freed {
			failAt(UseAfterFree, lane, "global", addr, "%d bytes at byte %d of %s", n, at, a.name)
		}
	}
	// An index that ran below the beginning of an array leads to the end of the range before.
	if i+1 >= 0 && i+1 < len(m.list) && at > 1<<(rangeBits-1) {
		failAt(OutOfBounds, lane, "global", addr, "%d bytes at byte %d of %s, which has %d", n, at-1<<rangeBits,
			m.list[i+1].name, m.list[i+1].size)
	}
	if i >= 0 && i < len(m.list) {
		failAt(OutOfBounds, lane, "global", addr, "%d bytes at byte %d of %s, which has %d", n, at,
			m.list[i].name, m.list[i].size)
	}
	failAt(OutOfBounds, lane, "global", addr, "%d bytes in no allocation", n)
}

func globalReach(w *warp, addr uint64, n, lane int, write bool) []byte {
	a, at := w.locate(addr, n, lane)
	if write {
		w.globalWrite(a, at, n, lane, 0)
		w.worker.stats.GlobalWritten += int64(n)
	} else {
		w.globalRead(a, at, n, lane)
		w.worker.stats.GlobalRead += int64(n)
	}
	return a.data[at : at+n]
}

func (w *warp) globalRead(a *allocation, at, n, lane int) {
	if i := bytes.IndexByte(a.ready[at:at+n], 0); i >= 0 {
		failAt(Uninitialized, lane, "global", uint64(a.base())+uint64(at), "byte %d of %s", at+i, a.name)
	}
	k := w.worker
	mine, shift := w.mine(lane), k.kernel.globalShift
	for c, end := at>>shift, (at+n-1)>>shift; c <= end; c++ {
		p := k.shadow.page(a, c)
		if r := k.clock.read(&p.cells[c&(1<<pageBits-1)], mine); r != 0 {
			w.raced("global", uint64(a.base()), c<<shift, a.name, lane, "reads", "writes", r)
		}
	}
}

func (w *warp) globalWrite(a *allocation, at, n, lane int, flags uint64) {
	k := w.worker
	if len(k.memory.constants) > 0 && k.memory.constants[a.index] {
		failAt(OutOfBounds, lane, "global", uint64(a.base())+uint64(at), "%s is constant", a.name)
	}
	mine, shift := w.mine(lane)|flags, k.kernel.globalShift
	for c, end := at>>shift, (at+n-1)>>shift; c <= end; c++ {
		p := k.shadow.page(a, c)
		if r, read := k.clock.write(&p.cells[c&(1<<pageBits-1)], mine); r != 0 {
			w.raced("global", uint64(a.base()), c<<shift, a.name, lane, "writes", verb(read), r)
		}
	}
	ready := a.ready[at : at+n]
	for i := range ready {
		ready[i] = 1
	}
}

func verb(read bool) string {
	if read {
		return "reads"
	}
	return "writes"
}

// raced reports a race.
func (w *warp) raced(space string, base uint64, at int, name string, lane int, does, did string, r uint64) {
	k := w.worker
	block := ""
	if r < k.clock.block {
		b := k.shadow.blockAt(r)
		failAt(Race, lane, space, base+uint64(at),
			"the thread %s byte %d of %s, which thread %v of block %v %s at %s", does, at,
			name, k.threadIndex(thread(r)), b, did, k.place(where(r)))
	}
	if r&(manyThreads|manyWarps|manyBlocks) != 0 && did == "reads" {
		block = " among others"
	}
	failAt(Race, lane, space, base+uint64(at),
		"the thread %s byte %d of %s, which thread %v%s %s at %s with no barrier between",
		does, at, name, k.threadIndex(thread(r)), block, did, k.place(where(r)))
}

func sharedReach(w *warp, addr uint64, n, lane int, write bool) []byte {
	if write {
		return w.sharedWrite(addr, n, lane, 0)
	}
	return w.sharedRead(addr, n, lane)
}

func (w *warp) sharedBounds(addr uint64, n, lane int) {
	aligned(addr, n, lane, "shared")
	if size := uint64(len(w.worker.shared)); addr >= size || uint64(n) > size-addr {
		failAt(OutOfBounds, lane, "shared", addr, "%d bytes; the block has %d", n, size)
	}
}

func (w *warp) sharedRead(addr uint64, n, lane int) []byte {
	w.sharedBounds(addr, n, lane)
	k := w.worker
	mine, shift := w.mine(lane), k.kernel.sharedShift
	within := clock{k.clock.block, k.clock.block, k.clock.now}
	for c, end := addr>>shift, (addr+uint64(n)-1)>>shift; c <= end; c++ {
		x := &k.cells[c]
		if x.w >= within.block && x.w < within.now && x.w&inFlight == 0 && x.r < within.now {
			x.r = mine // the first read of what was written before the last barrier
			continue
		}
		if x.w < k.clock.block {
			failAt(Uninitialized, lane, "shared", c<<shift, "nothing in the block wrote it")
		}
		if x.w&inFlight != 0 {
			failAt(Pending, lane, "shared", c<<shift, "cp.async of thread %v at %s has not been waited for",
				k.threadIndex(thread(x.w)), k.place(where(x.w)))
		}
		if r := within.read(x, mine); r != 0 {
			w.raced("shared", 0, int(c<<shift), "shared memory", lane, "reads", "writes", r)
		}
	}
	k.stats.SharedRead += int64(n)
	return k.shared[addr : addr+uint64(n)]
}

func (w *warp) sharedWrite(addr uint64, n, lane int, flags uint64) []byte {
	w.sharedBounds(addr, n, lane)
	k := w.worker
	mine, shift := w.mine(lane)|flags, k.kernel.sharedShift
	within := clock{k.clock.block, k.clock.block, k.clock.now}
	for c, end := addr>>shift, (addr+uint64(n)-1)>>shift; c <= end; c++ {
		x := &k.cells[c]
		if x.w >= k.clock.block && x.w&inFlight != 0 {
			failAt(Pending, lane, "shared", c<<shift, "written while cp.async of thread %v at %s fills it",
				k.threadIndex(thread(x.w)), k.place(where(x.w)))
		}
		if r, read := within.write(x, mine); r != 0 {
			w.raced("shared", 0, int(c<<shift), "shared memory", lane, "writes", verb(read), r)
		}
	}
	k.stats.SharedWritten += int64(n)
	return k.shared[addr : addr+uint64(n)]
}

// localMemory is a thread's own.
type localMemory struct{ data, ready []byte }

func (l *localMemory) reset(n int) {
	if len(l.data) != n {
		l.data, l.ready = make([]byte, n), make([]byte, n)
	}
	clear(l.ready)
}

func localReach(w *warp, addr uint64, n, lane int, write bool) []byte {
	aligned(addr, n, lane, "local")
	l := &w.local[lane]
	if size := uint64(len(l.data)); addr >= size || uint64(n) > size-addr {
		failAt(OutOfBounds, lane, "local", addr, "%d bytes; the thread has %d", n, size)
	}
	ready := l.ready[addr : addr+uint64(n)]
	if write {
		fill(ready, 1)
	} else if i := bytes.IndexByte(ready, 0); i >= 0 {
		failAt(Uninitialized, lane, "local", addr+uint64(i), "nothing wrote it")
	}
	return l.data[addr : addr+uint64(n)]
}

func paramReach(w *warp, addr uint64, n, lane int, write bool) []byte {
	aligned(addr, n, lane, "param")
	p := w.worker.params
	if size := uint64(len(p)); addr >= size || uint64(n) > size-addr || write {
		failAt(OutOfBounds, lane, "param", addr, "%d bytes of parameters that have %d", n, size)
	}
	return p[addr : addr+uint64(n)]
}

// genericReach returns the space of an address.
func genericReach(w *warp, addr uint64, n, lane int, write bool) []byte {
	switch {
	case addr-sharedWindow < windowSize:
		return sharedReach(w, addr-sharedWindow, n, lane, write)
	case addr-localWindow < windowSize:
		return localReach(w, addr-localWindow, n, lane, write)
	}
	return globalReach(w, addr, n, lane, write)
}

// reachOf returns the way to the space that an instruction names, and its name.
func (o *opcode) reachOf() (reach, string) {
	for _, m := range o.mods {
		switch m {
		case "global", "const":
			return globalReach, "global"
		case "shared", "shared::cta":
			return sharedReach, "shared"
		case "local":
			return localReach, "local"
		case "param", "param::entry":
			return paramReach, "param"
		}
	}
	return genericReach, ""
}

// get reads a little-endian number of 1, 2, 4 or 8 bytes.
func get(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(b[0]) | uint64(b[1])<<8
	case 4:
		return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
	}
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func put(b []byte, v uint64) {
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}

// load returns the code of ld: n bytes for each of dst, extended to the width of the registers.
func load(to reach, space string, addr, n int, offset uint64, extend bool, wide []uint64, dst []int) func(w *warp, m uint32) {
	if len(dst) == 1 && dst[0] >= 0 && n >= 4 && !extend {
		return loadOne(to, space, addr, n, offset, dst[0])
	}
	total := n * len(dst)
	return func(w *warp, m uint32) {
		a := &w.r[addr]
		w.traffic(space, a, offset, total, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			b := to(w, a[l]+offset, total, l, false)
			for i, d := range dst {
				v := get(b[i*n : i*n+n])
				if extend {
					v = uint64(int64(v<<(64-8*n))>>(64-8*n)) & wide[i]
				}
				if d >= 0 {
					w.r[d][l] = v
				}
			}
		}
	}
}

// loadOne is load for one register of 32 or 64 bits.
func loadOne(to reach, space string, addr, n int, offset uint64, dst int) func(w *warp, m uint32) {
	return func(w *warp, m uint32) {
		a, d := &w.r[addr], &w.r[dst]
		w.traffic(space, a, offset, n, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m) & 31
			b := to(w, a[l]+offset, n, l, false)
			if n == 4 {
				d[l] = uint64(binary.LittleEndian.Uint32(b))
			} else {
				d[l] = binary.LittleEndian.Uint64(b)
			}
		}
	}
}

// store returns the code of st.
func store(to reach, space string, addr, n int, offset uint64, src []int) func(w *warp, m uint32) {
	total := n * len(src)
	return func(w *warp, m uint32) {
		a := &w.r[addr]
		w.traffic(space, a, offset, total, m)
		for ; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			b := to(w, a[l]+offset, total, l, true)
			for i, s := range src {
				put(b[i*n:i*n+n], w.r[s][l])
			}
		}
	}
}
