package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
)

// mostNames is how many names the package may export at its top level: constants, variables, functions and types, methods and
// fields aside. Whoever needs one more looks first for one that can go, or for the package whose subject it is.
const mostNames = 70

func TestPublicNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	if len(names) > mostNames || len(names) < 40 {
		t.Errorf("%d names are exported, want at most %d: %s", len(names), mostNames, strings.Join(names, ", "))
	}
}

// The first level of Config stays short: what belongs together in a group of several is a field.
func TestConfigIsShort(t *testing.T) {
	if n := reflect.TypeFor[largemvc.Config]().NumField(); n > 27 {
		t.Errorf("Config has %d fields, want at most 27", n)
	}
}
