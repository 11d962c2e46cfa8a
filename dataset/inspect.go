package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Report says what is in some files and how they are read. Its String is a table for people.
type Report struct {
	Name  string
	Files []FileReport
	// Problem is the error that Open gives for these files and options, or nil. What was found before it is reported.
	Problem error
	// Reading says how the files are read, as in a [Set].
	Reading Reading

	Samples     int
	Orientation string // which axis of the matrices counts the samples, and why
	Views       []ViewReport
	Classes     []ClassReport // nil without labels
	Incomplete  int           // samples that lack a view
	MissingRate float64       // share of the n·V view rows that are absent
	Bytes       int64         // memory of the values as they are read
}

// FileReport is one file.
type FileReport struct {
	Path      string
	Format    string // for example "MATLAB v5"
	Bytes     int64
	Variables []VariableReport
}

// VariableReport is one variable of a file.
type VariableReport struct {
	Name  string
	Class string // for example "double stored as uint8"
	Shape string // for example "210×1302"
	Role  string // view 0, labels, mask, index, or empty
	Note  string // why it is skipped
}

// ClassReport is one class of the labels.
type ClassReport struct {
	Name  string // the value in the file
	Count int
}

// ViewReport describes the values of one view. Absent rows do not count in anything but Absent.
type ViewReport struct {
	Name     string
	Features int
	Class    string  // as stored
	Sparse   bool    // held as CSR
	Fill     float64 // share of entries that are not zero
	Absent   int     // absent rows
	// ConstantColumns is the number of columns with one value in all rows; ZeroRows the number of rows of zeros.
	ConstantColumns, ZeroRows int
	// NaN and Inf count the entries that are not finite; FirstBad is the place of the first.
	NaN, Inf int
	FirstBad *Place
	// Min and Max are over the finite entries. MedianStd and MaxStd are the median and the largest standard deviation
	// of the columns that are not constant: columns of very different scale show in their ratio.
	Min, Max, MedianStd, MaxStd float64
}

// Place is an entry of a view.
type Place struct{ Row, Column int }

// Inspect examines files or a folder as Open would read them. It returns an error only if they could not be opened. What
// prevents Open from reading them is in Report.Problem. If ctx is cancelled, Inspect soon returns its error.
func Inspect(ctx context.Context, paths []string, o Options) (*Report, error) {
	if err := o.within(ctx); err != nil {
		return nil, err
	}
	p, err := newPlan(paths, &o)
	if len(p.sources) == 0 {
		return nil, err
	}
	r := &Report{Name: p.name, Problem: err}
	if err == nil {
		defer p.close()
		r.fill(p, &o)
		r.Problem = p.unchanged(ctx, r.Problem)
	}
	if r.Reading.Views == nil { // what was found before a problem
		r.Reading = Reading{LeftOut: p.left, Notes: p.notes, Warnings: p.warnings, IDs: p.aboutIDs}
	}
	for _, s := range p.sources {
		f := FileReport{Path: s.path, Format: s.format, Bytes: s.size}
		for _, v := range s.vars {
			f.add(v, p)
		}
		r.Files = append(r.Files, f)
	}
	return r, nil
}

// add lists a variable and, for a cell, its elements.
func (f *FileReport) add(v *variable, p *plan) {
	f.Variables = append(f.Variables, VariableReport{v.name, v.class, v.shapeString(), p.role(v), v.note})
	for i, c := range v.cells {
		if i == 32 {
			f.Variables = append(f.Variables, VariableReport{Name: "…", Note: "more elements are not shown"})
			return
		}
		f.add(c, p)
	}
}

func (p *plan) role(v *variable) string {
	if i := slices.Index(p.views, v); i >= 0 {
		return "view " + itoa(i)
	}
	for i, x := range p.views {
		if x.whole == v {
			return fmt.Sprintf("views %d to %d", i, i+len(p.views)-1)
		}
	}
	switch {
	case slices.Contains(p.labels, v):
		return "labels"
	case v == p.mask:
		return "mask"
	case slices.Contains(p.index, v):
		return "index"
	}
	for _, s := range p.sources {
		if s.ids == v {
			return "ids"
		}
	}
	return ""
}

// fill reads the data and describes them.
func (r *Report) fill(p *plan, o *Options) {
	raw, err := p.readRaw()
	if err != nil {
		r.Problem = err
		return
	}
	r.Problem = raw.resolve(o)
	set := raw.set
	r.Reading = p.reading(set)
	r.Samples, r.MissingRate, r.Bytes = set.Samples(), set.MissingRate(), set.Bytes()
	r.Orientation = "rows are samples (" + p.why + ")"
	if p.turned {
		r.Orientation = "columns are samples (" + p.why + ")"
	}
	if o.Triplets {
		r.Orientation = "triplets of row, column and value"
	}
	for _, row := range set.Present {
		if slices.Contains(row, false) {
			r.Incomplete++
		}
	}
	r.Classes = set.classReports()
	for v := range set.Views {
		view, err := describe(set, v, p.views[v].class, p.lim)
		if err != nil {
			r.Problem = err
			return
		}
		r.Views = append(r.Views, view)
	}
}

// entries calls each for the values of row i, of a sparse view for its entries.
func (v *View) entries(i int, each func(j int, x float64)) {
	v.entriesBetween(i, 0, v.Cols, each)
}

// String is a table of the report.
func (r *Report) String() string {
	var b strings.Builder
	for i := range r.Files {
		r.Files[i].print(&b)
	}
	r.print(&b)
	return b.String()
}
