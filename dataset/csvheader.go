package dataset

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/textfile"
)

// firstLine is the kind of a first line by the rules of docs/reading.md.
type firstLine uint8

const (
	sampleLine  firstLine = iota // numbers that are no names
	unclearLine                  // Options.Header has to decide
	textLine                     // texts alone: names, unless Options.Header says no
	nameLine                     // certainly names
)

// chooseHeader decides whether the first record names the columns.
func (c *csvFile) chooseHeader(first, second, comment []byte) error {
	if err := c.lim.Take("the names of its columns", 144*int64(c.fields)+int64(len(first))); err != nil {
		return err
	}
	if named, err := c.commentedHeader(bytes.TrimRight(comment, "\r\n")); err != nil || named {
		return errors.Join(err, c.lim.Take("the names of its columns", 144*int64(c.fields)+int64(len(comment))))
	}
	names := splitFields(nil, first, c.delimiter)
	var below [][]byte
	if second != nil {
		below = splitFields(nil, second, c.delimiter)
	}
	line := judgeFirstLine(names, below)
	entries := c.o.Triplets || c.s.role == roleMask && onlyBits(names) // of a matrix, or the views of a sample
	switch {
	case line == unclearLine && c.o.Header == AutoHeader && entries && !slices.ContainsFunc(names, isWord):
	case line == unclearLine && c.o.Header == AutoHeader:
		return &curedError{fmt.Errorf("has a first line that may name the columns or be a sample (%s): give Options.Header yes "+
			"for names, Options.Header no for a sample", someFields(names)), [][2]string{{"Options.Header", "yes"}}}
	case line.names(c.o.Header):
		c.nameColumns(names)
		c.textHeader = line == textLine && c.o.Header == AutoHeader
		c.skip++
		return c.secondNames(below)
	}
	return line.twoLevels(names, below, entries, c.o)
}

// twoLevels returns an error if the first two lines may be names of two levels, unless something else says what they are.
func (l firstLine) twoLevels(names, below [][]byte, entries bool, o *Options) error {
	if l != sampleLine || entries || o.Header != AutoHeader || !twoLines(names, below) {
		return nil
	}
	return fmt.Errorf("has two first lines that may name the columns, as pandas writes names of two levels (%s, and below %s): "+
		"keep one line, with a different name for each column; if both lines are samples, give Options.Header "+
		"no", someFields(names), someFields(below))
}

// secondNames returns an error if the line below a header that repeats a name may hold further names, as pandas writes them for
// columns with two.
func (c *csvFile) secondNames(below [][]byte) error {
	number := func(f []byte) bool { return classify(f)&(numberField|commaField) != 0 }
	name := c.twice()
	if name == "" || c.o.Header != AutoHeader || slices.ContainsFunc(below, func(f []byte) bool { return !number(f) }) ||
		!mayBeNames(below, below) {
		return nil
	}
	return fmt.Errorf("has two columns named %s, and the line below its header may have more names (%s): keep one line, with a "+
		"different name for each column; if that line is a sample, give Options.Header yes", name, someFields(below))
}

// names reports whether a line has the names of columns, with an option.
func (l firstLine) names(h Header) bool {
	return l == nameLine || h == WithHeader || l == textLine && h == AutoHeader
}

// judgeFirstLine says what the first record is, from the second, which is nil if there is none.
func judgeFirstLine(first, second [][]byte) firstLine {
	switch {
	case second == nil && len(first) > 1 && allWords(first):
		return textLine
	case len(first) != len(second):
		return sampleLine
	}
	var c cells
	for i, f := range first {
		c.add(i, f, second[i])
	}
	switch {
	case c.above, c.telling && c.values == 0:
		return nameLine
	case c.words > 0 && len(c.numbers)+c.values == 0:
		return textLine
	case c.words > 0:
		return unclearLine
	case c.values > 0 || len(c.numbers) == 0:
		return sampleLine
	}
	return c.ofNumbers()
}

// cells counts what a first line has, and what lies below.
type cells struct {
	words          int
	values         int      // NA, dates, numbers in another notation
	numbers, below [][]byte // below: the fields under the numbers
	above          bool     // a text or date stands above a number
	telling        bool     // a text is a usual name
	unnamed        bool     // the first field is empty
	index          bool     // the field under the first is a text
}

// ofNumbers says what a line of numbers is, whose first field may be empty.
func (c *cells) ofNumbers() firstLine {
	switch names := mayBeNames(c.numbers, c.below); {
	case c.unnamed && (c.index || names || string(c.numbers[0]) == "0"):
		return nameLine // the index of pandas, the row names of R
	case c.unnamed || names:
		return unclearLine
	}
	return sampleLine
}

// add takes in field i and the one below.
func (c *cells) add(i int, f, below []byte) {
	under := classify(below)
	if i == 0 {
		c.unnamed, c.index = len(f) == 0, under == wordField
	}
	switch class := classify(f); {
	case class&(wordField|dateField) != 0 && under&(numberField|boolField|commaField|groupedField) != 0:
		c.above = true
	case class == wordField:
		c.words++
		c.telling = c.telling || isTelling(string(f))
	case class&(numberField|commaField) != 0:
		c.numbers, c.below = append(c.numbers, f), append(c.below, below)
	case len(f) > 0 || i > 0 && len(below) > 0:
		c.values++
	}
}

// mayBeNames reports whether the numbers of a first line may be names: they count the columns in any order, rise or fall
// throughout, start again with the number that they begin with, or are different whole numbers above decimals.
func mayBeNames(numbers, below [][]byte) bool {
	n := len(numbers)
	x := make([]float64, n)
	decimals := true
	for i, f := range numbers {
		var ok bool
		if x[i], ok = parseNumber(f); !ok {
			x[i], _ = parseComma(slices.Clone(f))
		}
		decimals = decimals && !bytes.ContainsAny(f, ".,eE") && bytes.ContainsAny(below[i], ".,eE")
	}
	if n < 2 {
		return n == 1 && decimals
	}
	falling := slices.Clone(x)
	slices.Reverse(falling)
	if n > 2 && (rises(x) || rises(falling) || startsAgain(x)) {
		return true
	}
	slices.Sort(falling)
	return rises(falling) && (decimals || counts(falling))
}

// counts reports whether sorted numbers count from 0, or three or more of them from 1.
func counts(x []float64) bool {
	n := len(x)
	return (x[0] == 0 || x[0] == 1 && n > 2) && x[n-1] == x[0]+float64(n-1)
}

// rises reports whether each number is larger than the one before.
func rises(x []float64) bool {
	for i := 1; i < len(x); i++ {
		if !(x[i] > x[i-1]) {
			return false
		}
	}
	return true
}

// startsAgain reports whether numbers are rising runs that all begin with the same number, such as the names of several tables
// side by side. The last run may be one number, the others are longer.
func startsAgain(x []float64) bool {
	begin, runs := 0, 1
	for i := 1; i < len(x); i++ {
		if x[i] > x[i-1] {
			continue
		}
		if x[i] != x[0] || i-begin < 2 {
			return false
		}
		begin = i
		runs++
	}
	return runs > 1
}

// twoLines reports whether two lines of whole numbers may be the two levels of names: runs of one number that rise from run to
// run, above numbers that rise in each run from one begin.
func twoLines(first, second [][]byte) bool {
	n := len(first)
	if n < 4 || n != len(second) || !all(append(slices.Clone(first), second...), isDigits) {
		return false
	}
	x, y := make([]float64, n), make([]float64, n)
	for i := range first {
		x[i], _ = parseNumber(first[i])
		y[i], _ = parseNumber(second[i])
		if i > 0 && x[i] != x[i-1] && (x[i] < x[i-1] || y[i] != y[0]) || i > 0 && x[i] == x[i-1] && y[i] <= y[i-1] {
			return false
		}
	}
	return startsAgain(y) || x[0] == x[n-1] && counts(y)
}

// isWord reports whether a field is a text.
func isWord(f []byte) bool { return classify(f) == wordField }

// onlyBits reports whether all fields are 0 or 1.
func onlyBits(record [][]byte) bool {
	return all(record, func(f []byte) bool { return string(f) == "0" || string(f) == "1" })
}

// commentedHeader takes the names from the comment above the first record, as NumPy's savetxt writes it, if it has a name for
// each column. Numbers in their place may be a sample.
func (c *csvFile) commentedHeader(comment []byte) (bool, error) {
	text := bytes.TrimSpace(bytes.TrimLeft(comment, "#"))
	if len(text) == 0 || c.o.Header != AutoHeader || c.fields < 2 || countFields(text, c.delimiter) != c.fields {
		return false, nil
	}
	names := splitFields(nil, text, c.delimiter)
	if !allWords(names) {
		return false, fmt.Errorf("has %q above its first line: if it is a comment, take it out or give Options.Header no; if "+
			"it names the columns or is a sample, take the # away", short(comment))
	}
	c.nameColumns(names)
	c.inComment = true
	return true, nil
}

// nameColumns keeps the names of a header.
func (c *csvFile) nameColumns(names [][]byte) {
	c.header = make([]string, len(names))
	for i, f := range names {
		c.latin1 = c.latin1 || !utf8.Valid(f)
		c.header[i] = strings.TrimSpace(strings.ReplaceAll(textfile.OrLatin1(f), "\n", " "))
	}
}

// repeatsName returns an error if a record below a header of texts repeats a name in its column: then the header may be a sample.
func (c *csvFile) repeatsName(i int, f []byte, line int) error {
	if !c.textHeader || len(f) == 0 || string(f) != c.header[i] {
		return nil
	}
	return fmt.Errorf("has %q in its first line and again in line %d, %s: give Options.Header yes if the first line names the "+
		"columns; if it is a sample, give Options.Header no, or write a line of names above it", f, line, c.title(i))
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

// allWords reports whether no field of a record is a number, a date or missing.
func allWords(record [][]byte) bool { return all(record, isWord) }

// all reports whether all elements of a list suit.
func all[E any](in []E, suits func(E) bool) bool {
	return !slices.ContainsFunc(in, func(e E) bool { return !suits(e) })
}

// isTelling reports whether a text is a usual name of ids or classes, and hardly a value, as y or patient may be.
func isTelling(name string) bool {
	lower := strings.ToLower(strings.TrimSpace(name))
	switch lower {
	case "y", "target", "truth", "patient", "patients", "participant", "subject", "sample", "samples":
		return false
	}
	return slices.Contains(labelNames, lower) || namesIDs(name)
}

// someFields lists the fields of a record.
func someFields(record [][]byte) string { return someNames(lists.Texts(record, textfile.OrLatin1)) }

// someNames lists names, the first twelve of them.
func someNames(names []string) string {
	const most = 12
	shown := slices.Clone(names[:min(len(names), most)])
	for i, n := range shown {
		shown[i] = cmp.Or(n, `""`)
	}
	if more := len(names) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(shown, ", ")
}
