package neighbor

import (
	"math"

	"github.com/largemvc/largemvc/internal/kernel"
)

// Bounds of scores by products of bytes. A row is the heads of all views of a space, each followed by its tail. Its product with
// the row of a landmark is at least the product of the original rows. The mean of the landmarks' heads, μ, is subtracted from
// both heads, which shortens them:
//
//	x·c = (x − μ)·(c − μ) + μ·c + x·μ − ‖μ‖²,
//
// The second term depends on the landmark only and is part of its bias. The last two depend on the sample only. The remaining
// rows are rounded to steps, x' of x and c' of c. The bound of the sample includes the error of this rounding:
//
//	|x·c − x'·c'| ≤ ‖x − x'‖‖c'‖ + ‖x‖‖c − c'‖.

// roundedBytes is the relative error of the norms in that bound.
const roundedBytes = 1e-3

// byteBounds holds the landmarks of a space for the bounds.
type byteBounds[T Float] struct {
	panel   kernel.BytePanel[T]
	columns int     // of a row, a multiple of kernel.ByteUnit
	means   [][]T   // of each view, the mean head
	square  float64 // ‖μ‖², of all views
	step    float64 // of the landmarks' bytes
	lost    float64 // the largest ‖c − c'‖
	longest float64 // the largest ‖c'‖
}

// packBytes sets m.bytes from the landmarks' coordinates in the heads of each view, if bounds by bytes are fast.
func (m *landmarks[T]) packBytes(coordinates [][]T) {
	m.bytes = nil
	if !m.short || !kernel.Bytes[T]() {
		return
	}
	b := &byteBounds[T]{means: make([][]T, len(m.heads))}
	for _, h := range m.heads {
		b.columns += h.columns + 1
	}
	short := b.columns
	b.columns = (b.columns + kernel.ByteUnit - 1) / kernel.ByteUnit * kernel.ByteUnit
	buf := takeRows[T](m.count * b.columns)
	defer giveRows(buf)
	bias, rows, to := make([]T, m.count), *buf, 0
	clear(rows)
	for q, h := range m.heads {
		ld, sums := kernel.Pad(h.most), make([]float64, h.columns)
		for j := range m.count {
			kernel.AddTo(sums, coordinates[q][j*ld:][:h.columns])
		}
		mean := make([]T, h.columns)
		for p, s := range sums {
			mean[p] = T(s / float64(m.count))
		}
		b.means[q] = mean
		b.square += kernel.SumSquares(mean, 0)
		for j := range m.count {
			along, dot := coordinates[q][j*ld:][:h.columns], 0.0
			row := rows[j*b.columns+to:][:h.columns+1]
			for p, v := range along {
				row[p] = v - mean[p]
				dot += float64(v) * float64(mean[p])
			}
			row[h.columns] = tail(m.points.square[q][j], along)
			bias[j] += m.bias[q][j] - T(2*dot)
		}
		to += h.columns + 1
	}
	most := T(0)
	for _, v := range rows {
		most = max(most, v, -v)
	}
	bytes := make([]uint8, len(rows))
	b.step = b.round(rows, float64(most), bytes)
	kernel.PackBytes(&b.panel, short, m.count, bytes, b.columns, bias)
	m.bytes = b
}

// round writes the rows to bytes, in steps of 1/127 of the largest value, as kernel.ByteRow does, and returns the step.
func (b *byteBounds[T]) round(rows []T, most float64, bytes []uint8) (step float64) {
	const zero, steps = 128, 127
	step = most / steps
	for lo := 0; lo < len(rows); lo += b.columns {
		lost, square := 0.0, 0.0
		for p, v := range rows[lo : lo+b.columns] {
			q := 0.0
			if most > 0 {
				q = math.RoundToEven(float64(v) / step)
			}
			bytes[lo+p] = uint8(zero + int(q))
			lost, square = lost+(float64(v)-q*step)*(float64(v)-q*step), square+q*step*q*step
		}
		b.lost, b.longest = max(b.lost, math.Sqrt(lost)), max(b.longest, math.Sqrt(square))
	}
	return step
}

// boundBytes sets w.y[0] to lower bounds of the scores of the samples from lo to hi, whose rows are in w.rows. The bounds hold
// after w.over is added to the values that they are compared with.
func (m *landmarks[T]) boundBytes(src *source[T], lo, hi int, w *landmarkSpace[T]) {
	b, at, to := m.bytes, 0, 0
	for q, v := range m.space.Views {
		d, h, mean := m.points.dims[q], m.heads[q], b.means[q]
		ld := h.rows(hi-lo, w.rows[at:], m.width, w.along)
		for i := lo; i < hi; i++ {
			along, dot := w.along[(i-lo)*ld:][:h.columns], T(0)
			own := w.short[(i-lo)*b.columns+to:][:h.columns+1]
			own[h.columns] = tail(src.square[v][i], along)
			mean := mean[:len(along)]
			for p, x := range along {
				own[p] = x - mean[p]
				dot += x * mean[p]
			}
			w.over[i-lo] += 2 * float64(dot)
		}
		at, to = at+d+1, to+h.columns+1
	}
	for q := range hi - lo {
		row := w.short[q*b.columns:][:b.columns]
		clear(row[to:])
		step, square, lost := kernel.ByteRow(row, w.bytes[q*b.columns:])
		w.step[q] = T(-2 * float64(step) * b.step)
		w.over[q] += 2*(1+roundedBytes)*(math.Sqrt(lost)*b.longest+math.Sqrt(square)*b.lost) - 2*b.square
	}
	kernel.MulBytes(hi-lo, w.bytes, b.columns, &b.panel, w.step, w.y[0], Stride(m.count))
}
