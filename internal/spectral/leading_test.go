package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestLeading compares with all eigenvalues of a small matrix, of which three stand apart.
func TestLeading(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(1, 5))
	var q mat.Dense
	x := mat.NewDense(n, n, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(x)
	qr.QTo(&q)
	values := make([]float64, n)
	for i := range values {
		values[i] = 1.4*rng.Float64() - 1
	}
	values[7], values[20], values[33] = 1, 0.9, 0.8
	var a mat.Dense
	a.Product(&q, mat.NewDiagDense(n, values), q.T())
	mul := func(dst, x []float64, ld int) error {
		mat.NewDense(n, ld, dst).Mul(&a, mat.NewDense(n, ld, x))
		return nil
	}
	got, err := Leading(context.Background(), n, 5, mul, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(values)
	for k, x := range got {
		tolerance := 1e-3
		if k < 3 {
			tolerance = 1e-10
		}
		if want := values[n-1-k]; math.Abs(x-want) > tolerance {
			t.Errorf("eigenvalue %d is %v, want %v", k, x, want)
		}
	}
	if _, err := Leading(context.Background(), n, n+1, mul, 0, 1); err == nil {
		t.Error("more eigenvalues than rows are no error")
	}
}
