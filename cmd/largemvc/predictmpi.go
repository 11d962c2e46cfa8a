package main

import (
	"context"
	"io"
	"os"
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
	views := func(lo, hi int) ([]largemvc.View, error) { return data.onDisk(ctx, lo, hi, o.missingRows && parts) }
	if in.views, err = views(own.lo, own.hi); err != nil {
		return err
	}
	read := time.Now()
	p := &prediction{
		Model: o.model, Samples: in.samples, Views: len(in.views), Dims: in.dims, Clusters: model.Clusters,
		Float: bits(model.Config().Float64), Reading: &in.reading, ClusterSizes: make([]int, model.Clusters),
		ReadSeconds: read.Sub(began).Seconds(),
	}
	write := func(out *output, rows func(to io.Writer, head int) error) error {
		return o.writeRanks(w, out, stdout, in.samples, own, rows)
	}
	err = o.writeFiles(ctx, files, model, p, ownRows{in, own, views, bar}, write)
	bar.End()
	p.PredictSeconds = time.Since(read).Seconds()
	if err == nil {
		err = p.gather(w, in)
	}
	if err != nil || w.Rank() > 0 {
		return err
	}
	return p.print(o.free(stdout, stderr), stderr, o.json)
}

// gather completes the summary of process 0 by what the other processes found.
func (p *prediction) gather(w world, in *input) (err error) {
	if err := in.countMissing(w); err != nil {
		return err
	}
	if p.ClusterSizes, err = summed(w, p.ClusterSizes); err == nil && in.labels != nil {
		p.Labels, err = ranks.ToFirst(w, p.Labels)
	}
	if err != nil || w.Rank() > 0 {
		return err
	}
	p.MissingRate, p.PeakRSS = in.missing, peakMiB()
	return p.score(in)
}

// writeRanks writes what rows writes of the own samples: to a file of the process, or process 0 writes all n samples to one file.
// head is the number of samples in the file if it begins with these, else 0.
func (o *predictOptions) writeRanks(
	w world, out *output, stdout io.Writer, n int, own rowRange, rows func(to io.Writer, head int) error,
) error {
	switch {
	case out.path == "":
		return rows(io.Discard, 0)
	case o.mpi && isPattern(out.path):
		part := &output{path: numbered(out.path, w.Rank())}
		return part.save(nil, func(to io.Writer) error { return rows(to, own.hi-own.lo) })
	case w.Rank() == 0:
		return out.save(stdout, func(to io.Writer) error {
			if err := rows(to, n); err != nil {
				return err
			}
			return ranks.WriteFirst(w, func() ([]byte, error) { return nil, nil }, to)
		})
	}
	// The lines wait in a file until process 0 has the lines of the processes before.
	spool, err := os.CreateTemp("", "largemvc-labels-*")
	if err != nil {
		return err
	}
	defer spool.Close()
	if err := os.Remove(spool.Name()); err != nil { // a process that is killed leaves nothing
		return err
	}
	if err := rows(spool, 0); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	piece := make([]byte, pieceBytes)
	return ranks.WriteFirst(w, func() ([]byte, error) {
		n, err := io.ReadFull(spool, piece)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil
		}
		return piece[:n], err
	}, nil)
}
