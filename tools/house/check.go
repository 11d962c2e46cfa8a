package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// finding is a place that breaks a rule.
type finding struct {
	rule   int
	file   string // within the checkout
	line   int    // 0: the whole file
	what   string
	remedy string
}

func (f finding) String() string {
	at := f.file
	if f.line > 0 {
		at = fmt.Sprintf("%s:%d", f.file, f.line)
	}
	return fmt.Sprintf("%s: %s (rule %d). %s", at, f.what, f.rule, f.remedy)
}

// findings collects the places that break rules.
type findings struct {
	list  []finding
	lower bool // ceilings above their counts are lowered
}

func (f *findings) add(rule int, file string, line int, remedy, what string, args ...any) {
	f.list = append(f.list, finding{rule, file, line, fmt.Sprintf(what, args...), remedy})
}

// ceiling compares the number of offenders with its ceiling, and lists them if there are too many.
func (f *findings) ceiling(rule int, name string, most *int, offenders []finding) {
	if len(offenders) > *most {
		f.list = append(f.list, offenders...)
	}
	f.bound(rule, name, len(offenders), most, "Mend one of the places above.")
}

// bound compares a count with its ceiling. A count above it breaks the rule. A count below it breaks the rule until the ceiling
// is lowered.
func (f *findings) bound(rule int, name string, n int, most *int, remedy string) {
	switch {
	case n > *most:
		f.add(rule, limitsPath, 0, remedy, "%s is %d, the ceiling is %d", name, n, *most)
	case n < *most && f.lower:
		*most = n
	case n < *most:
		f.add(rule, limitsPath, 0, "Run 'go run ./house -lower ..' in tools, so that it stays there.",
			"%s is %d, the ceiling is %d", name, n, *most)
	}
}

// errBroken says that findings were printed.
var errBroken = errors.New("rules of docs/architecture.md are broken")

// check prints where a checkout breaks the rules, and returns an error if it does. With lower, it first lowers ceilings above
// their counts.
func check(w io.Writer, checkout string, lower bool) error {
	l, err := readLimits(checkout)
	if err != nil {
		return err
	}
	files, root, err := load(checkout)
	if err != nil {
		return err
	}
	f := findings{lower: lower}
	f.root(l, files, root)
	f.contextValues(l, files)
	f.functions(l, files)
	f.types(l, files)
	f.tests(l, files)
	f.comments(l, files)
	f.typedNils(files)
	f.sizes(l, files)
	if err := f.figures(checkout, measure(files, root)); err != nil {
		return err
	}
	slices.SortStableFunc(f.list, func(a, b finding) int { return a.rule - b.rule })
	for _, x := range f.list {
		fmt.Fprintln(w, x)
	}
	if lower {
		if err := writeLimits(checkout, l); err != nil {
			return err
		}
	}
	if len(f.list) > 0 {
		return errBroken
	}
	return nil
}

// load returns the Go files of a checkout and its root package.
func load(checkout string) ([]*source, *packages.Package, error) {
	files, err := sources(checkout)
	if err != nil {
		return nil, nil, err
	}
	root, err := loadRoot(checkout)
	return files, root, err
}

// loadRoot type-checks the package at the root of a checkout.
func loadRoot(checkout string) (*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: checkout}, ".")
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 {
		return nil, fmt.Errorf("%s has no package at its root", checkout)
	}
	if errs := pkgs[0].Errors; len(errs) > 0 {
		return nil, errs[0]
	}
	return pkgs[0], nil
}

// root checks the files of the root: their number, their length, their layers and the exported names (rule 1).
func (f *findings) root(l *limits, files []*source, root *packages.Package) {
	level := map[string]int{}
	for i, s := range l.Layers {
		for _, name := range s.Files {
			level[name] = i + 1
		}
	}
	count := 0
	for _, s := range files {
		if s.folder() != "." || s.test {
			continue
		}
		count++
		if n := s.lines(); n > l.RootFileLines {
			f.add(1, s.name, n, "Split it by subject.", "%d lines, a file of the root has at most %d", n, l.RootFileLines)
		}
		if level[s.name] == 0 && len(l.Layers) > 0 {
			f.add(1, s.name, 0, "Add it to Layers in "+limitsPath+".", "the file is in no layer")
		}
		delete(level, s.name)
	}
	for name := range level {
		f.add(1, limitsPath, 0, "Remove it from Layers.", "%s is in a layer and does not exist", name)
	}
	f.bound(1, "RootFiles", count, &l.RootFiles, "Move a subject of its own to a package.")
	f.arrows(l, references(root))
	names := 0
	for _, name := range root.Types.Scope().Names() {
		if root.Types.Scope().Lookup(name).Exported() {
			names++
		}
	}
	f.bound(1, "RootNames", names, &l.RootNames, "Put what has a subject of its own into a package beside the root.")
}

// arrows checks that no file of the root uses one of a higher layer, and that no files use each other in a circle (rule 1).
func (f *findings) arrows(l *limits, g graph) {
	level := map[string]int{}
	for i, s := range l.Layers {
		for _, name := range s.Files {
			level[name] = i + 1
		}
	}
	for _, from := range g.files() {
		for _, to := range g.targets(from) {
			if level[from] < level[to] && level[from] > 0 {
				f.add(1, from, g.line(from, to), "Move the name down, or pass what is needed as a parameter.",
					"it uses %s of %s, a file of a higher layer", strings.Join(g.names(from, to), ", "), to)
			}
		}
	}
	largest := 0
	for _, cycle := range g.cycles() {
		if largest = max(largest, len(cycle)); len(cycle) <= l.RootCircle {
			continue
		}
		for _, from := range cycle {
			for _, to := range g.targets(from) {
				if slices.Contains(cycle, to) {
					f.add(1, from, g.line(from, to), "Break the circle: move a name, or pass what is needed as a parameter.",
						"it uses %s of %s, in a circle of %d files", strings.Join(g.names(from, to), ", "), to, len(cycle))
				}
			}
		}
	}
	f.bound(1, "RootCircle", largest, &l.RootCircle, "Break the circle: move a name, or pass what is needed as a parameter.")
}

// sizes compares the lines of code with their ceilings (rule 8).
func (f *findings) sizes(l *limits, files []*source) {
	all, core := 0, 0
	for _, s := range files {
		if s.test || s.generated || s.rig() {
			continue
		}
		all += s.lines()
		if isCore(s.name) {
			core += s.lines()
		}
	}
	f.lines("HandWritten", all, &l.HandWritten)
	f.lines("Core", core, &l.Core)
}

// lines compares a number of lines with its ceiling, with some tolerance below.
func (f *findings) lines(name string, n int, most *int) {
	if n > *most || n < *most-lineRoom {
		f.bound(8, name, n, most, "Take something away that nobody would miss.")
	}
}

// isCore says whether a file, no rig, belongs to the library or its command: examples, studies and tools do not.
func isCore(name string) bool {
	for _, other := range []string{"examples/", "tools/", "studies/"} {
		if strings.HasPrefix(name, other) {
			return false
		}
	}
	return true
}
