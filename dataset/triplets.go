package dataset

import (
	"math"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// readTriplets reads views that are lists of (row, column, value). The number of samples is that of the labels, or the
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
		most := 0
		for k := 0; k < len(x); k += 3 {
			for j, a := range x[k : k+2] {
				if a != math.Trunc(a) || a < 0 || a >= math.MaxInt32 {
					return nil, v.errorf("has %g in row %d, column %d; rows and columns of triplets are whole numbers", a, k/3, j)
				}
				least = min(least, int(a))
			}
			most, top[i] = max(most, int(x[k])), max(top[i], int(x[k+1]))
		}
		if p.n == 0 {
			n = max(n, most)
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
		b, err := newBuilder[T](&variable{kind: sparse}, n, top[i], false, o.storage(), p.lim)
		if err != nil {
			return nil, v.wrap(err)
		}
		for k := 0; k < len(lists[i]); k += 3 {
			r, c, x := int(lists[i][k])-least, int(lists[i][k+1])-least, T(lists[i][k+2])
			if r >= n {
				return nil, v.errorf("names row %d for %d samples", r+least, n)
			}
			if x-x != 0 {
				if err := b.bad.note(p.lim, n, r, c, float64(x)); err != nil {
					return nil, v.wrap(err)
				}
			}
			if x != 0 {
				if err := b.put(r, c, x); err != nil {
					return nil, v.wrap(err)
				}
			}
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
