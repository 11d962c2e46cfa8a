package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// The place in docs/architecture.md of the figures that this program prints.
const (
	architecture = "docs/architecture.md"
	figuresBegin = "<!-- figures: printed by house -figures -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// figure is a number that describes the checkout.
type figure struct {
	what  string
	value int
}

// measure returns the figures of a checkout.
func measure(files []*source, root *packages.Package) []figure {
	var all, core, rigs, values, rootFiles, longest, methods int
	inFiles := map[string]bool{}
	for _, s := range files {
		if s.test || s.generated {
			continue
		}
		switch {
		case s.rig():
			rigs += s.lines()
		case isCore(s.name):
			core += s.lines()
		}
		all += s.lines()
		if s.folder() == "." {
			rootFiles, longest = rootFiles+1, max(longest, s.lines())
		}
		for _, x := range functionsOf(s) {
			if s.folder() == "." && (strings.HasPrefix(x.name, "Config.") || strings.HasPrefix(x.name, "(*Config).")) {
				methods, inFiles[s.name] = methods+1, true
			}
		}
	}
	functions, long, deep, complex := countFunctions(files)
	var f findings
	f.contextValues(&limits{}, files)
	values = len(f.list)
	g, arrows, largest := references(root), 0, 0
	for _, from := range g.files() {
		arrows += len(g.targets(from))
	}
	for _, cycle := range g.cycles() {
		largest = max(largest, len(cycle))
	}
	return []figure{
		{"files of the root, tests aside", rootFiles}, {"lines of the longest of them", longest},
		{"arrows between them", arrows}, {"files in the largest circle of them", largest},
		{"methods of Config", methods}, {"files that hold these methods", len(inFiles)},
		{"calls of context.WithValue", values},
		{"functions, tests and generated files aside", functions}, {"of these, over 80 lines", long},
		{"of complexity over 25", deep}, {"of complexity over 15", complex},
		{"lines of Go written by hand, tests and their rigs aside", all - rigs}, {"of these, library and command", core},
		{"lines of rigs, which tests alone may import", rigs},
	}
}

// countFunctions counts the functions, and those that are over 80 lines and of a complexity over 25 and over the bound. Of the
// generator of kernels it counts no more than their number.
func countFunctions(files []*source) (all, long, deep, complex int) {
	for _, s := range files {
		if s.test || s.generated {
			continue
		}
		for _, x := range functionsOf(s) {
			if all++; strings.HasPrefix(s.name, "tools/kernelgen/") {
				continue
			}
			if x.lines > 80 {
				long++
			}
			if x.complexity > 25 {
				deep++
			}
			if x.complexity > complexityBound {
				complex++
			}
		}
	}
	return all, long, deep, complex
}

// figuresText is the table of the figures in docs/architecture.md.
func figuresText(figures []figure) string {
	var b strings.Builder
	b.WriteString(figuresBegin + "| figure | value |\n|---|---|\n")
	for _, x := range figures {
		value := fmt.Sprint(x.value)
		if x.value >= 1000 { // so that not every change of the code changes it
			value = fmt.Sprintf("%.1f thousand", float64(x.value)/1000)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", x.what, value)
	}
	b.WriteString(figuresEnd)
	return b.String()
}

// splitFigures returns what stands before and behind the figures in docs/architecture.md.
func splitFigures(text string) (before, figures, behind string, ok bool) {
	begin, end := strings.Index(text, figuresBegin), strings.Index(text, figuresEnd)
	if begin < 0 || end < begin {
		return "", "", "", false
	}
	end += len(figuresEnd)
	return text[:begin], text[begin:end], text[end:], true
}

// figures checks that docs/architecture.md holds the figures of the checkout (rule 8).
func (f *findings) figures(checkout string, figures []figure) error {
	text, err := os.ReadFile(filepath.Join(checkout, filepath.FromSlash(architecture)))
	if err != nil {
		return err
	}
	_, is, _, ok := splitFigures(string(text))
	if !ok || is != figuresText(figures) {
		f.add(8, architecture, 0, "Run 'go run ./house -figures ..' in tools.", "its figures are not those of the code")
	}
	return nil
}

// writeFigures puts the figures of a checkout into its docs/architecture.md.
func writeFigures(checkout string) error {
	files, root, err := load(checkout)
	if err != nil {
		return err
	}
	path := filepath.Join(checkout, filepath.FromSlash(architecture))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, _, behind, ok := splitFigures(string(text))
	if !ok {
		return fmt.Errorf("%s has no place for figures: %q and %q", architecture, figuresBegin, figuresEnd)
	}
	return os.WriteFile(path, []byte(before+figuresText(measure(files, root))+behind), 0o666)
}
