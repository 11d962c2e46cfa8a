package tables

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// columns is the width of prose in the Markdown of the repository.
const columns = 130

var (
	// opening matches the beginning of a line of prose: blanks and the mark of an item of a list, if any.
	opening = regexp.MustCompile(`^ *(?:(?:[-*+]|\d+[.)]) +)?`)
	// notProse matches lines of tables, headings, fences, quotations and HTML.
	notProse = regexp.MustCompile("^ *(?:[|>#<]|```)")
	// atom matches words, code and links, which Wrap does not break.
	atom = regexp.MustCompile("(?:`[^`]*`|\\[[^\\]]*\\]\\([^)]*\\)|\\S)+")
	// marks match words that are not prose at the beginning of a line.
	marks = regexp.MustCompile(`^(?:[-*+=]+|\d+[.)]|[|>#<%].*)$`)
)

// Wrap breaks the paragraphs and items of Markdown that have a line over 130 columns. All else stays as it is.
func Wrap(markdown string) string {
	var out, paragraph []string
	fenced := false
	flush := func() {
		for _, line := range paragraph {
			if utf8.RuneCountInString(line) > columns {
				paragraph = fill(paragraph)
				break
			}
		}
		out, paragraph = append(out, paragraph...), nil
	}
	for line := range strings.SplitSeq(markdown, "\n") {
		fence := strings.HasPrefix(strings.TrimLeft(line, " "), "```")
		fenced = fenced != fence
		if fenced || fence || strings.TrimSpace(line) == "" || notProse.MatchString(line) {
			flush()
			out = append(out, line)
			continue
		}
		if strings.TrimLeft(opening.FindString(line), " ") != "" {
			flush()
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// fill breaks a paragraph between atoms, and an image within its text.
func fill(paragraph []string) []string {
	first := opening.FindString(paragraph[0])
	indent := strings.Repeat(" ", len(first))
	text := strings.Join(paragraph, " ")[len(first):]
	words := atom.FindAllString(text, -1)
	if strings.HasPrefix(text, "![") {
		words = strings.Fields(text)
	}
	var out []string
	line := first + words[0]
	for i := 1; i < len(words); i++ {
		word := words[i]
		if i+1 < len(words) && marks.MatchString(words[i+1]) {
			i++
			word += " " + words[i]
		}
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			out = append(out, line)
			line = indent + word
			continue
		}
		line += " " + word
	}
	return append(out, line)
}
