package main

import (
	"errors"
	"io/fs"
	"math"
	"slices"

	"github.com/largemvc/largemvc"
)

// stopping has the settings of a stop.
type stopping struct {
	grace  float64     // seconds; 0: auto; negative: none
	before fs.FileInfo // of the file of -checkpoint; nil: there was none
}

// fitOptions holds the flags of fit.
type fitOptions struct {
	dataOptions
	knownOptions
	out, save   string
	writeTo     string // of -write-config
	flags       *flags
	report      string
	features    int
	important   important // found by -features
	embedding   string
	trust       string
	memberships string
	outliers    word
	resume      string
	json, quiet bool
	mpi         bool
	choosing
	config    largemvc.Config
	preset    word
	written   largemvc.Config // for -write-config
	overwrite bool
	stopping
	given   map[string]bool // the flags on the command line
	outputs []*output
}

const aboutFit = `Usage: largemvc fit FILE… -clusters C [flags]

Clusters the samples of a data set. Prints a summary on standard output, or one JSON object with -json. If the data have
classes, fit also scores the clusters against them. An interrupted training writes each result to FILE.partial instead of
FILE, and exits with status 1.
`

// fitFlags makes the flags of fit.
func fitFlags(o *fitOptions) *flags {
	f, c := newFlags("fit"), &o.config
	o.dataFlags(f)
	o.prepareFlags(f)
	o.diskFlags(f, "the state of each sample\nstays in memory. Without neighbours it is computed again in "+
		"every pass if -max-memory has no room for it.\n-set FitSamples=N trains on a part")
	f.output(&o.out, "out", aboutLabels+"remoteness (distance from other samples, 1 is typical); -known adds class and "+
		"class_confidence;\n- is standard output; none by default")
	f.value(among(&o.outliers, "keep", "mark"), "outliers", "labels of samples that fit no cluster, in -out and -json: "+
		"`keep|mark`. keep: their cluster; mark: -1")
	f.string(&o.memberships, "memberships", "`FILE` for the memberships of each sample in all clusters, which sum to 1: .npy, "+
		".npz or .csv; none by default")
	f.output(&o.save, "save", "`FILE` for the trained model; - is standard output; none by default")
	f.output(&o.report, "report", "`FILE` for a report, one HTML page: a summary in words, a map of the samples, each "+
		"cluster and a\nmodel card. It takes some seconds, and memory for a second copy of the data; none by default")
	f.string(&o.embedding, "embedding", "`FILE` for the representation H (n×m): .npy, .npz or .csv; none by default")
	f.output(&o.trust, "trust", "`FILE` for the trust in the rows"+aboutTrust+". It needs neighbours, and memory for a second\n"+
		"copy of the data")
	f.int(&o.features, "features", 0, "`N` features that distinguish each cluster from the others, in the summary and in -json "+
		"(docs/trust.md). It takes\nmemory for a second copy of the data; 0: none")
	f.bool(&o.json, "json", "print one JSON object instead of the summary; unknown values are null")
	f.bool(&o.quiet, "quiet", "show no progress on standard error; the summary then has the lines on how the data are read")

	f.group("Clusters and network")
	f.value(clusterCount{&c.Clusters, &o.auto}, "clusters", "`C|auto`: the number of clusters, in short -k; 0: the number of "+
		"classes in the labels; auto: chosen from 2 to 20 as\nby 'largemvc choose', on at most 2000 samples")
	f.alias("k", "clusters")
	o.start = "default"
	f.string(&o.start, "start", "initial clustering: `default|careful|FILE`. careful: compares three clusterings, and replaces "+
		"the default one only\nif the classes seem to differ much in size (docs/expect.md); FILE: a label from 0 for each "+
		"sample, in a file\nas of -labels")
	f.string(&o.known, "known", aboutKnown)
	f.value(among(&o.preset, "default", "paper"), "preset", "preset of all settings that -set does not change: "+
		"`default|paper`. default: neighbours, two standardisations, θ and\nρ ≥ 0; best on average; paper: the paper's "+
		"network, without neighbours")
	f.group("Training")
	f.int(&c.Epochs, "epochs", 0, "`N`, the number of optimiser steps; 0: no training")
	f.Lookup("epochs").DefValue = "30, or 100 with the paper preset"
	f.Uint64Var(&c.Seed, "seed", 0, "`SEED` of all random numbers; equal seeds give equal results on any number of cores")
	f.added("seed")
	f.output(&c.Checkpoint.Path, "checkpoint", "`FILE` for the state of the training, to continue it with -resume. By default "+
		"none; with -resume the resumed file,\nunless it is a pipe")
	f.value(seconds{&o.grace}, "grace", "time to write labels and model after a signal: `auto|none|SECONDS`. Then fit exits "+
		"with status 1; -checkpoint has\nthe state after the last epoch. none: no limit; auto: 8 with -mpi, else none")
	f.bool(&o.overwrite, "overwrite", "let a new training overwrite the file of -checkpoint; by default that is an error")
	f.string(&o.resume, "resume", "`FILE` that -checkpoint wrote: continue its training, with the same data and settings (in "+
		"-config too). A higher\n-epochs trains longer. For a float64 training from a pipe, give -set Float64=true. By default "+
		"a new training begins")
	f.int(&c.Machine.Workers, "workers", 0, "`N` threads; 0: all cores; with -mpi the cores of the process")
	f.text(&c.Machine.Device, "device", "device of the training: `auto|cpu|cuda`. auto: a GPU if there is one, the training "+
		"can run there and is long, else\nthe CPU; cuda: a GPU, or an error ('largemvc device' lists GPUs, docs/gpu.md)")
	f.bool(&o.mpi, "mpi", "fit together with the other processes of mpirun, srun or the mpi-operator; each reads a part of the "+
		"rows. %d is\nthe number of a part in -data FILE, and the number of the process in -out FILE (docs/mpi.md)")

	o.settingFlags(f)
	f.first("largemvc fit -data mydata.mat -clusters 7 -out labels.csv -save model.safetensors -report report.html",
		"data mydata.mat", "clusters 7", "out labels.csv", "save model.safetensors", "report report.html", "labels species",
		"id patient", "seed 1", "epochs 200", "preset paper")
	return f
}

// parseFit reads the command line of fit. It returns flag.ErrHelp where help was asked for.
func parseFit(args []string) (*fitOptions, *flags, error) {
	o := &fitOptions{}
	f := fitFlags(o)
	o.flags = f
	if _, err := f.parse(args); err != nil {
		return nil, f, err
	}
	if o.resume != "" && f.filed["start"] && o.start == carefulWord { // which was chosen then, by Preprocess or labels
		o.start = "default"
		f.stored = slices.DeleteFunc(f.stored, func(a assignment) bool { return a.name == "Preprocess" })
	}
	o.given = f.given()
	if err := o.configure(f); err != nil {
		return nil, f, err
	}
	return o, f, o.check()
}

// configure puts into the configuration what the flags say in other terms, and the fields that are set by name.
func (o *fitOptions) configure(f *flags) error {
	c := &o.config
	switch {
	case c.Epochs < 0:
		return usagef("fit: -epochs is %d, want at least 0", c.Epochs)
	case c.Epochs == 0 && o.given["epochs"]:
		c.Epochs = largemvc.None
	}
	if o.preset == "paper" {
		asPaper(c)
	} else {
		c.Represent, c.Noise = &largemvc.SoftThreshold{}, &largemvc.RowShrink{}
	}
	c.Anchor = &largemvc.Procrustes{}
	c.Machine.MaxMemory = int64(o.maxMemory) << 20
	err := f.setFields(c)
	o.auto = o.auto && c.Clusters == 0
	return err
}

// check refuses what is wrong whatever the data are.
func (o *fitOptions) check() error {
	c := &o.config
	if err := o.dataOptions.check("fit"); err != nil {
		return err
	}
	if err := o.knownOptions.check("fit", &o.dataOptions); err != nil {
		return err
	}
	for name, value := range map[string]int{"clusters": c.Clusters, "features": o.features} {
		if value < 0 {
			return usagef("fit: -%s is %d, want at least 0", name, value)
		}
	}
	if err := checkRanges(*c); err != nil {
		return err
	}
	for _, check := range []func() error{o.checkNeighbors, o.checkAuto, o.checkJudged, o.checkMPI} {
		if err := check(); err != nil {
			return err
		}
	}
	disk := map[string]bool{
		"report": o.report != "" && !o.mpi, "trust": o.trust != "", "features": o.features != 0,
		"set Float64=true": o.config.Float64,
	}
	if err := o.checkDisk("fit", disk); err != nil {
		return err
	}
	return o.checkResume()
}

// checkJudged refuses what needs the judgement of the structure where there is none.
func (o *fitOptions) checkJudged() error {
	if o.config.NoStructure && (o.memberships != "" || o.outliers == "mark") {
		return usagef("fit: -memberships and -outliers mark cannot be given with -set NoStructure=true: leave out this setting")
	}
	return nil
}

// checkRanges refuses fields that are out of range whatever the data are.
func checkRanges(c largemvc.Config) error {
	c.Clusters = max(c.Clusters, 1)
	_, err := c.EstimateMemory([]largemvc.View{largemvc.DenseView[float32](math.MaxInt32, 20, nil)})
	if wrong := (*largemvc.FieldError)(nil); errors.As(err, &wrong) {
		return usagef("fit: %s", oneLine(err))
	}
	return nil
}

// checkNeighbors refuses what needs neighbours where there are none.
func (o *fitOptions) checkNeighbors() error {
	if o.config.Neighborhood.Neighbors != largemvc.None {
		return nil
	}
	if o.trust != "" {
		return usagef("fit: -trust needs neighbours: leave out -preset paper, or -set Neighborhood.Neighbors=none")
	}
	if o.start == carefulWord {
		return usagef("fit: -start %s needs neighbours: leave out -preset paper, or -set Neighborhood.Neighbors=none",
			carefulWord)
	}
	return nil
}
