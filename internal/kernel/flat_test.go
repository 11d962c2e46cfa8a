package kernel

import (
	"math"
	"testing"
)

var flatLengths = []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 100, 784, flatElements, 2*flatElements + 21}

func TestSums(t *testing.T) { onPaths(t, testSums[float32], testSums[float64]) }

func testSums[T Float](t *testing.T) {
	r := generator()
	for i, n := range flatLengths {
		x, y := shifted(normal[T](r, n), i%16), shifted(normal[T](r, n+3), (i+3)%16)
		mean := 0.25
		sum, squares, distance, size, spread := 0.0, 0.0, 0.0, 0.0, 0.0
		for j := range x {
			v, u := float64(x[j]), float64(y[j])
			sum += v
			size += math.Abs(v)
			squares += (v - mean) * (v - mean)
			distance += (v - u) * (v - u)
			spread += v*v + u*u + 1
		}
		bound := float64(n+8) * 0x1p-53
		within(t, "Sum"+shape(n), Sum(x), sum, size*bound)
		within(t, "SumSquares"+shape(n), SumSquares(x, mean), squares, spread*bound)
		within(t, "SquaredDistance"+shape(n), SquaredDistance(x, y), distance, spread*bound)
		again := shifted(x, (i+7)%16)
		sameBits(t, "another alignment", []float64{Sum(again), SumSquares(again, mean), SquaredDistance(again, y)},
			[]float64{Sum(x), SumSquares(x, mean), SquaredDistance(x, y)})
		if n > 0 {
			for _, j := range []int{0, n / 2, n - 1} {
				bad := shifted(x, 0)
				bad[j] = T(math.NaN())
				if !math.IsNaN(Sum(bad)) || !math.IsNaN(SumSquares(bad, mean)) || !math.IsNaN(SquaredDistance(bad, y)) {
					t.Fatalf("n = %d: NaN at %d was lost", n, j)
				}
			}
		}
	}
}

// The vector paths add in the same order, so that their sums are equal to the bit.
func TestSumsEqualOnVectorPaths(t *testing.T) {
	r := generator()
	x, y := normal[float32](r, 16*49), normal[float32](r, 16*49)
	var first []float64
	for _, name := range Paths() {
		if name == "portable" {
			continue
		}
		restore := force(name)
		dot := make([]float64, 7)
		RowDot(dot, x, y, 112)
		got := append(dot, Sum(x), SumSquares(x, 0.1), SquaredDistance(x, y))
		restore()
		if first == nil {
			first = got
		}
		sameBits(t, name, got, first)
	}
}

func TestFlatMaps(t *testing.T) { onPaths(t, testFlatMaps[float32], testFlatMaps[float64]) }

func testFlatMaps[T Float](t *testing.T) {
	r := generator()
	for i, n := range flatLengths {
		x := shifted(normal[T](r, n), i%16)
		if n > 20 {
			x[3], x[n-1] = T(math.NaN()), T(math.Inf(-1))
		}
		dst, sums := make([]T, n+2), normal[float64](r, n+2)
		old := append([]float64(nil), sums...)
		Affine(dst, x, 1.7, -0.3)
		AddTo(sums, x)
		for j, v := range x {
			if want := T(1.7 * (float64(v) + 0.3)); !same(dst[j], want) {
				t.Fatalf("Affine, n = %d: element %d is %v, want %v", n, j, dst[j], want)
			}
			if want := old[j] + float64(v); !same(sums[j], want) {
				t.Fatalf("AddTo, n = %d: element %d is %v, want %v", n, j, sums[j], want)
			}
		}
		sameBits(t, "behind Affine", dst[n:], make([]T, 2))
		sameBits(t, "behind AddTo", sums[n:], old[n:])
		wide := shifted(normal[float64](r, n), i%8)
		if n > 20 {
			wide[1], wide[n-2] = math.NaN(), math.Inf(1)
		}
		scaled := make([]T, n+2)
		ScaleTo(scaled, wide, 0.7)
		for j, v := range wide {
			if want := T(0.7 * v); !same(scaled[j], want) {
				t.Fatalf("ScaleTo, n = %d: element %d is %v, want %v", n, j, scaled[j], want)
			}
		}
		sameBits(t, "behind ScaleTo", scaled[n:], make([]T, 2))
		Affine(x, x, 1.7, -0.3)
		sameBits(t, "Affine in place", x, dst[:n])
	}
}
