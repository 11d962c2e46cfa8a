package kernel

import (
	"fmt"
	"testing"
)

// products are the shapes that matter: a block in the second-level cache, rows that come from memory, many columns, and
// the small square products between row state and m×m matrices.
var products = []struct{ n, d, m int }{
	{96, 784, 10}, {96, 160, 10}, {96, 2672, 10}, {96, 784, 16}, {96, 944, 100}, {96, 512, 100},
	{96, 100, 100}, {96, 10, 10}, {60000, 784, 10},
}

func BenchmarkMul(b *testing.B) { benchmarkProducts(b, benchmarkMul[float32], benchmarkMul[float64]) }
func BenchmarkTMulAdd(b *testing.B) {
	benchmarkProducts(b, benchmarkTMulAdd[float32], benchmarkTMulAdd[float64])
}

func benchmarkProducts(b *testing.B, f32, f64 func(b *testing.B, n, d, m int)) {
	for _, s := range products {
		for _, name := range Paths() {
			for kind, f := range map[string]func(b *testing.B, n, d, m int){"float32": f32, "float64": f64} {
				b.Run(fmt.Sprintf("n=%d/d=%d/m=%d/%s/%s", s.n, s.d, s.m, kind, name), func(b *testing.B) {
					defer force(name)()
					f(b, s.n, s.d, s.m)
				})
			}
		}
	}
}

func report(b *testing.B, n, d, m int) {
	b.ReportMetric(2*float64(n)*float64(d)*float64(m)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

func benchmarkMul[T Float](b *testing.B, n, d, m int) {
	r := generator()
	x, y := data[T](n*d), make([]T, n*Pad(m))
	var p Panel[T]
	PackT(&p, d, m, normal[T](r, m*d), d)
	for b.Loop() {
		Mul(n, x, d, &p, y, Pad(m), false)
	}
	report(b, n, d, m)
}

func benchmarkTMulAdd[T Float](b *testing.B, n, d, m int) {
	r := generator()
	x, a, c := data[T](n*d), state[T](r, n, m), make([]T, m*d)
	for b.Loop() {
		TMulAdd(n, m, d, a, Pad(m), x, d, c, d)
	}
	report(b, n, d, m)
}

// data returns n values without the cost of normal ones.
func data[T Float](n int) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = T(i%1009) / 1009
	}
	return s
}

func BenchmarkPeak(b *testing.B) {
	for _, name := range Paths() {
		b.Run(name, func(b *testing.B) {
			defer force(name)()
			for b.Loop() {
				b.ReportMetric(PeakFMA[float32](0.01), "float32-GFLOP/s")
				b.ReportMetric(PeakFMA[float64](0.01), "float64-GFLOP/s")
			}
		})
	}
}

// BenchmarkRows runs the elementwise work on a block of row state.
func BenchmarkRows(b *testing.B) {
	const rows, ld = 96, 112
	r := generator()
	h, k, y, w := normal[float32](r, rows*ld), normal[float32](r, rows*ld), normal[float32](r, rows*ld), normal[float32](r, rows)
	sums, bits := make([]float64, rows), make([]uint8, rows*ld/4)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"RowScale", func() { RowScale(y, h, w, ld) }},
		{"RowLerp", func() { RowLerp(y, h, k, w, ld) }},
		{"RowResidual", func() { RowResidual(sums, h, k, y, ld) }},
		{"Threshold", func() { Threshold(y, h, 0.1, w, bits, ld, false) }},
		{"ThresholdGrad", func() { ThresholdGrad(y, h, w, bits, ld) }},
		{"SquaredDistance", func() { sums[0] = SquaredDistance(h, k) }},
	} {
		for _, name := range Paths() {
			b.Run(fmt.Sprintf("%s/%dx%d/%s", c.name, rows, ld, name), func(b *testing.B) {
				defer force(name)()
				clear(y)
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(rows*ld*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gelement/s")
			})
		}
	}
}
