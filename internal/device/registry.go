package device

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/driver"
)

// Kind is a type of devices, such as CUDA.
type Kind struct {
	Name string // for messages
	// Open opens the device for a fit. Its error says in a sentence why there is none.
	Open func() (Driver, error)
}

var (
	kindsMu sync.Mutex
	kinds   []Kind
)

// Register adds a kind of devices. A build with drivers calls it at start.
func Register(name string, open func() (Driver, error)) {
	kindsMu.Lock()
	defer kindsMu.Unlock()
	kinds = append(kinds, Kind{name, open})
}

// Unregister removes a kind.
func Unregister(name string) {
	kindsMu.Lock()
	defer kindsMu.Unlock()
	kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return k.Name == name })
}

// Kinds returns the registered kinds, in order.
func Kinds() []Kind {
	kindsMu.Lock()
	defer kindsMu.Unlock()
	return slices.Clone(kinds)
}

// ErrNotBuilt means that the program has no driver for any device.
var ErrNotBuilt = errors.New("this program has no driver for GPUs, see docs/gpu.md")

// leastMajor is the major compute capability that the kernels need.
const leastMajor = 7

// Open opens the first available kind of device and checks that the kernels compile and run. It returns a driver whose errors are
// *FailedError.
func Open() (Driver, error) {
	all := Kinds()
	if len(all) == 0 {
		return nil, ErrNotBuilt
	}
	var errs []error
	for _, k := range all {
		drv, err := k.Open()
		if err == nil {
			if drv, err = usable(drv); err == nil {
				return drv, nil
			}
		}
		errs = append(errs, fmt.Errorf("%s: %w", k.Name, err))
	}
	return nil, errors.Join(errs...)
}

// usable returns a driver with the kernels loaded. If its device is unsuitable, usable closes it and returns the reason.
func usable(drv Driver) (Driver, error) {
	g := &guarded{Driver: drv, modules: map[string]loaded{}, locked: map[*byte]bool{}}
	major, minor := drv.Capability()
	var err error
	if major < leastMajor {
		err = fmt.Errorf("%s has the compute capability %d.%d, the kernels need %d.0", drv.Name(), major, minor, leastMajor)
	} else if _, err = loadKernels[float32](g); err != nil {
		err = fmt.Errorf("%s does not take the kernels: %w", drv.Name(), err)
	}
	if err != nil {
		return nil, errors.Join(err, drv.Close())
	}
	return g, nil
}

// FailedError means that an operation of a device, or of its driver, failed. The data on the device and all later work on it are
// lost.
type FailedError struct {
	Device, Doing string
	Err           error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("%s failed: %s: %v", e.Device, e.Doing, e.Err)
}

// Unwrap returns the driver's error.
func (e *FailedError) Unwrap() error { return e.Err }

// guarded is a driver that names the failed operation, and compiles a text only once.
type guarded struct {
	Driver
	modules map[string]loaded
	locked  map[*byte]bool // the beginnings of page-locked memory
	lost    bool           // it has failed
}

type loaded struct {
	module Module
	err    error
}

func (g *guarded) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	g.lost = true
	return &FailedError{g.Name(), doing, err}
}

// Alloc returns a *MemoryError if the device is full: another program may have taken free memory.
func (g *guarded) Alloc(name string, bytes int64) (Ptr, error) {
	p, err := g.Driver.Alloc(name, bytes)
	if errors.Is(err, ErrNoMemory) {
		if free, _, err := g.Memory(); err == nil {
			return 0, &MemoryError{What: name, Need: bytes, Free: free, Device: g.Name()}
		}
	}
	return p, g.failed(fmt.Sprintf("%d bytes of memory for %s", bytes, name), err)
}

// Free does nothing on a device that has failed: every array would report the same error again.
func (g *guarded) Free(p Ptr) error {
	if g.lost {
		return nil
	}
	return g.failed("freeing memory", g.Driver.Free(p))
}

// Host returns other memory where the system has no more that is page-locked: copies reach it too, more slowly.
func (g *guarded) Host(bytes int) ([]byte, error) {
	b, err := g.Driver.Host(bytes)
	if err != nil {
		return driver.Heap(bytes), nil
	}
	g.locked[&b[0]] = true
	return b, nil
}

// FreeHost is called like Free.
func (g *guarded) FreeHost(b []byte) error {
	if g.lost || !g.locked[&b[0]] {
		return nil
	}
	delete(g.locked, &b[0])
	return g.failed("freeing memory for copies", g.Driver.FreeHost(b))
}

func (g *guarded) Upload(p Ptr, src []byte) error {
	return g.failed("a copy to the device", g.Driver.Upload(p, src))
}

func (g *guarded) Download(dst []byte, p Ptr) error {
	return g.failed("a copy from the device", g.Driver.Download(dst, p))
}

func (g *guarded) Zero(p Ptr, bytes int64) error {
	return g.failed("filling memory", g.Driver.Zero(p, bytes))
}

func (g *guarded) Load(text string) (Module, error) {
	if m, ok := g.modules[text]; ok {
		return m.module, m.err
	}
	m, err := g.Driver.Load(text)
	g.modules[text] = loaded{m, err}
	return m, err
}

func (g *guarded) Launch(m Module, kernel string, l Launch, args ...any) error {
	return g.failed("the kernel "+kernel, g.Driver.Launch(m, kernel, l, args...))
}

func (g *guarded) Sync() error { return g.failed("waiting", g.Driver.Sync()) }

func (g *guarded) Memory() (free, total int64, err error) {
	free, total, err = g.Driver.Memory()
	return free, total, g.failed("asking for its memory", err)
}

// Listing describes the device of a kind.
type Listing struct {
	Kind         string
	Err          error // why a fit does not use it; then the other fields are unset
	Name         string
	Major, Minor int // of its compute capability
	Free, Total  int64
}

// List opens the device of every kind and closes it again.
func List() []Listing {
	var out []Listing
	for _, k := range Kinds() {
		l := Listing{Kind: k.Name}
		drv, err := k.Open()
		if err == nil {
			drv, err = usable(drv)
		}
		if l.Err = err; err == nil {
			l.Name = drv.Name()
			l.Major, l.Minor = drv.Capability()
			l.Free, l.Total, err = drv.Memory()
			l.Err = errors.Join(err, drv.Close())
		}
		out = append(out, l)
	}
	return out
}
