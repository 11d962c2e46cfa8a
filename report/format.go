package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/textfile"
)

func percent(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(100*x, 'f', 1, 64) + "\u00a0%" // on one line with its number
}

func number(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	text := strconv.FormatFloat(x, 'g', 5, 64)
	if strings.HasPrefix(text, "-") {
		return "−" + text[1:]
	}
	return text
}

func fixed(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strings.Replace(strconv.FormatFloat(x, 'f', 2, 64), "-", "−", 1)
}

func signed(x float64) string {
	switch text := fixed(x); {
	case text == "0.00" || text == "−0.00":
		return "0.00"
	case x < 0:
		return text
	default:
		return "+" + text
	}
}

// thousands formats a whole number with commas between the thousands.
func thousands(n int) string {
	if n < 0 {
		return "−" + thousands(-n)
	}
	return thousandsOf(uint64(n))
}

func thousandsOf(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, thing string) string {
	return thousands(n) + " " + textfile.Plural(n, thing)
}

// shade formats a share as a length in a style.
func shade(share float64) string {
	if math.IsNaN(share) {
		return "0%"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// list joins words with commas and "and".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
