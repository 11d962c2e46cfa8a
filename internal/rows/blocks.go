package rows

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Reads holds what the reading of rows from outside memory shares within one piece of work: its context, and the first error.
// A read that fails gives rows of NaN and ends the work: by the work's context soon, and where not a single sum more may count,
// by asking Err. What ends the work does not end its reads at once: its result so far may need them. A read that then takes
// longer than the grace is ended.
type Reads struct {
	ctx   context.Context
	stop  context.CancelFunc
	work  context.Context
	end   context.CancelCauseFunc // of the work
	mu    sync.Mutex
	err   error
	ahead sync.WaitGroup // reads that nobody waits for
}

// NewReads returns the reads of some work with the context that the work is to use from now on. End ends them.
func NewReads(ctx context.Context) (*Reads, context.Context) {
	r := &Reads{}
	r.ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.work, r.end = context.WithCancelCause(ctx)
	return r, r.work
}

// Err returns the first error of a read, nil if there was none.
func (r *Reads) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// End ends the reads that are under way, and waits for them. Nothing may be read afterwards.
func (r *Reads) End() {
	r.stop()
	r.end(nil)
	r.ahead.Wait()
}

func (r *Reads) fail(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.end(err)
}

// grace is how long a read may take once its work has ended.
const grace = 500 * time.Millisecond

// Do calls read with a context that ends when the reads do, or the grace after the work has.
func (r *Reads) Do(read func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.work, func() {
		time.AfterFunc(grace, func() { cancel(context.Cause(r.work)) })
	})()
	return read(ctx)
}

// Failed is implemented by a Matrix whose rows may fail to be read.
type Failed interface {
	// Err returns the first error of a read, nil if there was none. Results computed from the rows since then are invalid.
	Err() error
}

// Failure returns the error of the first of some matrices whose rows could not be read.
func Failure[T kernel.Float](x []Matrix[T]) error {
	for _, m := range x {
		if f, ok := m.(Failed); ok {
			if err := f.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// blockBytes is about the size of a block: large enough for a disk to be at its rate, small enough for some of them to
	// be in a cache that cores share.
	blockBytes = 1 << 19
	// fewestRows and mostRows bound the rows of a block.
	fewestRows, mostRows = 64, 1 << 14
	// ahead is the number of blocks that are made before they are asked for.
	ahead = 2
)

// BlockRows is the number of rows of a block, for rows of some bytes.
func BlockRows(bytes int) int { return min(max(blockBytes/max(bytes, 1), fewestRows), mostRows) &^ 63 }

// keptBlocks is the number of blocks that are kept for some goroutines: each works in one or two and has more ahead.
func keptBlocks(workers int) int { return 2 + (2+ahead)*parallel.Workers(workers) }

// BlocksBytes is the memory of Blocks of d columns, for some goroutines, in numbers of size bytes.
func BlocksBytes(d, workers int, size int64) int64 {
	return int64(keptBlocks(workers)) * int64(BlockRows(d*int(size))) * int64(d) * size
}

// Blocks is a Matrix whose rows are made a block at a time when they are needed: read from a file, for one. The blocks that were
// used last are kept, and where blocks are asked for in order the next ones are made ahead.
type Blocks[T kernel.Float] struct {
	n, d, rows, most int

	reads *Reads
	make  func(ctx context.Context, lo, hi int, dst []T) error

	mu    sync.Mutex
	kept  map[int]*block[T]
	clock int
	gone  recent    // blocks that were used and given up
	pool  sync.Pool // of []T, for rows that lie in two blocks
}

// block is a block that is there or on its way.
type block[T kernel.Float] struct {
	number, users, last int
	used                bool          // somebody has asked for it
	ready               chan struct{} // closed once x is filled
	x                   []T
}

// recent is the last numbers of many, in a ring.
type recent struct {
	ring []int
	next int
	held map[int]int // of a number, its place in the ring
}

// mostRecent bounds the numbers of recent; of few blocks they are fewer, for the next pass reads all again.
const mostRecent = 1 << 10

func newRecent(blocks int) recent {
	return recent{ring: slices.Repeat([]int{-1}, min(mostRecent, blocks/4)), held: map[int]int{}}
}

func (r *recent) has(number int) bool { _, ok := r.held[number]; return ok }

func (r *recent) add(number int) {
	if len(r.ring) == 0 {
		return
	}
	if old := r.ring[r.next]; r.held[old] == r.next {
		delete(r.held, old)
	}
	r.ring[r.next], r.held[number] = number, r.next
	r.next = (r.next + 1) % len(r.ring)
}

var (
	_ Matrix[float32] = (*Blocks[float32])(nil)
	_ Matrix[float64] = (*Blocks[float64])(nil)
	_ Failed          = (*Blocks[float32])(nil)
)

// NewBlocks returns the n×d matrix whose rows [lo, hi) fill writes to dst, for use by some goroutines. fill is called by several
// goroutines at once.
func NewBlocks[T kernel.Float](
	r *Reads, n, d, workers int, fill func(ctx context.Context, lo, hi int, dst []T) error,
) *Blocks[T] {
	var t T
	rows := BlockRows(d * sizeOf(t))
	return &Blocks[T]{
		n: n, d: d, rows: rows, most: keptBlocks(workers), reads: r, make: fill, kept: map[int]*block[T]{},
		gone: newRecent(n / rows),
	}
}

// Dims returns the number of rows and columns.
func (m *Blocks[T]) Dims() (int, int) { return m.n, m.d }

// Bytes is the memory of the blocks that are kept.
func (m *Blocks[T]) Bytes() int64 {
	var t T
	return int64(m.most) * int64(m.rows) * int64(m.d) * int64(sizeOf(t))
}

// Err returns the first error of a read.
func (m *Blocks[T]) Err() error { return m.reads.Err() }

// acquire returns a block, which release gives back.
func (m *Blocks[T]) acquire(number int) *block[T] {
	m.mu.Lock()
	b := m.kept[number]
	mine := b == nil
	if mine {
		b = m.take(number, true)
	}
	b.users++
	b.used = true
	m.clock++
	b.last = m.clock
	begun := false
	if m.kept[number-1] != nil || number == 0 {
		for next := number + 1; next <= number+ahead && next*m.rows < m.n; next++ {
			if m.kept[next] != nil || m.gone.has(next) { // another goroutine is done with it
				continue
			}
			if later := m.take(next, false); later != nil {
				m.reads.ahead.Add(1)
				go func() {
					defer m.reads.ahead.Done()
					m.fill(later)
				}()
				begun = true
			}
		}
	}
	m.mu.Unlock()
	if begun { // Where all processors compute, nobody else would begin the reads before their blocks are needed.
		runtime.Gosched()
	}
	if mine {
		m.fill(b)
	} else {
		<-b.ready
	}
	return b
}

func (m *Blocks[T]) release(b *block[T]) {
	m.mu.Lock()
	b.users--
	m.mu.Unlock()
}

// take makes room for a block, in the place of the one that was used least recently; nil where all are in use and it is not
// needed now.
func (m *Blocks[T]) take(number int, needed bool) *block[T] {
	b := &block[T]{number: number, last: m.clock, ready: make(chan struct{})}
	if len(m.kept) >= m.most {
		var oldest *block[T]
		for _, k := range m.kept {
			if k.users == 0 && isReady(k) && (oldest == nil || m.age(k) > m.age(oldest)) {
				oldest = k
			}
		}
		switch {
		case oldest != nil:
			delete(m.kept, oldest.number)
			if oldest.used {
				m.gone.add(oldest.number)
			}
			b.x = oldest.x
		case !needed:
			return nil
		}
	}
	if b.x == nil {
		b.x = make([]T, min(m.rows, m.n)*m.d)
	}
	m.kept[number] = b
	return b
}

// waits is how long, in blocks that are asked for, one that was made ahead is thought to be still wanted.
const waits = 64

// age is how long ago a block was used.
func (m *Blocks[T]) age(b *block[T]) int {
	if !b.used {
		return m.clock - b.last - waits
	}
	return m.clock - b.last
}

func isReady[T kernel.Float](b *block[T]) bool {
	select {
	case <-b.ready:
		return true
	default:
		return false
	}
}

func (m *Blocks[T]) fill(b *block[T]) {
	defer close(b.ready)
	lo := b.number * m.rows
	hi := min(lo+m.rows, m.n)
	if m.read(lo, hi, b.x[:(hi-lo)*m.d]) {
		return
	}
	b.x = make([]T, len(b.x)) // the old ones may be the source's for ever
	for i := range b.x {
		b.x[i] = T(math.NaN())
	}
}

// read makes rows [lo, hi) and reports whether that was possible; the reads have the error.
func (m *Blocks[T]) read(lo, hi int, dst []T) bool {
	err := m.reads.ctx.Err()
	if err == nil {
		err = m.safely(lo, hi, dst)
	}
	if err != nil {
		m.reads.fail(err)
	}
	return err == nil
}

// safely is make, whose panics are errors: it may be a caller's own.
func (m *Blocks[T]) safely(lo, hi int, dst []T) error {
	return parallel.For(context.Background(), 1, 1, func(int, int) error {
		return m.reads.Do(func(ctx context.Context) error { return m.make(ctx, lo, hi, dst) })
	})
}

// within calls f with rows [lo, hi), which it must not keep.
func (m *Blocks[T]) within(lo, hi int, f func(x *Dense[T])) {
	if lo >= hi {
		return
	}
	first := lo / m.rows
	if hi <= (first+1)*m.rows {
		b := m.acquire(first)
		defer m.release(b)
		f(NewDense(hi-lo, m.d, m.d, b.x[(lo-first*m.rows)*m.d:(hi-first*m.rows)*m.d]))
		return
	}
	x, _ := m.pool.Get().(*[]T)
	if x == nil {
		x = new([]T)
	}
	defer m.pool.Put(x)
	if need := (hi - lo) * m.d; cap(*x) < need {
		*x = make([]T, need)
	}
	*x = (*x)[:(hi-lo)*m.d]
	m.Copy(lo, hi, *x)
	f(NewDense(hi-lo, m.d, m.d, *x))
}

// Copy writes rows [lo, hi) to dst, one after another.
func (m *Blocks[T]) Copy(lo, hi int, dst []T) {
	for at := lo; at < hi; {
		number := at / m.rows
		end := min((number+1)*m.rows, hi)
		b := m.acquire(number)
		copy(dst[(at-lo)*m.d:(end-lo)*m.d], b.x[(at-number*m.rows)*m.d:])
		m.release(b)
		at = end
	}
}

// Loner is a Matrix that has rows one by one at less cost than with those around them.
type Loner[T kernel.Float] interface {
	// RowAlone writes row i to dst, when rows near it are not wanted.
	RowAlone(i int, dst []T)
}

// RowReader returns a function that writes a row of x, for work that reads the given number of its rows.
func RowReader[T kernel.Float](x Matrix[T], wanted int) func(i int, dst []T) {
	n, _ := x.Dims()
	if l, ok := x.(Loner[T]); ok && wanted <= n/fewRows {
		return l.RowAlone
	}
	return x.Row
}

// fewRows is how many times as many rows there are, at least, where those that are wanted are read one by one.
const fewRows = 8

// RowAlone writes row i to dst, without its block unless that is there.
func (m *Blocks[T]) RowAlone(i int, dst []T) {
	number := i / m.rows
	m.mu.Lock()
	b := m.kept[number]
	if b != nil {
		b.users++
	}
	m.mu.Unlock()
	if b != nil {
		<-b.ready
		copy(dst[:m.d], b.x[(i-number*m.rows)*m.d:])
		m.release(b)
		return
	}
	row := make([]T, m.d)
	if !m.read(i, i+1, row) {
		row = slices.Repeat([]T{T(math.NaN())}, m.d)
	}
	copy(dst, row)
}

// Row writes row i to dst.
func (m *Blocks[T]) Row(i int, dst []T) { m.Copy(i, i+1, dst[:m.d]) }

// Mul sets Y = X[lo:hi]·B.
func (m *Blocks[T]) Mul(lo, hi int, b *kernel.Panel[T], y []T, ldy int) {
	m.within(lo, hi, func(x *Dense[T]) { x.Mul(0, hi-lo, b, y, ldy) })
}

// TMulAdd adds Aᵀ·X[lo:hi] to C.
func (m *Blocks[T]) TMulAdd(lo, hi, k int, a []T, lda int, c []T, ldc int) {
	m.within(lo, hi, func(x *Dense[T]) { x.TMulAdd(0, hi-lo, k, a, lda, c, ldc) })
}

// SquaredNorms sets dst[i−lo] = ‖x_i‖².
func (m *Blocks[T]) SquaredNorms(lo, hi int, dst []float64) {
	// A block at a time: callers ask for many rows at once.
	for at := lo; at < hi; {
		end := min((at/m.rows+1)*m.rows, hi)
		m.within(at, end, func(x *Dense[T]) { x.SquaredNorms(0, end-at, dst[at-lo:end-lo]) })
		at = end
	}
}
