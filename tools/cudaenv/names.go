package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

// names are the names of C that sources use.
type names map[string]bool

// with returns the names that begin with one of the prefixes and a capital letter or a sign after it, in order.
func (n names) with(prefixes ...string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		for _, p := range prefixes {
			rest, ok := strings.CutPrefix(name, p)
			if ok && rest != "" && (strings.HasSuffix(p, "_") || rest[0] >= 'A' && rest[0] <= 'Z') {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// calledInC finds what C sources call; their own functions are among it.
var calledInC = regexp.MustCompile(`\bcu[A-Z]\w*`)

// namesIn returns the names of C that a package uses, its C sources included.
func namesIn(folder string) (names, error) {
	files, err := goFiles(folder)
	if err != nil {
		return nil, err
	}
	used := names{}
	set := token.NewFileSet()
	for _, path := range files {
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if name, ok := nameOfC(n); ok {
				used[name] = true
			}
			return true
		})
	}
	sources, err := filepath.Glob(filepath.Join(folder, "*.c"))
	if err != nil {
		return nil, err
	}
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, name := range calledInC.FindAllString(string(text), -1) {
			used[name] = true
		}
	}
	return used, nil
}

func nameOfC(n ast.Node) (string, bool) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	id, ok := s.X.(*ast.Ident)
	return s.Sel.Name, ok && id.Name == "C"
}

// goFiles returns the Go sources of a package, without tests.
func goFiles(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go sources in %s", folder)
	}
	return files, nil
}

// compile runs the compiler on a text.
func (e *environment) compile(text string, args ...string) (out, complaint []byte, err error) {
	c := exec.Command(e.compiler, append([]string{"-x", "c", "-I" + e.out, "-I" + e.include}, append(args, "-")...)...)
	var o, m bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(text), &o, &m
	err = c.Run()
	return o.Bytes(), m.Bytes(), err
}

var undeclared = regexp.MustCompile(`'(\w+)' undeclared`)

// missing returns the names that a header does not declare.
func (e *environment) missing(header string, list []string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <%s>\n", header)
	for i, name := range list {
		fmt.Fprintf(&b, "__typeof__(%s) *used%d;\n", name, i)
	}
	_, complaint, err := e.compile(b.String(), "-fsyntax-only", "-fno-diagnostics-color", "-fmax-errors=0")
	if err == nil {
		return nil, nil
	}
	complaint = []byte(strings.NewReplacer("‘", "'", "’", "'").Replace(string(complaint)))
	var out []string
	for _, m := range undeclared.FindAllSubmatch(complaint, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s with <%s>: %w\n%s", e.compiler, header, err, complaint)
	}
	return out, nil
}

// symbols returns the symbols that names stand for in a header, such as cuMemAlloc_v2 for cuMemAlloc.
func (e *environment) symbols(header string, list []string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <%s>\n", header)
	for _, name := range list {
		fmt.Fprintf(&b, "SYMBOL %s\n", name)
	}
	out, complaint, err := e.compile(b.String(), "-E", "-P")
	if err != nil {
		return nil, fmt.Errorf("%s with <%s>: %w\n%s", e.compiler, header, err, complaint)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "SYMBOL "); ok {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	if len(found) != len(list) {
		return nil, fmt.Errorf("%s read %d of %d names of <%s>", e.compiler, len(found), len(list), header)
	}
	return found, nil
}

// archive compiles a text and adds it to a library.
func (e *environment) archive(name, text string) error {
	source := filepath.Join(e.out, name+".c")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return err
	}
	object := filepath.Join(e.out, name+".o")
	// Position-independent: the archive goes into programs and into shared libraries alike.
	_, err := program.Run(e.out, e.compiler, "-c", "-O2", "-fPIC", "-Wall", "-Werror", "-I"+e.out, "-I"+e.include, "-o", object,
		source)
	if err != nil {
		return err
	}
	library := filepath.Join(e.out, "lib"+name+".a")
	if err := os.RemoveAll(library); err != nil {
		return err
	}
	_, err = program.Run(e.out, "ar", "rcs", library, object)
	return err
}
