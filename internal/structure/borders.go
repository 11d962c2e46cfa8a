package structure

import (
	"cmp"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/lists"
)

// A sample within border of a border is at the border; a sample from there to inner lies within its cluster. Centroids are 0.5
// from the border between them.
const border, inner = 0.125, 0.625

// borders returns the numbers of samples at borders and within clusters.
func (p *placed) borders() (at, within float64) {
	for _, m := range p.margin {
		switch {
		case m < border:
			at++
		case m < inner:
			within++
		}
	}
	return at, within
}

// nearby is the number of neighbours whose mean distance measures the density at a sample.
const nearby = 10

// scales are pairs of ranks of neighbours. In d dimensions the ratio of the distances to the two neighbours is about the d-th
// root of the ratio of the ranks.
var scales = [][2]int{{5, 20}, {10, 40}, {20, 80}}

// local returns the mean distance of each sample to its nearest, and the local dimension: the lowest of three scales. Noise about
// a curve fills many dimensions at a small scale, and a bent curve does so at a large one.
func (d *data) local() (distance []float64, dimension float64) {
	distance = make([]float64, d.n)
	growth := make([]float64, len(scales)) // mean logarithm of the ratio of distances
	ld, squares := kernel.Pad(d.n), d.squares()
	near := make([]neighbour, 0, scales[len(scales)-1][1])
	for i := range d.n {
		near = nearest(squares[i*ld:i*ld+d.n], i, near)
		k := min(nearby, len(near))
		for _, e := range near[:k] {
			distance[i] += math.Sqrt(float64(e.square)) / float64(k)
		}
		for s, r := range scales {
			if r[1] > len(near) {
				continue
			}
			if a, b := near[r[0]-1].square, near[r[1]-1].square; a > 0 {
				growth[s] += math.Log(float64(b/a)) / 2 / float64(d.n)
			}
		}
	}
	dimension = math.Inf(1)
	for s, r := range scales {
		if growth[s] > 0 {
			dimension = min(dimension, math.Log(float64(r[1])/float64(r[0]))/growth[s])
		}
	}
	return distance, dimension
}

// neighbour is a row with its squared distance.
type neighbour struct {
	square float32
	row    int
}

// nearest writes the rows nearest to i, without i, to out, the nearest first. It returns as many as out has room for.
func nearest(squares []float32, i int, out []neighbour) []neighbour {
	out = out[:0]
	for j, x := range squares {
		switch {
		case j == i || len(out) == cap(out) && x >= out[0].square:
		case len(out) < cap(out):
			out = append(out, neighbour{x, j})
			for c := len(out) - 1; c > 0 && out[(c-1)/2].square < out[c].square; c = (c - 1) / 2 {
				out[c], out[(c-1)/2] = out[(c-1)/2], out[c]
			}
		default:
			out[0] = neighbour{x, j}
			sink(out)
		}
	}
	slices.SortFunc(out, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.square, b.square), cmp.Compare(a.row, b.row))
	})
	return out
}

// sink moves the first element of a heap, the largest first, to its place.
func sink(heap []neighbour) {
	for p := 0; ; {
		c := 2*p + 1
		if c >= len(heap) {
			return
		}
		if c+1 < len(heap) && heap[c+1].square > heap[c].square {
			c++
		}
		if heap[p].square >= heap[c].square {
			return
		}
		heap[p], heap[c] = heap[c], heap[p]
		p = c
	}
}

// rankCorrelation returns Spearman's correlation; equal values have the ranks of their order.
func rankCorrelation(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	mean := float64(len(a)-1) / 2
	both, own := 0.0, 0.0
	for i := range a {
		both += (a[i] - mean) * (b[i] - mean)
		own += (a[i] - mean) * (a[i] - mean)
	}
	return both / own
}

// ranks returns the rank of each value.
func ranks(x []float64) []float64 {
	order := lists.Indices(len(x))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for r, i := range order {
		out[i] = float64(r)
	}
	return out
}
