package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/largemvc/largemvc/dataset/internal/columnar"
	"github.com/largemvc/largemvc/dataset/internal/elem"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/textfile"
)

// csvFile is a text file of records: what its first pass found.
type csvFile struct {
	s         *source
	o         *Options
	lim       *limits
	open      func() (io.Reader, error) // the text from its beginning, as UTF-8
	delimiter byte
	comma     bool              // numbers have a decimal comma
	columns                     // the names in the header, and how many there are
	typed     []columnar.Column // of a table with types; nil: it is text
	groups    []int             // rows of each of its groups
	index     []string          // columns that are the index of pandas
	lists     bool              // it has columns of lists, which are not among the columns
	skip      int               // records before the first sample
	records   int               // samples
	comments  int
	firstLine int  // the line of the first sample
	inComment bool // the header stands in a comment
	ended     bool // the header has a name less than the second record has fields, and the last of these is empty
	gaps      int  // places between two records with empty lines

	textHeader bool // the header is texts alone, which no record below may repeat
	latin1     bool // a field is no UTF-8

	seen      []fieldClass     // of each column, the classes of all its fields
	firstText map[int]csvPlace // of each column, its first field that is not a number
	roles     csvRoles
	csvNumbers
}

// csvPlace is a field of a CSV file.
type csvPlace struct {
	text   string
	line   int // from 1; 0: there is no such field
	column int
}

// listCSV goes through the file once: the number of records is needed before memory is taken for their values.
func (s *source) listCSV(f io.ReaderAt, gz bool, o *Options, lim *limits) error {
	s.format = "CSV"
	c := &csvFile{s: s, o: o, lim: lim, firstText: map[int]csvPlace{}}
	c.open = func() (io.Reader, error) { return textfile.Decode(lim.TextReader(io.NewSectionReader(f, 0, s.size))) }
	if gz {
		s.format = "CSV (gzip)"
		c.open = func() (io.Reader, error) { return openGzip(io.NewSectionReader(f, 0, s.size), lim) }
	}
	if err := c.scan(); err != nil {
		return err
	}
	s.table, s.text = &c.columns, c
	note := func(applies bool, format string, args ...any) {
		if applies {
			s.notes = append(s.notes, s.path+": "+fmt.Sprintf(format, args...))
		}
	}
	note(c.comments > 0, "read as comments: %s with # at the beginning", textfile.Count(c.comments, "line"))
	name := c.twice()
	note(name != "" && c.fields <= 1<<16, "two columns are named %s", name)
	note(c.gaps > 0, "empty lines are skipped, at %s between the records", textfile.Count(c.gaps, "place"))
	note(c.inComment, "the last comment before the data names the columns")
	note(c.comma, "its numbers have a decimal comma")
	note(c.latin1, "it has bytes that are no UTF-8, and is read as Latin-1")
	if o.Orientation == ColumnsAreSamples && s.role == roleData {
		return c.assignTurned()
	}
	if err := c.assign(); err != nil {
		return err
	}
	return c.variables()
}

// openGzip returns the text of a compressed file.
func openGzip(f io.Reader, lim *limits) (io.Reader, error) {
	z, err := textfile.NewGzipReader(f)
	if err != nil {
		return nil, err
	}
	b := newBuffered(lim.TextReader(z))
	if head, err := b.Peek(512); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if err := unpacked(head); err != nil {
		return nil, err
	}
	return textfile.Decode(b)
}

// scan finds delimiter, header, records, fields, and what the fields of each column look like.
func (c *csvFile) scan() error {
	r, err := c.open()
	if err != nil {
		return err
	}
	lines := newLineReader(r, byte(c.o.Delimiter), c.lim)
	defer lines.done()
	first, firstLine, err := c.begin(lines, byte(c.o.Delimiter))
	if err != nil {
		return err
	}
	lines.tabs = bytes.IndexByte(first, '\t') >= 0
	line, err := lines.next()
	if first, err = c.findFields(first, line, err); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	lines.delimiter = c.delimiter
	if err := c.makeColumns(); err != nil {
		return err
	}
	if err := c.chooseHeader(first, line, lines.lastComment); err != nil {
		return err
	}
	if c.header == nil || c.inComment {
		if err := c.count(first, firstLine); err != nil {
			return err
		}
	}
	for ; err == nil; line, err = lines.next() {
		if err := c.countBelow(line, lines); err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	c.comments = lines.comments
	c.moveNames()
	if c.records == 0 {
		return errors.New("holds a header and no data")
	}
	return c.chooseDecimal()
}

// findFields finds the delimiter and the number of fields. It returns the first record, completed where it lacks a name, and
// the error end of reading the second unless it finds one.
func (c *csvFile) findFields(first, second []byte, end error) ([]byte, error) {
	if end != nil && !errors.Is(end, io.EOF) {
		return nil, end
	}
	if c.delimiter == 0 {
		c.delimiter = guessDelimiter(first, second, c.o.Decimal)
	}
	c.fields = countFields(first, c.delimiter)
	if !c.lacksName(first, second) {
		return first, end
	}
	below := splitFields(nil, second, c.delimiter)
	if c.fields == 1 && c.delimiter == ',' && mayBeOneNumber(below[0], below[1]) {
		return nil, fmt.Errorf("has one name, %s, above two fields, %q: if they are one number with a decimal comma, give "+
			"Options.Decimal comma; if they are two columns, write a name above each", first, second)
	}
	c.fields++
	if c.ended = len(below[len(below)-1]) == 0; c.ended { // by a delimiter at the end of each record, until a record has more
		return append(slices.Clip(first), c.delimiter), end
	}
	return append([]byte{'"', '"', c.delimiter}, first...), end // as write.table of R has it: no name above the names of the rows
}

// moveNames moves the names of a header to the last columns if a record has a value where it should end: then the second record
// lacks that value, and the first column has the names of the rows.
func (c *csvFile) moveNames() {
	last := c.fields - 1
	if c.ended && c.header != nil && !c.inComment && c.seen[last]&^moreThanBits != missingField {
		c.header = append([]string{""}, c.header[:last]...)
	}
}

// mayBeOneNumber reports whether two fields beside a comma may be a number, also with the name of its row before it: r1 0,5.
func mayBeOneNumber(before, after []byte) bool {
	last := before[bytes.LastIndexByte(before, ' ')+1:]
	return classify(last)&numberField != 0 && (len(last) == len(before) || isDigits(after))
}

// countBelow takes in a record below the first and the empty lines before it.
func (c *csvFile) countBelow(line []byte, lines *lineReader) error {
	if err := c.count(line, lines.number); err != nil {
		return err
	}
	if lines.gap > 0 && c.records > 1 {
		if c.fields == 1 {
			return fmt.Errorf("has one column, and nothing in line %d: if a value is missing there, write NA, else take the "+
				"line out", lines.gap)
		}
		c.gaps++
	}
	return c.lim.Err()
}

// lacksName reports whether the first record has names for all columns of the second but its first.
func (c *csvFile) lacksName(first, second []byte) bool {
	if c.o.Header == NoHeader || second == nil || countFields(second, c.delimiter) != c.fields+1 {
		return false
	}
	return allWords(splitFields(nil, first, c.delimiter))
}

// begin reads up to the first record, which it copies. A line sep=; before it, as Excel writes it, names the delimiter.
func (c *csvFile) begin(lines *lineReader, delimiter byte) (first []byte, line int, err error) {
	c.delimiter = delimiter
	for {
		text, err := lines.next()
		if errors.Is(err, io.EOF) {
			if lines.comments > 0 {
				return nil, 0, errors.New("holds only comments (lines that begin with #), no data")
			}
			return nil, 0, errors.New("holds no data")
		}
		if err != nil {
			return nil, 0, err
		}
		if looksBinary(text[:min(len(text), 512)]) {
			return nil, 0, errors.New("is neither text nor in a format that can be read")
		}
		if bytes.IndexByte(text, '\r') >= 0 {
			return nil, 0, errors.New("ends its lines with a carriage return alone; save it with line feeds (CSV for Windows " +
				"or Unix)")
		}
		if c.skip == 0 && len(text) == 5 && strings.EqualFold(string(text[:4]), "sep=") {
			c.skip++
			if c.delimiter == 0 {
				c.delimiter = text[4]
			}
			lines.delimiter = c.delimiter
			continue
		}
		return bytes.Clone(text), lines.number, nil
	}
}

// makeColumns takes the memory of what is noted for each column.
func (c *csvFile) makeColumns() error {
	if c.fields > maxFields {
		return fmt.Errorf("has %d fields in a line; at most %d are read", c.fields, maxFields)
	}
	if err := c.lim.Take("what is noted of its columns", 8*int64(c.fields)); err != nil {
		return err
	}
	c.seen = slices.Repeat([]fieldClass{countsFrom0 | countsFrom1}, c.fields)
	return nil
}

// count takes in one record of data.
func (c *csvFile) count(line []byte, number int) error {
	fields := countFields(line, c.delimiter)
	if fields != c.fields {
		title := ""
		if c.records <= 1 {
			title = "; if the first line is a title, take it out"
		}
		return fmt.Errorf("has %d fields in line %d and %d in the lines before%s", fields, number, c.fields, title)
	}
	// Each field becomes at least 4 bytes; stop inflating a bomb long before its end.
	if 2*int64(c.fields)*int64(c.records) > c.lim.Max() {
		return fmt.Errorf("holds more than %d records of %d fields; Options.MaxBytes allows %s", c.records, c.fields,
			size(c.lim.Max()))
	}
	more := true
	for i := 0; more; i++ {
		var f []byte
		f, line, more = nextField(line, c.delimiter)
		if err := c.repeatsName(i, f, number); err != nil {
			return err
		}
		c.note(i, f, number)
	}
	if c.records++; c.records == 1 {
		c.firstLine = number
	}
	return nil
}

// note takes in one field of data.
func (c *csvFile) note(i int, f []byte, line int) {
	class := classify(f)
	if c.seen[i]&countsFrom0 != 0 && !isNumberText(f, c.records) {
		c.seen[i] &^= countsFrom0
	}
	if c.seen[i]&countsFrom1 != 0 && !isNumberText(f, c.records+1) {
		c.seen[i] &^= countsFrom1
	}
	c.seen[i] |= class
	if len(f) != 1 || f[0] != '0' && f[0] != '1' {
		c.seen[i] |= moreThanBits
	}
	switch {
	case class&numberField != 0:
		c.noteNumber(i, f, line)
	case class&groupedField != 0:
		c.firstGroup.keep(f, line, i)
	case class&commaField != 0:
		c.firstComma.keep(f, line, i)
	case class&(textField|boolField) != 0 && len(c.firstText) < 1024:
		c.latin1 = c.latin1 || !utf8.Valid(f)
		if _, ok := c.firstText[i]; !ok {
			c.firstText[i] = csvPlace{short(f), line, i}
		}
	}
}

// noteNumber takes in a number.
func (c *csvFile) noteNumber(i int, f []byte, line int) {
	if len(f) > 1 && f[0] == '0' && isDigits(f) {
		c.seen[i] |= zerosField
	}
	if c.firstPoint.line == 0 && bytes.IndexByte(f, '.') >= 0 {
		c.firstPoint.keep(f, line, i)
	}
	c.notePoint(i, f)
	if i == 0 && string(f) == "-0" || i == 1 && len(f) > 1 && f[0] == '0' && isDigits(f) {
		c.split.keep(f, line, i)
	}
}

// keep sets the place to a field, unless it has one.
func (p *csvPlace) keep(f []byte, line, column int) {
	if p.line == 0 {
		*p = csvPlace{textfile.OrLatin1(f), line, column}
	}
}

// isNumberText reports whether a field is the whole number n as it is usually written.
func isNumberText(f []byte, n int) bool {
	var text [20]byte
	return string(f) == string(strconv.AppendInt(text[:0], int64(n), 10))
}

// short is a field for a message.
func short(f []byte) string {
	s := []rune(textfile.OrLatin1(f))
	if len(s) > 40 {
		return string(s[:40]) + "…"
	}
	return string(s)
}

// holdsText reports whether a column has fields that are no numbers.
func (c *csvFile) holdsText(i int) bool {
	seen := c.seen[i]
	return seen&textField != 0 || seen&(commaField|groupedField) != 0 && !c.comma ||
		seen&boolField != 0 && seen&(numberField|commaField) != 0
}

// each calls visit with the fields of every record of data.
func (c *csvFile) each(visit func(record, line int, fields [][]byte) error) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	lines := newLineReader(r, 0, c.lim)
	defer lines.done()
	const perField = 24 // of the list of the fields of a record
	if err := c.lim.Take("the fields of a record", perField*int64(c.fields)); err != nil {
		return err
	}
	defer c.lim.Give(perField * int64(c.fields))
	lines.tabs = c.delimiter == '\t'
	if c.skip == 0 || c.header != nil && c.skip == 1 {
		lines.delimiter = c.delimiter // no line sep= is there
	}
	fields := make([][]byte, 0, c.fields)
	for record := -c.skip; record < c.records; record++ {
		line, err := lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("changed while it was read")
			}
			return err
		}
		lines.delimiter = c.delimiter
		if record < 0 {
			continue
		}
		if fields = splitFields(fields[:0], line, c.delimiter); len(fields) != c.fields {
			return errors.New("changed while it was read")
		}
		if err := visit(record, lines.number, fields); err != nil {
			return err
		}
	}
	if _, err := lines.next(); !errors.Is(err, io.EOF) { // the first pass found no more
		return cmp.Or(err, errors.New("changed while it was read"))
	}
	return nil
}

// lineOf is the line of the file in which a record begins, from 1; 0 where it cannot be found again.
func (c *csvFile) lineOf(record int) int {
	if c.typed != nil {
		return record + 1
	}
	found := 0
	_ = c.each(func(r, line int, _ [][]byte) error { // an error that comes before leaves 0
		if r == record {
			found = line
			return errStop
		}
		return nil
	})
	return found
}

// variables are the matrix of the features, the views made of its columns, and the columns of the labels and ids.
func (c *csvFile) variables() error {
	if len(c.o.Table) > 0 && c.s.role == roleData {
		if err := c.tableViews(); err != nil {
			return err
		}
	} else {
		c.wholeView()
	}
	if i := c.roles.label; i >= 0 {
		c.s.csvLabels = c.textColumn(i)
		c.s.vars = append(c.s.vars, c.s.csvLabels)
	}
	if i := c.roles.id; i >= 0 {
		c.s.ids = c.textColumn(i)
		c.s.vars = append(c.s.vars, c.s.ids)
	}
	for _, i := range c.roles.texts {
		c.s.vars = append(c.s.vars, c.textColumn(i))
	}
	return nil
}

// wholeView makes one view of all features.
func (c *csvFile) wholeView() {
	if len(c.roles.features) > 0 {
		c.s.vars = append(c.s.vars, c.matrix(c.s.base(), c.roles.features))
	}
}

// matrix is a variable of some columns of numbers.
func (c *csvFile) matrix(name string, features []csvFeature) *variable {
	v := &variable{file: c.s.path, name: name, class: "text numbers", dims: []int{c.records, len(features)},
		typ: elem.Type{Kind: elem.Float64}, backed: true, fromTable: true}
	v.stream = func(run func(int, []byte) error) error { return c.stream(features, run) }
	if c.typed != nil {
		v.class, v.colMajor, v.backed = "table", true, int64(8*c.records)*int64(len(features))/growth <= c.s.size
		v.stream = func(run func(int, []byte) error) error { return c.streamTyped(features, run) }
		v.groups = c.rowGroups(features)
	}
	v.line = c.lineOf
	v.column = func(j int) string { return c.featureName(features[j]) }
	if len(features) == 1 && !features[0].onehot {
		v.asText = c.textColumn(features[0].column)
	}
	if c.header != nil || slices.ContainsFunc(features, func(f csvFeature) bool { return f.onehot }) { // texts are names too
		v.names = func() ([]string, error) { return lists.Texts(features, c.featureName), nil }
	}
	return v
}

// textColumn is a variable of one column, as texts.
func (c *csvFile) textColumn(i int) *variable {
	v := &variable{file: c.s.path, name: c.columnName(i), class: "column", kind: text, dims: []int{c.records}, fromTable: true}
	v.strings = func() ([]string, error) { return c.texts(i) }
	v.line = c.lineOf
	return v
}
