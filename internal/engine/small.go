package engine

import "github.com/largemvc/largemvc/internal/kernel"

// fewRows is the most rows for which packing them costs more than it gains.
const fewRows = 24

// small computes the coordinator's own products, m×m and m×d in float64, with the kernels. One goroutine at a time may use it.
type small struct {
	panel     kernel.Panel[float64]
	padded, t []float64
}

// mulBT sets c (n×k) = a (n×m) · bᵀ; b is k×m.
func (s *small) mulBT(c, a, b []float64, n, m, k int) {
	if n <= fewRows && k <= fewRows {
		kernel.MulRowsT(n, k, m, a, m, b, m, c, k)
		return
	}
	ld := kernel.Pad(k)
	s.padded = grow(s.padded, n*ld)
	kernel.PackT(&s.panel, m, k, b, m)
	kernel.Mul(n, a, m, &s.panel, s.padded, ld, false)
	for i := range n {
		copy(c[i*k:(i+1)*k], s.padded[i*ld:])
	}
}

// mulAdd adds f·a (n×m) · b (m×k) to c (n×k).
func (s *small) mulAdd(c, a, b []float64, n, m, k int, f float64) {
	s.t = grow(s.t, m*n)
	for i := range n {
		for j := range m {
			s.t[j*n+i] = f * a[i*m+j]
		}
	}
	kernel.TMulAdd(m, n, k, s.t, n, b, k, c, k)
}

// mulTAdd adds aᵀ·b to c (m×k); a is n×m, b n×k.
func (s *small) mulTAdd(c, a, b []float64, n, m, k int) {
	kernel.TMulAdd(n, m, k, a, m, b, k, c, k)
}
