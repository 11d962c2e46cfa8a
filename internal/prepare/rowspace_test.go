package prepare

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// matrix returns n×d rows of the given rank whose lengths differ by many orders; every ninth is zero.
func matrix(rng *rand.Rand, n, d, rank int) []float64 {
	left, right := make([]float64, n*rank), make([]float64, rank*d)
	for i := range left {
		left[i] = rng.NormFloat64()
	}
	for i := range right {
		right[i] = rng.NormFloat64()
	}
	x := make([]float64, n*d)
	for i := range n {
		scale := math.Pow(10, float64(i%7)-3)
		if i%9 == 8 {
			scale = 0
		}
		for r := range rank {
			for j := range d {
				x[i*d+j] += scale * left[i*rank+r] * right[r*d+j]
			}
		}
	}
	return x
}

func convert[T kernel.Float](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}

func TestBasisSpansTheRows(t *testing.T) {
	t.Run("float64", func(t *testing.T) { spans[float64](t, 0x1p-43, 1e-12, 0) })
	// The rounding of the elements alone adds directions where the rows are nearly dependent.
	t.Run("float32", func(t *testing.T) { spans[float32](t, 0x1p-21, 1e-6, 3) })
}

func spans[T kernel.Float](t *testing.T, tol, want float64, extra int) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, s := range []struct{ n, d, rank int }{{1, 5, 1}, {20, 300, 20}, {40, 90, 7}, {200, 60, 60},
		{150, 1500, 33}, {33, 34, 33}} {
		x := convert[T](matrix(rng, s.n, s.d, s.rank))
		q, k, err := rowBasis[T](context.Background(), rows.NewDense(s.n, s.d, s.d, x), s.d, tol, 2)
		if err != nil {
			t.Fatal(err)
		}
		nonzero := s.n - s.n/9
		if rank := min(s.rank, nonzero); k < rank || k > rank+extra {
			t.Errorf("%+v: %d basis rows, the rank is %d", s, k, rank)
		}
		for i := range k {
			for j := range k {
				dot, one := 0.0, 0.0
				for c := range s.d {
					dot += q[i*s.d+c] * q[j*s.d+c]
				}
				if i == j {
					one = 1
				}
				if math.Abs(dot-one) > 1e-13 {
					t.Fatalf("%+v: rows %d and %d have the product %v", s, i, j, dot)
				}
			}
		}
		for i := range s.n {
			norm, rest := 0.0, make([]float64, s.d)
			for j, v := range x[i*s.d : (i+1)*s.d] {
				rest[j] = float64(v)
				norm += rest[j] * rest[j]
			}
			for r := range k {
				dot := 0.0
				for j, v := range x[i*s.d : (i+1)*s.d] {
					dot += q[r*s.d+j] * float64(v)
				}
				for j := range rest {
					rest[j] -= dot * q[r*s.d+j]
				}
			}
			left := 0.0
			for _, v := range rest {
				left += v * v
			}
			if !(math.Sqrt(left) <= want*math.Sqrt(norm)) {
				t.Fatalf("%+v: row %d of length %.3g is %.3g from the span", s, i, math.Sqrt(norm), math.Sqrt(left))
			}
		}
	}
}

// Rows that differ from each other by little: plain Gram–Schmidt loses the orthogonality in proportion to that.
func TestBasisOfNearlyDependentRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	const n, d = 40, 200
	x := make([]float64, n*d)
	for i := range n {
		for j := range d {
			x[i*d+j] = 1 + 1e-8*rng.NormFloat64()
		}
	}
	q, k, err := rowBasis[float64](context.Background(), rows.NewDense(n, d, d, x), n, 0x1p-43, 1)
	if err != nil || k != n {
		t.Fatalf("%d basis rows, %v; want %d", k, err, n)
	}
	for i := range k {
		for j := range i {
			dot := 0.0
			for c := range d {
				dot += q[i*d+c] * q[j*d+c]
			}
			if math.Abs(dot) > 1e-14 {
				t.Fatalf("rows %d and %d have the product %v", i, j, dot)
			}
		}
	}
}

func TestBasisGivesUpBeyondTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	x := matrix(rng, 400, 200, 120)
	m := rows.NewDense(400, 200, 200, x)
	if q, k, err := rowBasis[float64](context.Background(), m, 119, 0x1p-43, 2); q != nil || k <= 119 || err != nil {
		t.Errorf("rank 120 within 119: %d rows, k = %d, %v", len(q)/200, k, err)
	}
	if q, k, err := rowBasis[float64](context.Background(), m, 120, 0x1p-43, 2); len(q) != 120*200 || k != 120 || err != nil {
		t.Errorf("rank 120 within 120: %d rows, k = %d, %v", len(q)/200, k, err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := rowBasis[float64](stopped, m, 200, 0x1p-43, 2); err == nil {
		t.Error("no error from a cancelled context")
	}
}

func TestBasisDoesNotDependOnWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 1))
	x := matrix(rng, 90, 2500, 70)
	m := rows.NewDense(90, 2500, 2500, x)
	one, k, err := rowBasis[float64](context.Background(), m, 90, 0x1p-43, 1)
	if err != nil {
		t.Fatal(err)
	}
	four, l, err := rowBasis[float64](context.Background(), m, 90, 0x1p-43, 4)
	if err != nil || k != l {
		t.Fatalf("%d and %d rows, %v", k, l, err)
	}
	for i := range one {
		if one[i] != four[i] {
			t.Fatalf("element %d is %v with one worker, %v with four", i, one[i], four[i])
		}
	}
}
