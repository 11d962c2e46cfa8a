package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
)

// maskIn returns the mask in a file: the matrix of the name that options give or of a usual name, nil without. alone says that
// the file is there for it: then it is the only variable, in a table all columns but the ids, and without one there is an error.
func (s *source) maskIn(o *Options, alone bool) (mask *variable, err error) {
	switch {
	case s.csv && alone:
		for _, v := range s.vars {
			if v != s.ids && v.kind == text {
				return nil, fmt.Errorf("dataset: %s: has texts in %s; a mask has a column of 0 and 1 for each view, and may "+
					"have one of ids that are all different: mend it, or leave the column out with Options.LeaveOut %s", s.path,
					titleOfName(v.name), strings.TrimPrefix(v.name, "column "))
			}
			if v != s.ids {
				mask = v
			}
		}
	case o.Mask != "":
		mask = s.find(o.Mask)
	default:
		mask = s.firstNamed(maskNames, o.mayBeMask)
	}
	if mask == nil && alone {
		if s.csv || len(s.vars) != 1 {
			return nil, fmt.Errorf("dataset: %s: holds no mask, but %s", s.path, s.listing())
		}
		mask = s.vars[0]
	}
	return mask, nil
}

// titleOfName says in a sentence which column a name is of.
func titleOfName(name string) string {
	if name == headerIDs {
		return "its first line"
	}
	if strings.HasPrefix(name, "column ") {
		return name + " (from 0)"
	}
	return "column " + name
}

// orderMask finds which column of the mask belongs to which view: by the header where the mask is a table that has one, for the
// order of files is easily another one. What the header names and is no view is an error.
func (p *plan) orderMask() error {
	p.maskTo = lists.Indices(len(p.views))
	if p.mask == nil || !p.mask.fromTable || p.mask.names == nil {
		return nil
	}
	columns, err := p.mask.names()
	if err != nil {
		return p.mask.wrap(err)
	}
	views := lists.Texts(p.views, func(v *variable) string { return v.name })
	if slices.EqualFunc(columns, views, strings.EqualFold) {
		return nil // two views may have one name: then the order is all there is
	}
	if p.maskTo, err = matchNames(columns, views); err != nil {
		return fmt.Errorf("dataset: %s: %w", p.mask.file, err)
	}
	return nil
}

// matchNames finds the view of each column of a mask, by its name or, where they have no names, by its number from 0.
func matchNames(columns, views []string) ([]int, error) {
	for _, names := range [][]string{views, rowNumbers(len(views))} {
		if to := permutation(columns, names); to != nil {
			return to, nil
		}
	}
	what := "a view is named twice"
	if k := firstWithout(views, columns); k >= 0 {
		what = "none is the view " + views[k]
	}
	if k := firstWithout(columns, views); k >= 0 {
		what = strconv.Quote(columns[k]) + " is no view"
	}
	return nil, fmt.Errorf("has a mask of the columns %s: %s. The views are %s: name the columns as the views, in any order, "+
		"leave others out with Options.LeaveOut, or, if they are in the order of the views, take the line of names out",
		someNames(columns), what, someNames(views))
}

// firstWithout is the index of the first name that is not among others, −1 without.
func firstWithout(names, others []string) int {
	return slices.IndexFunc(names, func(name string) bool {
		return !slices.ContainsFunc(others, func(other string) bool { return strings.EqualFold(name, other) })
	})
}

// permutation finds the place of each column among names that are all different; nil where they are not the same.
func permutation(columns, names []string) []int {
	if len(columns) != len(names) {
		return nil
	}
	to := make([]int, len(columns))
	taken := make([]bool, len(names))
	for i, c := range columns {
		k := indexOfName(names, c, itself)
		if k < 0 || taken[k] {
			return nil
		}
		to[i], taken[k] = k, true
	}
	return to
}

// countsRows reports whether ids are the numbers of the rows, from 0 or 1: then they say no more than the order does.
func countsRows(ids []string) bool {
	count := func(from int) bool {
		for i, id := range ids {
			if id != itoa(i+from) {
				return false
			}
		}
		return true
	}
	return count(0) || count(1)
}

// readGivenMask reads the mask that the files have, nil without.
func (p *plan) readGivenMask() ([][]bool, error) {
	switch {
	case p.mask != nil:
		return p.readPresent()
	case p.index != nil:
		return readIndex(p.index, p.n, p.lim)
	}
	return nil, nil
}

// readPresent turns the matrix of zeros and ones of the plan, samples by views, into a mask.
func (p *plan) readPresent() ([][]bool, error) {
	v, views := p.mask, len(p.views)
	rows := p.rowsOf[p.of[v]] // the sample of each row, −1 without
	switch {
	case rows == nil:
		rows = lists.Indices(p.n)
	case len(rows) < p.n:
		return nil, v.errorf("is in a file that lacks %d of the %d samples: put the mask into a table of its own, with the ids "+
			"of all samples", p.n-len(rows), p.n)
	}
	if err := v.checkMask(len(rows), p.n, views); err != nil {
		return nil, err
	}
	x, err := readMaskValues(v, p.lim)
	if err != nil {
		return nil, err
	}
	mask, err := bookedMask(p.n, views, p.lim)
	if err != nil {
		return nil, v.wrap(err)
	}
	for i, at := range rows {
		if at < 0 {
			continue
		}
		for j, value := range x[i*views : (i+1)*views] {
			view := p.maskTo[j]
			if value != 0 && value != 1 {
				return nil, v.errorf("has %g in row %d and column %d (from 0), for view %s; a mask holds 0 and 1", value, i, j,
					p.views[view].name)
			}
			mask[at][view] = value == 1
		}
	}
	return mask, nil
}

// readMaskValues reads the matrix of a mask row by row.
func readMaskValues(v *variable, lim *limits) ([]float64, error) {
	if v.kind != sparse {
		return readMatrix(v, lim)
	}
	view, _, err := readView[float64](v, false, &Options{Storage: AllDense}, lim)
	return view.Float64, err
}

// checkMask refuses a mask that has not want rows and a column for each view. n is the number of samples.
func (v *variable) checkMask(want, n, views int) error {
	rows, cols, ok := v.shape2()
	if ok && (v.kind == numeric || v.kind == sparse) && rows == want && cols == views {
		return nil
	}
	hint := ""
	if v.fromTable && v.names == nil && rows == want+1 {
		hint = "; its first line is read as a row: if it names the views, give Options.Header yes"
	}
	return v.errorf("is %s; a mask for %d samples and %d views is %d×%d%s", v.shapeString(), n, views, want, views, hint)
}
