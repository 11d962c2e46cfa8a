package neighbor

import (
	"context"
	"math"
	"sync"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// baseRows is the number of base samples that are multiplied at a time with a block of queries.
const baseRows = 256

// scanSpace is one worker's memory for the products of a block of queries with base samples.
type scanSpace[T Float] struct {
	panels []kernel.Panel[T] // −2 times the queries as columns
	ld     int               // stride of the products
	y      [][]T             // the products of baseRows samples with the queries, of each view that a space has
	score  []T               // of a base sample for each query
	worst  []T               // of the candidates of each query
}

// reverse is called in a scan for each base sample j in a space with the scores for the queries from `from` on.
type reverse[T Float] func(space, j, from int, scores []T)

// scan goes over all pairs of query and base and offers the base samples to the queries, in increasing order for each. each
// may be nil.
func (s *search[T]) scan(ctx context.Context, workers int, each reverse[T]) error {
	used := make([]bool, len(s.base.views))
	for _, p := range s.spaces {
		for _, v := range p.product {
			used[v] = true
		}
	}
	return parallel.For(ctx, workers, s.query.blocks(), func(_, b int) error {
		w := takeScanSpace[T](used, min(s.query.n, blockRows))
		defer scanPool[T]().Put(w)
		return s.block(ctx, b, w, each)
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

// takeScanSpace returns the memory for blocks of at most the given number of queries in the views that are used.
func takeScanSpace[T Float](used []bool, queries int) *scanSpace[T] {
	w, _ := scanPool[T]().Get().(*scanSpace[T])
	if w == nil || len(w.y) != len(used) {
		w = &scanSpace[T]{panels: make([]kernel.Panel[T], len(used)), y: make([][]T, len(used)),
			score: make([]T, blockRows), worst: make([]T, blockRows)}
	}
	w.ld = Stride(queries)
	for v, u := range used {
		if size := baseRows * w.ld; u && cap(w.y[v]) < size {
			w.y[v] = make([]T, size)
		} else if u {
			w.y[v] = w.y[v][:size]
		} else {
			w.y[v] = nil
		}
	}
	return w
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

// block handles the queries of block b.
func (s *search[T]) block(ctx context.Context, b int, w *scanSpace[T], each reverse[T]) error {
	from, to := s.query.block(b)
	for v, y := range w.y {
		if y != nil {
			s.query.pack(v, from, to, &w.panels[v])
		}
	}
	for lo := 0; lo < s.base.n; lo += baseRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+baseRows, s.base.n)
		for v, y := range w.y {
			if y != nil {
				s.base.views[v].Rows.Mul(lo, hi, &w.panels[v], y, w.ld)
			}
		}
		for q, p := range s.spaces {
			score, worst := w.score[:to-from], w.worst[:to-from]
			for i := range worst {
				worst[i] = p.score[(from+i+1)*s.keep-1]
			}
			for j := lo; j < hi; j++ {
				if p.hidden[j] {
					continue
				}
				if p.masked {
					s.maskedScores(p, from, j, (j-lo)*w.ld, w, score)
				} else {
					p.scores(j, (j-lo)*w.ld, w, score)
				}
				for i, t := range score {
					if t < worst[i] && !(s.self && from+i == j) {
						worst[i] = p.offer(from+i, s.keep, int32(j), t)
					}
				}
				if each != nil {
					each(q, j, from, score)
				}
			}
		}
	}
	return nil
}

// scores sets score to ‖x_j‖² − 2 x_i·x_j for base sample j and the queries i; at is where j's products begin.
func (p *plan[T]) scores(j, at int, w *scanSpace[T], score []T) {
	b := p.bias[j]
	y := w.y[p.product[0]][at:]
	y = y[:len(score)]
	for i, x := range y {
		score[i] = b + x
	}
	for _, v := range p.product[1:] {
		y := w.y[v][at:]
		y = y[:len(score)]
		for i, x := range y {
			score[i] += x
		}
	}
}

// maskedScores sets score to the squared distances over the views that both samples have, scaled to all, less ‖x_i‖² scaled
// to all from those that query i has, so that it is what scores gives where no view is absent; +∞ where they share none.
func (s *search[T]) maskedScores(p *plan[T], from, j, at int, w *scanSpace[T], score []T) {
	for i := range score {
		sum, own, shared, had := 0.0, 0.0, 0, 0
		for q, v := range p.views {
			if !s.query.present(v, from+i) {
				continue
			}
			own += s.query.square[v][from+i]
			had++
			if s.base.present(v, j) {
				sum += s.query.square[v][from+i] + s.base.square[v][j] + float64(w.y[p.product[q]][at+i])
				shared++
			}
		}
		score[i] = T(math.Inf(1))
		if shared > 0 {
			score[i] = T(float64(len(p.views)) * (sum/float64(shared) - own/float64(had)))
		}
	}
}
