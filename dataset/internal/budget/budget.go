// Package budget bounds what the readers of data files take: the memory that they hold at a time, and the bytes that they
// read and unpack, which is their time. All readers of one data set share one budget. What grows with a file, or with a number
// in it, is booked before it is allocated and given back when it is let go; buffers of a fixed size are not booked.
package budget

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"
)

const (
	leastMemory   = 1 << 30 // default, for small files
	perFileByte   = 128     // default, for large ones
	leastWork     = 128 << 20
	perFileWork   = 16
	perMemoryWork = 48 // passes over values that are wider in the file than in memory, or that are mostly zeros
	progressStep  = 4 << 20
)

// Budget bounds the memory and the work of reading. One goroutine may count what it reads (Step) while another books memory; all
// else is not for concurrent use.
type Budget struct {
	ctx      context.Context
	progress func(bytes int64) error
	asked    int64 // 0: the default
	files    int64 // bytes of the files
	used     int64
	peak     int64
	work     int64
	told     int64 // work at the last call of progress
	spent    atomic.Bool
}

// New is a budget of maxMemory bytes; 0 is 1 GiB, or 128 times the bytes of the files where that is more, but never more than
// the memory of the machine. ctx ends the reading, and so does an error of progress, which is called with the bytes read and
// unpacked so far; both may be nil.
func New(ctx context.Context, maxMemory int64, progress func(bytes int64) error) *Budget {
	return &Budget{ctx: ctx, asked: maxMemory, progress: progress}
}

// AddFile adds the size of a file that belongs to the data set.
func (b *Budget) AddFile(bytes int64) { b.files = add(b.files, bytes) }

// Files is the size of the files.
func (b *Budget) Files() int64 { return b.files }

// Max is the memory that may be taken.
func (b *Budget) Max() int64 {
	if b.asked > 0 {
		return b.asked
	}
	m := int64(leastMemory)
	if b.files > m/perFileByte {
		m = multiply(perFileByte, b.files)
	}
	return min(m, machineMemory())
}

// Used is the memory that is booked.
func (b *Budget) Used() int64 { return b.used }

// Peak is the most memory that was booked at a time.
func (b *Budget) Peak() int64 { return b.peak }

// Take books memory, or says what it was for and that it is too much.
func (b *Budget) Take(what string, bytes int64) error {
	if bytes < 0 || bytes > b.Max()-b.used {
		b.spent.Store(true)
		return fmt.Errorf("needs %s of memory for %s (%s in total, for files of %s); Options.MaxBytes allows %s",
			Size(bytes), what, Size(add(b.used, bytes)), Size(b.files), Size(b.Max()))
	}
	b.used += bytes
	b.peak = max(b.peak, b.used)
	return nil
}

// Spent reports whether more was asked for than there is, or the reading was called off: then no other file is worth a look.
func (b *Budget) Spent() bool { return b.spent.Load() || b.Err() != nil }

// Give gives memory back.
func (b *Budget) Give(bytes int64) { b.used -= bytes }

// Reset gives back what was taken since Used had this value.
func (b *Budget) Reset(used int64) { b.used = used }

// Fits reports whether some memory could be taken.
func (b *Budget) Fits(bytes int64) bool { return bytes >= 0 && bytes <= b.Max()-b.used }

// Backed reports whether bytes that nothing in the files stands for (row pointers of empty rows, say) are still in proportion to
// them.
func (b *Budget) Backed(bytes int64) bool { return bytes <= add(1<<20, multiply(64, b.files)) }

// Step counts bytes that were read or unpacked. It is an error where the context has ended, where progress says so, or where
// they are out of proportion.
func (b *Budget) Step(bytes int64) error {
	b.work = add(b.work, bytes)
	if most := b.MaxWork(); b.work > most {
		b.spent.Store(true)
		return fmt.Errorf("reads and unpacks more than %s, from files of %s; Options.MaxBytes of %s allows no more",
			Size(most), Size(b.files), Size(b.Max()))
	}
	if b.progress != nil && b.work-b.told >= progressStep {
		b.told = b.work
		if err := b.progress(b.work); err != nil {
			b.spent.Store(true)
			return err
		}
	}
	return b.Err()
}

// MaxWork is the number of bytes that may be read and unpacked.
func (b *Budget) MaxWork() int64 {
	return add(leastWork, add(multiply(perMemoryWork, b.Max()), multiply(perFileWork, b.files)))
}

// Err says that the context has ended.
func (b *Budget) Err() error {
	if b.ctx == nil {
		return nil
	}
	return b.ctx.Err()
}

// Reader counts the bytes that are read from r.
func (b *Budget) Reader(r io.Reader) io.Reader { return &reader{r, b, 1} }

// TextReader counts bytes of text, whose reading takes several times as long.
func (b *Budget) TextReader(r io.Reader) io.Reader { return &reader{r, b, textCost} }

// textCost is how much longer a byte of text takes to read than a byte takes to inflate.
const textCost = 2

// ReaderAt counts the bytes that are read from r. Reads end with the context.
func (b *Budget) ReaderAt(r io.ReaderAt) io.ReaderAt { return &readerAt{Until(b.ctx, r), b} }

// Until returns r with reads that end with ctx, if r has such reads.
func Until(ctx context.Context, r io.ReaderAt) io.ReaderAt {
	if in, ok := r.(ContextReaderAt); ok && ctx != nil {
		return &until{ctx, in}
	}
	return r
}

// ContextReaderAt is a reader whose reads may take long, and end with a context.
type ContextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

type until struct {
	ctx context.Context
	r   ContextReaderAt
}

func (r *until) ReadAt(p []byte, off int64) (int, error) { return r.r.ReadAtContext(r.ctx, p, off) }

type readerAt struct {
	r io.ReaderAt
	b *Budget
}

func (r *readerAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.b.Step(int64(len(p))); err != nil {
		return 0, err
	}
	return r.r.ReadAt(p, off)
}

type reader struct {
	r    io.Reader
	b    *Budget
	cost int64
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if stop := r.b.Step(r.cost * int64(n)); stop != nil {
		return n, stop
	}
	return n, err
}

func add(a, b int64) int64 {
	if a > math.MaxInt64-max(b, 0) {
		return math.MaxInt64
	}
	return a + max(b, 0)
}

func multiply(k, b int64) int64 {
	if b > math.MaxInt64/k {
		return math.MaxInt64
	}
	return k * b
}

// Size is a number of bytes in words.
func Size(b int64) string {
	switch {
	case b < 0 || b > 1<<60:
		return "an impossible amount"
	case b >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
	case b >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(b)/(1<<20))
	case b >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(b)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", b)
}
