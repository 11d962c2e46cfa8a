// Package simdevice is a driver for tests whose device is the simulator of internal/testrig/ptx.
package simdevice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/largemvc/largemvc/internal/driver"
	"github.com/largemvc/largemvc/internal/testrig/ptx"
)

// Sim is a driver.Driver that runs kernels on the CPU, on the simulator of internal/testrig/ptx: slow, exact to the bit, and
// strict. What a kernel does wrong, such as a read of memory that nothing wrote, is an error of its launch.
type Sim struct {
	// Order permutes the order in which blocks and warps run; 0: by their numbers.
	Order uint64
	// Limit is the memory of the device in bytes; 0: 16 GiB.
	Limit int64
	// Workers bounds the goroutines; 0: one for each processor.
	Workers int
	// Target is the architecture that the device has: what it can do, and how much shared memory; "": sm_80.
	Target string
	// Only, if not nil, returns the blocks of a launch that run, by number; nil: all.
	Only func(kernel string, l driver.Launch) []int
	// Observe, if not nil, is told what each launch did.
	Observe func(kernel string, l driver.Launch, s ptx.Stats)

	memory  *ptx.Memory
	modules []*ptx.Module
	kernels []map[string]*ptx.Kernel
}

var _ driver.Driver = (*Sim)(nil)

func (s *Sim) open() *ptx.Memory {
	if s.memory == nil {
		if s.Limit == 0 {
			s.Limit = 16 << 30
		}
		s.memory = ptx.NewMemory(s.Limit)
	}
	return s.memory
}

// Alloc returns memory that is poisoned until it is written.
func (s *Sim) Alloc(name string, bytes int64) (driver.Ptr, error) {
	p, err := s.open().Alloc(name, bytes)
	if errors.Is(err, ptx.ErrFull) {
		err = fmt.Errorf("%w: %w", driver.ErrNoMemory, err)
	}
	return driver.Ptr(p), err
}

// Free gives memory back; its addresses are not used again.
func (s *Sim) Free(p driver.Ptr) error { return s.open().Free(ptx.Ptr(p)) }

// Host returns memory of Go's.
func (s *Sim) Host(bytes int) ([]byte, error) { return driver.Heap(bytes), nil }

// FreeHost does nothing.
func (s *Sim) FreeHost([]byte) error { return nil }

// Upload copies src to the device.
func (s *Sim) Upload(p driver.Ptr, src []byte) error { return s.open().Write(ptx.Ptr(p), src) }

// Download copies from the device what was written there; else it is an error.
func (s *Sim) Download(dst []byte, p driver.Ptr) error { return s.open().Read(dst, ptx.Ptr(p)) }

// Zero fills with zeros.
func (s *Sim) Zero(p driver.Ptr, bytes int64) error { return s.open().Fill(ptx.Ptr(p), 0, bytes) }

// parsed are the modules of texts that were loaded, for a module is not changed by its launches.
var parsed sync.Map

// Load parses a text.
func (s *Sim) Load(text string) (driver.Module, error) {
	known, ok := parsed.Load(text)
	if !ok {
		m, err := ptx.Parse(text)
		if err != nil {
			return 0, err
		}
		known, _ = parsed.LoadOrStore(text, m)
	}
	m := known.(*ptx.Module)
	if needs, _ := ptx.Capability(m.Target()); needs > s.capability() {
		return 0, fmt.Errorf("device: a text for %s, the device is %s", m.Target(), s.target())
	}
	s.modules, s.kernels = append(s.modules, m), append(s.kernels, map[string]*ptx.Kernel{})
	return driver.Module(len(s.modules) - 1), nil
}

// driver.Launch runs a kernel to its end.
func (s *Sim) Launch(m driver.Module, kernel string, l driver.Launch, args ...any) error {
	k := s.kernels[m][kernel]
	if k == nil {
		var err error
		if k, err = s.modules[m].Kernel(kernel); err != nil {
			return err
		}
		s.kernels[m][kernel] = k
	}
	values := make([]any, len(args))
	for i, a := range args {
		if p, ok := a.(driver.Ptr); ok {
			a = ptx.Ptr(p)
		}
		values[i] = a
	}
	var only []int
	if s.Only != nil {
		only = s.Only(kernel, l)
	}
	stats, err := k.Launch(context.Background(), s.open(), ptx.Launch{Grid: l.Grid, Block: [3]int{l.Block, 1, 1},
		Shared: l.Shared, Args: values, Order: s.Order, Workers: s.Workers, Target: s.target(),
		Only: only})
	if err != nil {
		return fmt.Errorf("device: kernel %s: %w", kernel, err)
	}
	if s.Observe != nil {
		s.Observe(kernel, l, stats)
	}
	return nil
}

// Sync does nothing: a launch has ended when driver.Launch returns.
func (s *Sim) Sync() error { return nil }

// Memory returns what is left of the limit.
func (s *Sim) Memory() (free, total int64, err error) {
	m := s.open()
	return m.Limit() - m.Used(), m.Limit(), nil
}

func (s *Sim) target() string { return cmp.Or(s.Target, "sm_80") }

func (s *Sim) capability() int {
	n, _ := ptx.Capability(s.target())
	return n
}

// Capability returns the compute capability of the target.
func (s *Sim) Capability() (major, minor int) { return s.capability() / 10, s.capability() % 10 }

// SharedMemory returns the most shared memory of a block of the target (bytes).
func (s *Sim) SharedMemory() int { return ptx.MaxShared(s.target()) }

// Name describes the device.
func (s *Sim) Name() string { return "the simulator" }

// Close forgets all memory and modules.
func (s *Sim) Close() error {
	s.memory, s.modules, s.kernels = nil, nil, nil
	return nil
}
