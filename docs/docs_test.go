// Package docs_test holds the documents to the code, and the code to what the documents say of all of it.
package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	for _, file := range pages(t) {
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
	if seen < 100 {
		t.Errorf("%d links", seen)
	}
}

// pages returns the Markdown files of the repository.
func pages(t *testing.T) (files []string) {
	t.Helper()
	patterns := "*.md .github/*.md docs/*.md studies/*.md studies/results/*.md examples/*/*.md internal/*/*.md testdata/*/*.md " +
		"tools/*/*.md"
	for pattern := range strings.FieldsSeq(patterns) {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// TestNamedPages wants every page that code, help, scripts or pages name by its path to exist.
func TestNamedPages(t *testing.T) {
	page := regexp.MustCompile(`\b(?:docs|studies|examples|internal|tools)/[\w/-]+\.md\b`)
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || path == "studies/tried.md": // which names pages of old commits
			return nil
		case filepath.Ext(path) != "" && !slices.Contains(strings.Fields(".go .md .py .toml .txt .yml .cff"), filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range page.FindAllString(string(text), -1) {
			if seen++; !isFile(name) {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
		return nil
	})
	if err != nil || seen < 60 {
		t.Errorf("%d names of pages, %v", seen, err)
	}
}

// isFile says whether there is a file at a path from the root.
func isFile(path string) bool {
	info, err := os.Stat(filepath.FromSlash(path))
	return err == nil && info.Mode().IsRegular()
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

// exampled lists names of the root that have an example of their own, as go/doc spells them: Type_Method for a method.
const exampled = "Fit DenseView MatrixView SparseView RowsView Model KMeans Evaluate Progress FieldError Resume ReadPredictor " +
	"Predictor_Save Predictor_Transform Predictor_Novelty Predictor_ViewTrust Config_EstimateMemory Config_startLabels"

// TestExamples wants every public package to have examples that go test runs; those of package mpi, which needs a library, are
// compiled alone. The files with examples use each function that returns a type of the package, and each type named …Config or
// …Options.
func TestExamples(t *testing.T) {
	for _, row := range arrows {
		if strings.Contains(row.name, "internal/") || strings.HasPrefix(row.name, "cmd/") {
			continue
		}
		documented, names, used := examples(t, row.name, row.name != "mpi")
		if len(names) == 0 {
			t.Errorf("package %s has no example", row.name)
		}
		for _, name := range strings.Fields(exampled) {
			if row.name == "." && !names[name] {
				t.Errorf("there is no Example%s", name)
			}
		}
		for _, typ := range documented.Types {
			wanted := []string{}
			if strings.HasSuffix(typ.Name, "Config") || strings.HasSuffix(typ.Name, "Options") {
				wanted = append(wanted, typ.Name)
			}
			for _, f := range typ.Funcs {
				wanted = append(wanted, f.Name)
			}
			for _, name := range wanted {
				if !used[name] {
					t.Errorf("no example of package %s uses %s", row.name, name)
				}
			}
		}
	}
}

// examples returns the documentation of the package in a folder, the names of its examples, and the identifiers in files with
// examples. With run, an example without output is an error.
func examples(t *testing.T, folder string, run bool) (documented *doc.Package, names, used map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names, used = map[string]bool{}, map[string]bool{}
	set, sources := token.NewFileSet(), []*ast.File{}
	for _, file := range files {
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			sources = append(sources, f)
			continue
		}
		found := doc.Examples(f)
		for _, e := range found {
			names[e.Name] = true
			if run && e.Output == "" {
				t.Errorf("%s: Example%s has no output", file, e.Name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && len(found) > 0 {
				used[id.Name] = true
			}
			return true
		})
	}
	if documented, err = doc.NewFromFiles(set, sources, modulePath); err != nil {
		t.Fatal(err)
	}
	return documented, names, used
}
