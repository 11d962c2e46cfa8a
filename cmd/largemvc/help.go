package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
)

// first says which flags matter most, each with a value as an example, and gives an example of the command. The short help
// has these alone.
func (f *flags) first(example string, flags ...string) { f.example, f.important = example, flags }

// start reads the command line of a command without arguments. done says that help was asked for and printed.
func (f *flags) start(args []string, stdout io.Writer, about, more string) (done bool, err error) {
	rest, err := f.parse(args)
	if done, err := f.asked(err, stdout, about, more); done || err != nil {
		return done, err
	}
	return false, f.noArguments(rest)
}

// asked prints the help where parse says that it was asked for: about, and in the long help more.
func (f *flags) asked(err error, stdout io.Writer, about, more string) (done bool, _ error) {
	if !errors.Is(err, flag.ErrHelp) {
		return false, err
	}
	if f.important != nil && !f.all {
		return true, f.shortHelp(stdout, about)
	}
	return true, f.help(stdout, about+more)
}

// wantsAll says whether a command line asks for the long help: -h all.
func wantsAll(args []string) bool {
	for i, a := range args {
		if slices.Contains([]string{"-h", "--h", "-help", "--help"}, a) && i+1 < len(args) && args[i+1] == "all" {
			return true
		}
	}
	return false
}

// helpWidth is the number of columns that a line of the short help may have.
const helpWidth = 110

// shortHelp prints what fits on a screen.
func (f *flags) shortHelp(w io.Writer, about string) error {
	var b strings.Builder
	b.WriteString(about)
	fmt.Fprintf(&b, "\n  %s\n\nThe flags that matter most, each with an example:\n", f.example)
	widest := 0
	for _, text := range f.important {
		widest = max(widest, len(text))
	}
	for _, text := range f.important {
		name, _, _ := strings.Cut(text, " ")
		argument, usage := flag.UnquoteUsage(f.Lookup(name))
		usage = strings.TrimPrefix(usage, argument+": ")
		line := []rune(fmt.Sprintf("  -%-*s  %s", widest, text, firstClause(usage)))
		if len(line) > helpWidth {
			line = append(line[:helpWidth-1], '…')
		}
		b.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	count := -len(f.short) // which are other names of flags
	f.VisitAll(func(*flag.Flag) { count++ })
	fmt.Fprintf(&b, "\n'largemvc %s -h all' explains all %d flags.\n", f.Name(), count)
	_, err := io.WriteString(w, b.String())
	return err
}

// parseError is an error of the command line, with what may have been meant.
func (f *flags) parseError(err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		text = fmt.Sprintf("there is no flag -%s", name)
		if field := fieldNamed(name); field != "" && f.Lookup("set") != nil {
			return usagef("%s: %s: -set %s=VALUE sets it", f.Name(), text, field)
		}
		var names []string
		f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
		if meant := nearest(name, names); meant != "" {
			return usagef("%s: %s: did you mean -%s?", f.Name(), text, meant)
		}
	}
	// Package flag says no more of a number or a switch; other flags say what they want.
	if text, found := strings.CutSuffix(text, "parse error"); found {
		want := "a whole number of 0 or more"
		if strings.HasPrefix(text, "invalid boolean") {
			want = "true or false"
		}
		return usagef("%s: %smust be %s ('largemvc %[1]s -h' explains the flags)", f.Name(), text, want)
	}
	return usagef("%s: %s ('largemvc %[1]s -h' explains the flags)", f.Name(), text)
}

// nearest returns the word that somebody may have meant who wrote another; empty where none is near.
func nearest(written string, words []string) string {
	best, least := "", 0
	for _, w := range words {
		d := edits(strings.ToLower(written), w)
		switch {
		case len(written) >= 3 && strings.HasPrefix(w, written):
			d = min(d, 2)
		case d > 2 || d >= max(len(w), len(written))/2+len(w)%2:
			continue
		}
		if best == "" || d < least {
			best, least = w, d
		}
	}
	return best
}

// edits is the number of letters to insert, delete, replace or swap with their neighbour that make one word of another
// (optimal string alignment).
func edits(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	d[0] = lists.Indices(len(b) + 1)
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
