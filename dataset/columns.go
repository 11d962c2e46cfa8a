package dataset

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// columns are the columns of a table or a matrix, as options name them.
type columns struct {
	header []string // nil without names
	fields int
}

// columnName is how messages call a column: by its name, or by its number where it has none.
func (c *columns) columnName(i int) string { return cmp.Or(c.nameOf(i), fmt.Sprintf("column %d", i)) }

// nameOf is the name of a column in the header, empty without.
func (c *columns) nameOf(i int) string {
	if c.header == nil {
		return ""
	}
	return c.header[i]
}

// title is the same in a sentence.
func (c *columns) title(i int) string {
	if c.nameOf(i) == "" {
		return fmt.Sprintf("column %d (from 0)", i)
	}
	return "column " + c.nameOf(i)
}

// optionName is how options name a column.
func (c *columns) optionName(i int) string { return cmp.Or(c.nameOf(i), strconv.Itoa(i)) }

// find returns the column of a name, or of a number from 0 (from the end, below 0); −1 without. A name counts more.
func (c *columns) find(name string) int {
	if i := indexOfName(c.header, name, itself); i >= 0 {
		return i
	}
	i, err := strconv.Atoi(name)
	if i < 0 {
		i += c.fields
	}
	if err != nil || i < 0 || i >= c.fields {
		return -1
	}
	return i
}

// once is an error where several columns have a name that options give, for it says which to take.
func (c *columns) once(name string) error {
	var numbers []string
	for i, h := range c.header {
		if h == name {
			numbers = append(numbers, strconv.Itoa(i))
		}
	}
	if len(numbers) < 2 {
		return nil
	}
	return fmt.Errorf("has %d columns named %s: give the number of the one that is meant (%s)", len(numbers), name,
		someNames(numbers))
}

// listing names the columns, for messages.
func (c *columns) listing() string {
	if c.header == nil {
		return fmt.Sprintf("columns 0 to %d, without names", c.fields-1)
	}
	return "the columns " + someNames(c.header)
}

func isPattern(part string) bool { return strings.ContainsAny(part, "*?[") }

// of are the columns of a name, a range or a pattern, at least one. A pattern takes none that skip names.
func (c *columns) of(part string, skip func(i int) bool) ([]int, error) {
	in, err := c.matching(part, skip)
	if err == nil && len(in) == 0 {
		err = fmt.Errorf("has no column %s, but %s", part, c.listing())
	}
	return in, err
}

func (c *columns) matching(part string, skip func(i int) bool) ([]int, error) {
	if err := c.once(part); err != nil {
		return nil, err
	}
	if i := c.find(part); i >= 0 && (c.header == nil || !strings.HasPrefix(part, "-")) {
		return []int{i}, nil
	}
	in, err := c.rangeOf(part)
	if err != nil || len(in) > 0 {
		return in, err
	}
	if isPattern(part) {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("cannot use the pattern %s", part)
		}
		for i := range c.fields {
			if ok, _ := path.Match(part, c.nameOf(i)); ok && !skip(i) {
				in = append(in, i)
			}
		}
	}
	return in, nil
}

// lacks reports that a table with names has no column of any of the parts.
func (c *columns) lacks(parts []string) bool {
	return c.header != nil && !slices.ContainsFunc(parts, func(part string) bool {
		in, err := c.matching(part, func(int) bool { return false })
		return err != nil || len(in) > 0
	})
}

// rangeOf are the columns of a range, first-last, or none where part is no range.
func (c *columns) rangeOf(part string) ([]int, error) {
	for at := 1; at < len(part)-1; at++ {
		if part[at] != '-' {
			continue
		}
		first, last := strings.TrimSpace(part[:at]), strings.TrimSpace(part[at+1:])
		a, b := c.find(first), c.find(last)
		if a < 0 || b < 0 || part[at+1] == '-' {
			continue
		}
		if err := cmp.Or(c.once(first), c.once(last)); err != nil {
			return nil, err
		}
		if b < a {
			return nil, fmt.Errorf("has the columns of the range %s in reverse order", part)
		}
		in := make([]int, 0, b-a+1)
		for i := a; i <= b; i++ {
			in = append(in, i)
		}
		return in, nil
	}
	return nil, nil
}

// without lists the columns that are not used, as options name them.
func (c *columns) without(used []bool) string {
	var ranges []string
	for i := 0; i < len(used); i++ {
		if used[i] {
			continue
		}
		first := i
		for i+1 < len(used) && !used[i+1] {
			i++
		}
		name := c.optionName(first)
		if first < i {
			name += "-" + c.optionName(i)
		}
		ranges = append(ranges, name)
	}
	return someNames(ranges)
}
