package rows

import (
	"context"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// heldNumbers is the most numbers that Held copies, 16 MB of float32.
const heldNumbers = 4 << 20

// Held returns a copy of rows that are computed at each read, so that several passes over them compute them once. It returns x
// if x is in memory or has more than 4,194,304 numbers. Products have the same bits.
func Held[T kernel.Float](ctx context.Context, x Matrix[T], workers int) (Matrix[T], error) {
	n, d := x.Dims()
	if x.Bytes() > 0 || int64(n)*int64(d) > heldNumbers {
		return x, nil
	}
	out := make([]T, n*d)
	const block = 64
	err := parallel.For(ctx, workers, (n+block-1)/block, func(_, c int) error {
		for i := c * block; i < min((c+1)*block, n); i++ {
			x.Row(i, out[i*d:(i+1)*d])
		}
		return nil
	})
	return NewDense(n, d, d, out), err
}
