package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/choose"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/report"
)

const aboutChoose = `Usage: largemvc choose FILE… -from 2 -to 20 [flags]

Fits each number of clusters from -from to -to several times, and prints measures that need no classes. Suggests a number
and gives the reasons, or reports that no number stands out. Each number takes the time of several fits.
`

// chooseOptions holds the flags of choose.
type chooseOptions struct {
	dataOptions
	knownOptions
	from, to, seeds int
	figure          string
	preset          word
	json, quiet     bool
	config          largemvc.Config
}

func chooseFlags(o *chooseOptions) *flags {
	f, c := newFlags("choose"), &o.config
	o.dataFlags(f)
	o.prepareFlags(f)
	f.group("Fits")
	f.int(&o.from, "from", 2, "`C`, the lowest number of clusters")
	f.int(&o.to, "to", 20, "`C`, the highest number of clusters")
	f.string(&o.known, "known", "`FILE|NAME` with the known labels of some samples, as in fit -known. Numbers of clusters "+
		"below the number of their\nclasses are not tried; none by default")
	f.int(&o.seeds, "seeds", 3, "`N` fits for each number of clusters, with the seeds SEED, SEED+1, …")
	f.int(&c.Epochs, "epochs", 30, "`N`, the number of optimiser steps of each fit")
	f.value(among(&o.preset, "default", "paper"), "preset", "preset of the fits: `default|paper`. Only with default can the "+
		"losses of different numbers of clusters be compared")
	f.Uint64Var(&c.Seed, "seed", 0, "`SEED` of all random numbers; equal seeds give equal results on any number of cores")
	f.added("seed")
	f.int(&c.Machine.Workers, "workers", 0, "`N` threads; 0: all cores")
	f.group("Result")
	f.output(&o.figure, "figure", "`FILE` for a plot of the measures (SVG); none by default")
	f.bool(&o.json, "json", "print one JSON object instead of the table; unknown values are null")
	f.bool(&o.quiet, "quiet", "show no progress on standard error")
	f.first("largemvc choose -data mydata.mat -from 2 -to 20 -figure choose.svg",
		"data mydata.mat", "from 2", "to 20", "figure choose.svg", "seeds 5", "epochs 30", "seed 1", "json")
	return f
}

// chosen holds the result that choose prints. A nil pointer is a number that does not exist.
type chosen struct {
	Samples    int              `json:"samples"`
	Suggested  int              `json:"suggested"`
	Clear      bool             `json:"clear"` // whether it stands out
	Reasons    []string         `json:"reasons"`
	Silhouette int              `json:"by_silhouette"` // 0: none
	Gap        int              `json:"by_eigengap"`
	Classes    *int             `json:"classes"`
	Choices    []chosenRow      `json:"choices"`
	Seconds    float64          `json:"seconds"`
	Reading    *dataset.Reading `json:"reading"`
}

type chosenRow struct {
	Clusters int      `json:"clusters"`
	Found    int      `json:"clusters_found"`
	Sizes    []int    `json:"cluster_sizes"`
	Loss     *float64 `json:"loss"`
	structured
	SeedARI          *float64 `json:"seed_ari"`
	GapShare         *float64 `json:"eigengap_share"`
	Gap              *float64 `json:"eigengap"`
	Silhouette       *float64 `json:"silhouette"`
	CalinskiHarabasz *float64 `json:"calinski_harabasz"`
	DaviesBouldin    *float64 `json:"davies_bouldin"`
}

func runChoose(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &chooseOptions{}
	f := chooseFlags(o)
	if done, err := f.start(args, stdout, aboutChoose, aboutData); done || err != nil {
		return err
	}
	figure := &output{flag: "figure", path: o.figure}
	if err := o.checkChoose(stdout, figure); err != nil {
		return err
	}
	bar := newBar(stderr, "tried", o.quiet)
	defer bar.End()
	o.progress = readingProgress(bar, time.Now())
	set, err := o.open(ctx, 32)
	bar.End()
	if err != nil {
		return cancelled(ctx, err)
	}
	in, err := newInput(set)
	if err != nil {
		return err
	}
	if o.to >= in.samples {
		return usagef("choose: -to is %d, want less than the number of samples, %d", o.to, in.samples)
	}
	if _, err := o.knownOptions.read(ctx, &o.dataOptions, in); err != nil {
		return err
	}
	if o.from = max(o.from, len(o.classNames)); o.to < o.from {
		return usagef("choose: -to is %d, want at least %d, the number of known classes", o.to, len(o.classNames))
	}
	if !o.quiet {
		_ = say(stderr, &in.reading) // a log that is full or gone is no reason not to try
	}
	began := time.Now()
	found, err := o.try(ctx, in, bar, began)
	bar.End()
	if found == nil || len(found.Choices) == 0 {
		return cancelled(ctx, err)
	}
	failed := figure.save(stdout, func(w io.Writer) error { return report.WriteChoices(w, found) })
	if o.figure == standard {
		stdout = stderr
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("cancelled after %d of %d numbers of clusters; the table has only "+
			"these", len(found.Choices), o.to-o.from+1)
	}
	return errors.Join(failed, o.print(stdout, in, found, time.Since(began)), err)
}

// checkChoose refuses what is wrong whatever the data are.
func (o *chooseOptions) checkChoose(stdout io.Writer, figure *output) error {
	if err := errors.Join(o.dataOptions.check("choose"), o.knownOptions.check("choose", &o.dataOptions)); err != nil {
		return err
	}
	switch {
	case o.from < 2:
		return usagef("choose: -from is %d, want at least 2", o.from)
	case o.to < o.from:
		return usagef("choose: -to is %d, below -from, %d", o.to, o.from)
	case o.seeds < 1:
		return usagef("choose: -seeds is %d, want at least 1", o.seeds)
	case o.config.Epochs < 1:
		return usagef("choose: -epochs is %d, want at least 1", o.config.Epochs)
	case o.config.Machine.Workers < 0:
		return usagef("choose: -workers is %d, want at least 0", o.config.Machine.Workers)
	case o.json && o.figure == standard:
		return usagef("choose: -json writes to standard output too: give -figure a file")
	}
	inputs := o.inputs()
	inputs["known"] = []string{o.file()}
	return checkOutputs("choose", stdout, []*output{figure}, inputs)
}

// try fits all numbers of clusters.
func (o *chooseOptions) try(ctx context.Context, in *input, bar *progress.Bar, began time.Time) (*choose.Choices, error) {
	c := choose.Config{Seeds: o.seeds}
	for k := o.from; k <= o.to; k++ {
		c.Clusters = append(c.Clusters, k)
	}
	// Every number takes about as many fits; what is under way is told by the fits.
	done, total := 0, len(c.Clusters)
	config := o.config
	if o.preset == "paper" {
		asPaper(&config)
	}
	config.Progress = func(largemvc.Progress) error {
		elapsed := time.Since(began)
		left := time.Duration(0)
		if done > 0 {
			left = elapsed * time.Duration(total-done) / time.Duration(done)
		}
		bar.Phase(fmt.Sprintf("%d of %d numbers tried", done, total), done, total, elapsed, left)
		return nil
	}
	c.Progress = func(d, _ int, x choose.Choice) error {
		done = d
		return nil
	}
	return choose.Clusters(ctx, in.views, config, c)
}

func (o *chooseOptions) print(w io.Writer, in *input, found *choose.Choices, took time.Duration) error {
	out := &chosen{
		Samples: in.samples, Suggested: found.Suggested, Clear: found.Clear, Reasons: o.reasons(found.Reasons),
		Silhouette: found.BySilhouette, Gap: found.ByGap, Seconds: took.Seconds(), Reading: &in.reading,
	}
	if in.labels != nil {
		out.Classes = &in.classes
	}
	for _, c := range found.Choices {
		out.Choices = append(out.Choices, chosenRow{
			c.Clusters, c.Found, c.Sizes, number(c.Loss), newStructured(c.Structure, len(in.views)), number(c.SeedARI),
			number(c.GapShare), number(c.Gap), number(c.Silhouette), number(c.CalinskiHarabasz), number(c.DaviesBouldin),
		})
	}
	if o.json {
		return json.NewEncoder(w).Encode(out)
	}
	return out.table(w)
}

func (c *chosen) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "clusters\tloss\tstructure\thalves\tof noise\tseeds\tgap share\teigengap\tsilhouette\tsmallest\t")
	for _, r := range c.Choices {
		mark := ""
		if r.Clusters == c.Suggested {
			mark = "  ←"
		}
		smallest := r.Sizes[len(r.Sizes)-1]
		fmt.Fprintf(t, "%d\t%s\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.Clusters, digits(r.Loss, 4), r.Judgement,
			digits(r.Stability, 2), digits(r.NullStability, 2), digits(r.SeedARI, 2),
			digits(r.GapShare, 2), digits(r.Gap, 3), digits(r.Silhouette, 3), smallest, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	switch {
	case c.Suggested == 0:
		fmt.Fprintln(w, "no number can be suggested")
	case c.Clear:
		fmt.Fprintf(w, "suggested: %s\n", count(c.Suggested, "cluster"))
	default:
		fmt.Fprintf(w, "no number stands out; the best guess is %s\n", count(c.Suggested, "cluster"))
	}
	for _, r := range c.Reasons {
		fmt.Fprintf(w, "  %s\n", r)
	}
	for _, other := range []struct {
		name string
		k    int
	}{{"the silhouette", c.Silhouette}, {"the eigengap", c.Gap}} {
		if other.k > 0 {
			fmt.Fprintf(w, "  %s alone is highest at %d\n", other.name, other.k)
		}
	}
	if c.Classes != nil {
		fmt.Fprintf(w, "  the data have %s, not used here\n", count(*c.Classes, "class"))
	}
	_, err := fmt.Fprintf(w, "\nloss: lower is better (only with neighbours); structure: whether there are clusters, in "+
		"comparison with noise;\nhalves: agreement (ARI) of the clusters of two halves of the samples; of noise: the same for "+
		"noise;\nseeds: agreement of fits with different seeds; gap share: share of the squared eigengaps, of five graphs "+
		"with\n5 to 20 neighbours; eigengap: in the graph of the fit; silhouette: of the views;\nsmallest: the samples in the "+
		"smallest cluster. It took %.3g s.\n", c.Seconds)
	return err
}

// digits is a number with some decimals, a dash where there is none.
func digits(x *float64, decimals int) string {
	if x == nil || math.IsNaN(*x) {
		return "–"
	}
	return fmt.Sprintf("%.*f", decimals, *x)
}
