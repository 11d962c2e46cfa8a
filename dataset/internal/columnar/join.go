package columnar

import (
	"context"
	"fmt"
	"slices"
)

// Join returns one table with the rows of all, whose names are for messages. Their columns must be the same.
func Join(tables []*Table, names []string) (*Table, error) {
	first := slices.IndexFunc(tables, func(t *Table) bool { return t.Rows > 0 }) // files without rows have lists of no width
	first = max(first, 0)
	out := &Table{Columns: slices.Clone(tables[first].Columns), Index: tables[first].Index}
	var owner, group []int // of each group, its table and its number there
	for k, t := range tables {
		if err := t.same(tables[first], names[k], names[first]); err != nil {
			return nil, err
		}
		out.Rows, out.Groups = out.Rows+t.Rows, append(out.Groups, t.Groups...)
		for g := range t.Groups {
			owner, group = append(owner, k), append(group, g)
		}
	}
	each := func(visit func(t *Table) error) error {
		for k, t := range tables {
			if t.Rows == 0 {
				continue
			}
			if err := visit(t); err != nil {
				return fmt.Errorf("in %s: %w", names[k], err)
			}
		}
		return nil
	}
	for j := range out.Columns {
		c := &out.Columns[j]
		if c.Floats != nil {
			c.Floats = func(visit func([]float64) error) error {
				return each(func(t *Table) error { return t.Columns[j].Floats(visit) })
			}
		}
		if c.Texts != nil {
			c.Texts = func(visit func([]byte) error) error {
				return each(func(t *Table) error { return t.Columns[j].Texts(visit) })
			}
		}
		if c.Part != nil {
			c.Part = func(ctx context.Context, g, lo, hi int, visit func([]float64) error) error {
				return tables[owner[g]].Columns[j].Part(ctx, group[g], lo, hi, visit)
			}
		}
	}
	return out, nil
}

// sameColumns says how to mend parts with other columns.
const sameColumns = "parts of one table need the same columns; give the files of other tables one by one"

// same returns an error if the columns of t are not those that other has.
func (t *Table) same(other *Table, name, otherName string) error {
	for j := range max(len(t.Columns), len(other.Columns)) {
		if j >= len(t.Columns) {
			return fmt.Errorf("%s lacks column %s of %s: %s", name, other.Columns[j].Name, otherName, sameColumns)
		}
		c := t.Columns[j]
		if j >= len(other.Columns) || c.Name != other.Columns[j].Name {
			return fmt.Errorf("%s has column %s in place %d, which %s does not have there: %s", name, c.Name, j, otherName,
				sameColumns)
		}
		if x := other.Columns[j]; c.Class != x.Class || t.Rows > 0 && c.Width != x.Width {
			return fmt.Errorf("%s has column %s of type %s, and %s has it of type %s: %s", name, c.Name, c.describe(),
				otherName, x.describe(), sameColumns)
		}
	}
	return nil
}

// describe is the type of a column in words.
func (c *Column) describe() string {
	if c.Width > 0 {
		return fmt.Sprintf("%s with %d values", c.Class, c.Width)
	}
	return c.Class
}
