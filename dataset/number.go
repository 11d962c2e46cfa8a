package dataset

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

var powersOf10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseNumber reads a number. Empty fields and the usual words for a missing value are NaN; true and false are 1 and 0.
func parseNumber(s []byte) (float64, bool) {
	if x, ok := parseDigits(s); ok {
		return x, true
	}
	if mayBeNumber(s) {
		if x, err := strconv.ParseFloat(string(s), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return x, true
		}
	}
	switch {
	case isMissing(s):
		return math.NaN(), true
	case len(s) == 4 && strings.EqualFold(string(s), "true"):
		return 1, true
	case len(s) == 5 && strings.EqualFold(string(s), "false"):
		return 0, true
	}
	return 0, false
}

// parseDigits reads a number of a sign, up to 15 digits and a point: they and their power of ten are exact in float64, so one
// division rounds correctly.
func parseDigits(s []byte) (float64, bool) {
	digits, mantissa, point := 0, uint64(0), -1
	i := 0
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i = 1
	}
	for ; i < len(s); i++ {
		if c := s[i]; c >= '0' && c <= '9' {
			mantissa = 10*mantissa + uint64(c-'0')
			if digits++; digits > 15 {
				return 0, false
			}
		} else if c == '.' && point < 0 {
			point = digits
		} else {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	x := float64(mantissa)
	if point >= 0 {
		x /= powersOf10[digits-point]
	}
	if s[0] == '-' {
		x = -x
	}
	return x, true
}

// roundsWhole reports whether a text is a whole number, in digits alone, that is another one than x, which it was read as.
func roundsWhole(s []byte, x float64) bool {
	digits := bytes.TrimLeft(bytes.TrimLeft(s, "+-"), "0")
	if len(bytes.Trim(digits, "0123456789")) > 0 {
		return false
	}
	return string(digits) != strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
}

// mayBeNumber spares a text that is none the copy and the error that parsing makes.
func mayBeNumber(s []byte) bool {
	const longest = 1 << 10
	return len(s) > 0 && len(s) <= longest && strings.IndexByte("0123456789+-.iInN", s[0]) >= 0 && bytes.IndexByte(s, '_') < 0 &&
		!bytes.ContainsAny(s, "xX") // 10_2 and 0x1p3 are numbers in Go alone
}

func isMissing(s []byte) bool {
	if len(s) > 6 {
		return false
	}
	switch strings.ToLower(string(s)) {
	case "", "na", "n/a", "nan", "-nan", "null", "none", "?", "#n/a", "#na", "<na>": // the last ones are of Excel and of pandas
		return true
	}
	return false
}

// fieldClass is the kind of a field of a CSV file by its text.
type fieldClass uint16

const (
	numberField   fieldClass = 1 << iota
	boolField                // true or false
	missingField             // empty, NA, nan, …
	commaField               // a number with a decimal comma: 0,5
	groupedField             // a number with separators of thousands: 1,234.5 or 1 234
	dateField                // a date or a time of day
	strangeField             // a number in another notation, 5 % or −1, or what stands around quotes
	wordField                // any other text
	countsFrom0              // of a column: every field is the number of its record, from 0
	countsFrom1              // the same, from 1
	moreThanBits             // of a column: a field is neither 0 nor 1
	zerosField               // of a column: a field is a whole number with zeros before it: 007
	decimalPoint             // of a column: a point stands elsewhere than in 1.984, or a whole number above 999 has none
	thousandPoint            // of a column: a number such as 1.984, whose point may separate thousands
)

// textField are the classes that are no numbers in any notation.
const textField = dateField | strangeField | wordField

var (
	commaNumber   = regexp.MustCompile(`^[-+]?\d*,\d+([eE][-+]?\d+)?$|^[-+]?\d+,$`)
	groupedNumber = regexp.MustCompile(
		`^[-+]?\d{1,3}(?:(?:,\d{2,3})*,\d{3}(?:\.\d+)?|(?:\.\d{3})+,\d+|(?:\.\d{3}){2,}|(?:[ '’\x{a0}\x{202f}\x{2009}]\d{3})+` +
			`(?:[.,]\d+)?)$`)
	// strangeNumber is a measurement all the same: with a sign, a currency, a unit or digits beyond ASCII.
	strangeNumber = regexp.MustCompile(
		`^[<>≤≥~≈±]? ?[-+−–]? ?[$€£¥]? ?[-+−]?[.,]?\p{Nd}[\p{Nd}.,'’ \x{a0}\x{202f}\x{2009}]*` +
			`(?:[eEdD][-+−]?\p{Nd}+)? ?[%‰$€£¥°]?$|` +
			`^[-+−]?\d+[.,]\d+[ \x{a0}]?[A-Za-zµμΩ°%/²³]{1,8}$`)
	dateOrTime = regexp.MustCompile(
		`^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))(?:[ T].*)?$|` +
			`^\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?$`)
)

// classify returns the kind of a field by its text. A number such as 1,234 is both: with a decimal comma and with thousands.
func classify(f []byte) fieldClass {
	if isMissing(f) {
		return missingField
	}
	if _, ok := parseNumber(f); ok {
		if f[0]|0x20 == 't' || f[0]|0x20 == 'f' {
			return boolField
		}
		return numberField
	}
	if len(f) > 40 {
		return wordField
	}
	if !(f[0] == '-' || f[0] == '+' || f[0] == ',' || f[0] >= '0' && f[0] <= '9') {
		return strange(f)
	}
	var class fieldClass
	if commaNumber.Match(f) {
		class |= commaField
	}
	f = []byte(textfile.OrLatin1(f)) // which may have a space that does not break
	if groupedNumber.Match(f) {
		class |= groupedField
	}
	switch {
	case class != 0:
		return class
	case dateOrTime.Match(f):
		return dateField
	}
	return strange(f)
}

// strange reports whether a text is a number in a notation that is not read.
func strange(f []byte) fieldClass {
	c := f[0]
	if c == '"' || !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_') && strangeNumber.Match(f) {
		return strangeField
	}
	return wordField
}

// pointClass distinguishes decimal points from points that may separate thousands, by one number: decimalPoint, thousandPoint or
// 0.
func pointClass(f []byte) fieldClass {
	whole, after, point := bytes.Cut(bytes.TrimLeft(f, "+-"), []byte{'.'})
	switch {
	case !point && len(whole) < 4:
		return 0
	case point && len(whole) > 0 && len(whole) < 4 && whole[0] != '0' && len(after) == 3 && isDigits(after):
		return thousandPoint
	}
	return decimalPoint
}

func isDigits(s []byte) bool { return len(bytes.Trim(s, "0123456789")) == 0 }

// parseComma is parseNumber for numbers with a decimal comma, which it turns into a point in place. It reads no number with a
// point, which may separate thousands.
func parseComma(s []byte) (float64, bool) {
	if bytes.IndexByte(s, '.') >= 0 {
		return 0, false
	}
	if i := bytes.IndexByte(s, ','); i >= 0 {
		s[i] = '.'
	}
	return parseNumber(s)
}
