package neighbor

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

const (
	// mostBase and leastBase bound the number of base samples that are multiplied at a time, and baseValues their values: those
	// of a view then stay in a core's second-level cache.
	mostBase, leastBase = 256, 64
	baseValues          = 320 << 10
	// groupBlocks is the number of blocks of queries that the same base samples are multiplied with, one after another.
	groupBlocks = 16
	// fewQueries is the number of queries up to which they are the columns of products in place of the base samples, which then
	// need not be packed.
	fewQueries = 8
)

// scanSpace is one worker's memory for the products of a block of queries with base samples.
type scanSpace[T Float] struct {
	base   int               // samples at a time
	panels []kernel.Panel[T] // −2 times the base samples as columns; the queries where they are few
	ld     int               // stride of the products
	y      [][]T             // of each view that a space has, the products of each query with the base samples
	turned []T               // the same of one view for few queries, a row for each base sample
	total  []T               // sums of y over the views of a space
	score  []T               // of one query with masks
	list   []int32           // base samples, counted from the first of them, that may matter
}

// reverse looks at the pairs of a scan from the side of the base samples.
type reverse[T Float] struct {
	// over has the bias of each base sample, in each space, less the score from which it lets no query in; reach is what is added
	// to that for each query.
	over, reach [][]T
	// take is called with the score of every pair that is let in, and may be with others.
	take func(space, i, j int, score T)
}

// scan goes over all pairs of query and base and offers the base samples to the queries, in increasing order for each. other
// may be nil.
func (s *search[T]) scan(ctx context.Context, workers int, other *reverse[T]) error {
	used := make([]bool, len(s.base.views))
	for _, p := range s.spaces {
		for _, v := range p.product {
			used[v] = true
		}
	}
	blocks := s.query.blocks()
	group := max(1, min(groupBlocks, blocks/parallel.Workers(workers)))
	return parallel.For(ctx, workers, (blocks+group-1)/group, func(_, g int) error {
		w := s.takeSpace(used)
		defer scanPool[T]().Put(w)
		return s.group(ctx, g*group, min((g+1)*group, blocks), w, other)
	})
}

// scanPools hold scan spaces that were given back, of float32 and of float64.
var scanPools [2]sync.Pool

func scanPool[T Float]() *sync.Pool {
	if kernel.Is32[T]() {
		return &scanPools[0]
	}
	return &scanPools[1]
}

// takeSpace returns the memory for blocks of queries in the views that are used.
func (s *search[T]) takeSpace(used []bool) *scanSpace[T] {
	w, _ := scanPool[T]().Get().(*scanSpace[T])
	if w == nil {
		w = &scanSpace[T]{}
	}
	w.panels = slices.Grow(w.panels[:0], len(used))[:len(used)]
	w.y = slices.Grow(w.y[:0], len(used))[:len(used)]
	width := 0
	for v, u := range used {
		if u {
			width += s.base.dims[v]
		}
	}
	w.base = min(mostBase, max(leastBase, baseValues/max(width, 1)&^(leastBase-1)), s.base.n)
	w.ld = Stride(w.base)
	queries := min(s.query.n, blockRows)
	for v, u := range used {
		if !u {
			w.y[v] = nil
			continue
		}
		w.y[v] = resized(w.y[v], queries*w.ld)
	}
	w.total, w.score = resized(w.total, queries*w.ld), resized(w.score, w.ld)
	w.list = slices.Grow(w.list[:0], w.base+kernel.Lanes)[:w.base+kernel.Lanes]
	return w
}

// resized returns x with the given length, in other memory where it must be.
func resized[T Float](x []T, size int) []T {
	if cap(x) < size {
		return make([]T, size)
	}
	return x[:size]
}

// pack sets the panel to −2 times the rows from lo to hi as columns, absent rows zero.
func (s *source[T]) pack(v, lo, hi int, panel *kernel.Panel[T]) {
	d := s.dims[v]
	buf := takeRows[T]((hi - lo) * d)
	defer giveRows(buf)
	x := *buf
	for i := lo; i < hi; i++ {
		row := x[(i-lo)*d : (i-lo+1)*d]
		if !s.present(v, i) {
			clear(row)
			continue
		}
		s.views[v].Rows.Row(i, row)
		for j := range row {
			row[j] *= -2
		}
	}
	kernel.PackT(panel, d, hi-lo, x, d)
}

// group handles the queries of the blocks from `first` to `last`.
func (s *search[T]) group(ctx context.Context, first, last int, w *scanSpace[T], other *reverse[T]) error {
	from, _ := s.query.block(first)
	_, to := s.query.block(last - 1)
	few := to-from <= fewQueries
	for v, y := range w.y {
		if few && y != nil {
			s.query.pack(v, from, to, &w.panels[v])
		}
	}
	for lo := 0; lo < s.base.n; lo += w.base {
		hi := min(lo+w.base, s.base.n)
		for v, y := range w.y {
			if !few && y != nil {
				s.base.pack(v, lo, hi, &w.panels[v])
			}
		}
		for b := first; b < last; b++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			from, to := s.query.block(b)
			s.multiply(from, to, lo, hi, few, w)
			for q := range s.spaces {
				s.offerAll(q, from, to, lo, hi, w, other)
			}
		}
	}
	return nil
}

// multiply sets w.y to −2 times the products of the queries from `from` to `to` with the base samples from lo to hi. Absent rows
// of queries may give anything.
func (s *search[T]) multiply(from, to, lo, hi int, few bool, w *scanSpace[T]) {
	for v, y := range w.y {
		switch {
		case y == nil:
		case few:
			ld := Stride(to - from)
			w.turned = resized(w.turned, w.base*ld)
			s.base.views[v].Rows.Mul(lo, hi, &w.panels[v], w.turned, ld)
			for i := range to - from {
				row := y[i*w.ld:][:hi-lo]
				for j := range row {
					row[j] = w.turned[j*ld+i]
				}
			}
		default:
			s.query.views[v].Rows.Mul(from, to, &w.panels[v], y, w.ld)
		}
	}
}

// offerAll offers the base samples from lo to hi in a space to the queries from `from` to `to`.
func (s *search[T]) offerAll(space, from, to, lo, hi int, w *scanSpace[T], other *reverse[T]) {
	p := s.spaces[space]
	if p.masked {
		for i := from; i < to; i++ {
			s.offerMasked(space, i, (i-from)*w.ld, lo, hi, w, other)
		}
		return
	}
	y := w.y[p.product[0]]
	if more := p.product[1:]; len(more) > 0 {
		size := (to - from) * w.ld
		copy(w.total[:size], y)
		y = w.total
		var ones [blockRows]T
		for i := range ones {
			ones[i] = 1
		}
		for _, v := range more {
			kernel.RowAxpy(y, w.y[v], ones[:to-from], w.ld)
		}
	}
	bias, hidden := p.bias[lo:hi], p.hidden[lo:hi]
	for i := from; i < to; i++ {
		y := y[(i-from)*w.ld:][:hi-lo]
		worst := s.worst(p, i)
		for _, r := range w.list[:kernel.BelowSum(y, bias, worst, w.list)] {
			if t, j := y[r]+bias[r], lo+int(r); t < worst && !hidden[r] && !(s.self && i == j) {
				p.offer(i, s.keep, int32(j), t)
				worst = s.worst(p, i)
			}
		}
		if other == nil {
			continue
		}
		for _, r := range w.list[:kernel.BelowSum(y, other.over[space][lo:hi], other.reach[space][i], w.list)] {
			if !hidden[r] {
				other.take(space, i, lo+int(r), y[r]+bias[r])
			}
		}
	}
}

// offerMasked offers the base samples from lo to hi in a space with masks to query i, whose products begin at `at`.
func (s *search[T]) offerMasked(space, i, at, lo, hi int, w *scanSpace[T], other *reverse[T]) {
	p := s.spaces[space]
	score := w.score[:hi-lo]
	s.maskedScores(p, i, at, lo, w, score)
	worst := s.worst(p, i)
	for r, t := range score {
		j := lo + r
		if p.hidden[j] {
			continue
		}
		if t < worst && !(s.self && i == j) {
			p.offer(i, s.keep, int32(j), t)
			worst = s.worst(p, i)
		}
		if other != nil {
			other.take(space, i, j, t)
		}
	}
}

// maskedScores sets score to the squared distances of query i to the base samples from lo on over the views that both have,
// scaled to all, less ‖x_i‖² scaled to all from those that it has, so that it is what scores are where no view is absent;
// +∞ where they share none.
func (s *search[T]) maskedScores(p *plan[T], i, at, lo int, w *scanSpace[T], score []T) {
	own, had := 0.0, 0
	for _, v := range p.views {
		if s.query.present(v, i) {
			own += s.query.square[v][i]
			had++
		}
	}
	for r := range score {
		j, sum, shared := lo+r, 0.0, 0
		for q, v := range p.views {
			if s.query.present(v, i) && s.base.present(v, j) {
				sum += s.query.square[v][i] + s.base.square[v][j] + float64(w.y[p.product[q]][at+r])
				shared++
			}
		}
		score[r] = T(math.Inf(1))
		if shared > 0 {
			score[r] = T(float64(len(p.views)) * (sum/float64(shared) - own/float64(had)))
		}
	}
}
