package dataset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
)

// Names that files of this field use, lower case, the likeliest first.
var (
	viewNames  = []string{"x", "xs", "data", "fea", "feas", "features", "feature", "views", "view", "v"}
	labelNames = []string{"y", "gt", "label", "labels", "truth", "gnd", "truelabel", "true_label", "truelabels",
		"groundtruth", "ground_truth", "class", "classes", "target"}
	maskNames    = []string{"present", "mask"}
	numberedName = regexp.MustCompile(`^((?i:x|data|fea|feas|features|feature|views|view|v)([_-]?))(\d{1,6})$`)
	elementName  = regexp.MustCompile(`^(.+)\{(\d{1,6})\}$`)
)

// idsOf returns the variable that Options.IDs names, or nil.
func (s *source) idsOf(o *Options) (v *variable, err error) {
	for _, name := range o.idNames() {
		w := s.find(name)
		if v != nil && w != nil && v != w {
			return nil, v.errorf("and %s are both of Options.IDs %s: name one", w.name, o.IDs)
		}
		v = cmp.Or(v, w)
	}
	return v, nil
}

// find returns the variable of a name: exactly, else without regard to case, else the element X{2} of a cell, else nil.
func (s *source) find(name string) *variable {
	if k := indexOfName(s.vars, name, func(v *variable) string { return v.name }); k >= 0 {
		return s.vars[k]
	}
	if s.annData && !strings.HasPrefix(name, "obs/") {
		return s.find("obs/" + name)
	}
	if m := elementName.FindStringSubmatch(name); m != nil {
		k, err := strconv.Atoi(m[2])
		if c := s.find(m[1]); err == nil && c != nil && c.kind == cell && k >= 1 && k <= len(c.cells) {
			return c.cells[k-1]
		}
	}
	return nil
}

// indexOfName is the index of what has a name: exactly, else without regard to case, else −1.
func indexOfName[E any](in []E, name string, nameOf func(E) string) int {
	if k := slices.IndexFunc(in, func(e E) bool { return nameOf(e) == name }); k >= 0 {
		return k
	}
	return slices.IndexFunc(in, func(e E) bool { return strings.EqualFold(nameOf(e), name) })
}

// itself is the name of a name.
func itself(name string) string { return name }

// listing names the variables with their shapes, for errors.
func (s *source) listing() string {
	if s.table != nil {
		return s.table.listing()
	}
	all := lists.Texts(s.vars, func(v *variable) string { return fmt.Sprintf("%s (%s %s)", v.name, v.shapeString(), v.class) })
	return cmp.Or(someNames(all), "nothing")
}

// views chooses the variables that hold the views. taken are those that serve as labels, mask or index, or are left out.
func (s *source) views(names []string, taken map[*variable]bool, o *Options) ([]*variable, error) {
	if len(names) > 0 {
		return s.namedViews(names)
	}
	if s.csv {
		return s.tableMatrices()
	}
	if s.annData {
		return s.annViews(taken, o)
	}
	if v := s.firstNamed(viewNames, func(v *variable) bool { return v.kind == cell && !taken[v] }); v != nil {
		return v.members()
	}
	if vs := s.numberedViews(taken); len(vs) > 0 {
		return vs, differentNumbers(vs)
	}
	if v := s.firstNamed(viewNames, func(v *variable) bool { return v.isMatrix() && !taken[v] }); v != nil {
		return []*variable{v}, nil
	}
	cells, matrices := s.viewsByShape(taken)
	switch {
	case len(cells) == 1:
		return cells[0].members()
	case len(cells) == 0 && len(matrices) == 1:
		return matrices, nil
	}
	if v := s.unreadableView(len(cells)+len(matrices) == 0); v != nil {
		return []*variable{v}, nil // the error is going to say why it cannot be read
	}
	return nil, s.noViews(cells, matrices)
}

// noViews is the error that nothing says which variables are the views.
func (s *source) noViews(cells, matrices []*variable) error {
	if !slices.ContainsFunc(s.vars, func(v *variable) bool { return v.kind == cell || v.isMatrix() }) {
		why := ""
		if k := slices.IndexFunc(s.vars, func(v *variable) bool { return v.kind == other && v.note != "" }); k >= 0 {
			why = "; " + s.vars[k].name + ": " + s.vars[k].note
		}
		return fmt.Errorf("dataset: %s: holds %s: no matrix with a row for each sample%s", s.path, s.listing(), why)
	}
	example := ""
	if len(matrices) > 1 && len(cells) == 0 {
		example = " " + matrices[0].name + "," + matrices[1].name
	}
	return fmt.Errorf("dataset: %s: holds %s; name the views with Options.Views%s", s.path, s.listing(), example)
}

// firstNamed returns the suitable variable with the first of the names, compared in lower case; nil without one.
func (s *source) firstNamed(names []string, suits func(v *variable) bool) *variable {
	for _, name := range names {
		named := func(v *variable) bool { return strings.ToLower(v.name) == name && suits(v) }
		if k := slices.IndexFunc(s.vars, named); k >= 0 {
			return s.vars[k]
		}
	}
	return nil
}

// viewsByShape returns the variables that may be views whatever their names: cells of matrices, and matrices, or vectors where
// there is no matrix.
func (s *source) viewsByShape(taken map[*variable]bool) (cells, matrices []*variable) {
	var vectors []*variable
	for _, v := range s.vars {
		switch _, vector := v.vectorLen(); {
		case taken[v] || slices.Contains(labelNames, strings.ToLower(v.name)):
		case v.isCellOf((*variable).isMatrix):
			cells = append(cells, v)
		case v.isMatrix() && vector:
			vectors = append(vectors, v)
		case v.isMatrix():
			matrices = append(matrices, v)
		}
	}
	if len(matrices) == 0 {
		matrices = vectors
	}
	return cells, matrices
}

// unreadableView returns the first variable that is meant as a view and cannot be read as one; nil without one. alone says that
// the file has no other candidate.
func (s *source) unreadableView(alone bool) *variable {
	k := slices.IndexFunc(s.vars, func(v *variable) bool {
		usual := v.namedAsView()
		return v.kind == other && (usual || len(s.vars) == 1 && !isTextClass(v.class)) ||
			v.kind == numeric && len(v.dims) > 2 && (usual || alone)
	})
	if k < 0 {
		return nil
	}
	return s.vars[k]
}

// namedAsView reports whether a variable has the usual name of a view, with or without a number.
func (v *variable) namedAsView() bool {
	return slices.Contains(viewNames, strings.ToLower(v.name)) || numberedName.MatchString(v.name)
}

// tableMatrices are the matrices of a CSV file: its columns of numbers, or the views that options make of them.
func (s *source) tableMatrices() ([]*variable, error) {
	vs := slices.DeleteFunc(slices.Clone(s.vars), func(v *variable) bool { return v.kind != numeric })
	if len(vs) == 0 {
		return nil, fmt.Errorf("dataset: %s: has no column of numbers for a view, but %s", s.path, s.listing())
	}
	return vs, nil
}

func (s *source) namedViews(names []string) ([]*variable, error) {
	var vs []*variable
	for _, name := range names {
		v := s.find(name)
		switch {
		case v == nil:
			return nil, fmt.Errorf("dataset: %s: has no variable %s; it holds %s", s.path, name, s.listing())
		case slices.Contains(vs, v):
			return nil, fmt.Errorf("dataset: %s: Options.Views names %s twice", s.path, v.name)
		case v.kind == cell:
			m, err := v.members()
			if err != nil {
				return nil, err
			}
			vs = append(vs, m...)
		default:
			vs = append(vs, v)
		}
	}
	return vs, nil
}

// members are the matrices of a cell.
func (v *variable) members() ([]*variable, error) {
	if len(v.cells) == 0 {
		return nil, v.errorf("is an empty cell")
	}
	return v.cells, nil
}

// isCellOf reports whether a variable is a cell whose elements all suit.
func (v *variable) isCellOf(suits func(*variable) bool) bool {
	return v.kind == cell && len(v.cells) > 0 && !slices.ContainsFunc(v.cells, func(c *variable) bool { return !suits(c) })
}

// numberedViews are the variables X0, X1, … of the likeliest name, in numeric order, be it written x or X, X0 or X_0. One that
// cannot be read is among them, so that the error says why.
func (s *source) numberedViews(taken map[*variable]bool) []*variable {
	groups := map[string][]*variable{}
	best, rank := "", len(viewNames)
	readable := map[string]bool{}
	number := map[*variable]string{}
	for _, v := range s.vars {
		m := numberedName.FindStringSubmatch(v.name)
		if m == nil || taken[v] || v.kind == text || v.kind == cell {
			continue
		}
		name := strings.ToLower(m[1][:len(m[1])-len(m[2])])
		groups[name] = append(groups[name], v)
		number[v] = m[3]
		readable[name] = readable[name] || v.isMatrix()
	}
	for name, group := range groups {
		r := slices.Index(viewNames, name)
		if readable[name] && (r < rank || r == rank && len(group) > len(groups[best])) {
			best, rank = name, r
		}
	}
	slices.SortStableFunc(groups[best], func(a, b *variable) int { return compareNumeric(number[a], number[b]) })
	return groups[best]
}

// differentNumbers refuses two views of one number, such as X0 and x0: the second may be something else.
func differentNumbers(vs []*variable) error {
	for i := 1; i < len(vs); i++ {
		a, b := numberedName.FindStringSubmatch(vs[i-1].name), numberedName.FindStringSubmatch(vs[i].name)
		if compareNumeric(a[3], b[3]) == 0 {
			return vs[i].errorf("and %s have the same number: name the views with Options.Views, or give Options.LeaveOut %[2]s",
				vs[i-1].name, vs[i].name)
		}
	}
	return nil
}

// checkViews says which of the views cannot be one.
func checkViews(vs []*variable) error {
	for _, v := range vs {
		rows, cols, ok := v.shape2()
		switch {
		case v.kind == other && v.note != "":
			return v.errorf("cannot be a view: %s; leave it out with Options.LeaveOut %s, or name the views with "+
				"Options.Views", v.note, v.name)
		case v.kind == numeric && len(v.dims) > 2:
			return v.errorf("is %s; a view is a matrix of samples by features: %s; or leave it out with Options.LeaveOut "+
				"%s", v.shapeString(), reshape(v), v.name)
		case v.kind != numeric && v.kind != sparse:
			return v.errorf("is %s of class %s; a view is a numeric matrix", v.shapeString(), v.class)
		case !ok:
			return v.errorf("is %s; a view is a matrix of samples by features", v.shapeString())
		case rows == 0 || cols == 0:
			return v.errorf("is empty (%s)", v.shapeString())
		}
	}
	return nil
}

// labelVariables are those that hold the labels: a vector, a matrix with one 1 in each row, or a cell of vectors.
func (s *source) labelVariables(o *Options) ([]*variable, error) {
	switch {
	case o.NoLabels || o.LabelsFile != "":
		return nil, nil
	case s.csvLabels != nil:
		return []*variable{s.csvLabels}, nil
	}
	v := s.firstNamed(labelNames, func(v *variable) bool { return v.isLabels() && !o.leavesOut(v.name) })
	if o.Labels != "" {
		if v = s.find(o.Labels); s.csv {
			v = nil
		}
	}
	if v == nil {
		return nil, nil // another file may have it
	}
	return v.labelVectors()
}

// isLabels reports whether a variable with the name of labels has the shape of some.
func (v *variable) isLabels() bool {
	if v.kind == cell {
		return v.isCellOf((*variable).isLabels)
	}
	if rows, cols, _ := v.shape2(); v.fromTable && rows == 1 && cols > 1 {
		return false // a sample, and no vector
	}
	_, vector := v.vectorLen()
	return vector || (v.kind == numeric && len(v.dims) == 2)
}

func (v *variable) labelVectors() ([]*variable, error) {
	if !v.isLabels() {
		return nil, v.errorf("is %s of class %s; labels are a vector", v.shapeString(), v.class)
	}
	switch {
	case v.kind == cell:
		return v.cells, nil
	case v.asText != nil:
		return []*variable{v.asText}, nil
	}
	return []*variable{v}, nil
}

// indexVariables are the lists of the samples present in each view, or nil.
func (s *source) indexVariables() []*variable {
	for _, v := range s.vars {
		if strings.ToLower(v.name) == "index" && v.isCellOf(func(c *variable) bool {
			_, ok := c.vectorLen()
			return ok && c.kind == numeric
		}) {
			return v.cells
		}
	}
	return nil
}
