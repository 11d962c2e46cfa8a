package kmeans

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// seed gives the starts their first centroids by greedy k-means++. The first centroid is a random sample. Then 2+⌊ln c⌋ samples
// are drawn with chances in proportion to d² to the nearest centroid so far, and the one that lowers Σ d² most becomes a
// centroid. A start whose Σ d² is zero has as many centroids as there are distinct samples, and gets no more.
func (s *solver[T]) seed(ctx context.Context, starts []*start[T], rngs []*rand.Rand) error {
	n, blocks, c := s.src.n, s.src.blocks(), s.cfg.Clusters
	trials := 2 + int(math.Log(float64(c)))
	nearest := make([][]float64, len(starts)) // d² to the nearest centroid
	sums := make([][]float64, len(starts))    // its sums over the blocks
	spare := make([][]float64, len(starts)*trials)
	spareSums := make([][]float64, len(starts)*trials)
	for j := range spare {
		spare[j], spareSums[j] = make([]float64, n), make([]float64, blocks)
	}
	for r := range nearest {
		nearest[r], sums[r] = make([]float64, n), make([]float64, blocks)
		for i := range nearest[r] {
			nearest[r][i] = math.Inf(1)
		}
	}
	for step := range c {
		var columns [][]T // candidates of all starts
		var owner []int   // the start of each
		for r, rng := range rngs {
			draws := trials
			if step == 0 {
				draws = 1
			} else if total(sums[r]) == 0 {
				continue
			}
			for range draws {
				i := 0
				if step == 0 {
					i = rng.IntN(n)
				} else {
					i = draw(rng, nearest[r], sums[r])
				}
				row := make([]T, s.src.width())
				s.src.copyRow(i, row, s.cfg.Seed)
				columns, owner = append(columns, row), append(owner, r)
			}
		}
		if len(columns) == 0 {
			return nil
		}
		if err := s.panel.set(ctx, s.src, s.cfg.Workers, s.frame.centre, columns); err != nil {
			return err
		}
		err := parallel.For(ctx, s.cfg.Workers, blocks, func(worker, b int) error {
			s.tryBlock(b, owner, nearest, spare, spareSums, s.spaces[worker])
			return nil
		})
		if err != nil {
			return err
		}
		for j := 0; j < len(owner); {
			r := owner[j]
			var best int
			best, j = lowestOf(owner, spareSums, j)
			nearest[r], spare[best] = spare[best], nearest[r]
			sums[r], spareSums[best] = spareSums[best], sums[r]
			starts[r].centroids[step] = columns[best]
		}
	}
	return nil
}

// lowestOf returns the candidate with the lowest total of sums among those of one start, which follow each other from j, and the
// first candidate after them.
func lowestOf(owner []int, sums [][]float64, j int) (best, end int) {
	best, lowest := j, total(sums[j])
	for end = j + 1; end < len(owner) && owner[end] == owner[j]; end++ {
		if t := total(sums[end]); t < lowest {
			best, lowest = end, t
		}
	}
	return best, end
}

// tryBlock sets, for the rows of block b and each candidate of the panel, d² to the nearest centroid if the candidate
// became one.
func (s *solver[T]) tryBlock(b int, owner []int, nearest, out, outSums [][]float64, ws *workspace[T]) {
	lo, hi := s.src.block(b)
	s.panel.multiply(s.src, lo, hi, ws)
	for j := range owner {
		outSums[j][b] = 0
	}
	for i := lo; i < hi; i++ {
		s.panel.score(s.src, i, lo, 0, len(owner), ws)
		spread, scale := s.frame.spread[i], s.src.scaleOf(i)
		// If the difference of large numbers has no digits left, as for the candidate itself and equal samples, d² is computed
		// directly: it must be exactly zero there.
		small := vanishing[T]()*spread + s.panel.noise(s.norm[i])
		for j, r := range owner {
			d := spread + ws.scores[j]
			if d <= small {
				d = s.src.distance(i, s.panel.centroids[j], ws.row)
			} else {
				d *= scale
			}
			d = min(d, nearest[r][i])
			out[j][i] = d
			outSums[j][b] += d
		}
	}
}

// vanishing is the part of ‖x − μ‖² below which a squared distance found by subtraction is mostly rounding error.
func vanishing[T kernel.Float]() float64 { return 256 * kernel.Epsilon[T]() }

// draw returns a sample with a chance in proportion to its weight; sums has the weights' sums over the blocks.
func draw(rng *rand.Rand, weights, sums []float64) int {
	left := rng.Float64() * total(sums)
	for b, s := range sums {
		if left >= s && b < len(sums)-1 {
			left -= s
			continue
		}
		for i := b * blockRows; i < min((b+1)*blockRows, len(weights)); i++ {
			if left < weights[i] {
				return i
			}
			left -= weights[i]
		}
	}
	// Rounding exhausted the sum: return the last sample of positive weight.
	for i := len(weights) - 1; i > 0; i-- {
		if weights[i] > 0 {
			return i
		}
	}
	return 0
}

func total(x []float64) float64 { return kernel.Sum(x) }
