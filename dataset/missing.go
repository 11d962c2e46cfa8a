package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// bookedMask is newMask, with its memory booked.
func bookedMask(n, views int, lim *limits) ([][]bool, error) {
	const row = 24 // of the list of rows
	if err := lim.Take("a mask", int64(n)*int64(views+row)); err != nil {
		return nil, err
	}
	return newMask(n, views), nil
}

// absentRows is the number of rows of views that a mask marks as absent.
func absentRows(mask [][]bool) (absent int) {
	for _, row := range mask {
		for _, present := range row {
			if !present {
				absent++
			}
		}
	}
	return absent
}

// readIndex turns the lists of the samples present in each view, numbered from 1, into a mask.
func readIndex(index []*variable, n int, lim *limits) ([][]bool, error) {
	mask, err := bookedMask(n, len(index), lim)
	if err != nil {
		return nil, index[0].wrap(err)
	}
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

// resolve decides which rows are absent, clears them, and refuses every other NaN or infinity. Absent are the rows of the
// mask, and rows that are wholly NaN where the options or an index say so.
func (r *rawSet) resolve(o *Options) error {
	mask := r.mask
	var wrong []error
	for v := range r.set.Views {
		if err := r.resolveView(v, &mask, o); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return joined(wrong)
	}
	if mask != nil {
		if err := r.apply(mask); err != nil {
			return err
		}
	}
	r.warnOfTwins()
	return r.prepare(o)
}

// resolveView is resolve for one view. It marks absent rows in a mask.
func (r *rawSet) resolveView(v int, mask *[][]bool, o *Options) error {
	view, b := &r.set.Views[v], &r.bad[v]
	if b.hasInf && !o.AllowNaN && r.given(b.infR, v) {
		return r.vars[v].errorf("is infinite in %s%s", r.place(v, b.infR, b.infC), rounded(view))
	}
	for i, count := range b.nan {
		switch {
		case count == 0, !r.given(i, v):
		case int(count) == view.Cols && r.fromIndex:
			return r.vars[v].agrees(i, true, true, false)
		case int(count) == view.Cols && o.MissingRows:
			if err := r.markAbsent(mask, i, v); err != nil {
				return err
			}
		case !o.keepsNaN(int(count) == view.Cols):
			return r.nanError(v, o)
		}
	}
	return nil
}

// given reports whether row i of view v is present by the mask. Without a mask all are.
func (r *rawSet) given(i, v int) bool { return r.mask == nil || r.mask[i][v] }

// markAbsent marks row i of view v as absent in a mask, which it makes if there is none.
func (r *rawSet) markAbsent(mask *[][]bool, i, v int) error {
	if *mask == nil {
		made, err := bookedMask(r.set.Views[v].Rows, len(r.set.Views), r.lim)
		if err != nil {
			return r.vars[v].wrap(err)
		}
		*mask = made
	}
	(*mask)[i][v] = false
	return nil
}

func rounded(v *View) string {
	if v.Float32 != nil || (v.Sparse != nil && v.Sparse.Float32 != nil) {
		return "; the largest float32 is 3.4e38"
	}
	return ""
}

// fromZero says how entries are counted.
const fromZero = " (samples by features, from 0)"

// place says where an entry of a view is: in a table also by line and name of the column.
func (r *rawSet) place(v, row, col int) string {
	at := fmt.Sprintf("row %d, column %d%s", row, col, fromZero)
	if w := r.vars[v].whole; w != nil {
		at += fmt.Sprintf(", which is column %d of %s", r.vars[v].pick[col], w.name)
	}
	if x := r.vars[v]; x.line != nil && (!r.turned || x.transposed) {
		row = r.fileRow(v, row)
		if x.transposed {
			row, col = col, row
		}
		at += fmt.Sprintf(", which is line %d, %s of the file", x.line(row), titleOfName(x.column(col)))
	}
	return at
}

// placeOfRow is the same for a row.
func (r *rawSet) placeOfRow(v, row int) string {
	at := fmt.Sprintf("row %d (from 0)", row)
	switch x := r.vars[v]; {
	case x.line == nil:
	case x.transposed:
		at += fmt.Sprintf(", which is %s of the file", titleOfName(x.column(r.fileRow(v, row))))
	case !r.turned:
		at += fmt.Sprintf(", which is line %d of the file", x.line(r.fileRow(v, row)))
	}
	return at
}

// fileRow is the row of the file that row of a view comes from.
func (r *rawSet) fileRow(v, row int) int {
	if rows := r.rowsOf(v); rows != nil {
		return slices.Index(rows, row)
	}
	return row
}

// mostPlaces is the largest number of NaN whose places an error names.
const mostPlaces = 5

// nanError is about the rows of a view with NaN that the options do not keep: some of their places, and how many there are.
func (r *rawSet) nanError(v int, o *Options) error {
	view, src := &r.set.Views[v], r.vars[v]
	var places []string
	given, rows, whole, cells := 0, 0, 0, 0
	in := map[int]int{} // number of NaN by column
	for i, k := range r.bad[v].nan {
		all := int(k) == view.Cols
		if !r.given(i, v) || all && o.MissingRows {
			continue
		}
		if given++; k == 0 || o.keepsNaN(all) {
			continue
		}
		if rows++; all {
			if whole++; len(places) < mostPlaces {
				places = append(places, r.placeOfRow(v, i))
			}
		}
		view.entries(i, func(j int, x float64) {
			if !math.IsNaN(x) {
				return
			}
			if in[j]++; all {
				return
			}
			if cells++; len(places) < mostPlaces {
				places = append(places, r.place(v, i, j))
			}
		})
	}
	where := places[0] + strings.ReplaceAll(strings.Join(append([]string{""}, places[1:]...), "; "), fromZero, "")
	if more := cells + whole - len(places); more > 0 {
		where += fmt.Sprintf("; … (%d more)", more)
	}
	cure := r.cureOfNaN(v, given, whole, cells, in)
	if cells == 0 {
		return &curedError{src.errorf("has only NaN in %s, and NaN in %d of %d rows; if rows of NaN alone are absent views, "+
			"give Options.MissingRows; else fill them in or take these samples out", where, rows, view.Rows), cure}
	}
	return &curedError{src.errorf("has NaN in %s; %d of %d rows and %d of %d columns have some: fill them (Options.Impute "+
		"mean, median or neighbors), take these rows or columns out (Options.LeaveOut names columns), or give "+
		"Options.MissingRows if rows of NaN alone (there are %d) are absent "+
		"views", where, rows, view.Rows, len(in), view.Cols, whole), cure}
}

// cureOfNaN returns the options with which a view can be read whose columns have the given numbers of NaN, some in whole rows and
// the other ones in cells; nil if there are none.
func (r *rawSet) cureOfNaN(v, rows, whole, cells int, in map[int]int) (cure [][2]string) {
	var names []string
	for j, count := range in {
		if count == rows {
			cells -= count - whole
			names = append(names, r.columnName(v, j))
		}
	}
	several := func(name string) bool { return name == "" || strings.Contains(name, ",") }
	if whole > 0 && len(r.vars) == 1 || len(names) == r.set.Views[v].Cols || slices.ContainsFunc(names, several) {
		return nil
	}
	if slices.Sort(names); len(names) > 0 {
		cure = append(cure, [2]string{"Options.LeaveOut", strings.Join(names, ",")})
	}
	if whole > 0 {
		cure = append(cure, [2]string{"Options.MissingRows", ""})
	}
	if cells > 0 {
		cure = append(cure, [2]string{"Options.Impute", "mean"})
	}
	return cure
}

// columnName is the name of a column of a view in its table; empty if it has none, or is no column of the table.
func (r *rawSet) columnName(v, j int) string {
	x := r.vars[v]
	if x.column == nil || x.transposed || r.turned {
		return ""
	}
	return x.column(j)
}

// apply sets absent rows to zero. A row that an index calls absent must hold nothing.
func (r *rawSet) apply(mask [][]bool) error {
	for i, row := range mask {
		if !slices.Contains(row, true) {
			return fmt.Errorf("dataset: %s: sample %d (from 0) lacks every view", r.vars[0].file, i)
		}
	}
	if absentRows(mask) == 0 {
		return nil
	}
	for v := range r.set.Views {
		if !r.fromIndex {
			break
		}
		if i := contradiction(&r.set.Views[v], mask, v); i >= 0 {
			return r.vars[v].agrees(i, false, false, true)
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

// agrees returns an error if a row has only NaN where an index calls it present, or has values where it calls it absent.
func (v *variable) agrees(i int, present, empty, values bool) error {
	switch {
	case present && empty:
		return v.errorf("has only NaN in row %d (from 0), but index names that sample as present", i)
	case !present && values:
		return v.errorf("has values in row %d (from 0), but index does not name that sample as present", i)
	}
	return nil
}

// isValue reports whether x is neither 0 nor NaN.
func isValue[T float32 | float64](x T) bool { return x == x && x != 0 }

// contradiction is the first row marked absent in view v that holds a value other than NaN and zero, or −1.
func contradiction(view *View, mask [][]bool, v int) int {
	for i := range mask {
		if mask[i][v] {
			continue
		}
		found := false
		view.entries(i, func(_ int, x float64) { found = found || isValue(x) })
		if found {
			return i
		}
	}
	return -1
}
