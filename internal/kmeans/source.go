package kmeans

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// blockRows is the number of rows that are handled together: a block of all views fits in a core's cache.
const blockRows = 64

// View is one view of the samples.
type View[T kernel.Float] struct {
	Rows    rows.Matrix[T] // n×d_v
	Weight  float64        // w_v > 0, the factor of the view's squared distances
	Present []bool         // which samples have this view, length n; nil: all. An absent row's values are never used
}

// Source is n samples in V views. It is safe for concurrent use.
type Source[T kernel.Float] struct {
	group  *ranks.Group // processes that hold the other samples; nil: there are none
	views  []View[T]
	n      int
	offset []int     // of a view's columns in a centroid, length V+1; the last is Σ d_v
	scale  []float64 // Σ w_v / Σ_{v present} w_v of each sample; nil if every view is present everywhere
}

// NewSource checks the views of samples and joins them. With a group, every rank has some of the samples; without one, the views
// have all. It returns an error if there is no view, if the numbers of rows differ, if a weight is not positive and finite, or if
// a sample has no view.
func NewSource[T kernel.Float](group *ranks.Group, views ...View[T]) (*Source[T], error) {
	if len(views) == 0 {
		return nil, fmt.Errorf("kmeans: no views")
	}
	s := &Source[T]{group: group, views: views, offset: make([]int, len(views)+1)}
	s.n, _ = views[0].Rows.Dims()
	total, masked := 0.0, false
	for v, w := range views {
		n, d := w.Rows.Dims()
		if n != s.n {
			return nil, fmt.Errorf("kmeans: view %d has %d rows, view 0 has %d", v, n, s.n)
		}
		if !(w.Weight > 0) || math.IsInf(w.Weight, 1) {
			return nil, fmt.Errorf("kmeans: weight %v of view %d is not positive and finite", w.Weight, v)
		}
		if w.Present != nil && len(w.Present) != n {
			return nil, fmt.Errorf("kmeans: view %d has %d rows and a mask of %d", v, n, len(w.Present))
		}
		s.offset[v+1] = s.offset[v] + d
		total += w.Weight
		for _, p := range w.Present {
			masked = masked || !p
		}
	}
	if masked {
		s.scale = make([]float64, s.n)
		for i := range s.scale {
			present := 0.0
			for v := range views {
				if s.present(v, i) {
					present += views[v].Weight
				}
			}
			if present == 0 {
				return nil, fmt.Errorf("kmeans: sample %d has no view", i)
			}
			s.scale[i] = total / present
		}
	}
	return s, nil
}

// take takes the rows to a device. It returns nil if products are computed here.
func (s *Source[T]) take(d rows.Device, use rows.Use) (rows.Products[T], error) {
	x, present := make([]rows.Matrix[T], len(s.views)), make([][]bool, len(s.views))
	for v, w := range s.views {
		x[v], present[v] = w.Rows, w.Present
	}
	return rows.Take(d, x, present, use)
}

// Len returns the number of samples.
func (s *Source[T]) Len() int { return s.n }

// width returns Σ d_v, the length of a centroid.
func (s *Source[T]) width() int { return s.offset[len(s.views)] }

// part returns view v's columns of a centroid.
func (s *Source[T]) part(v int, c []T) []T { return c[s.offset[v]:s.offset[v+1]] }

func (s *Source[T]) present(v, i int) bool {
	p := s.views[v].Present
	return p == nil || p[i]
}

// complete says whether sample i has every view.
func (s *Source[T]) complete(i int) bool {
	if s.scale == nil {
		return true
	}
	for v := range s.views {
		if !s.present(v, i) {
			return false
		}
	}
	return true
}

func (s *Source[T]) scaleOf(i int) float64 {
	if s.scale == nil {
		return 1
	}
	return s.scale[i]
}

func (s *Source[T]) blocks() int { return (s.n + blockRows - 1) / blockRows }

// block returns the rows of block b.
func (s *Source[T]) block(b int) (lo, hi int) { return b * blockRows, min((b+1)*blockRows, s.n) }

// distance returns the squared distance of sample i to the centroid c, summed from differences. row is scratch of the centroid's
// length.
func (s *Source[T]) distance(i int, c, row []T) float64 {
	sum := 0.0
	for v := range s.views {
		if s.present(v, i) {
			x := s.part(v, row)
			s.views[v].Rows.Row(i, x)
			sum += s.views[v].Weight * kernel.SquaredDistance(x, s.part(v, c))
		}
	}
	return s.scaleOf(i) * sum
}

// copyRow writes sample i to dst as a centroid: fill sets the parts of absent views.
func (s *Source[T]) copyRow(i int, dst []T, seed uint64) {
	for v := range s.views {
		if s.present(v, i) {
			s.views[v].Rows.Row(i, s.part(v, dst))
		} else {
			s.fill(v, s.part(v, dst), seed, uint64(i))
		}
	}
}

// fill sets a centroid's part in view v, which no member has, to a present row of the view. seed, who and v select the row.
func (s *Source[T]) fill(v int, dst []T, seed, who uint64) {
	count := 0
	for _, p := range s.views[v].Present {
		if p {
			count++
		}
	}
	if count == 0 {
		clear(dst) // never compared with any sample
		return
	}
	at := rand.New(rand.NewPCG(seed^streamFill, who<<16^uint64(v))).IntN(count)
	for i, p := range s.views[v].Present {
		if !p {
			continue
		}
		if at == 0 {
			s.views[v].Rows.Row(i, dst)
			return
		}
		at--
	}
}

// norms returns √(Σ_{v present} w_v‖x_iv‖²) of every sample, and an error if one is so large that squared distances
// would overflow T.
func (s *Source[T]) norms(ctx context.Context, workers int) ([]float64, error) {
	norm := make([]float64, s.n)
	scratch := make([]float64, parallel.Workers(workers)*blockRows)
	err := parallel.For(ctx, workers, s.blocks(), func(worker, b int) error {
		lo, hi := s.block(b)
		s.blockNorms(lo, hi, norm[lo:hi], scratch[worker*blockRows:(worker+1)*blockRows])
		return checkNorms[T](norm[lo:hi], s.group.First()+lo)
	})
	return norm, err
}

// checkNorms returns an error if a norm is NaN or so large that squared distances would overflow; lo is the first sample.
func checkNorms[T kernel.Float](norm []float64, lo int) error {
	for i, x := range norm {
		if !(x < largest[T]()) {
			return fmt.Errorf("kmeans: sample %d has the norm %.3g, its squared distances would not be finite", lo+i, x)
		}
	}
	return nil
}

// largest returns a length whose square, with room for sums, is within the range of T.
func largest[T kernel.Float]() float64 {
	if kernel.Epsilon[T]() == 0x1p-24 {
		return 1e18
	}
	return 1e153
}

// blockNorms sets dst to √(Σ_{v present} w_v‖x_iv‖²) for the rows from lo to hi, at most blockRows; scratch holds as many.
func (s *Source[T]) blockNorms(lo, hi int, dst, scratch []float64) {
	clear(dst)
	for v := range s.views {
		s.views[v].Rows.SquaredNorms(lo, hi, scratch[:len(dst)])
		for i := range dst {
			if s.present(v, lo+i) {
				dst[i] += s.views[v].Weight * scratch[i]
			}
		}
	}
	for i, q := range dst {
		dst[i] = math.Sqrt(q)
	}
}

// sample returns a copy of m of the n samples of all ranks, chosen by seed, in their order. Every rank gets all m.
func (s *Source[T]) sample(ctx context.Context, workers, m int, seed uint64) (*Source[T], error) {
	g := s.group
	chosen := g.Here(rows.Sample(rand.New(rand.NewPCG(seed, streamSample)), g.Total(s.n), m), s.n)
	here := len(chosen)
	views := make([]View[T], len(s.views))
	for v, w := range s.views {
		_, d := w.Rows.Dims()
		x := make([]T, here*d)
		read := rows.RowReader(w.Rows, here)
		if err := parallel.For(ctx, workers, (here+blockRows-1)/blockRows, func(_, b int) error {
			for j := b * blockRows; j < min((b+1)*blockRows, here); j++ {
				read(chosen[j], x[j*d:(j+1)*d])
			}
			return nil
		}); err != nil {
			return nil, err
		}
		x, err := ranks.GatherAll(g, "rows for the k-means", x, m*d)
		if err != nil {
			return nil, err
		}
		views[v] = View[T]{Rows: rows.NewDense(m, d, d, x), Weight: w.Weight}
		if w.Present != nil && g == nil { // rows of several ranks have all views
			views[v].Present = make([]bool, m)
			for j, i := range chosen {
				views[v].Present[j] = w.Present[i]
			}
		}
	}
	return NewSource(nil, views...)
}
