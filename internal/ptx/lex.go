package ptx

import "fmt"

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

// lex cuts the source into tokens and drops comments.
func lex(src string) ([]token, error) {
	var out []token
	line := 1
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			from := line
			for i += 2; ; i++ {
				if i+1 >= len(src) {
					return nil, wrong(from, "comment without an end")
				}
				if src[i] == '\n' {
					line++
				}
				if src[i] == '*' && src[i+1] == '/' {
					break
				}
			}
			i += 2
		case c == '"':
			from := i
			for i++; i < len(src) && src[i] != '"' && src[i] != '\n'; i++ {
			}
			if i >= len(src) || src[i] != '"' {
				return nil, wrong(line, "string without an end")
			}
			i++
			out = append(out, token{src[from:i], from, i, line})
		case wordByte(c):
			from := i
			for i < len(src) && (wordByte(src[i]) || src[i] == ':' && i+2 < len(src) && src[i+1] == ':' && wordByte(src[i+2])) {
				if src[i] == ':' { // as in .shared::cta
					i++
				}
				i++
			}
			out = append(out, token{src[from:i], from, i, line})
		case c > ' ' && c < 0x7f:
			out = append(out, token{src[i : i+1], i, i + 1, line})
			i++
		default:
			return nil, wrong(line, "character %q", rune(c))
		}
	}
	return out, nil
}
