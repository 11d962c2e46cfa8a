package dataset

import (
	"fmt"
	"math"
	"slices"
)

// newMask is an n×V mask of one memory block, all true.
func newMask(n, views int) [][]bool {
	all := slices.Repeat([]bool{true}, n*views)
	mask := make([][]bool, n)
	for i := range mask {
		mask[i] = all[i*views : (i+1)*views : (i+1)*views]
	}
	return mask
}

// readIndex turns the lists of the samples present in each view, numbered from 1, into a mask.
func readIndex(index []*variable, n int, lim *limits) ([][]bool, error) {
	mask := newMask(n, len(index))
	for v, list := range index {
		x, err := wholeNumbers(list, lim)
		if err != nil {
			return nil, err
		}
		for i := range mask {
			mask[i][v] = false
		}
		for _, k := range x {
			if k < 1 || k > n {
				return nil, list.errorf("names sample %d; samples are numbered from 1 to %d", k, n)
			}
			if mask[k-1][v] {
				return nil, list.errorf("names sample %d twice", k)
			}
			mask[k-1][v] = true
		}
	}
	return mask, nil
}

// readMask turns an n×V matrix of zeros and ones into a mask.
func readMask(v *variable, n, views int, lim *limits) ([][]bool, error) {
	rows, cols, ok := v.shape2()
	if !ok || v.kind != numeric || rows != n || cols != views {
		return nil, v.errorf("is %s; a mask for %d samples and %d views is %d×%d", v.shapeString(), n, views, n, views)
	}
	x, err := readMatrix(v, lim)
	if err != nil {
		return nil, err
	}
	mask := newMask(n, views)
	for k, value := range x {
		if value != 0 && value != 1 {
			return nil, v.errorf("has %g for sample %d and view %d; a mask holds 0 and 1", value, k/views, k%views)
		}
		mask[k/views][k%views] = value == 1
	}
	return mask, nil
}

// resolve decides which rows are absent, clears them, and refuses every other NaN or infinity. Absent are the rows of the
// mask, and rows that are wholly NaN where the options or an index say so.
func (r *rawSet) resolve(o *Options) error {
	mask := r.mask
	for v := range r.set.Views {
		view, b := &r.set.Views[v], &r.bad[v]
		if b.hasInf && !o.AllowNaN && (r.mask == nil || r.mask[b.infR][v]) {
			return r.vars[v].errorf("is infinite in row %d, column %d (samples by features, from 0)%s", b.infR, b.infC, rounded(view))
		}
		for i, count := range b.nan {
			switch {
			case count == 0, r.mask != nil && !r.mask[i][v]:
			case int(count) == view.Cols && r.fromIndex:
				return r.vars[v].errorf("has only NaN in row %d (from 0), but index names that sample as present", i)
			case int(count) == view.Cols && o.MissingRows:
				if mask == nil {
					mask = newMask(view.Rows, len(r.set.Views))
				}
				mask[i][v] = false
			case !o.AllowNaN:
				return nanError(r.vars[v], view, i, int(count))
			}
		}
	}
	if mask == nil {
		return nil
	}
	return r.apply(mask)
}

func rounded(v *View) string {
	if v.Float32 != nil || (v.Sparse != nil && v.Sparse.Float32 != nil) {
		return "; as float32, which ends at 3.4e38"
	}
	return ""
}

func nanError(src *variable, view *View, row, count int) error {
	if count == view.Cols {
		return src.errorf("has only NaN in row %d (from 0); if such rows are absent views, set Options.MissingRows", row)
	}
	col := -1
	view.entries(row, func(j int, x float64) {
		if col < 0 && math.IsNaN(x) {
			col = j
		}
	})
	return src.errorf("has NaN in row %d, column %d (samples by features, from 0); only rows that are wholly NaN can be absent views", row, col)
}

// apply sets absent rows to zero. A row that an index calls absent must hold nothing.
func (r *rawSet) apply(mask [][]bool) error {
	absent := 0
	for i, row := range mask {
		if !slices.Contains(row, true) {
			return fmt.Errorf("dataset: %s: sample %d (from 0) lacks every view", r.vars[0].file, i)
		}
		for _, p := range row {
			if !p {
				absent++
			}
		}
	}
	if absent == 0 {
		return nil
	}
	for v := range r.set.Views {
		if !r.fromIndex {
			break
		}
		if i := contradiction(&r.set.Views[v], mask, v); i >= 0 {
			return r.vars[v].errorf("has values in row %d (from 0), but index does not name that sample as present", i)
		}
	}
	for v := range r.set.Views {
		r.set.Views[v].clearRows(func(i int) bool { return !mask[i][v] })
	}
	r.set.Present = mask
	return nil
}

// clearRows sets the rows that absent names to zero.
func (v *View) clearRows(absent func(i int) bool) {
	if v.Sparse != nil {
		v.Sparse.dropRows(absent)
		return
	}
	for i := range v.Rows {
		if !absent(i) {
			continue
		}
		if v.Float32 != nil {
			clear(v.Float32[i*v.Cols : (i+1)*v.Cols])
		} else {
			clear(v.Float64[i*v.Cols : (i+1)*v.Cols])
		}
	}
}

// contradiction is the first row marked absent in view v that holds a value other than NaN and zero, or −1.
func contradiction(view *View, mask [][]bool, v int) int {
	for i := range mask {
		if mask[i][v] {
			continue
		}
		found := false
		view.entries(i, func(_ int, x float64) { found = found || (x == x && x != 0) })
		if found {
			return i
		}
	}
	return -1
}
