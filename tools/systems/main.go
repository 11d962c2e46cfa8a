// Command systems checks the types of all packages of a checkout, with their tests, as other systems build them. It compiles
// nothing, and skips the function bodies of other modules, so it takes a fraction of the time of go vet.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: systems CHECKOUT GOOS/GOARCH ...") }
	flag.Parse()
	if flag.NArg() < 2 {
		flag.Usage()
		os.Exit(2)
	}
	failed := false
	for _, target := range flag.Args()[1:] {
		faults, n, err := check(flag.Arg(0), target)
		if err != nil {
			faults = append(faults, err.Error())
		}
		for _, fault := range faults {
			fmt.Fprintf(os.Stderr, "%s: %s\n", target, fault)
		}
		failed = failed || len(faults) > 0
		fmt.Printf("%s: %d packages\n", target, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the faults of the packages in a checkout on a system, and their number.
func check(checkout, target string) (faults []string, n int, err error) {
	dir, err := filepath.Abs(checkout)
	if err != nil {
		return nil, 0, err
	}
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return nil, 0, fmt.Errorf("want GOOS/GOARCH")
	}
	found, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Dir: dir, Tests: true, Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor),
		ParseFile: func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if f != nil && !strings.HasPrefix(name, dir+string(filepath.Separator)) {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						d.Body = nil
					}
				}
			}
			return f, err
		},
	}, "./...")
	for _, p := range found {
		if strings.HasSuffix(p.ID, ".test") {
			continue // its file is generated, and its functions have no bodies here
		}
		for _, e := range p.Errors {
			faults = append(faults, e.Error())
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no packages in %s", dir)
	}
	return faults, len(found), err
}
