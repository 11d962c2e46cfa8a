package dataset

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// account goes through what is in the files and is not read. What looks like a view is an error unless the options name it.
func (p *plan) account() error {
	p.warnOfUnknown()
	used := p.served()
	for _, s := range p.sources[:p.data] {
		if s.annData {
			p.left = append(p.left, s.annLeft(used, p.o)...)
			continue
		}
		p.left = append(p.left, s.left...)
		for _, v := range s.vars {
			if err := p.accountFor(v, used); err != nil {
				return err
			}
		}
	}
	return nil
}

// accountFor notes a variable that is not read, or returns the error that it has to be.
func (p *plan) accountFor(v *variable, used map[*variable]bool) error {
	if used[v] || v.asText != nil && used[v.asText] {
		return nil
	}
	if v.kind == cell {
		return p.accountForCell(v, used)
	}
	why, err := p.whyLeft(v)
	if err == nil {
		what := v.name + " (" + v.shapeString() + " " + v.class + ")"
		if v.fromTable && v.class == "column" {
			what = "column " + v.name
		}
		p.left = append(p.left, Omission{v.file, what, why})
	}
	return err
}

// unreadView is the error that a variable looks like a view and is not read.
func (v *variable) unreadView(why string) error {
	return v.errorf("(%s %s) looks like a view and is not read: %s; name the views with Options.Views, or give "+
		"Options.LeaveOut %s", v.shapeString(), v.class, why, v.name)
}

// accountForCell notes the elements of a cell that are not read, or the cell if none is.
func (p *plan) accountForCell(v *variable, used map[*variable]bool) error {
	what := v.name + " (cell of " + itoa(len(v.cells)) + ")"
	some := slices.ContainsFunc(v.cells, func(c *variable) bool { return used[c] })
	if p.o.leavesOut(v.name) || !some && (len(p.o.Views) > 0 || len(v.cells) == 0) {
		p.left = append(p.left, Omission{v.file, what, byChoice(v, p.o)})
		return nil
	}
	if err := p.cellOfTexts(v); err != nil {
		return err
	}
	if !some && !slices.ContainsFunc(v.cells, func(c *variable) bool { return c.kind != text && c.kind != other }) {
		p.left = append(p.left, Omission{v.file, what, "it holds no matrix"})
		return nil
	}
	for _, c := range v.cells {
		if err := p.accountFor(c, used); err != nil {
			return err
		}
	}
	return nil
}

// cellOfTexts refuses a cell with the name of labels or ids and an element for each sample.
func (p *plan) cellOfTexts(v *variable) error {
	switch {
	case len(v.cells) != p.n:
	case slices.Contains(labelNames, strings.ToLower(v.name)) && p.labels == nil && !p.o.NoLabels:
		return v.errorf("is a cell of %d elements, which cannot be read as labels: in MATLAB, save grp2idx(%s) or "+
			"double(categorical(%[2]s)); or give Options.NoLabels", len(v.cells), v.name)
	case namesIDs(v.name) && !p.o.NoIDs:
		return v.errorf("is a cell of %d elements, which cannot be read as ids: save numbers, or a table with a column of ids; "+
			"or give Options.LeaveOut %s", len(v.cells), v.name)
	}
	return nil
}

// warnOfUnknown adds the names that options give of what is left out or made features, and that nothing in the files has.
func (p *plan) warnOfUnknown() {
	for _, name := range p.o.LeaveOut {
		read := func(s *source) bool { return s.hasColumn(name) || s.hasVariable(name) }
		file := func(l Omission) bool { return l.What == "file" && matches([]string{name}, filepath.Base(l.File)) }
		if !slices.ContainsFunc(p.sources, read) && !slices.ContainsFunc(p.left, file) {
			p.warnings = append(p.warnings, "Options.LeaveOut "+name+" matches nothing in the files")
		}
	}
	for _, name := range p.o.OneHot {
		if !slices.ContainsFunc(p.sources, func(s *source) bool { return s.hasColumn(name) }) {
			p.warnings = append(p.warnings, "Options.OneHot "+name+" matches no column of the files")
		}
	}
}

// hasColumn reports whether a table has a column of a name, of a pattern of it or, where it has no name, of a number.
func (s *source) hasColumn(name string) bool {
	if s.table == nil {
		return false
	}
	c := s.table
	for i := range c.fields {
		if c.optionName(i) == name || c.columnName(i) == name || matches([]string{name}, c.nameOf(i)) {
			return true
		}
	}
	return false
}

// hasVariable reports whether a file of arrays has a variable, or an element of a cell, of a name or a pattern.
func (s *source) hasVariable(name string) bool {
	has := func(v *variable) bool { return matches([]string{name, "obs/" + name}, v.name) }
	return !s.csv && slices.ContainsFunc(s.vars, func(v *variable) bool { return has(v) || slices.ContainsFunc(v.cells, has) })
}

func byChoice(v *variable, o *Options) string {
	if o.leavesOut(v.name) {
		return "by option"
	}
	return "not in Options.Views"
}

// byLimit finds what a reader left alone for lack of memory.
var byLimit = regexp.MustCompile(`limit of memory|MaxBytes|never written`)

// whyLeft returns why a variable is not read. One that has to be read is an error.
func (p *plan) whyLeft(v *variable) (why string, err error) {
	name := strings.ToLower(v.name)
	switch {
	case p.o.leavesOut(v.name) || len(p.o.Views) > 0:
		return byChoice(v, p.o), nil
	case v.kind == other && byLimit.MatchString(v.note):
		return "", v.errorf("(%s %s) is not read: %s; give more with Options.MaxBytes", v.shapeString(), v.class, v.note)
	case v.name == "MissingStatus" && (p.index != nil || p.mask != nil):
		return "MissingStatus is not used: an index or a mask says which rows are absent", nil
	case v.name == "MissingStatus" || slices.Contains(maskNames, name) && p.mask == nil:
		return "", v.errorf("(%s %s) may say which views are absent, and is not read: save a matrix present (samples by "+
			"views, 1 where a sample has the view), or give Options.LeaveOut %s", v.shapeString(), v.class, v.name)
	case v.kind == text:
		return p.whyTextsLeft(v), nil
	case v.kind == other:
		return p.whyUnreadLeft(v)
	case p.marksClasses(v):
		return "classes that are not used", nil
	case slices.Contains(maskNames, name):
		return "a mask that is not used", nil
	}
	return p.whyArrayLeft(v)
}

// marksClasses reports whether an array with a name of labels may be labels: a vector, or a matrix that marks one class for each
// sample.
func (p *plan) marksClasses(v *variable) bool {
	rows, cols, ok := v.shape2()
	if named := slices.Contains(labelNames, strings.ToLower(v.name)); !named || !ok || rows == 1 || cols == 1 {
		return named && ok && v.kind == numeric
	}
	defer p.lim.Reset(p.lim.Used())
	_, _, err := readIndicators(v, rows, cols, p.n, p.lim)
	return err == nil
}

func (p *plan) whyTextsLeft(v *variable) string {
	if !slices.Equal(v.dims, []int{p.n}) {
		return "texts"
	}
	return "texts; if they give the classes, Options.Labels " + v.name + ", if they name the samples, Options.IDs " + v.name
}

// whyUnreadLeft is whyLeft for a variable of a kind that is not read.
func (p *plan) whyUnreadLeft(v *variable) (why string, err error) {
	switch {
	case v.namedAsView():
		return "", v.unreadView(v.note)
	case namesIDs(v.name) && !p.o.NoIDs && isTextClass(v.class):
		return "", v.errorf("(%s %s) cannot be read as ids: save numbers, or a table with a column of ids; or give "+
			"Options.LeaveOut %s", v.shapeString(), v.class, v.name)
	case p.holdsViews(v) != "":
		return "", v.unreadView(v.note + ", and it holds " + p.holdsViews(v))
	case !isTextClass(v.class) && p.hasRowPerSample(v):
		return "", v.unreadView(v.note)
	case isTextClass(v.class) && slices.Contains(labelNames, strings.ToLower(v.name)) && p.labels == nil && !p.o.NoLabels:
		return "", v.errorf("(%s %s) cannot be read as labels: save the classes as numbers, or give "+
			"Options.NoLabels", v.shapeString(), v.class)
	}
	return v.note, nil
}

// holdsViews names the first member of a group or structure that has the name of a view or a row for each sample.
func (p *plan) holdsViews(v *variable) string {
	for _, m := range v.inside {
		as := &variable{name: m.name, dims: m.dims}
		if as.namedAsView() || len(m.dims) > 1 && p.hasRowPerSample(as) {
			return m.name
		}
	}
	return ""
}

// whyArrayLeft is whyLeft for an array of numbers.
func (p *plan) whyArrayLeft(v *variable) (why string, err error) {
	switch first := p.views[0].dims; {
	case v.namedAsView():
		return "", v.unreadView("it has the name of a view")
	case !p.hasRowPerSample(v) && p.why == whyEither && len(first) == 2 && slices.Contains(v.dims, first[1]):
		return "", v.errorf("(%s %s) has an entry for each column of %s: give Options.Orientation columns if these are "+
			"the samples, else Options.Orientation rows", v.shapeString(), v.class, p.views[0].name)
	case !p.hasRowPerSample(v):
		return "it does not have one row for each sample", nil
	case len(v.dims) > 2:
		return "", v.unreadView(reshape(v))
	}
	return "", v.unreadView("it has a row for each sample")
}

// hasRowPerSample reports whether an axis of an array counts the samples; of more than two axes, the first or the last one.
func (p *plan) hasRowPerSample(v *variable) bool {
	if len(v.dims) > 2 {
		return v.dims[0] == p.n || v.dims[len(v.dims)-1] == p.n
	}
	return slices.Contains(v.dims, p.n)
}

// isTextClass reports whether a class of variables holds no numbers.
func isTextClass(class string) bool {
	return slices.Contains([]string{"char", "string", "struct", "function_handle", "object", "opaque", "group", "cell",
		"table", "timetable", "categorical", "datetime", "duration", "calendarDuration"}, class)
}

// reshape says how an array of more than two axes becomes a matrix.
func reshape(v *variable) string {
	if v.colMajor {
		return fmt.Sprintf("an array of %d axes; in MATLAB, reshape(%s, size(%[2]s, 1), [])", len(v.dims), v.name)
	}
	return fmt.Sprintf("an array of %d axes; in Python, x.reshape(len(x), -1)", len(v.dims))
}
