package device

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"
)

// memory allocates a shard's arrays. Without a driver it only counts them, so that planning and allocation are the same code.
type memory struct {
	drv   Driver // nil: count
	taken []Ptr
	hosts [][]byte
	total int64
	err   error
	each  func(name string, bytes int64) // nil: not called
}

// granule is the alignment of arrays (bytes).
const granule = 256

// take returns an array of the given bytes; 0 bytes have no array.
func (m *memory) take(bytes int64, format string, args ...any) Ptr {
	if bytes == 0 || m.err != nil {
		return 0
	}
	rounded := (bytes + granule - 1) / granule * granule
	m.total += rounded
	if m.drv == nil && m.each == nil {
		return 0
	}
	name := fmt.Sprintf(format, args...)
	if m.each != nil {
		m.each(name, bytes)
	}
	if m.drv == nil {
		return 0
	}
	p, err := m.drv.Alloc(name, bytes)
	if err != nil {
		m.err = fmt.Errorf("device: %d bytes for %s: %w", bytes, name, err)
		return 0
	}
	m.taken = append(m.taken, p)
	return p
}

// host returns n numbers in the machine's memory for copies.
func host[E any](m *memory, n int) []E {
	if n == 0 || m.err != nil {
		return nil
	}
	b, err := m.drv.Host(n * size[E]())
	if err != nil {
		m.err = fmt.Errorf("device: memory for copies: %w", err)
		return nil
	}
	m.hosts = append(m.hosts, b)
	return unsafe.Slice((*E)(unsafe.Pointer(&b[0])), n)
}

// takeViews returns an array for each view, of bytes(v) bytes, and takeEach arrays of the same size.
func (m *memory) takeViews(views int, bytes func(v int) int64, format string, args ...any) (out []Ptr) {
	for v := range views {
		out = append(out, m.take(bytes(v), format+" of view %d", append(args, v)...))
	}
	return out
}

func (m *memory) takeEach(views int, bytes int64, format string, args ...any) []Ptr {
	return m.takeViews(views, func(int) int64 { return bytes }, format, args...)
}

// give releases one array.
func (m *memory) give(p Ptr) error {
	m.taken = slices.DeleteFunc(m.taken, func(q Ptr) bool { return q == p })
	return m.drv.Free(p)
}

// release releases all arrays.
func (m *memory) release() error {
	var errs []error
	for _, p := range m.taken {
		errs = append(errs, m.drv.Free(p))
	}
	for _, b := range m.hosts {
		errs = append(errs, m.drv.FreeHost(b))
	}
	m.taken, m.hosts = nil, nil
	return errors.Join(errs...)
}

// padded is the stride of rows of n elements: kernels read four at a time.
func padded(n int) int { return (n + 3) &^ 3 }

// stride is the stride of row state of m columns, whose pattern has a byte for every four elements.
func stride(m int) int { return (m + 7) &^ 7 }

// checkSizes returns an error for sizes beyond the kernels' integers.
func checkSizes(n int, dims []int, m, chunks int) error {
	const most = 1<<31 - 1<<20 // kernels start a few more threads than elements
	if n > most || m > 65535 || chunks > 65535 {
		return fmt.Errorf("device: %d samples in %d chunks and %d anchors are more than a kernel can have", n, chunks, m)
	}
	for v, d := range dims {
		if d > 1<<24 || int64(m)*int64(padded(d)) > most {
			return fmt.Errorf("device: view %d has %d columns, more than a kernel can have with %d anchors", v, d, m)
		}
	}
	return nil
}
