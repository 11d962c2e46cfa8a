package rows

import (
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Scaled is the matrix whose rows are multiplied by their factors.
func TestScaled(t *testing.T) {
	const n, d, k, lo, hi = 30, 20, 5, 4, 27
	rng := rand.New(rand.NewPCG(1, 2))
	x, factor, scaled := make([]float64, n*d), make([]float64, n), make([]float64, n*d)
	for i := range n {
		factor[i] = rng.Float64() + 0.5
		for j := range d {
			x[i*d+j] = rng.NormFloat64()
			scaled[i*d+j] = factor[i] * x[i*d+j]
		}
	}
	got, want := NewScaled[float64](NewDense(n, d, d, x), factor), NewDense(n, d, d, scaled)
	right, ld := make([]float64, d*k), kernel.Pad(k)
	for i := range right {
		right[i] = rng.NormFloat64()
	}
	var panel kernel.Panel[float64]
	kernel.Pack(&panel, d, k, right, k)
	for what, f := range map[string]func(m Matrix[float64]) []float64{
		"Row":          func(m Matrix[float64]) []float64 { row := make([]float64, d); m.Row(7, row); return row },
		"Mul":          func(m Matrix[float64]) []float64 { y := make([]float64, n*ld); m.Mul(lo, hi, &panel, y, ld); return y },
		"SquaredNorms": func(m Matrix[float64]) []float64 { q := make([]float64, hi-lo); m.SquaredNorms(lo, hi, q); return q },
		"TMulAdd": func(m Matrix[float64]) []float64 {
			a, c := make([]float64, n*ld), make([]float64, k*d)
			for i := range n * k {
				a[i/k*ld+i%k] = float64(i%7) - 3
			}
			m.TMulAdd(lo, hi, k, a, ld, c, d)
			return c
		},
	} {
		equal(t, what, f(got), f(want), 1e-12)
	}
}
