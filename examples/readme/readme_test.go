// Package readme holds the Go programs of README.md, one per folder, character by character.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// goBlocks returns every Go block of a Markdown text.
func goBlocks(markdown string) (blocks []string) {
	for {
		_, rest, found := strings.Cut(markdown, "\n```go\n")
		if !found {
			return blocks
		}
		block, rest, _ := strings.Cut(rest, "```\n")
		blocks, markdown = append(blocks, block), rest
	}
}

func TestREADMEHasThesePrograms(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlocks(string(text))
	programs, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != len(programs) {
		t.Errorf("README.md has %d Go blocks, and there are %d programs", len(blocks), len(programs))
	}
	for _, path := range programs {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, block := range blocks {
			found = found || block == string(program)
		}
		if !found {
			t.Errorf("%s is not in README.md to the letter", path)
		}
	}
}

// run builds the program in a folder, as somebody who pasted it would, and returns what it prints.
func run(t *testing.T, folder string, args ...string) string {
	t.Helper()
	work := t.TempDir()
	program := filepath.Join(work, "program.exe")
	if out, err := exec.Command("go", "build", "-o", program, "./"+folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command(program, args...)
	c.Dir = work
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestMatrices(t *testing.T) {
	testutil.Long(t, "it builds a program")
	out := run(t, "matrices")
	if got, want := canonical(out), "[0 1 2 0 1 2 0 1 2 0] [100 100 100]\n"; got != want {
		t.Errorf("it prints\n%swant, up to the numbers of the clusters,\n%s", out, want)
	}
}

// canonical numbers the clusters of a line of labels by their first samples.
func canonical(out string) string {
	names := map[rune]rune{}
	line, rest, _ := strings.Cut(out, "]")
	next := '0'
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return r
		}
		if _, ok := names[r]; !ok {
			names[r] = next
			next++
		}
		return names[r]
	}, line) + "]" + rest
}
