package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
var withMPI = []string{"mpi", "set", "config", "data", "leave-out", "missing-rows", "max-memory", "out", "outliers", "save",
	"json", "quiet", "clusters",
	"anchors", "layers", "variant", "activation", "preset", "preprocess", "plain-read-out", "neighbors",
	"epochs", "lr", "seed", "restarts", "tolerance", "patience", "checkpoint", "checkpoint-every", "overwrite", "resume",
	"workers", "kmeans-starts", "theta0", "rho0", "signs", "one-sided", "lipschitz", "reduction", "detach", "directions",
	"filter-steps", "neighbor-weight", "held-out-weight", "exact-neighbors", "landmarks", "grace", "known"}

// checkMPI refuses what several processes cannot do.
func (o *fitOptions) checkMPI() error {
	if !o.mpi {
		return nil
	}
	for name := range o.given {
		if !slices.Contains(withMPI, name) {
			return usagef("fit: -%s cannot be given with -mpi", name)
		}
	}
	if o.resume == "" && o.config.Clusters == 0 && o.known == "" {
		return usagef("fit: -mpi reads no classes to count: say with -clusters how many clusters there are")
	}
	if o.knownColumn != "" {
		return usagef("fit: -known %s is no file: with -mpi give a table of labels with a column sample", o.knownColumn)
	}
	for _, path := range o.data {
		if path == standard {
			return usagef("fit: -mpi does not read standard input")
		}
		if strings.Count(path, "%d") > 1 {
			return usagef("fit: -data %s has %%d more than once", path)
		}
	}
	if o.out == standard || o.save == standard {
		return usagef("fit: with -mpi give -out and -save a file")
	}
	return nil
}

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
	if err := o.writeRank(w, in, result, ended != nil, stdout); err != nil {
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
	out := progress.New(stderr, "epoch")
	if o.quiet || rank > 0 {
		out = progress.New(io.Discard, "epoch")
	} else {
		fmt.Fprintf(stderr, "%d processes, %v\n", w.Size(), w)
		for _, v := range data.views {
			fmt.Fprintf(stderr, "view      %s: %d × %d from %s, in %s\n", v.name, v.rows, v.cols, v.source,
				count(len(v.parts), "file"))
		}
		if path := o.config.Checkpoint.Path; path != "" {
			fmt.Fprintf(stderr, "the state of the training goes to %s: -resume goes on from it, with any number of processes\n",
				path)
		}
	}
	defer out.End()
	views, err := data.read(ctx, lo, hi, o.config.Machine.Workers, o.missingRows)
	if err = errors.Join(err, data.close()); err != nil {
		return nil, nil, nil, err
	}
	in = &input{views: views, samples: n}
	for _, v := range data.views {
		in.dims, in.names = append(in.dims, v.cols), append(in.names, v.name)
		in.reading.Views = append(in.reading.Views, dataset.ViewReading{
			Name: v.name, Samples: v.rows, Features: v.cols, Source: v.source, Named: v.features != nil,
		})
	}
	if err := o.readKnownOf(ctx, in, lo, hi); err != nil {
		return nil, nil, nil, err
	}
	in.readFor = time.Since(began)
	o.config.Machine.Comm, o.config.Machine.Overwrite = w, true
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
	result, ended = train(ctx, o, in)
	if result == nil {
		return nil, nil, nil, ended
	}
	result.ClassNames = o.classNames
	return result, in, ended, nil
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
	if w.Rank() > 0 {
		return nil
	}
	save := o.output("save")
	if err := save.write(stdout, func(to io.Writer) error { _, err := c.WriteTo(to); return err }, c.Save); err != nil {
		return err
	}
	whole := *c
	whole.Labels, whole.Confidence, whole.Outlier, whole.Classes = nil, nil, nil, classes // not of one process
	o.config.Machine.Comm = nil
	r, err := newSummary(o, in, &whole, in.readFor)
	if err != nil {
		return err
	}
	r.ClusterSizes = c.Sizes // those of the labels are of one process
	return r.print(stdout, o.json)
}

// countMissing sets the share of the view rows that are absent, of those of all processes.
func (in *input) countMissing(w world) error {
	absent, mine, all := 0, make([]byte, 8), make([]byte, 8*w.Size())
	for _, v := range in.views {
		n, _ := v.Dims()
		for i := range n {
			if !v.Has(i) {
				absent++
			}
		}
	}
	binary.LittleEndian.PutUint64(mine, uint64(absent))
	sizes := slices.Repeat([]int{8}, w.Size())
	if err := w.AllGather(context.Background(), mine, sizes, all); err != nil {
		return err
	}
	for r := range sizes {
		in.missing += float64(binary.LittleEndian.Uint64(all[8*r:])) / float64(in.samples*len(in.views))
	}
	return nil
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
		return part.write(nil, nil, func(path string) error { return dataset.WriteCSV(path, columns...) })
	}
	all, err := gathered(w, in.samples, 3, own)
	if err != nil || w.Rank() > 0 {
		return err
	}
	columns := append(unpacked(all, c), classColumns(classes, o.classNames)...)
	return o.output("out").write(nil, func(to io.Writer) error { return dataset.EncodeCSV(to, columns...) },
		func(path string) error { return dataset.WriteCSV(path, columns...) })
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
