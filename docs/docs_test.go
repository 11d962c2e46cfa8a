// Package docs_test holds the documents to the code, and the code to what the documents say of all of it.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir(".."); err != nil { // all names of files are those in the repository
		panic(err)
	}
	os.Exit(m.Run())
}

// TestLinks wants every link of a Markdown file to name a file of the repository, and a heading that the file has.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	seen := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "studies/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				seen++
				to := file
				if m[1] != "" {
					to = filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s: %v", file, err)
				} else if m[2] != "" && !strings.Contains(headings(read(t, to)), "\n"+m[2]+"\n") {
					t.Errorf("%s: %s has no heading %q", file, to, m[2])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d links", seen)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings returns the names by which links find the headings of a Markdown file, a line each.
func headings(text string) string {
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	out := "\n"
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			name := dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#"))), "")
			out += strings.ReplaceAll(name, " ", "-") + "\n"
		}
	}
	return out
}
