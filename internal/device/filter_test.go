package device

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/simdevice"
	"github.com/largemvc/largemvc/neighbor"
)

// blocks returns a complete view of more columns than a warp has, and one that a third of the samples lack.
func blocks[T kernel.Float](n int) []neighbor.Block[T] {
	rng := rand.New(rand.NewPCG(7, 8))
	var out []neighbor.Block[T]
	for _, d := range []int{150, 7} {
		b := neighbor.Block[T]{X: make([]T, n*(d+2)), Ld: d + 2, Cols: d}
		for i := range b.X {
			b.X[i] = T(rng.NormFloat64())
		}
		out = append(out, b)
	}
	out[1].Present = make([]bool, n)
	for i := range n {
		out[1].Present[i] = rng.IntN(3) > 0
	}
	return out
}

// there sets the device of the blocks.
func there[T kernel.Float](x []neighbor.Block[T], d *Session) []neighbor.Block[T] {
	for v := range x {
		x[v].Device = d
	}
	return x
}

// The tables of a device, and the rows smoothed by them, equal the CPU's but for rounding. Steps one by one, and a series.
func TestFilter(t *testing.T) { eachType(t, testFilter[float32], testFilter[float64]) }

func testFilter[T kernel.Float](t *testing.T) {
	const n = 90
	op := someGraph(t, n, true)
	for _, steps := range []int{0, 1, 3, 13} {
		launches := 0
		session := NewSession(&simdevice.Sim{}, true)
		want, got := blocks[T](n), blocks[T](n)
		filters, err := neighbor.Smooth(t.Context(), op, want, steps, 2)
		if err != nil {
			t.Fatal(err)
		}
		counted := &counting{Driver: session.drv, launches: &launches}
		session.drv = counted
		on, err := neighbor.Smooth(t.Context(), op, there(got, session), steps, 2)
		if err != nil {
			t.Fatal(err)
		}
		if (launches > 0) != (steps > 0) {
			t.Errorf("%d steps: %d launches", steps, launches)
		}
		tol := 64 * kernel.Epsilon[T]()
		for v := range want {
			if off := farthest(on[v].Table, filters[v].Table); off > tol {
				t.Errorf("%d steps: table %d is %g off", steps, v, off)
			}
			if off := farthest(got[v].X, want[v].X); off > tol {
				t.Errorf("%d steps: rows of view %d are %g off", steps, v, off)
			}
		}
		samples := []int{0, 7, 88}
		own, err := neighbor.SelfWeights[T](t.Context(), op, steps, 2, samples, nil)
		if err != nil {
			t.Fatal(err)
		}
		launches = 0
		onDevice, err := neighbor.SelfWeights[T](t.Context(), op, steps, 2, samples, session)
		if err != nil {
			t.Fatal(err)
		}
		if off := farthest(onDevice, own); off > 1e-5 || // of the series; the CPU takes the steps
			(launches > 0) != (steps > 0) {
			t.Errorf("%d steps: own weights are %g off, with %d launches", steps, off, launches)
		}
	}
}

// counting counts launches.
type counting struct {
	Driver
	launches *int
}

func (c *counting) Launch(m Module, name string, l Launch, args ...any) error {
	*c.launches++
	return c.Driver.Launch(m, name, l, args...)
}

// farthest returns the largest difference.
func farthest[T kernel.Float](a, b []T) (off float64) {
	if len(a) != len(b) {
		return 1
	}
	for i := range a {
		off = max(off, float64(a[i]-b[i]), float64(b[i]-a[i]))
	}
	return off
}

// Without memory for the rows the CPU filters them, with its bits, or the filter fails. A cancelled filter ends.
func TestFilterWithoutMemory(t *testing.T) {
	const n = 90
	op, want := someGraph(t, n, true), blocks[float32](n)
	if _, err := neighbor.Smooth(t.Context(), op, want, 3, 1); err != nil {
		t.Fatal(err)
	}
	got, session := blocks[float32](n), NewSession(&simdevice.Sim{Limit: 1 << 16}, false)
	if _, err := neighbor.Smooth(t.Context(), op, there(got, session), 3, 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].X, want[0].X) || len(session.Left()) != 1 {
		t.Errorf("other rows than the CPU's, or it left %q", session.Left())
	}
	// What the plan did not see, as memory that other programs take meanwhile.
	got, session = blocks[float32](n), NewSession(&filling{Driver: &simdevice.Sim{}}, false)
	if _, err := neighbor.Smooth(t.Context(), op, there(got, session), 3, 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got[0].X, want[0].X) || len(session.Left()) == 0 {
		t.Errorf("other rows than the CPU's, or it left %q", session.Left())
	}
	var full *MemoryError
	must := NewSession(&simdevice.Sim{Limit: 1 << 16}, true)
	if _, err := neighbor.Smooth(t.Context(), op, there(blocks[float32](n), must), 3, 1); !errors.As(err, &full) {
		t.Errorf("an error %v, want one of memory", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	drv := &cancelling{Driver: &simdevice.Sim{}, cancel: cancel}
	_, err := neighbor.Smooth(ctx, op, there(blocks[float32](n), NewSession(drv, true)), 9, 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an error %v, want the error of the context", err)
	}
	if drv.held != 0 {
		t.Errorf("%d arrays are left on the device", drv.held)
	}
}

// filling has no memory for a third array.
type filling struct {
	Driver
	arrays int
}

func (f *filling) Alloc(name string, bytes int64) (Ptr, error) {
	if f.arrays++; f.arrays > 2 {
		return 0, &MemoryError{What: name, Need: bytes}
	}
	return f.Driver.Alloc(name, bytes)
}

// cancelling cancels a context at the fourth launch and counts the arrays on the device.
type cancelling struct {
	Driver
	cancel         func()
	launches, held int
}

func (c *cancelling) Launch(m Module, name string, l Launch, args ...any) error {
	if c.launches++; c.launches == 4 {
		c.cancel()
	}
	return c.Driver.Launch(m, name, l, args...)
}

func (c *cancelling) Alloc(name string, bytes int64) (Ptr, error) {
	c.held++
	return c.Driver.Alloc(name, bytes)
}

func (c *cancelling) Free(p Ptr) error {
	c.held--
	return c.Driver.Free(p)
}
