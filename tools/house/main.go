// The program house reports the structure of a checkout of the library: which files of the root package use which others, with
// their circles; the imports between packages; lines of Go that are too long.
//
//	cd tools && go run ./house ..              # the checkout that holds the tools
//	cd tools && go run ./house -long OTHER     # another checkout, with every line that is too long
//	cd tools && go run ./house -check ..       # where the rules of docs/architecture.md are broken: file, line, remedy
//	cd tools && go run ./house -lower ..       # lowers ceilings that are above today's counts
//	cd tools && go run ./house -figures ..     # puts today's figures into docs/architecture.md
//
// A file uses another one if it uses a name that the other defines at package level, or a field or a method of its types. The
// type checker decides this, for the files that this system builds, without tests.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/largemvc/largemvc/tools/internal/program"
)

func main() {
	long := flag.Bool("long", false, fmt.Sprintf("list the lines of more than %d columns", maxColumns))
	rules := flag.Bool("check", false, "check the rules of docs/architecture.md with the ceilings of "+limitsPath)
	lower := flag.Bool("lower", false, "lower the ceilings in "+limitsPath+" that are above today's counts, then check")
	figures := flag.Bool("figures", false, "put the figures of the checkout into its "+architecture)
	checkout := program.Arguments("house [-long|-check|-lower|-figures] CHECKOUT", 1)[0]
	switch {
	case *rules || *lower:
		program.End("house", program.Failed, check(os.Stdout, checkout, *lower))
	case *figures:
		program.End("house", program.Failed, writeFigures(checkout))
	default:
		program.End("house", program.Failed, run(os.Stdout, checkout, *long))
	}
}

func run(w io.Writer, checkout string, long bool) error {
	pkgs, err := loadAll(checkout)
	if err != nil {
		return err
	}
	root := slices.IndexFunc(pkgs, func(p *packages.Package) bool { return p.PkgPath == p.Module.Path })
	if root < 0 {
		return fmt.Errorf("%s has no package at its root", checkout)
	}
	printRoot(w, pkgs[root], pkgs)
	printArrows(w, pkgs)
	return printLines(w, checkout, long)
}

// loadAll type-checks the packages of the module at the root of a checkout.
func loadAll(checkout string) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: checkout}, "./...")
	if err != nil {
		return nil, err
	}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %v", p.PkgPath, p.Errors[0])
		}
		if p.Module == nil {
			return nil, fmt.Errorf("%s is in no module", p.PkgPath)
		}
	}
	return pkgs, nil
}

func printRoot(w io.Writer, root *packages.Package, all []*packages.Package) {
	lines := 0
	for _, f := range root.Syntax {
		lines += root.Fset.File(f.FileStart).LineCount()
	}
	names, outside := exported(root, all)
	fmt.Fprintf(w, "root package: %d files without tests, %d lines\n", len(root.Syntax), lines)
	fmt.Fprintf(w, "exported top-level names: %d, of which %d are used by other packages of the module\n\n", names, outside)

	g := references(root)
	fmt.Fprintln(w, "files of the root package, and the files that they refer to:")
	for _, f := range g.files() {
		fmt.Fprintf(w, "  %s: %s\n", f, strings.Join(g.targets(f), " "))
	}
	cycles := g.cycles()
	fmt.Fprintf(w, "\ncycles of files: %d\n", len(cycles))
	for _, cycle := range cycles {
		fmt.Fprintf(w, "  a cycle of %d files:\n", len(cycle))
		for _, from := range cycle {
			fmt.Fprintf(w, "    %s\n", from)
			for _, to := range g.targets(from) {
				if slices.Contains(cycle, to) {
					fmt.Fprintf(w, "      → %s: %s\n", to, strings.Join(g.names(from, to), ", "))
				}
			}
		}
	}
}

// printArrows prints the packages by level: one level above the highest package that they import.
func printArrows(w io.Writer, pkgs []*packages.Package) {
	module := pkgs[0].Module.Path
	short := func(path string) string {
		if path == module {
			return "."
		}
		return strings.TrimPrefix(path, module+"/")
	}
	imports, floors := map[string][]string{}, map[string]int{}
	for _, p := range pkgs {
		name := short(p.PkgPath)
		imports[name] = []string{}
		for path := range p.Imports {
			if path == module || strings.HasPrefix(path, module+"/") {
				imports[name] = append(imports[name], short(path))
			}
		}
		slices.Sort(imports[name])
	}
	var floor func(name string) int
	floor = func(name string) int {
		f, ok := floors[name]
		if !ok {
			for _, below := range imports[name] {
				f = max(f, floor(below)+1)
			}
			floors[name] = f
		}
		return f
	}
	var names []string
	arrows := 0
	for name := range imports {
		floor(name)
		names = append(names, name)
		arrows += len(imports[name])
	}
	slices.SortFunc(names, func(a, b string) int {
		if floors[a] != floors[b] {
			return floors[b] - floors[a]
		}
		return strings.Compare(a, b)
	})
	fmt.Fprintf(w, "\npackages: %d, arrows between them: %d\n", len(names), arrows)
	for _, name := range names {
		fmt.Fprintf(w, "  floor %d  %s → %s\n", floors[name], name, strings.Join(imports[name], " "))
	}
	for _, name := range names {
		if strings.HasPrefix(name, "internal/") && slices.Contains(imports[name], ".") {
			fmt.Fprintf(w, "  wrong: %s imports the root\n", name)
		}
	}
}

func printLines(w io.Writer, checkout string, long bool) error {
	over, wide, err := longLines(checkout)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nlines of Go over %d columns: %d; over %d: %d\n", maxColumns, len(over), usualColumns, wide)
	counts := map[string]int{}
	for _, l := range over {
		counts[filepath.ToSlash(filepath.Dir(l.file))]++
		if long {
			fmt.Fprintf(w, "  %s:%d: %d columns\n", l.file, l.number, l.columns)
		}
	}
	if long {
		return nil
	}
	folders := make([]string, 0, len(counts))
	for f := range counts {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	for _, f := range folders {
		fmt.Fprintf(w, "  %s: %d\n", f, counts[f])
	}
	return nil
}
