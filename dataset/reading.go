package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/suspect"
	"github.com/largemvc/largemvc/internal/textfile"
)

// Reading says how files were read: what became a view, the classes and the ids, and what was left out.
type Reading struct {
	Views  []ViewReading `json:"views"`
	Labels string        `json:"labels"` // what gave the classes, empty without
	IDs    string        `json:"ids"`    // what named the samples, empty without
	// IDColumn is the name of the column of a table that named the samples; empty without a name.
	IDColumn string `json:"id_column"`
	Mask     string `json:"present"` // what said which views are present, empty where nothing did
	// LeftOut lists what is in the files and was not read.
	LeftOut []Omission `json:"left_out"`
	// Notes are remarks, and what could be read otherwise.
	Notes []string `json:"notes"`
	// Warnings say what may be wrong with the data, and what to check.
	Warnings []string `json:"warnings"`
}

// ViewReading is one view of a [Reading].
type ViewReading struct {
	Name     string `json:"name"`
	Samples  int    `json:"samples"`
	Features int    `json:"features"`
	Source   string `json:"source"`  // file, and the variable in it
	Named    bool   `json:"named"`   // the features have names
	Example  string `json:"example"` // the first and the last of the names
}

// Omission names a part of a file that was not read, and why.
type Omission struct {
	File string `json:"file"`
	What string `json:"what"`
	Why  string `json:"why"`
}

// Lines are the reading in words, a line for each thing.
func (r *Reading) Lines() []string {
	var out []string
	line := func(name, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-9s ", name)+textfile.Printable(fmt.Sprintf(format, args...)))
	}
	for v := range r.Views {
		x := &r.Views[v]
		names := "features without names"
		if x.Named {
			names = "features " + x.Example
		}
		line(fmt.Sprintf("view %d", v), "%s, %d×%d, %s, from %s", x.Name, x.Samples, x.Features, names, x.Source)
	}
	noIDs := "none"
	if len(r.Views) > 1 {
		noIDs += "; the rows of all views are samples in the same order"
	}
	for _, x := range []struct{ name, value, none string }{
		{"classes", r.Labels, "none"}, {"ids", r.IDs, noIDs}, {"mask", r.Mask, ""},
	} {
		if value := cmp.Or(x.value, x.none); value != "" {
			line(x.name, "%s", value)
		}
	}
	const most = 20
	for i, x := range r.LeftOut {
		if i == most {
			line("left out", "… and %d more", len(r.LeftOut)-most)
			break
		}
		line("left out", "%s of %s: %s", x.What, x.File, x.Why)
	}
	for _, n := range r.Notes {
		line("note", "%s", n)
	}
	for _, w := range r.Warnings {
		line("warning", "%s", w)
	}
	return out
}

// String is the lines, one below the other.
func (r *Reading) String() string { return strings.Join(r.Lines(), "\n") }

// reading says how the files were read, once they are.
func (p *plan) reading(set *Set) Reading {
	r := Reading{LeftOut: p.left, Notes: slices.Concat(p.notes, set.Reading.Notes),
		Warnings: slices.Concat(p.warnings, set.Reading.Warnings)}
	for i, v := range p.views {
		view := &set.Views[i]
		x := ViewReading{Name: view.Name, Samples: view.Rows, Features: view.Cols, Source: v.origin(),
			Named: view.Features != nil}
		if f := view.Features; len(f) > 1 {
			x.Example = f[0] + " … " + f[len(f)-1]
		} else if len(f) == 1 {
			x.Example = f[0]
		}
		r.Views = append(r.Views, x)
	}
	if set.Labels != nil {
		r.Labels = fmt.Sprintf("%d, from %s: %s", len(set.LabelNames), someNames(lists.Texts(p.labels, (*variable).origin)),
			someNames(lists.Texts(set.classReports(), ClassReport.sized)))
	}
	r.IDs, r.IDColumn = p.aboutIDs, p.idColumn
	switch {
	case p.mask != nil:
		r.Mask = p.mask.origin()
	case p.index != nil:
		r.Mask = "the lists index in " + p.index[0].file
	case set.Present != nil && p.joined != nil && !p.joined.same:
		r.Mask = "absent are the views of samples that a file or a modality lacks, and rows that are wholly NaN"
	case set.Present != nil:
		r.Mask = "rows that are wholly NaN are absent"
	}
	if r.Mask != "" && set.Present != nil {
		r.Mask += fmt.Sprintf("; %.1f %% of the view rows are absent", 100*set.MissingRate())
	}
	return r
}

// origin is where a variable comes from.
func (v *variable) origin() string {
	if v.whole != nil {
		return "columns of " + v.whole.name + " in " + v.file
	}
	if !v.fromTable {
		return v.name + " in " + v.file
	}
	if v.name == headerIDs {
		return "the first line of " + v.file
	}
	if v.kind == text && strings.HasPrefix(v.name, "column ") {
		return v.name + " (the first is 0) of " + v.file
	}
	if v.kind == text {
		return "column " + v.name + " of " + v.file
	}
	return v.file
}

// warn adds what may be wrong with the data although they can be read. Many classes are no surprise where labels were named.
func (p *plan) warn(set *Set, named bool) {
	n, classes := set.Samples(), len(set.LabelNames)
	switch {
	case set.Labels == nil:
	case classes == n && n > 2:
		p.warnings = append(p.warnings, fmt.Sprintf("all %d labels are different: is %s a number to predict, or an id, and no "+
			"class? Options.Labels names the classes, Options.NoLabels leaves them out", n, p.labels[0].origin()))
	case classes > 2 && 10*classes > n && !named:
		p.warnings = append(p.warnings, fmt.Sprintf("%d classes for %d samples: does %s give the classes? Options.Labels names "+
			"them, Options.NoLabels leaves them out", classes, n, p.labels[0].origin()))
	case classes == 1:
		p.warnings = append(p.warnings, fmt.Sprintf("all labels are %s", set.LabelNames[0]))
	}
	p.warnOfFormulas()
	p.warnOfTotals(set)
	if p.turned && p.why == whyOnly && len(p.views) > 1 {
		p.warnings = append(p.warnings, fmt.Sprintf("the columns are read as the %d samples, since only their number is the "+
			"same in all views; Options.Orientation columns confirms it, Options.Orientation rows says that it is wrong", n))
	}
	if p.why != whyEither {
		return
	}
	for v := range set.Views {
		if cols := set.Views[v].Cols; cols >= wideFactor*n {
			p.warnings = append(p.warnings, fmt.Sprintf("%d samples of %d features in %s: if the columns are the samples, give "+
				"Options.Orientation columns", n, cols, p.views[v].origin()))
			return
		}
	}
}

// warnOfFormulas adds ids that a spreadsheet would run.
func (p *plan) warnOfFormulas() {
	if p.joined == nil {
		return
	}
	for _, id := range p.joined.ids {
		if _, number := parseNumber([]byte(id)); !number && id != "" && strings.ContainsRune("=+-@\t\r", rune(id[0])) {
			p.warnings = append(p.warnings, fmt.Sprintf("the id %q begins as a formula of a spreadsheet does, and files of "+
				"results have it as it is: do not open them there", id))
			return
		}
	}
}

// fewestTotalled is the number of rows from which a last row that is the sum of the others is no chance.
const fewestTotalled = 10

// warnOfTotals warns of tables whose last row is the sum of the rows above it.
func (p *plan) warnOfTotals(set *Set) {
	for v := range set.Views {
		x := &set.Views[v]
		if !p.views[v].fromTable || x.Float32 == nil && x.Float64 == nil || x.Cols < 2 || x.Rows < fewestTotalled {
			continue
		}
		totals, j := true, 0
		for ; totals && j < x.Cols; j++ {
			sum, size := 0.0, 0.0
			for i := range x.Rows - 1 {
				sum, size = sum+x.At(i, j), size+math.Abs(x.At(i, j))
			}
			totals = size > 0 && math.Abs(sum-x.At(x.Rows-1, j)) <= 1e-4*size
		}
		if totals {
			p.warnings = append(p.warnings, fmt.Sprintf("the last row of %s is the sum of the rows above it: take it out if it "+
				"has totals", p.views[v].origin()))
		}
	}
}

// warnOfTwins warns of views that hold the same values as one before them, or a multiple: a file given twice, or one that was
// copied. Absent rows are zero by then.
func (r *rawSet) warnOfTwins() {
	set := r.set
	var compare suspect.Comparer
	all := lists.Indices(set.Samples())
	for v := range set.Views {
		b := &set.Views[v]
		for u := range v {
			a := &set.Views[u]
			if a.Rows != b.Rows || a.Cols != b.Cols || !samePlaces(a.Sparse, b.Sparse) {
				continue
			}
			factor, same := compare.Twin(allRows{a}, allRows{b}, a.Cols, all)
			if !same {
				continue
			}
			what := "hold the same values"
			if factor != 1 {
				what = fmt.Sprintf("differ by the factor %.6g alone", factor)
			}
			set.Reading.Warnings = append(set.Reading.Warnings, fmt.Sprintf("views %d (%s) and %d (%s) %s: %s", u,
				r.vars[u].origin(), v, r.vars[v].origin(), what, suspect.GivenTwice))
			break
		}
	}
}

// samePlaces says whether two views hold values at the same places: both all of them, or both the same entries.
func samePlaces(x, y *CSR) bool {
	if x == nil || y == nil {
		return x == y
	}
	return slices.Equal(x.RowPtr, y.RowPtr) && slices.Equal(x.Col, y.Col)
}

// allRows are the rows of a view, the absent ones too.
type allRows struct{ *View }

// Has says that all rows are there.
func (allRows) Has(int) bool { return true }

// wideFactor is from how many features a sample on a matrix that could be read either way is thought to be turned.
const wideFactor = 10
