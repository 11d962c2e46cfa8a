package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is how long a line of a table may be, and a record that goes over several, in bytes: a packed file of little size may
// hold a line that no memory has room for.
const MaxLine = 1 << 26

// IsComment tells whether a line of a table is a comment: it begins with #, and not with what a spreadsheet writes for a value
// that it cannot compute.
func IsComment(line []byte) bool { return len(line) > 0 && line[0] == '#' && !sheetError(line) }

func sheetError(line []byte) bool {
	for _, e := range []string{"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"} {
		rest, ok := bytes.CutPrefix(line, []byte(e))
		if ok && (len(rest) == 0 || bytes.IndexByte([]byte(",;\t| \r\n"), rest[0]) >= 0) {
			return true
		}
	}
	return false
}

// Separator is a tab, a semicolon, a bar or a comma: what the first line of a table has most of.
func Separator(line []byte) rune {
	best, most := ',', 0
	for _, c := range ",;\t|" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// Records returns the text of a table with an empty line in place of each comment, so that the lines keep their numbers. A line
// or a record of more than MaxLine is an error. With sure, so is a comment below the first record that may be a record: what
// follows its # at once has as many columns.
func Records(text *bufio.Reader, sure bool) io.Reader {
	return &records{text: text, sure: sure, fresh: true, line: 1, separators: -1}
}

type records struct {
	text    *bufio.Reader
	sure    bool   // refuse comments that may be records
	rest    []byte // of what was read last, in the buffer of text
	err     error  // for good: text gives some of its errors once
	fresh   bool   // a line begins
	comment bool   // in a comment
	quoted  bool   // in a quote, where no line is a comment
	line    int    // that is read, from 1
	begun   int    // the line in which the record begins
	size    int    // of the record until now

	separator  []byte // of the columns
	separators int    // in the first record; negative before it
}

// Read implements io.Reader.
func (r *records) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads a line, or a part of one.
func (r *records) next() {
	if r.fresh && !r.quoted {
		head, err := r.text.Peek(16) // room for the longest error of a sheet
		if err != nil && !errors.Is(err, io.EOF) {
			r.err = err
			return
		}
		r.comment, r.begun, r.size = IsComment(head), r.line, 0
	}
	begins := r.fresh
	part, err := r.text.ReadSlice('\n')
	r.fresh = err == nil
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		r.err = err
	}
	if begins && r.isRecord(part) && r.sure {
		r.rest, r.err = nil, fmt.Errorf("line %d begins with #, as comments do, and has the columns of a record: put its first "+
			"value in quotes, or leave the line out", r.line)
		return
	}
	if r.comment {
		r.rest = part[:0]
		if r.fresh {
			r.rest = part[len(part)-1:]
		}
	} else {
		r.rest = part
		r.quoted = r.quoted != (bytes.Count(part, []byte{'"'})%2 == 1)
		if r.size += len(part); r.size > MaxLine {
			r.rest, r.err = nil, r.tooLong()
		}
	}
	if r.fresh {
		r.line++
	}
}

// isRecord tells whether a comment that begins so may be a record. What is no comment sets what records look like.
func (r *records) isRecord(part []byte) bool {
	text := bytes.TrimRight(part, "\r\n")
	if !r.comment {
		if r.separators < 0 && len(text) > 0 {
			r.separator = []byte(string(Separator(text)))
			r.separators = bytes.Count(text, r.separator)
		}
		return false
	}
	return r.separators >= 0 && len(text) > 1 && bytes.IndexByte([]byte("# \t"), text[1]) < 0 &&
		bytes.Count(text, r.separator) == r.separators
}

// tooLong is the error for what no memory should be taken for.
func (r *records) tooLong() error {
	if r.begun < r.line {
		return fmt.Errorf("has a record of more than %d MiB, from line %d on; is a quote not closed?", MaxLine>>20, r.begun)
	}
	return fmt.Errorf("has a line of more than %d MiB, line %d", MaxLine>>20, r.line)
}
