package ptx

import (
	"math/bits"
	"sort"
)

func trailing(v uint64) int { return bits.TrailingZeros64(v) }

// slots gives every register a place. Registers that are never alive together share one: compilers number registers by the
// thousand, and a few hundred places stay in the cache. Predicates have places of their own.
func slots(f *flow, registers []typ) (of []int, values, predicates int) {
	spans := f.intervals()
	sort.Slice(spans, func(i, j int) bool {
		if spans[i].from != spans[j].from {
			return spans[i].from < spans[j].from
		}
		return spans[i].reg < spans[j].reg
	})
	of = make([]int, len(registers))
	var free []int
	busy := &byEnd{}
	for _, s := range spans {
		if s.to < 0 {
			continue
		}
		if registers[s.reg].kind == 'p' {
			of[s.reg] = predicates
			predicates++
			continue
		}
		for len(busy.ends) > 0 && busy.ends[0].to < s.from {
			free = append(free, busy.pop())
		}
		slot := values
		if n := len(free); n > 0 {
			slot, free = free[n-1], free[:n-1]
		} else {
			values++
		}
		of[s.reg] = slot
		busy.push(s.to, slot)
	}
	return of, values, predicates
}

type use struct{ to, slot int }

// byEnd is a heap of places by the end of their use.
type byEnd struct{ ends []use }

func (h *byEnd) push(to, slot int) {
	h.ends = append(h.ends, use{to, slot})
	for i := len(h.ends) - 1; i > 0; {
		up := (i - 1) / 2
		if h.ends[up].to <= h.ends[i].to {
			break
		}
		h.ends[up], h.ends[i] = h.ends[i], h.ends[up]
		i = up
	}
}

func (h *byEnd) pop() int {
	slot, last := h.ends[0].slot, len(h.ends)-1
	h.ends[0] = h.ends[last]
	h.ends = h.ends[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return slot
		}
		if c+1 < last && h.ends[c+1].to < h.ends[c].to {
			c++
		}
		if h.ends[i].to <= h.ends[c].to {
			return slot
		}
		h.ends[i], h.ends[c] = h.ends[c], h.ends[i]
		i = c
	}
}
