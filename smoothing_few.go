package largemvc

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/largemvc/largemvc/neighbor"
)

// nearestLandmarks is the number of landmarks that a sample is joined to, where there are more.
const nearestLandmarks = 5

// nearestOf returns that number for a number of landmarks, or for their upper bound if that is less than a few dozen.
func nearestOf(landmarks int) int { return min(nearestLandmarks, max(landmarks-1, 1)) }

// exactNeighbors says whether the neighbours of n samples are searched. A single sample cannot be a landmark for others.
func (c *Config) exactNeighbors(n int) bool { return n <= max(c.ExactNeighbors, 1) }

// filterSteps is the number of steps of the filter for n samples. Of two samples each is the other's only neighbour, and a
// step would make one of them.
func (c *Config) filterSteps(n int) int {
	if n <= 2 {
		return 0
	}
	return max(c.FilterSteps, 0)
}

// makeEqual gives samples that are equal in all inputs what the filter has made of the first of them. With exact neighbours
// their places in the graph differ, if only because nobody is a neighbour of its own; a new sample that is equal to them
// could not tell which it is. Landmarks see nothing but the values.
func (s *smoothing[T]) makeEqual(blocks []neighbor.Block[T]) {
	if s.before == nil {
		return
	}
	first := map[[sha256.Size]byte]int{}
	var content []byte
	for i := range len(s.before[0].X) / s.before[0].Ld {
		content = content[:0]
		for _, b := range s.before {
			if b.Present != nil && !b.Present[i] {
				content = append(content, 0)
				continue
			}
			content = append(content, 1)
			for _, x := range b.X[i*b.Ld : i*b.Ld+b.Cols] {
				content = binary.LittleEndian.AppendUint64(content, math.Float64bits(float64(x)+0)) // −0 + 0 is 0
			}
		}
		key := sha256.Sum256(content)
		j, seen := first[key]
		if !seen {
			first[key] = i
			continue
		}
		for _, b := range blocks {
			copy(b.X[i*b.Ld:i*b.Ld+b.Cols], b.X[j*b.Ld:j*b.Ld+b.Cols])
		}
	}
}
