package trust

import (
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/kernel"
)

// learnNoise learns to tell the known rows of view v from noise: half of it has in each direction the value of a row drawn for
// that direction alone, half of it no direction at all, at the length of a row or shorter, as noise in many features is that
// falls on a few directions.
func (s *side[T]) learnNoise(v int, all []profile[T], rng *rand.Rand) {
	var own []int
	for i := range all {
		if all[i].has(v) {
			own = append(own, i)
		}
	}
	var x [][]float64
	var y, weights []float64
	for lo := 0; lo < len(own); lo += chunkRows {
		some := own[lo:min(lo+chunkRows, len(own))]
		made, noise := make([]profile[T], len(some)), make([]T, len(some)*s.ld)
		for k, i := range some {
			x, y, weights = append(x, append([]float64(nil), all[i].own[v]...)), append(y, 1), append(weights, 1)
			made[k] = newProfile[T](-1, len(all[i].y))
			s.makeNoise(noise[k*s.ld:k*s.ld+s.rank], v, all, own, i, rng)
		}
		s.compare(noise, v, made, func(int) bool { return true })
		for k := range made {
			x, y, weights = append(x, made[k].own[v]), append(y, 0), append(weights, 1)
		}
	}
	s.typical = newLogistic(x, y, weights)
}

// makeNoise makes a row of noise in place of that of sample i.
func (s *side[T]) makeNoise(dst []T, v int, all []profile[T], own []int, i int, rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		for c := range dst {
			dst[c] = all[own[rng.IntN(len(own))]].y[v][c]
		}
		return
	}
	for c := range dst {
		dst[c] = T(rng.NormFloat64())
	}
	length := math.Sqrt(kernel.SumSquares(all[i].y[v], 0) / kernel.SumSquares(dst, 0))
	if rng.IntN(2) == 0 {
		length *= 0.1 + 0.9*rng.Float64()
	}
	for c := range dst {
		dst[c] *= T(length)
	}
}

// mostRatio bounds the logarithm of how much likelier a row is to be one of the view than noise.
const mostRatio = 30

// likeOthers returns that logarithm for a row of the given position.
func (s *side[T]) likeOthers(position []float64) float64 {
	return max(-mostRatio, min(mostRatio, s.typical.at(position)))
}
