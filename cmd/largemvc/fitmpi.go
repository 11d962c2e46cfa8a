package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// withMPI are the flags that may stand beside -mpi.
var withMPI = []string{"mpi", "set", "config", "write-config", "data", "leave-out", "missing-rows", "max-memory", "out",
	"outliers", "save", "json", "quiet", "clusters", "preset", "epochs", "seed", "checkpoint", "overwrite", "resume", "workers",
	"grace", "known", "labels", "start", "from-disk"}

// checkMPI refuses what several processes cannot do.
func (o *fitOptions) checkMPI() error {
	if !o.mpi {
		return nil
	}
	for name := range o.given {
		if !strings.HasPrefix(name, "set ") && !slices.Contains(withMPI, name) {
			return usagef("fit: -%s cannot be given with -mpi", name)
		}
	}
	if o.config.Float64 || o.config.NoStructure {
		return usagef("fit: -set Float64=true and -set NoStructure=true cannot be given with -mpi")
	}
	if err := o.checkMPILabels(); err != nil {
		return err
	}
	for _, path := range o.data {
		if path == standard {
			return usagef("fit: -mpi does not read standard input")
		}
		if strings.Count(path, "%d") > 1 {
			return usagef("fit: -data %s has %%d more than once", path)
		}
	}
	if o.out == standard || o.save == standard || o.writeTo == standard {
		return usagef("fit: with -mpi give -out, -save and -write-config a file")
	}
	return nil
}

// checkMPILabels refuses labels that are not in a file of their own.
func (o *fitOptions) checkMPILabels() error {
	if !o.classesFile() && o.resume == "" && o.config.Clusters == 0 && o.known == "" {
		return usagef("fit: -mpi reads no classes to count: say with -clusters how many clusters there are, or give " +
			"-labels a file")
	}
	if _, err := os.Stat(o.labels); o.classesFile() && err != nil {
		return usagef("fit: -labels %s is no file: with -mpi give a table of the classes of all samples", o.labels)
	}
	if o.knownColumn != "" {
		return usagef("fit: -known %s is no file: with -mpi give a table of labels with a column sample", o.knownColumn)
	}
	return nil
}

// classesFile says whether -labels names a file of several processes.
func (o *fitOptions) classesFile() bool { return o.labels != "" && o.labels != "none" }

// world is the processes of a job.
type world interface {
	machine.Comm
	String() string
	Close() error
}

// onEpoch, if not nil, sees what a process reports of its fit.
var onEpoch func(rank int, e largemvc.Progress)

// runFitMPI is runFit for one of several processes. An error ends all of them.
func runFitMPI(ctx context.Context, o *fitOptions, stdout, stderr io.Writer) (err error) {
	w, err := joinMPI()
	if err != nil {
		return err
	}
	rank := w.Rank()
	fail := func(err error) {
		var other *ranks.Error // which that rank has said, and rank 0 says again
		if !errors.As(err, &other) || rank == 0 {
			fmt.Fprintf(stderr, "largemvc: rank %d: %s%s\n", rank, oneLine(err), o.goOn())
		}
		w.Abort(err)
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "%s\n", debug.Stack())
			fail(fmt.Errorf("panic: %v", p))
		}
	}()
	o.noteCheckpoint()
	defer context.AfterFunc(ctx, func() {
		// Of a job that a signal ends, or a launcher because another process has died, two say how to go on.
		if rank < 2 {
			fmt.Fprintf(stderr, "largemvc: rank %d: a signal ends the job%s\n", rank, o.goOn())
		}
	})()
	defer o.endInTime(ctx, stderr, fmt.Sprintf("largemvc: rank %d", rank))()
	result, in, ended, err := o.fitRank(ctx, w, stderr)
	if err != nil {
		fail(err)
		return err
	}
	if ended != nil {
		o.keepFiles(stderr)
	}
	if err := in.closing(o.writeRank(w, in, result, ended != nil, stdout)); err != nil {
		fail(err)
		return err
	}
	var other *ranks.Error
	switch {
	case ended == nil:
	case rank > 0:
		ended = errQuiet
	case ctx.Err() != nil || errors.Is(ended, context.Canceled):
		ended = fmt.Errorf("cancelled after %d epochs; the result is of that state%s", result.Epochs, o.goOn())
	case errors.As(ended, &other):
		ended = fmt.Errorf("%w%s", ended, o.goOn())
	default:
		ended = fmt.Errorf("rank 0: %s%s", oneLine(ended), o.goOn())
	}
	return joinedErrors(w.Close(), ended)
}

// joinedErrors is errors.Join that leaves a single error as it is.
func joinedErrors(a, b error) error {
	if a == nil {
		return b
	}
	return errors.Join(a, b)
}

// errQuiet is an error that another process says.
var errQuiet = errors.New("")

// goOn says how to go on with a training that ends early.
func (o *fitOptions) goOn() string {
	path := o.config.Checkpoint.Path
	if path == "" {
		path = o.resume
	}
	if path == "" {
		return "; there is no checkpoint (-checkpoint FILE keeps one)"
	}
	if !o.hasCheckpoint() {
		return fmt.Sprintf("; no checkpoint has been written to %s", path)
	}
	return fmt.Sprintf("; -resume %s goes on from the last checkpoint", path)
}

// fitRank reads the rows of this process and fits. ended is what ended a training that has a result.
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
	options := o.options(32)
	options.Labels, options.NoLabels, options.NoIDs = "", true, true
	options.MissingRows = false // which takes a pass over all rows; those of this process are looked at once they are here
	data, err := openShards(ctx, o.data, options)
	if err != nil {
		return nil, nil, nil, err
	}
	n := data.samples()
	lo, hi, err := comm.Share(n, rank, w.Size())
	if err != nil {
		return nil, nil, nil, errors.Join(err, data.close())
	}
	if o.quiet || rank > 0 {
		stderr = io.Discard
	}
	out := progress.New(stderr, "epoch")
	defer out.End()
	o.sayRanks(stderr, w, data)
	in = &input{samples: n}
	if o.fromDisk {
		in.close = data.close
		in.views, err = data.onDisk(ctx, lo, hi, o.missingRows)
	} else {
		in.views, err = data.read(ctx, lo, hi, o.config.Machine.Workers, o.missingRows)
		err = errors.Join(err, data.close())
	}
	if err != nil {
		return nil, nil, nil, in.closing(err)
	}
	for _, v := range data.views {
		in.dims, in.names = append(in.dims, v.cols), append(in.names, v.name)
		in.reading.Views = append(in.reading.Views, dataset.ViewReading{
			Name: v.name, Samples: v.rows, Features: v.cols, Source: v.source, Named: v.features != nil,
		})
	}
	if err := o.readLabelsOf(ctx, in, lo, hi); err != nil {
		return nil, nil, nil, in.closing(err)
	}
	in.readFor = time.Since(began)
	o.config.Machine.Comm, o.config.Machine.Overwrite = w, !o.fromDisk
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

// sayRanks prints what the processes have read, and where the state goes.
func (o *fitOptions) sayRanks(stderr io.Writer, w world, data *shards) {
	fmt.Fprintf(stderr, "%d processes, %v\n", w.Size(), w)
	for _, v := range data.views {
		fmt.Fprintf(stderr, "view      %s: %d × %d from %s, in %s\n", v.name, v.rows, v.cols, v.source,
			count(len(v.parts), "file"))
	}
	if path := o.config.Checkpoint.Path; path != "" {
		fmt.Fprintf(stderr, "the state of the training goes to %s: -resume goes on from it, with any number of processes\n", path)
	}
}

// readLabelsOf reads the labels of all kinds for a process that has samples [lo, hi).
func (o *fitOptions) readLabelsOf(ctx context.Context, in *input, lo, hi int) error {
	// The classes of -labels come first: where both are given, they count the clusters, as for one process.
	if err := errors.Join(o.readClassesOf(ctx, in), o.readKnown(ctx, in)); err != nil {
		return err
	}
	if o.config.Known != nil {
		o.config.Known = o.config.Known[lo:hi]
	}
	if o.startFile() == "" {
		return nil
	}
	anchors := o.config.WithDefaults().Anchors
	labels, err := o.readStartLabels(ctx, o.start, in.samples, anchors, nil)
	if err == nil {
		o.config.StartLabels = labels[lo:hi]
	}
	return err
}

// readClassesOf reads the classes of the samples of all processes, with which -labels has the clusters compared.
func (o *fitOptions) readClassesOf(ctx context.Context, in *input) error {
	if !o.classesFile() {
		return nil
	}
	read, err := dataset.ReadLabels(ctx, o.labels, dataset.Options{Header: o.header, NoIDs: o.id == "none"})
	if err != nil {
		return err
	}
	rows, _, err := read.Align(o.data[0], nil, in.samples)
	for _, row := range rows {
		in.labels = append(in.labels, read.Labels[row])
	}
	in.classNames, in.classes = read.Names, len(read.Names)
	if o.resume == "" {
		o.config.Clusters = cmp.Or(o.config.Clusters, in.classes)
	}
	return err
}

// writeRank writes what the flags ask for: rank 0 all that there is one of. unfinished says that the training did not finish.
func (o *fitOptions) writeRank(w world, in *input, c *largemvc.Clustering, unfinished bool, stdout io.Writer) error {
	classes, err := wholeClasses(w, in, c.Classes)
	if err != nil {
		return err
	}
	if err := o.writeRankLabels(w, in, c, classes, unfinished); err != nil {
		return err
	}
	if o.missingRows {
		if err := in.countMissing(w); err != nil {
			return err
		}
	}
	labels, err := wholeLabels(w, in, c)
	if err != nil {
		return err
	}
	sizes := make([]int, len(c.Sizes))
	for _, l := range c.Labels {
		sizes[l]++
	}
	if sizes, err = summed(w, sizes); err != nil || w.Rank() > 0 {
		return err
	}
	save := o.output("save")
	if err := save.write(stdout, func(to io.Writer) error { _, err := c.WriteTo(to); return err }, c.Save); err != nil {
		return err
	}
	if err := o.writeConfig(stdout); err != nil {
		return err
	}
	whole := *c
	whole.Labels, whole.Confidence, whole.Outlier, whole.Classes = labels, nil, nil, classes // not of one process
	whole.StartLabels = nil
	o.config.Machine.Comm = nil
	r, err := newSummary(o, in, &whole, in.readFor)
	if err != nil {
		return err
	}
	r.ClusterSizes = sizes
	return r.print(stdout, o.json)
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

// summed returns the sums of numbers of all processes.
func summed(w world, own []int) ([]int, error) {
	mine, all := make([]byte, 8*len(own)), make([]byte, 8*len(own)*w.Size())
	for k, x := range own {
		binary.LittleEndian.PutUint64(mine[8*k:], uint64(x))
	}
	if err := w.AllGather(context.Background(), mine, slices.Repeat([]int{len(mine)}, w.Size()), all); err != nil {
		return nil, err
	}
	out := make([]int, len(own))
	for k := range len(own) * w.Size() {
		out[k%len(own)] += int(binary.LittleEndian.Uint64(all[8*k:]))
	}
	return out, nil
}

// writeRankLabels writes -out: each process its own file, or rank 0 the labels of all.
func (o *fitOptions) writeRankLabels(
	w world, in *input, c *largemvc.Clustering, classes *score.Classes, unfinished bool,
) error {
	if o.out == "" {
		return nil
	}
	own := packed(o.marked(c), c)
	lo, hi, err := comm.Share(in.samples, w.Rank(), w.Size())
	if err != nil {
		return err
	}
	if strings.Contains(o.out, "%d") {
		columns := unpacked(own, c)
		columns[0].Data = numbers(lo, hi)
		columns = append(columns, classColumns(c.Classes, o.classNames)...)
		part := &output{path: numbered(o.out, w.Rank()), unfinished: unfinished}
		part.partial = &output{path: part.path + partialEnding}
		return part.writeTable(nil, columns...)
	}
	all, err := gathered(w, in.samples, 3, own)
	if err != nil || w.Rank() > 0 {
		return err
	}
	columns := append(unpacked(all, c), classColumns(classes, o.classNames)...)
	return o.output("out").writeTable(nil, columns...)
}

// gathered returns on rank 0 the numbers of all samples, width for each. Each process gives the numbers of its samples.
func gathered(w world, samples, width int, own []float64) (all []float64, err error) {
	for r := range w.Size() {
		from, to, err := comm.Share(samples, r, w.Size())
		if err != nil {
			return nil, err
		}
		raw := make([]byte, 8*width*(to-from))
		if r == w.Rank() {
			if _, err := binary.Encode(raw, binary.LittleEndian, own); err != nil {
				return nil, err
			}
		}
		if err := w.Broadcast(context.Background(), r, raw); err != nil {
			return nil, err
		}
		part := make([]float64, width*(to-from))
		if _, err := binary.Decode(raw, binary.LittleEndian, part); err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// wholeLabels returns on rank 0 the labels of all samples where there are classes to compare them with, else nil.
func wholeLabels(w world, in *input, c *largemvc.Clustering) ([]int, error) {
	if in.labels == nil {
		return nil, nil
	}
	own := make([]float64, len(c.Labels))
	for i, l := range c.Labels {
		own[i] = float64(l)
	}
	all, err := gathered(w, in.samples, 1, own)
	out := make([]int, len(all))
	for i, l := range all {
		out[i] = int(l)
	}
	return out, err
}

// wholeClasses returns on rank 0 the classes of the samples of all processes; nil without known labels.
func wholeClasses(w world, in *input, c *score.Classes) (*score.Classes, error) {
	if c == nil {
		return nil, nil
	}
	own := make([]float64, 0, 2*len(c.Labels))
	for i, l := range c.Labels {
		own = append(own, float64(l), 0)
		if c.Confidence != nil {
			own[2*i+1] = c.Confidence[i]
		}
	}
	all, err := gathered(w, in.samples, 2, own)
	out := *c
	out.Labels, out.Confidence = nil, nil
	for i := 0; i < len(all); i += 2 {
		if out.Labels = append(out.Labels, int(all[i])); c.Confidence != nil {
			out.Confidence = append(out.Confidence, all[i+1])
		}
	}
	return &out, err
}

// packed are labels with confidence and remoteness, three numbers a sample. What the result lacks is 0.
func packed(labels []int, c *largemvc.Clustering) []float64 {
	out := make([]float64, 3*len(labels))
	for i, l := range labels {
		out[3*i] = float64(l)
		if c.Confidence != nil {
			out[3*i+1] = c.Confidence[i]
		}
		if c.Remoteness != nil {
			out[3*i+2] = c.Remoteness[i]
		}
	}
	return out
}

// unpacked returns the columns of packed numbers, without those that a result lacks.
func unpacked(x []float64, c *largemvc.Clustering) []dataset.Column {
	labels, sure, far := make([]int, len(x)/3), make([]float64, len(x)/3), make([]float64, len(x)/3)
	for i := range labels {
		labels[i], sure[i], far[i] = int(x[3*i]), x[3*i+1], x[3*i+2]
	}
	if c.Confidence == nil {
		sure = nil
	}
	if c.Remoteness == nil {
		far = nil
	}
	return labelColumns(nil, labels, figure{"confidence", sure}, figure{"remoteness", far})
}

// numbers are those from lo to hi−1.
func numbers(lo, hi int) []int {
	out := make([]int, hi-lo)
	for i := range out {
		out[i] = lo + i
	}
	return out
}
