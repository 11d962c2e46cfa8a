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
	// mostBase and leastBase bound the number of base samples that are multiplied at a time, and baseValues their values: the
	// values of a view then stay in a core's second-level cache.
	mostBase, leastBase = 256, 64
	baseValues          = 320 << 10
	// groupBlocks is the number of blocks of queries that are multiplied with the same base samples, one after another.
	groupBlocks = 16
	// fewQueries is the number of queries up to which the queries are the columns of products. The base samples then need not be
	// packed.
	fewQueries = 8
	// fewBase is the number of base samples that a goroutine then multiplies at a time.
	fewBase = 128
)

// scanSpace is one worker's memory for the products of a block of queries with base samples.
type scanSpace[T Float] struct {
	base   int               // samples at a time
	panels []kernel.Panel[T] // −2 times the base samples as columns; or the queries, if they are few
	ld     int               // stride of the products
	y      [][]T             // of each view that a space has, the products of each query with the base samples
	total  []T               // sums of y over the views of a space
	score  []T               // of one query
	ones   []T               // for each query
	list   []int32           // base samples that may matter, counted from the first one
}

// reverse compares the pairs of a scan with limits of the base samples.
type reverse[T Float] struct {
	// over has, for each space and base sample, its bias less the score below which it admits a query. reach has, for each query,
	// the tolerance.
	over, reach [][]T
	// take is called with the score of every admitted pair, and sometimes with others.
	take func(space, i, j int, score T)
}

// scan visits all pairs of query and base and offers the base samples to the queries, in increasing order for each query. other
// may be nil.
func (s *search[T]) scan(ctx context.Context, workers int, other *reverse[T]) error {
	used := s.multiplied()
	blocks := s.query.blocks()
	group := max(1, min(groupBlocks, blocks/parallel.Workers(workers)))
	return parallel.For(ctx, workers, (blocks+group-1)/group, func(_, g int) error {
		w := s.takeSpace(used)
		defer scanPool[T]().Put(w)
		return s.group(ctx, workers, g*group, min((g+1)*group, blocks), w, other)
	})
}

// scanPools hold released scan spaces, of float32 and of float64.
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
		w = &scanSpace[T]{ones: make([]T, blockRows)}
		for i := range w.ones {
			w.ones[i] = 1
		}
	}
	w.panels = slices.Grow(w.panels[:0], len(used))[:len(used)]
	w.y = slices.Grow(w.y[:0], len(used))[:len(used)]
	w.base = s.base.together(used)
	if s.query.n <= fewQueries {
		w.base = s.base.n
	}
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

// together returns the number of samples that queries are multiplied with at a time, in the used views.
func (s *source[T]) together(used []bool) int {
	width := 0
	for v, u := range used {
		if u {
			width += s.dims[v]
		}
	}
	return min(mostBase, max(leastBase, baseValues/max(width, 1)&^(leastBase-1)), s.n)
}

// resized returns x with the given length, in new memory if needed, with undefined content.
func resized[T any](x []T, size int) []T {
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
func (s *search[T]) group(ctx context.Context, workers, first, last int, w *scanSpace[T], other *reverse[T]) error {
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
			if !few && y != nil && s.words == nil {
				s.base.pack(v, lo, hi, &w.panels[v])
			}
		}
		for b := first; b < last; b++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			from, to := s.query.block(b)
			if s.words != nil {
				s.multiplyWords(from, to, lo, w)
			} else if !few {
				s.multiply(from, to, lo, hi, w)
			} else if err := s.multiplyFew(ctx, workers, to-from, lo, hi, w); err != nil {
				return err
			}
			for q := range s.spaces {
				s.offerAll(q, from, to, lo, hi, w, other)
			}
		}
	}
	return nil
}

// multiply sets w.y to −2 times the products of the queries from `from` to `to` with the base samples from lo to hi. The products
// of absent rows of queries are undefined.
func (s *search[T]) multiply(from, to, lo, hi int, w *scanSpace[T]) {
	for v, y := range w.y {
		if y != nil {
			s.query.views[v].Rows.Mul(from, to, &w.panels[v], y, w.ld)
		}
	}
}

// multiplyFew is multiply for few queries, which the panels hold. The goroutines share the base samples.
func (s *search[T]) multiplyFew(ctx context.Context, workers, queries, lo, hi int, w *scanSpace[T]) error {
	parts, ld := (hi-lo+fewBase-1)/fewBase, Stride(queries)
	return parallel.For(ctx, workers, parts*len(w.y), func(_, t int) error {
		v, first := t/parts, lo+t%parts*fewBase
		if w.y[v] == nil {
			return nil
		}
		end := min(first+fewBase, hi)
		turned := takeRows[T]((end - first) * ld)
		defer giveRows(turned)
		s.base.views[v].Rows.Mul(first, end, &w.panels[v], *turned, ld)
		for i := range queries {
			row := w.y[v][i*w.ld+first-lo:][:end-first]
			for j := range row {
				row[j] = (*turned)[j*ld+i]
			}
		}
		return nil
	})
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
		for _, v := range more {
			kernel.RowAxpy(y, w.y[v], w.ones[:to-from], w.ld)
		}
	}
	bias, hidden := p.bias[lo:hi], p.hidden[lo:hi]
	for i := from; i < to; i++ {
		y := y[(i-from)*w.ld:][:hi-lo]
		worst := s.worst(p, i)
		for _, r := range w.list[:kernel.BelowSum(y, bias, s.atMost(p, i, worst, y, bias, w), w.list)] {
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

// atMost bounds the scores y + bias that are admitted below `worst`. For the first base samples of a query `worst` is infinite;
// the bound is then a score that k of these samples reach, plus rounding.
func (s *search[T]) atMost(p *plan[T], i int, worst T, y, bias []T, w *scanSpace[T]) T {
	if !math.IsInf(float64(worst), 1) || s.self || !p.seen || s.k > kernel.Lanes || len(y) < kernel.Lanes {
		return worst
	}
	score := w.score[:len(y)]
	for r, b := range bias[:len(score)] {
		score[r] = y[r] + b
	}
	var low [kernel.Lanes]T
	kernel.LaneMinima(score, &low)
	return smallest(&low, s.k) + p.slack[i]
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

// maskedScores sets score to the scores of query i with the base samples from lo on. The score is the squared distance over the
// views that both samples have, scaled to all views, less ‖x_i‖² scaled likewise. It is +∞ if they share no view.
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
