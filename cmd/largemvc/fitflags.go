package main

import (
	"flag"
	"math"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
)

// fitOptions is what the flags of fit say.
type fitOptions struct {
	dataOptions
	missing     float64
	startLabels string
	out, save   string
	report      string
	embedding   string
	trust       string
	resume      string
	json, quiet bool
	mpi         bool
	config      largemvc.Config
	network     network
	float       word
	overwrite   bool
	given       map[string]bool // the flags on the command line
	outputs     []*output
}

const aboutFit = `Usage: largemvc fit -data FILE [flags]

Clusters the samples of a data set and prints a summary, or with -json one JSON object, on standard output. If the file
holds the classes of the samples, the clusters are scored against them.
`

// fitFlags makes the flags of fit.
func fitFlags(o *fitOptions) *flags {
	f, c := newFlags("fit"), &o.config
	o.sparse = dataset.SparseIfSmaller
	f.group("Data")
	f.value(paths{&o.data}, "data", "`FILE` or folder with the data; - is standard input. Give it several times for one "+
		"file a view")
	o.dataFlags(f)
	f.float(&o.missing, "missing", 0, "`RATE`, the share of the view rows that is taken away at random by -seed, at "+
		"least one view of a sample being\nkept; 0: none. For tests with complete data")
	o.diskFlags(f, "what is kept for each sample is in\nmemory or, without neighbours, computed again where "+
		"-max-memory has no room for it. -fit-samples trains on a part")
	f.output(&o.out, "out", "`FILE` to write the labels to, as CSV with the columns id (where the data name the samples), "+
		"sample (from 0), label,\nnear and next, the squared distances to the nearest and the next nearest centroid in H "+
		"(see\n-plain-read-out); "+interrupted+"; - is standard output; none by default")
	f.output(&o.save, "save", "`FILE` to save the trained model to; "+interrupted+";\n- is standard output; none by default")
	f.output(&o.report, "report", "`FILE` to write a report to, one HTML page that can be mailed: a map, sizes, "+
		"confidence, typical "+
		"and doubtful samples, what\ntells each cluster apart, a model card; it takes some seconds, and the memory of the data "+
		"once more; none by default")
	f.string(&o.embedding, "embedding", "`FILE` to write the representation H to, .npy, .npz or .csv; none by default")
	f.output(&o.trust, "trust", "`FILE` to write the trust in the rows to"+aboutTrust+"; it needs neighbours, and takes the "+
		"memory of the data once more")
	f.bool(&o.json, "json", "print one JSON object in place of the summary; what does not exist is null")
	f.bool(&o.quiet, "quiet", "show no progress on standard error; how the data are read then stands in the summary")

	f.group("Clusters and network")
	f.int(&c.Clusters, "clusters", 0, "`C`, the number of clusters; 0: the number of classes in the labels")
	f.int(&c.Anchors, "anchors", 0, "`M`, the number of anchors; 0: as many as clusters")
	f.int(&c.Layers, "layers", 2, "`L`, the number of unfolded layers")
	f.value(among(&o.network.variant, "large", "amvc", "rmvc"), "variant",
		"modules of the network: `large|amvc|rmvc`. large has all three, amvc no noise, rmvc neither noise nor moving anchors")
	f.text(&o.network.activation, "activation", "σ of the thresholds: `relu|selu`")
	f.value(among(&o.network.preset, "default", "paper"), "preset",
		"defaults of all that says auto: `default|paper`. default is what clusters best on average: neighbours, "+
			"two\nstandardisations, θ and ρ kept ≥ 0; paper is the network as its equations have it, without neighbours")
	f.text(&c.Preprocess, "preprocess",
		"what is done to the views first: `auto|both|sample|balanced|zscore|unit|none`. sample: each sample of a view to "+
			"mean 0,\nvariance 1 over its features; zscore: each feature to mean 0, variance 1; both: every view twice, in "+
			"either way, which\nneeds neighbours; balanced: zscore divided by √d; unit: each sample of a view to norm 1. The "+
			"preset default has both\n(sample without neighbours), paper sample")
	f.bool(&c.PlainReadOut, "plain-read-out",
		"give the last k-means the rows of the representation H as they are, as the preset paper always does, and not at norm 1")
	f.string(&o.startLabels, "start-labels", "`FILE` with a label (0 to M−1) for each sample, in place of those of k-means, "+
		"read and joined to the\nsamples as a file of -labels is; none by default")

	f.group("Neighbours")
	f.value(amount[int]{&c.Neighborhood.Neighbors, "auto", "none", true}, "neighbors",
		"`auto|none|K`, the nearest samples that each sample is joined to, in all views together and in each alone: along "+
			"them the\nviews are smoothed, and the loss asks neighbours to share a cluster. The preset default has 10, paper "+
			"none")
	f.value(amount[int]{&c.Neighborhood.Directions, "200", "all", false}, "directions",
		"`N|all`, the singular directions that are kept of each view")
	f.value(amount[int]{&c.Neighborhood.Steps, "auto", "none", true}, "filter-steps",
		"`auto|none|N`, the steps of smoothing. auto: 6, or log₂(samples/10) where that is more")
	f.value(amount[float64]{&c.Neighborhood.Weight, "3", "none", true}, "neighbor-weight",
		"`WEIGHT|none` of the neighbours in the loss")
	f.value(
		amount[float64]{&c.Neighborhood.HeldOutWeight, "3", "none", true},
		"held-out-weight",
		"`WEIGHT|none` in the loss of how well the cluster of each sample can be told from its features by what all others show",
	)
	f.value(amount[int]{&c.Neighborhood.Exact, "10000", "none", true}, "exact-neighbors",
		"`N|none`, the samples up to which neighbours are searched; with more, each sample is joined to a few of some "+
			"landmarks,\nwhich takes time linear in their number")
	f.int(&c.Neighborhood.Landmarks, "landmarks", 0, "`N`, the landmarks; 0: a quarter of the samples, from 40 to 1000")

	f.group("Training")
	f.int(&c.Epochs, "epochs", 100, "`N` steps of the optimiser; 0: none, the network stays at its start")
	f.float(&c.LearningRate, "lr", 0.01, "learning `RATE` of Adam")
	f.int(&c.FitSamples, "fit-samples", 0, "`N` of the samples to train on, drawn by -seed, where there are more; then one "+
		"pass labels all of them. Of three draws the one\nis taken whose start is most like those of the "+
		"others. Neighbours are landmarks unless -exact-neighbors is given. 0: all")
	f.Uint64Var(&c.Seed, "seed", 0, "`SEED` of everything random; equal seeds give equal results on any number of cores")
	f.added("seed")
	f.int(&c.Restarts, "restarts", 1, "`N` runs, from the seeds SEED, SEED+1, …; the one of lowest loss is kept")
	f.float(&c.Tolerance, "tolerance", 0, "`SHARE` by which the loss must fall to count as progress; 0: no early stop")
	f.int(&c.Patience, "patience", 5, "`N` epochs without progress before the early stop, with -tolerance")
	f.output(&c.Checkpoint.Path, "checkpoint", "`FILE` to keep the state of the training in, for -resume; none by default,\n"+
		"with -resume the one that it names, unless that is a pipe")
	f.int(&c.Checkpoint.Every, "checkpoint-every", 10, "`N` epochs from one writing of it to the next; it is written at "+
		"the end and when interrupted too")
	f.bool(&o.overwrite, "overwrite", "let a training from the start overwrite the file of -checkpoint; by default that "+
		"is an error")
	f.string(
		&o.resume,
		"resume",
		"`FILE` of -checkpoint to go on from, with the same data, and with its original settings and -float, which from a\n"+
			"pipe must be given where it was 64; a higher -epochs trains on. By default a training starts over",
	)
	f.value(among(&o.float, "32", "64"), "float", "arithmetic: `32|64` bits")
	f.int(&c.Machine.Workers, "workers", 0, "`N` threads; 0: all cores, with -mpi those of a process")
	f.text(&c.Machine.Device, "device",
		"where the network is trained: `auto|cpu|cuda`. auto: a GPU, in a program with a driver for one (docs/gpu.md), where "+
			"there is\none and the fit can run on it, else the cpu; cuda: a GPU, and an error where that cannot be. "+
			"'largemvc device' lists\nwhat is there")
	f.bool(&o.mpi, "mpi", "fit together with the other processes that mpirun, srun or the mpi-operator has started, each of "+
		"which reads its\nshare of the rows. %d in -data FILE stands for the numbers 0, 1, … of files that have the rows one "+
		"after the other,\nand in -out FILE for the number of the process, each of which writes its labels then: docs/mpi.md")
	f.int(&c.KMeansStarts, "kmeans-starts", 10, "`N` starts of each k-means, of which the best is kept; three times as "+
		"many where neighbours take part in the choice")

	f.group("Details of the network")
	f.float(&o.network.theta0, "theta0", 0, "`VALUE` of every threshold θ at the start; 0: 0.01")
	f.float(&o.network.rho0, "rho0", 0, "`VALUE` of every threshold ρ at the start; 0: 0.01")
	f.value(among(&o.network.signs, "auto", "nonnegative", "free"), "signs",
		"whether θ and ρ stay ≥ 0: `auto|nonnegative|free`. The preset default has nonnegative, paper free")
	f.bool(&o.network.oneSided, "one-sided", "threshold by σ(a−θ) alone, which makes H ≥ 0, in place of σ(a−θ) − σ(−a−θ)")
	f.float(&o.network.lipschitz, "lipschitz", 1, "`LP` in the start of R at (1 − 1/LP) I and of U at I/LP")
	f.text(&c.Reduction, "reduction",
		"of the loss over the entries of a view: `auto|mean|relative`. relative: the sum divided by that of the "+
			"view's\nsquares, and by the number of views. The preset default has relative, paper mean")
	f.bool(&o.network.detach, "detach", "no gradient through the updates of the anchors")
	f.first("largemvc fit -data mydata.mat -clusters 7 -out labels.csv -save model.safetensors -report report.html",
		"data mydata.mat", "clusters 7", "out labels.csv", "save model.safetensors", "report report.html", "labels species",
		"id patient", "seed 1", "epochs 200", "preset paper")
	return f
}

// interrupted is what becomes of a result where the training is interrupted.
const interrupted = "a training that is interrupted writes its state until then, with status 1"

// parseFit reads the command line of fit. It returns flag.ErrHelp where help was asked for.
func parseFit(args []string) (*fitOptions, *flags, error) {
	o := &fitOptions{}
	f := fitFlags(o)
	rest, err := f.parse(args)
	if err != nil {
		return nil, f, err
	}
	o.given = map[string]bool{}
	f.Visit(func(fl *flag.Flag) { o.given[fl.Name] = true })
	if err := f.noArguments(rest); err != nil {
		return nil, f, err
	}
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
	for _, x := range []struct {
		name       string
		value, low int
	}{
		{"clusters", c.Clusters, 0}, {"anchors", c.Anchors, 0}, {"layers", c.Layers, 1}, {"epochs", c.Epochs, 0},
		{"restarts", c.Restarts, 1}, {"patience", c.Patience, 1}, {"workers", c.Machine.Workers, 0},
		{"kmeans-starts", c.KMeansStarts, 1},
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
		{"lipschitz", o.network.lipschitz, o.network.lipschitz >= 1, "a number from 1"},
		{"theta0", o.network.theta0, true, "a finite number"},
		{"rho0", o.network.rho0, true, "a finite number"},
	} {
		if !x.ok || math.IsNaN(x.value) || math.IsInf(x.value, 0) {
			return usagef("fit: -%s is %v, want %s", x.name, x.value, x.want)
		}
	}
	if err := o.checkNeighbors(); err != nil {
		return err
	}
	if err := o.checkMPI(); err != nil {
		return err
	}
	disk := map[string]bool{
		"missing": o.missing > 0, "report": o.report != "", "trust": o.trust != "", "float 64": o.float == "64",
	}
	if err := o.checkDisk("fit", disk); err != nil {
		return err
	}
	return o.checkResume()
}

// checkNeighbors refuses what needs neighbours where there are none.
func (o *fitOptions) checkNeighbors() error {
	c := &o.config
	if k := c.Neighborhood.Neighbors; k > 0 || k == 0 && o.network.preset != "paper" {
		return nil
	}
	for _, name := range []string{"directions", "filter-steps", "neighbor-weight", "held-out-weight", "exact-neighbors",
		"landmarks"} {
		if o.given[name] {
			return usagef("fit: -%s needs neighbours: give -neighbors K, or the preset default", name)
		}
	}
	if o.trust != "" {
		return usagef("fit: -trust needs neighbours: give -neighbors K, or the preset default")
	}
	if c.Preprocess == largemvc.PreprocessBoth {
		return usagef("fit: -preprocess both needs neighbours: give -neighbors K, or the preset default")
	}
	return nil
}
