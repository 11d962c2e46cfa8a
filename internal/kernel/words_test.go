package kernel

import (
	"math"
	"testing"
)

func TestWordRow(t *testing.T) { onPaths(t, testWordRow[float32], testWordRow[float64]) }

func testWordRow[T Float](t *testing.T) {
	r := generator()
	for _, n := range []int{1, 2, 17, 600} {
		x, dst := normal[T](r, n), make([]int16, n)
		longest := 1.5 * math.Sqrt(SumSquares(x, 0))
		step, lost := WordRow(x, longest, dst)
		want := 0.0
		for i, v := range x {
			e := float64(v) - step*float64(dst[i])
			if math.Abs(e) > 0.501*step {
				t.Fatalf("%d elements: %g is %d steps of %g", n, v, dst[i], step)
			}
			want += e * e
		}
		if step != longest/mostWord || math.Abs(lost-want) > 1e-9*want {
			t.Errorf("%d elements: steps of %g, lost %g; want %g, %g", n, step, lost, longest/mostWord, want)
		}
		clear(x)
		if step, lost := WordRow(x, 0, dst); step != 0 || lost != 0 || dst[0] != 0 || dst[n-1] != 0 {
			t.Errorf("%d zeros: steps of %g, lost %g, words %d to %d", n, step, lost, dst[0], dst[n-1])
		}
	}
}

func TestMulWords(t *testing.T) { onPaths(t, testMulWords[float32], testMulWords[float64]) }

func testMulWords[T Float](t *testing.T) {
	r := generator()
	for _, k := range []int{1, 2, 7, 16, 63, 187} {
		for _, m := range []int{1, 15, 16, 33, 64, 65, 127, 250} {
			words := func(rows, ld int) []int16 {
				x := make([]int16, rows*ld)
				for i := 0; i < len(x); i += ld {
					v := normal[float64](r, k)
					if i%3 == 0 { // the largest sums that there can be
						clear(v)
						v[r.IntN(min(k, 2))] = float64(2*r.IntN(2) - 1)
					}
					WordRow(v, math.Sqrt(SumSquares(v, 0)), x[i:])
				}
				return x
			}
			ld := (k+WordUnit-1)/WordUnit*WordUnit + 2
			b, bias := words(m, k+3), normal[T](r, m)
			var p WordPanel[T]
			PackWords(&p, k, m, b, k+3, bias)
			for _, n := range []int{1, 3, 5, 6, 13, 64} {
				x, step := words(n, ld), normal[T](r, n)
				y := make([]T, n*Pad(m))
				MulWords(n, x, ld, &p, step, y, Pad(m))
				for i := range n {
					for j := range Pad(m) {
						sum := 0
						for q := 0; j < m && q < k; q++ {
							sum += int(x[i*ld+q]) * int(b[j*(k+3)+q])
						}
						want := float64(step[i]) * float64(sum)
						if j < m {
							want += float64(bias[j])
						}
						if got := float64(y[i*Pad(m)+j]); math.Abs(got-want) > 4*Epsilon[T]()*(math.Abs(want)+10) {
							t.Fatalf("%d×%d×%d: row %d, column %d is %g, want %g", n, k, m, i, j, got, want)
						}
					}
				}
			}
		}
	}
}
