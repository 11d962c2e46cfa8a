package dataset

import (
	"fmt"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
)

// mostShared is the largest number of columns that are looked at for ids of no known name, and fewestShared the smallest number
// of rows in which different values are no chance.
const (
	mostShared   = 64
	fewestShared = 20
)

// checkShared returns an error if a column of two tables without ids may name their samples: it has the same name in both, and
// different texts or whole numbers in all rows of each.
func (p *plan) checkShared() error {
	if p.data < 2 || p.o.NoIDs || p.o.Orientation == ColumnsAreSamples {
		return nil
	}
	defer p.lim.Reset(p.lim.Used())
	type column struct {
		of     *source
		number int
	}
	looked, first := 0, map[string]column{} // of each name
	for _, s := range p.sources[:p.data] {
		if !s.withoutIDs() {
			continue
		}
		if err := p.lim.Take("the names of its columns", 64*int64(len(s.text.header))); err != nil {
			return named(s.path, err)
		}
		for i, name := range s.text.header {
			if s.text.hasRole(i, name) {
				continue
			}
			at, ok := first[name]
			if !ok {
				first[name] = column{s, i}
			} else if looked++; looked <= mostShared && at.of != s && at.of.text.checkID(at.number, false) == nil &&
				s.text.checkID(i, false) == nil {
				return fmt.Errorf("dataset: %s and %s have the column %s with a different value in each row: give "+
					"Options.IDs %[3]s if it names the samples, Options.LeaveOut %[3]s if it is no feature, or "+
					"Options.NoIDs if the rows are in the same order", at.of.path, s.path, name)
			}
		}
	}
	return nil
}

// hasRole reports whether the options or the name say what a column is.
func (c *csvFile) hasRole(i int, name string) bool {
	return name == "" || i == c.roles.label || c.o.leavesOut(name) || matches(c.o.OneHot, name)
}

// withoutIDs reports whether a source is a table with names of columns, enough rows to judge by, and no ids.
func (s *source) withoutIDs() bool {
	c := s.text
	return c != nil && c.header != nil && c.roles.id < 0 && c.records >= fewestShared
}

// checkParts returns an error if two tables without ids name the same features: they may be parts of one table, or
// hold the same samples in their columns.
func (p *plan) checkParts() error {
	seen := map[string]*source{}
	for _, s := range p.sources[:p.data] {
		c := s.text
		if c == nil || c.header == nil || c.roles.id >= 0 || len(c.roles.features) < 2 || p.o.NoIDs ||
			p.o.Orientation != AutoOrientation {
			continue
		}
		names := lists.Texts(c.roles.features, c.featureName)
		key := strings.Join(names, "\x00")
		if other := seen[key]; other != nil {
			return fmt.Errorf("dataset: %s has the same columns as %s (%s), and neither has ids. Put parts of one table into "+
				"one file; if they are views whose row i is the same sample, give Options.NoIDs; if the columns are the "+
				"samples, give Options.Orientation columns", s.path, other.path, someNames(names))
		}
		seen[key] = s
	}
	return nil
}
