package ptx

import "math/rand/v2"

// A worker runs blocks one after another.
type worker struct {
	kernel *Kernel
	memory *Memory
	*running
	number  int
	stats   Stats
	spent   int64 // instructions that the budget does not know of yet
	clock   clock
	shadow  *shadow
	shared  []byte
	cells   []cell // of shared memory
	warps   []*warp
	threads int
	block   [3]int
	at      int64 // of the block, in order
	random  *rand.Rand
	banks   banks
	turns   []int
}

func newWorker(k *Kernel, m *Memory, r *running, number int) *worker {
	w := &worker{kernel: k, memory: m, running: r, number: number, shadow: m.shadows[number]}
	if s := w.shadow; s.time > timeEnd/2 {
		*s = shadow{launch: s.launch}
	}
	l := r.launch
	w.threads = l.Block[0] * l.Block[1] * l.Block[2]
	n := (w.threads + 31) / 32
	w.room(n)
	w.turns = make([]int, n)
	for i, q := range w.warps {
		w.turns[i] = i
		for _, c := range k.constants {
			v := c.value
			if c.global >= 0 {
				v += uint64(r.statics[c.global])
			}
			for j := range q.r[c.slot] {
				q.r[c.slot][j] = v
			}
		}
	}
	s := w.shadow
	s.launch++
	s.touched, s.blocks = s.touched[:0], s.blocks[:0]
	w.clock = clock{launch: (s.time + 1) << timeShift}
	return w
}

// room takes what earlier launches of the worker left, so that many small launches cost little. Registers, shared memory and its
// cells need no clearing: what they hold is of an earlier time.
func (w *worker) room(warps int) {
	k, s := w.kernel, w.shadow
	size := k.dynamicAt + w.launch.Shared
	w.shared = grown(&s.shared, size)
	w.cells = grown(&s.cells, size>>k.sharedShift+1)
	registers := grown(&s.registers, warps*k.slots)
	for len(s.warps) < warps {
		s.warps = append(s.warps, &warp{id: len(s.warps)})
	}
	w.warps = s.warps[:warps]
	for i, q := range w.warps {
		q.worker = w
		q.r = registers[i*k.slots : (i+1)*k.slots]
		q.p, q.written = grown(&q.p, k.predicates), grown(&q.written, k.tracked)
	}
}

// grown returns a slice of n elements from *room, which grows where it is too small.
func grown[T any](room *[]T, n int) []T {
	if cap(*room) < n {
		*room = make([]T, n)
	}
	return (*room)[:n]
}

// run takes blocks until none is left.
func (w *worker) run() {
	for !w.stop.Load() {
		w.at = w.next.Add(1) - 1
		if w.at >= int64(w.blocks) {
			break
		}
		n := int(w.at)
		if w.order != nil {
			n = w.order[n]
		}
		if f := w.runBlock(n); f != nil {
			w.failed(f, w.at)
			break
		}
	}
	w.settle()
}

func (w *worker) runBlock(n int) (f *Fault) {
	g := w.launch.Grid
	w.block = [3]int{n % g[0], n / g[0] % g[1], n / (g[0] * g[1])}
	current := (*warp)(nil)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *fault:
			f = w.report(current, e)
		case cancelled:
		default:
			panic(e)
		}
	}()
	w.tick()
	w.clock.block = w.clock.now
	w.stats.Blocks++
	w.shadow.blocks = append(w.shadow.blocks, blockStart{w.clock.now, w.block})
	for _, q := range w.warps {
		q.reset(w.threads)
		q.specials()
	}
	if w.launch.Order != 0 {
		w.random = rand.New(rand.NewPCG(w.launch.Order, uint64(n)))
	}
	for {
		if w.random != nil {
			w.random.Shuffle(len(w.turns), func(i, j int) { w.turns[i], w.turns[j] = w.turns[j], w.turns[i] })
		}
		waiting := 0
		for _, i := range w.turns {
			if current = w.warps[i]; current.run() {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		first := w.warps[0]
		for _, q := range w.warps {
			if current = q; q.live != q.all || q.atBarrier != first.atBarrier {
				w.parted()
			}
		}
		for _, q := range w.warps {
			q.fragments[0].pc++
			q.fragments[0].blocked = false
			q.time = 0
		}
		w.tick()
	}
}

// tick begins an interval between barriers.
func (w *worker) tick() {
	s := w.shadow
	if s.time++; s.time == timeEnd {
		w.rebase()
	}
	w.clock.now = s.time << timeShift
}

// rebase begins to count time from zero in the middle of a launch. What the shadows know of earlier intervals is lost, except
// which shared memory was written.
func (w *worker) rebase() {
	s := w.shadow
	s.time = 2
	all := w.shadow.cells[:cap(w.shadow.cells)]
	clear(all[len(w.cells):])
	for i := range w.cells {
		c := &w.cells[i]
		if c.r = 0; c.w >= w.clock.block {
			c.w = 1<<timeShift | c.w&(1<<timeShift-1)
		} else {
			c.w = 0
		}
	}
	s.pages, s.touched = nil, nil
	for i := range s.blocks {
		s.blocks[i].from = 0
	}
	w.clock.launch, w.clock.block = 1<<timeShift, 1<<timeShift
}

type cancelled struct{}

// count adds to the statistics, and now and then looks whether the launch should end.
func (w *worker) count(warps, threads int64) {
	w.stats.WarpInstructions += warps
	w.stats.Instructions += threads
	if w.spent += warps; w.spent > 1<<16 {
		w.settle()
		if w.budget.Load() < 0 {
			fail(Limit, -1, "the launch has used up its instructions")
		}
		if w.ctx.Err() != nil {
			w.stop.Store(true)
			panic(cancelled{})
		}
	}
}

func (w *worker) settle() {
	w.budget.Add(-32 * w.spent)
	w.spent = 0
}
