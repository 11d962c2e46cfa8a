package ptx

import "math/bits"

// traffic counts what a warp's access of size bytes a lane costs: pieces of 32 bytes of global memory, passes through the banks
// of shared memory. A generic access counts for the space of its first lane.
func (w *warp) traffic(space string, a *lanes, offset uint64, size int, m uint32) {
	first := a[bits.TrailingZeros32(m)] + offset
	if space == "" {
		switch {
		case first-sharedWindow < windowSize:
			space = "shared"
		case first-localWindow >= windowSize:
			space = "global"
		}
	}
	s := &w.worker.stats
	switch space {
	case "global":
		s.GlobalSectors += sectors(a, offset, size, m)
	case "shared":
		passes, phases := w.worker.banks.wavefronts(a, offset, size, m)
		s.SharedWavefronts += passes
		s.SharedConflicts += passes - phases
	}
}

// sectors counts the different pieces of 32 bytes that an access touches.
func sectors(a *lanes, offset uint64, size int, m uint32) int64 {
	var seen [64]uint64
	n := 0
	for ; m != 0; m &= m - 1 {
		at := a[bits.TrailingZeros32(m)] + offset
	next:
		for s := at >> 5; s <= (at+uint64(size)-1)>>5; s++ {
			for i := n - 1; i >= 0; i-- {
				if seen[i] == s {
					continue next
				}
			}
			if n < len(seen) { // an aligned access of at most 16 bytes lies in one piece, so that 32 are the most
				seen[n] = s
				n++
			}
		}
	}
	return int64(n)
}

// banks is room for the words that each bank has been asked for.
type banks [32][32]uint32

// wavefronts counts the passes through 32 banks of 4 bytes: lanes that want different words of one bank wait for each other.
// Accesses of 8 and 16 bytes go by halves and quarters of the warp, and phases counts those that have any lane.
func (words *banks) wavefronts(a *lanes, offset uint64, size int, m uint32) (passes, phases int64) {
	lanesOfPhase := 32
	if size > 4 {
		lanesOfPhase = 128 / size
	}
	for from := 0; from < 32; from += lanesOfPhase {
		part := m >> from & uint32(1<<lanesOfPhase-1)
		if part == 0 {
			continue
		}
		phases++
		if size == 4 && words.free(a, offset, part) {
			passes++
			continue
		}
		var count [32]uint8
		most := uint8(0)
		for ; part != 0; part &= part - 1 {
			at := a[from+bits.TrailingZeros32(part)] + offset
		next:
			for word := uint32(at >> 2); word <= uint32((at+uint64(size)-1)>>2); word++ {
				bank := word & 31
				for i := range count[bank] {
					if words[bank][i] == word {
						continue next
					}
				}
				if count[bank] < 32 {
					words[bank][count[bank]] = word
					count[bank]++
				}
				most = max(most, count[bank])
			}
		}
		passes += int64(most)
	}
	return passes, phases
}

// free reports whether no two lanes of a whole-warp access of words want different words of one bank, which is the usual case.
func (words *banks) free(a *lanes, offset uint64, m uint32) bool {
	first, seen := &words[0], uint32(0)
	for ; m != 0; m &= m - 1 {
		word := uint32((a[bits.TrailingZeros32(m)&31] + offset) >> 2)
		bank := word & 31
		if seen>>bank&1 != 0 && first[bank] != word {
			return false
		}
		seen |= 1 << bank
		first[bank] = word
	}
	return true
}
