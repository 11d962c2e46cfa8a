package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/report"
)

// predictOptions holds the flags of predict.
type predictOptions struct {
	modelOptions
	out       string
	report    string
	embedding string
	trust     string
	members   string
	json      bool
	quiet     bool
	workers   int
	device    machine.Device
	asked     bool // -device was given
	rows      rowRange
	mpi       bool
}

const aboutPredict = `Usage: largemvc predict -model MODEL FILE… [flags]

Labels samples with a model of 'largemvc fit -save'. Prints a summary on standard output, or one JSON object with -json.
The views must be the views of the training, in the same order; samples may lack views. If the data have classes, predict
also scores the clusters against them.
`

// predictFlags makes the flags of predict.
func predictFlags(o *predictOptions) *flags {
	f := newFlags("predict")
	o.modelFlags(f)
	f.group("Result")
	f.output(&o.out, "out", aboutLabels+"novelty (0 to 1: distance from the training samples), "+
		"and class and class_confidence for models of fit -known;\n- is standard output; none by default")
	f.string(&o.members, "memberships", "`FILE` for the memberships of each sample in all clusters, which sum to 1: .npy, .npz "+
		"or .csv; none by default")
	f.output(&o.report, "report", "`FILE` for a report on the samples, one HTML page; none by default")
	f.string(&o.embedding, "embedding", "`FILE` for the representation H (n×m): .npy, .npz or .csv; none by default")
	f.output(&o.trust, "trust", "`FILE` for the trust in the rows"+aboutTrust)
	o.diskFlags(f, "labels are written part by\npart; a file appears when it is complete")
	f.each("rows", "`FIRST:END`, with -from-disk: label only the rows FIRST to END-1, so that several machines can share the "+
		"rows; by\ndefault all", o.rows.set)
	f.bool(&o.mpi, "mpi", "label together with the other processes of mpirun, srun or the mpi-operator; each labels a part of "+
		"the rows, as\nwith -from-disk. %d is the number of a part in -data FILE, and the number of the process in -out "+
		"FILE\n(docs/mpi.md)")
	f.bool(&o.json, "json", "print one JSON object instead of the summary; unknown values are null")
	f.bool(&o.quiet, "quiet", "show no progress on standard error")
	f.int(&o.workers, "workers", 0, "`N` threads; 0: all cores")
	o.device = machine.CPU
	f.text(&o.device, "device", "device of the network, for labels and -embedding: `auto|cpu|cuda`. auto: a GPU if there is "+
		"one and the model can run\nthere, else the CPU; cuda: a GPU, or an error (docs/gpu.md). The CPU always searches the "+
		"neighbours")
	f.first("largemvc predict -model model.safetensors -data new.csv -out new-labels.csv",
		"model model.safetensors", "data new.csv", "out new-labels.csv", "report new.html", "embedding h.npz", "labels species",
		"id patient", "match-features", "missing-rows", "json")
	return f
}

// drifted says how unlike the training the samples are; null for models that do not know.
type drifted struct {
	Novelty *float64 `json:"novelty"` // median, from 0 to 1
	Novel   *float64 `json:"novel"`   // share of the samples with a novelty above 0.95

	counts [2*bins + 1]int // of samples, with -from-disk
}

// predictedClasses are by the known labels of the training; null for models without, and with -from-disk.
type predictedClasses struct {
	Class []string  `json:"class"`            // the class of each sample
	Sure  []float64 `json:"class_confidence"` // probability that it is right
}

// prediction holds the summary that predict prints. A nil pointer is a number that does not exist: null in JSON.
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
	Device         string   `json:"device"`      // where the samples went through the network
	DeviceWhy      string   `json:"device_why"`  // and why there

	ClusterSizes []int `json:"cluster_sizes"` // of these samples

	Confidence *float64 `json:"confidence"` // median, from 0 to 1; null for models without

	drifted

	IDs         []string  `json:"ids"`         // of the samples, in their order; null where the data have none
	Labels      []int     `json:"labels"`      // the cluster of each sample
	Confidences []float64 `json:"confidences"` // of the labels; null for models without

	predictedClasses

	ACC    *float64 `json:"acc"`
	NMI    *float64 `json:"nmi"`
	ARI    *float64 `json:"ari"`
	Purity *float64 `json:"purity"`
}

// runPredict reads model and data, predicts, writes the labels and prints the report.
func runPredict(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := &predictOptions{}
	f := predictFlags(o)
	if done, err := f.start(args, stdout, aboutPredict, aboutData); done || err != nil {
		return err
	}
	o.asked = f.given()["device"]
	files := &predictOutputs{
		labels: output{flag: "out", path: o.out}, page: output{flag: "report", path: o.report},
		embedding: output{flag: "embedding", path: o.embedding}, trust: output{flag: "trust", path: o.trust},
		memberships: output{flag: "memberships", path: o.members},
	}
	if err := o.checkMPI(f); err != nil {
		return err
	}
	if err := o.checkFlags(stdout, files); err != nil {
		return err
	}
	bar := newBar(stderr, "", o.quiet)
	defer bar.End()
	if o.fromDisk {
		return o.predictFromDisk(ctx, files, bar, stdout, stderr)
	}
	return o.predictInMemory(ctx, files, bar, stdout, stderr)
}

// predictOutputs holds the files that predict writes.
type predictOutputs struct{ labels, page, embedding, trust, memberships output }

// checkFlags refuses flags that contradict each other and files that cannot be written.
func (o *predictOptions) checkFlags(stdout io.Writer, files *predictOutputs) error {
	if err := errors.Join(embeddingFile(o.embedding).check("predict"), membershipsFile(o.members).check("predict")); err != nil {
		return err
	}
	if o.json && o.toStandard() {
		return usagef("predict: -json writes to standard output too: give -out, -report and -trust a file")
	}
	if o.workers < 0 || o.workers > parallel.MostWorkers {
		return usagef("predict: -workers is %d, want 0 to %d", o.workers, parallel.MostWorkers)
	}
	outputs := []*output{&files.labels, &files.page, &files.embedding, &files.trust, &files.memberships}
	if err := o.checkModel("predict", stdout, outputs...); err != nil {
		return err
	}
	if err := o.checkBlockFiles(); err != nil {
		return err
	}
	if err := o.checkAnnOut("predict", o.out, !o.fromDisk); err != nil {
		return err
	}
	if o.rows.hi > 0 && !o.fromDisk {
		return usagef("predict: -rows needs -from-disk")
	}
	return o.checkDisk("predict", map[string]bool{"report": o.report != "", "match-features": o.match})
}

// predictInMemory labels samples that are read as a whole.
func (o *predictOptions) predictInMemory(
	ctx context.Context, files *predictOutputs, bar *progress.Bar, stdout, stderr io.Writer,
) error {
	began := time.Now()
	model, in, err := o.readModel(ctx, bar)
	if err != nil {
		return err
	}
	if err := errors.Join(embeddingFile(o.embedding).checkIDs(in), membershipsFile(o.members).checkIDs(in)); err != nil {
		return err
	}
	model = model.WithMachine(machine.Options{Workers: o.workers, Device: o.device})
	read := time.Now()
	assigned, err := o.withResults(model).Assign(ctx, in.views)
	if err != nil {
		return cancelled(ctx, err)
	}
	found := &labelled{assigned, model.ClassNames}
	failed := errors.Join(
		o.writeMatrices(ctx, stdout, files, model, in, found),
		o.writePage(ctx, stdout, &files.page, model, in, found.Trust, read.Sub(began), bar),
		writeTrust(stdout, &files.trust, in, found.Trust),
	)
	p := &prediction{
		Model: o.model, Samples: in.samples, Views: len(in.views), Dims: in.dims, MissingRate: in.missing,
		Clusters: model.Clusters, ClusterSizes: make([]int, model.Clusters), Float: bits(model.Config().Float64),
		ReadSeconds: read.Sub(began).Seconds(), PredictSeconds: time.Since(read).Seconds(), PeakRSS: peakMiB(),
	}
	for _, label := range found.Labels {
		p.ClusterSizes[label]++
	}
	p.Confidence = median(found.Confidence)
	p.addDrift(found.Novelty)
	p.Device, p.DeviceWhy = o.ranOn(found.Ran)
	p.Reading, p.IDs, p.Labels = &in.reading, in.ids, found.Labels
	p.Confidences = found.Confidence
	if found.Classes != nil {
		p.Sure = found.Classes.Confidence
		for _, l := range found.Classes.Labels {
			p.Class = append(p.Class, className(found.names, l))
		}
	}
	if err := p.score(in); err != nil {
		return err
	}
	return errors.Join(failed, p.print(o.free(stdout, stderr), stderr, o.json))
}

// free returns where the summary goes: to standard error if a file goes to standard output.
func (o *predictOptions) free(stdout, stderr io.Writer) io.Writer {
	if o.toStandard() {
		return stderr
	}
	return stdout
}

// toStandard says whether an output goes to standard output.
func (o *predictOptions) toStandard() bool {
	return slices.Contains([]string{o.out, o.report, o.trust}, standard)
}

// ranOn returns the device of a run, and why it ran there.
func (o *predictOptions) ranOn(r machine.Ran) (device, why string) {
	if o.device == machine.CPU && !o.asked {
		return r.Device, "the default; -device auto takes a GPU if there is one"
	}
	return r.Device, r.Why
}

// labelled holds the result for the samples.
type labelled struct {
	*largemvc.Assignments
	names []string // of the classes
}

// withResults returns the model with the results that the files need.
func (o *predictOptions) withResults(model *largemvc.Predictor) *largemvc.Predictor {
	return model.WithResults(o.embedding != "" || o.members != "" || asAnnData(o.out), o.trust != "")
}

// columns returns the columns of -out after the ids. The numbers of the samples begin with first.
func (l *labelled) columns(first int) []dataset.Column {
	columns := labelColumns(first, l.Labels, figure{"confidence", l.Confidence}, figure{"novelty", l.Novelty})
	return append(columns, classColumns(l.Classes, l.names)...)
}

// score compares p.Labels with the classes of the samples, if the data have them.
func (p *prediction) score(in *input) error {
	if in.labels == nil {
		return nil
	}
	s, err := largemvc.Evaluate(in.labels, p.Labels)
	if err != nil {
		return err
	}
	p.Classes = &in.classes
	p.ACC, p.NMI, p.ARI, p.Purity = number(s.ACC), number(s.NMI), number(s.ARI), number(s.Purity)
	return nil
}

// print writes the summary.
func (p *prediction) print(stdout, stderr io.Writer, asJSON bool) error {
	if asJSON {
		warnings(stderr, p.Reading)
		return json.NewEncoder(stdout).Encode(p)
	}
	if err := say(stdout, p.Reading); err != nil {
		return err // which the table would only say again
	}
	return p.table(stdout)
}

// writeMatrices writes -out, -embedding and -memberships.
func (o *predictOptions) writeMatrices(
	ctx context.Context, stdout io.Writer, files *predictOutputs, model *largemvc.Predictor, in *input, found *labelled,
) error {
	var written error
	if columns := found.columns(0); asAnnData(o.out) {
		written = o.writeAnnData(&files.labels, stdout, in.ids, found.H, columns)
	} else {
		written = files.labels.writeTable(stdout, in.withIDs(0, columns)...)
	}
	return errors.Join(written, embeddingFile(o.embedding).write(&files.embedding, found.H, in),
		writeMemberships(ctx, &files.memberships, model, found.H, in))
}

// writePage writes -report.
func (o *predictOptions) writePage(
	ctx context.Context, stdout io.Writer, out *output, model *largemvc.Predictor, in *input, trust [][]float64,
	reading time.Duration, bar *progress.Bar,
) error {
	if o.report == "" {
		return nil
	}
	p := pageOptions(in, o.data, reading, bar)
	p.Facts, p.Trust = append(p.Facts, report.Fact{Name: "model", Value: o.model}), trust
	p.Workers = o.workers
	defer bar.End()
	return out.save(stdout, func(w io.Writer) error { return report.WritePredictions(ctx, w, model, in.views, p) })
}

// novelAbove is the novelty above which a sample counts as novel. Samples like the training samples are novel at a rate of
// 1 − novelAbove.
const novelAbove = 0.95

// addDrift sums up the novelty of the samples.
func (p *prediction) addDrift(novelty []float64) {
	if len(novelty) == 0 {
		return
	}
	novel := 0
	for _, x := range novelty {
		if x > novelAbove {
			novel++
		}
	}
	p.Novelty, p.Novel = median(novelty), number(float64(novel)/float64(len(novelty)))
}

// The shares of novel samples from which there may be drift, and surely is. In few samples a share of 5 % is easily more.
const (
	someDrift   = 0.1
	muchDrift   = 0.25
	fewestDrift = 20 // samples that a verdict needs
)

// drift says whether the samples are like the training samples.
func (p *prediction) drift() string {
	text := fmt.Sprintf("%s of the samples have a novelty above 0.95 (5 %% are to be expected); median novelty %.2f",
		percent(p.Novel), *p.Novelty)
	switch {
	case p.Samples < fewestDrift:
		return text
	case *p.Novel >= muchDrift:
		return text + ": these samples are not like the training samples, and their labels say little"
	case *p.Novel >= someDrift:
		return text + ": some are not like the training samples"
	}
	return text + ": they are like the training samples"
}

// table writes the report for people.
func (p *prediction) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("data", "%s", aboutSamples(p.Samples, p.Dims, p.MissingRate))
	line("model", "%s, %s", p.Model, count(p.Clusters, "cluster"))
	line("time", "%.3g s reading, %.3g s predicting", p.ReadSeconds, p.PredictSeconds)
	line("ran on", "%v", machine.Ran{Device: p.Device, Why: p.DeviceWhy})
	line("clusters", "sizes %s", join(p.ClusterSizes, ", "))
	if p.Confidence != nil {
		line("confidence", "median %.2f (0: no more than chance, 1: always found again)", *p.Confidence)
	}
	if p.Novel != nil {
		line("drift", "%s", p.drift())
	}
	if p.ACC != nil {
		line("scores", "ACC %s, NMI %s, ARI %s, purity %s (%s)", percent(p.ACC), percent(p.NMI), percent(p.ARI),
			percent(p.Purity), count(*p.Classes, "class"))
	}
	return t.Flush()
}
