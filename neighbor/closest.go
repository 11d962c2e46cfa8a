package neighbor

import (
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
)

// The nearest landmarks of a sample are those of the lowest scores ‖c‖² − 2x·c. Where rows lie in memory, most landmarks are
// passed over by a bound: with the first columns of a view, the head, and the others, the tail,
//
//	‖c‖² − 2x·c ≥ ‖c‖² − 2x_head·c_head − 2‖x_tail‖‖c_tail‖,
//
// which is a product of fewer columns. In directions of decreasing singular values, in which the inputs of a network come where
// views are wide, short heads hold nearly all that tells landmarks apart. The scores themselves are then taken of the landmarks that are left,
// each by itself, so that they have the same bits whatever was passed over.

const (
	// leastPruned is the number of landmarks from which passing over some of them pays.
	leastPruned = 128
	// tailShare is the share of the landmarks' squares that is left to the tails, headUnit what the columns of a head are a
	// multiple of.
	tailShare, headUnit = 0.06, 8
	// mostBounds is the share of all columns up to which bounds pay.
	mostBounds = 0.7
	// mostLeft is the share of the landmarks that may be left on average: else bounds are dear, and for the next blocks
	// products of all columns take their place.
	mostLeft    = 0.2
	withoutHead = 64 // blocks
)

// prunes reports whether the search for so many nearest landmarks can pass over the others.
func (m *landmarks[T]) prunes(keep int) bool { return keep <= kernel.Lanes && m.count >= leastPruned }

// headOf returns the number of columns of the head of a view whose landmarks are the rows of c, of d columns.
func headOf[T Float](c []T, d int) int {
	squares, total := make([]float64, d), 0.0
	for lo := 0; lo < len(c); lo += d {
		for p, v := range c[lo : lo+d] {
			squares[p] += float64(v) * float64(v)
		}
	}
	for _, q := range squares {
		total += q
	}
	tail, h := 0.0, d
	for h > 0 && tail+squares[h-1] <= tailShare*total {
		h--
		tail += squares[h]
	}
	return min((h+headUnit-1)/headUnit*headUnit, d)
}

// packRows sets the rows of the landmarks as scores are taken of them, (−2c, ‖c‖²) of each view, and the panel of their
// bounds, (−2c_head, ‖c‖², −2‖c_tail‖) of each view.
func (m *landmarks[T]) packRows() {
	width, short := 0, 0
	m.heads = m.heads[:0]
	for q, d := range m.points.dims {
		h := headOf(m.centroids[q], d)
		m.heads = append(m.heads, h)
		width, short = width+d+1, short+h+2
	}
	m.short = float64(short) <= mostBounds*float64(width)
	m.width = (width + kernel.DotUnit - 1) / kernel.DotUnit * kernel.DotUnit
	if len(m.rows) != m.count*m.width {
		m.rows = make([]T, m.count*m.width)
	}
	bounds := make([]T, 0, m.count*short)
	for j := range m.count {
		row := m.rows[j*m.width : (j+1)*m.width]
		for q, c := range m.centroids {
			d, h := m.points.dims[q], m.heads[q]
			for p, v := range c[j*d : (j+1)*d] {
				row[p] = -2 * v
			}
			row[d] = m.bias[q][j]
			bounds = append(bounds, row[:h]...)
			bounds = append(bounds, row[d], -2*tailNorm(c[j*d+h:(j+1)*d]))
			row = row[d+1:]
		}
	}
	if m.bounds == nil {
		m.bounds = new(kernel.Panel[T])
	}
	kernel.PackT(m.bounds, short, m.count, bounds, short)
}

// tailNorm is the norm of x, rounded up.
func tailNorm[T Float](x []T) T {
	if len(x) == 0 {
		return 0
	}
	return T(math.Sqrt(kernel.SumSquares(x, 0)) * (1 + 4*kernel.Epsilon[T]()))
}

// gatherRows sets w.rows to the rows (x, 1) of the samples from lo to hi, or (0, 0) where a view is absent, as scores want
// them, and w.short to those that bounds want.
func (m *landmarks[T]) gatherRows(src *source[T], lo, hi int, w *landmarkSpace[T]) {
	short, _ := m.bounds.Dims()
	for i := lo; i < hi; i++ {
		row, head := w.rows[(i-lo)*m.width:(i-lo+1)*m.width], w.short[(i-lo)*short:(i-lo+1)*short]
		for q, v := range m.space.Views {
			d, h := m.points.dims[q], m.heads[q]
			if src.present(v, i) {
				copy(row, src.row(v, i, nil))
				row[d] = 1
				copy(head, row[:h])
				head[h], head[h+1] = 1, tailNorm(row[h:d])
			} else {
				clear(row[:d+1])
				clear(head[:h+2])
			}
			row, head = row[d+1:], head[h+2:]
		}
	}
}

// bound sets w.y[0] to scores of the samples from lo to hi whose rows were gathered, or to lower bounds of them.
func (m *landmarks[T]) bound(lo, hi int, w *landmarkSpace[T]) {
	ld := Stride(m.count)
	if w.skip > 0 || !m.short {
		w.skip = max(w.skip-1, 0)
		kernel.Mul(hi-lo, w.rows, m.width, m.wholePanel(), w.y[0], ld, false)
		return
	}
	short, _ := m.bounds.Dims()
	kernel.Mul(hi-lo, w.short, short, m.bounds, w.y[0], ld, false)
}

// wholePanel returns the rows of all landmarks as a panel.
func (m *landmarks[T]) wholePanel() *kernel.Panel[T] {
	m.whole.once.Do(func() { kernel.PackT(&m.whole.panel, m.width, m.count, m.rows, m.width) })
	return &m.whole.panel
}

// lowestOf returns the `keep` landmarks of the lowest scores for sample i, the q-th of a block whose scores or bounds are
// in w.y[0], in increasing order, the lower number first of equal ones.
func (m *landmarks[T]) lowestOf(src *source[T], i, q, keep int, w *landmarkSpace[T]) []found {
	scores := w.y[0][q*Stride(m.count):][:m.count]
	row := w.rows[q*m.width : (q+1)*m.width]
	var low [kernel.Lanes]T
	kernel.LaneMinima(scores, &low)
	slices.Sort(low[:])
	left := kernel.Below(scores, low[keep-1], w.list)
	w.near = m.take(row, left, keep, w)
	// Whatever is lower than the last of these has a bound that is lower, but for rounding.
	slack := 4 * noise[T](m.width, math.Sqrt(src.length(m.space.Views, i)), m.longest)
	left = kernel.Below(scores, T(w.near[keep-1].square+slack), w.list)
	w.left += left
	w.near = m.take(row, left, keep, w)
	return w.near
}

// take returns the lowest scores of the first landmarks of w.list for a sample's row.
func (m *landmarks[T]) take(row []T, left, keep int, w *landmarkSpace[T]) []found {
	kernel.DotRows(row, m.rows, w.list[:left], w.scores)
	near := lowest(w.scores[:left], keep, w.near[:0])
	for r := range near {
		near[r].index = w.list[near[r].index]
	}
	return near
}

// after decides how the next blocks are bounded, after one of some samples.
func (m *landmarks[T]) after(samples int, w *landmarkSpace[T]) {
	if w.skip == 0 && float64(w.left) > mostLeft*float64(samples*m.count) {
		w.skip = withoutHead
	}
	w.left = 0
}
