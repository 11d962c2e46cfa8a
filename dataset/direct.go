package dataset

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Rows of files that are larger than what the system has memory for are read past its cache of files: nothing of them would be
// found there again, and each page that comes in pushes out another that may be wanted, the state of a fit for one.

// directAlign is a multiple of what the system wants offsets, lengths and memory of such reads to be multiples of.
const directAlign = 4096

// pastMemory is the memory that reads past the cache go to. It lies in huge pages where the system has them: a disk of a virtual
// machine gives twice as much to memory in one piece as to pages of 4 KiB from all over, which Go's memory is made of.
type pastMemory struct {
	free chan []byte // slots

	mu   sync.Mutex
	made int
	maps []func() error // which give the pages back
}

const (
	hugePage    = 2 << 20
	slotsInPage = 3
	mostSlots   = 4 * slotsInPage                                    // far more reads than keep a disk at its rate
	slotBytes   = hugePage / slotsInPage / directAlign * directAlign // of a slot
	pastBytes   = slotBytes - 2*directAlign                          // is what is read at once: it begins and ends anywhere
)

func newPastMemory() *pastMemory { return &pastMemory{free: make(chan []byte, mostSlots)} }

// slot returns slotBytes of aligned memory, which go back to free. It waits where all are in use.
func (m *pastMemory) slot() []byte {
	select {
	case s := <-m.free:
		return s
	default:
	}
	m.mu.Lock()
	if m.made < mostSlots {
		m.made += slotsInPage
		page, unmap := hugePages(2 * hugePage)
		if page == nil {
			page = make([]byte, 2*hugePage)
		} else {
			m.maps = append(m.maps, unmap)
		}
		skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(page)))) & (hugePage - 1)
		for k := range slotsInPage {
			m.free <- page[skip+k*slotBytes:][:slotBytes:slotBytes]
		}
	}
	m.mu.Unlock()
	return <-m.free
}

// close gives the memory back, none of which is in use.
func (m *pastMemory) close() error {
	if m == nil {
		return nil
	}
	var errs []error
	for _, unmap := range m.maps {
		errs = append(errs, unmap())
	}
	return errors.Join(errs...)
}

// directFile is a file that is read past the system's cache.
type directFile struct {
	*os.File             // as usual, where the system refuses
	past     *os.File    // past the cache
	refused  atomic.Bool // the system does not read this file past its cache
	memory   *pastMemory // of all files that are read so
}

// openDirect opens a file once more, past the cache; nil where that cannot be.
func openDirect(f *os.File, m *pastMemory) *directFile {
	past, err := openPast(f)
	if err != nil {
		return nil
	}
	if a, err := f.Stat(); err == nil {
		if b, err := past.Stat(); err == nil && os.SameFile(a, b) {
			return &directFile{File: f, past: past, memory: m}
		}
	}
	_ = past.Close()
	return nil
}

// close closes what openDirect has opened.
func (f *directFile) close() error { return f.past.Close() }

// ReadAt reads len(p) bytes from an offset on, past the cache if they are at most pastBytes.
func (f *directFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.refused.Load() || offset < 0 || len(p) > pastBytes {
		return f.File.ReadAt(p, offset)
	}
	first := offset &^ (directAlign - 1)
	end := (offset + int64(len(p)) + directAlign - 1) &^ (directAlign - 1)
	held := f.memory.slot()
	defer func() { f.memory.free <- held }()
	n, err := f.past.ReadAt(held[:end-first], first)
	if n -= int(offset - first); n >= len(p) {
		return copy(p, held[offset-first:]), nil
	}
	if err != nil { // as it is without all this, with the error and place of that
		if refuses(err) {
			f.refused.Store(true)
		}
		return f.File.ReadAt(p, offset)
	}
	return copy(p, held[offset-first:][:max(n, 0)]), err
}
