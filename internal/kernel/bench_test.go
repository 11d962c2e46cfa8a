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

// benchmarkPaths runs a benchmark for both element types on every path.
func benchmarkPaths(b *testing.B, name string, f32, f64 func(b *testing.B)) {
	for _, path := range Paths() {
		for _, c := range []struct {
			elem string
			run  func(b *testing.B)
		}{{"float32", f32}, {"float64", f64}} {
			if c.run == nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/%s/%s", name, c.elem, path), func(b *testing.B) {
				defer force(path)()
				c.run(b)
			})
		}
	}
}

const benchmarkRows, benchmarkLd = 96, 112

// BenchmarkRows runs the elementwise work on a block of row state.
func BenchmarkRows(b *testing.B) {
	f32, f64 := rowWork[float32](), rowWork[float64]()
	for i := range f32 {
		name := fmt.Sprintf("%s/%dx%d", f32[i].name, benchmarkRows, benchmarkLd)
		benchmarkPaths(b, name, f32[i].benchmark, f64[i].benchmark)
	}
}

// elementwise is work on benchmarkRows·benchmarkLd elements.
type elementwise struct {
	name string
	run  func()
}

func (e elementwise) benchmark(b *testing.B) {
	for b.Loop() {
		e.run()
	}
	b.ReportMetric(benchmarkRows*benchmarkLd*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Gelement/s")
}

func rowWork[T Float]() []elementwise {
	const rows, ld, n = benchmarkRows, benchmarkLd, benchmarkRows * benchmarkLd
	r := generator()
	h, k, y, z, w := normal[T](r, n), normal[T](r, n), make([]T, n), make([]T, n), normal[T](r, rows)
	sums, bits, wide, squares := make([]float64, rows), make([]uint8, n/4), make([]float64, n), make([]float64, n)
	for i, v := range h {
		squares[i] = float64(v) * float64(v)
	}
	return []elementwise{
		{"RowScale", func() { RowScale(y, h, w, ld) }},
		{"RowAxpy", func() { RowAxpy(y, h, w, ld) }},
		{"RowDiffAxpy", func() { RowDiffAxpy(y, h, k, w, ld) }},
		{"RowLerp", func() { RowLerp(y, h, k, w, ld) }},
		{"RowLerpAxpy", func() { RowLerpAxpy(y, h, k, w, ld) }},
		{"RowSplit", func() { RowSplit(y, z, h, w, ld) }},
		{"RowDot", func() { RowDot(sums, h, k, ld) }},
		{"RowResidual", func() { RowResidual(sums, h, k, z, ld) }},
		{"Threshold", func() { Threshold(y, h, 0.1, w, bits, ld, false) }},
		{"ThresholdGrad", func() { ThresholdGrad(y, h, w, bits, ld) }},
		{"Sum", func() { sums[0] = Sum(h) }},
		{"SumSquares", func() { sums[0] = SumSquares(h, 0.5) }},
		{"SquaredDistance", func() { sums[0] = SquaredDistance(h, k) }},
		{"Affine", func() { Affine(y, h, 2, 0.5) }},
		{"AddTo", func() { AddTo(wide, h) }},
		{"Shrink", func() { Shrink(y, z, squares, 0.5, 1) }},
		{"ShrinkGrad", func() { sums[0], _ = ShrinkGrad(y, z, h, k, 0.5, 1) }},
	}
}

// BenchmarkSparse runs the products with sparse rows of 40 entries among 1000 columns.
func BenchmarkSparse(b *testing.B) {
	for _, m := range []int{10, 100} {
		benchmarkPaths(b, fmt.Sprintf("Mul/m=%d", m), benchmarkMulSparse[float32](m), benchmarkMulSparse[float64](m))
		benchmarkPaths(b, fmt.Sprintf("TMulAdd/m=%d", m), benchmarkTMulAddSparse[float32](m), benchmarkTMulAddSparse[float64](m))
	}
}

const sparseColumns, sparseEntries = 1000, 40

// sparseRows returns benchmarkRows rows.
func sparseRows[T Float]() (ptr []int, cols []int32, values []T) {
	ptr = []int{0}
	for i := range benchmarkRows {
		for j := range sparseEntries {
			cols = append(cols, int32(j*25+(i*7+j*11)%25))
		}
		ptr = append(ptr, len(cols))
	}
	return ptr, cols, data[T](len(cols))
}

func benchmarkMulSparse[T Float](m int) func(b *testing.B) {
	return func(b *testing.B) {
		ptr, cols, values := sparseRows[T]()
		rhs, y := state[T](generator(), sparseColumns, m), make([]T, benchmarkRows*Pad(m))
		for b.Loop() {
			MulSparse(ptr, cols, values, m, rhs, y, Pad(m))
		}
		report(b, benchmarkRows, sparseEntries, m)
	}
}

func benchmarkTMulAddSparse[T Float](m int) func(b *testing.B) {
	return func(b *testing.B) {
		ptr, cols, values := sparseRows[T]()
		a, c := state[T](generator(), benchmarkRows, m), make([]T, m*sparseColumns)
		for b.Loop() {
			TMulAddSparse(ptr, cols, values, m, sparseColumns, a, Pad(m), c, sparseColumns)
		}
		report(b, benchmarkRows, sparseEntries, m)
	}
}

// BenchmarkMulRowsT runs the product of rows with rows.
func BenchmarkMulRowsT(b *testing.B) {
	const n, k = 48, 784
	x, c := data[float64](n*k), make([]float64, n*n)
	benchmarkPaths(b, "n=48/m=48/k=784", nil, func(b *testing.B) {
		for b.Loop() {
			MulRowsT(n, n, k, x, k, x, k, c, n)
		}
		report(b, n, k, n)
	})
}
