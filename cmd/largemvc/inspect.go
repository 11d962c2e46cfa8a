package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/internal/suspect"
	"github.com/largemvc/largemvc/machine"
)

// inspectOptions holds the flags of inspect.
type inspectOptions struct {
	dataOptions
	clusters int
	manifest bool
	write    string
	flags    *flags
}

const aboutInspect = `Usage: largemvc inspect FILE… [flags]

Prints the contents of a file or folder, how they are read as a data set, suggested settings, and the memory of a fit.
Several files are one data set with one view per file. The exit status is 1 if they cannot be read. For a model of
'largemvc fit -save', inspect prints the data and settings of the training; for a checkpoint, the state of the training.
`

// inspectFlags makes the flags of inspect.
func inspectFlags(o *inspectOptions) *flags {
	f := newFlags("inspect")
	o.flags = f
	o.dataFlags(f)
	o.prepareFlags(f)
	f.bool(&o.manifest, "manifest", "write a manifest beside the files of each -data with %d: how many files there are, and "+
		"how many rows each has. No\ncommand reads such files without it")
	f.value(scratchFolder{&o.scratch, &o.numbers}, "scratch", "`FOLDER` for temporary files. Files with %d need it if they "+
		"cannot be read row by row (CSV, compressed arrays); none\nby default")
	f.output(&o.write, "write", "`FILE` for how the data are read, and all settings with their defaults: edit it and give it "+
		"to fit -config; none by\ndefault")
	f.group("Memory")
	f.int(&o.clusters, "clusters", 0, "`C`, the number of clusters for the estimate of memory; 0: the number of classes in the "+
		"labels, or 10 without labels")
	f.first("largemvc inspect mydata.mat", "clusters 7", "labels species", "id patient", "views X0,X2", "view shape=c1-c40",
		"leave-out comment", "orientation rows", "max-memory 4096")
	return f
}

// runInspect prints the report on the files.
func runInspect(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &inspectOptions{}
	f := inspectFlags(o)
	_, err := f.parse(args)
	if done, err := f.asked(err, stdout, aboutInspect, aboutData); done || err != nil {
		return err
	}
	if len(o.data) == 0 {
		return usagef("inspect: FILE is missing ('largemvc inspect -h' explains the use)")
	}
	if done, err := o.inspectOther(ctx, stdout); done {
		return err
	}
	file := &output{flag: "write", path: o.write}
	if err := errors.Join(o.check("inspect"), checkOutputs("inspect", stdout, []*output{file}, o.inputs())); err != nil {
		return err
	}
	if o.clusters < 0 {
		return usagef("inspect: -clusters is %d, want at least 0", o.clusters)
	}
	bar := progress.New(stderr, "")
	o.progress = readingProgress(bar, time.Now())
	r, err := o.inspect(ctx, 32)
	bar.End()
	if err == nil && ctx.Err() != nil {
		err = r.Problem // the report was not finished
	}
	if err != nil {
		return cancelled(ctx, err)
	}
	problem := r.Problem // which run prints
	r.Problem = nil
	if _, err := io.WriteString(stdout, withFlags(r.String())); err != nil || problem != nil {
		return errors.Join(err, problem)
	}
	err = file.save(stdout, func(w io.Writer) error { return o.writeStart(w, r) })
	return errors.Join(err, o.suggest(stdout, r))
}

// inspectOther looks at what is no data set in files of its own: parts, models and checkpoints.
func (o *inspectOptions) inspectOther(ctx context.Context, stdout io.Writer) (done bool, err error) {
	if o.manifest {
		options := o.options(32)
		options.NoLabels, options.Labels = true, ""
		return true, writeManifests(ctx, stdout, o.data, options)
	}
	if o.sharded() {
		if o.write != "" {
			return true, usagef("inspect: -write cannot be given with %%d in -data")
		}
		if err := o.check("inspect"); err != nil {
			return true, err
		}
		return true, o.inspectParts(ctx, stdout)
	}
	if len(o.data) == 1 {
		switch savedAs(o.data[0]) {
		case savedModel:
			return true, printModel(stdout, o.data[0])
		case savedCheckpoint:
			return true, printCheckpoint(stdout, o.data[0])
		}
	}
	return false, nil
}

// writeStart writes what was found as a file of -config.
func (o *inspectOptions) writeStart(w io.Writer, r *dataset.Report) error {
	more := map[string]any{}
	if o.views == "" && o.table == nil {
		more["views"] = viewNames(r)
	}
	clusters, _ := o.count(r)
	return writeConfig(w, o.flags, largemvc.Config{Clusters: clusters}, more)
}

func viewNames(r *dataset.Report) []string {
	return lists.Texts(r.Views, func(v dataset.ViewReport) string { return v.Name })
}

// count returns the number of clusters to begin with, and why.
func (o *inspectOptions) count(r *dataset.Report) (clusters int, from string) {
	switch {
	case o.clusters > 0:
		return o.clusters, "-clusters"
	case len(r.Classes) > 0:
		return len(r.Classes), "the number of classes"
	}
	return min(10, r.Samples), "a guess, because there are no labels: give -clusters"
}

// fitCommand is the command that fits AnnData or MuData, with the paths of its views; empty for other files.
func (o *inspectOptions) fitCommand(r *dataset.Report, clusters int) string {
	if f := r.Files[0].Format; len(o.data) > 1 || !strings.HasPrefix(f, "AnnData") && !strings.HasPrefix(f, "MuData") {
		return ""
	}
	labels := ""
	if o.labels != "" {
		labels = " -labels " + o.labels
	}
	return fmt.Sprintf("fit it with: largemvc fit -data %s -views %s%s -clusters %d -save model.safetensors -out labels.csv\n",
		o.data[0], strings.Join(viewNames(r), ","), labels, clusters)
}

// suggest prints what to fit the data with.
func (o *inspectOptions) suggest(w io.Writer, r *dataset.Report) error {
	fmt.Fprintf(w, "\nsuggested: %s\n", suggestion(r))
	clusters, from := o.count(r)
	fmt.Fprint(w, o.fitCommand(r, clusters))
	sizes := make([]largemvc.View, len(r.Views))
	for v := range r.Views {
		sizes[v] = largemvc.DenseView[float32](r.Samples, r.Views[v].Features, nil)
	}
	sparse := slices.ContainsFunc(r.Views, func(x dataset.ViewReport) bool { return x.Sparse })
	c := largemvc.Config{Clusters: clusters, Machine: machine.Options{Overwrite: !sparse}}
	m, err := c.EstimateMemory(sizes)
	if err != nil {
		_, err = fmt.Fprintf(w, "a fit would fail: %s\n", oneLine(err))
		return err
	}
	if sparse { // Its views are not overwritten, and take what they take.
		m.Total, m.Views = m.Total+r.Bytes, m.Views+r.Bytes
	}
	_, err = fmt.Fprintf(w, "memory of a fit: about %v for %s (%s),\nand about 20 MiB for the program itself\n", m,
		count(clusters, "cluster"), from)
	return err
}

// fewFeatures is the number of features below which mean and norm are too large a part of a row.
const fewFeatures = 5

// suggestion says what to fit a data set with, and why. The default preset reads every view in two standardisations, which
// suits most data, and needs no choice.
//
// Where neighbours are not wanted there is one standardisation to choose. That of the samples is the best on average. It
// takes two numbers from each row, which is too much of a short one, and small columns drown in it where others are of
// another order of magnitude: then balanced columns are better, unless the view is sparse, whose rare columns they blow up.
func suggestion(r *dataset.Report) string {
	const without = ".\nWithout neighbours (-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too: "
	const text = "no flags: the default preset reads every view in two standardisations, which suits most data"
	for v := range r.Views {
		x := &r.Views[v]
		if x.Features < fewFeatures {
			return text + without + fmt.Sprintf("view %d has %s only (the rule: "+
				"under %d)", v, count(x.Features, "feature"), fewFeatures)
		}
		if suspect.Dominated(x.MedianStd, x.MaxStd, x.Fill) {
			return text + without + fmt.Sprintf("the columns of view %d differ in scale (the rule: the largest standard\n"+
				"deviation over %d times the median one, here %.0f times, in a view with at least half of its entries not zero)",
				v, suspect.WildScale, x.MaxStd/x.MedianStd)
		}
	}
	return text
}
