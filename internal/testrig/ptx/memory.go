package ptx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// A Ptr is an address in a Memory. Zero is no address.
type Ptr uint64

// Each allocation has 1<<rangeBits addresses to itself.
const rangeBits = 36

// windows of the generic address space
const (
	sharedWindow = 1 << 60
	localWindow  = 1 << 61
	windowSize   = 1 << 32
)

// poison fills memory that nothing wrote: NaN as a float of any width.
const poison = 0xff

type allocation struct {
	index int
	name  string
	data  []byte
	ready []byte // 1 for each byte that something wrote
	freed bool
	size  int64
}

func (a *allocation) base() Ptr { return Ptr(a.index+1) << rangeBits }

// A Memory is the global memory of a device: allocations, each of which knows which of its bytes were written.
type Memory struct {
	limit, used int64
	list        []*allocation
	shadows     []*shadow // of each worker of a launch
	statics     map[*Module][]Ptr
	atomics     sync.Mutex
	constants   map[int]bool // allocations that kernels may not write
}

// ErrFull is wrapped by errors of Alloc if the memory has too few bytes left.
var ErrFull = errors.New("the memory is full")

// NewMemory returns an empty memory of limit bytes; 0 means no limit.
func NewMemory(limit int64) *Memory {
	return &Memory{limit: limit, statics: map[*Module][]Ptr{}, constants: map[int]bool{}}
}

// Used returns the bytes of the allocations that were not freed.
func (m *Memory) Used() int64 { return m.used }

// Limit returns the bytes that NewMemory was given.
func (m *Memory) Limit() int64 { return m.limit }

// Alloc returns a new allocation, whose contents are undefined until something writes them. The name is for messages.
func (m *Memory) Alloc(name string, bytes int64) (Ptr, error) {
	switch {
	case bytes < 0 || bytes >= 1<<rangeBits:
		return 0, fmt.Errorf("allocation %s of %d bytes: between 0 and %d are possible", name, bytes, int64(1)<<rangeBits-1)
	case m.limit > 0 && bytes > m.limit-m.used:
		return 0, fmt.Errorf("allocation %s of %d bytes: %w: %d of %d are free", name, bytes, ErrFull, m.limit-m.used, m.limit)
	case len(m.list) >= 1<<23:
		return 0, fmt.Errorf("allocation %s: %d were made, more than the simulator has addresses for", name, len(m.list))
	}
	a := &allocation{index: len(m.list), name: name, data: make([]byte, bytes), ready: make([]byte, bytes), size: bytes}
	fill(a.data, poison)
	m.list = append(m.list, a)
	m.used += bytes
	return a.base(), nil
}

// Free gives an allocation back. Its addresses are not used again.
func (m *Memory) Free(p Ptr) error {
	a, at, err := m.find(p, 0)
	if err != nil {
		return fmt.Errorf("free: %w", err)
	}
	if at != 0 {
		return fmt.Errorf("free of %#x, which is %d bytes into %s", uint64(p), at, a.name)
	}
	a.freed, a.data, a.ready = true, nil, nil
	m.used -= a.size
	for _, s := range m.shadows {
		s.forget(a.index)
	}
	return nil
}

// find returns the allocation that holds n bytes from p on.
func (m *Memory) find(p Ptr, n int64) (*allocation, int64, error) {
	i := int64(p>>rangeBits) - 1
	if i < 0 || i >= int64(len(m.list)) {
		return nil, 0, fmt.Errorf("address %#x is in no allocation", uint64(p))
	}
	a, at := m.list[i], int64(p&(1<<rangeBits-1))
	if a.freed {
		return nil, 0, fmt.Errorf("address %#x is in %s, which was freed", uint64(p), a.name)
	}
	if n < 0 || at+n > a.size {
		return nil, 0, fmt.Errorf("%d bytes at byte %d of %s, which has %d", n, at, a.name, a.size)
	}
	return a, at, nil
}

// Write copies src into memory.
func (m *Memory) Write(p Ptr, src []byte) error {
	a, at, err := m.find(p, int64(len(src)))
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	copy(a.data[at:], src)
	fill(a.ready[at:at+int64(len(src))], 1)
	return nil
}

// Read copies memory into dst. Bytes that nothing wrote are an error.
func (m *Memory) Read(dst []byte, p Ptr) error {
	a, at, err := m.find(p, int64(len(dst)))
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if i := bytes.IndexByte(a.ready[at:at+int64(len(dst))], 0); i >= 0 {
		return fmt.Errorf("read: nothing wrote byte %d of %s", at+int64(i), a.name)
	}
	copy(dst, a.data[at:])
	return nil
}

// Fill sets n bytes to value.
func (m *Memory) Fill(p Ptr, value byte, n int64) error {
	a, at, err := m.find(p, n)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	fill(a.data[at:at+n], value)
	fill(a.ready[at:at+n], 1)
	return nil
}

// Forget makes n bytes undefined again, so that a read of them before the next write is found.
func (m *Memory) Forget(p Ptr, n int64) error {
	a, at, err := m.find(p, n)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	fill(a.data[at:at+n], poison)
	fill(a.ready[at:at+n], 0)
	return nil
}

// Number is a type that memory can hold an array of.
type Number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Upload writes src from p on.
func Upload[T Number](m *Memory, p Ptr, src []T) error {
	if len(src) == 0 {
		return m.Write(p, nil)
	}
	buf, err := binary.Append(make([]byte, 0, binary.Size(src)), binary.LittleEndian, src)
	if err != nil {
		return err
	}
	return m.Write(p, buf)
}

// Download reads len(dst) numbers from p on.
func Download[T Number](m *Memory, dst []T, p Ptr) error {
	if len(dst) == 0 {
		return m.Read(nil, p)
	}
	buf := make([]byte, binary.Size(dst))
	if err := m.Read(buf, p); err != nil {
		return err
	}
	_, err := binary.Decode(buf, binary.LittleEndian, dst)
	return err
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
