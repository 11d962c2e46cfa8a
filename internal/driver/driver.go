// Package driver has the interface of a device that runs kernels: memory, texts of kernels and launches.
package driver

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// Ptr is an address in the memory of a device; 0 is none.
type Ptr uint64

// Driver is a device with one stream: what is asked of it happens in order. It is used by one goroutine at a time.
type Driver interface {
	// Alloc returns memory with the given alignment of 256 bytes, whose contents are not defined. The name is for messages. Its
	// error wraps ErrNoMemory where the device has not so much; then nothing else is wrong with it.
	Alloc(name string, bytes int64) (Ptr, error)
	Free(p Ptr) error
	// Host returns memory of the machine, of zeros, that the device reads and writes directly. It is aligned for all numbers, and
	// valid until FreeHost or Close.
	Host(bytes int) ([]byte, error)
	FreeHost(b []byte) error
	// Upload copies src to the device, Download from it when all that was launched has ended. Zero fills with zeros.
	Upload(p Ptr, src []byte) error
	Download(dst []byte, p Ptr) error
	Zero(p Ptr, bytes int64) error
	// Load compiles a text of PTX and returns what Launch takes it by.
	Load(text string) (Module, error)
	// Launch starts a kernel: a Ptr, int32, int64, float32 or float64 for each of its parameters. An error may come with a later
	// call.
	Launch(m Module, kernel string, l Launch, args ...any) error
	// Sync waits for all that was launched.
	Sync() error
	// Memory returns the bytes that can still be had, and how many there are at all.
	Memory() (free, total int64, err error)
	// Capability returns the compute capability of the device: 8, 0 for sm_80.
	Capability() (major, minor int)
	// SharedMemory is how many bytes of shared memory a block may have, those of the text included.
	SharedMemory() int
	// Name describes the device.
	Name() string
	Close() error
}

// Module is a text that a driver has compiled.
type Module int

// Launch is the size of a launch: blocks of a grid, threads of a block, and bytes of dynamic shared memory.
type Launch struct {
	Grid   [3]int
	Block  int
	Shared int
}

// ErrNoMemory is wrapped by errors of Alloc if the device lacks the memory, or has it in parts alone.
var ErrNoMemory = errors.New("the device is out of memory")

// Heap returns Host's memory for drivers that have none of their own.
func Heap(bytes int) []byte {
	words := make([]uint64, bytes/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:bytes]
}

// Text returns the PTX in a file that gzip has packed. It panics if the file is damaged: such files are part of the program.
func Text(packed []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Errorf("driver: packed PTX: %w", err))
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Errorf("driver: packed PTX: %w", err))
	}
	return string(text)
}
