package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
)

// predictOptions is what the flags of predict say.
type predictOptions struct {
	dataOptions
	model string
	match bool
	out   string
	trust string
	json  bool
}

const aboutPredict = `Usage: largemvc predict -model MODEL -data FILE [flags]

Gives samples to the clusters of a model that 'largemvc fit -save' wrote, and prints a summary, or with -json one JSON
object, on standard output. The views must be those of the training, in their order; samples may lack some. If the file
holds the classes of the samples, the clusters are scored against them.
` + aboutData

// predictFlags makes the flags of predict.
func predictFlags(o *predictOptions) *flags {
	f := newFlags("predict")
	o.sparse = dataset.SparseIfSmaller
	f.group("Model")
	f.string(&o.model, "model", "`FILE` that fit -save wrote; there is no default")
	f.group("Data")
	f.value(paths{&o.data}, "data", "`FILE` or folder with the data; - is standard input. Give it several times for one "+
		"file a view")
	o.dataFlags(f)
	f.bool(
		&o.match,
		"match-features",
		"take the features by their names, in the order of the model; by default another order is "+
			"an error",
	)
	f.group("Result")
	f.string(&o.out, "out", "`FILE` to write the labels to, as CSV with the columns id (where the data name the samples), "+
		"sample (from 0), label,\nnear and next, the squared distances to the nearest and the next nearest centroid in the "+
		"representation: the closer to each other,\nthe less sure; - is standard output; none by default")
	f.string(&o.trust, "trust", "`FILE` to write the trust in the rows to, as CSV with the columns id (where the data name the "+
		"samples), sample (from 0),\na column for each view with the probability that its row belongs to the sample, and "+
		"suspect, the view of the least;\nrows to look at are those of the least trust; - is standard output; none by default")
	f.bool(&o.json, "json", "print one JSON object in place of the summary; what does not exist is null")
	return f
}

// prediction is what predict prints. A nil pointer is a number that does not exist: null in JSON.
type prediction struct {
	Model       string  `json:"model"`
	Samples     int     `json:"samples"`
	Views       int     `json:"views"`
	Dims        []int   `json:"dims"`
	MissingRate float64 `json:"missing_rate"`
	Classes     *int    `json:"classes"`
	Clusters    int     `json:"clusters"` // of the model
	Float       int     `json:"float"`

	Reading *dataset.Reading `json:"reading"` // how the data were read

	ReadSeconds    float64  `json:"read_seconds"` // model and data
	PredictSeconds float64  `json:"predict_seconds"`
	PeakRSS        *float64 `json:"peak_rss_mb"` // MiB, whole process

	ClusterSizes []int `json:"cluster_sizes"` // of these samples

	IDs    []string `json:"ids"`    // of the samples, in their order; null where the data have none
	Labels []int    `json:"labels"` // the cluster of each sample

	ACC    *float64 `json:"acc"`
	NMI    *float64 `json:"nmi"`
	ARI    *float64 `json:"ari"`
	Purity *float64 `json:"purity"`
}

// runPredict reads model and data, predicts, writes the labels and prints the report.
func runPredict(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &predictOptions{}
	f := predictFlags(o)
	rest, err := f.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return f.help(stdout, aboutPredict)
	}
	if err != nil {
		return err
	}
	if err := f.noArguments(rest); err != nil {
		return err
	}
	if o.model == "" {
		return usagef("predict: -model FILE is missing ('largemvc predict -h' explains the flags)")
	}
	if err := o.check("predict"); err != nil {
		return err
	}
	out, trust := &output{flag: "out", path: o.out}, &output{flag: "trust", path: o.trust}
	if o.json && (o.out == standard || o.trust == standard) {
		return usagef("predict: -json writes to standard output too: give -out and -trust a file")
	}
	inputs := o.inputs()
	inputs["model"] = []string{o.model}
	if err := checkOutputs("predict", []*output{out, trust}, inputs); err != nil {
		return err
	}
	began := time.Now()
	model, err := largemvc.Load(o.model)
	if err != nil {
		return err
	}
	width := bits(model.Config().Float64)
	bar := progress.New(stderr, "")
	o.progress = readingProgress(bar, time.Now())
	set, err := o.open(ctx, width)
	bar.End()
	if err != nil {
		return cancelled(ctx, err)
	}
	if err := matchFeatures(model, set, o.match); err != nil {
		return err
	}
	in, err := newInput(set)
	if err != nil {
		return err
	}
	if err := checkOrder(model.ViewNames(), in.names); err != nil {
		return err
	}
	read := time.Now()
	a, err := model.Assign(ctx, in.views)
	if err != nil {
		return cancelled(ctx, err)
	}
	columns := labelColumns(in.ids, a.Labels, a.Near, a.Next)
	failed := out.write(stdout, func(w io.Writer) error { return dataset.EncodeCSV(w, columns...) },
		func(path string) error { return dataset.WriteCSV(path, columns...) })
	if o.trust != "" {
		t, err := model.ViewTrust(ctx, in.views)
		if err != nil {
			return cancelled(ctx, err)
		}
		columns := trustColumns(in, t)
		failed = errors.Join(failed, trust.write(stdout, func(w io.Writer) error { return dataset.EncodeCSV(w, columns...) },
			func(path string) error { return dataset.WriteCSV(path, columns...) }))
	}
	if o.out == standard || o.trust == standard {
		stdout = stderr
	}
	p := &prediction{
		Model: o.model, Samples: in.samples, Views: len(in.views), Dims: in.dims, MissingRate: in.missing,
		Clusters: model.Clusters,
		Float:    width, ReadSeconds: read.Sub(began).Seconds(), PredictSeconds: time.Since(read).Seconds(), PeakRSS: peakMiB(),
		ClusterSizes: make([]int, model.Clusters),
	}
	for _, label := range a.Labels {
		p.ClusterSizes[label]++
	}
	if in.labels != nil {
		s, err := largemvc.Evaluate(in.labels, a.Labels)
		if err != nil {
			return err
		}
		p.Classes = &in.classes
		p.ACC, p.NMI, p.ARI, p.Purity = number(s.ACC), number(s.NMI), number(s.ARI), number(s.Purity)
	}
	p.Reading, p.IDs, p.Labels = &in.reading, in.ids, a.Labels
	if o.json {
		warnings(stderr, &in.reading)
		return errors.Join(failed, json.NewEncoder(stdout).Encode(p))
	}
	return errors.Join(failed, say(stdout, &in.reading), p.table(stdout))
}

// checkOrder refuses views that have the names of the training in another order. Other names say nothing: today's file
// may be called differently.
func checkOrder(trained, given []string) error {
	if slices.Equal(trained, given) {
		return nil
	}
	a, b := slices.Clone(trained), slices.Clone(given)
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return fmt.Errorf("the views are %s, the model was trained on %s: give them in that order",
			strings.Join(given, ", "), strings.Join(trained, ", "))
	}
	return nil
}

// table writes the report for people.
func (p *prediction) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("data", "%s", aboutSamples(p.Samples, p.Dims, p.MissingRate))
	line("model", "%s, %s", p.Model, count(p.Clusters, "cluster"))
	line("time", "%.3g s reading, %.3g s predicting", p.ReadSeconds, p.PredictSeconds)
	line("clusters", "sizes %s", join(p.ClusterSizes, ", "))
	if p.ACC != nil {
		line("scores", "ACC %s, NMI %s, ARI %s, purity %s (%d classes)", percent(p.ACC), percent(p.NMI), percent(p.ARI),
			percent(p.Purity), *p.Classes)
	}
	return t.Flush()
}
