package known

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/rows"
)

// Sample has the parts of rows of features, for some samples.
type Sample[T kernel.Float] struct {
	Smoothed, Before []rows.Matrix[T]        // inputs of the network, after and before smoothing
	Lengths          [][]float64             // of the standardised rows, by input and sample
	Features         []float64               // of each input: the mean of the squares of the lengths
	H                []T                     // representation, with the stride kernel.Pad(m)
	Has              func(input, i int) bool // whether a sample has the view of an input
}

// Features returns the number of features for inputs of some columns and m columns of H.
func Features(columns []int, m int) int {
	sum := m
	for _, c := range columns {
		sum += 2 * c
	}
	return sum
}

// Count returns the number of features of a sample with m columns of H.
func (s *Sample[T]) Count(m int) int {
	columns := make([]int, len(s.Smoothed))
	for k, x := range s.Smoothed {
		_, columns[k] = x.Dims()
	}
	return Features(columns, m)
}

// Row writes the features of sample i, of m columns of H, to dst. buf has room for a row of an input or of H.
func (s *Sample[T]) Row(i, m int, dst []float64, buf []T) {
	count, features := 0.0, 0.0
	for k, f := range s.Features {
		if s.Has(k, i) {
			count, features = count+1, features+f
		}
	}
	at := 0
	put := func(k int, x rows.Matrix[T], norm float64) {
		_, d := x.Dims()
		to := dst[at : at+d]
		if at += d; !s.Has(k, i) {
			clear(to)
			return
		}
		x.Row(i, buf[:d])
		unit(to, buf[:d], norm)
	}
	for k, x := range s.Smoothed {
		put(k, x, 1/math.Sqrt(count))
	}
	for k, x := range s.Before {
		put(k, x, s.Lengths[k][i]/math.Sqrt(features))
	}
	ld := kernel.Pad(m)
	unit(dst[at:], s.H[i*ld:i*ld+m], 1)
}

// unit sets dst to x at a norm; a row of zeros stays zero.
func unit[T kernel.Float](dst []float64, x []T, norm float64) {
	kernel.Widen(dst, x)
	q := kernel.SumSquares(dst, 0)
	if q > 0 {
		kernel.Affine(dst, dst, norm/math.Sqrt(q), 0)
	}
}
