package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestStudies: every study has a name of its own and a program, and says where it keeps what is not printed.
func TestStudies(t *testing.T) {
	for _, list := range [][]study{studies, spots} {
		seen := map[string]bool{}
		for _, s := range list {
			w := s.with("D", "O")
			if _, err := os.Stat(filepath.Join("..", w.what)); err != nil && !w.test || seen[s.name] {
				t.Errorf("%s: %v, twice %v", s.name, err, seen[s.name])
			}
			seen[s.name] = true
			if s.keeps != nil && !strings.Contains(s.command, "OUT") || strings.Contains(strings.Join(w.flags, " "), "DATA") {
				t.Errorf("%s: %q", s.name, s.line())
			}
		}
	}
}

// TestPages: every study is named by a page as -only NAME,… of this program, every name on a page is a study, and no page with tables
// of this state gives a study's command in other words.
func TestPages(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../results.md", "../results/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	only := regexp.MustCompile(`\./all [^` + "`" + `\n]*-only ([a-z0-9,-]+)`)
	other := regexp.MustCompile(`-C studies \./(confidence|structure|known|choose|quality|paper|bench/(compare|scale))\b`)
	named := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range only.FindAllSubmatch(text, -1) {
			for name := range strings.SplitSeq(string(found[1]), ",") {
				named[name] = true
				if !slices.ContainsFunc(studies, func(s study) bool { return s.name == name }) {
					t.Errorf("%s: no study %s", page, name)
				}
			}
		}
		if found := other.Find(text); found != nil {
			t.Errorf("%s: %s is no study of ./all", page, found)
		}
	}
	for _, s := range studies {
		if !named[s.name] {
			t.Errorf("no page names the study %s", s.name)
		}
	}
}

func TestWrongUse(t *testing.T) {
	for _, line := range []string{"", "-data x y", "-data x -update", "-data x -spot -only none", "-data x -only none"} {
		if err := run(context.Background(), strings.Fields(line), io.Discard); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

// TestFailingStudy: a study that fails is an error and leaves nothing.
func TestFailingStudy(t *testing.T) {
	t.Chdir("..") // where the commands run
	folder := t.TempDir()
	s := study{name: "none", command: "./internal/presets/none"}
	if err := s.remake(t.Context(), &options{spot: true}, folder, "", io.Discard); err == nil {
		t.Error("no error of a command that fails")
	}
	s.command = "./all -help"
	if err := s.remake(t.Context(), &options{spot: true}, folder, "", io.Discard); err == nil {
		t.Error("no error of a command with status 1")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}

// TestBenchmarks: a study can be the benchmarks of a package, with variables of the environment.
func TestBenchmarks(t *testing.T) {
	t.Chdir("..")
	folder := t.TempDir()
	s := study{name: "for", command: "GOMAXPROCS=3 test github.com/largemvc/largemvc/internal/parallel -run ^$ -bench For -benchtime 1x"}
	if err := s.remake(t.Context(), &options{}, folder, "abc", io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "for.txt"))
	const head = "commit abc: GOMAXPROCS=3 go test -C studies github.com/largemvc/largemvc/internal/parallel -run ^$ -bench For -benchtime 1x\n"
	if err != nil || !strings.HasPrefix(string(text), head) || !regexp.MustCompile(`BenchmarkFor\S*-3\s`).Match(text) {
		t.Errorf("%v, %s", err, text)
	}
}

// TestKeepFiles: pages, tables and figures of a study stay when its work is removed.
func TestKeepFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	err := os.Mkdir("work", 0o755)
	for _, name := range []string{"page.md", "table.csv", "figure.svg", "program"} {
		err = errors.Join(err, os.WriteFile(filepath.Join("work", name), []byte(name), 0o600))
	}
	if err = errors.Join(err, keepFiles("work", "kept")); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]int{"work": 1, "kept": 3} {
		if files, err := os.ReadDir(folder); err != nil || len(files) != want {
			t.Errorf("%s has %v, %v", folder, files, err)
		}
	}
}

// TestSpot: the output that is kept passes, and another one is an error that has both.
func TestSpot(t *testing.T) {
	o := &options{spot: true, data: testutil.RealSets(t)}
	t.Chdir("..")
	folder := t.TempDir()
	s := study{name: "check", command: "./fetch -check DATA"}
	for _, kept := range []string{"first line\n3 files compared, 1 differ\n", ""} {
		o.update = kept == ""
		if kept != "" {
			if err := os.WriteFile(filepath.Join(folder, "check.txt"), []byte(kept), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := s.remake(t.Context(), o, folder, "", io.Discard)
		if o.update != (err == nil) || err != nil && (!strings.Contains(err.Error(), "3 files compared, 1 differ") ||
			!strings.Contains(err.Error(), " files compared, 0 differ")) {
			t.Errorf("%q: %v", kept, err)
		}
	}
	o.update = false
	if err := s.remake(t.Context(), o, folder, "", io.Discard); err != nil {
		t.Error(err)
	}
}
