// Package suspect has the rules by which reading and fitting find views that mislead: one column that decides alone, and a view
// that says what another says.
package suspect

import (
	"errors"
	"math"
	"slices"
)

// WildScale is how many times the median standard deviation of its columns a column of a view must have to decide alone, in a
// view with at least MostlyFilled of its entries not zero: counts of words are sparse, and differ in scale by nature.
const (
	WildScale    = 100
	MostlyFilled = 0.5
)

// ErrNaN is within the errors for a value that is missing, which a reader with another option fills.
var ErrNaN = errors.New("NaN")

// How sentences on views with the same values end: of a fit, and of the reading.
const (
	CountsTwice = "what they say counts twice"
	GivenTwice  = "is one file given twice?"
)

// Scales returns the median and the largest of the standard deviations of columns, which it sorts; 0 of none.
func Scales(deviations []float64) (median, largest float64) {
	if len(deviations) == 0 {
		return 0, 0
	}
	slices.Sort(deviations)
	return deviations[(len(deviations)-1)/2], deviations[len(deviations)-1]
}

// Dominated says whether a column of a view decides alone, unless columns are brought to one scale. fill is the share of its
// entries that are not zero.
func Dominated(median, largest, fill float64) bool {
	return fill >= MostlyFilled && largest > WildScale*median
}

// Rows are those of a view.
type Rows interface {
	Has(i int) bool
	Row(i int, dst []float64)
}

// rounding is how far a value may be from a factor times another, relative to it, by rounding to float32.
const rounding = 0x1p-21

// Comparer compares views; it keeps memory for two rows.
type Comparer struct{ x, y []float64 }

// Twin returns the number by which the given rows of a are multiplied in b, two views with cols columns; ok is false where there
// is no such number, or the rows are in one of the views only.
func (c *Comparer) Twin(a, b Rows, cols int, rows []int) (factor float64, ok bool) {
	for _, i := range rows {
		if a.Has(i) != b.Has(i) {
			return 0, false
		}
		if !a.Has(i) {
			continue
		}
		c.x, c.y = slices.Grow(c.x[:0], cols), slices.Grow(c.y[:0], cols)
		x, y := c.x[:cols], c.y[:cols]
		a.Row(i, x)
		b.Row(i, y)
		for j, value := range x {
			if factor == 0 && value != 0 && y[j] != 0 {
				factor = y[j] / value
			}
			want := factor * value
			if math.IsInf(want, 0) || !(math.Abs(y[j]-want) <= rounding*math.Abs(want)) {
				return 0, false
			}
		}
	}
	if math.Abs(factor-1) <= rounding {
		factor = 1
	}
	return factor, factor != 0
}
