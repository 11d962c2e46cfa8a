package parallel

import "context"

// The rows of an op are cut into spans that depend on n alone, so that sums over them, folded in their order, have the
// same bits for any number of goroutines.
const (
	minSpan  = 256
	maxSpans = 64
)

// Blocks runs f over the rows [0, n) in blocks of size rows, the last one of what is left. It is For in all else.
func Blocks(ctx context.Context, workers, n, size int, f func(lo, hi int) error) error {
	return For(ctx, workers, (n+size-1)/size, func(_, i int) error {
		return f(i*size, min((i+1)*size, n))
	})
}

// SpanSize is the number of rows of a span.
func SpanSize(n int) int { return max(minSpan, (n+maxSpans-1)/maxSpans) }

// Spans runs f over the rows [0, n) in spans.
func Spans(workers, n int, f func(lo, hi int) error) error {
	return Blocks(context.Background(), workers, n, SpanSize(n), f)
}

// SumSpans adds up, in float64, what f leaves in sum (size elements, zero at the start) for each span of [0, n).
func SumSpans[T float32 | float64](workers, n, size int, f func(lo, hi int, sum []T) error) ([]T, error) {
	span := SpanSize(n)
	total, err := SumVectors(context.Background(), workers, (n+span-1)/span, size, func() []T { return make([]T, size) },
		func(_, i int, sum []T, part []float64) error {
			clear(sum)
			if err := f(i*span, min((i+1)*span, n), sum); err != nil {
				return err
			}
			for j, v := range sum {
				part[j] = float64(v)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	out := make([]T, size)
	for j, v := range total {
		out[j] = T(v)
	}
	return out, nil
}
