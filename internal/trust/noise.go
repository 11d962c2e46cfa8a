package trust

import (
	"math"
	"slices"

	"github.com/largemvc/largemvc/internal/kernel"
)

const (
	// markedNeighbor is the neighbour whose distance is a mark.
	markedNeighbor = 4
	// mostDeviations bounds what a single value, or a single mark, can say against a row.
	mostDeviations, mostMark = 20, 6
	// usualOddness is the number of deviations up to which a row is like the others of its view.
	usualOddness = 3
	// mostOddness bounds the logarithm of how much less likely a row is to be one of its view.
	mostOddness = 40
	// deviation is that of a normal distribution, as a multiple of the median of absolute values.
	deviation = 1.4826
)

// look knows what the rows of a view are like, whatever the other views say. A row of noise differs in one or another of its
// marks: its distance to other rows, and in each input its product with the mean row, the share of its length in the last
// directions, how unevenly it is spread over them, and how far its values are from the usual. A median and the median distance
// to it, which a part of bad rows does not move far, say what is usual.
type look struct {
	parts          []int
	mean           []float64
	middle, around []float64 // of each column
	mark, spread   []float64 // of each mark
	sum, width     float64   // of the sum of their squares
}

// newLook measures the columns of view v.
func newLook[T kernel.Float](known *Rows[T], v int) look {
	d := known.Dims[v]
	l := look{parts: known.Parts[v], mean: make([]float64, d), middle: make([]float64, d), around: make([]float64, d)}
	column := make([]float64, 0, known.Len())
	for c := range d {
		column = column[:0]
		for i := range known.Len() {
			if known.has(v, i) {
				x := float64(known.row(v, i)[c])
				column = append(column, x)
				l.mean[c] += x
			}
		}
		l.mean[c] /= float64(max(len(column), 1))
		l.middle[c], l.around[c] = usual(column)
	}
	return l
}

// usual returns the median of values and their deviation by the median distance to it. It changes their order.
func usual(x []float64) (middle, deviations float64) {
	if len(x) == 0 {
		return 0, 1
	}
	slices.Sort(x)
	middle = x[len(x)/2]
	for i, e := range x {
		x[i] = math.Abs(e - middle)
	}
	slices.Sort(x)
	return middle, deviation*x[len(x)/2] + 1e-6*math.Abs(middle) + 1e-12
}

// marksOf returns those of a row at the given squared distance to its neighbour.
func marksOf[T kernel.Float](l *look, row []T, distance float64) []float64 {
	out := []float64{math.Log(distance + 1e-9)}
	at := 0
	for _, columns := range l.parts {
		product, square, tail, fourth, far := 0.0, 0.0, 0.0, 0.0, 0.0
		for c := at; c < at+columns; c++ {
			x := float64(row[c])
			product += x * l.mean[c]
			square += x * x
			if c >= at+columns/2 {
				tail += x * x
			}
			y := x - l.mean[c]
			fourth += y * y * y * y
			far += min(math.Abs(x-l.middle[c])/l.around[c], mostDeviations)
		}
		at += columns
		square += 1e-12
		out = append(out, product, tail/square, math.Log(fourth/(square*square)+1e-12), far)
	}
	return out
}

// learn takes what is usual of the marks from the samples.
func (l *look) learn(marks [][]float64) {
	if len(marks) == 0 {
		return
	}
	column := make([]float64, len(marks))
	for c := range marks[0] {
		for i, m := range marks {
			column[i] = m[c]
		}
		middle, spread := usual(column)
		l.mark, l.spread = append(l.mark, middle), append(l.spread, spread)
	}
	for i, m := range marks {
		column[i] = l.deviations(m)
	}
	l.sum, l.width = usual(column)
}

// deviations returns the sum of the squares of the marks as multiples of what is usual.
func (l *look) deviations(marks []float64) float64 {
	sum := 0.0
	for c, x := range marks {
		d := min(math.Abs(x-l.mark[c])/l.spread[c], mostMark)
		sum += d * d
	}
	return sum
}

// oddness returns a logarithm of how much less likely a row with the marks is to be one of the view than others are; 0 for
// usual rows.
func (l *look) oddness(marks []float64) float64 {
	return min(max((l.deviations(marks)-l.sum)/l.width-usualOddness, 0), mostOddness)
}
