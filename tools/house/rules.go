package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// contextValues compares the calls of context.WithValue, by package, with their ceilings (rule 3).
func (f *findings) contextValues(l *limits, files []*source) {
	found := map[string][]finding{}
	for _, s := range files {
		if s.test {
			continue
		}
		ast.Inspect(s.syntax, func(x ast.Node) bool {
			call, ok := x.(*ast.CallExpr)
			if !ok {
				return true
			}
			if to, ok := call.Fun.(*ast.SelectorExpr); ok && to.Sel.Name == "WithValue" {
				if of, ok := to.X.(*ast.Ident); ok && of.Name == "context" {
					found[s.folder()] = append(found[s.folder()], finding{
						3, s.name, s.line(call.Pos()), "a value travels in a context", "Pass it as a parameter or a field.",
					})
				}
			}
			return true
		})
	}
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		if _, ok := l.ContextValues[folder]; !ok {
			f.list = append(f.list, found[folder]...)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(l.ContextValues)) {
		most := l.ContextValues[folder]
		f.ceiling(3, "ContextValues of "+folder, &most, found[folder])
		l.ContextValues[folder] = most
	}
}

// functions compares the length, the complexity and the parameters of functions with their limits (rule 4). The generators of
// tools/kernelgen are exempt.
func (f *findings) functions(l *limits, files []*source) {
	var complex, wide []finding
	seen, named := map[string]bool{}, map[string]int{}
	maps.Copy(named, l.Tables)
	maps.Copy(named, l.Stages)
	for _, s := range files {
		if s.test || s.generated || strings.HasPrefix(s.name, "tools/kernelgen/") {
			continue
		}
		for _, x := range functionsOf(s) {
			at := finding{rule: 4, file: s.name, line: x.line}
			key := s.name + " " + x.name
			seen[key] = true
			if most, ok := l.Tables[key]; ok {
				if x.lines > most {
					f.add(4, s.name, x.line, "Tables get their own ceiling; split it.",
						"%s has %d lines, its ceiling is %d", x.name, x.lines, most)
				}
				continue
			}
			if most := cmp.Or(l.Stages[key], l.FunctionLines); x.lines > most {
				f.add(4, s.name, x.line, "Give its steps names of their own.", "%s has %d lines, at most %d are allowed", x.name,
					x.lines, most)
			}
			if x.complexity > l.Complexity {
				f.add(4, s.name, x.line, "Give its cases names, or make them a table.",
					"%s has a complexity of %d, at most %d is allowed", x.name, x.complexity, l.Complexity)
			}
			if x.complexity > complexityBound {
				at.what, at.remedy = fmt.Sprintf("%s has a complexity of %d", x.name, x.complexity), "Give its cases names."
				complex = append(complex, at)
			}
			if x.parameters > parameterBound && s.folder() != "internal/kernel" {
				at.what, at.remedy = fmt.Sprintf("%s has %d parameters", x.name, x.parameters), "Make them a struct."
				wide = append(wide, at)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !seen[name] {
			f.add(4, limitsPath, 0, "Remove it from Tables or Stages.", "%q does not exist", name)
		}
	}
	f.ceiling(4, "ComplexityAbove", &l.ComplexityAbove, complex)
	f.ceiling(4, "ParametersAbove", &l.ParametersAbove, wide)
}

// types compares the fields of structs, the methods of Config and the files of a type's methods with their limits (rule 5).
func (f *findings) types(l *limits, files []*source) {
	var large []finding
	methods := map[string]map[string]int{} // by type with its folder, then by file
	for _, s := range files {
		if s.test || s.generated {
			continue
		}
		ast.Inspect(s.syntax, func(x ast.Node) bool {
			if t, ok := x.(*ast.StructType); ok && t.Fields.NumFields() > fieldBound {
				what := fmt.Sprintf("a struct has %d fields", t.Fields.NumFields())
				large = append(large, finding{5, s.name, s.line(t.Pos()), what, "Nest those that go together."})
			}
			return true
		})
		for _, d := range s.syntax.Decls {
			if m, ok := d.(*ast.FuncDecl); ok {
				if name, _ := receiver(m); name != "" {
					name = s.folder() + " " + name
					if methods[name] == nil {
						methods[name] = map[string]int{}
					}
					methods[name][s.name]++
				}
			}
		}
	}
	f.ceiling(5, "FieldsAbove", &l.FieldsAbove, large)
	count := 0
	for _, n := range methods[". Config"] {
		count += n
	}
	f.bound(5, "ConfigMethods", count, &l.ConfigMethods, "Config holds settings: give what acts on them a type of its own.")
	f.bound(5, "ConfigFiles", len(methods[". Config"]), &l.ConfigFiles, "Move the method to a file that has others.")
	var spread []finding
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := len(methods[name]); n > typeFileBound {
			spread = append(spread, finding{
				5, slices.Min(slices.Collect(maps.Keys(methods[name]))), 0,
				fmt.Sprintf("the methods of %s lie in %d files", name, n), "Split the type, or gather its methods.",
			})
		}
	}
	f.ceiling(5, "TypesSpread", &l.TypesSpread, spread)
}

// rigs are the packages that only tests may import.
var rigs = regexp.MustCompile(`/internal/testrig(/|$)`)

// tests compares the length of test files with its limit, and checks that only tests import rigs (rule 6).
func (f *findings) tests(l *limits, files []*source) {
	var long []finding
	root := 0
	for _, s := range files {
		if s.test && s.folder() == "." {
			root++
		}
		if n := s.lines(); s.test && n > testLineBound {
			long = append(long, finding{6, s.name, 0, fmt.Sprintf("%d lines of tests", n), "Split it by subject."})
		}
		if s.test || rigs.MatchString("/"+s.folder()) || strings.HasPrefix(s.name, "tools/") ||
			strings.HasPrefix(s.name, "studies/") {
			continue
		}
		for _, i := range s.syntax.Imports {
			if rigs.MatchString(strings.Trim(i.Path.Value, `"`)) {
				f.add(6, s.name, s.line(i.Pos()), "Use it in a test, or move what is needed to a package for all.",
					"%s is for tests alone", i.Path.Value)
			}
		}
	}
	f.bound(6, "RootTests", root, &l.RootTests, "Put a test beside those of its subject.")
	f.ceiling(6, "TestFilesAbove", &l.TestFilesAbove, long)
}

// typedNils reports results, fields and variables of the type of a pointer to an error: their nil, returned as an error, is not
// nil (rule 9).
func (f *findings) typedNils(files []*source) {
	for _, s := range files {
		if s.test || s.generated {
			continue
		}
		refuse := func(t ast.Expr) {
			star, ok := t.(*ast.StarExpr)
			if !ok {
				return
			}
			name := ""
			switch x := star.X.(type) {
			case *ast.Ident:
				name = x.Name
			case *ast.SelectorExpr:
				name = x.Sel.Name
			}
			if strings.HasSuffix(name, "Error") {
				f.add(9, s.name, s.line(t.Pos()), "Let its type be error, or the struct.", "a nil *%s is an error that is not nil", name)
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncType:
				for _, r := range fieldsOf(n.Results) {
					refuse(r.Type)
				}
			case *ast.StructType:
				for _, r := range fieldsOf(n.Fields) {
					refuse(r.Type)
				}
			}
			return true
		})
	}
}

func fieldsOf(l *ast.FieldList) []*ast.Field {
	if l == nil {
		return nil
	}
	return l.List
}

// comments checks that the exported names of public packages have comments that begin with the name, and counts phrases that are
// hard to read (rule 7).
func (f *findings) comments(l *limits, files []*source) {
	var missing []finding
	phrases := map[string]int{}
	for _, s := range files {
		if s.generated || s.test {
			continue
		}
		if isPublic(s) {
			missing = append(missing, withoutComment(s)...)
		}
		for _, group := range s.syntax.Comments {
			for _, c := range group.List {
				for phrase := range l.Phrases {
					for range strings.Count(strings.ToLower(c.Text), phrase) {
						phrases[phrase]++
					}
				}
			}
		}
	}
	f.ceiling(7, "Comments", &l.Comments, missing)
	for _, phrase := range slices.Sorted(maps.Keys(l.Phrases)) {
		most := l.Phrases[phrase]
		f.bound(7, fmt.Sprintf("Phrases[%q]", phrase), phrases[phrase], &most,
			"Write the new sentence otherwise: name the subject, one fact a sentence.")
		l.Phrases[phrase] = most
	}
}

// isPublic says whether importers see the file's package.
func isPublic(s *source) bool {
	return s.syntax.Name.Name != "main" && !strings.Contains("/"+s.folder()+"/", "/internal/") &&
		!strings.HasPrefix(s.name, "tools/")
}

// withoutComment returns the exported functions, the methods of exported types and the exported types whose comment does not
// begin with their name.
func withoutComment(s *source) (out []finding) {
	want := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if !name.IsExported() {
			return
		}
		for _, doc := range docs {
			words := strings.Fields(doc.Text())
			if len(words) > 0 && (words[0] == name.Name || slices.Contains([]string{"A", "An", "The"}, words[0])) {
				return
			}
			if len(words) > 2 && words[1] == "and" { // one comment for a pair
				return
			}
		}
		what := name.Name + " has no comment that begins with its name"
		out = append(out, finding{7, s.name, s.line(name.Pos()), what, "Write one."})
	}
	for _, d := range s.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if r, _ := receiver(d); r == "" || ast.IsExported(r) {
				want(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				for _, x := range d.Specs {
					t := x.(*ast.TypeSpec)
					want(t.Name, t.Doc, d.Doc)
				}
			}
		}
	}
	return out
}
