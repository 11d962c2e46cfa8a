// Package outlier finds samples that are far from nearly all others, in the given views.
//
// The remoteness of a sample is its distance to the nearest twentieth of a few hundred samples, over the median of this distance.
// A group of less than a twentieth of the samples is remote even if its samples are near to one another: they may be a cluster.
// Clusters and representations are not used.
//
// The squared distance of a sample to another one is the mean over its views of Σ_j ((x_j − y_j)/s_j)²/d, over the d features
// with s_j > 0. If the other sample lacks a view, the mean distance of the sample in this view is used: a sample that is far in a
// view is far from samples without the view, too. The scale s_j is a quarter of the standard deviation or, if it is larger, the
// interquartile range over 1.349: a few remote samples change it little. In a feature with mostly one value it is the standard
// deviation.
//
// A sample is an outlier if its remoteness is more than q³ and more than 1.5, with the 90 % quantile q of remoteness. If the
// logarithm of the share of samples above a remoteness is concave in the logarithm of the remoteness, at most 1 sample in 250 is
// above q³: 0.5·0.2³.
//
// The same samples give the same bits for any number of goroutines.
package outlier

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/view"
)

const (
	// fewest is the number of samples below which nothing is judged.
	fewest = 24
	// share is the share of the samples that determines the remoteness.
	share = 0.05
	// high is the share below the quantile q, times its power in the threshold, and least the smallest threshold.
	high, times, least = 0.9, 3, 1.5
	// chunk is the number of samples that are compared at once.
	chunk = 128
	// block is the number of features that are measured at once.
	block = 2048
	// farthest bounds a feature, in scales: sums of squares are float32 numbers.
	farthest = 1e9
)

// Reference has the samples that others are compared with.
type Reference struct {
	numbers   []int // among all samples, in increasing order
	features  []features
	present   [][]bool // by view and sample; nil: all have the view
	rank      int      // of the distance that is the remoteness, from 0
	median    float64
	threshold float64
}

// New returns the reference of samples with the given numbers. views has their rows, in memory and finite. New returns nil if
// there are fewer than 24 samples, if no feature varies, or if half of the samples equal a twentieth of them.
func New(ctx context.Context, numbers []int, views []view.View, workers int) (*Reference, error) {
	m := len(numbers)
	if m < fewest {
		return nil, nil
	}
	r := &Reference{numbers: numbers, rank: int(math.Ceil(share*float64(m-1))) - 1}
	for _, x := range views {
		f, err := newFeatures(ctx, x, workers)
		if err != nil {
			return nil, err
		}
		r.features, r.present = append(r.features, f), append(r.present, x.Present)
	}
	own, err := r.distances(ctx, views, func(i int) int { return i }, workers)
	if err != nil {
		return nil, err
	}
	slices.Sort(own)
	r.median = own[m/2]
	if !(r.median > 0) || math.IsInf(r.median, 1) {
		return nil, nil
	}
	at := own[min(int(high*float64(m)), m-1)] / r.median
	r.threshold = max(least, math.Pow(at, times))
	return r, nil
}

// Outlier reports whether a sample of this remoteness is an outlier.
func (r *Reference) Outlier(remoteness float64) bool { return remoteness > r.threshold }

// Remoteness returns the remoteness of samples in memory, with the numbers first, first+1, …. It is +Inf for a sample without
// views.
func (r *Reference) Remoteness(ctx context.Context, first int, views []view.View, workers int) ([]float64, error) {
	out, err := r.distances(ctx, views, func(i int) int {
		if at, ok := slices.BinarySearch(r.numbers, first+i); ok {
			return at
		}
		return -1
	}, workers)
	for i := range out {
		out[i] /= r.median
	}
	return out, err
}

// distances returns the distances of rank r.rank. self returns the place of a sample in the reference, −1 if it has none.
func (r *Reference) distances(ctx context.Context, views []view.View, self func(i int) int, workers int) ([]float64, error) {
	n, m := views[0].Rows, len(r.numbers)
	out := make([]float64, n)
	memory := make([]scratch, parallel.Workers(workers))
	err := parallel.For(ctx, workers, (n+chunk-1)/chunk, func(worker, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		s := &memory[worker]
		s.reset(hi-lo, m)
		for v, x := range views {
			if r.features[v] == nil {
				continue
			}
			r.features[v].squares(x, lo, hi, s)
			for i := lo; i < hi; i++ {
				if x.Has(i) {
					s.add(i-lo, m, r.present[v])
				}
			}
		}
		for i := lo; i < hi; i++ {
			out[i] = s.nearest(i-lo, m, self(i), r.rank)
		}
		return nil
	})
	return out, err
}

// scratch is the memory of one goroutine.
type scratch struct {
	sum    []float64 // squared distances, by sample and sample of the reference
	of     []float64 // numbers of views, by sample
	view   []float64 // squared distances in one view
	found  []float64
	row    []float64
	scaled []float32
	dots   []float32
}

func (s *scratch) reset(n, m int) {
	s.sum, s.of, s.view = grown(s.sum, n*m), grown(s.of, n), grown(s.view, n*m)
	clear(s.sum)
	clear(s.of)
}

// grown returns x with a length, its values undefined.
func grown[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// add adds the distances of sample i in one view.
func (s *scratch) add(i, m int, present []bool) {
	view, mean, count := s.view[i*m:(i+1)*m], 0.0, 0.0
	for j, q := range view {
		if present == nil || present[j] {
			mean, count = mean+q, count+1
		}
	}
	mean /= count // of a view that varies over the reference
	for j, q := range view {
		if present != nil && !present[j] {
			q = mean
		}
		s.sum[i*m+j] += q
	}
	s.of[i]++
}

// nearest returns the distance of a rank, without the sample itself. It is +Inf for a sample without views.
func (s *scratch) nearest(i, m, self, rank int) float64 {
	if s.of[i] == 0 {
		return math.Inf(1)
	}
	s.found = s.found[:0]
	for j, q := range s.sum[i*m : (i+1)*m] {
		if j != self {
			s.found = append(s.found, q/s.of[i])
		}
	}
	return math.Sqrt(smallest(s.found, rank))
}

// smallest returns the value of a rank, from 0. It changes the order of the values.
func smallest(x []float64, rank int) float64 {
	for lo, hi := 0, len(x)-1; lo < hi; {
		pivot, i, j := x[(lo+hi)/2], lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case rank <= j:
			hi = j
		case rank >= i:
			lo = i
		default:
			return x[rank]
		}
	}
	return x[rank]
}

// features compares samples in one view.
type features interface {
	// squares writes the squared distances of samples [lo, hi) to all of the reference, over the number of features.
	squares(x view.View, lo, hi int, s *scratch)
}

// newFeatures returns the features of a view by the samples of the reference; nil if none varies.
func newFeatures(ctx context.Context, x view.View, workers int) (features, error) {
	if x.Sparse != nil {
		if f := newSparse(x); f != nil {
			return f, nil
		}
		return nil, nil
	}
	f, err := newDense(ctx, x, workers)
	if f == nil {
		return nil, err
	}
	return f, err
}

// dense holds a dense view of the reference.
type dense struct {
	centre, scale []float64 // of each feature; a scale of 0 leaves it out
	varying       float64   // number of features that count
	panel         kernel.Panel[float32]
	norms         []float64 // squared, of the scaled rows
}

func newDense(ctx context.Context, x view.View, workers int) (*dense, error) {
	m, d := x.Rows, x.Cols
	f := &dense{centre: make([]float64, d), scale: make([]float64, d), norms: make([]float64, m)}
	row := make([]float64, d)
	for lo := 0; lo < d; lo += block {
		if err := f.measure(ctx, x, lo, min(lo+block, d), workers); err != nil {
			return nil, err
		}
	}
	for _, s := range f.scale {
		if s > 0 {
			f.varying++
		}
	}
	if f.varying == 0 {
		return nil, nil
	}
	all := make([]float32, m*d)
	for i := range m {
		if x.Has(i) {
			x.Row(i, row)
			f.norms[i] = f.scaled(all[i*d:(i+1)*d], row)
		}
	}
	kernel.PackT(&f.panel, d, m, all, d)
	return f, nil
}

// measure sets the centres and the scales of features [lo, hi).
func (f *dense) measure(ctx context.Context, x view.View, lo, hi, workers int) error {
	row, columns := make([]float64, x.Cols), make([][]float64, hi-lo)
	for i := range x.Rows {
		if x.Has(i) {
			x.Row(i, row)
			for j, y := range row[lo:hi] {
				columns[j] = append(columns[j], y)
			}
		}
	}
	return parallel.For(ctx, workers, hi-lo, func(_, j int) error {
		slices.Sort(columns[j])
		f.centre[lo+j], f.scale[lo+j] = extent(columns[j])
		return nil
	})
}

// scaled writes a scaled row to dst and returns its squared norm.
func (f *dense) scaled(dst []float32, row []float64) float64 {
	for j, y := range row {
		dst[j] = 0
		if f.scale[j] > 0 {
			dst[j] = bounded(y/f.scale[j] - f.centre[j]/f.scale[j])
		}
	}
	return kernel.SumSquares(dst, 0)
}

// bounded returns a feature in scales as a float32 number.
func bounded(y float64) float32 { return float32(min(max(y, -farthest), farthest)) }

func (f *dense) squares(x view.View, lo, hi int, s *scratch) {
	m, d := len(f.norms), len(f.scale)
	ld := kernel.Pad(m)
	s.row, s.scaled, s.dots = grown(s.row, d), grown(s.scaled, (hi-lo)*d), grown(s.dots, (hi-lo)*ld)
	for i := lo; i < hi; i++ {
		if x.Has(i) {
			x.Row(i, s.row)
			f.scaled(s.scaled[(i-lo)*d:(i-lo+1)*d], s.row)
		} else {
			clear(s.scaled[(i-lo)*d : (i-lo+1)*d])
		}
	}
	kernel.Mul(hi-lo, s.scaled, d, &f.panel, s.dots, ld, false)
	for i := range hi - lo {
		norm := kernel.SumSquares(s.scaled[i*d:(i+1)*d], 0)
		for j, q := range f.norms {
			s.view[i*m+j] = max(0, norm+q-2*float64(s.dots[i*ld+j])) / f.varying
		}
	}
}

// extent returns the median and the scale of a feature by its sorted values. The values may have any finite size.
func extent(sorted []float64) (median, scale float64) {
	n := len(sorted)
	if n == 0 {
		return 0, 0
	}
	largest := max(math.Abs(sorted[0]), math.Abs(sorted[n-1]))
	if largest == 0 {
		return 0, 0
	}
	mean, square := 0.0, 0.0
	for _, y := range sorted {
		mean += y / largest / float64(n)
	}
	for _, y := range sorted {
		square += (y/largest - mean) * (y/largest - mean) / float64(n)
	}
	deviation := math.Sqrt(square)
	if deviation < 1e-7 { // of the largest value: rounding
		return 0, 0
	}
	const quartiles = 1.349 // the interquartile range of a normal variable in standard deviations
	between := (sorted[3*n/4]/largest - sorted[n/4]/largest) / quartiles
	if between == 0 {
		between = deviation
	}
	return sorted[n/2], largest * max(between, deviation/4)
}
