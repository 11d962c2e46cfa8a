package neighbor

import (
	"context"
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/parallel"
)

// New samples are compared with many others. If products of words are fast, scores come from rows that are rounded to words.
// First the mean of the base samples is subtracted from all rows: this shortens them and does not change distances. The rounding
// error is part of the error of the scores. Within this error the distances themselves decide, so that neighbours are the same.
// With the rounded rows x' and c',
//
//	|x·c − x'·c'| ≤ ‖x − x'‖‖c'‖ + ‖x‖‖c − c'‖.

const (
	// mostRounded bounds the rounding error, as a share of a squared distance. mostTight bounds the share of the samples whose
	// last neighbour may be too near for this: other shares could need more candidates than are kept.
	mostRounded, mostTight = 0.03, 5e-3
	// roundedNorms is the relative rounding error of the norms in the bound. roundedSums is the rounding error of sums of rows
	// without their mean, which may be longer than the rows, in units of the element type's rounding error.
	roundedNorms, roundedSums = 1e-6, 16
)

// wordBase holds base samples as the columns of products in words, in the blocks in which they are multiplied.
type wordBase[T Float] struct {
	block   int
	panels  [][]kernel.WordPanel[T] // of each view that is multiplied
	mean    [][]float64             // of each view
	step    []float64
	square  [][]float64 // ‖c‖² of each sample, until rounds has decided
	longest []float64   // ‖c‖
	lost    []float64   // ‖c − c'‖
}

// wordQuery holds queries as rows of words.
type wordQuery[T Float] struct {
	rows   [][]int16 // of each view that is multiplied, with a stride of whole units
	step   [][]T     // −2 times the steps of row and column
	square [][]float64
	lost   [][]float64
}

// multiplied reports, for each view, whether a space uses its products.
func (s *search[T]) multiplied() []bool {
	used := make([]bool, len(s.base.views))
	for _, p := range s.spaces {
		for _, v := range p.product {
			used[v] = true
		}
	}
	return used
}

// anyMasked reports whether samples lack a view of a space.
func (s *search[T]) anyMasked() bool {
	return slices.ContainsFunc(s.spaces, func(p *plan[T]) bool { return p.masked })
}

// wordsStride is the stride of rows of d words.
func wordsStride(d int) int { return (d + kernel.WordUnit - 1) / kernel.WordUnit * kernel.WordUnit }

// newWordBase rounds the base samples of a search to words.
func newWordBase[T Float](ctx context.Context, s *search[T], workers int) (*wordBase[T], error) {
	b, views := s.base, len(s.base.views)
	used := s.multiplied()
	out := &wordBase[T]{
		block: b.together(used), panels: make([][]kernel.WordPanel[T], views), mean: make([][]float64, views),
		step: make([]float64, views), square: make([][]float64, views), longest: make([]float64, views),
		lost: make([]float64, views),
	}
	return out, parallel.For(ctx, workers, views, func(_, v int) error {
		if used[v] {
			out.take(b, v)
		}
		return nil
	})
}

// take rounds the samples in view v.
func (b *wordBase[T]) take(src *source[T], v int) {
	d, ld := src.dims[v], wordsStride(src.dims[v])
	buf, mean, row := make([]T, d), make([]float64, d), make([]float64, d)
	for i := range src.n {
		kernel.AddTo(mean, src.row(v, i, buf))
	}
	for j := range mean {
		mean[j] /= float64(src.n)
	}
	b.mean[v] = mean
	squares := make([]float64, src.n)
	for i := range squares {
		squares[i] = less(row, src.row(v, i, buf), mean)
	}
	b.square[v], b.longest[v] = squares, math.Sqrt(slices.Max(squares))
	words, bias := make([]int16, b.block*ld), make([]T, b.block)
	for lo := 0; lo < src.n; lo += b.block {
		hi := min(lo+b.block, src.n)
		for i := lo; i < hi; i++ {
			less(row, src.row(v, i, buf), mean)
			var lost float64
			b.step[v], lost = kernel.WordRow(row, b.longest[v], words[(i-lo)*ld:])
			b.lost[v] = max(b.lost[v], math.Sqrt(lost))
			bias[i-lo] = T(squares[i] - src.square[v][i]) // the bias of the space has the squares of the original rows
		}
		panel := kernel.WordPanel[T]{}
		kernel.PackWords(&panel, d, hi-lo, words, ld, bias)
		b.panels[v] = append(b.panels[v], panel)
	}
}

// less sets dst to x − mean and returns its squared norm.
func less[T Float](dst []float64, x []T, mean []float64) float64 {
	sum := 0.0
	for j, v := range x {
		dst[j] = float64(v) - mean[j]
		sum += dst[j] * dst[j]
	}
	return sum
}

// rounds reports whether the rounding error of queries like the base samples is small beside the distances to the base samples'
// last neighbours, in every space.
func (b *wordBase[T]) rounds(spaces []*plan[T], limits [][]limit) bool {
	for q, p := range spaces {
		tight := 0
		for j, l := range limits[q] {
			changed := 0.0
			for _, v := range p.product { // the error of a row grows with its norm
				changed += 4 * b.lost[v] * math.Sqrt(b.square[v][j])
			}
			if l.below*mostRounded < changed {
				tight++
			}
		}
		if float64(tight) > mostTight*float64(len(limits[q])) {
			return false
		}
	}
	return true
}

// inWords makes the search compute its products on the words in b.
func (s *search[T]) inWords(b *wordBase[T]) {
	s.words = b
	w, views := &s.asked, len(b.panels)
	w.rows, w.step = slices.Grow(w.rows[:0], views)[:views], slices.Grow(w.step[:0], views)[:views]
	w.square, w.lost = slices.Grow(w.square[:0], views)[:views], slices.Grow(w.lost[:0], views)[:views]
	for v, panels := range b.panels {
		if panels == nil {
			continue
		}
		n, d, ld := s.query.n, s.query.dims[v], wordsStride(s.query.dims[v])
		w.rows[v], w.step[v] = resized(w.rows[v], n*ld), resized(w.step[v], n)
		w.square[v], w.lost[v] = resized(w.square[v], n), resized(w.lost[v], n)
		buf, row := make([]T, d), make([]float64, d)
		for i := range n {
			square := less(row, s.query.row(v, i, buf), b.mean[v])
			words := w.rows[v][i*ld : (i+1)*ld]
			step, lost := kernel.WordRow(row, math.Sqrt(square), words)
			clear(words[d:])
			w.step[v][i], w.square[v][i], w.lost[v][i] = T(-2*step*b.step[v]), square, math.Sqrt(lost)
		}
	}
	for _, p := range s.spaces {
		s.setSlack(p)
	}
}

// own returns the difference between squared distances and scores of query i.
func (s *search[T]) own(p *plan[T], i int) float64 {
	if s.words == nil {
		return s.query.length(p.views, i)
	}
	sum := 0.0
	for _, v := range p.product {
		sum += s.asked.square[v][i]
	}
	return sum
}

// rounded bounds the error of a score of query i by rounding to words.
func (s *search[T]) rounded(p *plan[T], i int) float64 {
	if s.words == nil {
		return 0
	}
	sum := 0.0
	for _, v := range p.product {
		lost, norm := s.asked.lost[v][i], math.Sqrt(s.asked.square[v][i])
		longest := s.words.longest[v]
		sum += 2 * (1 + roundedNorms) * (lost*(longest+s.words.lost[v]) + norm*s.words.lost[v])
		sum += roundedSums * kernel.Epsilon[T]() * (norm + longest) * (norm + longest)
	}
	return sum
}

// multiplyWords is multiply in words.
func (s *search[T]) multiplyWords(from, to, lo int, w *scanSpace[T]) {
	for v, y := range w.y {
		if y != nil {
			ld := wordsStride(s.query.dims[v])
			kernel.MulWords(
				to-from, s.asked.rows[v][from*ld:], ld, &s.words.panels[v][lo/s.words.block], s.asked.step[v][from:], y, w.ld,
			)
		}
	}
}
