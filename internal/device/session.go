package device

import (
	"errors"
	"fmt"
	"slices"

	"github.com/largemvc/largemvc/internal/engine"
	"github.com/largemvc/largemvc/internal/information"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Session is the device of a fit. A nil Session has none: the CPU does all work. One goroutine at a time may use it.
type Session struct {
	drv  Driver
	must bool // work that does not fit the device is an error; else the CPU does it
	// workers is the number of goroutines that prepare rows for the device; 0: GOMAXPROCS.
	workers int
	left    []string

	off    bool // no further network runs on the device
	trains bool // the last network runs on it
}

// NewSession returns the session of a fit on a device, and owns the device. With must, work that does not fit the device's memory
// is a *MemoryError. Else the CPU does it, and Left reports it.
func NewSession(drv Driver, must bool) *Session { return &Session{drv: drv, must: must} }

// Rows returns the session as a device for products of rows, nil if it has no device or the device has failed.
func (s *Session) Rows() rows.Device {
	if s == nil {
		return nil
	}
	if g, ok := s.drv.(*guarded); ok && g.lost {
		return nil
	}
	return s
}

// OpenSession opens a device for a fit and runs a kernel there: a faulty card or driver that accepts every call and computes
// nothing would train a network of zeros. That many workers prepare rows for it; 0: GOMAXPROCS.
func OpenSession(must bool, workers int) (*Session, error) {
	drv, err := Open()
	if err != nil {
		return nil, err
	}
	if err := computes(drv); err != nil {
		return nil, errors.Join(err, drv.Close())
	}
	s := NewSession(drv, must)
	s.workers = workers
	return s, nil
}

// computes returns an error if the smallest of the kernels has a wrong result.
func computes(drv Driver) error {
	k, err := loadKernels[float32](drv)
	if err != nil {
		return err
	}
	x := []float32{0.25, 1, -2}
	p, err := drv.Alloc("a check", granule)
	if err != nil {
		return err
	}
	k.err = drv.Upload(p, rawBytes(x))
	k.byElement("one_less", len(x), p, p, int32(len(x)))
	got := make([]float32, len(x))
	if err := errors.Join(k.failed(), drv.Download(rawBytes(got), p), drv.Free(p)); err != nil {
		return err
	}
	if want := []float32{0.75, 0, 3}; !slices.Equal(got, want) {
		return fmt.Errorf("%s computes something wrong, %v in place of %v (see 'largemvc device -selftest')", drv.Name(),
			got, want)
	}
	return nil
}

func (s *Session) Name() string { return s.drv.Name() }

// Left returns the work that was left to the CPU, and why.
func (s *Session) Left() []string { return s.left }

// Note records why the CPU did work that was meant for the device, and returns nil.
func (s *Session) Note(why error) error {
	if text := why.Error(); !slices.Contains(s.left, text) {
		s.left = append(s.left, text)
	}
	return nil
}

// Close closes the device.
func (s *Session) Close() error {
	if s == nil {
		return nil
	}
	return s.drv.Close()
}

func (s *Session) Take32(x []rows.Matrix[float32], present [][]bool, use rows.Use) (rows.Products[float32], error) {
	return take(s, x, present, use)
}

func (s *Session) Take64(x []rows.Matrix[float64], present [][]bool, use rows.Use) (rows.Products[float64], error) {
	return take(s, x, present, use)
}

// take leaves sparse rows to the CPU, which needs less memory for them than a device for dense ones.
func take[T kernel.Float](s *Session, x []rows.Matrix[T], present [][]bool, use rows.Use) (rows.Products[T], error) {
	if len(x) > mostViews || slices.ContainsFunc(x, rows.IsSparse[T]) {
		return nil, nil
	}
	use.Workers = s.workers
	r, err := NewRows(s.drv, x, present, use)
	if err != nil {
		return nil, s.leave(err)
	}
	return r, nil
}

// leave returns nil for an error after which the CPU can do the work.
func (s *Session) leave(err error) error {
	var full *MemoryError
	if s.must || !errors.As(err, &full) {
		return err
	}
	return s.Note(full)
}

// Factory makes the shards of networks on the device of a session, or in memory without a device or if the network does not fit.
func Factory[T kernel.Float](s *Session) engine.Factory[T] {
	if s == nil {
		return engine.InMemory[T]
	}
	return func(spec *engine.Spec, x []rows.Matrix[T], present [][]bool, h0 []float64) ([]engine.Shard, error) {
		if s.trains = false; s.off {
			return engine.InMemory(spec, x, present, h0)
		}
		if slices.ContainsFunc(x, rows.IsSparse[T]) {
			if s.must {
				return nil, errSparse
			}
			_ = s.Note(errSparse)
			return engine.InMemory(spec, x, present, h0)
		}
		shard, err := New(s.drv, spec, x, present, h0, true)
		if err == nil {
			s.trains = true
			return []engine.Shard{shard}, nil
		}
		if err := s.leave(err); err != nil {
			return nil, err
		}
		return engine.InMemory(spec, x, present, h0)
	}
}

var errSparse = errors.New("sparse views are trained on the CPU")

// SetTerms adds the terms of information.NewTerms to a network whose shards are on a device or in memory.
func SetTerms[T kernel.Float](n *engine.Net, clusters int, o information.TermsOptions[T]) error {
	if err := SetTerm(n, o); !errors.Is(err, errElsewhere) {
		return err
	}
	return engine.SetTerm(n, func(lo, hi int) (engine.Term[T], error) { return information.NewTerms(hi-lo, clusters, o) })
}

// Trains reports whether the last shards are on the device.
func (s *Session) Trains() bool { return s != nil && s.trains }

// Leave returns nil if the error means that work did not fit and the CPU may do it. Otherwise it returns the error, and nothing
// changes.
func (s *Session) Leave(err error) error {
	if err := s.leave(err); err != nil {
		return err
	}
	s.off = true
	return nil
}

// Fits returns a *MemoryError if the rows and the state of a network of the given sizes, without its terms, do not fit the
// device.
func (s *Session) Fits(spec *engine.Spec, present [][]bool, double bool) error {
	bytes, size := Bytes[float32], int64(4)
	if double {
		bytes, size = Bytes[float64], 8
	}
	if err := rowFits(s.drv, spec.Anchors, size); err != nil {
		return err
	}
	need, err := bytes(spec, present, false, true)
	if err != nil {
		return err
	}
	return fits(s.drv, fmt.Sprintf("a network of %d samples", spec.Samples), need)
}

// rowFits returns a *MemoryError if a block has too little shared memory for a row of m values: subtract_direct stores the row
// there, and one value for each thread.
func rowFits(drv Driver, m int, size int64) error {
	need, have := int64(m+rowThreads)*size, int64(drv.SharedMemory())
	if need > have {
		return &MemoryError{What: fmt.Sprintf("a row of %d anchors", m), Need: need, Free: have, Device: drv.Name(), Shared: true}
	}
	return nil
}

// fits returns a *MemoryError if a device has too little memory, including a reserve.
func fits(drv Driver, what string, need int64) error {
	free, _, err := drv.Memory()
	if err != nil {
		return err
	}
	if need += need / spare; need > free {
		return &MemoryError{What: what, Need: need, Free: free, Device: drv.Name()}
	}
	return nil
}
