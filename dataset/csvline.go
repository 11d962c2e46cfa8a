package dataset

import (
	"bytes"
)

// splitFields appends the fields of a line to dst. A delimiter of ' ' stands for any number of blanks. Quotes are removed.
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

// nextField takes the first field of a line; more says whether another follows.
func nextField(line []byte, delimiter byte) (field, rest []byte, more bool) {
	if delimiter == ' ' {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] == '"' {
			return quoted(line[1:], ' ')
		}
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

// quoted takes a field up to its closing quote; more says whether another field follows. Where there is something between the
// quote and the delimiter, the field has its quotes.
func quoted(s []byte, delimiter byte) (field, rest []byte, more bool) {
	one := func(s []byte) []byte { return bytes.ReplaceAll(s, []byte(`""`), []byte(`"`)) }
	end := closingQuote(s)
	if end < 0 { // an error of the reader of lines, where it can be one
		return one(s), nil, false
	}
	after, rest, more := bytes.Cut(s[end+1:], []byte{delimiter})
	if len(bytes.TrimSpace(after)) > 0 { // "1"5 is no 1: the text as it stands, with its quotes
		return append([]byte{'"'}, s[:end+1+len(after)]...), rest, more
	}
	return one(s[:end]), rest, more
}

// closingQuote is the place of the quote that ends a field, which begins after another one; −1 without. A doubled quote ends
// none.
func closingQuote(s []byte) int {
	for at := 0; ; at += 2 {
		k := bytes.IndexByte(s[at:], '"')
		if k < 0 {
			return -1
		}
		if at += k; at+1 == len(s) || s[at+1] != '"' {
			return at
		}
	}
}

// quoteIsOpen reports whether the last field of a line opens a quote that does not close in it.
func quoteIsOpen(line []byte, delimiter byte) bool {
	if bytes.Count(line, []byte{'"'})%2 == 0 {
		return false
	}
	if delimiter == 0 { // the first line: the quote of a header
		delimiter = guessDelimiter(line, nil, AutoDecimal)
	}
	if delimiter == ' ' {
		line = bytes.ReplaceAll(line, []byte{'\t'}, []byte{' '})
	}
	for more := true; more; _, line, more = bytes.Cut(line, []byte{delimiter}) {
		if start := bytes.TrimLeft(line, " "); len(start) > 0 && start[0] == '"' {
			end := closingQuote(start[1:])
			if end < 0 {
				return true
			}
			line = start[end+2:]
		}
	}
	return false
}

// guessDelimiter looks for what separates the fields of the first line: of the candidates that occur in it outside of
// quotes, the first that splits the second line into as many fields, else the first, else what splits the second line in two. A
// decimal comma separates none.
func guessDelimiter(first, second []byte, decimal Decimal) byte {
	var found []byte
	for _, d := range []byte("\t;,|") {
		if countFields(first, d) > 1 && !tears(first, d) && (d != ',' || decimal != DecimalComma) {
			found = append(found, d)
		}
	}
	if second != nil {
		for _, d := range found {
			if countFields(first, d) == countFields(second, d) {
				return d
			}
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	if countFields(first, ' ') > 1 {
		return ' '
	}
	if d := splitsInTwo(second, decimal); d != 0 {
		return d
	}
	if decimal == DecimalComma {
		return ';'
	}
	return ','
}

// splitsInTwo returns what splits a line in two, but for a comma, below one name alone (write.table); 0 without. Blanks do so
// after a quote.
func splitsInTwo(line []byte, decimal Decimal) byte {
	byComma := countFields(line, ',') > 1 && !tears(line, ',') && decimal != DecimalComma
	for _, d := range []byte("\t; ") {
		if countFields(line, d) == 2 && (d != ' ' || line[0] == '"' && !byComma) {
			return d
		}
	}
	return 0
}

// tears reports whether a delimiter leaves text behind the closing quote of a field, as a comma does in "a" 0,5.
func tears(line []byte, delimiter byte) bool {
	for more := true; more; _, line, more = bytes.Cut(line, []byte{delimiter}) {
		start := bytes.TrimLeft(line, " ")
		if len(start) == 0 || start[0] != '"' {
			continue
		}
		end := closingQuote(start[1:])
		if end < 0 {
			return false
		}
		line = start[end+2:]
		if after, _, _ := bytes.Cut(line, []byte{delimiter}); len(bytes.TrimSpace(after)) > 0 {
			return true
		}
	}
	return false
}
