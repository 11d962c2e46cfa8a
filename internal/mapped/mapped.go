// Package mapped has memory that lies in files: arrays larger than the memory of the machine, of which the system keeps in
// memory what is in use.
package mapped

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// Files makes arrays in files of a folder, which nobody else sees and which are gone when the process ends. nil makes them in
// memory. It is safe for concurrent use.
type Files struct {
	folder string

	mu   sync.Mutex
	maps [][]byte
	err  error
}

// Possible says whether this system has arrays in files.
const Possible = possible

// New returns files in a folder.
func New(folder string) *Files { return &Files{folder: folder} }

// Err returns the first error of Make, after which arrays are made in memory no more than in files: their length is 0.
func (f *Files) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Close gives back all arrays, which nobody may use any more.
func (f *Files) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, m := range f.maps {
		errs = append(errs, unmap(m))
	}
	f.maps = nil
	return errors.Join(errs...)
}

// Make returns n zeros of a type without pointers: in memory for nil files or a few of them, else in a file of their own, all of
// which the disk has room for from then on. Where it has none, that is the error of Err, and the array is nil.
func Make[T any](f *Files, n int) []T {
	const few = 1 << 16 // bytes
	var t T
	bytes := n * int(unsafe.Sizeof(t))
	if f == nil || bytes <= few {
		return make([]T, n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil
	}
	m, err := f.file(bytes)
	if err != nil {
		f.err = fmt.Errorf("%d bytes of state in the folder %s: %w", bytes, f.folder, err)
		return nil
	}
	f.maps = append(f.maps, m)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m))), n)
}

func (f *Files) file(bytes int) (m []byte, err error) {
	file, err := os.CreateTemp(f.folder, "largemvc-state-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Remove(file.Name()); err != nil { // it lives as long as it is mapped
		return nil, err
	}
	return create(file, bytes)
}
