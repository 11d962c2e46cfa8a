package ptx

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A Launch says how a kernel runs.
type Launch struct {
	Grid, Block     [3]int // a zero counts as one
	Shared          int    // bytes of dynamic shared memory of a block
	Args            []any  // one for each parameter; see the package's text
	Order           uint64 // 0: blocks and warps by number; otherwise the seed of a permutation of both
	Workers         int    // most blocks at once; 0: one for each processor
	Only            []int  // the blocks that run, by their numbers in the grid; nil: all
	MaxInstructions int64  // of all threads together; 0: 1<<36
	Target          string // architecture of the card, which bounds shared memory; "": the text's
}

// bounds of every architecture from sm_70 to sm_90
const (
	maxThreadsOfBlock = 1024
	maxGridX          = 1<<31 - 1
	maxGridYZ         = 65535
)

// MaxShared is the dynamic and static shared memory that a block can have, by architecture. Not all newer ones have more: cards
// for desks have less than those for data centres.
func MaxShared(target string) int {
	switch target {
	case "sm_70", "sm_72":
		return 96 << 10
	case "sm_75":
		return 64 << 10
	case "sm_80", "sm_87":
		return 163 << 10
	case "sm_86", "sm_88", "sm_89", "sm_120", "sm_121":
		return 99 << 10
	}
	return 227 << 10
}

// Capability is the number of an architecture, such as 80 for sm_80; false where the name is none.
func Capability(target string) (int, bool) {
	number, ok := strings.CutPrefix(target, "sm_")
	n, err := strconv.Atoi(strings.TrimRight(number, "af"))
	return n, ok && err == nil
}

// Launch runs the kernel over a grid and returns when all of its blocks have ended. What the kernel does wrong is a *Fault; what
// is wrong with the launch itself is another error.
func (k *Kernel) Launch(ctx context.Context, m *Memory, l Launch) (Stats, error) {
	var stats Stats
	if err := ctx.Err(); err != nil {
		return stats, err
	}
	r, err := k.newRunning(ctx, m, &l)
	if err != nil {
		return stats, fmt.Errorf("launch of %s: %w", k.name, err)
	}
	count := l.Workers
	if count <= 0 {
		count = runtime.GOMAXPROCS(0)
	}
	count = min(count, r.blocks)
	for len(m.shadows) < count {
		m.shadows = append(m.shadows, &shadow{})
	}
	workers := make([]*worker, count)
	for i := range workers {
		workers[i] = newWorker(k, m, r, i)
	}
	var group sync.WaitGroup
	for _, w := range workers[1:] {
		group.Go(w.run)
	}
	workers[0].run()
	group.Wait()
	for _, w := range workers {
		stats.add(&w.stats)
	}
	if err := ctx.Err(); err != nil {
		return stats, err
	}
	if r.fault != nil {
		return stats, r.fault
	}
	for i, a := range workers {
		for _, b := range workers[:i] {
			if f := a.crossed(b); f != nil {
				return stats, f
			}
		}
	}
	return stats, nil
}

// newRunning checks a launch and returns what its workers share.
func (k *Kernel) newRunning(ctx context.Context, m *Memory, l *Launch) (*running, error) {
	blocks, err := k.check(l)
	if err != nil {
		return nil, err
	}
	params, err := k.marshal(l.Args)
	if err != nil {
		return nil, err
	}
	statics, err := m.staticsOf(k.module)
	if err != nil {
		return nil, err
	}
	r := &running{ctx: ctx, launch: l, blocks: blocks, params: params, statics: statics, order: l.blockOrder(blocks)}
	r.budget.Store(l.MaxInstructions)
	if l.MaxInstructions <= 0 {
		r.budget.Store(1 << 36)
	}
	return r, nil
}

// blockOrder returns the numbers of the blocks in the order in which they run; nil: all by number.
func (l *Launch) blockOrder(blocks int) []int {
	if l.Order == 0 {
		return l.Only
	}
	order := rand.New(rand.NewPCG(l.Order, 0x9e3779b97f4a7c15)).Perm(blocks)
	if l.Only != nil {
		for i, n := range order {
			order[i] = l.Only[n]
		}
	}
	return order
}

// check completes and judges the shape of a launch, and returns the number of its blocks.
func (k *Kernel) check(l *Launch) (int, error) {
	for d, most := range [3]int{maxGridX, maxGridYZ, maxGridYZ} {
		l.Grid[d], l.Block[d] = cmp.Or(l.Grid[d], 1), cmp.Or(l.Block[d], 1)
		if l.Grid[d] < 0 || l.Grid[d] > most {
			return 0, fmt.Errorf("grid %v: dimension %d is not between 1 and %d", l.Grid, d, most)
		}
		if l.Block[d] < 0 || l.Block[d] > maxThreadsOfBlock || d == 2 && l.Block[d] > 64 {
			return 0, fmt.Errorf("block %v: dimension %d is out of range", l.Block, d)
		}
	}
	l.Target = cmp.Or(l.Target, k.module.target)
	if err := k.checkBlock(l); err != nil {
		return 0, err
	}
	if l.Only != nil {
		return len(l.Only), nil
	}
	blocks := int64(l.Grid[0]) * int64(l.Grid[1]) * int64(l.Grid[2])
	if blocks > 1<<31 {
		return 0, fmt.Errorf("grid %v has %d blocks, more than the simulator runs", l.Grid, blocks)
	}
	return int(blocks), nil
}

// checkBlock compares the threads and the shared memory of a block with what the kernel and the card allow.
func (k *Kernel) checkBlock(l *Launch) error {
	threads := l.Block[0] * l.Block[1] * l.Block[2]
	switch {
	case threads > maxThreadsOfBlock:
		return fmt.Errorf("block %v has %d threads, more than %d", l.Block, threads, maxThreadsOfBlock)
	case k.maxThreads > 0 && threads > k.maxThreads:
		return fmt.Errorf("block %v has %d threads; the kernel allows %d", l.Block, threads, k.maxThreads)
	case k.exact && threads != k.maxThreads:
		return fmt.Errorf("block %v has %d threads; the kernel wants %d", l.Block, threads, k.maxThreads)
	case l.Shared < 0 || k.dynamicAt+l.Shared > MaxShared(l.Target):
		return fmt.Errorf("%d bytes of shared memory beside %d static ones; %s has %d", l.Shared, k.dynamicAt,
			l.Target, MaxShared(l.Target))
	}
	return nil
}

// marshal lays the arguments out as the kernel reads them.
func (k *Kernel) marshal(args []any) ([]byte, error) {
	if len(args) != len(k.params) {
		return nil, fmt.Errorf("%d arguments for %d parameters", len(args), len(k.params))
	}
	buf := make([]byte, k.paramBytes)
	for i, a := range args {
		p := k.params[i]
		if v, ok := a.([]byte); ok {
			if !p.bytes || len(v) != p.Size {
				return nil, fmt.Errorf("argument %d, %d bytes, is no %s of %d", i, len(v), p.Name, p.Size)
			}
			copy(buf[p.at:], v)
			continue
		}
		if v, ok := a.(int); ok && !fits(v, p.Size) {
			return nil, fmt.Errorf("argument %d, %d, does not fit %s of %d bytes", i, v, p.Name, p.Size)
		}
		bits, size := argumentBits(a, p.Size)
		switch {
		case size == 0:
			return nil, fmt.Errorf("argument %d is of type %T", i, a)
		case p.bytes || size != p.Size:
			return nil, fmt.Errorf("argument %d, a %T, is no %s of %d bytes", i, a, p.Name, p.Size)
		case size == 4:
			binary.LittleEndian.PutUint32(buf[p.at:], uint32(bits))
		default:
			binary.LittleEndian.PutUint64(buf[p.at:], bits)
		}
	}
	return buf, nil
}

// fits reports whether an int can be given for a parameter of size bytes.
func fits(v, size int) bool {
	return size == 8 || size == 4 && v >= math.MinInt32 && v <= math.MaxUint32
}

// argumentBits returns the bits of an argument and their number of bytes: of an int want, and 0 for a type that no parameter has.
func argumentBits(a any, want int) (bits uint64, size int) {
	switch v := a.(type) {
	case Ptr:
		return uint64(v), 8
	case int32:
		return uint64(uint32(v)), 4
	case uint32:
		return uint64(v), 4
	case int64:
		return uint64(v), 8
	case uint64:
		return v, 8
	case float32:
		return uint64(math.Float32bits(v)), 4
	case float64:
		return math.Float64bits(v), 8
	case int:
		return uint64(v), want
	}
	return 0, 0
}

// running holds the state that the workers of a launch share.
type running struct {
	ctx     context.Context
	launch  *Launch
	blocks  int
	order   []int // nil: by number
	params  []byte
	statics []Ptr
	next    atomic.Int64
	budget  atomic.Int64
	stop    atomic.Bool

	mutex   sync.Mutex
	fault   *Fault
	faultAt int64 // in the order of the blocks
}

// failed keeps the fault of the block that comes first, so that the same fault is reported for any number of workers.
func (r *running) failed(f *Fault, at int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.fault == nil || at < r.faultAt {
		r.fault, r.faultAt = f, at
	}
	r.stop.Store(true)
}
