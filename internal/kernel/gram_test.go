package kernel

import (
	"math"
	"testing"
)

func TestMulRowsT(t *testing.T) {
	for _, name := range Paths() {
		t.Run(name, func(t *testing.T) {
			defer force(name)()
			testMulRowsT(t)
		})
	}
}

func testMulRowsT(t *testing.T) {
	r := generator()
	problems := [][3]int{{1, 1, 1}, {6, 6, 3703}, {5, 1, 512}, {1, 9, 513}, {3, 4, 1024}, {7, 7, 0}}
	for range 40 {
		problems = append(problems, [3]int{1 + r.IntN(20), 1 + r.IntN(20), 1 + r.IntN(1100)})
	}
	for _, q := range problems {
		n, m, k := q[0], q[1], q[2]
		ldx, ldy, ldc := k+r.IntN(4), k+r.IntN(4), m+r.IntN(4)
		// What lies beyond the matrices is NaN: it must not be read into the result, nor overwritten.
		x := withNaN(shifted(normal[float64](r, n*ldx), r.IntN(8)), max(ldx, 1), k)
		y := withNaN(shifted(normal[float64](r, m*ldy), r.IntN(8)), max(ldy, 1), k)
		c := make([]float64, n*ldc)
		for i := range c {
			c[i] = math.NaN()
		}
		MulRowsT(n, m, k, x, ldx, y, ldy, c, ldc)
		for i := range n {
			for j := range ldc {
				want, size := 0.0, 0.0
				for p := 0; p < k && j < m; p++ {
					v := x[i*ldx+p] * y[j*ldy+p]
					want += v
					size += math.Abs(v)
				}
				if j >= m {
					want = math.NaN()
				}
				if got := c[i*ldc+j]; !agrees(got, want, size*eps[float64]()*(2+math.Sqrt(float64(k)))) {
					t.Fatalf("%v: c[%d][%d] = %v, want %v", q, i, j, got, want)
				}
			}
		}
		i, j := r.IntN(n), r.IntN(m)
		var one [1]float64
		if k > 0 {
			MulRowsT(1, 1, k, x[i*ldx:], ldx, y[j*ldy:], ldy, one[:], 1)
		}
		if one[0] != c[i*ldc+j] {
			t.Fatalf("%v: c[%d][%d] is %v alone and %v among others", q, i, j, one[0], c[i*ldc+j])
		}
	}
}
