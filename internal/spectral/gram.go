package spectral

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// mostGram bounds the columns of a Gram matrix. A few such matrices exist at once.
	mostGram = 1024
	// tallEnough is the number of rows for each column from which XᵀX replaces X completely. Its rounding error is relative to
	// the square of the largest singular value, and must be small beside the uncertainty from the samples.
	tallEnough = 8
	// gramRows is the number of rows that stay in cache together.
	gramRows = 128
	// gramStrip is the number of columns of the left factor in one product.
	gramStrip = 64
)

// tall reports whether XᵀX replaces X completely. Otherwise it replaces X until the last iteration.
func tall(n, total int) bool { return n >= tallEnough*total }

// gramPays reports whether forming XᵀX once takes less time than reading the rows in every pass.
func gramPays(n, total, k, iterations int) bool {
	saved := iterations + 1 // passes
	if !tall(n, total) {
		saved = iterations - 1
	}
	// Counted are multiply-adds; those with the Gram matrix are in float64.
	return total <= mostGram &&
		float64(n)*float64(total)+2*2*float64(saved*k)*float64(total) < 2*2*float64(saved*k)*float64(n)
}

// gram returns XᵀX (D×D) in one pass over the rows. The caller releases it with give.
func gram[T kernel.Float](ctx context.Context, x []rows.Matrix[T], total int, cfg Config) ([]float64, error) {
	n, _ := x[0].Dims()
	w := takeGramSpace[T](total)
	defer gramPool[T]().Put(w)
	chunks := (n + chunkRows - 1) / chunkRows
	g := cfg.Group
	err := parallel.Sum(ctx, cfg.Workers, g.First()/chunkRows, chunks, w.tree, func() *gramBuffer[T] { return w.buffer(total) },
		func(_, c int, b *gramBuffer[T], part *gramPart) error {
			clear(b.sums)
			for lo := c * chunkRows; lo < min((c+1)*chunkRows, n); lo += gramRows {
				count := min(gramRows, (c+1)*chunkRows-lo, n-lo)
				for i := range count {
					at := i * total
					for _, m := range x {
						_, d := m.Dims()
						m.Row(lo+i, b.block[at:at+d])
						at += d
					}
				}
				for j := 0; j < total; j += gramStrip { // the part on and right of the diagonal
					own := b.block[j:]
					kernel.TMulAdd(count, min(gramStrip, total-j), total-j, own, total, own, total, b.sums[j*total+j:], total)
				}
			}
			part.sum = grow(part.sum, total*total)
			kernel.Widen(part.sum, b.sums)
			return nil
		})
	if err == nil {
		err = ranks.JoinTree(g, "the Gram matrix of views", w.tree, func(part, _ *gramPart) []float64 {
			part.sum = grow(part.sum, total*total)
			return part.sum
		})
	}
	if err != nil {
		return nil, err
	}
	out := take(total * total)
	copy(out, w.tree.Total().sum)
	for i := range total {
		for j := range i {
			out[i*total+j] = out[j*total+i]
		}
	}
	return out, nil
}
