package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShortHelp wants a help that fits on a screen, with an example of each of the flags that matter most.
func TestShortHelp(t *testing.T) {
	for name, most := range map[string]int{"fit": 10, "predict": 10, "report": 10, "inspect": 10} {
		status, short, stderr := runLine(name, "-h")
		if status != exitOK || stderr != "" || !strings.HasPrefix(short, "Usage: largemvc "+name) {
			t.Fatalf("%s: status %d, %q", name, status, stderr)
		}
		lines := strings.Split(strings.TrimSpace(short), "\n")
		if len(lines) > 24 {
			t.Errorf("%s: the short help has %d lines", name, len(lines))
		}
		flags := 0
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > 124 {
				t.Errorf("%s: a line has %d columns: %s", name, n, line)
			}
			if strings.HasPrefix(line, "  -") {
				flags++
			}
		}
		if flags < 5 || flags > most || !strings.Contains(short, "\n  largemvc "+name+" ") ||
			!strings.Contains(short, "-h all' explains all") {
			t.Errorf("%s: %d flags, or no example:\n%s", name, flags, short)
		}
		if _, other, _ := runLine("help", name); other != short {
			t.Errorf("help %s says something else", name)
		}
		if _, long, _ := runLine(name, "-h", "all"); len(long) < 2*len(short) || !strings.Contains(long, "\nData\n") {
			t.Errorf("%s: the long help is not long, or has no groups", name)
		}
	}
}

// TestHelpOfFiles: the help says which files of labels are read, and what is written by a training that is interrupted.
func TestHelpOfFiles(t *testing.T) {
	for _, test := range []struct{ command, flag, want string }{
		{"fit", "labels", "of any format of -data"}, {"predict", "labels", "of any format of -data"},
		{"fit", "start", "in a file as of -labels"}, {"compare", "", "any format that fit -labels reads"},
		{"fit", "", "interrupted training writes each result to FILE.partial instead of FILE, and exits with status 1"},
	} {
		_, help, _ := runLine(test.command, "-h", "all")
		if _, flags, ok := strings.Cut(help, "\n  -"+test.flag+" "); ok {
			help, _, _ = strings.Cut(flags, "\n  -")
		} else if test.flag != "" {
			t.Fatalf("%s has no -%s", test.command, test.flag)
		}
		if got := strings.Join(strings.Fields(help), " "); !strings.Contains(got, test.want) {
			t.Errorf("%s -%s: %q is missing in %q", test.command, test.flag, test.want, got)
		}
	}
}

// TestDidYouMean wants a slip to be named with what was meant, and a strange word without.
func TestDidYouMean(t *testing.T) {
	for _, test := range []struct {
		line string
		want string
	}{
		{"fit -cluster 3", "did you mean -clusters?"}, {"fit -dta x", "did you mean -data?"}, {"fit --dat x",
			"did you mean -data?"},
		{"fit -sede 1", "did you mean -seed?"}, {"fit -embed x", "did you mean -embedding?"},
		{"predict -modle x", "did you mean -model?"}, {"ft", "did you mean fit?"}, {"compair a b", "did you mean compare?"},
		{"fit -xyzzy 1", "'largemvc fit -h' explains the flags"}, {"xyzzy", "'largemvc -h' lists the commands"},
	} {
		status, stdout, stderr := runLine(strings.Fields(test.line)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q, want %q", test.line, status, stderr, test.want)
		}
	}
}
