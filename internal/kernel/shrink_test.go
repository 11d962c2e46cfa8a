package kernel

import (
	"math"
	"testing"
)

// lengths are numbers of row values: whole units, tails and both.
var lengths = []int{0, 1, 7, 16, 31, 48, 72, 192}

func TestAddNorms(t *testing.T) {
	for _, path := range Paths() {
		t.Run(path, func(t *testing.T) {
			defer force(path)()
			testAddNorms(t)
		})
	}
}

func testAddNorms(t *testing.T) {
	r := generator()
	for _, n := range lengths {
		q, norms := shifted(normal[float64](r, n), 3), make([]float64, n)
		for i := range norms {
			norms[i] = 10 + r.Float64()
		}
		for below := -1; below < n; below++ { // no row, then each in turn, falls below the share
			got, want := shifted(q, 5), make([]float64, n)
			for i := range q {
				if i == below {
					got[i] = -norms[i] * 0.9999
				}
				want[i] = got[i] + norms[i]
			}
			if n > 2 && below != 1 {
				got[1], want[1] = math.NaN(), math.NaN()
			}
			if found := AddNorms(got, norms, 1e-3); found != (below >= 0) {
				t.Fatalf("%d rows, row %d below: found %v", n, below, found)
			}
			sameBits(t, "sums", got, want)
		}
	}
}

func TestShrink(t *testing.T) { onPaths(t, testShrink[float32], testShrink[float64]) }

func testShrink[T Float](t *testing.T) {
	r := generator()
	for _, n := range lengths {
		q, dt := shifted(normal[float64](r, n), 3), shifted(normal[T](r, n), 1)
		for i := range q {
			q[i] = 2*q[i] + 3 // some are negative, by rounding
			switch i % 19 {
			case 4:
				q[i] = math.NaN()
			case 8:
				q[i] = 0
			case 12:
				q[i] = math.Inf(1)
			}
		}
		for _, rho := range []float64{0.9, 0, -0.4, math.NaN(), math.Inf(1)} {
			for _, slope := range []float64{1, 1.05} {
				norm, trust := shifted(make([]T, n), 2), shifted(make([]T, n), 5)
				Shrink(norm, trust, q, rho, slope)
				dq, minus := shifted(make([]T, n), 4), shifted(make([]T, n), 6)
				sum, any := ShrinkGrad(dq, minus, norm, dt, rho, slope)
				wantSum, size, wantAny := 0.0, 0.0, false
				for i, x := range q {
					e := math.Sqrt(x)
					if x < 0 {
						e = 0
					}
					trusted := 1.0
					if e > rho && e > 0 {
						trusted = 1 - slope + slope*rho/e
					}
					within(t, "r", float64(norm[i]), e, eps[T]()*e)
					within(t, "t", float64(trust[i]), trusted, 4*eps[T]()*math.Abs(trusted)+1e-15)
					e, d, by := float64(norm[i]), 0.0, 0.0
					if e > rho && e > 0 {
						wantAny = true
						by = float64(dt[i]) * slope / e
						d = by * rho / (e * e)
					}
					within(t, "−2dq", float64(minus[i]), d, 4*eps[T]()*math.Abs(d))
					if dq[i] != -minus[i] && !math.IsNaN(float64(dq[i])) {
						t.Fatalf("dq[%d] = %v, −dq = %v", i, dq[i], minus[i])
					}
					wantSum += by
					size += math.Abs(by)
				}
				if any != wantAny {
					t.Fatalf("%d rows, ρ = %v: any is %v", n, rho, any)
				}
				within(t, "dρ", sum, wantSum, 64*size*0x1p-52)
				one := make([]T, 4)
				for i := range q { // a row alone
					Shrink(one[:1], one[1:2], q[i:i+1], rho, slope)
					ShrinkGrad(one[2:3], one[3:], norm[i:i+1], dt[i:i+1], rho, slope)
					sameBits(t, "a row alone", one, []T{norm[i], trust[i], dq[i], minus[i]})
				}
			}
		}
	}
}
