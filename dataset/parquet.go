package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/largemvc/largemvc/dataset/internal/columnar"
	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// parquetMagic begins and ends a Parquet file.
const parquetMagic = "PAR1"

// errStop ends the reading of a column.
var errStop = errors.New("enough")

// listParquet lists the columns of a Parquet file. Single values follow the rules of CSV files; a column of lists is a view.
func (s *source) listParquet(f io.ReaderAt, o *Options, lim *limits) error {
	t, err := openTable(f, s.size, lim)
	if err != nil {
		return err
	}
	return s.listTable(t, o, lim)
}

// openTable opens a Parquet file.
func openTable(f io.ReaderAt, size int64, lim *limits) (*columnar.Table, error) {
	if columnar.Parquet == nil {
		return nil, errors.New(fromParquet)
	}
	return columnar.Parquet(f, size, lim)
}

// listTable lists the columns of a table.
func (s *source) listTable(t *columnar.Table, o *Options, lim *limits) error {
	if t.Rows == 0 {
		return errors.New("holds columns and no rows")
	}
	s.format, s.csv = "Parquet", true
	c := &csvFile{s: s, o: o, lim: lim, records: t.Rows, firstLine: 1, firstText: map[int]csvPlace{}}
	c.header, c.index = []string{}, t.Index
	if s.ranged = t.Range != nil; s.ranged {
		c.header, c.typed, c.index = []string{t.Range.Name}, []columnar.Column{*t.Range}, []string{t.Range.Name}
	}
	var lists []*variable
	for _, column := range t.Columns {
		switch {
		case column.Width > 0:
			c.lists, lists = true, append(lists, s.listColumn(column, t))
		case column.Name == "__index_level_0__" && len(t.Index) < 2: // the index of pandas, which has no name
			c.header, c.typed = slices.Insert(c.header, 0, ""), slices.Insert(c.typed, 0, column)
		case column.Kind != columnar.Other:
			c.header, c.typed = append(c.header, column.Name), append(c.typed, column)
		case o.leavesOut(column.Name):
			s.left = append(s.left, Omission{s.path, "column " + column.Name, "by option"})
		default:
			return fmt.Errorf("has column %s of type %s, which is not read: leave it out with Options.LeaveOut %[1]s",
				column.Name,
				column.Class)
		}
	}
	c.fields, c.groups = len(c.header), t.Groups
	if err := c.makeColumns(); err != nil {
		return err
	}
	for i := range c.typed {
		if err := c.scanTyped(i); err != nil {
			return err
		}
	}
	s.table, s.text = &c.columns, c
	if err := c.assign(); err != nil {
		return err
	}
	err := c.variables()
	for _, v := range lists {
		if o.leavesOut(v.name) {
			s.left = append(s.left, Omission{s.path, "column " + v.name, "by option"})
			continue
		}
		s.vars = append(s.vars, v)
	}
	return err
}

// listColumn is the variable of a column of lists.
func (s *source) listColumn(column columnar.Column, t *columnar.Table) *variable {
	v := &variable{file: s.path, name: column.Name, class: column.Class, dims: []int{t.Rows, column.Width},
		typ: elem.Type{Kind: elem.Float64}, groups: newRowGroups(t.Groups, []columnar.Column{column}, column.Width)}
	v.line = func(row int) int { return row + 1 }
	v.column = func(k int) string { return fmt.Sprintf("column %s, value %d", v.name, k) }
	v.stream = func(run func(int, []byte) error) error { return typedRuns(&column, 0, run) }
	return v
}

// scanTyped notes the classes of the values of a column, as count does for the fields of a CSV file.
func (c *csvFile) scanTyped(i int) error {
	column, record := &c.typed[i], 0
	if column.Kind == columnar.Number {
		err := column.Floats(func(x []float64) error {
			for _, v := range x {
				if v != float64(record) {
					c.seen[i] &^= countsFrom0
				}
				if record++; v != float64(record) {
					c.seen[i] &^= countsFrom1
				}
				if v != 0 && v != 1 {
					c.seen[i] |= moreThanBits
				}
			}
			c.seen[i] |= numberField
			if c.seen[i]&(countsFrom0|countsFrom1) == 0 && c.seen[i]&moreThanBits != 0 {
				return errStop
			}
			return c.lim.Err()
		})
		if errors.Is(err, columnar.ErrRounded) { // which may be an id
			c.seen[i] = numberField | moreThanBits
			return nil
		}
		return stopped(err)
	}
	c.seen[i] = wordField | moreThanBits
	if column.Kind == columnar.Date {
		c.seen[i] = dateField | moreThanBits
	}
	err := column.Texts(func(value []byte) error {
		if record++; len(value) == 0 {
			return nil
		}
		c.firstText[i] = csvPlace{short(value), record, i}
		return errStop
	})
	return stopped(err)
}

// stopped returns an error unless it is errStop.
func stopped(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// eachOf calls visit with the fields of a column.
func (c *csvFile) eachOf(column int, visit func(line int, field []byte) error) error {
	if c.typed == nil {
		return c.each(func(_, line int, fields [][]byte) error { return visit(line, fields[column]) })
	}
	line := 0
	return c.typed[column].Texts(func(value []byte) error {
		line++
		return visit(line, value)
	})
}

// streamTyped hands over the values of some features, column by column.
func (c *csvFile) streamTyped(features []csvFeature, run func(int, []byte) error) error {
	var raw [8]byte
	for k, f := range features {
		at := k * c.records
		if !f.onehot {
			if err := typedRuns(&c.typed[f.column], at, run); err != nil {
				return fmt.Errorf("%s: %w", c.title(f.column), err)
			}
			continue
		}
		err := c.eachOf(f.column, func(line int, field []byte) error {
			binary.LittleEndian.PutUint64(raw[:], math.Float64bits(f.value(field)))
			return run(at+line-1, raw[:])
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// typedRuns hands over the numbers of a column as elements from number at on.
func typedRuns(column *columnar.Column, at int, run func(int, []byte) error) error {
	var raw []byte
	return column.Floats(func(x []float64) error {
		raw = raw[:0]
		for _, v := range x {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		at += len(x)
		return run(at-len(x), raw)
	})
}
