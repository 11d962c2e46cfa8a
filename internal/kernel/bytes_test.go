package kernel

import (
	"math"
	"testing"
)

func TestByteRow(t *testing.T) { onPaths(t, testByteRow[float32], testByteRow[float64]) }

func testByteRow[T Float](t *testing.T) {
	r := generator()
	for _, n := range []int{16, 32, 48, 64, 608} {
		x := normal[T](r, n)
		dst := make([]uint8, n)
		step, square, lost := ByteRow(x, dst)
		most, wantSquare, wantLost := 0.0, 0.0, 0.0
		for i, v := range x {
			most = max(most, math.Abs(float64(v)))
			wantSquare += float64(v) * float64(v)
			e := float64(v) - float64(step)*(float64(dst[i])-byteZero)
			if math.Abs(e) > 0.501*float64(step) {
				t.Fatalf("%d elements: %g is %d steps of %g", n, v, int(dst[i])-byteZero, step)
			}
			wantLost += e * e
		}
		if math.Abs(float64(step)-most/mostByte) > 1e-6*most {
			t.Errorf("%d elements: steps of %g, the largest is %g", n, step, most)
		}
		if math.Abs(square-wantSquare) > 1e-5*wantSquare || math.Abs(lost-wantLost) > 1e-3*wantLost {
			t.Errorf("%d elements: squares of %g, lost %g; want %g, %g", n, square, lost, wantSquare, wantLost)
		}
		clear(x)
		step, square, lost = ByteRow(x, dst)
		if step != 0 || square != 0 || lost != 0 || dst[0] != byteZero || dst[n-1] != byteZero {
			t.Errorf("%d zeros: steps of %g, squares of %g, lost %g, bytes %d to %d", n, step, square, lost, dst[0], dst[n-1])
		}
	}
}

func TestMulBytes(t *testing.T) { onPaths(t, testMulBytes[float32], testMulBytes[float64]) }

func testMulBytes[T Float](t *testing.T) {
	r := generator()
	for _, k := range []int{1, 4, 7, 16, 63, 160} {
		for _, m := range []int{1, 15, 16, 33, 64, 65, 127, 250} {
			bytes := func(rows, ld, count int) []uint8 {
				x := make([]uint8, rows*ld)
				for i := range x {
					x[i] = byteZero
					if i%ld < count {
						x[i] = uint8(1 + r.IntN(255))
					}
				}
				return x
			}
			ld := (k + ByteUnit - 1) / ByteUnit * ByteUnit
			b, bias := bytes(m, k+3, k), normal[T](r, m)
			var p BytePanel[T]
			PackBytes(&p, k, m, b, k+3, bias)
			for _, n := range []int{1, 3, 5, 6, 13, 64} {
				x, step := bytes(n, ld, k), normal[T](r, n)
				y := make([]T, n*Pad(m))
				MulBytes(n, x, ld, &p, step, y, Pad(m))
				for i := range n {
					for j := range Pad(m) {
						want := 0.0
						if j < m {
							sum := 0
							for q := range k {
								sum += (int(x[i*ld+q]) - byteZero) * (int(b[j*(k+3)+q]) - byteZero)
							}
							want = float64(bias[j]) + float64(step[i])*float64(sum)
						}
						got := float64(y[i*Pad(m)+j])
						if math.Abs(got-want) > 4*Epsilon[T]()*(math.Abs(want)+10) {
							t.Fatalf("%d×%d×%d: row %d, column %d is %g, want %g", n, k, m, i, j, got, want)
						}
					}
				}
			}
		}
	}
}
