package kernel

import (
	"math"
	"testing"
)

func TestSoftmax(t *testing.T) { onPaths(t, testSoftmax[float32], testSoftmax[float64]) }

func testSoftmax[T Float](t *testing.T) {
	r := generator()
	for _, m := range []int{1, 2, 7, 10, 15, 16, 17, 31, 40} {
		ld := Pad(m)
		for _, rows := range []int{1, 2, 5} {
			a, s := make([]T, rows*ld), make([]T, rows)
			for i := range rows {
				s[i] = []T{0, 1, 10, 300, 0.5}[i]
				copy(a[i*ld:], normal[T](r, m))
			}
			got := make([]T, rows*ld)
			for j := range got {
				got[j] = 7
			}
			Softmax(got, a, s, m, ld)
			for i := range rows {
				most, sum := math.Inf(-1), 0.0
				z := make([]float64, m)
				for j := range z {
					z[j] = float64(s[i]) * float64(a[i*ld+j])
					most = max(most, z[j])
				}
				for j := range z {
					z[j] = math.Exp(z[j] - most)
					sum += z[j]
				}
				for j := range ld {
					want := 0.0
					if j < m {
						want = z[j] / sum
					}
					e := math.Abs(float64(got[i*ld+j]) - want)
					if e > (4+4*float64(s[i]))*2*eps[T]()*want+1e-37 {
						t.Fatalf("m = %d, row %d of %d, column %d: %g, want %g", m, i, rows, j, got[i*ld+j], want)
					}
				}
				alone := make([]T, ld)
				Softmax(alone, a[i*ld:(i+1)*ld], s[i:i+1], m, ld)
				sameBits(t, "alone", alone, got[i*ld:(i+1)*ld])
			}
			Softmax(a, a, s, m, ld)
			sameBits(t, "in place", a, got)
		}
	}
}

func TestSoftmaxGrad(t *testing.T) { onPaths(t, testSoftmaxGrad[float32], testSoftmaxGrad[float64]) }

func testSoftmaxGrad[T Float](t *testing.T) {
	r := generator()
	for _, m := range []int{1, 7, 10, 16, 17, 40} {
		const rows = 5
		ld := Pad(m)
		q, d, s := make([]T, rows*ld), make([]T, rows*ld), normal[T](r, rows)
		for i := range rows {
			copy(q[i*ld:], normal[T](r, m))
			copy(d[i*ld:], normal[T](r, m))
		}
		got := normal[T](r, rows*ld)
		SoftmaxGrad(got, q, d, s, m, ld)
		for i := range rows {
			mean, size := 0.0, 0.0
			for j := range m {
				p := float64(q[i*ld+j]) * float64(d[i*ld+j])
				mean, size = mean+p, size+math.Abs(p)
			}
			for j := range ld {
				f := float64(s[i]) * float64(q[i*ld+j])
				want, bound := f*(float64(d[i*ld+j])-mean), 8*eps[T]()*math.Abs(f)*(math.Abs(float64(d[i*ld+j]))+size)
				if e := math.Abs(float64(got[i*ld+j]) - want); e > bound {
					t.Fatalf("m = %d, row %d, column %d: %g, want %g", m, i, j, got[i*ld+j], want)
				}
			}
		}
		SoftmaxGrad(d, q, d, s, m, ld)
		sameBits(t, "in place", d, got)
	}
}
