package ptx

import "slices"

// effect says which registers an instruction reads and writes.
type effect struct{ uses, defs []int }

// targetless are the instructions whose first operand is no result.
var targetless = map[string]bool{
	"st": true, "red": true, "bra": true, "brx": true, "bar": true, "barrier": true, "ret": true, "exit": true, "trap": true,
	"cp": true, "prefetch": true, "prefetchu": true, "membar": true, "fence": true, "nanosleep": true, "discard": true,
	"applypriority": true, "pmevent": true, "brkpt": true,
}

func (in *instruction) effect() effect {
	var e effect
	use := func(r int) { e.uses = append(e.uses, r) }
	if in.guard >= 0 {
		use(in.guard)
	}
	for i := range in.args {
		if i == 0 && !targetless[in.op.base] && in.args[0].kind != addressOperand {
			in.args[0].registers(func(r int) { e.defs = append(e.defs, r) })
			continue
		}
		in.args[i].registers(use)
	}
	return e
}

// copies reports whether in only moves values, so that copying an undefined one is no use of it.
func (in *instruction) copies() bool { return in.op.base == "mov" || in.op.base == "selp" }

func (in *instruction) ends() bool {
	return in.op.base == "ret" || in.op.base == "exit" || in.op.base == "trap"
}

// A flow is the graph of a kernel's basic blocks.
type flow struct {
	code    []instruction
	effects []effect
	first   []int // first instruction of each block, and the number of instructions
	next    [][]int
	regs    int
}

func newFlow(code []instruction, regs int) *flow {
	f := &flow{code: code, regs: regs, effects: make([]effect, len(code))}
	leader := make([]bool, len(code)+1)
	leader[0] = true
	for i := range code {
		in := &code[i]
		f.effects[i] = in.effect()
		switch {
		case in.op.base == "bra":
			leader[in.target], leader[i+1] = true, true
		case in.op.base == "brx":
			for _, t := range in.targets {
				leader[t] = true
			}
			leader[i+1] = true
		case in.ends():
			leader[i+1] = true
		}
	}
	of := make([]int, len(code)+1)
	for i := range code {
		if leader[i] {
			f.first = append(f.first, i)
		}
		of[i] = len(f.first) - 1
	}
	f.first = append(f.first, len(code))
	f.next = make([][]int, len(f.first)-1)
	for b := range f.next {
		last := f.first[b+1] - 1
		in := &code[last]
		falls := in.guard >= 0
		switch {
		case in.op.base == "bra":
			f.next[b] = append(f.next[b], of[in.target])
		case in.op.base == "brx":
			for _, t := range in.targets {
				f.next[b] = append(f.next[b], of[t])
			}
		case !in.ends():
			falls = true
		}
		if falls && last+1 < len(code) {
			f.next[b] = append(f.next[b], b+1)
		}
	}
	return f
}

type bitset []uint64

func (s bitset) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }
func (s bitset) set(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s bitset) clear(i int)    { s[i>>6] &^= 1 << (i & 63) }

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// assign moves the set of certainly assigned registers over instruction i and reports the reads of others.
func (f *flow) assign(i int, sure bitset, unsure func(reg int)) {
	e, in := &f.effects[i], &f.code[i]
	all := true
	for _, r := range e.uses {
		if !sure.has(r) {
			all = false
			if unsure != nil {
				unsure(r)
			}
		}
	}
	for _, r := range e.defs {
		switch {
		case in.copies() && !all:
			sure.clear(r)
		case in.guard < 0:
			sure.set(r)
		}
	}
}

// unsure returns the registers that some path reads before it writes them.
func (f *flow) unsure() bitset {
	n := len(f.next)
	in := make([]bitset, n)
	work := worklist{queued: make([]bool, n)}
	for b := range in {
		in[b] = newBitset(f.regs)
		if b > 0 {
			for i := range in[b] {
				in[b][i] = ^uint64(0)
			}
		}
		work.add(b)
	}
	sure := newBitset(f.regs)
	for len(work.blocks) > 0 {
		b := work.take()
		copy(sure, in[b])
		for i := f.first[b]; i < f.first[b+1]; i++ {
			f.assign(i, sure, nil)
		}
		for _, s := range f.next[b] {
			changed := false
			for i, v := range sure {
				if w := in[s][i] & v; w != in[s][i] {
					in[s][i], changed = w, true
				}
			}
			if changed {
				work.add(s)
			}
		}
	}
	found := newBitset(f.regs)
	for b := range n {
		copy(sure, in[b])
		for i := f.first[b]; i < f.first[b+1]; i++ {
			f.assign(i, sure, func(r int) { found.set(r) })
		}
	}
	return found
}

// A worklist holds the blocks that are to be visited, each at most once.
type worklist struct {
	blocks []int
	queued []bool // of every block
}

func (w *worklist) add(b int) {
	if !w.queued[b] {
		w.blocks, w.queued[b] = append(w.blocks, b), true
	}
}

// take removes the oldest block and returns it.
func (w *worklist) take() int {
	b := w.blocks[0]
	w.blocks, w.queued[b] = w.blocks[1:], false
	return b
}

// An interval is the stretch of instructions over which a register holds a value that is still read.
type interval struct{ reg, from, to int }

// intervals returns those of all registers that occur, by their beginning.
func (f *flow) intervals() []interval {
	spans := make([]interval, f.regs)
	for r := range spans {
		spans[r] = interval{r, len(f.code), -1}
	}
	touch := func(r, i int) { spans[r].from, spans[r].to = min(spans[r].from, i), max(spans[r].to, i) }
	touchAll := func(s bitset, i int) {
		for w, v := range s {
			for ; v != 0; v &= v - 1 {
				touch(w*64+trailing(v), i)
			}
		}
	}
	live := f.live()
	after := newBitset(f.regs)
	for b := range f.next {
		touchAll(live[b], f.first[b])
		f.liveAfter(b, live, after)
		touchAll(after, f.first[b+1]-1)
		for i := f.first[b]; i < f.first[b+1]; i++ {
			for _, r := range f.effects[i].uses {
				touch(r, i)
			}
			for _, r := range f.effects[i].defs {
				touch(r, i)
			}
		}
	}
	return spans
}

// live returns the registers that are still read, at the beginning of each block.
func (f *flow) live() []bitset {
	n := len(f.next)
	live := make([]bitset, n)
	before := make([][]int, n)
	work := worklist{queued: make([]bool, n)}
	for b := n - 1; b >= 0; b-- {
		live[b] = newBitset(f.regs)
		for _, s := range f.next[b] {
			before[s] = append(before[s], b)
		}
		work.add(b)
	}
	cur := newBitset(f.regs)
	for len(work.blocks) > 0 {
		b := work.take()
		f.liveAfter(b, live, cur)
		for i := f.first[b+1] - 1; i >= f.first[b]; i-- {
			f.back(i, cur)
		}
		if !slices.Equal(live[b], cur) {
			copy(live[b], cur)
			for _, q := range before[b] {
				work.add(q)
			}
		}
	}
	return live
}

// liveAfter sets out to the registers that are still read at the end of block b.
func (f *flow) liveAfter(b int, live []bitset, out bitset) {
	clear(out)
	for _, s := range f.next[b] {
		for i, v := range live[s] {
			out[i] |= v
		}
	}
}

// back moves the set of live registers over instruction i, against its direction.
func (f *flow) back(i int, live bitset) {
	e, in := &f.effects[i], &f.code[i]
	for _, r := range e.defs {
		if in.guard < 0 {
			live.clear(r)
		} else {
			live.set(r)
		}
	}
	for _, r := range e.uses {
		live.set(r)
	}
}
