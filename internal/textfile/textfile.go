// Package textfile decodes texts as programs and spreadsheets leave them: packed by gzip or not, in UTF-8 or UTF-16, with a byte
// order mark or without.
package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Count returns a number with the name of what it counts, in the plural unless n is 1: 1 class, 2 classes.
func Count(n int, thing string) string { return strconv.Itoa(n) + " " + Plural(n, thing) }

// Plural returns the name of a thing, in the plural unless n is 1.
func Plural(n int, thing string) string {
	switch {
	case n == 1:
		return thing
	case strings.HasSuffix(thing, "s"):
		return thing + "es"
	}
	return thing + "s"
}

// bufferSize is how much of a file is read at a time, in bytes.
const bufferSize = 1 << 16

// The marks that a text in Unicode may begin with.
const (
	MarkUTF8    = "\xef\xbb\xbf"
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
)

// ErrNoMark is the error for a text in UTF-16 that does not say so.
var ErrNoMark = errors.New("is a text in UTF-16 without a byte order mark; save it as UTF-8")

// IsUTF16 reports whether a file begins as a text in UTF-16 with its mark.
func IsUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte(markUTF16LE)) || bytes.HasPrefix(head, []byte(markUTF16BE))
}

// LooksLikeUTF16 reports whether a file is a text in UTF-16 without its mark: every other byte is zero.
func LooksLikeUTF16(head []byte) bool {
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

// Decode returns a text as UTF-8, without the mark at its beginning.
func Decode(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, bufferSize)
	head, err := b.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(MarkUTF8)):
		_, err = b.Discard(len(MarkUTF8))
		return b, err
	case IsUTF16(head):
		_, err = b.Discard(len(markUTF16LE))
		return &utf16Reader{r: b, big: head[0] == markUTF16BE[0]}, err
	}
	return b, nil
}

// utf16Reader turns UTF-16 into UTF-8.
type utf16Reader struct {
	r    *bufio.Reader
	big  bool
	rest []byte // of a character whose end had no room
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

// OrLatin1 is a field as a string. What is no UTF-8 is taken for Latin-1, in which older spreadsheets write.
func OrLatin1(field []byte) string {
	if utf8.Valid(field) {
		return string(field)
	}
	runes := make([]rune, len(field))
	for i, b := range field {
		runes[i] = rune(b)
	}
	return string(runes)
}

// Printable is a text of a file for a terminal: characters that end a line, speak to the terminal or turn the direction of the
// text are written out.
func Printable(s string) string {
	speaks := func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
	if !strings.ContainsFunc(s, speaks) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if speaks(c) {
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
