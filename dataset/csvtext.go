package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// The marks that a text in Unicode may begin with.
const (
	markUTF8    = "\xef\xbb\xbf"
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
)

// isUTF16 tells whether a file begins as a text in UTF-16 with its mark.
func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte(markUTF16LE)) || bytes.HasPrefix(head, []byte(markUTF16BE))
}

// looksLikeUTF16 tells whether a file is a text in UTF-16 without its mark: every other byte is zero.
func looksLikeUTF16(head []byte) bool {
	head = head[:min(len(head), 64)&^1]
	even, odd := 0, 0
	for i, b := range head {
		switch {
		case b != 0:
		case i%2 == 0:
			even++
		default:
			odd++
		}
	}
	return len(head) >= 8 && max(even, odd) >= len(head)/2-1 && min(even, odd) == 0
}

// decodeText returns a text as UTF-8, without the mark at its beginning.
func decodeText(r io.Reader) (io.Reader, error) {
	b := newBuffered(r)
	head, err := b.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(markUTF8)):
		_, err = b.Discard(len(markUTF8))
		return b, err
	case isUTF16(head):
		_, err = b.Discard(len(markUTF16LE))
		return &utf16Reader{r: b, big: head[0] == markUTF16BE[0]}, err
	}
	return b, nil
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	r    *bufio.Reader
	big  bool
	rest []byte // of a character, of which there was no room for the end
	next rune   // a unit read too early; 0: none
	buf  [utf8.UTFMax]byte
}

func (u *utf16Reader) unit() (rune, error) {
	if u.next != 0 {
		c := u.next
		u.next = 0
		return c, nil
	}
	a, err := u.r.ReadByte()
	if err != nil {
		return 0, err
	}
	b, err := u.r.ReadByte()
	if err != nil {
		return 0, errors.New("ends inside a character of UTF-16")
	}
	if u.big {
		a, b = b, a
	}
	return rune(a) | rune(b)<<8, nil
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(u.rest) > 0 {
			k := copy(p[n:], u.rest)
			n, u.rest = n+k, u.rest[k:]
			continue
		}
		c, err := u.unit()
		if err != nil {
			if n > 0 && errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		if utf16.IsSurrogate(c) {
			second, err := u.unit()
			if err == nil {
				if pair := utf16.DecodeRune(c, second); pair != utf8.RuneError {
					c = pair
				} else {
					u.next = second
				}
			}
		}
		u.rest = u.buf[:utf8.EncodeRune(u.buf[:], c)]
	}
	return n, nil
}

// textOf is a field as a string. What is no UTF-8 is taken for Latin-1, in which older spreadsheets write.
func textOf(field []byte) string {
	if utf8.Valid(field) {
		return string(field)
	}
	runes := make([]rune, len(field))
	for i, b := range field {
		runes[i] = rune(b)
	}
	return string(runes)
}

const (
	maxLine   = 1 << 26 // bytes of one line of a CSV file
	maxFields = 1 << 21 // of one line
)

// skippedLine is what a line without data counts for, in bytes that could be unpacked in its time.
const skippedLine = 16

// lineReader reads the records of a CSV file: no blank lines, and no comments, which begin with #. A record goes over
// several lines where a quoted field does.
type lineReader struct {
	r         *bufio.Reader
	delimiter byte // 0: not known yet, and quotes end in their line
	number    int  // of the first line of the last record, from 1
	lines     int  // read until now
	comments  int
	tabs      bool   // tabs may be the delimiter that is not known yet
	empty     int    // the first empty line since the last record; 0: none
	gap       int    // that before the last record
	long      []byte // where a line is larger than the buffer
	record    []byte // of several lines
	lim       *limits

	keepComment bool // the last comment is to be kept
	lastComment []byte
}

// sheetError tells whether a line begins with what a spreadsheet writes for a value that it cannot compute, and not with a
// comment.
func sheetError(line []byte) bool {
	for _, e := range []string{"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"} {
		rest, ok := bytes.CutPrefix(line, []byte(e))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(",;\t| \r\n"), rest[0]) >= 0) {
			return true
		}
	}
	return false
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
		comment := len(line) > 0 && line[0] == '#' && !sheetError(line)
		if comment && l.keepComment {
			if l.lastComment, err = l.extend(l.lastComment[:0], line); err != nil {
				return nil, err
			}
		}
		if empty := !comment && l.isEmpty(line); comment || empty {
			if comment {
				l.comments++
			} else if l.empty == 0 {
				l.empty = l.lines
			}
			if err := l.lim.Step(skippedLine); err != nil {
				return nil, err
			}
			continue
		}
		if l.delimiter != ' ' && bytes.IndexByte(line, '"') >= 0 && quoteIsOpen(line, l.delimiter) {
			if line, err = l.join(line); err != nil {
				return nil, err
			}
		}
		l.gap, l.empty = l.empty, 0
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// isEmpty tells whether a line is no record. One of tabs alone is, where these separate the fields: a sample without values.
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
			return nil, fmt.Errorf("has a quote in line %d that is never closed", l.number)
		}
		if err != nil {
			return nil, err
		}
		l.lines++
		if l.record, err = l.extend(l.record, line); err != nil {
			return nil, err
		}
		if len(l.record) > maxLine {
			return nil, fmt.Errorf("has a record of more than %s, from line %d on; is a quote not closed?", size(maxLine),
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
