package dataset

import (
	"fmt"
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// readTriplets reads views that are lists of (row, column, value). The number of samples is the number of the labels, or the
// largest row of all views; the number of features of a view is its largest column.
func readTriplets[T elem.Float](p *plan, set *Set, o *Options) ([]badValues, error) {
	lists := make([][]float64, len(p.views))
	n, least := p.n, 1
	top := make([]int, len(p.views)) // largest column
	for i, v := range p.views {
		x, err := readMatrix(v, p.lim)
		if err != nil {
			return nil, err
		}
		lists[i] = x
		low, row, col, err := indexRange(v, x)
		if err != nil {
			return nil, err
		}
		least, top[i] = min(least, low), col
		if p.n == 0 {
			n = max(n, row)
		}
	}
	if least == 0 {
		for i := range top {
			top[i]++
		}
		if p.n == 0 {
			n++
		}
	}
	if !p.lim.Backed(8 * int64(n)) {
		return nil, p.views[0].errorf("names row %d in a file of %s", n, size(p.lim.Files()))
	}
	bad := make([]badValues, len(p.views))
	for i, v := range p.views {
		b, err := newBuilder[T](&variable{kind: sparse}, n, top[i], false, o, p.lim)
		if err != nil {
			return nil, v.wrap(err)
		}
		if err := b.putTriplets(lists[i], least); err != nil {
			return nil, v.wrap(err)
		}
		p.lim.Give(8 * int64(len(lists[i])))
		lists[i] = nil
		if set.Views[i], err = b.view(v.name); err != nil {
			return nil, v.wrap(err)
		}
		bad[i] = b.bad
	}
	return bad, nil
}

// indexRange returns the smallest index of a list of triplets, its largest row and its largest column.
func indexRange(v *variable, x []float64) (least, row, col int, err error) {
	least = 1
	for k := 0; k < len(x); k += 3 {
		for j, a := range x[k : k+2] {
			if a != math.Trunc(a) || a < 0 || a >= math.MaxInt32 {
				return 0, 0, 0, v.errorf("has %g in row %d, column %d; rows and columns of triplets are whole numbers", a, k/3, j)
			}
			least = min(least, int(a))
		}
		row, col = max(row, int(x[k])), max(col, int(x[k+1]))
	}
	return least, row, col, nil
}

// putTriplets puts a list of triplets, whose rows and columns count from least, into the view.
func (b *builder[T]) putTriplets(list []float64, least int) error {
	for k := 0; k < len(list); k += 3 {
		r, c, x := int(list[k])-least, int(list[k+1])-least, T(list[k+2])
		if r >= b.rows {
			return fmt.Errorf("names row %d for %d samples", r+least, b.rows)
		}
		if x-x != 0 {
			if err := b.bad.note(b.lim, b.rows, r, c, float64(x)); err != nil {
				return err
			}
		}
		if x != 0 {
			if err := b.put(r, c, x); err != nil {
				return err
			}
		}
	}
	return nil
}
