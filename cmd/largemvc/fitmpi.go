package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/report"
	"github.com/largemvc/largemvc/score"
)

// withMPI are the flags that may stand beside -mpi.
var withMPI = []string{"mpi", "set", "config", "write-config", "data", "leave-out", "missing-rows", "max-memory", "out",
	"outliers", "save", "json", "quiet", "clusters", "preset", "epochs", "seed", "checkpoint", "overwrite", "resume", "workers",
	"grace", "known", "labels", "start", "from-disk", "mask", "id", "report", "impute", "transform", "embedding", "memberships",
	"trust"}

// checkMPI refuses what several processes cannot do.
func (o *fitOptions) checkMPI() error {
	if !o.mpi {
		return nil
	}
	for name := range o.given {
		if !strings.HasPrefix(name, "set ") && !slices.Contains(withMPI, name) {
			return usagef("fit: -%s cannot be given with -mpi: leave out one of them", name)
		}
	}
	if o.config.Float64 || o.config.NoStructure {
		return usagef("fit: -set Float64=true and -set NoStructure=true cannot be given with -mpi: leave them out")
	}
	if err := o.checkMPILabels(); err != nil {
		return err
	}
	if o.toStandard() {
		return usagef("fit: with -mpi give -out, -save, -report, -trust and -write-config a file")
	}
	for flag, path := range map[string]string{"embedding": o.embedding, "memberships": o.memberships} {
		if ending(path) == ".npz" {
			return usagef("fit: -%s %s: with -mpi the file is written part by part, which .npz does not allow: name a file "+
				".csv or .npy", flag, path)
		}
	}
	return o.checkShards("fit", "-mpi")
}

// checkShards refuses data and classes that several processes cannot read, or one process from parts.
func (o *dataOptions) checkShards(command, with string) error {
	for _, path := range o.data {
		if path == standard {
			return usagef("%s: %s does not read standard input", command, with)
		}
		if strings.Count(path, "%d") > 1 {
			return usagef("%s: -data %s has %%d more than once: give it once", command, path)
		}
	}
	if len(o.table) > 0 && len(o.data) > 1 && o.sharded() {
		return usagef("%s: -view takes columns of one file, and %d are given with %%d in -data", command, len(o.data))
	}
	if _, err := os.Stat(o.labels); o.classesFile() && err != nil {
		return usagef("%s: -labels %s is no file: with %s give a table of the classes of all samples", command, o.labels, with)
	}
	return nil
}

// checkMPILabels refuses labels that are not in a file of their own.
func (o *fitOptions) checkMPILabels() error {
	if !o.classesFile() && o.resume == "" && o.config.Clusters == 0 && o.known == "" {
		return usagef("fit: the number of clusters is missing, and with -mpi no classes are read from the data: give -clusters " +
			"a number, or -labels a file")
	}
	if o.knownColumn != "" {
		return usagef("fit: -known %s is no file: with -mpi give a table of labels with ids, or with a column "+
			"sample", o.knownColumn)
	}
	return nil
}

// classesFile says whether -labels names a file of several processes.
func (o *dataOptions) classesFile() bool { return o.labels != "" && o.labels != "none" }

// onEpoch, if not nil, sees what a process reports of its fit.
var onEpoch func(rank int, e largemvc.Progress)

// inJob joins the processes of a job and does the work of this one. An error or a panic of one process ends all of them. after
// returns what follows the error in the message.
func inJob(stderr io.Writer, after func() string, work func(w world) error) error {
	w, err := joinMPI()
	if err != nil {
		return err
	}
	fail := func(err error) {
		var other *ranks.Error // which that rank has said, and rank 0 says again
		if !errors.As(err, &other) || w.Rank() == 0 {
			fmt.Fprintf(stderr, "largemvc: rank %d: %s%s\n", w.Rank(), oneLine(err), after())
		}
		w.Abort(err)
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "%s\n", debug.Stack())
			fail(fmt.Errorf("panic: %v", p))
		}
	}()
	if err := work(w); err != nil {
		fail(err)
		return err
	}
	return nil
}

// runFitMPI is runFit for one of several processes.
func runFitMPI(ctx context.Context, o *fitOptions, stdout, stderr io.Writer) error {
	var ended error
	err := inJob(stderr, o.goOn, func(w world) error {
		rank := w.Rank()
		o.noteCheckpoint()
		defer context.AfterFunc(ctx, func() {
			// Of a job that a signal ends, or a launcher because another process has died, two say how to go on.
			if rank < 2 {
				fmt.Fprintf(stderr, "largemvc: rank %d: a signal ends the job%s\n", rank, o.goOn())
			}
		})()
		defer o.endInTime(ctx, stderr, fmt.Sprintf("largemvc: rank %d", rank))()
		result, in, early, err := o.fitRank(ctx, w, stderr)
		if err != nil {
			return err
		}
		if early != nil {
			o.keepFiles(result, stderr)
		}
		if err := in.closing(o.writeRank(ctx, w, in, result, early != nil, stdout)); err != nil {
			return err
		}
		ended = o.endedRank(ctx, rank, result, early)
		return w.Close()
	})
	if err == nil {
		return ended
	}
	return err
}

// endedRank returns what a process says of a training that ended early.
func (o *fitOptions) endedRank(ctx context.Context, rank int, c *largemvc.Clustering, ended error) error {
	var other *ranks.Error
	switch {
	case rank > 0 && ended != nil:
		return errQuiet
	case rank > 0:
		return nil
	case ended == nil:
		return o.unmarked(c)
	case ctx.Err() != nil || errors.Is(ended, context.Canceled):
		return fmt.Errorf("cancelled after %s; the result is the state after the last one%s", count(c.Epochs, "epoch"), o.goOn())
	case errors.As(ended, &other):
		return fmt.Errorf("%w%s", ended, o.goOn())
	}
	return fmt.Errorf("rank 0: %s%s", oneLine(ended), o.goOn())
}

// errQuiet is an error that another process says.
var errQuiet = errors.New("")

// goOn says how to go on with a training that ends early.
func (o *fitOptions) goOn() string {
	path := cmp.Or(o.config.Checkpoint.Path, o.resume)
	if path == "" {
		return "; there is no checkpoint (-checkpoint FILE keeps one)"
	}
	if !o.hasCheckpoint() {
		return fmt.Sprintf("; no checkpoint has been written to %s", path)
	}
	return fmt.Sprintf("; -resume %s goes on from the last checkpoint", path)
}

// fitRank reads the rows of this process and fits. ended is the error that ended a training with a result.
func (o *fitOptions) fitRank(
	ctx context.Context, w world, stderr io.Writer,
) (result *largemvc.Clustering, in *input, ended, err error) {
	rank := w.Rank()
	if rank == 0 {
		if err := o.checkFiles(io.Discard); err != nil { // no file of several processes is standard output
			return nil, nil, nil, err
		}
	}
	began := time.Now()
	data, err := o.openShards(ctx, false)
	if err != nil {
		return nil, nil, nil, err
	}
	in = data.input()
	lo, hi, err := comm.Share(in.samples, rank, w.Size())
	if err != nil {
		return nil, nil, nil, in.closing(err)
	}
	if o.quiet || rank > 0 {
		stderr = io.Discard
	}
	out := progress.New(stderr, "epoch")
	defer out.End()
	o.sayRanks(stderr, w, data)
	if o.fromDisk {
		in.views, err = data.onDisk(ctx, lo, hi, o.missingRows)
	} else {
		in.views, err = data.read(ctx, lo, hi, o.config.Machine.Workers, o.missingRows)
	}
	if err == nil {
		err = o.readLabelsOf(ctx, in, lo, hi)
	}
	if err != nil {
		return nil, nil, nil, in.closing(err)
	}
	if rank > 0 && in.ids != nil {
		in.ids = slices.Clone(in.ids[lo:hi])
	}
	in.readFor = time.Since(began)
	o.config.Machine.Comm, o.config.Machine.Overwrite = w, !o.readsAgain()
	fitting := time.Now()
	o.config.Progress = func(e largemvc.Progress) error {
		if onEpoch != nil {
			onEpoch(rank, e)
		}
		if e.Training() {
			out.ShowLeft(e.Epoch, e.Epochs, fmt.Sprintf("loss %.5g", e.Loss-e.NullLoss), e.Elapsed, e.Left)
		} else {
			out.Phase(e.Phase, e.Done, e.Total, time.Since(fitting), e.Left)
		}
		return nil
	}
	o.written = o.config
	result, ended = train(ctx, o, in)
	if result == nil {
		return nil, nil, nil, in.closing(ended)
	}
	result.ClassNames = o.classNames
	return result, in, ended, nil
}

// readsAgain says whether the values that a process has read are needed after the fit.
func (o *fitOptions) readsAgain() bool { return o.fromDisk || o.trust != "" }

// sayRanks prints what the processes have read, and where the state goes.
func (o *fitOptions) sayRanks(stderr io.Writer, w world, data *shards) {
	fmt.Fprintf(stderr, "%s, %v\n", count(w.Size(), "process"), w)
	for _, v := range data.views {
		fmt.Fprintf(stderr, "view      %s: %d × %d from %s, in %s\n", v.name, v.rows, v.cols, v.source,
			count(len(v.parts), "file"))
	}
	for _, note := range data.notes {
		fmt.Fprintln(stderr, "note      "+note)
	}
	if path := o.config.Checkpoint.Path; path != "" {
		fmt.Fprintf(stderr, "the state of the training goes to %s: -resume goes on from it, with any number of processes\n", path)
	}
}

// readLabelsOf reads the labels of all kinds for a process that has samples [lo, hi).
func (o *fitOptions) readLabelsOf(ctx context.Context, in *input, lo, hi int) error {
	// The classes of -labels come first: where both are given, they count the clusters, as for one process.
	if err := o.readClassesOf(ctx, in); err != nil {
		return err
	}
	if o.resume == "" {
		o.config.Clusters = cmp.Or(o.config.Clusters, in.classes)
	}
	if err := o.readKnown(ctx, in); err != nil {
		return err
	}
	if o.config.Known != nil {
		o.config.Known = o.config.Known[lo:hi]
	}
	if o.startFile() == "" || o.resume != "" {
		return nil
	}
	anchors := o.config.WithDefaults().Anchors
	if in.ids == nil && ending(o.start) == arrayEnding {
		var err error
		o.config.StartLabels, err = startRows(ctx, o.start, in.samples, lo, hi, anchors)
		return err
	}
	labels, err := o.readStartLabels(ctx, o.start, in.samples, anchors, in.ids)
	if err == nil {
		o.config.StartLabels = labels[lo:hi]
	}
	return err
}

// startRows reads from an array of n labels from 0 to m−1 those of samples [lo, hi) alone.
func startRows(ctx context.Context, path string, n, lo, hi, m int) ([]int, error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	set, err := dataset.OpenRows(ctx, []string{path}, dataset.Options{
		Views: []string{name}, NoLabels: true, NoIDs: true, Orientation: dataset.RowsAreSamples,
	})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if rows, d := set.Views[0].Dims(); rows != n || d != 1 {
		return nil, fmt.Errorf("%s: is %d×%d, want a label for each of the %d samples", path, rows, d, n)
	}
	x, labels := make([]float32, hi-lo), make([]int, hi-lo)
	if err := set.Views[0].ReadRows(ctx, lo, x); err != nil {
		return nil, err
	}
	for i, l := range x {
		if labels[i] = int(l); float32(labels[i]) != l || labels[i] < 0 || labels[i] >= m {
			return nil, fmt.Errorf("%s: the label %g of sample %d is not a whole number from 0 to %d", path, l, lo+i, m-1)
		}
	}
	return labels, nil
}

// readClassesOf reads the classes of the samples of all processes, which -labels compares with the clusters.
func (o *dataOptions) readClassesOf(ctx context.Context, in *input) error {
	if !o.classesFile() {
		return nil
	}
	options := o.options(32)
	read, err := dataset.ReadLabels(ctx, o.labels, dataset.Options{Header: o.header, IDs: options.IDs, NoIDs: options.NoIDs})
	if err != nil {
		return err
	}
	rows, _, err := read.Align(o.data[0], in.ids, in.samples)
	for _, row := range rows {
		in.labels = append(in.labels, read.Labels[row])
	}
	in.classNames, in.classes = read.Names, len(read.Names)
	in.reading.Labels = fmt.Sprintf("%d, from %s in %s", in.classes, read.Column, read.Path)
	return err
}

// writeRank writes what the flags ask for: rank 0 all that there is one of. unfinished says that the training did not finish.
func (o *fitOptions) writeRank(
	ctx context.Context, w world, in *input, c *largemvc.Clustering, unfinished bool, stdout io.Writer,
) error {
	var saved error
	if w.Rank() == 0 { // before the tables: one that fails must not cost the model
		saved = o.output("save").write(stdout, func(to io.Writer) error { _, err := c.WriteTo(to); return err }, c.Save)
	}
	if err := o.writeRankTables(ctx, w, in, c, unfinished); err != nil {
		return errors.Join(saved, err)
	}
	if err := in.countMissing(w); err != nil {
		return errors.Join(saved, err)
	}
	whole := *c
	whole.Labels, whole.Confidence, whole.Outlier, whole.StartLabels = nil, nil, nil, nil // not of one process
	sizes := make([]int, len(c.Sizes))
	for _, l := range c.Labels {
		sizes[l]++
	}
	sizes, err := summed(w, sizes)
	if err == nil && in.labels != nil {
		whole.Labels, err = ranks.ToFirst(w, c.Labels)
	}
	if err == nil {
		whole.Classes, err = wholeClasses(w, c.Classes)
	}
	if err != nil || w.Rank() > 0 {
		return errors.Join(saved, err)
	}
	if err := errors.Join(saved, o.writeConfig(stdout), o.writeSample(ctx, in, &whole)); err != nil {
		return err
	}
	o.config.Machine.Comm = nil
	r, err := newSummary(o, in, &whole, in.readFor)
	if err != nil {
		return err
	}
	if r.ClusterSizes = sizes; r.Labels == nil {
		r.IDs = nil
	}
	return r.print(stdout, o.json)
}

// wholeClasses returns on rank 0 the classes of the samples of all processes; nil without known labels.
func wholeClasses(w world, c *score.Classes) (*score.Classes, error) {
	if c == nil {
		return nil, nil
	}
	out := *c
	var err error
	if out.Labels, err = ranks.ToFirst(w, c.Labels); err == nil && c.Confidence != nil {
		out.Confidence, err = ranks.ToFirst(w, c.Confidence)
	}
	return &out, err
}

// sampled is the most samples of a report on the samples of several processes.
const sampled = 20_000

// writeSample writes -report, on samples that are drawn at random. Process 0 reads them from the files again.
func (o *fitOptions) writeSample(ctx context.Context, in *input, c *largemvc.Clustering) error {
	if o.report == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	rng, chosen := rand.New(rand.NewPCG(o.config.Seed, sampled)), make([]int, min(in.samples, sampled))
	for k := range chosen { // one of each stretch of samples
		lo, hi := in.samples*k/len(chosen), in.samples*(k+1)/len(chosen)
		chosen[k] = lo + rng.IntN(hi-lo)
	}
	some, err := *in, error(nil)
	if some.views, err = in.shards.take(ctx, chosen, o.missingRows); err != nil {
		return err
	}
	some.ids, some.labels = make([]string, len(chosen)), nil
	for k, i := range chosen {
		if some.ids[k] = strconv.Itoa(i); in.ids != nil {
			some.ids[k] = in.ids[i]
		}
		if in.labels != nil {
			some.labels = append(some.labels, in.labels[i])
		}
	}
	p := pageOptions(&some, o.data, in.readFor, progress.New(io.Discard, ""))
	p.Seed, p.Workers, p.Start = o.config.Seed, o.config.Machine.Workers, o.startFile()
	p.Facts = append(p.Facts, report.Fact{Name: "samples here", Value: fmt.Sprintf(
		"%d of the %d of the fit, drawn at random, with the labels of the model", len(chosen), in.samples)})
	for _, text := range newClassified(c.Classes, o.classNames, in.ids).lines() {
		p.Facts = append(p.Facts, report.Fact{Name: "classes", Value: text})
	}
	return o.output("report").save(nil, func(w io.Writer) error {
		return report.WritePredictions(ctx, w, c.Predictor, some.views, p)
	})
}

// countMissing sets the share of the view rows that are absent, of those of all processes.
func (in *input) countMissing(w world) error {
	absent := 0
	for _, v := range in.views {
		n, _ := v.Dims()
		for i := range n {
			if !v.Has(i) {
				absent++
			}
		}
	}
	all, err := summed(w, []int{absent})
	if err == nil {
		in.missing = float64(all[0]) / float64(in.samples*len(in.views))
	}
	return err
}

// writeRankTables writes -out, -embedding, -memberships and -trust: each process its own files, or rank 0 the rows of all.
func (o *fitOptions) writeRankTables(ctx context.Context, w world, in *input, c *largemvc.Clustering, unfinished bool) error {
	lo, hi, err := comm.Share(in.samples, w.Rank(), w.Size())
	if err != nil {
		return err
	}
	var ids []string
	if in.ids != nil {
		ids = in.ids[:hi-lo] // rank 0 has all ids, and lo is 0
	}
	for _, t := range []struct{ flag, path string }{
		{"out", o.out}, {"embedding", o.embedding}, {"memberships", o.memberships}, {"trust", o.trust},
	} {
		if t.path == "" {
			continue
		}
		own, err := o.rankColumns(ctx, t.flag, lo, in, c)
		if err != nil {
			return err
		}
		out, n, all := o.output(t.flag), in.samples, w
		if isPattern(t.path) {
			part := numbered(t.path, w.Rank())
			out = &output{path: part, unfinished: unfinished, partial: &output{path: part + partialEnding}}
			n, all = hi-lo, oneProcess()
		}
		if err := writeTables(out, all, n, withIDs(&in.reading, ids, own)); err != nil {
			return err
		}
	}
	return nil
}

// rankColumns returns the columns of a file about the samples of this process, whose numbers begin with first.
func (o *fitOptions) rankColumns(
	ctx context.Context, flag string, first int, in *input, c *largemvc.Clustering,
) ([]dataset.Column, error) {
	switch flag {
	case "embedding":
		return embeddingFile(o.embedding).columns(first, c.H), nil
	case "memberships":
		x, err := c.Memberships(context.WithoutCancel(ctx), c.H)
		if err != nil {
			return nil, err
		}
		return membershipsFile(o.memberships).columns(first, x), nil
	case "trust":
		x, err := o.findTrust(ctx, in, c)
		if err != nil {
			return nil, err
		}
		return trustColumns(in, first, x), nil
	}
	return append(labelColumns(first, o.marked(c), figure{"confidence", c.Confidence}, figure{"remoteness", c.Remoteness}),
		classColumns(c.Classes, o.classNames)...), nil
}
