package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	maxLine   = 1 << 26 // bytes of one line of a CSV file
	maxFields = 1 << 21 // of one line
)

// lineReader reads the lines of a CSV file that hold data: no blank lines, and no comments, which begin with #.
type lineReader struct {
	r      *bufio.Reader
	number int // of the last line, from 1
	long   []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: newBuffered(r)} }

// next returns the next line without its end, valid until the following call, or io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		l.number++
		if l.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) > 0 && line[0] != '#' {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if l.long = append(l.long, line...); len(l.long) > maxLine {
				return nil, fmt.Errorf("has a line of more than %s", size(maxLine))
			}
			line, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	return line, err
}

// splitFields appends the fields of a line to dst. A delimiter of ' ' stands for any number of blanks. Quotes are
// removed.
func splitFields(dst [][]byte, line []byte, delimiter byte) [][]byte {
	for more := true; more; {
		var field []byte
		field, line, more = nextField(line, delimiter)
		dst = append(dst, field)
	}
	return dst
}

// countFields is the number of fields that splitFields finds.
func countFields(line []byte, delimiter byte) int {
	if delimiter != ' ' && bytes.IndexByte(line, '"') < 0 {
		return bytes.Count(line, []byte{delimiter}) + 1
	}
	n := 0
	for more := true; more; n++ {
		_, line, more = nextField(line, delimiter)
	}
	return n
}

// nextField takes the first field of a line; more tells whether another follows.
func nextField(line []byte, delimiter byte) (field, rest []byte, more bool) {
	if delimiter == ' ' {
		line = bytes.TrimSpace(line)
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			return line, nil, false
		}
		return line[:end], line[end:], true
	}
	if start := bytes.TrimLeft(line, " "); len(start) > 0 && start[0] == '"' {
		return quoted(start[1:], delimiter)
	}
	end := bytes.IndexByte(line, delimiter)
	if end < 0 {
		return bytes.TrimSpace(line), nil, false
	}
	return bytes.TrimSpace(line[:end]), line[end+1:], true
}

// quoted takes a field up to its closing quote; more tells whether another field follows.
func quoted(s []byte, delimiter byte) (field, rest []byte, more bool) {
	var out []byte
	for {
		end := bytes.IndexByte(s, '"')
		if end < 0 {
			return append(out, s...), nil, false
		}
		out = append(out, s[:end]...)
		s = s[end+1:]
		if len(s) > 0 && s[0] == '"' { // a doubled quote stands for one
			out = append(out, '"')
			s = s[1:]
			continue
		}
		break
	}
	if end := bytes.IndexByte(s, delimiter); end >= 0 {
		return out, s[end+1:], true
	}
	return out, nil, false
}

// guessDelimiter looks for what separates the fields of a line.
func guessDelimiter(line []byte) byte {
	for _, d := range []byte("\t;,") {
		if bytes.IndexByte(line, d) >= 0 {
			return d
		}
	}
	if len(bytes.Fields(line)) > 1 && bytes.IndexByte(line, '"') < 0 {
		return ' '
	}
	return ','
}

var powersOf10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseNumber reads a number. Empty fields and the usual words for a missing value are NaN.
func parseNumber(s []byte) (float64, bool) {
	// Up to 15 digits and their power of ten are exact in float64, so one division rounds correctly.
	digits, mantissa, point := 0, uint64(0), -1
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i = 1
	}
	for ; i < len(s); i++ {
		if c := s[i]; c >= '0' && c <= '9' {
			mantissa = 10*mantissa + uint64(c-'0')
			if digits++; digits > 15 {
				break
			}
		} else if c == '.' && point < 0 {
			point = digits
		} else {
			break
		}
	}
	if i == len(s) && digits > 0 && digits <= 15 {
		x := float64(mantissa)
		if point >= 0 {
			x /= powersOf10[digits-point]
		}
		if s[0] == '-' {
			x = -x
		}
		return x, true
	}
	if x, err := strconv.ParseFloat(string(s), 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return x, true
	}
	if isMissing(s) {
		return math.NaN(), true
	}
	return 0, false
}

func isMissing(s []byte) bool {
	if len(s) > 6 {
		return false
	}
	switch strings.ToLower(string(s)) {
	case "", "na", "n/a", "nan", "-nan", "null", "none", "?":
		return true
	}
	return false
}
