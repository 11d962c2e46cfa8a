package comm

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestShare: pieces of a size that all samples decide are dealt out in order, as evenly as can be.
func TestShare(t *testing.T) {
	for _, c := range []struct{ n, size int }{
		{1, 1}, {1024, 1}, {1025, 2}, {5000, 3}, {100_000, 4}, {1_000_000, 7}, {1<<31 + 12345, 64}, {1_000_000_000_000, 1000},
	} {
		at, least, most := 0, math.MaxInt, 0
		for r := range c.size {
			lo, hi, err := Share(c.n, r, c.size)
			if err != nil || lo != at || hi <= lo || lo%Unit(c.n) != 0 {
				t.Fatalf("%d samples, rank %d of %d: %d to %d, %v", c.n, r, c.size, lo, hi, err)
			}
			at, most = hi, max(most, hi-lo)
			if r < c.size-1 {
				least = min(least, hi-lo)
			}
		}
		if at != c.n || least != math.MaxInt && most-least > Unit(c.n) {
			t.Errorf("%d samples, %d ranks: %d dealt out, %d to %d each", c.n, c.size, at, least, most)
		}
	}
	for _, c := range []struct{ n, rank, size int }{{0, 0, 1}, {5000, 5, 5}, {5000, -1, 2}, {5000, 0, 6}, {5, 0, 0}} {
		if _, _, err := Share(c.n, c.rank, c.size); err == nil {
			t.Errorf("%d samples, rank %d of %d: no error", c.n, c.rank, c.size)
		}
	}
}

// TestLocal sends bytes among goroutines, many times, for one round must not see those of another.
func TestLocal(t *testing.T) {
	var wg sync.WaitGroup
	for r, c := range Local(4) {
		wg.Go(func() {
			for round := range 500 {
				sizes := []int{round % 3, 1, 0, 2}
				all := make([]byte, round%3+3)
				if err := c.AllGather(t.Context(), slices.Repeat([]byte{byte(r + round)}, sizes[r]), sizes, all); err != nil {
					t.Error(err)
					return
				}
				want := slices.Repeat([]byte{byte(round)}, round%3)
				want = append(want, byte(1+round), byte(3+round), byte(3+round))
				if !slices.Equal(all, want) {
					t.Errorf("round %d, rank %d: %v, want %v", round, r, all, want)
					return
				}
				x := []byte{byte(r), byte(round)}
				if err := c.Broadcast(t.Context(), round%4, x); err != nil || x[0] != byte(round%4) {
					t.Errorf("round %d, rank %d: %v, %v", round, r, x, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestLocalEnds: nobody waits for a rank that ends the job, or whose context has ended.
func TestLocalEnds(t *testing.T) {
	for _, abort := range []bool{true, false} {
		ranks := Local(2)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if abort {
			ctx = t.Context()
			go ranks[1].Abort(errors.New("a reason"))
		}
		err := ranks[0].Broadcast(ctx, 0, []byte{1})
		if err == nil || abort != strings.Contains(err.Error(), "rank 1 ended the job: a reason") {
			t.Errorf("error %v", err)
		}
	}
	ranks := Local(2)
	if err := ranks[0].Broadcast(t.Context(), 2, nil); err == nil {
		t.Error("a root that there is not: no error")
	}
	if err := ranks[0].AllGather(t.Context(), []byte{1}, []int{2, 0}, make([]byte, 2)); err == nil {
		t.Error("another size: no error")
	}
}

// A rank that ends the job without a reason is named.
func TestAbortWithoutError(t *testing.T) {
	ranks := Local(2)
	ranks[1].Abort(nil)
	err := ranks[0].Broadcast(t.Context(), 0, []byte{1})
	if want := "comm: rank 1 ended the job: without an error"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestAllToAll: every rank gets from every other the bytes that it has for it, of another number for each pair.
func TestAllToAll(t *testing.T) {
	type exchanger interface {
		AllToAll(ctx context.Context, mine []byte, to []int, all []byte, from []int) error
	}
	size := func(from, to int) int { return (2*from + to) % 4 }
	var wg sync.WaitGroup
	for r, c := range Local(3) {
		wg.Go(func() {
			var mine, want []byte
			var to, from []int
			for other := range 3 {
				mine = append(mine, slices.Repeat([]byte{byte(10*r + other)}, size(r, other))...)
				want = append(want, slices.Repeat([]byte{byte(10*other + r)}, size(other, r))...)
				to, from = append(to, size(r, other)), append(from, size(other, r))
			}
			all := make([]byte, len(want))
			if err := c.(exchanger).AllToAll(t.Context(), mine, to, all, from); err != nil || !slices.Equal(all, want) {
				t.Errorf("rank %d: %v, %v, want %v", r, all, err, want)
			}
		})
	}
	wg.Wait()
}
