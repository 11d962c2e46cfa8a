package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// chooseHeader decides whether the first record names the columns.
func (c *csvFile) chooseHeader(first, second []byte, o *Options, lim *limits) error {
	split := func(line []byte) [][]byte {
		if line == nil {
			return nil
		}
		return splitFields(nil, line, c.delimiter)
	}
	if err := lim.Take("the names of its columns", 144*int64(c.fields)+int64(len(first))); err != nil {
		return err
	}
	names, below := split(first), split(second)
	number := func(f []byte) bool { return classify(f) == numberField }
	if o.Triplets && o.Header == AutoHeader && !slices.ContainsFunc(names, func(f []byte) bool { return !number(f) }) {
		return nil // 0,1,2 is an entry there
	}
	if o.Header == NoHeader || o.Header == AutoHeader && !isHeader(names, below) {
		if o.Header == AutoHeader {
			c.doubt = newHeaderDoubt(names, below, o)
		}
		return nil
	}
	c.nameColumns(names)
	c.skip++
	return nil
}

// commentedHeader takes the names from the comment before the first record, as NumPy writes them, where it has as many fields
// and all of them are names.
func (c *csvFile) commentedHeader(comment []byte, o *Options, lim *limits) error {
	comment = bytes.TrimSpace(bytes.TrimLeft(comment, "#"))
	if len(comment) == 0 || c.header != nil || o.Header != AutoHeader || c.fields < 2 ||
		countFields(comment, c.delimiter) != c.fields {
		return nil
	}
	names := splitFields(nil, comment, c.delimiter)
	if !allWords(names) {
		return nil
	}
	if err := lim.Take("the names of its columns", 144*int64(c.fields)+int64(len(comment))); err != nil {
		return err
	}
	c.nameColumns(names)
	c.inComment = true
	return nil
}

// nameColumns keeps the names of a header.
func (c *csvFile) nameColumns(names [][]byte) {
	c.header = make([]string, len(names))
	for i, f := range names {
		c.header[i] = strings.TrimSpace(strings.ReplaceAll(textfile.OrLatin1(f), "\n", " "))
	}
}

// twice is a name that two columns have; empty without.
func (c *csvFile) twice() string {
	seen := make(map[string]bool, len(c.header))
	for _, h := range c.header {
		if h != "" && seen[h] {
			return h
		}
		seen[h] = true
	}
	return ""
}

// isHeader tells whether the first record names the columns of the second: a name stands above a number, all fields of the
// first are names and one of them is a usual one, or it numbers the columns from 0, as pandas does. Beside a name that is no
// value, or an empty one above texts, numbers are names too: years, wavelengths. A file of nothing else than names, of more
// than one column, has no sample.
func isHeader(first, second [][]byte) bool {
	if second == nil && len(first) > 1 {
		return allWords(first)
	}
	if second == nil || len(first) != len(second) {
		return false
	}
	if namesAboveNothing(first, second) {
		return true
	}
	var h headerFields
	for i := range first {
		if header, decided := h.add(i, first, second); decided {
			return header
		}
	}
	return h.areNames(first, second)
}

// headerFields counts the fields of a first record by what they look like.
type headerFields struct {
	words   int
	numbers int  // more than the record has fields where they cannot count the columns
	missing int  // an empty first field, above an index that pandas or R wrote
	usual   bool // a word is a usual name of labels or ids
	sure    bool // a word is such a name and hardly a value
}

// add counts field i. It reports whether that field alone decides that the record is a header, or that it is none.
func (h *headerFields) add(i int, first, second [][]byte) (header, decided bool) {
	f := first[i]
	switch classify(f) {
	case numberField:
		h.numbers++
	case missingField:
		if len(f) == 0 && i == 0 {
			h.missing++
		} else {
			h.numbers = len(first) + 1
		}
	case wordField:
		h.words++
		if classify(second[i])&(numberField|commaField|groupedField|dateField) != 0 {
			return true, true
		}
		h.usual = h.usual || slices.Contains(labelNames, strings.ToLower(string(f))) || idStrength(string(f)) > 0
		h.sure = h.sure || isNoValue(string(f))
	default:
		return false, true // a number in another notation, or a date: data
	}
	return false, false
}

// areNames tells whether all fields of the first record together are names.
func (h *headerFields) areNames(first, second [][]byte) bool {
	switch {
	case h.numbers == 0 || h.words > 0 && h.numbers > len(first):
		return h.words > 0 && h.usual
	case h.numbers > len(first):
		return false
	case h.sure, h.missing > 0 && classify(second[0]) == wordField,
		h.usual && mayNumberColumns(first, second) && increase(first):
		return true
	case h.words > 0 && !h.usual:
		return countsAfterNames(first, second)
	}
	return numbersColumns(first, second, h.numbers, h.words+h.missing)
}

// allWords tells whether no field of a record is a number, a date or missing.
func allWords(record [][]byte) bool {
	return !slices.ContainsFunc(record, func(f []byte) bool { return classify(f) != wordField })
}

// namesAboveNothing tells whether the second record has no value at all, and the first is all words: names, whose first sample
// lacks everything.
func namesAboveNothing(first, second [][]byte) bool {
	return allWords(first) && !slices.ContainsFunc(second, func(f []byte) bool { return !isMissing(f) })
}

// numbersColumns tells whether the numbers of the first record count its columns: from 0 in any order, as a table has them
// that pandas made and somebody shuffled, or from 1. A few small whole numbers may as well be data: then what stands beside
// them, an empty name or a usual one, or a decimal point below them, has to confirm it.
func numbersColumns(first, second [][]byte, numbers, beside int) bool {
	seen := make([]bool, numbers+1)
	point, least := false, numbers
	for i, f := range first {
		if classify(f) != numberField {
			continue
		}
		k, err := strconv.Atoi(string(f))
		if err != nil || k < 0 || k > numbers || seen[k] {
			return false
		}
		seen[k] = true
		least = min(least, k)
		point = point || strings.ContainsAny(string(second[i]), ".,eE")
	}
	switch least {
	case 0:
		return !seen[numbers] && (beside > 0 || numbers >= 4 || point && numbers >= 2)
	case 1:
		return point && numbers >= 3
	}
	return false
}

// someNames lists names, the first twelve of them.
func someNames(names []string) string {
	const most = 12
	shown := make([]string, 0, most+1)
	for i, n := range names {
		if i == most {
			shown = append(shown, fmt.Sprintf("… (%d more)", len(names)-most))
			break
		}
		if n == "" {
			n = `""`
		}
		shown = append(shown, n)
	}
	return strings.Join(shown, ", ")
}
