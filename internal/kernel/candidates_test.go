package kernel

import (
	"math"
	"slices"
	"testing"
)

func TestLaneMinima(t *testing.T) { onPaths(t, testLaneMinima[float32], testLaneMinima[float64]) }

func testLaneMinima[T Float](t *testing.T) {
	r := generator()
	for _, n := range []int{16, 17, 31, 32, 48, 61, 1000} {
		x := normal[T](r, n)
		var got, want [Lanes]T
		copy(want[:], x)
		for j, v := range x {
			want[j%Lanes] = min(want[j%Lanes], v)
		}
		LaneMinima(x, &got)
		sameBits(t, "minima", got[:], want[:])
	}
}

func TestBelow(t *testing.T) { onPaths(t, testBelow[float32], testBelow[float64]) }

func testBelow[T Float](t *testing.T) {
	r := generator()
	for _, n := range []int{1, 15, 16, 17, 31, 48, 61, 1000} {
		x := normal[T](r, n)
		x[n/2] = T(math.Inf(1))
		for _, bound := range []T{-10, -1, x[0], 0, 1, 10} {
			var want []int32
			for j, v := range x {
				if v <= bound {
					want = append(want, int32(j))
				}
			}
			list := make([]int32, n+Lanes)
			half, rest := make([]T, n), make([]T, n)
			for j, v := range x {
				half[j], rest[j] = v/2, v/2
			}
			if got := list[:BelowSum(half, rest, bound, list)]; !slices.Equal(got, want) {
				t.Fatalf("%d sums, at most %g: got %v, want %v", n, bound, got, want)
			}
			if got := list[:Below(x, bound, list)]; !slices.Equal(got, want) {
				t.Fatalf("%d elements, at most %g: got %v, want %v", n, bound, got, want)
			}
		}
	}
}

func TestDotRows(t *testing.T) { onPaths(t, testDotRows[float32], testDotRows[float64]) }

func testDotRows[T Float](t *testing.T) {
	r := generator()
	for _, k := range []int{32, 64, 96, 608} {
		const rows = 23
		b, x := normal[T](r, rows*k), normal[T](r, k)
		for count := range 11 {
			list := make([]int32, count)
			for i := range list {
				list[i] = int32(r.IntN(rows))
			}
			got := make([]T, count)
			DotRows(x, b, list, got)
			for i, row := range list {
				want, size := 0.0, 0.0
				for j := range k {
					p := float64(x[j]) * float64(b[int(row)*k+j])
					want, size = want+p, size+math.Abs(p)
				}
				if e := math.Abs(float64(got[i]) - want); e > 4*Epsilon[T]()*size {
					t.Fatalf("%d columns, row %d: got %g, want %g", k, row, got[i], want)
				}
				alone := make([]T, 1)
				DotRows(x, b, list[i:i+1], alone)
				sameBits(t, "alone", alone, got[i:i+1])
			}
		}
	}
}
