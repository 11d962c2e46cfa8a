package neighbor

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/largemvc/largemvc/internal/kernel"
)

// The nearest landmarks of a sample have the lowest scores ‖c‖² − 2x·c. If rows lie in memory, a bound excludes most landmarks.
// The head of a row has its coordinates along some leading directions of a view's landmarks. The tail is the rest of the row:
//
//	‖c‖² − 2x·c ≥ ‖c‖² − 2x_head·c_head − 2‖x_tail‖‖c_tail‖,
//
// This bound is a product of few columns. If products of bytes are fast, they replace it, see bytes.go. The scores of the
// remaining landmarks are then computed one by one. So they have the same bits for any set of excluded landmarks and any
// directions.

const (
	// leastPruned is the number of landmarks from which excluding some of them saves time.
	leastPruned = 128
	// tailShare is the share of the landmarks' squared distances to their mean that the tails keep, and byteTailShare this share
	// with products of bytes.
	tailShare, byteTailShare = 0.06, 0.025
	// mostHead and mostByteHead bound the directions of a head. A few passes over the landmarks find them, because they need not
	// be exact.
	mostHead, mostByteHead, headPasses = 64, 112, 2
	// mostBounds is the share of all columns up to which bounds save time.
	mostBounds = 0.7
	// mostLeft is the mean share of the landmarks that the bounds may leave. Above it, products of all columns replace bounds for
	// the next blocks.
	mostLeft    = 0.2
	withoutHead = 64 // blocks
	// roundedTail is the rounding error of the square of a tail, relative to the square of the row.
	roundedTail = 1e-5
)

// head holds the leading directions of a view's rows.
type head[T Float] struct {
	basis   []T // orthonormal rows
	most    int // number of rows in basis
	columns int // number of rows in use
	panel   kernel.Panel[T]
}

// headSize returns the largest number of directions of a head and the share that the tails keep.
func headSize[T Float]() (directions int, share float64) {
	if kernel.Bytes[T]() {
		return mostByteHead, byteTailShare
	}
	return mostHead, tailShare
}

// newHead finds leading directions of the rows of c, of d columns, by subspace iteration.
func newHead[T Float](c []T, d int) *head[T] {
	count := len(c) / d
	most, _ := headSize[T]()
	h := &head[T]{most: min(most, d, count)}
	rng := rand.New(rand.NewPCG(landmarkStream, uint64(d)))
	wide := make([]float64, h.most*d)
	for i := range wide {
		wide[i] = rng.NormFloat64()
	}
	h.basis = make([]T, h.most*d)
	y := make([]T, count*kernel.Pad(h.most))
	for pass := 0; ; pass++ {
		orthonormal(wide, d)
		for i, x := range wide {
			h.basis[i] = T(x)
		}
		if pass == headPasses {
			return h
		}
		kernel.PackT(&h.panel, d, h.most, h.basis, d)
		kernel.Mul(count, c, d, &h.panel, y, kernel.Pad(h.most), false)
		clear(h.basis)
		kernel.TMulAdd(count, h.most, d, y, kernel.Pad(h.most), c, d, h.basis, d)
		for i, x := range h.basis {
			wide[i] = float64(x)
		}
	}
}

// orthonormal makes rows of d columns orthonormal, one after another. Rows that depend on others become zero.
func orthonormal(x []float64, d int) {
	for i := 0; i < len(x); i += d {
		row := x[i : i+d]
		before := kernel.SumSquares(row, 0)
		for range 2 { // the second time removes rounding errors
			for j := 0; j < i; j += d {
				other := x[j : j+d]
				floats.AddScaled(row, -floats.Dot(other, row), other)
			}
		}
		norm := kernel.SumSquares(row, 0)
		if norm <= 1e-20*before {
			clear(row)
			continue
		}
		floats.Scale(1/math.Sqrt(norm), row)
	}
}

// rows sets along to the heads of n rows with the given stride, and returns the stride of the heads.
func (h *head[T]) rows(n int, x []T, ldx int, along []T) int {
	ld := kernel.Pad(h.columns)
	if h.columns > 0 {
		kernel.Mul(n, x, ldx, &h.panel, along, ld, false)
	}
	return ld
}

// pack chooses the columns of the head for the rows of c, whose squared norms are given, and returns their coordinates, with the
// stride kernel.Pad of their largest number.
func (h *head[T]) pack(c []T, d int, squares []float64) []T {
	count, ld := len(c)/d, kernel.Pad(h.most)
	y := make([]T, count*ld)
	kernel.PackT(&h.panel, d, h.most, h.basis, d)
	kernel.Mul(count, c, d, &h.panel, y, ld, false)
	energy, left, mean := make([]float64, h.most), kernel.Sum(squares), make([]float64, d)
	for j := range count {
		for p, v := range y[j*ld : j*ld+h.most] {
			energy[p] += float64(v) * float64(v)
		}
	}
	for lo := 0; lo < len(c); lo += d {
		kernel.AddTo(mean, c[lo:lo+d])
	}
	_, share := headSize[T]()
	most := share * (left - kernel.SumSquares(mean, 0)/float64(count))
	for h.columns = 0; h.columns < h.most && left > most; h.columns++ {
		left -= energy[h.columns]
	}
	kernel.PackT(&h.panel, d, h.columns, h.basis, d)
	return y
}

// tail returns the norm, rounded up, of the tail of a row with the given square and head.
func tail[T Float](square float64, head []T) T {
	return T(math.Sqrt(max(square-kernel.SumSquares(head, 0), 0) + roundedTail*square))
}

// prunes reports whether bounds can exclude landmarks in a search for the `want` nearest.
func (m *landmarks[T]) prunes(want int) bool { return want <= kernel.Lanes && m.count >= leastPruned }

// packRows sets the rows of the landmarks for scores, (−2c, ‖c‖²) of each view, and the panel of their bounds, (−2c_head, ‖c‖²,
// −2‖c_tail‖) of each view.
func (m *landmarks[T]) packRows() {
	width, short := 0, 0
	coordinates := make([][]T, len(m.centroids))
	for q, d := range m.points.dims {
		if q == len(m.heads) {
			m.heads = append(m.heads, newHead(m.centroids[q], d))
		}
		coordinates[q] = m.heads[q].pack(m.centroids[q], d, m.points.square[q])
		width, short = width+d+1, short+m.heads[q].columns+2
	}
	m.short = kernel.Bytes[T]() || float64(short) <= mostBounds*float64(width)
	m.width = (width + kernel.DotUnit - 1) / kernel.DotUnit * kernel.DotUnit
	if len(m.rows) != m.count*m.width {
		m.rows = make([]T, m.count*m.width)
	}
	buf := takeRows[T](m.count * short)
	defer giveRows(buf)
	bounds := (*buf)[:0]
	for j := range m.count {
		row := m.rows[j*m.width : (j+1)*m.width]
		for q, c := range m.centroids {
			d, h := m.points.dims[q], m.heads[q]
			for p, v := range c[j*d : (j+1)*d] {
				row[p] = -2 * v
			}
			row[d] = m.bias[q][j]
			row = row[d+1:]
			along := coordinates[q][j*kernel.Pad(h.most):][:h.columns]
			for _, v := range along {
				bounds = append(bounds, -2*v)
			}
			bounds = append(bounds, m.bias[q][j], -2*tail(m.points.square[q][j], along))
		}
	}
	if m.bounds == nil {
		m.bounds = new(kernel.Panel[T])
	}
	kernel.PackT(m.bounds, short, m.count, bounds, short)
	m.packBytes(coordinates)
}

// gatherRows sets w.rows to the rows (x, 1) of the samples from lo to hi for scores, or (0, 0) if a view is absent. With heads,
// it also sets w.short to the rows for bounds.
func (m *landmarks[T]) gatherRows(src *source[T], lo, hi int, heads bool, w *landmarkSpace[T]) {
	short, _ := m.bounds.Dims()
	at, to := 0, 0
	clear(w.over[:hi-lo])
	for q, v := range m.space.Views {
		d, h := m.points.dims[q], m.heads[q]
		for i := lo; i < hi; i++ {
			row := w.rows[(i-lo)*m.width+at:][:d+1]
			if src.present(v, i) {
				copy(row, src.row(v, i, nil))
				row[d] = 1
			} else {
				clear(row)
			}
		}
		if heads {
			ld := h.rows(hi-lo, w.rows[at:], m.width, w.along)
			for i := lo; i < hi; i++ {
				own := w.short[(i-lo)*short+to:][:h.columns+2]
				copy(own, w.along[(i-lo)*ld:][:h.columns])
				own[h.columns], own[h.columns+1] = w.rows[(i-lo)*m.width+at+d], tail(src.square[v][i], own[:h.columns])
			}
		}
		at, to = at+d+1, to+h.columns+2
	}
}

// bound sets w.y[0] to scores of the samples from lo to hi, or to lower bounds of them.
func (m *landmarks[T]) bound(src *source[T], lo, hi int, w *landmarkSpace[T]) {
	heads := m.short && w.skip == 0
	w.skip = max(w.skip-1, 0)
	bytes := heads && m.bytes != nil && !src.incomplete(m.space.Views)
	m.gatherRows(src, lo, hi, heads && !bytes, w)
	if bytes {
		m.boundBytes(src, lo, hi, w)
		return
	}
	if !heads {
		kernel.Mul(hi-lo, w.rows, m.width, m.wholePanel(), w.y[0], Stride(m.count), false)
		return
	}
	short, _ := m.bounds.Dims()
	kernel.Mul(hi-lo, w.short, short, m.bounds, w.y[0], Stride(m.count), false)
}

// wholePanel returns the rows of all landmarks as a panel.
func (m *landmarks[T]) wholePanel() *kernel.Panel[T] {
	m.whole.once.Do(func() { kernel.PackT(&m.whole.panel, m.width, m.count, m.rows, m.width) })
	return &m.whole.panel
}

// lowestOf returns the landmarks of the lowest scores for sample i, the q-th of a block whose scores or bounds are in w.y[0], in
// increasing order; of equal scores the lower number is first. It returns the first `want`, and up to `most` with others that are
// as low within rounding.
func (m *landmarks[T]) lowestOf(src *source[T], i, q, want, most int, w *landmarkSpace[T]) []found {
	scores := w.y[0][q*Stride(m.count):][:m.count]
	row := w.rows[q*m.width : (q+1)*m.width]
	var low [kernel.Lanes]T
	kernel.LaneMinima(scores, &low)
	left := kernel.Below(scores, smallest(&low, want), w.list)
	m.take(row, left, most, w)
	// A landmark with a lower score has a lower bound, within rounding.
	slack := 4 * noise[T](m.width, math.Sqrt(src.length(m.space.Views, i)), m.longest)
	over := slack + w.over[q]
	others := w.others[:kernel.Below(scores, T(w.near[want-1].square+over), w.others)]
	w.left += len(others)
	m.takeMore(row, scores, w.list[:left], others, want, most, over, w)
	for last := w.near[want-1].square + slack; w.near[len(w.near)-1].square > last; {
		w.near = w.near[:len(w.near)-1]
	}
	return w.near
}

// smallest returns the k-th smallest of some values, k from 1. It changes their order.
func smallest[T Float](x *[kernel.Lanes]T, k int) T {
	for i, v := range x { // The first k are the smallest so far, in order.
		if i >= k && !(v < x[k-1]) {
			continue
		}
		at := min(i, k-1)
		for ; at > 0 && v < x[at-1]; at-- {
			x[at] = x[at-1]
		}
		x[at] = v
	}
	return x[k-1]
}

// take sets w.near to the lowest scores, at most `keep`, of the first landmarks of w.list for a sample's row.
func (m *landmarks[T]) take(row []T, left, keep int, w *landmarkSpace[T]) {
	kernel.DotRows(row, m.rows, w.list[:left], w.scores)
	w.near = lowest(w.scores[:left], keep, w.near[:0])
	for r := range w.near {
		w.near[r].index = w.list[w.near[r].index]
	}
}

// takeMore adds landmarks that may be among the lowest, by the given bounds, except those that were taken already. Each one found
// excludes later ones, whose bounds exceed the last of the nearest by more than over.
func (m *landmarks[T]) takeMore(row, bounds []T, taken, others []int32, want, most int, over float64, w *landmarkSpace[T]) {
	const together = 8
	var next [together]int32
	var scores [together]T
	for len(others) > 0 {
		count, bound := 0, T(w.near[want-1].square+over)
		for len(others) > 0 && count < together {
			r := others[0]
			others = others[1:]
			for len(taken) > 0 && taken[0] < r {
				taken = taken[1:]
			}
			if bounds[r] <= bound && (len(taken) == 0 || taken[0] != r) {
				next[count] = r
				count++
			}
		}
		kernel.DotRows(row, m.rows, next[:count], scores[:count])
		for q, r := range next[:count] {
			f := found{r, float64(scores[q])}
			at := len(w.near)
			for at > 0 && byDistance(f, w.near[at-1]) < 0 {
				at--
			}
			if at == most {
				continue
			}
			if len(w.near) < most {
				w.near = append(w.near, f)
			}
			copy(w.near[at+1:], w.near[at:])
			w.near[at] = f
		}
	}
}

// after decides how the next blocks are bounded, after a block of some samples.
func (m *landmarks[T]) after(samples int, w *landmarkSpace[T]) {
	if w.skip == 0 && float64(w.left) > mostLeft*float64(samples*m.count) {
		w.skip = withoutHead
	}
	w.left = 0
}
