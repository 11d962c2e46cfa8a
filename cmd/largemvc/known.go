package main

import (
	"context"
	"fmt"
	"os"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/score"
)

// aboutKnown is the help of -known.
const aboutKnown = "`FILE|NAME` with the known labels of some samples (docs/known.md). FILE: a table with ids, or a column " +
	"sample\nwith their numbers, and labels; NAME: a column of the data file, empty where the label is not known. Every\n" +
	"sample then gets a class in -out, -json and the model; none by default"

// check finds out whether -known is a file or a column. A column is no feature of the data.
func (k *knownOptions) check(command string, d *dataOptions) error {
	if k.known == "" {
		return nil
	}
	if info, err := os.Stat(k.known); err == nil && !info.IsDir() {
		return nil
	}
	if len(d.data) != 1 || d.data[0] == standard || d.sharded() {
		return usagef("%s: -known %s is no file, and only data of one file can have it as a column: write the ids and the "+
			"labels into a file", command, k.known)
	}
	if info, err := os.Stat(d.data[0]); err == nil && info.IsDir() {
		return usagef("%s: -known %s is no file, and -data %s is a folder: give the file that has the labels", command, k.known,
			d.data[0])
	}
	k.knownColumn, d.noFeature = k.known, k.known
	return nil
}

// file returns the file of -known; "" for a column of the data.
func (k *knownOptions) file() string {
	if k.knownColumn != "" {
		return ""
	}
	return k.known
}

// read returns the known labels of the samples, and sets the names of their classes; nil without -known.
func (k *knownOptions) read(ctx context.Context, d *dataOptions, in *input) ([]int, error) {
	if k.known == "" {
		return nil, nil
	}
	path, options := k.known, d.options(32)
	if k.knownColumn != "" {
		path, options = d.data[0], k.asTheData(options, in)
	} else {
		options = dataset.Options{Header: d.header, IDs: options.IDs, NoIDs: options.NoIDs}
	}
	read, err := dataset.ReadKnown(ctx, path, options)
	if err != nil && k.knownColumn != "" {
		return nil, fmt.Errorf("-known %s is no file, and no column that could be read: %w", k.knownColumn, err)
	}
	if err != nil {
		return nil, err
	}
	k.classNames = read.Names
	labels, _, err := read.AlignSome(d.data[0], in.ids, in.samples)
	return labels, err
}

// asTheData returns the options that read the column of the known labels as the data were read, with the same ids.
func (k *knownOptions) asTheData(o dataset.Options, in *input) dataset.Options {
	o.Labels, o.NoLabels, o.Progress = k.knownColumn, false, nil
	if in.ids == nil {
		o.IDs, o.NoIDs = "", true // the rows of one file are in one order
	} else if in.reading.IDColumn != "" {
		o.IDs = in.reading.IDColumn
	}
	return o
}

// readKnown sets the known labels and the names of their classes. Without -clusters there are as many clusters as classes.
func (o *fitOptions) readKnown(ctx context.Context, in *input) (err error) {
	if o.config.Known != nil { // -clusters auto reads them first
		return nil
	}
	o.config.Known, err = o.knownOptions.read(ctx, &o.dataOptions, in)
	if o.config.Clusters == 0 && in.classes == 0 {
		o.config.Clusters = len(o.classNames)
	}
	return err
}

// className is the name of a class, or its number.
func className(names []string, class int) string {
	if class < 0 {
		return ""
	}
	if class < len(names) {
		return names[class]
	}
	return fmt.Sprint(class)
}

// classColumns are the columns of -out with the classes; none without known labels.
func classColumns(c *score.Classes, names []string) []dataset.Column {
	if c == nil {
		return nil
	}
	classes := make([]string, len(c.Labels))
	for i, l := range c.Labels {
		classes[i] = className(names, l)
	}
	columns := []dataset.Column{{Name: "class", Data: classes}}
	if c.Confidence != nil {
		columns = append(columns, dataset.Column{Name: "class_confidence", Data: c.Confidence})
	}
	return columns
}

// knownOptions has the known labels of -known.
type knownOptions struct {
	known       string   // their file or column, as it was given
	knownColumn string   // their column in the data; "": they are in a file
	classNames  []string // of their classes
}

// reasons are those for a number of clusters, with the one that the known labels give.
func (k *knownOptions) reasons(of []string) []string {
	if k.known == "" {
		return of
	}
	return append(of, fmt.Sprintf("the known labels have %s: lower numbers of clusters are not tried",
		count(len(k.classNames), "class")))
}

// classified has the results of the known labels, in JSON.
type classified struct {
	Known    int            `json:"known"`    // number of known labels
	Classes  []classFound   `json:"classes"`  // that have a known label
	Clusters []string       `json:"clusters"` // class of each cluster; "": none
	Suspects []contradicted `json:"suspects"` // known labels that the others contradict, the strongest contradiction first
	Labels   []string       `json:"labels"`   // class of each sample
	Sure     []float64      `json:"confidence"`
	of       *score.Classes
}

// classFound is a class with its numbers of known labels and of samples.
type classFound struct {
	Name    string `json:"name"`
	Known   int    `json:"known"`
	Samples int    `json:"samples"`
}

// contradicted is a known label that may be wrong.
type contradicted struct {
	ID     string  `json:"id,omitempty"`
	Sample int     `json:"sample"`
	Known  string  `json:"known"`
	Found  string  `json:"found"`
	Margin float64 `json:"margin"`
}

// newClassified sums up the classes of a fit; nil without known labels.
func newClassified(c *score.Classes, names, ids []string) *classified {
	if c == nil {
		return nil
	}
	out := &classified{of: c, Suspects: []contradicted{}, Sure: c.Confidence}
	samples := make([]int, len(c.Known))
	for _, l := range c.Labels {
		samples[l]++
		out.Labels = append(out.Labels, className(names, l))
	}
	for k, known := range c.Known {
		if out.Known += known; known > 0 {
			out.Classes = append(out.Classes, classFound{className(names, k), known, samples[k]})
		}
	}
	for _, class := range c.Clusters {
		out.Clusters = append(out.Clusters, className(names, class))
	}
	for _, s := range c.Suspects {
		x := contradicted{Sample: s.Sample, Known: className(names, s.Known), Found: className(names, s.Found), Margin: s.Margin}
		if ids != nil {
			x.ID = ids[s.Sample]
		}
		out.Suspects = append(out.Suspects, x)
	}
	return out
}

// fewLines is the most classes and suspects that the summary lists.
const fewLines = 10

// lines are the classes in the summary, the first of them after the name of the line.
func (c *classified) lines() (out []string) {
	if c == nil {
		return nil
	}
	out = append(out, fmt.Sprintf("%s of %s", count(c.Known, "known label"), count(len(c.Classes), "class")))
	for k, x := range c.Classes {
		if k == fewLines {
			out = append(out, fmt.Sprintf("… (%d more)", len(c.Classes)-k))
			break
		}
		doubt := ""
		if x.Known == 1 && c.Known > 2*len(c.Classes) {
			doubt = "; check the spelling of its one known label"
		}
		out = append(out, fmt.Sprintf("%s: %d known, %s%s", x.Name, x.Known, count(x.Samples, "sample"), doubt))
	}
	for k, x := range c.Suspects {
		if k == fewLines {
			out = append(out, fmt.Sprintf("… (%d more suspects)", len(c.Suspects)-k))
			break
		}
		name := x.ID
		if name == "" {
			name = fmt.Sprintf("sample %d", x.Sample)
		}
		out = append(out, fmt.Sprintf("check %s: its label is %s, and the other labels suggest %s", name, x.Known, x.Found))
	}
	return out
}
