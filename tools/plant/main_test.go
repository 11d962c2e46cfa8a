package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every fault of the list is a change of a Go file of this repository, in one place.
func TestList(t *testing.T) {
	faults, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for _, f := range faults {
		text, err := os.ReadFile(filepath.Join("..", "..", f.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(string(text), f.old); n != 1 || f.old == f.new {
			t.Errorf("%s: %s: %d places in the file", f.file, f.what, n)
		}
		packages[filepath.Dir(f.file)] = true
	}
	if len(faults) < 60 || len(packages) < 25 {
		t.Errorf("%d faults in %d packages, want 60 in 25", len(faults), len(packages))
	}
}

// A fault that a test finds and one that none does, in a module made here.
func TestPlant(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/a\n\ngo 1.25\n",
		"a.go":   "package a\n\nfunc One() int { return 1 }\n\nfunc Two() int { return 2 }\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\n" +
			"func TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Error(One())\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := parse("a.go: one is three\n-return 1\n+return 3\n\n" +
		"a.go: two is three [One]\n-return 2\n+return 3\n\na.go: does not compile [One]\n-return 2\n+return \"\"\n\n" +
		"a.go: one is four [One]\n-return 1\n+return 4\n\na.go: gone\n-four\n+five\n")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = plant(&out, faults, folder, "", regexp.MustCompile(""))
	if err == nil || !strings.Contains(out.String(), "2 of 5 faults found") {
		t.Errorf("%v:\n%s", err, &out)
	}
	for _, want := range []string{"one is three: TestOne", "two is three: NOT FOUND", "a.go: does not compile: exit", "one is four: TestOne",
		"gone: 0 places"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}
