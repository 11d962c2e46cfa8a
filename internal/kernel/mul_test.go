package kernel

import (
	"math"
	"testing"
)

// mulShape is a problem for Mul: n rows, k by m.
type mulShape struct{ n, k, m int }

// mulShapes covers every width of a strip and its masks, both forms of a panel, several blocks of k and of rows.
func mulShapes() []mulShape {
	var s []mulShape
	for m := 1; m <= 40; m++ {
		s = append(s, mulShape{13, 1 + m*5%23, m}, mulShape{5, 96 + m*7%41, m})
	}
	for k := 1; k <= 40; k++ {
		s = append(s, mulShape{7, k, 10}, mulShape{3, k, 33})
	}
	for n := 1; n <= 40; n++ {
		s = append(s, mulShape{n, 11, 10}, mulShape{n, 131, 7}, mulShape{n, 19, 70})
	}
	r := generator()
	for range 25 {
		s = append(s, mulShape{1 + r.IntN(220), 1 + r.IntN(300), 1 + r.IntN(130)})
	}
	return append(s, mulShape{99, 1500, 10}, mulShape{97, 2672, 3}, mulShape{50, 1100, 100},
		mulShape{4, 700, 300}, mulShape{50, 1100, 16}, mulShape{19, 900, 31}, mulShape{19, 900, 34})
}

func TestMul(t *testing.T) { onPaths(t, testMul[float32], testMul[float64]) }

func testMul[T Float](t *testing.T) {
	r := generator()
	for i, s := range mulShapes() {
		ldx, ldb, ldy := s.k+r.IntN(5), s.m+r.IntN(4), Pad(s.m)+16*r.IntN(2)
		x := shifted(normal[T](r, s.n*ldx), r.IntN(16))
		b := normal[float64](r, s.k*ldb)
		old := shifted(normal[T](r, s.n*ldy), r.IntN(16))
		var p Panel[T]
		if i%2 == 0 {
			Pack(&p, s.k, s.m, b, ldb)
		} else {
			PackT(&p, s.k, s.m, transposed(s.k, s.m, b, ldb), s.k+1)
		}
		if k, m := p.Dims(); k != s.k || m != s.m {
			t.Fatalf("Dims: %d, %d, want %d, %d", k, m, s.k, s.m)
		}
		for _, add := range []bool{false, true} {
			y := shifted(old, r.IntN(16))
			Mul(s.n, x, ldx, &p, y, ldy, add)
			checkMul(t, s, x, ldx, b, ldb, y, old, ldy, add)
		}
	}
}

// transposed returns the m×k transpose of b with stride k+1.
func transposed(k, m int, b []float64, ldb int) []float64 {
	c := make([]float64, m*(k+1))
	for i := range k {
		for j := range m {
			c[j*(k+1)+i] = b[i*ldb+j]
		}
	}
	return c
}

// checkMul compares y with sums in float64, column by column, and what lies behind column m with what it must be.
func checkMul[T Float](t *testing.T, s mulShape, x []T, ldx int, b []float64, ldb int, y, old []T, ldy int, add bool) {
	t.Helper()
	for i := range s.n {
		for j := range ldy {
			want, size := 0.0, 0.0
			switch {
			case j < s.m:
				for p := range s.k {
					v := float64(x[i*ldx+p]) * float64(T(b[p*ldb+j]))
					want += v
					size += math.Abs(v)
				}
				if add {
					want += float64(old[i*ldy+j])
					size += math.Abs(float64(old[i*ldy+j]))
				}
			case add || j >= Pad(s.m):
				want = float64(old[i*ldy+j])
			}
			if got := float64(y[i*ldy+j]); !agrees(got, want, size*eps[T]()*(2+math.Sqrt(float64(s.k)))) {
				t.Fatalf("%v: y[%d][%d] = %v, want %v", s, i, j, got, want)
			}
		}
	}
}

// A row alone gives the bits that it gives in every place of a block, whatever the alignment.
func TestMulRowIndependent(t *testing.T) {
	onPaths(t, testMulRowIndependent[float32], testMulRowIndependent[float64])
}

func testMulRowIndependent[T Float](t *testing.T) {
	r := generator()
	for _, s := range []mulShape{{31, 784, 10}, {99, 200, 7}, {31, 130, 12}, {31, 10, 10}, {40, 301, 100},
		{29, 600, 17}, {23, 50, 45}, {17, 1203, 64}, {13, 700, 201}} {
		x, b := normal[T](r, s.n*s.k), normal[T](r, s.k*s.m)
		var p Panel[T]
		Pack(&p, s.k, s.m, b, s.m)
		ld := Pad(s.m)
		for _, add := range []bool{false, true} {
			old := normal[T](r, s.n*ld)
			whole := append([]T(nil), old...)
			Mul(s.n, x, s.k, &p, whole, ld, add)
			for i := range s.n {
				for _, first := range []int{i, max(0, i-4), max(0, i-11)} {
					n := i - first + 1
					part := shifted(old[first*ld:(i+1)*ld], i%16)
					Mul(n, shifted(x[first*s.k:(i+1)*s.k], (i+5)%16), s.k, &p, part, ld, add)
					sameBits(t, shape(s.n, s.k, s.m, first, i), part, whole[first*ld:(i+1)*ld])
				}
			}
		}
	}
}

// Values that are not finite reach their row of Y and no other, and never the columns behind m.
func TestMulNotFinite(t *testing.T) {
	onPaths(t, testMulNotFinite[float32], testMulNotFinite[float64])
}

func testMulNotFinite[T Float](t *testing.T) {
	r := generator()
	for _, s := range []mulShape{{9, 40, 10}, {9, 200, 10}, {9, 203, 11}, {9, 131, 3}, {9, 70, 100}, {3, 1500, 37}} {
		var p Panel[T]
		Pack(&p, s.k, s.m, normal[T](r, s.k*s.m), s.m)
		ld := Pad(s.m)
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			for _, column := range []int{0, s.k / 2, s.k - 1} {
				x := normal[T](r, s.n*s.k)
				x[1*s.k+column] = T(bad)
				y := make([]T, s.n*ld)
				Mul(s.n, x, s.k, &p, y, ld, false)
				for i, v := range y {
					row, j := i/ld, i%ld
					finite := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					if finite != (row != 1 || j >= s.m) || j >= s.m && v != 0 {
						t.Fatalf("%v in column %d: y[%d][%d] = %v", bad, column, row, j, v)
					}
				}
			}
		}
	}
}

// Products of denormals and zeros of both signs come out as in scalar arithmetic.
func TestMulDenormal(t *testing.T) { onPaths(t, testMulDenormal[float32], testMulDenormal[float64]) }

func testMulDenormal[T Float](t *testing.T) {
	tiny := T(math.SmallestNonzeroFloat64)
	if eps[T]() == 0x1p-23 {
		tiny = T(math.SmallestNonzeroFloat32)
	}
	zero := T(0)
	for _, k := range []int{5, 120} {
		x, b := make([]T, 3*k), make([]T, k*10)
		for i := range x {
			x[i] = []T{3 * tiny, -zero, zero}[i/k]
		}
		for i := range b {
			b[i] = 1
		}
		var p Panel[T]
		Pack(&p, k, 10, b, 10)
		y := make([]T, 3*16)
		Mul(3, x, k, &p, y, 16, false)
		for i, v := range y {
			want := T(0)
			if i < 10 {
				want = T(k) * 3 * tiny
			}
			if v != want {
				t.Fatalf("k = %d: y[%d] = %g, want %g", k, i, v, want)
			}
		}
	}
}

func TestMulEmpty(t *testing.T) { onPaths(t, testMulEmpty[float32], testMulEmpty[float64]) }

func testMulEmpty[T Float](t *testing.T) {
	var p Panel[T]
	Mul(3, nil, 0, &p, nil, 0, false)
	Pack(&p, 0, 5, []T(nil), 5)
	y := []T{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	Mul(1, nil, 0, &p, y, 16, true)
	if y[0] != 1 || y[15] != 16 {
		t.Errorf("k = 0 with add changed Y to %v", y)
	}
	Mul(0, nil, 0, &p, y, 16, false)
	Mul(1, nil, 0, &p, y, 16, false)
	sameBits(t, "k = 0", y, make([]T, 16))
}

// A panel is packed again in the memory that it has, and a call leaves nothing on the heap.
func TestMulAllocates(t *testing.T) {
	onPaths(t, testMulAllocates[float32], testMulAllocates[float64])
}

func testMulAllocates[T Float](t *testing.T) {
	r := generator()
	x, b, y := normal[T](r, 50*128), normal[T](r, 128*40), make([]T, 50*48)
	c := make([]T, 40*128)
	var p Panel[T]
	Pack(&p, 128, 40, b, 40)
	if n := testing.AllocsPerRun(5, func() {
		Pack(&p, 128, 40, b, 40)
		Mul(50, x, 128, &p, y, 48, false)
		PackT(&p, 128, 7, b, 128)
		Mul(50, x, 128, &p, y, 48, false)
		TMulAdd(50, 40, 128, y, 48, x, 128, c, 128)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
