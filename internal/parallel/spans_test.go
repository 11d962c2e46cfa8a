package parallel

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

// Blocks and Spans cover every row once, whatever the number of goroutines.
func TestBlocks(t *testing.T) {
	for _, n := range []int{0, 1, 7, 255, 256, 257, 16384, 16385, 100000} {
		for _, size := range []int{1, 7, 256, 0} { // 0: spans
			if n > 1000 && size == 1 {
				continue
			}
			var mu sync.Mutex
			var got [][2]int
			note := func(lo, hi int) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, [2]int{lo, hi})
				return nil
			}
			run := func() error { return Blocks(context.Background(), 3, n, size, note) }
			if size == 0 {
				run = func() error { return Spans(3, n, note) }
			}
			if err := run(); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
			at := 0
			for _, b := range got {
				if b[0] != at || b[1] <= at {
					t.Fatalf("%d rows in blocks of %d: %v", n, size, got)
				}
				at = b[1]
			}
			if at != n || size == 0 && len(got) > 64 {
				t.Errorf("%d rows in blocks of %d: %v", n, size, got)
			}
		}
	}
	stop := errors.New("stop")
	err := Blocks(context.Background(), 2, 100, 10, func(lo, _ int) error {
		if lo >= 30 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

// SumSpans adds up all rows, those of a last span that is not full too.
func TestSumSpans(t *testing.T) {
	for _, n := range []int{1, 256, 300, 16385, 20000} {
		sum, err := SumSpans(3, n, 2, func(lo, hi int, sum []float64) error {
			for i := lo; i < hi; i++ {
				sum[0], sum[1] = sum[0]+1, sum[1]+float64(i)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if sum[0] != float64(n) || sum[1] != float64(n*(n-1)/2) {
			t.Errorf("%d rows have the sums %v", n, sum)
		}
	}
}
