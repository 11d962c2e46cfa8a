package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/progress"
	"github.com/largemvc/largemvc/internal/ranks"
)

// predictWithMPI are the flags of predict that may stand beside -mpi.
var predictWithMPI = []string{"mpi", "model", "data", "labels", "mask", "id", "leave-out", "missing-rows", "from-disk", "out",
	"embedding", "memberships", "trust", "rows", "json", "quiet", "workers"}

// checkMPI refuses what several processes cannot do. They read the rows from disk.
func (o *predictOptions) checkMPI(f *flags) error {
	if !o.mpi {
		return nil
	}
	for name := range f.given() {
		if !slices.Contains(predictWithMPI, name) {
			return usagef("predict: -%s cannot be given with -mpi: leave out one of them", name)
		}
	}
	if o.out == standard || o.trust == standard {
		return usagef("predict: with -mpi give -out and -trust a file")
	}
	o.fromDisk = true
	return o.checkShards("predict", "-mpi")
}

// predictFromDisk labels samples that are read block by block, in this process or with -mpi in several.
func (o *predictOptions) predictFromDisk(
	ctx context.Context, files *predictOutputs, bar *progress.Bar, stdout, stderr io.Writer,
) error {
	predict := func(w world) error {
		if err := o.predictRank(ctx, w, files, bar, stdout, stderr); err != nil {
			return cancelled(ctx, err)
		}
		return w.Close()
	}
	if !o.mpi {
		return predict(oneProcess())
	}
	return inJob(stderr, func() string { return "" }, predict)
}

// solo is the world of one process.
type solo struct{ ranks.Exchanger }

func (solo) String() string { return "" }

func (solo) Close() error { return nil }

// predictRank labels the rows of this process, and writes the labels as they are found. Process 0 prints the summary. Labels are
// kept only where there are classes to compare them with.
func (o *predictOptions) predictRank(
	ctx context.Context, w world, files *predictOutputs, bar *progress.Bar, stdout, stderr io.Writer,
) (err error) {
	if w.Rank() > 0 {
		bar = progress.New(io.Discard, "")
	}
	began := time.Now()
	model, by, err := o.modelOfRows()
	if err != nil {
		return err
	}
	o.progress = readingProgress(bar, began)
	data, err := o.openShards(ctx, !o.mpi)
	if err != nil {
		return err
	}
	in := data.input()
	defer func() { err = in.closing(err) }()
	err = data.prepare(ctx, by, false, o.missingRows)
	parts := o.mpi || o.sharded()
	if in.reading.Notes = append(in.reading.Notes, data.notes...); err == nil && parts {
		err = o.readClassesOf(ctx, in)
	}
	if err != nil {
		return err
	}
	own, err := in.share(w, o.rows)
	if err != nil {
		return err
	}
	if in.views, err = data.onDisk(ctx, own.lo, own.hi, o.missingRows && parts); err != nil {
		return err
	}
	read := time.Now()
	p := &prediction{
		Model: o.model, Samples: in.samples, Views: len(in.views), Dims: in.dims, Clusters: model.Clusters,
		Float: bits(model.Config().Float64), Reading: &in.reading, ClusterSizes: make([]int, model.Clusters),
		ReadSeconds: read.Sub(began).Seconds(),
	}
	err = o.writeFiles(ctx, o.rowFiles(ctx, files, model, in), model, p, ownRows{in, w, own, bar}, stdout)
	bar.End()
	p.PredictSeconds = time.Since(read).Seconds()
	if err != nil || w.Rank() > 0 {
		return err
	}
	p.MissingRate, p.PeakRSS = in.missing, peakMiB()
	if err := p.score(in); err != nil {
		return err
	}
	return p.print(o.free(stdout, stderr), stderr, o.json)
}

// gather gives process 0 the sums and the labels of all processes.
func (p *prediction) gather(w world, in *input) (err error) {
	if err := in.countMissing(w); err != nil {
		return err
	}
	counts, err := summed(w, p.counts[:])
	if err != nil {
		return err
	}
	p.setMedians(counts)
	if p.ClusterSizes, err = summed(w, p.ClusterSizes); err == nil && in.labels != nil {
		p.Labels, err = ranks.ToFirst(w, p.Labels)
	}
	return err
}

// writeFiles labels the samples of all processes and writes the files: a file of each process, or process 0 writes all samples to
// one file. The files take their names when all processes have labelled their samples.
func (o *predictOptions) writeFiles(
	ctx context.Context, files []*rowFile, model *largemvc.Predictor, p *prediction, of ownRows, stdout io.Writer,
) error {
	w := of.world
	var outputs []*output
	var saved, shared []*rowFile // by this process; by process 0, with the samples of all
	for _, f := range files {
		f.head = of.samples
		if o.mpi && isPattern(f.path) {
			f.output, f.head = &output{path: numbered(f.path, w.Rank())}, of.own.hi-of.own.lo
		} else if shared = append(shared, f); w.Rank() > 0 {
			f.head = 0
			continue
		}
		saved, outputs = append(saved, f), append(outputs, f.output)
	}
	return saveAll(stdout, outputs, func(to []io.Writer) error {
		for k, f := range saved {
			f.to = to[k]
		}
		var waiting spools // the lines of this process, until process 0 has the lines of the processes before
		defer func() { waiting.close() }()
		if w.Rank() > 0 {
			var err error
			if waiting, err = newSpools(len(shared)); err != nil {
				return err
			}
			for k, f := range shared {
				f.to = waiting[k]
			}
		}
		if err := errors.Join(o.labelRows(ctx, model, p, of, files), waiting.rewind()); err != nil {
			return err
		}
		for k, f := range shared {
			if err := ranks.WriteFirst(w, waiting.pieces(k), f.to); err != nil {
				return err
			}
		}
		return p.gather(w, of.input)
	})
}
