package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

// headerDoubt is what makes a first record that was taken for a sample look like the names of the columns. What lies below may
// take the doubt away.
type headerDoubt struct {
	first    []string
	numbers  bool // the numbers of the first record may be names, whatever lies below
	increase bool // they increase from column to column, and those of no record below do
	texts    bool // all are texts that no record below repeats, and the options make features of texts
}

// newHeaderDoubt looks at the first record, which was taken for a sample, and at the second; nil without a doubt.
func newHeaderDoubt(first, second [][]byte, o *Options) *headerDoubt {
	if len(first) != len(second) {
		return nil
	}
	d := &headerDoubt{numbers: mayNumberColumns(first, second), increase: increase(first)}
	d.texts = len(o.OneHot) > 0 && allWords(first)
	if !d.remains() {
		return nil
	}
	for _, f := range first {
		d.first = append(d.first, textfile.OrLatin1(f))
	}
	return d
}

func (d *headerDoubt) remains() bool { return d != nil && (d.numbers || d.increase || d.texts) }

// look takes in a record below the first: numbers that increase in it too, or its texts, are those of samples.
func (d *headerDoubt) look(fields [][]byte) {
	if d.increase && increase(fields) {
		d.increase = false
	}
	for i, f := range fields {
		if d.texts && i < len(d.first) && string(f) == d.first[i] {
			d.texts = false
		}
	}
}

// note says what the first record is taken for, and how it becomes a header.
func (d *headerDoubt) note(path string) string {
	what := "numbers"
	if d.texts {
		what = "texts"
	}
	return fmt.Sprintf("%s: the %s of the first line (%s) are read as a sample; if they name the columns, give Options.Header "+
		"yes, else Options.Header no", path, what, someNames(d.first))
}

// increase tells whether a record has three numbers or more, each larger than the one before, and beside them no more than texts,
// such as ids.
func increase(record [][]byte) bool {
	numbers, last := 0, 0.0
	for i, f := range record {
		switch class := classify(f); {
		case class == wordField, class == missingField && i == 0:
			continue
		case class&(numberField|commaField) == 0 || !bytes.ContainsAny(f, "0123456789"):
			return false
		}
		x, ok := parseNumber(f)
		if !ok {
			x, _ = parseComma(slices.Clone(f)) // it is a number with a decimal comma
		}
		if numbers > 0 && !(x > last) {
			return false
		}
		last = x
		numbers++
	}
	return numbers >= 3
}

// mayNumberColumns tells whether the numbers of the first record are whole and all different, years perhaps, and all of the
// second are decimals: as likely names as a sample. So are those that count the columns from 0, as pandas does, where they are
// too few to be sure.
func mayNumberColumns(first, second [][]byte) bool {
	if len(first) != len(second) {
		return false
	}
	numbers, fromZero, decimals := namesByNumber(first, second)
	switch words := len(first) - numbers; {
	case numbers == 0:
		return false
	case fromZero && words == 0:
		return numbers > 1 || decimals
	case fromZero && numbers >= 3:
		return true
	}
	return decimals && numbers >= 3
}

// namesByNumber counts the whole numbers of the first record, which may be the names of columns. It returns 0 where one of them
// occurs twice, or stands beside other values. fromZero: they count the columns; decimals: the values under them are decimals.
func namesByNumber(first, second [][]byte) (numbers int, fromZero, decimals bool) {
	seen := map[int]bool{}
	fromZero, decimals = true, true
	for i, f := range first {
		if class := classify(f); class == wordField || class == missingField && i == 0 {
			continue
		}
		k, err := strconv.Atoi(string(f))
		if err != nil || seen[k] {
			return 0, false, false
		}
		fromZero = fromZero && k == len(seen)
		seen[k] = true
		decimals = decimals && bytes.ContainsAny(second[i], ".,eE") && classify(second[i])&(numberField|commaField) != 0
	}
	return len(seen), fromZero, decimals
}

// countsAfterNames tells whether names, those of an index, stand before numbers that count the columns from 0 on, as pandas
// writes them. A few such numbers have to be confirmed by decimals below.
func countsAfterNames(first, second [][]byte) bool {
	k, decimals := 0, true
	for i, f := range first {
		if k == 0 && classify(f) == wordField {
			continue
		}
		if string(f) != strconv.Itoa(k) {
			return false
		}
		decimals = decimals && bytes.ContainsAny(second[i], ".,eE")
		k++
	}
	return k >= 4 || k >= 2 && decimals
}

// isNoValue tells whether a usual name of ids or of classes is hardly a value itself, as case, patient or y may be.
func isNoValue(name string) bool {
	lower := strings.ToLower(strings.TrimSpace(name))
	switch lower {
	case "y", "target", "truth", "patient", "patients", "participant", "subject", "sample", "samples":
		return false
	}
	return slices.Contains(labelNames, lower) || idStrength(name) == 2
}
