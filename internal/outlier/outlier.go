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
	// piece is the number of distances whose minima bound the distance of a rank together.
	piece = 128
	// farthest bounds a feature, in scales: sums of squares are float32 numbers.
	farthest = 1e9
)

// Reference has the samples that others are compared with.
type Reference struct {
	numbers   []int // among all samples, in increasing order
	features  []features
	present   [][]bool  // by view and sample; nil: all have the view
	norms     []float32 // squared and summed over the views, if all samples here have all views, and none is sparse; else nil
	rank      int       // of the distance that is the remoteness, from 0
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
	r.join()
	own, err := r.distances(ctx, views, func(i int) int { return i }, workers)
	if err != nil {
		return nil, err
	}
	slices.Sort(own)
	known, _ := slices.BinarySearch(own, math.Inf(1)) // the others have only views that do not vary here
	if known < fewest || !(own[known/2] > 0) {
		return nil, nil
	}
	r.median = own[known/2]
	at := own[min(int(high*float64(known)), known-1)] / r.median
	r.threshold = max(least, math.Pow(at, times))
	return r, nil
}

// Outlier reports whether a sample of this remoteness is an outlier. One that is compared with nothing (+Inf) is not known to be.
func (r *Reference) Outlier(x float64) bool { return x > r.threshold && !math.IsInf(x, 1) }

// Remoteness returns the remoteness of samples in memory, numbered first, first+1, …; +Inf where there is nothing to compare.
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
	joint := r.norms != nil && !slices.ContainsFunc(views, func(x view.View) bool { return x.Present != nil })
	err := parallel.For(ctx, workers, (n+chunk-1)/chunk, func(worker, c int) error {
		lo, hi := c*chunk, min((c+1)*chunk, n)
		s := &memory[worker]
		if joint {
			r.nearest(views, lo, hi, self, s, out[lo:hi])
			return nil
		}
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

// join sets norms, if the samples can be compared in all views together.
func (r *Reference) join() {
	norms, any := make([]float32, len(r.numbers)), false
	for v, f := range r.features {
		d, ok := f.(*dense)
		if f != nil && !ok || r.present[v] != nil {
			return
		}
		for j := range norms {
			if ok {
				norms[j] += float32(d.norms[j])
			}
		}
		any = any || ok
	}
	if any {
		r.norms = norms
	}
}

// nearest is distances for samples [lo, hi) with all views. It sums the products of all views before it compares.
func (r *Reference) nearest(views []view.View, lo, hi int, self func(i int) int, s *scratch, out []float64) {
	m, count := len(r.numbers), 0.0
	ld := kernel.Pad(m)
	s.of, s.dots = grown(s.of, hi-lo), grown(s.dots, (hi-lo)*ld)
	clear(s.of)
	for i := range out {
		copy(s.dots[i*ld:], r.norms)
	}
	for v, x := range views {
		f, ok := r.features[v].(*dense)
		if !ok {
			continue
		}
		count++
		f.rows(x, lo, hi, s)
		kernel.Mul(hi-lo, s.scaled, len(f.by), &f.panel, s.dots, ld, true)
		for i := range out {
			s.of[i] += s.own[i]
		}
	}
	for i := range out {
		row := s.dots[i*ld : i*ld+m]
		if at := self(lo + i); at >= 0 {
			row[at] = float32(math.Inf(1))
		}
		out[i] = math.Sqrt(square(s.of[i], float64(s.lowest(row, r.rank))) / count)
	}
}

// square is the squared distance norm + rest of a sample with a squared norm. What rounding leaves of equal samples is 0.
func square(norm, rest float64) float64 {
	if q := norm + rest; !(q <= 0x1p-18*norm) {
		return q
	}
	return 0
}

// lowest returns the value of a rank, from 0. The minima of parts of the row bound it: only lower values are ordered. If the row
// has NaN, it returns any of its values.
func (s *scratch) lowest(row []float32, rank int) float32 {
	s.low = s.low[:0]
	for lo := 0; lo+kernel.Lanes <= len(row); lo += piece {
		var minima [kernel.Lanes]float32
		kernel.LaneMinima(row[lo:min(lo+piece, len(row))], &minima)
		s.low = append(s.low, minima[:]...)
	}
	if rank >= len(s.low) {
		return smallest(append(s.low[:0], row...), rank)
	}
	s.list = grown(s.list, len(row)+kernel.Lanes)
	found := kernel.Below(row, smallest(s.low, rank), s.list)
	if found <= rank { // NaN
		return smallest(append(s.low[:0], row...), rank)
	}
	s.low = s.low[:0]
	for _, j := range s.list[:found] {
		s.low = append(s.low, row[j])
	}
	return smallest(s.low, rank)
}

// scratch is the memory of one goroutine.
type scratch struct {
	sum    []float64 // squared distances, by sample and sample of the reference
	of     []float64 // by sample: numbers of views, or squared norms in all views together
	view   []float64 // squared distances in one view
	found  []float64
	row    []float64
	scaled []float32
	own    []float64 // squared norms of scaled, over the number of features
	dots   []float32
	low    []float32
	list   []int32
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
func smallest[T kernel.Float](x []T, rank int) T {
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
	by, centre []float64             // the scale of each feature, +Inf if it is left out, and the centre in scales
	varying    float64               // number of features that count
	panel      kernel.Panel[float32] // the scaled rows times −2/varying
	norms      []float64             // squared, of the scaled rows, over varying
}

func newDense(ctx context.Context, x view.View, workers int) (*dense, error) {
	m, d := x.Rows, x.Cols
	f := &dense{by: make([]float64, d), centre: make([]float64, d)}
	for lo := 0; lo < d; lo += block {
		if err := f.measure(ctx, x, lo, min(lo+block, d), workers); err != nil {
			return nil, err
		}
	}
	for _, s := range f.by {
		if !math.IsInf(s, 1) {
			f.varying++
		}
	}
	if f.varying == 0 {
		return nil, nil
	}
	var s scratch
	f.rows(x, 0, m, &s)
	f.norms = s.own
	for j := range s.scaled {
		s.scaled[j] *= float32(-2 / f.varying)
	}
	kernel.PackT(&f.panel, d, m, s.scaled, d)
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
		centre, scale := extent(columns[j])
		if f.by[lo+j], f.centre[lo+j] = scale, centre/scale; scale == 0 {
			f.by[lo+j], f.centre[lo+j] = math.Inf(1), 0
		}
		return nil
	})
}

// rows sets s.scaled to the scaled rows of samples [lo, hi), zeros for absent ones, and s.own to their squared norms.
func (f *dense) rows(x view.View, lo, hi int, s *scratch) {
	d := len(f.by)
	s.row, s.scaled, s.own = grown(s.row, d), grown(s.scaled, (hi-lo)*d), grown(s.own, hi-lo)
	for i := lo; i < hi; i++ {
		dst := s.scaled[(i-lo)*d : (i-lo+1)*d]
		switch {
		case !x.Has(i):
			clear(dst)
		case x.Float32Row(i) != nil:
			scaleRow(dst, x.Float32Row(i), f)
		default:
			x.Row(i, s.row)
			scaleRow(dst, s.row, f)
		}
		s.own[i-lo] = kernel.SumSquares(dst, 0) / f.varying
	}
}

// scaleRow writes a scaled row to dst.
func scaleRow[T kernel.Float](dst []float32, row []T, f *dense) {
	by, centre := f.by[:len(row)], f.centre[:len(row)]
	for j, y := range row {
		q := float64(y)/by[j] - centre[j]
		if !(math.Abs(q) <= farthest) {
			q = bounded(q)
		}
		dst[j] = float32(q)
	}
}

// bounded returns a feature in scales that a float32 number can have.
func bounded(y float64) float64 { return min(max(y, -farthest), farthest) }

func (f *dense) squares(x view.View, lo, hi int, s *scratch) {
	m := len(f.norms)
	ld := kernel.Pad(m)
	s.dots = grown(s.dots, (hi-lo)*ld)
	f.rows(x, lo, hi, s)
	kernel.Mul(hi-lo, s.scaled, len(f.by), &f.panel, s.dots, ld, false)
	for i, norm := range s.own {
		for j, q := range f.norms {
			s.view[i*m+j] = square(norm, q+float64(s.dots[i*ld+j]))
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
