package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// source is a Go file of a checkout.
type source struct {
	name      string // within the checkout, with slashes
	set       *token.FileSet
	syntax    *ast.File
	test      bool
	generated bool
}

func (s *source) lines() int { return s.set.File(s.syntax.FileStart).LineCount() }

// line is the line number of a position in the file.
func (s *source) line(at token.Pos) int { return s.set.Position(at).Line }

// folder is the folder of the file within the checkout; "." is the root.
func (s *source) folder() string { return filepath.ToSlash(filepath.Dir(s.name)) }

// rig says whether the file is of a rig, which tests alone may import (rule 6).
func (s *source) rig() bool { return strings.HasPrefix(s.name, "internal/testrig/") }

// goFiles calls visit with the path of every Go file of a checkout, and its name within the checkout, with slashes. It leaves out
// testdata and hidden folders.
func goFiles(checkout string, visit func(path, name string) error) error {
	return filepath.WalkDir(checkout, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != checkout && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		name, err := filepath.Rel(checkout, path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(name))
	})
}

// sources parses the Go files of a checkout, whatever they are built for.
func sources(checkout string) ([]*source, error) {
	var out []*source
	set := token.NewFileSet()
	err := goFiles(checkout, func(path, name string) error {
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, &source{
			name: name, set: set, syntax: file, test: strings.HasSuffix(path, "_test.go"),
			generated: ast.IsGenerated(file),
		})
		return nil
	})
	return out, err
}

// function holds the counts of a function with a body.
type function struct {
	file       *source
	name       string // with the type of the receiver, as in (*Config).check
	line       int
	lines      int // from func to the closing brace
	complexity int // cyclomatic: 1, and 1 for each if, for, case and select case, && and ||
	parameters int
}

// functionsOf measures the functions of a file.
func functionsOf(s *source) []function {
	var out []function
	for _, d := range s.syntax.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		if r, pointer := receiver(f); r != "" {
			if name = r + "." + name; pointer {
				name = "(*" + r + ")." + f.Name.Name
			}
		}
		out = append(out, function{
			file: s, name: name, line: s.line(f.Pos()), lines: s.line(f.Body.Rbrace) - s.line(f.Pos()) + 1,
			complexity: complexity(f), parameters: f.Type.Params.NumFields(),
		})
	}
	return out
}

// receiver returns the name of the type of a method, "" for a function, and whether it is a pointer.
func receiver(f *ast.FuncDecl) (name string, pointer bool) {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return "", false
	}
	x := f.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x, pointer = t.X, true
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name, pointer
		default:
			return "", pointer
		}
	}
}

// complexity is the cyclomatic complexity of a function, including nested functions.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
