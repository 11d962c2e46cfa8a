package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// headerIDs is the name of the ids of a table whose header has them.
const headerIDs = "first line"

// assignTurned makes each column of a table a sample, whose id is its name in the header. The first column names the features if
// it holds texts, or has no name or one of ids.
func (c *csvFile) assignTurned() error {
	if len(c.o.Table)+len(c.o.OneHot) > 0 {
		return fmt.Errorf("has its samples in columns, and Options.Table and Options.OneHot need its features in columns: " +
			"transpose the table first")
	}
	c.roles = csvRoles{label: -1, id: -1}
	first := 0
	if c.namesRows() {
		first = 1
		if err := c.checkRowNames(); err != nil {
			return err
		}
	}
	for i := first; i < c.fields; i++ {
		switch {
		case c.leftOut(i):
			c.s.left = append(c.s.left, Omission{c.s.path, c.title(i), "by option"})
		case c.isEmpty(i):
			c.s.left = append(c.s.left, Omission{c.s.path, c.title(i), "it is empty and has no name"})
		case c.holdsText(i):
			return fmt.Errorf("has a value that is not a number in %s; correct it, write NA where it is missing, or leave the "+
				"sample out with Options.LeaveOut %s", c.placeOfText(i), c.optionName(i))
		default:
			c.roles.features = append(c.roles.features, csvFeature{column: i})
		}
	}
	if len(c.roles.features) == 0 {
		return fmt.Errorf("has no column of numbers, but %s", c.listing())
	}
	v := c.matrix(c.s.base(), c.roles.features)
	if c.header != nil && !c.o.NoIDs {
		ids, _ := v.names()
		c.s.ids = &variable{file: c.s.path, name: headerIDs, class: "header", kind: text, dims: []int{len(ids)}, fromTable: true,
			strings: func() ([]string, error) { return slices.Clone(ids), nil }}
		c.s.vars = append(c.s.vars, c.s.ids)
	}
	v.transposed, v.colMajor, v.names, v.asText = true, true, nil, nil
	v.dims = []int{len(c.roles.features), c.records}
	if first == 1 {
		v.names = func() ([]string, error) { return c.texts(0) }
	}
	c.s.vars = append(c.s.vars, v)
	return c.checkThousands(nil)
}

// checkRowNames refuses a row that may give the classes of the columns.
func (c *csvFile) checkRowNames() error {
	names, err := c.texts(0)
	for _, name := range names {
		if slices.Contains(labelNames, strings.ToLower(name)) {
			return fmt.Errorf("has a row %s, which may hold the classes of the samples: take it out, and give the classes in a "+
				"separate file", name)
		}
	}
	return err
}

// namesRows reports whether the first column of a table names its rows.
func (c *csvFile) namesRows() bool {
	return c.fields > 1 && (c.seen[0]&wordField != 0 || c.unnamedFirst() || c.header != nil && namesIDs(c.header[0]))
}

// turnProved turns the tables whose header has the ids of another file: their columns are the samples.
func (p *plan) turnProved() error {
	if len(p.sources) < 2 || p.o.Orientation != AutoOrientation || p.o.NoIDs || p.o.Triplets ||
		len(p.o.Table)+len(p.o.OneHot)+len(p.o.Views) > 0 {
		return nil
	}
	defer p.lim.Reset(p.lim.Used())
	known, err := p.rowIDs()
	if err != nil {
		return err
	}
	for _, s := range p.sources[:p.data] {
		for of, ids := range known {
			if of == s || !s.headerHas(ids) || within(known[s], ids) {
				continue
			}
			s.vars, s.left, s.ids, s.refused = nil, nil, nil, nil
			if err := s.text.assignTurned(); err != nil {
				return named(s.path, err)
			}
			p.notes = append(p.notes, s.path+": its columns are the samples, by the ids in its first line")
			break
		}
	}
	return nil
}

// within reports whether there are some ids, all among others.
func within(ids, others map[string]bool) bool {
	for id := range ids {
		if !others[id] {
			return false
		}
	}
	return len(ids) > 0
}

// rowIDs reads the ids that files have for their rows.
func (p *plan) rowIDs() (map[*source]map[string]bool, error) {
	known := map[*source]map[string]bool{}
	for _, s := range p.sources {
		v, err := s.idVariable(p.o)
		if err != nil || v == nil || s.role == roleMask {
			continue // chooseIDs returns the error
		}
		ids, err := v.readIDs(p.lim)
		if err != nil {
			return nil, err
		}
		known[s] = setOf(ids)
	}
	return known, nil
}

// setOf has the different ones of some names.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// headerHas reports whether the names of the columns are all among some ids, or all of these ids among the names. Names that are
// numbers show nothing.
func (s *source) headerHas(ids map[string]bool) bool {
	c := s.text
	if c == nil || c.header == nil || s.csvLabels != nil || s.role != roleData {
		return false
	}
	names := c.header
	if c.namesRows() {
		names = names[1:]
	}
	found := 0
	for _, name := range names {
		if classify([]byte(name)) != wordField {
			return false
		}
		if ids[name] {
			found++
		}
	}
	return found > 1 && (found == len(names) || found == len(ids))
}
