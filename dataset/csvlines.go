package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

const (
	maxLine   = 1 << 26 // bytes of one line of a CSV file: a small packed file may hold a line that no memory has room for
	maxFields = 1 << 21 // of one line
)

// skippedLine is the cost of a line without data, in bytes that could be unpacked in its time.
const skippedLine = 16

// lineReader reads the records of a CSV file: no blank lines, and no comments, which begin with # and stand above the first
// record. A record goes over several lines where a quoted field does.
type lineReader struct {
	r         *bufio.Reader
	delimiter byte // 0: not known yet
	number    int  // of the first line of the last record, from 1
	lines     int  // read until now
	comments  int
	tabs      bool   // tabs may be the delimiter that is not known yet
	empty     int    // the first empty line since the last record; 0: none
	gap       int    // that before the last record
	long      []byte // where a line is larger than the buffer
	record    []byte // of several lines
	lim       *limits

	begun       bool   // a record was read
	lastComment []byte // above the first record
}

func newLineReader(r io.Reader, delimiter byte, lim *limits) *lineReader {
	return &lineReader{r: newBuffered(r), delimiter: delimiter, lim: lim}
}

// next returns the next record without its end, valid until the following call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		l.lines++
		l.number = l.lines
		comment := isComment(line)
		if comment || l.isEmpty(line) {
			if err := l.skip(line, comment); err != nil {
				return nil, err
			}
			continue
		}
		if bytes.IndexByte(line, '"') >= 0 && quoteIsOpen(line, l.delimiter) {
			if line, err = l.join(line); err != nil {
				return nil, err
			}
		}
		l.gap, l.empty, l.begun = l.empty, 0, true
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// skip counts a line that is a comment or empty, and keeps the last comment. Below a record, it may as well be a sample.
func (l *lineReader) skip(line []byte, comment bool) (err error) {
	switch {
	case comment && l.begun:
		return fmt.Errorf("has %q in line %d: if it is a comment, take the line out; if it is a sample whose id begins with #, "+
			"write its first field in quotes", short(bytes.TrimRight(line, "\r\n")), l.lines)
	case comment:
		l.comments++
		if l.lastComment, err = l.extend(l.lastComment[:0], line); err != nil {
			return err
		}
	case l.empty == 0:
		l.empty = l.lines
	}
	return l.lim.Step(skippedLine)
}

// isEmpty reports whether a line is no record. One of tabs alone is, where these separate the fields: a sample without values.
func (l *lineReader) isEmpty(line []byte) bool {
	if l.delimiter == '\t' || l.delimiter == 0 && l.tabs {
		return len(bytes.Trim(line, " \r\n")) == 0
	}
	return len(bytes.TrimSpace(line)) == 0
}

// join reads on to the line in which the quote is closed.
func (l *lineReader) join(line []byte) ([]byte, error) {
	var err error
	if l.record, err = l.extend(l.record[:0], line); err != nil {
		return nil, err
	}
	for quotes := bytes.Count(line, []byte{'"'}); quotes%2 == 1; {
		line, err := l.line()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("has a quote in line %d that is never closed: close it, or take it out", l.number)
		}
		if err != nil {
			return nil, err
		}
		l.lines++
		if l.record, err = l.extend(l.record, line); err != nil {
			return nil, err
		}
		if len(l.record) > maxLine {
			return nil, fmt.Errorf("has a record of more than %s, from line %d on; a quote may not be closed", size(maxLine),
				l.number)
		}
		quotes += bytes.Count(line, []byte{'"'})
	}
	return l.record, nil
}

// line reads up to the end of a line, which it keeps.
func (l *lineReader) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for {
			var full error
			if l.long, full = l.extend(l.long, line); full != nil {
				return nil, full
			}
			if len(l.long) > maxLine {
				return nil, fmt.Errorf("has a line of more than %s", size(maxLine))
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
			line, err = l.r.ReadSlice('\n')
		}
		line = l.long
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	return line, err
}

// extend appends to a buffer, whose memory it books.
func (l *lineReader) extend(buffer, line []byte) ([]byte, error) {
	if n := len(buffer) + len(line); n > cap(buffer) {
		room := max(2*cap(buffer), n)
		if err := l.lim.Take("a line", int64(room)); err != nil {
			return nil, err
		}
		l.lim.Give(int64(cap(buffer)))
		buffer = append(make([]byte, 0, room), buffer...)
	}
	return append(buffer, line...), nil
}

// done gives the memory of the buffers back.
func (l *lineReader) done() { l.lim.Give(int64(cap(l.long) + cap(l.record) + cap(l.lastComment))) }

// isComment reports whether a line begins with #, and not with what a spreadsheet writes for a value that it cannot compute.
func isComment(line []byte) bool {
	return len(line) > 0 && line[0] == '#' && !sheetError.Match(line[:min(len(line), 16)])
}

var sheetError = regexp.MustCompile(`^#(?:N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)(?:[,;\t| \r\n]|$)`)
