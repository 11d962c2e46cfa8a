package trust

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

const (
	// meanNeighbors is the number of neighbours in the mean that a view predicts, overlapNeighbors in the comparison of
	// neighbours.
	meanNeighbors, overlapNeighbors = 10, 30
	// spareNeighbors replace neighbours that are left out of a comparison.
	spareNeighbors = 2
)

// profile holds a sample's data for each of its views.
type profile[T kernel.Float] struct {
	known int       // its number among the known samples, or −1
	y     [][]T     // of each view, its row in the leading directions; nil: the sample lacks it
	near  [][]int32 // its nearest among the known samples
	mean  []float64 // of its products with the known samples
	std   []float64 // their standard deviation
	guess [][][]T   // [u][v]: the row of view v by regression on the row of view u
}

func newProfile[T kernel.Float](known, views int) profile[T] {
	p := profile[T]{
		known: known, y: make([][]T, views), near: make([][]int32, views),
		mean: make([]float64, views), std: make([]float64, views), guess: make([][][]T, views),
	}
	for u := range p.guess {
		p.guess[u] = make([][]T, views)
	}
	return p
}

func (p *profile[T]) has(v int) bool { return p.y[v] != nil }

// closest returns the neighbours for the comparison.
func closest(near []int32) []int32 { return near[:min(overlapNeighbors, len(near))] }

// describe sets the profiles of view v for the samples from lo on.
func (s *side[T]) describe(r *Rows[T], v, lo int, out []profile[T]) {
	n, known := len(out), len(s.present)
	x := make([]T, n*s.dim)
	for i := range n {
		s.centre(x[i*s.dim:(i+1)*s.dim], r, v, lo+i)
	}
	y, ld := make([]T, n*s.ld), kernel.Pad(known)
	s.project.Rows(rows.NewDense(n, s.dim, s.dim, x), 0, n, y)
	products := make([]T, n*ld)
	kernel.Mul(n, y, s.ld, s.panel, products, ld, false)
	for i := range n {
		p := &out[i]
		if !r.has(v, lo+i) {
			continue
		}
		p.y[v] = y[i*s.ld : i*s.ld+s.rank]
		row := products[i*ld : i*ld+known]
		p.mean[v], p.std[v] = s.moments(row, p.known)
		p.near[v] = s.nearest(row, p.known)
	}
}

// moments returns the mean and the deviation of products with the known samples, without one of them.
func (s *side[T]) moments(products []T, except int) (mean, std float64) {
	sum, square, count := 0.0, 0.0, 0.0
	for r, x := range products {
		if s.present[r] && r != except {
			sum += float64(x)
			square += float64(x) * float64(x)
			count++
		}
	}
	if count == 0 {
		return 0, 1
	}
	mean = sum / count
	return mean, math.Sqrt(max(square/count-mean*mean, 0)) + 1e-12
}

// nearest returns the nearest known samples, without one of them, the lower number first of equal ones.
func (s *side[T]) nearest(products []T, except int) []int32 {
	const most = overlapNeighbors + spareNeighbors
	var index [most]int32
	var score [most]T
	count := 0
	for r, x := range products {
		if !s.present[r] || r == except {
			continue
		}
		near := s.square[r]/2 - x // half of the squared distance, less a constant
		if count == most && !(near < score[most-1]) {
			continue
		}
		if count < most {
			count++
		}
		at := count - 1
		for ; at > 0 && near < score[at-1]; at-- {
			index[at], score[at] = index[at-1], score[at-1]
		}
		index[at], score[at] = int32(r), near
	}
	out := make([]int32, count)
	copy(out, index[:])
	return out
}
