package main

import (
	"io/fs"
	"math"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// stopping has the settings of a stop.
type stopping struct {
	grace  float64     // seconds; 0: auto; negative: none
	before fs.FileInfo // of the file of -checkpoint; nil: there was none
}

// fitOptions is what the flags of fit say.
type fitOptions struct {
	dataOptions
	missing     float64
	startLabels string
	knownOptions
	out, save   string
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
	network   network
	float     word
	overwrite bool
	stopping
	given   map[string]bool // the flags on the command line
	outputs []*output
}

const aboutFit = `Usage: largemvc fit FILE… -clusters C [flags]

Clusters the samples of a data set and prints a summary, or with -json one JSON object, on standard output. If the data
have classes, it also scores the clusters against them.
`

// fitFlags makes the flags of fit.
func fitFlags(o *fitOptions) *flags {
	f, c := newFlags("fit"), &o.config
	o.sparse = dataset.SparseIfSmaller
	f.group("Data")
	f.data = &o.data
	f.value(paths{&o.data}, "data", "`FILE` or folder with the data, like an argument; - is standard input. Repeat it for one "+
		"file a view")
	o.dataFlags(f)
	o.prepareFlags(f)
	f.float(&o.missing, "missing", 0, "`RATE`, the share of the view rows that is taken away at random by -seed, at "+
		"least one view of a sample being\nkept; 0: none. For tests with complete data")
	o.diskFlags(f, "what is kept for each sample is in\nmemory or, without neighbours, computed again where "+
		"-max-memory has no room for it. -fit-samples trains on a part")
	f.output(&o.out, "out", aboutLabels+"remoteness (distance from other samples,\n1 is typical), and with -known class and "+
		"class_confidence; "+interrupted+"; - is standard output; none by default")
	f.value(among(&o.outliers, "keep", "mark"), "outliers",
		"labels of samples that fit no cluster, in -out and -json: `keep|mark`. keep: as of others; mark: -1")
	f.string(&o.memberships, "memberships", "`FILE` for the memberships of each sample in all clusters, which sum to 1, .npy, "+
		".npz or .csv;\n"+interrupted+"; none by default")
	f.output(&o.save, "save", "`FILE` for the trained model; "+interrupted+";\n- is standard output; none by default")
	f.output(&o.report, "report", "`FILE` for a report, one HTML page; it has a map, sizes, doubtful samples, a description "+
		"of each cluster and a model card,\nand takes some seconds and the memory of the data once more; "+interrupted+
		";\nnone by default")
	f.string(&o.embedding, "embedding", "`FILE` for the representation H, .npy, .npz or .csv;\n"+interrupted+"; none by default")
	f.output(&o.trust, "trust", "`FILE` for the trust in the rows"+aboutTrust+"; it needs neighbours, and the memory of the "+
		"data once more;\n"+interrupted)
	f.int(&o.features, "features", 0, "`N` features of each cluster that distinguish it from the others, in the summary and in "+
		"-json (docs/trust.md);\nit needs the memory of the data once more; 0: none")
	f.bool(&c.NoStructure, "no-structure", "do not judge whether the samples have clusters at all; then there is no confidence, "+
		"no\nmembership and no outlier")
	f.bool(&o.json, "json", "print one JSON object instead of the summary; unknown values are null")
	f.bool(&o.quiet, "quiet", "show no progress on standard error; the summary then says how the data are read")

	f.group("Clusters and network")
	f.value(clusterCount{&c.Clusters, &o.auto}, "clusters", "`C|auto`, the number of clusters, in short -k; 0: the number of "+
		"classes in the labels;\nauto: chosen from 2 to 20 as 'largemvc choose' does, on at most 2000 samples, which the "+
		"summary says")
	f.alias("k", "clusters")
	f.value(among(&o.start, "default", "careful"), "start", "initial clustering: `default|careful`. careful: compares three, "+
		"and takes another than the default's only\nwhere classes seem to be of very different sizes (docs/expect.md)")
	f.string(&o.known, "known", aboutKnown)
	f.float(&c.Neighborhood.KnownWeight, "known-weight", 0, "`WEIGHT` of the labels of -known in the loss, 3 for "+
		"instance; it needs as many clusters as classes; 0: none")
	f.int(&c.Anchors, "anchors", 0, "`M`, the number of anchors of each view; 0: as many as clusters")
	f.int(&c.Layers, "layers", 2, "`L`, the number of layers of the network")
	f.value(among(&o.network.variant, "large", "amvc", "rmvc"), "variant",
		"modules of the network: `large|amvc|rmvc`. large: all three; amvc: no noise; rmvc: no noise, fixed anchors")
	f.text(&o.network.activation, "activation", "function σ of the thresholds: `relu|selu`")
	f.value(among(&o.network.preset, "default", "paper"), "preset",
		"preset of the settings left at auto: `default|paper`. default: neighbours, two standardisations, θ and ρ ≥ 0,\nbest on "+
			"average; paper: the paper's network, without neighbours")
	f.text(&c.Preprocess, "preprocess",
		"standardisation of the views: `auto|both|sample|balanced|zscore|unit|none`. sample: each sample to mean "+
			"0,\nvariance 1; zscore: each feature to mean 0, variance 1; both: two inputs, sample and zscore; "+
			"balanced: zscore divided by √d;\nunit: each sample to norm 1; auto: both with neighbours, else sample")
	f.bool(&c.PlainReadOut, "plain-read-out",
		"run the last k-means on the rows of H as they are, not at norm 1; the preset paper always does")
	f.string(&o.startLabels, "start-labels", "`FILE` with the initial clustering: a label (0 to M−1) for each sample, read and "+
		"joined to the\nsamples as a file of -labels is; none by default")

	f.group("Neighbours")
	f.value(amount[int]{&c.Neighborhood.Neighbors, "auto", "none", true}, "neighbors",
		"`auto|none|K`, the number of nearest neighbours of each sample, to smooth the views and for the loss.\n"+
			"auto: 10, fewer for clusters of less than 14 samples, with the preset paper none")
	f.value(amount[int]{&c.Neighborhood.Directions, "200", "all", false}, "directions",
		"`N|all`, the number of singular directions that are kept of each view")
	f.value(amount[int]{&c.Neighborhood.Steps, "auto", "none", true}, "filter-steps",
		"`auto|none|N`, the number of smoothing steps. auto: 6, or log₂(samples/10) if that is more")
	f.value(amount[float64]{&c.Neighborhood.Weight, "3", "none", true}, "neighbor-weight",
		"`WEIGHT|none` of the neighbour information in the loss")
	f.value(amount[float64]{&c.Neighborhood.HeldOutWeight, "3", "none", true}, "held-out-weight",
		"`WEIGHT|none` of the held-out information in the loss: clusters predicted from features by the other samples")
	f.value(amount[int]{&c.Neighborhood.Exact, "10000", "none", true}, "exact-neighbors",
		"`N|none`, the most samples whose neighbours are searched; with more, samples are linked to\nlandmarks, in linear time")
	f.int(&c.Neighborhood.Landmarks, "landmarks", 0, "`N`, the number of landmarks; 0: a quarter of the samples, from 40 to 1000")

	f.group("Training")
	f.int(&c.Epochs, "epochs", 100, "`N`, the number of optimiser steps; 0: no training")
	f.float(&c.LearningRate, "lr", 0.01, "learning `RATE` of Adam")
	f.int(&c.FitSamples, "fit-samples", 0, "`N`, the number of samples to train on, drawn by -seed; one pass then labels "+
		"all samples. The neighbours\nare landmarks unless -exact-neighbors is given; 0: all samples")
	f.Uint64Var(&c.Seed, "seed", 0, "`SEED` of all random numbers; equal seeds give equal results on any number of cores")
	f.added("seed")
	f.int(&c.Restarts, "restarts", 1, "`N` trainings, from the seeds SEED, SEED+1, …; the one with the lowest loss is kept")
	f.float(&c.Tolerance, "tolerance", 0, "`SHARE` by which the loss must fall to count as progress; 0: no early stop")
	f.int(&c.Patience, "patience", 5, "`N` epochs without progress before the early stop; it needs -tolerance")
	f.output(&c.Checkpoint.Path, "checkpoint", "`FILE` for the state of the training, for -resume; none by default,\n"+
		"with -resume the file that is resumed, unless that is a pipe")
	f.int(&c.Checkpoint.Every, "checkpoint-every", 10, "`N` epochs between two checkpoints; one is also written before the "+
		"first epoch, at the end and when interrupted")
	f.value(amount[float64]{&o.grace, "auto", "none", true}, "grace", "`auto|none|SECONDS` that the fit may take after a "+
		"signal to write labels and model; then it exits with status 1. The\nstate after the last epoch is in -checkpoint "+
		"by then. auto: 8 with -mpi, else none, no limit")
	f.bool(&o.overwrite, "overwrite", "let a new training overwrite the file of -checkpoint; by default that is an error")
	f.string(&o.resume, "resume", "`FILE` of -checkpoint to continue from, with the same data and settings; a higher -epochs "+
		"trains on.\nIf a pipe has a 64-bit training, give -float 64. By default a training starts new")
	f.value(among(&o.float, "32", "64"), "float", "arithmetic in `32|64` bits")
	f.int(&c.Machine.Workers, "workers", 0, "`N` threads; 0: all cores, with -mpi the cores of a process")
	f.text(&c.Machine.Device, "device",
		"device of the training: `auto|cpu|cuda`. auto: a GPU if there is one and the fit is long and can run "+
			"there,\nelse the cpu; cuda: a GPU, or an error ('largemvc device' lists GPUs, docs/gpu.md)")
	f.bool(&o.mpi, "mpi", "fit together with the other processes of mpirun, srun or the mpi-operator, which each read a "+
		"part of the rows.\n%d in -data FILE stands for the numbers of the parts, in -out FILE for the process (docs/mpi.md)")
	f.int(&c.KMeansStarts, "kmeans-starts", 10, "`N` starts of each k-means, which keeps the best; three times as many\n"+
		"for the initial clustering with neighbours")

	f.group("Details of the network")
	f.float(&o.network.theta0, "theta0", 0, "initial `VALUE` of every threshold θ; 0: 0.01")
	f.float(&o.network.rho0, "rho0", 0, "initial `VALUE` of every threshold ρ; 0: 0.01")
	f.value(among(&o.network.signs, "auto", "nonnegative", "free"), "signs",
		"range of θ and ρ: `auto|nonnegative|free`. auto: nonnegative, with the preset paper free")
	f.bool(&o.network.oneSided, "one-sided", "threshold by σ(a−θ), which makes H ≥ 0, instead of σ(a−θ) − σ(−a−θ)")
	f.float(&o.network.lipschitz, "lipschitz", 1, "`LP` in the initial R = (1 − 1/LP) I and U = I/LP")
	f.text(&c.Reduction, "reduction",
		"weights of the views in the loss: `auto|mean|relative`. mean: mean of squares; relative: relative to the squares "+
			"of the view,\nmean over views. auto: relative, with the preset paper mean")
	f.bool(&o.network.detach, "detach", "no gradient through the updates of the anchors")
	f.settingFlags()
	f.first("largemvc fit -data mydata.mat -clusters 7 -out labels.csv -save model.safetensors -report report.html",
		"data mydata.mat", "clusters 7", "out labels.csv", "save model.safetensors", "report report.html", "labels species",
		"id patient", "seed 1", "epochs 200", "preset paper")
	return f
}

// interrupted says where an interrupted training writes its result.
const interrupted = "an interrupted training writes its result to FILE.partial, with status 1"

// parseFit reads the command line of fit. It returns flag.ErrHelp where help was asked for.
func parseFit(args []string) (*fitOptions, *flags, error) {
	o := &fitOptions{}
	f := fitFlags(o)
	if _, err := f.parse(args); err != nil {
		return nil, f, err
	}
	o.given = f.given()
	if err := o.check(); err != nil {
		return nil, f, err
	}
	o.configure()
	return o, f, nil
}

// configure puts into the configuration what the flags say in other terms.
func (o *fitOptions) configure() {
	if o.config.Epochs == 0 {
		o.config.Epochs = largemvc.None
	}
	o.config.Float64 = o.float == "64"
	if o.fromDisk {
		o.config.Machine.MaxMemory = int64(o.maxMemory) << 20
	}
	o.network.put(&o.config)
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
	for _, x := range []struct {
		name       string
		value, low int
	}{
		{"clusters", c.Clusters, 0}, {"anchors", c.Anchors, 0}, {"layers", c.Layers, 1}, {"epochs", c.Epochs, 0},
		{"restarts", c.Restarts, 1}, {"patience", c.Patience, 1}, {"workers", c.Machine.Workers, 0},
		{"kmeans-starts", c.KMeansStarts, 1}, {"features", o.features, 0},
		{"checkpoint-every", c.Checkpoint.Every, 1}, {"fit-samples", c.FitSamples, 0}, {"landmarks", c.Neighborhood.Landmarks, 0},
	} {
		if x.value < x.low {
			return usagef("fit: -%s is %d, want at least %d", x.name, x.value, x.low)
		}
	}
	for _, x := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"lr", c.LearningRate, c.LearningRate > 0, "a number above 0"},
		{"missing", o.missing, o.missing >= 0 && o.missing < 1, "a number from 0 to below 1"},
		{"tolerance", c.Tolerance, c.Tolerance >= 0, "a number from 0"},
		{"known-weight", c.Neighborhood.KnownWeight, c.Neighborhood.KnownWeight >= 0, "a number from 0"},
		{"lipschitz", o.network.lipschitz, o.network.lipschitz >= 1, "a number from 1"},
		{"theta0", o.network.theta0, true, "a finite number"},
		{"rho0", o.network.rho0, true, "a finite number"},
	} {
		if !x.ok || math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			return usagef("fit: -%s is %v, want %s", x.name, x.value, x.want)
		}
	}
	for _, check := range []func() error{o.checkNeighbors, o.checkAuto, o.checkJudged, o.checkMPI} {
		if err := check(); err != nil {
			return err
		}
	}
	disk := map[string]bool{
		"missing": o.missing > 0, "report": o.report != "", "trust": o.trust != "", "features": o.features != 0,
		"float 64": o.float == "64",
	}
	if err := o.checkDisk("fit", disk); err != nil {
		return err
	}
	return o.checkResume()
}

// checkJudged refuses what needs the judgement of the structure where there is none.
func (o *fitOptions) checkJudged() error {
	if o.config.NoStructure && (o.memberships != "" || o.outliers == "mark") {
		return usagef("fit: -memberships and -outliers mark need the judgement that -no-structure leaves out")
	}
	return nil
}

// checkNeighbors refuses what needs neighbours where there are none.
func (o *fitOptions) checkNeighbors() error {
	c := &o.config
	if k := c.Neighborhood.Neighbors; k > 0 || k == 0 && o.network.preset != "paper" {
		return nil
	}
	for _, name := range []string{"directions", "filter-steps", "neighbor-weight", "held-out-weight", "exact-neighbors",
		"landmarks", "known-weight"} {
		if o.given[name] {
			return usagef("fit: -%s needs neighbours: give -neighbors K, or the preset default", name)
		}
	}
	if o.trust != "" {
		return usagef("fit: -trust needs neighbours: give -neighbors K, or the preset default")
	}
	if o.start == carefulWord {
		return usagef("fit: -start %s needs neighbours: give -neighbors K, or the preset default", carefulWord)
	}
	if c.Preprocess == largemvc.PreprocessBoth {
		return usagef("fit: -preprocess both needs neighbours: give -neighbors K, or the preset default")
	}
	return nil
}
