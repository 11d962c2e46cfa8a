package spectral

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// mostGram bounds the columns of a Gram matrix, of which a few are held at once.
	mostGram = 1024
	// tallEnough is the number of rows for each column from which XᵀX is formed: its rounding error is one of the largest
	// singular value squared, which must be small beside what the samples themselves leave open.
	tallEnough = 8
	// gramRows is the number of rows that are in cache together.
	gramRows = 128
	// gramStrip is the number of columns of the left factor that go through a block at once.
	gramStrip = 64
)

// gramPays reports whether forming XᵀX once takes less time than going through the rows in every pass.
func gramPays(n, total, k, passes int) bool {
	if total > mostGram || n < tallEnough*total {
		return false
	}
	// Multiply-adds; those with the Gram matrix are in float64.
	return float64(n)*float64(total)+2*2*float64(passes*k)*float64(total) < 2*2*float64(passes*k)*float64(n)
}

// gram returns XᵀX (D×D) in one pass over the rows.
func gram[T kernel.Float](ctx context.Context, x []rows.Matrix[T], total, workers int) ([]float64, error) {
	n, _ := x[0].Dims()
	type buffer struct {
		block []T // some rows of all views side by side
		sums  []T
	}
	out, err := parallel.SumVectors(ctx, workers, (n+chunkRows-1)/chunkRows, total*total, func() *buffer {
		return &buffer{block: make([]T, gramRows*total), sums: make([]T, total*total)}
	}, func(_, c int, b *buffer, part []float64) error {
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
		kernel.AddTo(part, b.sums)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range total {
		for j := range i {
			out[i*total+j] = out[j*total+i]
		}
	}
	return out, nil
}
