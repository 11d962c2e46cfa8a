package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// headerIDs is what the ids of a table are called whose header has them.
const headerIDs = "first line"

// assignTurned makes each column of a table a sample, whose id is its name in the header. The first column names the features if
// it holds texts, or has no name or one of ids.
func (c *csvFile) assignTurned(s *source, o *Options, lim *limits) error {
	if len(o.Table)+len(o.OneHot) > 0 {
		return fmt.Errorf("has its samples in columns, and Options.Table and Options.OneHot take features: turn the table first")
	}
	c.roles = csvRoles{label: -1, id: -1}
	first := 0
	if c.namesRows() {
		first = 1
		if err := c.checkRowNames(lim); err != nil {
			return err
		}
	}
	for i := first; i < c.fields; i++ {
		switch {
		case c.leftOut(i, o):
			s.left = append(s.left, Omission{s.path, c.title(i), "by option"})
		case c.isEmpty(i):
			s.left = append(s.left, Omission{s.path, c.title(i), "it is empty and has no name"})
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
	v := c.matrix(s, s.base(), c.roles.features)
	if c.header != nil && !o.NoIDs {
		ids, _ := v.names()
		s.ids = &variable{file: s.path, name: headerIDs, class: "header", kind: text, dims: []int{len(ids)}, fromTable: true,
			strings: func() ([]string, error) { return slices.Clone(ids), nil }}
		s.vars = append(s.vars, s.ids)
	}
	v.transposed, v.colMajor, v.names, v.asText = true, true, nil, nil
	v.dims = []int{len(c.roles.features), c.records}
	if first == 1 {
		v.names = func() ([]string, error) { return c.texts(0, lim) }
	}
	s.vars = append(s.vars, v)
	return nil
}

// checkRowNames refuses a row that may give the classes of the columns.
func (c *csvFile) checkRowNames(lim *limits) error {
	names, err := c.texts(0, lim)
	for _, name := range names {
		if slices.Contains(labelNames, strings.ToLower(name)) {
			return fmt.Errorf("has a row %s, which may give the classes of the columns: take it out, and give the classes in a "+
				"file of their own", name)
		}
	}
	return err
}

// namesRows tells whether the first column of a table names its rows.
func (c *csvFile) namesRows() bool {
	return c.fields > 1 && (c.seen[0]&wordField != 0 || c.unnamedFirst() || c.header != nil && namesIDs(c.header[0]))
}

// turnProved turns the tables whose header has the ids of another file: their columns are the samples.
func (p *plan) turnProved(data int, o *Options) error {
	if len(p.sources) < 2 || o.Orientation != AutoOrientation || o.NoIDs || o.Triplets ||
		len(o.Table)+len(o.OneHot)+len(o.Views) > 0 {
		return nil
	}
	defer p.lim.Reset(p.lim.Used())
	known, err := p.rowIDs(o)
	if err != nil {
		return err
	}
	for _, s := range p.sources[:data] {
		for of, ids := range known {
			if of == s || !s.headerHas(ids) || within(known[s], ids) {
				continue
			}
			s.vars, s.left, s.ids, s.problem = nil, nil, nil, nil
			if err := s.text.assignTurned(s, o, p.lim); err != nil {
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
func (p *plan) rowIDs(o *Options) (map[*source]map[string]bool, error) {
	known := map[*source]map[string]bool{}
	for _, s := range p.sources {
		v, err := s.idVariable(o)
		if err != nil || v == nil || s.role == roleMask {
			continue // chooseIDs returns the error
		}
		same := *s
		same.ids = v
		ids, err := same.readIDs(p.lim)
		if err != nil {
			return nil, err
		}
		known[s] = map[string]bool{}
		for _, id := range ids {
			known[s][id] = true
		}
	}
	return known, nil
}

// headerHas tells whether the names of the columns are all among some ids, or all of these ids among the names. Names that are
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
