// Package parquet lets package dataset read Parquet files, and writes tables as Parquet. It is apart so that only programs that
// import it build its dependency. Import it for its effect:
//
//	import _ "github.com/largemvc/largemvc/dataset/parquet"
package parquet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/dataset/internal/columnar"
)

func init() { columnar.Parquet = open }

const (
	maxColumns  = 1 << 20
	maxRows     = 1 << 40
	columnBytes = 1 << 10 // memory of the notes on a column in each group of rows
	batch       = 1 << 10 // values that are decoded at once
	readBytes   = 1 << 18 // bytes that are read at once
)

// errShort says that a file ends before its values do.
var errShort = errors.New("is damaged: a column has another number of values than the file has rows")

// guard turns a panic on a damaged file into an error.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("is damaged (%v)", p)
	}
}

// reader is an open file.
type reader struct {
	file *parquet.File
	raw  io.ReaderAt // whose bytes are not counted
	rows int
	lim  *budget.Budget
}

// open lists the columns of a file.
func open(raw io.ReaderAt, size int64, lim *budget.Budget) (t *columnar.Table, err error) {
	defer guard(&err)
	r := lim.ReaderAt(raw)
	var tail [8]byte
	if size < 12 {
		return nil, errors.New("is truncated")
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	footer := int64(tail[0]) | int64(tail[1])<<8 | int64(tail[2])<<16 | int64(tail[3])<<24
	if string(tail[4:]) != "PAR1" || footer > size-12 {
		return nil, errors.New("is truncated, or encrypted: its last bytes are not those of a Parquet file")
	}
	if err := lim.Take("the list of its columns", 16*footer); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true),
		parquet.ReadBufferSize(readBytes))
	if err != nil {
		return nil, fmt.Errorf("is damaged, or of a kind that is not read: %w", err)
	}
	rows := f.NumRows()
	in := &reader{f, raw, int(rows), lim}
	if err := in.check(rows); err != nil {
		return nil, err
	}
	t = &columnar.Table{Rows: int(rows)}
	t.Index, t.Range = indexOf(f)
	for _, g := range f.Metadata().RowGroups {
		t.Groups = append(t.Groups, int(g.NumRows))
	}
	for _, c := range f.Root().Columns() {
		column, err := in.column(c)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name(), err)
		}
		t.Columns = append(t.Columns, column)
	}
	return t, nil
}

// indexOf returns the columns that pandas calls the index, or the numbers of an index that no column holds. A range that counts
// the rows from 0 is none and, as in pandas, so is a range of another number of rows.
func indexOf(f *parquet.File) (names []string, numbers *columnar.Column) {
	var about struct {
		Index []json.RawMessage `json:"index_columns"` // names, and objects for ranges
	}
	text, _ := f.Lookup("pandas")
	if json.Unmarshal([]byte(text), &about) != nil {
		return nil, nil
	}
	for _, x := range about.Index {
		var name string
		var r span
		switch {
		case json.Unmarshal(x, &name) == nil:
			names = append(names, name)
		case json.Unmarshal(x, &r) == nil && r.Kind == "range" && len(about.Index) == 1 && (r.Start != 0 || r.Step != 1):
			numbers = r.column(f.NumRows())
		}
	}
	return names, numbers
}

// span is a range of numbers that pandas describes in place of a column.
type span struct {
	Kind, Name        string
	Start, Stop, Step int64
}

// column returns a column of the numbers; nil if they are not one for each row.
func (r span) column(rows int64) *columnar.Column {
	sign := int64(cmp.Compare(r.Step, 0))
	if r.Step == 0 || (r.Stop-r.Start+r.Step-sign)/r.Step != rows { // as many as range(start, stop, step) has
		return nil
	}
	each := func(visit func(x int64) error) error {
		for i := range rows {
			if err := visit(r.Start + i*r.Step); err != nil {
				return err
			}
		}
		return nil
	}
	return &columnar.Column{Name: r.Name, Kind: columnar.Number, Class: "range",
		Floats: func(visit func([]float64) error) error {
			return each(func(x int64) error { return visit([]float64{float64(x)}) })
		},
		Texts: func(visit func([]byte) error) error {
			return each(func(x int64) error { return visit(strconv.AppendInt(nil, x, 10)) })
		}}
}

// check refuses sizes that cannot be.
func (in *reader) check(rows int64) error {
	sum, leaves := int64(0), len(in.file.Schema().Columns())
	for _, g := range in.file.Metadata().RowGroups {
		if g.NumRows < 0 || g.NumRows > maxRows-sum || len(g.Columns) != leaves {
			return errors.New("is damaged (the sizes of its row groups)")
		}
		sum += g.NumRows
		for _, c := range g.Columns {
			if codec := c.MetaData.Codec; codec == format.Lz4 || codec == format.LZO {
				return fmt.Errorf("is compressed by %v, in a framing that is not read: write it with zstd, snappy or lz4_raw "+
					"(DuckDB: COPY … TO 'x.parquet' (CODEC zstd); pandas: to_parquet(compression='zstd'))", codec)
			}
		}
	}
	if rows != sum || leaves > maxColumns {
		return fmt.Errorf("has %d columns and %d rows, and row groups of %d; up to %d columns are read", leaves, rows, sum,
			maxColumns)
	}
	return in.lim.Take("the list of its columns", columnBytes*int64(leaves))
}

// column describes a column: a single value a row, or a list of numbers.
func (in *reader) column(c *parquet.Column) (columnar.Column, error) {
	leaf := c
	for len(leaf.Columns()) == 1 {
		leaf = leaf.Columns()[0]
	}
	out := columnar.Column{Name: c.Name(), Kind: columnar.Other, Class: "struct"}
	if !leaf.Leaf() {
		return out, nil
	}
	out.Class = leaf.Type().String()
	number, kind := kindOf(leaf.Type())
	switch {
	case c.Leaf() && !c.Repeated():
		out.Kind = kind
	case leaf.MaxRepetitionLevel() == 1 && number != nil:
		out.Class = "list of " + out.Class
		width, err := in.width(leaf)
		if err != nil {
			return out, err
		}
		out.Kind, out.Width = columnar.Number, width
	default:
		out.Class = "list of " + out.Class
		return out, nil
	}
	if number != nil {
		out.Floats = func(visit func([]float64) error) error { return in.floats(leaf, number, out.Width, visit) }
		out.Part = func(ctx context.Context, group, lo, hi int, visit func([]float64) error) error {
			r := &numbers{leaf: leaf, number: number, width: out.Width, most: hi - lo, over: errEnough}
			return in.part(ctx, r, group, lo, visit)
		}
	}
	if out.Width == 0 && out.Kind != columnar.Other {
		out.Texts = func(visit func([]byte) error) error { return in.texts(leaf, visit) }
	}
	return out, nil
}

// kindOf returns how to read values of a type. number is nil for a type without numbers.
func kindOf(t parquet.Type) (number func(parquet.Value) float64, kind columnar.Kind) {
	if l := t.LogicalType(); l != nil {
		switch l.Value.(type) {
		case *format.StringType, *format.EnumType:
			return nil, columnar.Text
		case *format.DateType, *format.TimeType, *format.TimestampType:
			return nil, columnar.Date
		case *format.IntType:
			switch {
			case !unsigned(t):
			case t.Kind() == parquet.Int32:
				return func(v parquet.Value) float64 { return float64(v.Uint32()) }, columnar.Number
			default:
				return func(v parquet.Value) float64 { return float64(v.Uint64()) }, columnar.Number
			}
		default: // decimal numbers, UUIDs, JSON, half floats …
			return nil, columnar.Other
		}
	}
	switch t.Kind() {
	case parquet.Boolean:
		return func(v parquet.Value) float64 {
			if v.Boolean() {
				return 1
			}
			return 0
		}, columnar.Number
	case parquet.Int32:
		return func(v parquet.Value) float64 { return float64(v.Int32()) }, columnar.Number
	case parquet.Int64:
		return func(v parquet.Value) float64 { return float64(v.Int64()) }, columnar.Number
	case parquet.Float:
		return func(v parquet.Value) float64 { return float64(v.Float()) }, columnar.Number
	case parquet.Double:
		return func(v parquet.Value) float64 { return v.Double() }, columnar.Number
	case parquet.ByteArray: // older writers do not say that it is text
		return nil, columnar.Text
	}
	return nil, columnar.Other
}

// unsigned reports whether a type has whole numbers from 0.
func unsigned(t parquet.Type) bool {
	if l := t.LogicalType(); l != nil {
		whole, ok := l.Value.(*format.IntType)
		return ok && !whole.IsSigned
	}
	return false
}

// values calls visit with the values of a leaf, group of rows after group of rows.
func (in *reader) values(leaf *parquet.Column, to visitor) (err error) {
	defer guard(&err)
	to.step = in.lim.Step
	for _, g := range in.file.RowGroups() {
		if err := to.drain(g.ColumnChunks()[leaf.Index()].Pages()); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends the reading of a part of a column.
var errEnough = errors.New("enough")

// part visits the numbers of rows from lo on of a group of rows, as many as r asks for.
func (in *reader) part(ctx context.Context, r *numbers, group, lo int, visit func([]float64) error) (err error) {
	defer guard(&err)
	c, ok := in.file.RowGroups()[group].ColumnChunks()[r.leaf.Index()].(*parquet.FileColumnChunk)
	if !ok {
		return errShort
	}
	raw := budget.Until(ctx, in.raw)
	if lo > 0 { // without the index all pages before are decoded
		_, _ = c.OffsetIndexFrom(raw)
	}
	pages := c.PagesFrom(raw)
	if err := pages.SeekToRow(int64(lo)); err != nil {
		return errors.Join(fmt.Errorf("is damaged: %w", err), pages.Close())
	}
	return r.all(visit, func(to visitor) error {
		to.step = func(int64) error { return ctx.Err() }
		return to.drain(pages)
	})
}

// visitor sees the values of a column.
type visitor struct {
	step   func(bytes int64) error                   // sees how many bytes were decoded
	page   func(parquet.Page) (seen bool, err error) // sees a page, whose values values need not see; nil: it never does
	values func([]parquet.Value) error
}

// drain reads pages to their end and closes them.
func (to *visitor) drain(pages parquet.Pages) error {
	defer pages.Close()
	var buffer []parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is damaged: %w", err)
		}
		if to.page != nil {
			seen, err := to.page(page)
			if err = errors.Join(err, to.step(8*page.NumValues())); err != nil {
				return err
			}
			if seen {
				parquet.Release(page)
				continue
			}
		}
		if buffer == nil {
			buffer = make([]parquet.Value, batch)
		}
		for values := page.Values(); err == nil; {
			var n int
			n, err = values.ReadValues(buffer)
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("is damaged: %w", err)
			}
			if n == 0 && err == nil {
				return errShort
			}
			if failed := errors.Join(to.step(8*int64(n)), visitSome(buffer[:n], to.values)); failed != nil {
				return failed
			}
		}
		parquet.Release(page)
	}
}

func visitSome(values []parquet.Value, visit func([]parquet.Value) error) error {
	if len(values) == 0 {
		return nil
	}
	return visit(values)
}

// floats visits numbers. Each row of lists has width of them, or none, which are all missing.
func (in *reader) floats(leaf *parquet.Column, number func(parquet.Value) float64, width int, visit func([]float64) error) error {
	r := &numbers{leaf: leaf, number: number, width: width, most: in.rows, over: errShort}
	return r.all(visit, func(to visitor) error { return in.values(leaf, to) })
}

// all visits the numbers of the values that read hands over.
func (r *numbers) all(visit func([]float64) error, read func(visitor) error) error {
	r.at = max(r.width, 1)
	err := read(visitor{
		page: func(p parquet.Page) (bool, error) { return r.plain(p, visit) },
		values: func(values []parquet.Value) error {
			r.x = r.x[:0]
			var err error
			for k := 0; k < len(values) && err == nil; k++ {
				err = r.add(values[k])
			}
			if err != nil && !errors.Is(err, errEnough) {
				return err
			}
			return errors.Join(visit(r.x), err)
		},
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return err
	}
	r.x = r.x[:0]
	if err := r.end(); err != nil {
		return err
	}
	if r.rows != r.most {
		return errShort
	}
	return visit(r.x)
}

// numbers gathers the values of a leaf, row by row.
type numbers struct {
	leaf   *parquet.Column
	number func(parquet.Value) float64
	width  int   // of a list; 0: a row has one value
	most   int   // rows
	over   error // at a further row
	x      []float64
	rows   int // that have begun
	at     int // values of the last one
}

// plain visits the numbers of a page of whole rows without missing values and without a dictionary. It reports whether it did.
func (r *numbers) plain(p parquet.Page, visit func([]float64) error) (seen bool, err error) {
	width, data := max(r.width, 1), p.Data()
	if p.Dictionary() != nil || p.NumNulls() > 0 || r.at != width {
		return false, nil
	}
	switch data.Kind() {
	case encoding.Float:
		return plainRows(r, p, data.Float(), visit)
	case encoding.Double:
		return plainRows(r, p, data.Double(), visit)
	}
	return false, nil
}

// plainRows visits the values of a page, if each row has as many as the others.
func plainRows[T float32 | float64](r *numbers, p parquet.Page, values []T, visit func([]float64) error) (bool, error) {
	width := max(r.width, 1)
	if int64(len(values)) != p.NumValues() || len(values)%width != 0 {
		return false, nil
	}
	if r.width > 0 {
		levels := p.RepetitionLevels()
		if len(levels) != len(values) {
			return false, nil
		}
		for k, l := range levels {
			if (l == 0) != (k%width == 0) {
				return false, nil
			}
		}
	}
	rows := min(len(values)/width, r.most-r.rows)
	r.rows += rows
	for part := range slices.Chunk(values[:rows*width], batch) {
		r.x = r.x[:0]
		for _, v := range part {
			r.x = append(r.x, float64(v))
		}
		if err := visit(r.x); err != nil {
			return true, err
		}
	}
	if rows*width < len(values) {
		return true, r.over
	}
	return true, nil
}

// end completes the last row.
func (r *numbers) end() error {
	if r.at != max(r.width, 1) && r.at != 0 {
		return fmt.Errorf("has %d values in row %d, and %d in others", r.at, r.rows, r.width)
	}
	for ; r.at < r.width; r.at++ {
		r.x = append(r.x, math.NaN())
	}
	return nil
}

// add takes in a value.
func (r *numbers) add(v parquet.Value) error {
	if v.RepetitionLevel() == 0 {
		if err := r.end(); err != nil {
			return err
		}
		if r.rows == r.most {
			return r.over
		}
		r.rows, r.at = r.rows+1, 0
	}
	switch {
	case r.width == 0 && r.at == 1:
		return errShort
	case r.at == max(r.width, 1):
		return fmt.Errorf("has more than %d values in row %d, and %[1]d in others", r.width, r.rows)
	case r.width > 0 && v.IsNull() && v.DefinitionLevel() < r.leaf.MaxDefinitionLevel()-optional(r.leaf):
		return nil // no list, or an empty one
	}
	r.at++
	if v.IsNull() {
		r.x = append(r.x, math.NaN())
		return nil
	}
	y := r.number(v)
	if v.Kind() == parquet.Int64 && math.Abs(y) >= 1<<53 && (y >= 1<<63 || int64(y) != v.Int64()) {
		return fmt.Errorf("has the whole number %s in row %d; %w", appendText(nil, v, unsigned(r.leaf.Type())), r.rows,
			columnar.ErrRounded)
	}
	r.x = append(r.x, y)
	return nil
}

// optional is 1 where the elements of a list may be missing.
func optional(leaf *parquet.Column) int {
	if leaf.Optional() {
		return 1
	}
	return 0
}

// width is the number of values in the first list that has any.
func (in *reader) width(leaf *parquet.Column) (int, error) {
	if in.rows == 0 {
		return 1, nil
	}
	n := 0
	found := errors.New("found")
	err := in.values(leaf, visitor{values: func(values []parquet.Value) error {
		for _, v := range values {
			if v.RepetitionLevel() == 0 && n > 0 {
				return found
			}
			if v.DefinitionLevel() >= leaf.MaxDefinitionLevel()-optional(leaf) {
				n++
			}
		}
		return nil
	}})
	if err != nil && !errors.Is(err, found) {
		return 0, err
	}
	if n == 0 {
		return 0, errors.New("has no list with a value")
	}
	return n, nil
}

// texts visits values as text, numbers with the fewest digits that give them back.
func (in *reader) texts(leaf *parquet.Column, visit func([]byte) error) error {
	rows, natural := 0, unsigned(leaf.Type())
	var text []byte
	err := in.values(leaf, visitor{values: func(values []parquet.Value) error {
		for _, v := range values {
			if rows++; rows > in.rows {
				return errShort
			}
			text = appendText(text[:0], v, natural)
			if err := visit(text); err != nil {
				return err
			}
		}
		return nil
	}})
	if err == nil && rows != in.rows {
		return errShort
	}
	return err
}

// appendText appends a value as text, and nothing for a missing value. natural says that whole numbers are unsigned.
func appendText(to []byte, v parquet.Value, natural bool) []byte {
	switch {
	case v.IsNull():
		return to
	case v.Kind() == parquet.ByteArray:
		return append(to, v.ByteArray()...)
	case v.Kind() == parquet.Float:
		return columnar.AppendFloat(to, float64(v.Float()), 32)
	case v.Kind() == parquet.Double:
		return columnar.AppendFloat(to, v.Double(), 64)
	case v.Kind() == parquet.Int64 && natural:
		return strconv.AppendUint(to, v.Uint64(), 10)
	case v.Kind() == parquet.Int32 && natural:
		return strconv.AppendUint(to, uint64(v.Uint32()), 10)
	}
	return append(to, v.String()...)
}
