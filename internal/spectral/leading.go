package spectral

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
)

const (
	leadingSpare  = 8  // additional vectors
	leadingRounds = 10 // of powers, with a new basis after each
	leadingPower  = 6
)

// Leading returns the count largest eigenvalues of a symmetric n×n matrix A with eigenvalues from −1 to 1, in falling order, by
// subspace iteration with (A + I)/2 and a Rayleigh–Ritz step. mul sets dst = A·x for n×ld matrices, row-major. Eigenvalues that
// are well separated from the next are exact to some digits. It takes about 60 products with count + 8 vectors.
func Leading(
	ctx context.Context, n, count int, mul func(dst, x []float64, ld int) error, seed uint64, workers int,
) ([]float64, error) {
	if n < 1 || count < 1 || count > n {
		return nil, fmt.Errorf("spectral: %d eigenvalues of a matrix of %d rows", count, n)
	}
	b := min(count+leadingSpare, n)
	ld := kernel.Pad(b)
	basis, x, y := make([]float64, b*n), make([]float64, n*ld), make([]float64, n*ld) // basis is b×n
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range basis {
		basis[i] = rng.NormFloat64()
	}
	for round := range leadingRounds + 1 {
		if err := orthonormalise(ctx, basis, b, n, workers); err != nil {
			return nil, err
		}
		turn(x, basis, n, b, ld)
		if round == leadingRounds {
			break
		}
		for range leadingPower {
			if err := mul(y, x, ld); err != nil {
				return nil, err
			}
			for i, a := range y {
				x[i] = (a + x[i]) / 2
			}
		}
		turnBack(basis, x, n, b, ld)
	}
	if err := mul(y, x, ld); err != nil {
		return nil, err
	}
	image := make([]float64, b*n)
	turnBack(image, y, n, b, ld)
	products, err := timesTransposed(ctx, basis, image, b, n, workers)
	if err != nil {
		return nil, err
	}
	return largest(products, b, count)
}

// largest returns the count largest eigenvalues of the symmetric part of a b×b matrix, in falling order.
func largest(a []float64, b, count int) ([]float64, error) {
	small := mat.NewSymDense(b, nil)
	for i := range b {
		for k := range i + 1 {
			small.SetSym(i, k, (a[i*b+k]+a[k*b+i])/2)
		}
	}
	var found mat.EigenSym
	if !found.Factorize(small, false) {
		return nil, errors.New("spectral: the eigenvalues of a small matrix were not found")
	}
	values := found.Values(nil) // rising
	out := make([]float64, count)
	for k := range out {
		out[k] = values[b-1-k]
	}
	return out, nil
}

// turn writes the rows of a b×n matrix to the columns of an n×ld one.
func turn(x, rows []float64, n, b, ld int) {
	for i := range n {
		for k := range b {
			x[i*ld+k] = rows[k*n+i]
		}
	}
}

// turnBack writes the first b columns of an n×ld matrix to the rows of a b×n one.
func turnBack(rows, x []float64, n, b, ld int) {
	for i := range n {
		for k := range b {
			rows[k*n+i] = x[i*ld+k]
		}
	}
}
