package largemvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/view"
)

// fit trains on the samples of a run in the arithmetic of its configuration.
func (r *run) fit(ctx context.Context) (*Clustering, error) {
	on, err := r.openDevice()
	if err != nil {
		return nil, err
	}
	defer on.close()
	there := *r
	there.device = on.session
	var out *Clustering
	if r.config.Float64 {
		out, err = fitIn[float64](ctx, &there, &on)
	} else {
		out, err = fitIn[float32](ctx, &there, &on)
	}
	if out != nil {
		out.Ran = on.ran()
	}
	return out, err
}

// startSaver makes the writer of checkpoints, and the keeper of graphs for them.
func (r *run) startSaver(ctx context.Context) (*saver, error) {
	out, err := newSaver(ctx, r.processes, r.views, r.config, r.state)
	if err == nil && r.config.FitSamples > 0 {
		err = out.keepDraw(r.state)
	}
	if err == nil {
		r.keeper = out.keeper(r.state)
	}
	return out, err
}

// fitIn prepares the views, trains every restart and makes a result of the best.
func fitIn[T kernel.Float](ctx context.Context, r *run, on *onDevice) (*Clustering, error) {
	c, m := r.config, r.meter
	saver, err := r.startSaver(ctx)
	if err != nil {
		return nil, m.Stopped(err)
	}
	odd, err := r.suspicions(ctx) // before the views are overwritten
	if err != nil {
		return nil, m.Stopped(err)
	}
	in, err := prepareInputs[T](ctx, r)
	if err != nil {
		return nil, m.Stopped(on.explained(err, c))
	}
	if err := saver.setInputs(len(in.List), in.Order, r.state); err != nil {
		return nil, err
	}
	defer saver.flushAtEnd(ctx)()
	prepareFor := time.Since(r.began)
	best, err := trainRuns(ctx, in, c, saver, r.state)
	if err != nil {
		saver.flush() // after an error in an epoch, too, the epochs before it are not lost
		return nil, m.Stopped(on.explained(err, c))
	}
	ended := m.Stopped(on.explained(best.Ended, c))
	if errors.Is(ended, ErrStop) { // in a run after the first
		ended = nil
	}
	_ = m.Enter(meter.Clusters, best.Run.Restart) // its error is seen below: what was trained is not thrown away
	out, err := finish(context.WithoutCancel(ctx), in, best.Network, best.Run)
	if err != nil {
		return nil, joined(ended, on.explained(err, c))
	}
	out.suspicions = odd
	out.Timings.Prepare, out.Timings.Total = prepareFor, time.Since(r.began)
	if f := m.Failure(); !errors.Is(f, ErrStop) {
		ended = joined(ended, f)
	}
	return out, joined(ended, out.setNotes(r.group, r.views))
}

// suspicions returns notes on views that mislead.
func (r *run) suspicions(ctx context.Context) ([]string, error) {
	scales, c := "", r.config
	if p := c.Preprocess; p == PreprocessSample || p == PreprocessUnit || p == None {
		scales = p.String()
	}
	odd, err := view.Suspicions(ctx, r.group, r.views, scales, c.Seed, c.Machine.Workers)
	return odd, withName(err)
}

// result completes what a fit returns. Where a row could not be read there is no result, for it may come of rows that were not
// read. An error of the context gets the context's cause.
func (r *run) result(ctx context.Context, out *Clustering, err error) (*Clustering, error) {
	if r.reads != nil {
		if failed := r.reads.Err(); failed != nil {
			out, err = nil, withName(failed)
		}
	}
	if out != nil {
		out.Ran.Storage = r.storage.Why
		if r.own != nil {
			out.keep(*r.own)
		}
	}
	if err != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return out, err
}

// keep drops the samples outside a window.
func (c *Clustering) keep(w window) {
	c.Labels, c.H = slices.Clone(c.Labels[w.lo:w.hi]), c.H.(*matrix).window(w.lo, w.hi)
	for v, t := range c.Trust {
		c.Trust[v] = slices.Clone(t[w.lo:w.hi])
	}
	c.StartLabels, c.Confidence = part(c.StartLabels, w), part(c.Confidence, w)
	c.Remoteness, c.Outlier = part(c.Remoteness, w), part(c.Outlier, w)
	if k := c.Classes; k != nil {
		k.Labels, k.Confidence = part(k.Labels, w), part(k.Confidence, w)
	}
}

// part returns a copy of a window of values; nil of nil.
func part[T any](x []T, w window) []T {
	if x == nil {
		return nil
	}
	return slices.Clone(x[w.lo:w.hi])
}
