package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// mostRefused is the largest number of columns that an error lists.
const mostRefused = 100

// refusedError is the error that columns of tables are no features: the reason of the first one, and the names of all.
type refusedError struct {
	error
	columns []string
}

// Unwrap returns the error without the names.
func (e *refusedError) Unwrap() error { return e.error }

// LeaveOut returns what Options.LeaveOut has to name for the files to be read without these columns.
func (e *refusedError) LeaveOut() []string { return e.columns }

// checkColumns returns the error of all columns of the data that are no features.
func (p *plan) checkColumns(data int, o *Options) error {
	var first error
	var names, where []string
	hopeless := false
	for _, s := range p.sources[:data] {
		if s.problem == nil || len(o.Views) > 0 && len(s.has(o.Views)) == 0 {
			continue
		}
		if first == nil {
			first = named(s.path, s.problem)
		}
		for _, name := range s.refused {
			hopeless = hopeless || strings.Contains(name, ",")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		hopeless = hopeless || s.refused == nil
		where = append(where, fmt.Sprintf("%s of %s", strings.Join(s.refused, ", "), s.path))
	}
	if first == nil || hopeless || len(names) > mostRefused {
		return first
	}
	if len(names) > 1 {
		first = fmt.Errorf("%w. No features are: %s. Options.LeaveOut %s leaves all of them out",
			first, strings.Join(where, "; "), strings.Join(names, ","))
	}
	return &refusedError{first, names}
}
