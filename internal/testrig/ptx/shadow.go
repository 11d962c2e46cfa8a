package ptx

// Races are found by what a cell of memory remembers of its last write and of its reads. A record is one word:
//
//	bits 42..63  the interval between barriers, counted over a worker's life
//	bits 28..41  the instruction, the largest value for any further one
//	bits 14..27  the interval between warp barriers of the thread's warp
//	bits  4..13  the thread of the block
//	bits  0..3   flags
//
// Two uses of a cell are in order when a barrier lies between them, or a warp barrier for two threads of one warp, or when one
// thread made both. Intervals grow from block to block, so nothing has to be cleared between blocks.
const (
	timeShift   = 42
	whereShift  = 28
	warpShift   = 14
	threadShift = 4
	whereMask   = 1<<(timeShift-whereShift) - 1
	warpMask    = 1<<(whereShift-warpShift) - 1
	threadMask  = 1<<(warpShift-threadShift) - 1
	timeEnd     = 1 << (64 - timeShift)

	atomicWrite = 1 // of w
	inFlight    = 2 // of w: cp.async has not been waited for

	manyThreads = 1 // of r: several threads of the warp
	manyWarps   = 2 // of r: several warps of the block
	manyBlocks  = 4 // of r
)

// A cell holds the last uses of one unit of memory.
type cell struct{ w, r uint64 }

func thread(r uint64) int { return int(r >> threadShift & threadMask) }
func where(r uint64) int  { return int(r >> whereShift & whereMask) }

// together reports whether the record's thread and mine are ordered by nothing, both being in the interval of mine.
func together(r, mine uint64) bool {
	const warp = threadMask &^ 31
	switch {
	case (r^mine)>>threadShift&threadMask == 0:
		return false
	case (r^mine)>>threadShift&warp == 0:
		return (r^mine)>>warpShift&warpMask == 0
	}
	return true
}

// A clock is the time of a worker: the first records of the launch, of the block, and of the interval.
type clock struct{ launch, block, now uint64 }

// read notes a read in c. It returns the record of a write that it races with, 0 for none.
func (k *clock) read(c *cell, mine uint64) uint64 {
	w, r := c.w, c.r
	if w >= k.launch && (w < k.block || w >= k.now && together(w, mine)) {
		return w
	}
	switch {
	case r < k.launch:
		c.r = mine
	case r&manyBlocks != 0:
	case r < k.block:
		c.r = mine | manyBlocks
	case r < k.now:
		c.r = mine
	case r&manyWarps != 0:
	case (r^mine)>>(threadShift+5)&(threadMask>>5) != 0:
		c.r = mine | manyWarps
	case (r^mine)>>warpShift&warpMask != 0:
		c.r = mine
	case thread(r) != thread(mine):
		c.r = mine | manyThreads
	}
	return 0
}

// write notes a write in c; mine may have the flag atomicWrite. It returns the record of a use that it races with, and whether
// that was a read.
func (k *clock) write(c *cell, mine uint64) (uint64, bool) {
	w, r := c.w, c.r
	if w >= k.launch && w&mine&atomicWrite == 0 && (w < k.block || w >= k.now && together(w, mine)) {
		return w, false
	}
	if r >= k.launch {
		switch {
		case r&manyBlocks != 0 || r < k.block:
			return r, true
		case r < k.now:
		case r&manyWarps != 0 || together(r, mine):
			return r, true
		case r&manyThreads != 0 && (r^mine)>>warpShift&warpMask == 0:
			return r, true
		}
	}
	c.w = mine
	return 0, false
}

// cells of a page of global memory's shadow
const pageBits = 9

type page struct {
	cells  [1 << pageBits]cell
	launch int // the last one that used it
	owner  *allocation
	number int
}

// A shadow is one worker's memory of the uses of global memory. Workers do not share one: what they did is compared when the
// launch ends.
type shadow struct {
	time    uint64 // of the worker's clock
	launch  int
	pages   [][]*page // by allocation
	touched []*page   // in this launch
	blocks  []blockStart

	// room for the next launch
	shared    []byte
	cells     []cell
	registers []lanes
	warps     []*warp
}

type blockStart struct {
	from  uint64
	block [3]int
}

func (s *shadow) forget(alloc int) {
	if alloc < len(s.pages) {
		s.pages[alloc] = nil
	}
}

// page returns the page of cell i of an allocation.
func (s *shadow) page(a *allocation, i int) *page {
	if a.index < len(s.pages) {
		if list := s.pages[a.index]; i>>pageBits < len(list) {
			if p := list[i>>pageBits]; p != nil && p.launch == s.launch {
				return p
			}
		}
	}
	return s.touch(a, i>>pageBits)
}

func (s *shadow) touch(a *allocation, number int) *page {
	for a.index >= len(s.pages) {
		s.pages = append(s.pages, nil)
	}
	if s.pages[a.index] == nil {
		s.pages[a.index] = make([]*page, a.size>>pageBits+1)
	}
	p := s.pages[a.index][number]
	if p == nil {
		p = &page{owner: a, number: number}
		s.pages[a.index][number] = p
	}
	p.launch = s.launch
	s.touched = append(s.touched, p)
	return p
}

// blockAt returns the block that ran at the time of a record.
func (s *shadow) blockAt(r uint64) [3]int {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if s.blocks[i].from <= r {
			return s.blocks[i].block
		}
	}
	return [3]int{-1, -1, -1}
}

// crossing looks for memory that the blocks of two workers used, at least one of them writing.
func crossing(a, b *worker, report func(p *page, cell int, mine, other uint64, wrote bool)) bool {
	for _, p := range a.shadow.touched {
		q := b.shadow.at(p.owner.index, p.number)
		if q == nil || q.launch != b.shadow.launch {
			continue
		}
		for i := range p.cells {
			c, d := &p.cells[i], &q.cells[i]
			cw, dw := c.w >= a.clock.launch, d.w >= b.clock.launch
			switch {
			case cw && dw && c.w&d.w&atomicWrite == 0:
				report(p, i, c.w, d.w, true)
				return true
			case cw && d.r >= b.clock.launch:
				report(p, i, c.w, d.r, false)
				return true
			case dw && c.r >= a.clock.launch:
				report(p, i, c.r, d.w, true)
				return true
			}
		}
	}
	return false
}

func (s *shadow) at(alloc, number int) *page {
	if alloc >= len(s.pages) || number >= len(s.pages[alloc]) {
		return nil
	}
	return s.pages[alloc][number]
}
