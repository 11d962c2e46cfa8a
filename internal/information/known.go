package information

import (
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// Known computes the mean of log q_iy over the samples i whose cluster y is known. It sums in the order of the samples.
type Known[T kernel.Float] struct {
	softAssignment[T]
	clusters []int // of each sample, −1 where it is not known
	count    int   // of known ones
}

// NewKnown returns the term for m clusters; at least one cluster must be known.
func NewKnown[T kernel.Float](workers, m int, clusters []int, temperature float64) *Known[T] {
	s := &Known[T]{softAssignment: newSoftAssignment[T](nil, workers, len(clusters), m, temperature), clusters: clusters}
	for _, y := range clusters {
		if y >= 0 {
			s.count++
		}
	}
	return s
}

// MeanLog is a mean of logarithms of probabilities.
type MeanLog float64

// Gain returns the mean.
func (x MeanLog) Gain() float64 { return float64(x) }

// Table returns the mean for H.
func (s *Known[T]) Table(h []T) (MeanLog, error) {
	logs := make([]float64, s.n)
	err := s.each(func(i, y int, u, q []float64) {
		unitRow(h[i*s.m:(i+1)*s.m], u)
		softmax(u, s.temperature, q)
		logs[i] = floored(q[y])
	})
	return MeanLog(kernel.Sum(logs) / float64(s.count)), err
}

// Gradient returns factor times the derivative of the mean by H.
func (s *Known[T]) Gradient(h []T, _ MeanLog, factor float64) ([]T, error) {
	dh := make([]T, s.n*s.m)
	scale := factor / float64(s.count) / s.temperature
	return dh, s.each(func(i, y int, u, dz []float64) {
		row := h[i*s.m : (i+1)*s.m]
		norm := unitRow(row, u)
		if norm == 0 {
			return
		}
		softmax(u, s.temperature, dz)
		for j := range dz {
			dz[j] *= -scale
		}
		dz[y] += scale
		unitRow(row, u) // which softmax has changed
		project(u, dz, norm, dh[i*s.m:])
	})
}

// each calls do for the known samples i and their clusters y, with two buffers of m values.
func (s *Known[T]) each(do func(i, y int, u, v []float64)) error {
	return parallel.Spans(s.workers, s.n, func(lo, hi int) error {
		u, v := make([]float64, s.m), make([]float64, s.m)
		for i := lo; i < hi; i++ {
			if y := s.clusters[i]; y >= 0 {
				do(i, y, u, v)
			}
		}
		return nil
	})
}
