package parallel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestChunkRows(t *testing.T) {
	for _, c := range []struct{ n, some, want int }{
		{1, 512, 8}, {100, 512, 16}, {10_000, 512, 512}, {60_000, 512, 1024}, {195_537, 512, 4096}, {1 << 40, 512, MaxChunk},
		{1 << 40, 1, MaxChunk}, {60_000, MaxChunk, MaxChunk}, {6_400, 1, 128},
	} {
		if got := ChunkRows(c.n, c.some); got != c.want {
			t.Errorf("ChunkRows(%d, %d) = %d, want %d", c.n, c.some, got, c.want)
		}
	}
}

// The sums of chunks cut anywhere into trees of their own, the last of them finished or not, joined, have the bits of one tree,
// which are the bits of a recursive sum over halves.
func TestTreesJoinToTheBitsOfOne(t *testing.T) {
	rng, fewer := rand.New(rand.NewPCG(1, 2)), 0
	for chunks := range 40 {
		x := make([]float64, chunks)
		for i := range x {
			x[i] = rng.NormFloat64() * float64(uint64(1)<<rng.IntN(40))
		}
		var halves func(lo, size int) (float64, bool)
		halves = func(lo, size int) (float64, bool) {
			if lo >= chunks {
				return 0, false
			}
			if size == 1 {
				return x[lo], true
			}
			a, _ := halves(lo, size/2)
			if b, ok := halves(lo+size/2, size/2); ok {
				return a + b, true
			}
			return a, true
		}
		want, _ := halves(0, 64)
		for trial := range 30 {
			whole := NewVectorTree(1)
			for lo := 0; lo < chunks; {
				hi := chunks
				if trial > 0 {
					hi = min(chunks, lo+1+rng.IntN(8))
				}
				part := NewVectorTree(1)
				for i := lo; i < hi; i++ {
					p := part.Part()
					p[0] = x[i]
					part.Push(i, p)
				}
				if before := len(part.Nodes()); hi == chunks && trial%2 == 1 {
					part.Finish()
					fewer += before - len(part.Nodes())
				}
				whole.Join(part)
				lo = hi
			}
			got := whole.Total()
			if chunks == 0 {
				if got != nil {
					t.Fatalf("no chunks: %v", got)
				}
				continue
			}
			if got[0] != want {
				t.Fatalf("%d chunks, trial %d: %v, want %v", chunks, trial, got[0], want)
			}
		}
	}
	if fewer == 0 {
		t.Error("finished trees have as many nodes as others")
	}
}

func TestSumVectorsDoesNotDependOnWorkers(t *testing.T) {
	var first []float64
	for _, workers := range []int{1, 2, 5} {
		for range 5 {
			got, err := SumVectors(
				t.Context(), workers, 37, 3, func() int { return 0 },
				func(_, i int, _ int, part []float64) error {
					for j := range part {
						if part[j] != 0 {
							return fmt.Errorf("item %d: part is %v", i, part)
						}
						part[j] = 1 / float64(1+i+j)
					}
					return nil
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			for j := range got {
				if got[j] != first[j] {
					t.Fatalf("%d workers: %v, with one %v", workers, got, first)
				}
			}
		}
	}
	if got, err := SumVectors(
		t.Context(), 2, 0, 2, func() int { return 0 }, func(_, _ int, _ int, _ []float64) error { return nil },
	); err != nil ||
		len(got) != 2 {
		t.Fatalf("no items: %v, %v", got, err)
	}
}
