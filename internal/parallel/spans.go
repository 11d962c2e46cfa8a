package parallel

import "context"

// Blocks runs f over the rows [0, n) in blocks of size rows, the last one of what is left. It is For in all else.
func Blocks(ctx context.Context, workers, n, size int, f func(lo, hi int) error) error {
	return For(ctx, workers, (n+size-1)/size, func(_, i int) error {
		return f(i*size, min((i+1)*size, n))
	})
}

// The rows of an operation are cut into spans that depend on their number alone, so that sums over them, folded in their
// order, have the same bits for any number of goroutines.
const (
	minSpan  = 256
	maxSpans = 64
)

// Span is the number of rows in a span of n rows.
func Span(n int) int { return max(minSpan, (n+maxSpans-1)/maxSpans) }

// Spans runs f over the rows [0, n) in spans.
func Spans(ctx context.Context, workers, n int, f func(lo, hi int) error) error {
	return Blocks(ctx, workers, n, Span(n), f)
}
