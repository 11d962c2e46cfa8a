package dataset

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Rows of files that are larger than what the system has memory for are read past its cache of files: nothing of them would be
// found there again, and each page that comes in pushes out another that may be wanted, the state of a fit for one.

// directAlign is a multiple of what the system wants offsets, lengths and memory of such reads to be multiples of.
const directAlign = 4096

// directFile is a file that is read past the system's cache.
type directFile struct {
	*os.File             // as usual, where the system refuses
	past     *os.File    // past the cache
	refused  atomic.Bool // the system does not read this file past its cache
	buffers  sync.Pool   // of *[]byte, aligned
}

// openDirect opens a file once more, past the cache; nil where that cannot be.
func openDirect(f *os.File) *directFile {
	past, err := openPast(f.Name())
	if err != nil {
		return nil
	}
	if a, err := f.Stat(); err == nil {
		if b, err := past.Stat(); err == nil && os.SameFile(a, b) {
			return &directFile{File: f, past: past}
		}
	}
	_ = past.Close()
	return nil
}

// close closes what openDirect has opened.
func (f *directFile) close() error { return f.past.Close() }

// ReadAt reads len(p) bytes from an offset on.
func (f *directFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.refused.Load() || offset < 0 {
		return f.File.ReadAt(p, offset)
	}
	first := offset &^ (directAlign - 1)
	end := (offset + int64(len(p)) + directAlign - 1) &^ (directAlign - 1)
	held, _ := f.buffers.Get().(*[]byte)
	if held == nil || int64(len(*held)) < end-first {
		held = aligned(int(end - first))
	}
	defer f.buffers.Put(held)
	n, err := f.past.ReadAt((*held)[:end-first], first)
	if n -= int(offset - first); n >= len(p) {
		return copy(p, (*held)[offset-first:]), nil
	}
	if err != nil { // as it is without all this, with the error and place of that
		if refuses(err) {
			f.refused.Store(true)
		}
		return f.File.ReadAt(p, offset)
	}
	return copy(p, (*held)[offset-first:][:max(n, 0)]), err
}

// aligned returns memory of some bytes at a multiple of directAlign.
func aligned(bytes int) *[]byte {
	x := make([]byte, bytes+directAlign)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) & (directAlign - 1)
	x = x[skip : skip+bytes]
	return &x
}
