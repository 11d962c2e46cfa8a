package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/report"
)

// save writes to the file, which appears whole or not at all, or to standard output.
func (o *output) save(stdout io.Writer, write func(io.Writer) error) error {
	return o.write(stdout, write, func(path string) error { return file.Replace(path, write) })
}

// pageOptions returns the facts of a report beside the clustering.
func pageOptions(in *input, data []string, reading time.Duration, bar *progress.Bar) report.Options {
	var names []string
	for _, path := range data {
		if path == standard {
			path = "standard input"
		}
		names = append(names, filepath.Base(shownPath(path)))
	}
	o := report.Options{
		Data: strings.Join(names, ", "), Views: in.views, IDs: in.ids, Classes: in.labels, ClassNames: in.classNames,
		Reading: in.reading.Lines(), Created: time.Now(),
	}
	for i, line := range o.Reading {
		o.Reading[i] = strings.Join(strings.Fields(line), " ")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	device := fmt.Sprintf("%d cores", runtime.NumCPU())
	if name := processor(); name != "" {
		device = name + ", " + device
	}
	o.Facts = []report.Fact{
		{Name: "version", Value: versionOf(info) + ", " + buildOf(info)}, {Name: "device", Value: device},
		{Name: "kernels", Value: kernel.Path()}, {Name: "time to read the data", Value: fmt.Sprintf("%.3g s", reading.Seconds())},
	}
	if peak := peakMiB(); peak != nil {
		o.Facts = append(o.Facts, report.Fact{Name: "peak memory", Value: fmt.Sprintf("%.0f MiB, of the whole process", *peak)})
	}
	if rate := in.missing; rate > 0 {
		o.Facts = append(o.Facts, report.Fact{Name: "view rows absent", Value: fmt.Sprintf("%.1f %%", 100*rate)})
	}
	began := time.Now()
	o.Progress = func(phase string, done, total int) error {
		note := "report: " + phase
		if total > 1 {
			note += fmt.Sprintf(" %d/%d", done, total)
		}
		bar.Say(note, time.Since(began))
		return nil
	}
	return o
}

// writePage writes -report. After an interrupt the map is of principal components, which are found at once.
func (o *fitOptions) writePage(
	ctx context.Context, stdout io.Writer, in *input, c *largemvc.Clustering, trust [][]float64, reading time.Duration,
	bar *progress.Bar,
) error {
	if o.report == "" {
		return nil
	}
	p := pageOptions(in, o.data, reading, bar)
	p.Start = o.startFile()
	p.Trust, p.PCA, p.Seed, p.Workers = trust, ctx.Err() != nil, o.config.Seed, o.config.Machine.Workers
	for _, text := range newClassified(c.Classes, o.classNames, in.ids).lines() {
		p.Facts = append(p.Facts, report.Fact{Name: "classes", Value: text})
	}
	defer bar.End()
	return o.output("report").save(stdout, func(w io.Writer) error { return report.Write(context.WithoutCancel(ctx), w, c, p) })
}

const aboutReport = `Usage: largemvc report -model MODEL FILE… [flags]

Labels samples with a model and writes one HTML file: a summary in words, a map, confidence, typical and doubtful samples,
a description of each cluster, and a model card. The file works offline. 'largemvc fit -report FILE' writes such a report
on a training.
`

// reportOptions holds the flags of report.
type reportOptions struct {
	modelOptions
	out    string
	title  string
	points int
	pca    bool
}

func reportFlags(o *reportOptions) *flags {
	f := newFlags("report")
	o.modelFlags(f)
	f.group("Result")
	o.out = "report.html"
	f.output(&o.out, "out", "`FILE` for the report; - is standard output")
	f.string(&o.title, "title", "`TEXT` of the title; by default the name of the data")
	f.int(&o.points, "points", report.DefaultPoints, "`N` samples at most on the map, drawn at random")
	f.bool(&o.pca, "pca", "draw the map by principal components; by default by t-SNE, which takes some seconds")
	f.first("largemvc report -model model.safetensors -data new.csv -out new.html",
		"model model.safetensors", "data new.csv", "out new.html", "title November", "points 2000", "pca", "labels species",
		"id patient", "match-features")
	return f
}

func runReport(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &reportOptions{}
	f := reportFlags(o)
	if done, err := f.start(args, stdout, aboutReport, aboutData); done || err != nil {
		return err
	}
	if o.points < 1 {
		return usagef("report: -points is %d, want at least 1", o.points)
	}
	out := &output{flag: "out", path: o.out}
	if err := o.checkModel("report", stdout, out); err != nil {
		return err
	}
	bar := progress.New(stderr, "")
	defer bar.End()
	began := time.Now()
	model, in, err := o.readModel(ctx, bar)
	if err != nil {
		return err
	}
	p := pageOptions(in, o.data, time.Since(began), bar)
	p.Facts = append(p.Facts, report.Fact{Name: "model", Value: o.model})
	p.Title, p.Points, p.PCA = o.title, o.points, o.pca
	err = out.save(stdout, func(w io.Writer) error { return report.WritePredictions(ctx, w, model, in.views, p) })
	bar.End()
	if err != nil && ctx.Err() != nil {
		return errors.New("cancelled; nothing was written")
	}
	if err == nil && o.out != standard {
		_, err = fmt.Fprintf(stdout, "written: %s\n", out.path)
	}
	return err
}
