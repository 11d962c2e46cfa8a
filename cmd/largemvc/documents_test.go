package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goFlags are flags of Go's tools that documents name.
var goFlags = []string{"tags", "bench", "benchtime", "race", "short", "run", "count", "ldflags", "mod", "C", "v"}

// otherFlags are the flags of the programs below a folder, by their source.
func otherFlags(t *testing.T, folder string) (names []string) {
	defined := regexp.MustCompile(`\.(?:String|Int|Bool|Float64|Duration|Uint64|Func)(?:Var)?\((?:&[\w.]+,)?\s*"([\w-]+)",`)
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range defined.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFlagsInDocuments wants every flag that a document names to be a flag of the command, or of a program that is no part of it.
func TestFlagsInDocuments(t *testing.T) {
	of, all := map[string][]string{}, slices.Concat(goFlags, otherFlags(t, "../../studies"), otherFlags(t, "../../tools"))
	for _, c := range completedCommands() {
		for _, f := range c.flags {
			of[c.name] = append(of[c.name], f.name)
			all = append(all, f.name)
		}
	}
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "python/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	alone := regexp.MustCompile("`-([a-zA-Z][a-z-]*)")
	flag := regexp.MustCompile(`(?:^|[\s\[])-([a-zA-Z][a-z-]*)`)
	line := regexp.MustCompile(`(?:^|\s)largemvc (\w+)((?:\\\n|[^\n;|>` + "`" + `])*)`)
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Base(path)
		for _, m := range alone.FindAllStringSubmatch(string(text), -1) {
			if found++; !slices.Contains(all, m[1]) {
				t.Errorf("%s names the flag -%s, which no command has", page, m[1])
			}
		}
		for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(string(text), "`largemvc", " largemvc"), -1) {
			for _, f := range flag.FindAllStringSubmatch(m[2], -1) {
				if found++; of[m[1]] != nil && !slices.Contains(of[m[1]], f[1]) {
					t.Errorf("%s gives largemvc %s the flag -%s, which it does not have", page, m[1], f[1])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d flags are found in the documents", found)
	}
}
