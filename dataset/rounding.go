package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// rounding finds the columns of a view whose values lie so close together, far from zero, that float32 rounds away much of what
// tells them apart: seconds since 1970, dates as numbers. A column is left alone at the first value that lies further from
// the one before than such a column has them, so that most cost two or three comparisons.
type rounding struct {
	first []float32 // of each column, as it is held
	state []columnState
	open  int // columns that may be rounded
	near  map[int]*nearColumn
}

// columnState is the state of the check of a column.
type columnState uint8

const (
	unseenColumn  columnState = iota
	exactColumn               // float32 holds its first value
	roundedColumn             // float32 rounds it
	wideColumn                // its values differ enough
)

// nearColumn is a column whose values differ by little.
type nearColumn struct{ least, most, err float64 }

// lossyColumn is a column that float32 does not hold well.
type lossyColumn struct {
	column int
	nearColumn
}

const (
	// lossyShare is the share of the range of a column from which on an error is said.
	lossyShare = 1e-3
	// nearShare: values that differ by a larger share of themselves are rounded by less, since float32 rounds by 2^-24.
	nearShare = 1.0 / 8000
	// mostNear bounds the columns that are looked at to the end.
	mostNear = 1 << 12
	// leastRange: of smaller values float32 holds fewer digits.
	leastRange = 1e-41
)

// roundingBytes is the memory for each column.
const roundingBytes = 6

func newRounding(cols int, lim *limits) (*rounding, error) {
	if err := lim.Take("what is noted of its columns", roundingBytes*int64(cols)); err != nil {
		return nil, err
	}
	return &rounding{first: make([]float32, cols), state: make([]columnState, cols), open: cols, near: map[int]*nearColumn{}}, nil
}

// rows takes in a run of elements that begins at element off of a matrix by rows.
func (r *rounding) rows(off int, raw []byte, kind elem.Kind) {
	j := off % len(r.first)
	for k := 0; k*kind.Size() < len(raw) && r.open > 0; k++ {
		if r.state[j] != wideColumn {
			r.add(j, elem.At(raw, k, kind))
		}
		if j++; j == len(r.first) {
			j = 0
		}
	}
}

// columns takes in a run of a matrix by columns of some rows.
func (r *rounding) columns(off int, raw []byte, kind elem.Kind, rows int) {
	n := len(raw) / kind.Size()
	for k := 0; k < n && r.open > 0; {
		j, end := (off+k)/rows, min(n, k+rows-(off+k)%rows)
		for ; k < end && r.state[j] != wideColumn; k++ {
			r.add(j, elem.At(raw, k, kind))
		}
		k = end
	}
}

// add takes in a value of a column that is not wide.
func (r *rounding) add(j int, x float64) {
	held := float64(float32(x))
	if held-held != 0 {
		return // no finite number, which is said elsewhere
	}
	if r.state[j] == unseenColumn {
		r.first[j], r.state[j] = float32(x), exactColumn
		switch {
		case x == 0: // any other value but the very least is wide then, and columns of zeros are many
			r.state[j] = wideColumn
			r.open--
		case held != x:
			r.state[j] = roundedColumn
		}
		return
	}
	first := float64(r.first[j])
	d := math.Abs(x - first)
	switch {
	case d == 0 && r.state[j] == exactColumn:
		return
	case d > nearShare*math.Abs(first) && d > leastRange:
		r.state[j] = wideColumn
		r.open--
		delete(r.near, j)
		return
	}
	c := r.near[j]
	if c == nil && len(r.near) == mostNear {
		r.state[j] = wideColumn // enough are named already
		r.open--
		return
	}
	if c == nil {
		c = &nearColumn{least: x, most: x}
		if r.state[j] == exactColumn {
			c.least, c.most = min(x, first), max(x, first)
		}
		r.near[j] = c
	}
	c.least, c.most, c.err = min(c.least, x), max(c.most, x), max(c.err, math.Abs(x-held))
}

// lossy are the columns that are rounded by more than a share of their range, in their order.
func (r *rounding) lossy() []lossyColumn {
	var out []lossyColumn
	for j, c := range r.near {
		if span := c.most - c.least; span > 0 && c.err > lossyShare*span {
			out = append(out, lossyColumn{j, *c})
		}
	}
	slices.SortFunc(out, func(a, b lossyColumn) int { return a.column - b.column })
	return out
}

// warnOfRounding adds the views with columns that float32 does not hold well.
func (p *plan) warnOfRounding(set *Set, bad []badValues) {
	for v := range bad {
		lossy := bad[v].lossy
		if len(lossy) == 0 {
			continue
		}
		c := lossy[0]
		name := fmt.Sprintf("column %d (from 0)", c.column)
		if f := set.Views[v].Features; f != nil {
			name = "column " + f[c.column]
		}
		and := ""
		if len(lossy) > 1 {
			and = fmt.Sprintf(" (%d columns are so)", len(lossy))
		}
		p.warnings = append(p.warnings, fmt.Sprintf("view %s: %s has values from %s to %s, which float32 rounds by up to %.3g, "+
			"more than a thousandth of what they differ by%s: subtract a common value from such columns before saving (the "+
			"least), turn dates into the time since a first one, or read them with Options.Float 64", set.Views[v].Name, name,
			digitsOf(c.least), digitsOf(c.most), c.err, and))
	}
}

// digitsOf writes a number with all its digits, large ones too.
func digitsOf(x float64) string {
	if a := math.Abs(x); a >= 1e-4 && a < 1e17 {
		return fmt.Sprintf("%.*f", decimals(x), x)
	}
	return fmt.Sprintf("%.17g", x)
}

// decimals is how many digits after the point a number needs, at most 9.
func decimals(x float64) int {
	for k, p := range powersOf10[:9] {
		if y := x * p; y == math.Trunc(y) {
			return k
		}
	}
	return 9
}
