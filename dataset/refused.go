package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostRefused is the largest number of columns that an error lists.
const mostRefused = 100

// refused are the columns of a table that are no features: the reason of the first one, and the names of all; nil: no feature
// would be left without them.
type refused struct {
	first   error
	columns []string
	noIDs   bool // whether no column of the table has the ids
}

// curedError is an error with options with which the file can be read; nil: there are none.
type curedError struct {
	error
	options [][2]string
}

// Unwrap returns the error without the options.
func (e *curedError) Unwrap() error { return e.error }

// Cure returns the options with which the file can be read, each by its name and its value.
func (e *curedError) Cure() [][2]string { return e.options }

// Cure returns the options with which all files can be read; nil if one cannot.
func (j joined) Cure() (all [][2]string) {
	for _, err := range j {
		var one interface{ Cure() [][2]string }
		if !errors.As(err, &one) || one.Cure() == nil {
			return nil
		}
		for _, option := range one.Cure() {
			k := slices.IndexFunc(all, func(o [2]string) bool { return o[0] == option[0] })
			if k < 0 {
				all = append(all, option)
			} else if option[0] == "Options.LeaveOut" {
				all[k][1] += "," + option[1]
			}
		}
	}
	return all
}

// refuse sets the problem of a file of data with columns that are no features.
func (c *csvFile) refuse() {
	var first error
	var names []string
	at, all := c.fields, len(c.roles.texts)+len(c.roles.features)
	add := func(i int, err error) {
		if err == nil {
			return
		}
		if names = append(names, c.optionName(i)); i < at {
			first, at = err, i
		}
	}
	for _, i := range c.roles.texts[:min(len(c.roles.texts), mostRefused+1)] {
		add(i, c.textError(i))
	}
	for _, f := range c.roles.features {
		if len(names) > mostRefused || c.holdsTriplets() {
			break
		}
		if !f.onehot {
			add(f.column, c.checkFeature(f.column))
		}
	}
	if len(names) == all {
		names = nil
	}
	if first != nil {
		c.s.refused = &refused{first, names, c.roles.id < 0}
	}
}

// checkColumns returns the error of all columns of the data that are no features.
func (p *plan) checkColumns() error {
	var first error
	var names, where []string
	hopeless, unjoined := false, 0
	for _, s := range p.sources[:p.data] {
		if s.refused == nil || len(p.o.Views) > 0 && len(s.has(p.o.Views)) == 0 {
			continue
		}
		if first == nil {
			first = named(s.path, s.refused.first)
		}
		if s.refused.noIDs {
			unjoined++
		}
		for _, name := range s.refused.columns {
			hopeless = hopeless || strings.Contains(name, ",")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		hopeless = hopeless || s.refused.columns == nil
		where = append(where, fmt.Sprintf("%s of %s", strings.Join(s.refused.columns, ", "), s.path))
	}
	if first == nil || hopeless || len(names) > mostRefused {
		return first
	}
	return p.leftOutError(first, names, where, unjoined)
}

// leftOutError proposes to leave out the named columns, unless that would match by their places rows that have ids. where has the
// names with their files, unjoined is the number of these files without ids.
func (p *plan) leftOutError(first error, names, where []string, unjoined int) error {
	all := strings.Join(names, ",")
	if unjoined > 0 && p.data > 1 {
		return fmt.Errorf("%w. Columns that are no features: %s. Those that name the samples go into Options.IDs, separated by "+
			"commas. Options.LeaveOut %s leaves them out, and rows of files without ids are matched by their places", first,
			strings.Join(where, "; "), all)
	}
	if len(names) > 1 {
		first = fmt.Errorf("%w. Columns that are no features: %s. Options.LeaveOut %s leaves them out", first,
			strings.Join(where, "; "), all)
	}
	return &curedError{first, [][2]string{{"Options.LeaveOut", all}}}
}
