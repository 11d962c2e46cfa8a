package spectral

import (
	"context"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// If there are fewer samples than columns, the search iterates over samples: with K = XXᵀ (n×n) and a random G,
//	G(XᵀX)ᵖ = GXᵀ·Kᵖ⁻¹·X,
//
// so that iterations need only products with K. Rounding of K can only turn directions that contain hardly anything of the rows,
// because the last step and the singular values use X itself.

const (
	// mostSamples bounds the rows of K. A few matrices of this size exist at once.
	mostSamples = 2048
	// sumParts is about the number of parts of the samples with separate weighted sums.
	sumParts = 4
	// double is the time of a product in float64, relative to float32.
	double = 2
)

// fewSamples reports whether XXᵀ takes less time than columns. The rows of several ranks use columns.
func fewSamples[T kernel.Float](x []rows.Matrix[T], k int, cfg Config) bool {
	n, total, held := count(x), 0, 0.0
	for _, m := range x {
		_, d := m.Dims()
		total += d
		held += entries(m)
	}
	if n > mostSamples || n >= total || cfg.ByColumns || cfg.Group != nil {
		return false
	}
	samples, columns, size, steps := float64(n), float64(total), float64(k), float64(cfg.Iterations)
	// Multiply-adds of a product with X, and, for each column, of making rows orthonormal once.
	product, basis := size*held, double*2*size*size
	byColumns := 2*(steps+1)*product + (steps+1)*basis*columns
	bySamples := 3*product + 2*basis*columns
	if k < n {
		bySamples += samples*held/2 + steps*(double*size*samples+basis)*samples
	}
	return bySamples < byColumns
}

// entries returns the number of values of rows in a product.
func entries[T kernel.Float](m rows.Matrix[T]) float64 {
	inner, _ := rows.Unscaled(m)
	if s, ok := inner.(*rows.Sparse[T]); ok {
		return float64(s.Entries())
	}
	n, d := m.Dims()
	return float64(n) * float64(d)
}

// findBySamples is findByColumns with XXᵀ.
func findBySamples[T kernel.Float](ctx context.Context, x []rows.Matrix[T], b *Basis, k int, cfg Config) ([]float64, error) {
	n, total := count(x), width(b.Dims)
	g, err := spanBySamples(ctx, x, b.Dims, k, cfg)
	if err != nil {
		return nil, err
	}
	defer give(g)
	if err := orthonormalise(ctx, g, k, total, cfg.Workers); err != nil {
		return nil, err
	}
	// Rayleigh–Ritz, as by columns: G (XᵀX) Gᵀ = (GXᵀ)(GXᵀ)ᵀ.
	y, err := timesRows(ctx, x, b.Dims, g, k, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(y)
	small, err := timesTransposed(ctx, y, y, k, n, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(small)
	values, vectors, err := eigen(small, k)
	if err != nil {
		return nil, err
	}
	b.setValues(values[:cfg.Rank])
	return times(ctx, vectors[:cfg.Rank*k], g, cfg.Rank, k, total, cfg.Workers)
}

// spanBySamples returns k rows that span the leading directions. The caller releases them with give.
func spanBySamples[T kernel.Float](ctx context.Context, x []rows.Matrix[T], dims []int, k int, cfg Config) ([]float64, error) {
	n, total := count(x), width(dims)
	if k == n { // the samples are the span
		out, row := take(k*total), make([]T, total)
		for i := range n {
			sideBySide(x, i, row)
			for j, e := range row {
				out[i*total+j] = float64(e)
			}
		}
		return out, nil
	}
	g := randomRows(k, total, cfg.Seed)
	q, err := timesRows(ctx, x, dims, g, k, cfg.Workers)
	give(g)
	if err != nil {
		return nil, err
	}
	square, err := squareOfSamples(ctx, x, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer give(square)
	for step := range cfg.Iterations {
		if step > 0 {
			next, err := times(ctx, q, square, k, n, n, cfg.Workers)
			if err != nil {
				return nil, err
			}
			give(q)
			q = next
		}
		if err := nearlyOrthonormalise(ctx, q, k, n, cfg.Workers); err != nil {
			return nil, err
		}
	}
	defer give(q)
	return rowsWeighted(ctx, x, dims, q, k, cfg.Workers)
}

// sideBySide writes row i of all views to dst.
func sideBySide[T kernel.Float](x []rows.Matrix[T], i int, dst []T) {
	for _, m := range x {
		_, d := m.Dims()
		m.Row(i, dst[:d])
		dst = dst[d:]
	}
}

// squareOfSamples returns XXᵀ, n×n. The caller releases it with give.
func squareOfSamples[T kernel.Float](ctx context.Context, x []rows.Matrix[T], workers int) ([]float64, error) {
	n := count(x)
	out := take(n * n)
	return out, parallel.For(ctx, workers, (n+blockRows-1)/blockRows, func(_, c int) error {
		lo, hi := c*blockRows, min((c+1)*blockRows, n)
		ld := kernel.Pad(hi - lo)
		y := make([]T, blockRows*ld)
		for v, m := range x {
			_, d := m.Dims()
			own := make([]T, (hi-lo)*d)
			for i := lo; i < hi; i++ {
				m.Row(i, own[(i-lo)*d:(i-lo+1)*d])
			}
			var panel kernel.Panel[T]
			kernel.PackT(&panel, d, hi-lo, own, d)
			for from := lo; from < n; from += blockRows { // the matrix is symmetric
				if err := ctx.Err(); err != nil {
					return err
				}
				to := min(from+blockRows, n)
				m.Mul(from, to, &panel, y, ld)
				for i := from; i < to; i++ {
					for j := lo; j < min(hi, i+1); j++ {
						sum := float64(y[(i-from)*ld+j-lo])
						if v > 0 {
							sum += out[i*n+j]
						}
						out[i*n+j], out[j*n+i] = sum, sum
					}
				}
			}
		}
		return nil
	})
}

// timesRows returns GXᵀ (k×n) for G of k rows of all views' columns. The caller releases it with give.
func timesRows[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], dims []int, g []float64, k, workers int,
) ([]float64, error) {
	n, ld, panels := count(x), kernel.Pad(k), panelsOf[T](dims, g, k)
	out := take(k * n)
	return out, parallel.For(ctx, workers, (n+blockRows-1)/blockRows, func(_, c int) error {
		from, to := c*blockRows, min((c+1)*blockRows, n)
		y, part, ones := make([]T, blockRows*ld), make([]T, blockRows*ld), slices.Repeat([]T{1}, blockRows)
		timesPanels(x, panels, from, to, y, part, ones, ld)
		for r := range k {
			for i := from; i < to; i++ {
				out[r*n+i] = float64(y[(i-from)*ld+r])
			}
		}
		return nil
	})
}

// rowsWeighted returns QX for k×n weights Q.
func rowsWeighted[T kernel.Float](
	ctx context.Context, x []rows.Matrix[T], dims []int, q []float64, k, workers int,
) ([]float64, error) {
	n, total := count(x), width(dims)
	ld := kernel.Pad(k)
	weights := make([]T, n*ld)
	for r := range k {
		for i := range n {
			weights[i*ld+r] = T(q[r*n+i])
		}
	}
	chunk := (n/sumParts + blockRows) / blockRows * blockRows
	s := ranks.RowSum{What: "weighted samples", Workers: workers, Rows: n, Chunk: chunk, Size: k * total}
	return ranks.SumRows(ctx, nil, s, // the rows of a group use columns
		func() []T { return make([]T, k*total) },
		func(_, lo, hi int, sums []T, part []float64) error {
			clear(sums)
			at, column := 0, 0
			for _, m := range x {
				_, d := m.Dims()
				for i := lo; i < hi; i += blockRows {
					j := min(i+blockRows, hi)
					m.TMulAdd(i, j, k, weights[i*ld:], ld, sums[at:], d)
				}
				for r := range k {
					kernel.AddTo(part[r*total+column:r*total+column+d], sums[at+r*d:at+(r+1)*d])
				}
				at, column = at+k*d, column+d
			}
			return nil
		})
}
