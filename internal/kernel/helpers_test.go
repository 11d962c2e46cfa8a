package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// force makes the package take the given path until restore is called.
func force(name string) (restore func()) {
	old := active
	active = choose(name)
	return func() { active = old }
}

// onPaths runs a test for both element types on every path that this CPU has.
func onPaths(t *testing.T, f32, f64 func(*testing.T)) {
	t.Helper()
	for _, name := range Paths() {
		t.Run(name, func(t *testing.T) {
			defer force(name)()
			if Path() != name {
				t.Fatalf("path is %s", Path())
			}
			t.Run("float32", f32)
			t.Run("float64", f64)
		})
	}
}

func generator() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

// eps is the distance of 1 to the next number.
func eps[T Float]() float64 {
	var t T
	if unsafe.Sizeof(t) == 4 {
		return 0x1p-23
	}
	return 0x1p-52
}

// normal returns n normal values.
func normal[T Float](r *rand.Rand, n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.NormFloat64())
	}
	return s
}

// shifted returns a copy of s that begins off elements behind a multiple of 64 bytes.
func shifted[T Float](s []T, off int) []T {
	c := aligned[T](len(s) + off)[off:]
	copy(c, s)
	return c
}

// state returns row state: n×m normal values with stride Pad(m) and zeros behind them.
func state[T Float](r *rand.Rand, n, m int) []T {
	s := make([]T, n*Pad(m))
	for i := range n {
		for j := range m {
			s[i*Pad(m)+j] = T(r.NormFloat64())
		}
	}
	return s
}

// same reports whether two numbers have the same bits, all NaN being one.
func same[T Float](a, b T) bool {
	x, y := float64(a), float64(b)
	return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
}

// sameBits fails where two slices differ.
func sameBits[T Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !same(got[i], want[i]) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// agrees reports whether got is within bound of want, or both are the same infinity or NaN.
func agrees(got, want, bound float64) bool {
	return same(got, want) || math.Abs(got-want) <= bound
}

// within fails where got is further from want than bound, the bound of the rounding error.
func within(t *testing.T, what string, got, want, bound float64) {
	t.Helper()
	if !agrees(got, want, bound) {
		t.Fatalf("%s: %v, want %v within %g", what, got, want, bound)
	}
}

func shape(v ...int) string { return fmt.Sprint(v) }
