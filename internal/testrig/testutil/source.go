package testutil

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
)

// Source is rows outside memory. One read can fail.
type Source struct {
	n, d int
	x    []float64
	left atomic.Int64 // reads before the one that fails
}

// NewSource returns a source of n rows of d features.
func NewSource(n, d int, x []float64) *Source {
	s := &Source{n: n, d: d, x: x}
	s.left.Store(math.MaxInt64)
	return s
}

var errDisk = errors.New("the disk is gone")

// Dims returns the number of rows and features.
func (s *Source) Dims() (n, d int) { return s.n, s.d }

// ReadRows reads rows from first on.
func (s *Source) ReadRows(_ context.Context, first int, dst []float32) error {
	if s.left.Add(-1) == -1 {
		return errDisk
	}
	for i := range dst {
		dst[i] = float32(s.x[first*s.d+i])
	}
	return nil
}

// EachReadFails calls a function many times, and each time another read of the source fails. The error must be of this, and name
// the view.
func (s *Source) EachReadFails(t *testing.T, name, view string, call func() error) {
	t.Helper()
	s.left.Store(math.MaxInt64)
	if err := call(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	all := math.MaxInt64 - s.left.Load()
	for at := int64(0); at < all; at += 1 + all/16 {
		s.left.Store(at)
		if err := call(); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), view) {
			t.Errorf("%s: read %d of %d fails: %v", name, at, all, err)
		}
	}
}
