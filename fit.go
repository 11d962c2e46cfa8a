package largemvc

import (
	"context"
	"errors"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
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

// fitIn prepares the views, trains every restart and makes a result of the best.
func fitIn[T kernel.Float](ctx context.Context, r *run, on *onDevice) (*Clustering, error) {
	c, m := r.config, r.meter
	saver, err := newSaver(ctx, r.processes, r.views, c, r.state)
	if err != nil {
		return nil, m.stopped(err)
	}
	in, err := prepareInputs[T](ctx, r)
	if err != nil {
		return nil, m.stopped(on.explained(err, c))
	}
	if err := saver.setInputs(len(in.list), in.order, r.state); err != nil {
		return nil, err
	}
	prepareFor := time.Since(r.began)
	net, best, ended := trainRuns(ctx, in, c, saver, r.state)
	ended = on.explained(ended, c)
	if ended = m.stopped(ended); net == nil {
		return nil, ended
	}
	if errors.Is(ended, ErrStop) { // in a run after the first
		ended = nil
	}
	_ = m.enter(phaseClusters, best.Restart) // its error is seen below: what was trained is not thrown away
	out, err := finish(context.WithoutCancel(ctx), in, net, best)
	if err != nil {
		return nil, joined(ended, on.explained(err, c))
	}
	out.Timings.Prepare, out.Timings.Total = prepareFor, time.Since(r.began)
	if f := m.failure(); !errors.Is(f, ErrStop) {
		ended = joined(ended, f)
	}
	out.Notes, err = r.notesOn(r.views)
	return out, joined(ended, err)
}
