package spectral

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Scores returns X Vᵀ (n×rank) as rows with the stride kernel.Pad(rank), V being the leading directions that Find finds, except
// for signs and rounding. If there are fewer samples than columns, it takes less time than Find: U diag(S) needs XXᵀ alone, and
// no directions. All rows are in this process.
func Scores[T kernel.Float](ctx context.Context, x []rows.Matrix[T], cfg Config) ([]T, error) {
	n, total := count(x), 0
	for _, m := range x {
		_, d := m.Dims()
		total += d
	}
	if n >= total || n > mostSamples || cfg.Rank > n {
		_, y, err := FindAndProject(ctx, x, cfg)
		return y, err
	}
	square, err := squareOfSamples(ctx, x, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(square)
	k := min(cfg.Rank+cfg.oversample(), n)
	q := randomRows(k, n, cfg.Seed)
	if k == n { // any orthonormal rows span all samples
		cfg.Iterations = 0
	}
	for step := range cfg.Iterations + 1 {
		if step > 0 {
			next, err := times(ctx, q, square, k, n, n, cfg.Workers)
			if err != nil {
				return nil, err
			}
			give(q)
			q = next
		}
		keepApart := nearlyOrthonormalise
		if step == cfg.Iterations {
			keepApart = orthonormalise
		}
		if err := keepApart(ctx, q, k, n, cfg.Workers); err != nil {
			return nil, err
		}
	}
	defer give(q)
	// Rayleigh–Ritz: the eigenvectors of Q (XXᵀ) Qᵀ turn Q into singular vectors.
	z, err := times(ctx, q, square, k, n, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(z)
	small, err := timesTransposed(ctx, z, q, k, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(small)
	values, vectors, err := eigen(small, k)
	if err != nil {
		return nil, err
	}
	u, err := times(ctx, vectors[:cfg.Rank*k], q, cfg.Rank, k, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(u)
	ld := kernel.Pad(cfg.Rank)
	out := make([]T, n*ld)
	for r := range cfg.Rank {
		own, s := u[r*n:(r+1)*n], math.Sqrt(max(values[r], 0))
		fixSign(own)
		for i, a := range own {
			out[i*ld+r] = T(a * s)
		}
	}
	return out, nil
}
