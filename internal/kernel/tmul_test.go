package kernel

import (
	"math"
	"testing"
)

func TestTMulAdd(t *testing.T) { onPaths(t, testTMulAdd[float32], testTMulAdd[float64]) }

func testTMulAdd[T Float](t *testing.T) {
	type problem struct{ n, m, d int }
	var problems []problem
	for i := 1; i <= 40; i++ {
		problems = append(problems, problem{9, i, 21}, problem{9, 10, i}, problem{i, 7, 19}, problem{i, 37, i})
	}
	r := generator()
	for range 25 {
		problems = append(problems, problem{1 + r.IntN(300), 1 + r.IntN(120), 1 + r.IntN(200)})
	}
	for _, q := range problems {
		lda, ldx, ldc := q.m+r.IntN(4), q.d+r.IntN(4), q.d+r.IntN(4)
		// Strided columns beyond the matrices hold NaN: they must not be read into the result.
		a := withNaN(shifted(normal[T](r, q.n*lda), r.IntN(16)), lda, q.m)
		x := withNaN(shifted(normal[T](r, q.n*ldx), r.IntN(16)), ldx, q.d)
		old := normal[T](r, q.m*ldc)
		c := shifted(old, r.IntN(16))
		TMulAdd(q.n, q.m, q.d, a, lda, x, ldx, c, ldc)
		for j := range q.m {
			for p := range ldc {
				want := float64(old[j*ldc+p])
				size := math.Abs(want)
				for i := 0; i < q.n && p < q.d; i++ {
					v := float64(a[i*lda+j]) * float64(x[i*ldx+p])
					want += v
					size += math.Abs(v)
				}
				if got := float64(c[j*ldc+p]); !agrees(got, want, size*eps[T]()*(2+math.Sqrt(float64(q.n)))) {
					t.Fatalf("%v: c[%d][%d] = %v, want %v", q, j, p, got, want)
				}
			}
		}
		// The same bits from memory that is aligned differently.
		again := shifted(old, r.IntN(16))
		TMulAdd(q.n, q.m, q.d, shifted(a, r.IntN(16)), lda, shifted(x, r.IntN(16)), ldx, again, ldc)
		sameBits(t, shape(q.n, q.m, q.d), again, c)
	}
}

// withNaN sets columns m.. of rows of stride ld to NaN.
func withNaN[T Float](s []T, ld, m int) []T {
	for i := range s {
		if i%ld >= m {
			s[i] = T(math.NaN())
		}
	}
	return s
}

// A value that is not finite reaches its row or column of C and nothing else.
func TestTMulAddNotFinite(t *testing.T) {
	onPaths(t, testTMulAddNotFinite[float32], testTMulAddNotFinite[float64])
}

func testTMulAddNotFinite[T Float](t *testing.T) {
	r := generator()
	for _, m := range []int{7, 40} {
		const n, d = 11, 37
		for _, inA := range []bool{false, true} {
			a, x, c := normal[T](r, n*m), normal[T](r, n*d), make([]T, m*d)
			if inA {
				a[3*m+5] = T(math.NaN())
			} else {
				x[3*d+36] = T(math.Inf(-1))
			}
			TMulAdd(n, m, d, a, m, x, d, c, d)
			for i, v := range c {
				finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
				hit := inA && i/d == 5 || !inA && i%d == 36
				if finite == hit {
					t.Fatalf("m = %d: c[%d][%d] = %v", m, i/d, i%d, v)
				}
			}
		}
	}
}

func TestTMulAddEmpty(t *testing.T) {
	onPaths(t, func(*testing.T) { TMulAdd[float32](0, 3, 4, nil, 3, nil, 4, nil, 4) },
		func(*testing.T) { TMulAdd[float64](2, 0, 0, nil, 3, nil, 4, nil, 4) })
}

// A product takes no memory, whether or not the columns fill the vectors.
func TestTMulAddAllocatesNothing(t *testing.T) {
	onPaths(t, testTMulAddAllocatesNothing[float32], testTMulAddAllocatesNothing[float64])
}

func testTMulAddAllocatesNothing[T Float](t *testing.T) {
	const n, m = 20, 10
	r := generator()
	for _, d := range []int{5, 16, 21} {
		a, x, c := normal[T](r, n*m), normal[T](r, n*d), make([]T, m*d)
		if got := testing.AllocsPerRun(10, func() { TMulAdd(n, m, d, a, m, x, d, c, d) }); got != 0 {
			t.Errorf("d = %d: %v allocations", d, got)
		}
	}
}
