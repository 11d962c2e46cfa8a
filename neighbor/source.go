package neighbor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/rows"
)

// blockRows is the number of samples that are multiplied together.
const blockRows = 64

// source is checked views with their squared norms.
type source[T Float] struct {
	group  *ranks.Group // processes that hold the other samples; nil: there are none
	views  []View[T]
	n      int
	dims   []int
	square [][]float64 // ‖x_iv‖² of each view; 0 where absent
	masked []bool      // some sample lacks the view
	twice  int         // the number of views if doubled has made two of each, else 0
}

// doubled returns the source with every view twice: with filled rows if filled is set, then as it is. Products use the first of
// both only.
func (s *source[T]) doubled(ctx context.Context, filled bool, workers int) (*source[T], error) {
	views := make([]View[T], 0, 2*len(s.views))
	for _, w := range s.views {
		if filled {
			w.Present = nil
		}
		views = append(views, w)
	}
	out, err := newSource(ctx, s.group, append(views, s.views...), workers)
	if err != nil {
		return nil, err
	}
	out.twice = len(s.views)
	return out, nil
}

// product returns the number of the view that has the products for view v.
func (s *source[T]) product(v int) int {
	if s.twice > 0 && v >= s.twice {
		return v - s.twice
	}
	return v
}

// newSource checks the views of the samples of this process, and of the other processes of a group.
func newSource[T Float](ctx context.Context, group *ranks.Group, views []View[T], workers int) (*source[T], error) {
	if len(views) == 0 {
		return nil, errors.New("neighbor: there are no views")
	}
	s := &source[T]{group: group, views: views, dims: make([]int, 0, len(views))}
	for v, w := range views {
		if w.Rows == nil {
			return nil, fmt.Errorf("neighbor: view %d has no rows", v)
		}
		n, d := w.Rows.Dims()
		if v == 0 {
			s.n = n
		}
		if n < 1 || d < 1 {
			return nil, fmt.Errorf("neighbor: view %d is %d×%d", v, n, d)
		}
		if n != s.n {
			return nil, fmt.Errorf("neighbor: view %d has %d rows, view 0 has %d", v, n, s.n)
		}
		if w.Present != nil && len(w.Present) != n {
			return nil, fmt.Errorf("neighbor: view %d has %d rows and a mask of %d", v, n, len(w.Present))
		}
		s.dims = append(s.dims, d)
	}
	if s.n > math.MaxInt32 {
		return nil, fmt.Errorf("neighbor: %d samples; at most %d can be indexed", s.n, math.MaxInt32)
	}
	squares := make([]float64, len(views)*s.n)
	s.square, s.masked = make([][]float64, len(views)), make([]bool, len(views))
	for v := range views {
		s.square[v] = squares[v*s.n : (v+1)*s.n : (v+1)*s.n]
		for i := range s.n {
			s.masked[v] = s.masked[v] || !s.present(v, i)
		}
		if err := s.measure(ctx, v, workers); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// measure sets the norms of view v and checks them.
func (s *source[T]) measure(ctx context.Context, v, workers int) error {
	return parallel.For(ctx, workers, s.blocks(), func(_, b int) error {
		lo, hi := s.block(b)
		q := s.square[v][lo:hi]
		s.views[v].Rows.SquaredNorms(lo, hi, q)
		for i := range q {
			if !s.present(v, lo+i) {
				q[i] = 0
			}
			if !(q[i] < largestSquare[T]()) {
				return s.refuse(v, lo+i)
			}
		}
		return nil
	})
}

// refuse returns the error for a row whose norm is not finite.
func (s *source[T]) refuse(v, i int) error {
	row := make([]T, s.dims[v])
	s.views[v].Rows.Row(i, row)
	for j, x := range row {
		if y := float64(x); math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("neighbor: view %d has %v at row %d, column %d", v, y, i, j)
		}
	}
	return fmt.Errorf("neighbor: row %d of view %d is so long that squared distances are not finite", i, v)
}

// largestSquare bounds squared norms so that squared distances, with room for sums, are within the range of T.
func largestSquare[T Float]() float64 {
	if kernel.Epsilon[T]() == 0x1p-24 {
		return 1e36
	}
	return 1e300
}

func (s *source[T]) present(v, i int) bool {
	p := s.views[v].Present
	return p == nil || p[i]
}

// has reports whether sample i has one of the views.
func (s *source[T]) has(views []int, i int) bool {
	return slices.ContainsFunc(views, func(v int) bool { return s.present(v, i) })
}

// incomplete reports whether a sample lacks one of the views.
func (s *source[T]) incomplete(views []int) bool {
	return slices.ContainsFunc(views, func(v int) bool { return s.masked[v] })
}

// lacks reports whether a sample, of any rank, lacks one of the views.
func (s *source[T]) lacks(views []int) bool {
	return slices.ContainsFunc(views, func(v int) bool { return lacking(s.group, s.views[v].Present) })
}

func (s *source[T]) blocks() int { return (s.n + blockRows - 1) / blockRows }

func (s *source[T]) block(b int) (lo, hi int) { return b * blockRows, min((b+1)*blockRows, s.n) }

// row returns row i of view v, in buf if the rows do not lie in memory.
func (s *source[T]) row(v, i int, buf []T) []T {
	if d, ok := s.views[v].Rows.(*rows.Dense[T]); ok {
		return d.View(i)
	}
	buf = slices.Grow(buf[:0], s.dims[v])[:s.dims[v]]
	s.views[v].Rows.Row(i, buf)
	return buf
}

// inMemory reports whether the rows of the views lie in memory.
func (s *source[T]) inMemory(views []int) bool {
	return !slices.ContainsFunc(views, func(v int) bool {
		_, dense := s.views[v].Rows.(*rows.Dense[T])
		return !dense
	})
}

// rowBuffers returns two scratch rows, long enough for any view whose rows do not lie in memory.
func (s *source[T]) rowBuffers() [2][]T {
	within := true
	for _, w := range s.views {
		_, dense := w.Rows.(*rows.Dense[T])
		within = within && dense
	}
	if within {
		return [2][]T{}
	}
	most := slices.Max(s.dims)
	return [2][]T{make([]T, most), make([]T, most)}
}

// lengths returns, for each of the views, the root mean square norm of its present rows.
func (s *source[T]) lengths(views []int) []float64 {
	out := make([]float64, len(views))
	for q, v := range views {
		sum, count := 0.0, 0.0
		for i, square := range s.square[v] {
			if s.present(v, i) {
				sum, count = sum+square, count+1
			}
		}
		out[q] = math.Sqrt(sum / max(count, 1))
	}
	return out
}

// longer is the memory of lengthened.
type longer[T Float] struct {
	source  source[T]
	dense   []rows.Dense[T]
	rows    []T
	squares []float64
}

// lengthened returns the source with shorter rows scaled to the length of their view, in the memory of b. Rows of zeros stay
// zero.
func (s *source[T]) lengthened(ctx context.Context, length []float64, workers int, b *longer[T]) (*source[T], error) {
	size := 0
	for v, d := range s.dims {
		if s.product(v) == v {
			size += s.n * d
		}
	}
	b.rows, b.squares = resized(b.rows, size), resized(b.squares, len(s.views)*s.n)
	b.dense = slices.Grow(b.dense[:0], len(s.views))[:len(s.views)]
	out := &b.source
	views, square := append(out.views[:0], s.views...), append(out.square[:0], s.square...)
	*out = *s
	out.views, out.square = views, square
	at := 0
	for v, d := range s.dims {
		out.square[v] = b.squares[v*s.n : (v+1)*s.n : (v+1)*s.n]
		if p := s.product(v); p < v { // the same rows once more
			out.views[v].Rows = out.views[p].Rows
			copy(out.square[v], out.square[p])
			for i := range out.square[v] {
				if !s.present(v, i) {
					out.square[v][i] = 0
				}
			}
			continue
		}
		x, square := b.rows[at:at+s.n*d:at+s.n*d], out.square[v]
		at += s.n * d
		copy(square, s.square[v])
		err := eachRow(ctx, workers, s.n, func(i int) {
			row := x[i*d : (i+1)*d]
			if !s.present(v, i) {
				clear(row)
				return
			}
			s.views[v].Rows.Row(i, row)
			if norm := math.Sqrt(square[i]); norm > 0 && norm < length[v] {
				for j := range row {
					row[j] = T(float64(row[j]) * (length[v] / norm))
				}
				square[i] = length[v] * length[v]
			}
		})
		if err != nil {
			return nil, err
		}
		b.dense[v] = *rows.NewDense(s.n, d, d, x)
		out.views[v].Rows = &b.dense[v]
	}
	return out, nil
}

// longest returns the largest norm of a sample over the views.
func (s *source[T]) longest(views []int) float64 {
	most := 0.0
	for i := range s.n {
		most = max(most, s.length(views, i))
	}
	return math.Sqrt(most)
}

// length returns the squared norm of sample i over the views, scaled like a distance.
func (s *source[T]) length(views []int, i int) float64 {
	sum, shared := 0.0, 0
	for _, v := range views {
		if s.present(v, i) {
			sum += s.square[v][i]
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return sum * float64(len(views)) / float64(shared)
}

// distance returns the squared distance of sample i of s and sample j of t over the views, summed from differences, and false if
// they share no view.
func (s *source[T]) distance(t *source[T], views []int, i, j int, buf [2][]T) (float64, bool) {
	sum, shared := 0.0, 0
	for _, v := range views {
		if s.present(v, i) && t.present(v, j) {
			sum += kernel.SquaredDistance(s.row(v, i, buf[0]), t.row(v, j, buf[1]))
			shared++
		}
	}
	if shared == 0 {
		return 0, false
	}
	if shared < len(views) {
		sum *= float64(len(views)) / float64(shared)
	}
	return sum, true
}

// noise bounds the rounding error of a squared distance that comes from a product, for samples of the given norms over d
// features.
func noise[T Float](d int, a, b float64) float64 {
	return (16 + math.Sqrt(float64(d))) * kernel.Epsilon[T]() * (a + b) * (a + b)
}

// width returns the number of features over the views.
func (s *source[T]) width(views []int) int {
	d := 0
	for _, v := range views {
		d += s.dims[v]
	}
	return d
}
