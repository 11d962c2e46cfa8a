package main

import (
	"bufio"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns   = 130 // no line of Go is longer
	usualColumns = 110 // most lines are shorter
	tabColumns   = 4
)

// line is a line that is too long.
type line struct {
	file            string // within the checkout
	number, columns int
}

// longLines returns the lines of more than maxColumns in the Go files of a checkout, tests included, and the number of
// those of more than usualColumns.
func longLines(checkout string) (over []line, wide int, err error) {
	err = goFiles(checkout, func(path, name string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, 1<<24)
		for number := 1; s.Scan(); number++ {
			c := columns(s.Text())
			if c > usualColumns {
				wide++
			}
			if c > maxColumns {
				over = append(over, line{name, number, c})
			}
		}
		return s.Err()
	})
	return over, wide, err
}

// columns is the width of a line: a tab counts four, every other character one.
func columns(s string) int {
	return utf8.RuneCountInString(s) + (tabColumns-1)*strings.Count(s, "\t")
}
