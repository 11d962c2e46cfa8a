package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fileMask is the mask in a file that is there for it.
func (s *source) fileMask(name string, o *Options) (*variable, error) {
	if s.csv {
		return s.tableMask()
	}
	v := s.maskVariable(name, o)
	if v == nil && len(s.vars) == 1 {
		v = s.vars[0]
	}
	if v == nil {
		return nil, fmt.Errorf("dataset: %s: holds no mask, but %s", s.path, s.listing())
	}
	return v, nil
}

// tableMask is the mask in a table: all of its columns but the ids.
func (s *source) tableMask() (*variable, error) {
	var mask *variable
	for _, v := range s.vars {
		switch {
		case v == s.ids:
		case v.kind == text:
			return nil, fmt.Errorf("dataset: %s: has texts in %s; a mask has a column of 0 and 1 for each view, and may have "+
				"one of ids that are all different: mend it, or leave the column out with Options.LeaveOut %s", s.path,
				titleOfName(v.name), strings.TrimPrefix(v.name, "column "))
		default:
			mask = v
		}
	}
	if mask == nil {
		return nil, fmt.Errorf("dataset: %s: holds no mask, but %s", s.path, s.listing())
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

// maskOrder says where the columns and rows of a mask belong; as they stand where nothing says it.
type maskOrder struct {
	names []string // of the views, for messages
	to    []int    // the view of each column; nil: as they stand
	rows  []int    // the sample of each row; nil: as they stand
	keep  []bool   // rows that belong to samples; nil: all
}

// orderMask finds which column of the mask belongs to which view: by the header where the mask is a table that has one, for the
// order of files is easily another one. What the header names and is no view is an error.
func (p *plan) orderMask() error {
	if p.mask == nil {
		return nil
	}
	for _, v := range p.views {
		p.maskOrder.names = append(p.maskOrder.names, v.name)
	}
	if !p.mask.fromTable || p.mask.names == nil {
		return nil
	}
	columns, err := p.mask.names()
	if err != nil {
		return p.mask.wrap(err)
	}
	to, err := matchNames(columns, p.maskOrder.names)
	if err != nil {
		return fmt.Errorf("dataset: %s: %w", p.mask.file, err)
	}
	p.maskOrder.to = to
	return nil
}

// matchNames finds the view of each column of a mask, by its name or, where they have no names, by its number from 0.
func matchNames(columns, views []string) ([]int, error) {
	if slices.EqualFunc(columns, views, strings.EqualFold) {
		return nil, nil // two views may have one name: then the order is all there is
	}
	numbers := make([]string, len(views))
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	if to := permutation(columns, views); to != nil {
		return to, nil
	}
	if to := permutation(columns, numbers); to != nil {
		return to, nil
	}
	what := "a view is named twice"
	for _, v := range views {
		if !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, v) }) {
			what = "none is the view " + v
			break
		}
	}
	for _, c := range columns {
		if !slices.ContainsFunc(views, func(v string) bool { return strings.EqualFold(c, v) }) {
			what = strconv.Quote(c) + " is no view"
			break
		}
	}
	return nil, fmt.Errorf("has a mask of the columns %s: %s. The views are %s: name the columns as the views, in any order, "+
		"leave others out with Options.LeaveOut, or take the line of names out where the columns are in the order of the views",
		someNames(columns), what, someNames(views))
}

// permutation finds the place of each column among names that are all different; nil where they are not the same.
func permutation(columns, names []string) []int {
	if len(columns) != len(names) {
		return nil
	}
	to := make([]int, len(columns))
	taken := make([]bool, len(names))
	for i, c := range columns {
		k := slices.Index(names, c)
		if k < 0 {
			k = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, c) })
		}
		if k < 0 || taken[k] {
			return nil
		}
		to[i], taken[k] = k, true
	}
	return to
}

// countsRows tells whether ids are the numbers of the rows, from 0 or 1: then they say no more than the order does.
func countsRows(ids []string) bool {
	for first := range 2 {
		counts := true
		for i, id := range ids {
			if id != itoa(i+first) {
				counts = false
				break
			}
		}
		if counts {
			return true
		}
	}
	return false
}

// readPresent reads the mask of the plan.
func (p *plan) readPresent() ([][]bool, error) {
	order := p.maskOrder
	if s := p.of[p.mask]; s != nil && s.role == roleMask {
		order.rows, order.keep = p.rowsOf[s], s.keep
	}
	return readMask(p.mask, &order, p.n, len(p.views), p.lim)
}

// readMask turns a matrix of zeros and ones, samples by views, into a mask.
func readMask(v *variable, order *maskOrder, n, views int, lim *limits) ([][]bool, error) {
	want := n // rows
	switch {
	case order.keep != nil:
		want = len(order.keep)
	case order.rows != nil:
		want = len(order.rows)
	}
	if err := v.checkMask(want, n, views); err != nil {
		return nil, err
	}
	x, err := readMaskValues(v, lim)
	if err != nil {
		return nil, err
	}
	mask, err := bookedMask(n, views, lim)
	if err != nil {
		return nil, v.wrap(err)
	}
	kept := -1
	for i := range want {
		if order.keep != nil && !order.keep[i] {
			continue
		}
		kept++
		at := kept
		if order.rows != nil {
			at = order.rows[kept]
		}
		for j, value := range x[i*views : (i+1)*views] {
			view := j
			if order.to != nil {
				view = order.to[j]
			}
			if value != 0 && value != 1 {
				return nil, v.errorf("has %g in row %d and column %d (from 0)%s; a mask holds 0 and 1", value, i, j,
					order.viewName(view))
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
		hint = "; its first line is read as a row: where it names the views, Options.Header yes says so"
	}
	return v.errorf("is %s; a mask for %d samples and %d views is %d×%d%s", v.shapeString(), n, views, want, views, hint)
}

func (o *maskOrder) viewName(view int) string {
	if view >= len(o.names) {
		return ""
	}
	return ", for view " + o.names[view]
}
