package neighbor

import (
	"context"
	"math"

	"github.com/largemvc/largemvc/internal/parallel"
)

// twins records the equal samples of a source over some views: the same views present, at least one, with the same values.
type twins[T Float] struct {
	src    *source[T]
	views  []int
	byHash map[uint64][]int32 // the first samples of the sets of equal ones, by hash
	first  []int32            // of each sample, the first that is equal to it
}

// rowHashes returns a hash of each row of each view.
func (s *source[T]) rowHashes(ctx context.Context, workers int) ([][]uint64, error) {
	h := make([][]uint64, len(s.views))
	all := make([]uint64, len(h)*s.n)
	for v := range h {
		h[v] = all[v*s.n : (v+1)*s.n]
	}
	err := parallel.For(ctx, workers, s.blocks(), func(_, b int) error {
		buf := s.rowBuffers()
		lo, hi := s.block(b)
		for v := range h {
			for i := lo; i < hi; i++ {
				h[v][i] = s.rowHash(v, i, buf[0])
			}
		}
		return nil
	})
	return h, err
}

const (
	hashStart = 0xcbf29ce484222325 // FNV-1a
	hashPrime = 0x100000001b3
)

func (s *source[T]) rowHash(v, i int, buf []T) uint64 {
	if !s.present(v, i) {
		return hashStart
	}
	h := uint64(hashStart)
	for _, x := range s.row(v, i, buf) {
		// 0 and −0 are equal. The low half of the bits of a float32 in a float64 is zero, so the hash includes the high half.
		b := math.Float64bits(float64(x) + 0)
		h = (h ^ b ^ b>>32) * hashPrime
	}
	return h
}

func joinHashes(h [][]uint64, views []int, i int) uint64 {
	sum := uint64(hashStart)
	for _, v := range views {
		sum = (sum ^ h[v][i] ^ h[v][i]>>29) * hashPrime
	}
	return sum
}

// equal reports whether sample i of s and sample j of t are equal over the views.
func (s *source[T]) equal(t *source[T], views []int, i, j int, buf [2][]T) bool {
	for _, v := range views {
		if s.present(v, i) != t.present(v, j) {
			return false
		}
		if !s.present(v, i) {
			continue
		}
		a, b := s.row(v, i, buf[0]), t.row(v, j, buf[1])
		for q, x := range a {
			if x != b[q] {
				return false
			}
		}
	}
	return true
}

// newTwins finds the equal samples of a source over the views. hashes has the hashes of its rows.
func newTwins[T Float](s *source[T], views []int, hashes [][]uint64) *twins[T] {
	t := &twins[T]{src: s, views: views, byHash: make(map[uint64][]int32, s.n), first: make([]int32, s.n)}
	buf := s.rowBuffers()
	for i := range s.n {
		h := joinHashes(hashes, views, i)
		t.first[i] = int32(i)
		if j := t.find(s, i, h, buf); j >= 0 {
			t.first[i] = int32(j)
		} else if s.has(views, i) {
			t.byHash[h] = append(t.byHash[h], int32(i))
		}
	}
	return t
}

// find returns the first sample equal to sample i of s, whose hash is h, or −1.
func (t *twins[T]) find(s *source[T], i int, h uint64, buf [2][]T) int {
	if !s.has(t.views, i) {
		return -1
	}
	for _, j := range t.byHash[h] {
		if s.equal(t.src, t.views, i, int(j), buf) {
			return int(j)
		}
	}
	return -1
}
