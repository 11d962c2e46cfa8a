package kernel

import "testing"

// Widen copies all elements, over more than a block, and leaves what is behind them.
func TestWiden(t *testing.T) {
	for _, n := range []int{0, 1, 2047, 2048, 2049, 5000} {
		x, dst := make([]float32, n), make([]float64, n+1)
		for i := range x {
			x[i] = float32(i) + 0.25
		}
		for i := range dst {
			dst[i] = -1
		}
		Widen(dst, x)
		for i, v := range x {
			if dst[i] != float64(v) {
				t.Fatalf("%d elements: element %d is %v, want %v", n, i, dst[i], v)
			}
		}
		if dst[n] != -1 {
			t.Errorf("%d elements: the one behind them became %v", n, dst[n])
		}
	}
}
