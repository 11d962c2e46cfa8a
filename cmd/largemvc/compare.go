package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/textfile"
	"github.com/largemvc/largemvc/score"
)

const aboutCompare = `Usage: largemvc compare [flags] A.csv B.csv

Scores two labelings of the same samples against each other, and prints which label of A matches which label of B. The
labels are in the column label (or cluster, class, y …) or in the only column. If both files have ids, compare joins them by
ids, in any order, and uses the samples that are in both. If neither has ids, row i of A and row i of B are one sample. A
missing label (empty, NA, NaN, null …) is an error. A file may have any format that fit -labels reads.

  largemvc compare monday.csv tuesday.csv
`

// compareOptions holds the flags of compare.
type compareOptions struct {
	column, id string
	header     dataset.Header
	json       bool
}

func compareFlags(o *compareOptions) *flags {
	f := newFlags("compare")
	f.string(&o.column, "column", "`NAME` of the column of labels, or NAME,NAME; by default a usual name, or the only column")
	f.string(&o.id, "id", "`NAME` of the column of ids; none: match the rows by their places. By default a usual name")
	f.value(oneOf(&o.header, dataset.AutoHeader, dataset.WithHeader, dataset.NoHeader), "header",
		"whether the first line names the columns: `auto|yes|no`")
	f.bool(&o.json, "json", "print one JSON object instead of the tables")
	return f
}

// comparison holds the result that compare prints.
type comparison struct {
	Samples int       `json:"samples"`         // that both files have
	Matched string    `json:"samples_matched"` // how
	A       labelInfo `json:"a"`
	B       labelInfo `json:"b"`
	ARI     float64   `json:"ari"`
	NMI     float64   `json:"nmi"`
	ACC     float64   `json:"acc"` // share of the samples in matched labels
	// Homogeneity is 1 if every label of B has one label of A only, Completeness the other way round.
	Homogeneity  float64   `json:"homogeneity"`
	Completeness float64   `json:"completeness"`
	Pairs        []matched `json:"matches"`
	Counts       [][]int   `json:"counts"` // A's labels by B's

	order []int // B's labels in the order in which the table has them
}

type labelInfo struct {
	Path    string   `json:"path"`
	Column  string   `json:"column"`
	Samples int      `json:"samples"` // of the file
	Labels  []string `json:"labels"`  // of the samples that are compared
	Sizes   []int    `json:"sizes"`
}

// matched are two labels that stand for each other.
type matched struct {
	A      string `json:"a"`
	B      string `json:"b"` // empty: none
	Shared int    `json:"shared"`
	SizeA  int    `json:"size_a"`
	SizeB  int    `json:"size_b"`
}

func runCompare(ctx context.Context, args []string, stdout, _ io.Writer) error {
	o := &compareOptions{}
	f := compareFlags(o)
	paths, err := f.parse(args)
	if done, err := f.asked(err, stdout, aboutCompare, ""); done || err != nil {
		return err
	}
	if len(paths) != 2 {
		return usagef("compare: give two files of labels ('largemvc compare -h' explains the use)")
	}
	ofA, ofB, two := strings.Cut(o.column, ",")
	if !two {
		ofB = ofA
	}
	read := dataset.Options{Labels: ofA, IDs: o.id, Header: o.header}
	if o.id == "none" {
		read.IDs, read.NoIDs = "", true
	}
	a, err := labelsToCompare(ctx, paths[0], read)
	if err != nil {
		return err
	}
	read.Labels = ofB
	b, err := labelsToCompare(ctx, paths[1], read)
	if err != nil {
		return err
	}
	if read.IDs != "" && !a.IDsNamed && !b.IDsNamed {
		return fmt.Errorf("%s, %s: have no column %s, which -id names", a.Path, b.Path, read.IDs)
	}
	c, err := newComparison(a, b)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(stdout).Encode(c)
	}
	return c.table(stdout)
}

// labelsToCompare reads a file of labels. Errors name the flag of compare.
func labelsToCompare(ctx context.Context, path string, read dataset.Options) (*dataset.Labeling, error) {
	l, err := dataset.ReadLabels(ctx, path, read)
	if err != nil {
		err = &columnError{err}
	}
	return l, err
}

// columnError names -column where package dataset names the field of labels.
type columnError struct{ error }

func (e *columnError) Unwrap() error { return e.error }

func (e *columnError) Error() string {
	text := strings.ReplaceAll(e.error.Error(), "Options.Labels", "-column")
	return strings.Replace(text, "no vector of labels, but", "no vector of labels (name one with -column), but", 1)
}

func newComparison(a, b *dataset.Labeling) (*comparison, error) {
	ofA, ofB := len(a.Labels), len(b.Labels)
	a, b, how, err := a.Common(b)
	if err != nil {
		return nil, err
	}
	t, err := score.NewContingency(a.Labels, b.Labels)
	if err != nil {
		return nil, err
	}
	s, err := largemvc.Evaluate(a.Labels, b.Labels)
	if err != nil {
		return nil, err
	}
	match, err := t.Match() // B's label → A's
	if err != nil {
		return nil, err
	}
	c := &comparison{
		Samples: len(a.Labels), Matched: "by " + how, ARI: s.ARI, NMI: s.NMI, ACC: s.ACC, Homogeneity: s.Homogeneity,
		Completeness: s.Completeness, Counts: t.Counts(),
	}
	_, sizesA := t.Classes()
	_, sizesB := t.Clusters()
	c.A, c.B = labelInfo{a.Path, a.Column, ofA, a.Names, sizesA}, labelInfo{b.Path, b.Column, ofB, b.Names, sizesB}
	of := slices.Repeat([]int{-1}, len(a.Names)) // A's label → B's
	for k, i := range match {
		of[i] = k
	}
	for i, k := range of {
		p := matched{A: a.Names[i], SizeA: sizesA[i]}
		if k >= 0 {
			p.B, p.Shared, p.SizeB = b.Names[k], c.Counts[i][k], sizesB[k]
			c.order = append(c.order, k)
		}
		c.Pairs = append(c.Pairs, p)
	}
	for k := range b.Names {
		if !slices.Contains(c.order, k) {
			c.order = append(c.order, k)
		}
	}
	return c, nil
}

// widestTable is the number of labels up to which the table of all pairs is printed.
const widestTable = 25

func (c *comparison) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, textfile.Printable(fmt.Sprintf(format, args...)))
	}
	shown := textfile.Printable
	part := ""
	if c.Samples < max(c.A.Samples, c.B.Samples) {
		part = fmt.Sprintf(" of the %d of A and of the %d of B", c.A.Samples, c.B.Samples)
	}
	line("samples", "%d%s, joined %s", c.Samples, part, c.Matched)
	line("A", "%s of %s, column %s", count(len(c.A.Labels), "label"), c.A.Path, c.A.Column)
	line("B", "%s of %s, column %s", count(len(c.B.Labels), "label"), c.B.Path, c.B.Column)
	line("scores", "ARI %.1f %%, NMI %.1f %%, %.1f %% of the samples in matched labels", 100*c.ARI, 100*c.NMI, 100*c.ACC)
	line("", "homogeneity %.1f %%, completeness %.1f %% (100 %%: each label of B lies in one of A; each of A in one of B)",
		100*c.Homogeneity, 100*c.Completeness)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t, "\nA\tB\tshared\tof A\tof B")
	for _, p := range c.Pairs {
		if p.B == "" {
			fmt.Fprintf(t, "%s\t–\t\t%d\t\n", shown(p.A), p.SizeA)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\n", shown(p.A), shown(p.B), p.Shared, p.SizeA, p.SizeB)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(c.A.Labels) > widestTable || len(c.B.Labels) > widestTable {
		_, err := fmt.Fprintf(w, "\n(the table of all pairs is left out: more than %d labels)\n", widestTable)
		return err
	}
	r := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(r, "\nA \\ B\t")
	for _, k := range c.order {
		fmt.Fprintf(r, "%s\t", shown(c.B.Labels[k]))
	}
	fmt.Fprintln(r)
	for i, name := range c.A.Labels {
		fmt.Fprintf(r, "%s\t", shown(name))
		for _, k := range c.order {
			fmt.Fprintf(r, "%d\t", c.Counts[i][k])
		}
		fmt.Fprintln(r)
	}
	return r.Flush()
}
