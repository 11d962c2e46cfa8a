package tsne

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/spectral"
)

// PCA returns the first dims principal components of the n rows of x as an n×dims matrix: the coordinates of the centred
// rows along the directions of greatest variance, by randomised subspace iteration. Each direction's entry of largest
// magnitude is positive, so that signs do not depend on the seed.
//
// It returns an error unless 1 ≤ dims ≤ min(n, d), and the context's error if it is cancelled.
func PCA(ctx context.Context, x mat.Matrix, dims int, seed uint64, workers int) (*mat.Dense, error) {
	n, d := x.Dims()
	if dims < 1 || dims > min(n, d) {
		return nil, fmt.Errorf("tsne: %d principal components of %d×%d points", dims, n, d)
	}
	c := mat.DenseCopyOf(x)
	mean := make([]float64, d)
	for i := range n {
		for j, a := range c.RawRowView(i) {
			mean[j] += a / float64(n)
		}
	}
	for i := range n {
		for j := range mean {
			c.RawRowView(i)[j] -= mean[j]
		}
	}
	data := []rows.Matrix[float64]{rows.NewDense(n, d, d, c.RawMatrix().Data)}
	basis, err := spectral.Find(ctx, data, spectral.Config{Rank: dims, Seed: seed, Workers: workers})
	if err != nil {
		return nil, err
	}
	for k := range dims {
		v := basis.V[0][k*d : (k+1)*d]
		largest := 0.0
		for _, a := range v {
			if a*a > largest*largest {
				largest = a
			}
		}
		for j := range v {
			if largest < 0 {
				v[j] = -v[j]
			}
		}
	}
	u, err := spectral.Project(ctx, basis, data, workers)
	if err != nil {
		return nil, err
	}
	out := mat.NewDense(n, dims, nil)
	ld := kernel.Pad(dims)
	for i := range n {
		copy(out.RawRowView(i), u[i*ld:i*ld+dims])
	}
	return out, nil
}
