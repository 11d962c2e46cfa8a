package ptx

import (
	"fmt"
	"strings"
)

// A token is a word, a string or one character of punctuation. Dots belong to words, so that ld.global.f32 and %tid.x are one.
type token struct {
	text     string
	from, to int // bytes of the source
	line     int
}

// syntaxError is a fault of the text.
type syntaxError struct {
	line int
	text string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

func wrong(line int, format string, args ...any) error {
	return &syntaxError{line, fmt.Sprintf(format, args...)}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '%' || c == '.'
}

// A lexer cuts a source into tokens.
type lexer struct {
	src  string
	at   int // the next byte
	line int
	out  []token
}

// lex cuts the source into tokens and drops comments.
func lex(src string) ([]token, error) {
	x := lexer{src: src, line: 1}
	for x.at < len(src) {
		if err := x.step(); err != nil {
			return nil, err
		}
	}
	return x.out, nil
}

// step reads a token, a comment or a space.
func (x *lexer) step() error {
	c, rest := x.src[x.at], x.src[x.at:]
	switch {
	case c == '\n':
		x.line++
		x.at++
	case c == ' ' || c == '\t' || c == '\r':
		x.at++
	case strings.HasPrefix(rest, "//"):
		line, _, _ := strings.Cut(rest, "\n")
		x.at += len(line)
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest[2:], "*/")
		if n < 0 {
			return wrong(x.line, "comment without an end")
		}
		x.line += strings.Count(rest[:n+2], "\n")
		x.at += n + 4
	case c == '"':
		n := strings.IndexAny(rest[1:], "\"\n") + 1
		if n == 0 || rest[n] != '"' {
			return wrong(x.line, "string without an end")
		}
		x.emit(n + 1)
	case wordByte(c):
		x.emit(wordLen(rest))
	case c > ' ' && c < 0x7f:
		x.emit(1)
	default:
		return wrong(x.line, "character %q", rune(c))
	}
	return nil
}

// emit adds the next n bytes as a token.
func (x *lexer) emit(n int) {
	from := x.at
	x.at += n
	x.out = append(x.out, token{x.src[from:x.at], from, x.at, x.line})
}

// wordLen returns the length of the word at the beginning of s. A double colon in it belongs to it, as in .shared::cta.
func wordLen(s string) int {
	i := 0
	for i < len(s) {
		switch {
		case wordByte(s[i]):
			i++
		case i+2 < len(s) && s[i:i+2] == "::" && wordByte(s[i+2]):
			i += 2
		default:
			return i
		}
	}
	return i
}
