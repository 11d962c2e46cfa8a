package dataset

import (
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// idNames are the headers of a first column that numbers the samples.
var idNames = []string{"", "sample", "id", "index", "sample_id", "unnamed: 0"}

// csvFile is a text file of records: what its first pass found.
type csvFile struct {
	open      func() (io.Reader, error)
	delimiter byte
	header    []string // nil without
	first     []string // fields of the first record
	records   int
	fields    int
	label     int  // column of the labels, −1 without
	id        bool // the first column numbers the samples
}

// listCSV goes through the file once: the number of records is needed before memory is taken for their values.
func (s *source) listCSV(f io.ReaderAt, gz bool, o *Options, lim *limits) error {
	s.format = "CSV"
	c := &csvFile{label: -1}
	c.open = func() (io.Reader, error) { return io.NewSectionReader(f, 0, s.size), nil }
	if gz {
		s.format = "CSV (gzip)"
		c.open = func() (io.Reader, error) {
			z, err := gzip.NewReader(newBuffered(io.NewSectionReader(f, 0, s.size)))
			if err != nil {
				return nil, gzipError(err)
			}
			return z, nil
		}
	}
	if err := c.scan(o, lim); err != nil {
		return gzipError(err)
	}
	if err := c.chooseLabel(o); err != nil {
		return err
	}
	features := c.features()
	if len(features) > 0 {
		v := &variable{file: s.path, name: s.base(), class: "text numbers", dims: []int{c.records, len(features)},
			typ: elem.Type{Kind: elem.Float64}, backed: true}
		v.stream = func(run func(int, []byte) error) error { return c.stream(features, run) }
		s.vars = append(s.vars, v)
	}
	if c.label >= 0 {
		v := &variable{file: s.path, name: "label", class: "column", kind: text, dims: []int{c.records}}
		if c.header != nil {
			v.name = c.header[c.label]
		}
		if o.Labels != "" && o.LabelsFile == "" {
			v.name = o.Labels // so that the option finds it, whether it was a name or a number
		} else if !slices.Contains(labelNames, strings.ToLower(v.name)) {
			v.name = "label"
		}
		v.strings = c.labelStrings
		s.vars = append(s.vars, v)
	}
	return nil
}

func gzipError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return errors.New("is damaged (gzip)")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is truncated (gzip)")
	}
	return err
}

// scan finds delimiter, header, records and fields.
func (c *csvFile) scan(o *Options, lim *limits) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	lines := newLineReader(r)
	var head [2][]string
	n, read := 0, int64(0)
	for ; ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if n == 0 {
			if looksBinary(line[:min(len(line), 512)]) {
				return errors.New("is neither text nor a format that is read")
			}
			c.delimiter = byte(o.Delimiter)
			if c.delimiter == 0 {
				c.delimiter = guessDelimiter(line)
			}
		}
		fields := countFields(line, c.delimiter)
		if fields > maxFields {
			return fmt.Errorf("has %d fields in line %d; at most %d are read", fields, lines.number, maxFields)
		}
		if n < 2 {
			for _, f := range splitFields(nil, line, c.delimiter) {
				head[n] = append(head[n], string(f))
			}
		}
		if n == 0 {
			c.fields = fields
		}
		if fields != c.fields {
			return fmt.Errorf("has %d fields in line %d and %d in the lines before", fields, lines.number, c.fields)
		}
		// Each field becomes at least 4 bytes; stop inflating a bomb long before its end.
		if read += 4 * int64(fields); read/2 > lim.Max() {
			return fmt.Errorf("holds more than %d records of %d fields; Options.MaxBytes allows %s", n, fields, size(lim.Max()))
		}
	}
	if n == 0 {
		return errors.New("holds no data")
	}
	c.records, c.first = n, head[0]
	if o.Header == WithHeader || (o.Header == AutoHeader && isHeader(head[0], head[1])) {
		c.header, c.first = head[0], head[1]
		c.records--
	}
	if c.records == 0 {
		return errors.New("holds a header and no data")
	}
	return nil
}

func isText(s string) bool {
	_, number := parseNumber([]byte(s))
	return !number
}

// isHeader tells whether the first line names the columns of the second: a name stands above a number, or all fields of
// the first line are texts and one of them is a usual name.
func isHeader(first, second []string) bool {
	if second == nil {
		return false
	}
	usual, all := false, true
	for i, name := range first {
		if !isText(name) {
			all = all && name == ""
			continue
		}
		if !isText(second[i]) && second[i] != "" {
			return true
		}
		lower := strings.ToLower(name)
		usual = usual || slices.Contains(labelNames, lower) || slices.Contains(idNames, lower)
	}
	return all && usual
}

// chooseLabel finds the column of the labels: the one named by option, one of a usual name, or the only one that holds
// texts.
func (c *csvFile) chooseLabel(o *Options) error {
	c.id = c.header != nil && c.fields > 1 && slices.Contains(idNames, strings.ToLower(c.header[0]))
	if o.Labels != "" {
		if i := slices.IndexFunc(c.header, func(h string) bool { return strings.EqualFold(h, o.Labels) }); i >= 0 {
			c.label = i
			return nil
		}
		if i, err := strconv.Atoi(o.Labels); err == nil {
			if i < 0 {
				i += c.fields
			}
			if i < 0 || i >= c.fields {
				return fmt.Errorf("has columns 0 to %d; Options.Labels is %s", c.fields-1, o.Labels)
			}
			c.label = i
			return nil
		}
	}
	for _, name := range labelNames {
		for i, h := range c.header {
			if strings.EqualFold(h, name) {
				c.label = i
				return nil
			}
		}
	}
	texts := 0
	for i, f := range c.first {
		if isText(f) && (i > 0 || !c.id) {
			texts++
			c.label = i
		}
	}
	if texts != 1 {
		c.label = -1
	}
	return nil
}

// features are the columns that are neither labels nor numbers of the samples.
func (c *csvFile) features() []int {
	var cols []int
	for i := range c.fields {
		if i != c.label && (i > 0 || !c.id) {
			cols = append(cols, i)
		}
	}
	return cols
}

// each calls visit with the fields of every record.
func (c *csvFile) each(visit func(record, line int, fields [][]byte) error) error {
	r, err := c.open()
	if err != nil {
		return err
	}
	lines := newLineReader(r)
	var fields [][]byte
	record := 0
	if c.header != nil {
		record = -1
	}
	for ; record < c.records; record++ {
		line, err := lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("changed while it was read")
			}
			return gzipError(err)
		}
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
	return nil
}

// stream hands over the values of some columns, record by record.
func (c *csvFile) stream(columns []int, run func(int, []byte) error) error {
	raw := make([]byte, 8*len(columns))
	return c.each(func(record, line int, fields [][]byte) error {
		for k, i := range columns {
			x, ok := parseNumber(fields[i])
			if !ok {
				f := string(fields[i])
				if len(f) > 40 {
					f = f[:40] + "…"
				}
				return fmt.Errorf("has %q in line %d, field %d (from 1), which is no number", f, line, i+1)
			}
			binary.LittleEndian.PutUint64(raw[8*k:], math.Float64bits(x))
		}
		return run(record*len(columns), raw)
	})
}

// labelStrings reads the column of the labels.
func (c *csvFile) labelStrings() ([]string, error) {
	var out []string
	distinct := map[string]string{} // one string for each class, not for each sample
	err := c.each(func(_, line int, fields [][]byte) error {
		f := fields[c.label]
		if isMissing(f) {
			return fmt.Errorf("has no label in line %d", line)
		}
		s, ok := distinct[string(f)]
		if !ok {
			s = string(f)
			distinct[s] = s
		}
		out = append(out, s)
		return nil
	})
	return out, err
}
