package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/op"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/unfold"
	"github.com/largemvc/largemvc/internal/view"
)

// trainRuns trains every restart that is left and returns the best run with its network. Its error is what Fit returns
// beside the result, if there is one.
func trainRuns[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, saver *saver, from *resumed,
) (*lossNetwork[T], *runState, error) {
	if from == nil {
		from = &resumed{}
	}
	if err := from.relabel(in.meter, c, func(restart int) ([]int, error) {
		begin, err := beginAt(ctx, in, c, restart)
		if err != nil {
			return nil, err
		}
		return begin.Labels, nil
	}); err != nil {
		return nil, nil, err
	}
	s := &series[T]{in: in, config: c, saver: saver, best: from.best}
	var ended error // what ended the last run before its end
	over := false
	for k := from.next; k < c.Restarts && ended == nil && !over; k++ {
		r := &runState{Run: checkpoint.Run{Restart: k}}
		if from.current != nil && from.current.Restart == k {
			r = from.current
		}
		over, ended = s.restart(ctx, r)
	}
	best := s.best
	switch {
	case best == nil && ended == nil:
		return nil, nil, s.failure
	case best == nil:
		return nil, nil, ended
	case best.failure != nil:
		ended = joined(best.failure, ended)
	}
	if s.kept == nil {
		var err error
		if s.kept, err = restore(context.WithoutCancel(ctx), in, c, best); err != nil {
			return nil, nil, joined(ended, err)
		}
	}
	return s.kept, best, ended
}

// series are the restarts of a fit.
type series[T kernel.Float] struct {
	in     *prepared[T]
	config *Config
	saver  *saver

	best    *runState       // of the restarts that are over, nil if there is none
	kept    *lossNetwork[T] // of the best run, if that is the last one
	failure *DivergedError  // of the last run that diverged
}

// restart does what is left of a run and keeps the run if it is the best so far. over says that the fit was interrupted.
func (s *series[T]) restart(ctx context.Context, r *runState) (over bool, ended error) {
	s.kept = nil // Its memory is free for this restart.
	var net *lossNetwork[T]
	done := r.status == Diverged && r.Values != nil // a checkpoint has its end
	if !done {
		var save func() error
		if s.saver != nil {
			save = func() error { return s.saver.duringRun(r, s.best) }
		}
		net, ended = trainRun(ctx, s.in, s.config, r, save)
		var failed *DivergedError
		if errors.As(ended, &failed) {
			r.failure, s.failure, ended = failed, failed, r.halt
		}
		done, over = net != nil, r.interruption().interrupted()
	}
	before := s.best
	if done && r.better(before) {
		s.best = r
		if net != nil && !net.onDevice { // New samples are labelled on the CPU, and so are these.
			s.kept = net
		}
	}
	if done || ended == nil || over { // else the last that is known of the run is on the disk
		ended = joined(ended, s.saver.afterRestart(r, before, s.best))
	}
	return over, ended
}

// divergence is the multiple of the loss of H = 0, or of the first loss, from which a loss counts as diverged.
const divergence = 1e4

// beginAt finds the anchors with which a restart begins.
func beginAt[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, restart int) (*cluster.Point, error) {
	start := startOf(c, in.data.group, in, c.Seed+uint64(restart))
	start.Device, start.Labels = in.device.Rows(), view.Along(in.order, start.Labels)
	begin, err := cluster.FirstAnchors(ctx, in.x, in.startRows, in.sources, start)
	return begin, withName(err)
}

// trainRun begins or continues a run and takes it to its end. It returns the network there, nil if the run has no result, and
// what Fit is to return beside it. save writes a checkpoint of the run; nil: there are none.
func trainRun[T kernel.Float](
	ctx context.Context, in *prepared[T], c *Config, r *runState, save func() error,
) (_ *lossNetwork[T], err error) {
	began := time.Now()
	fresh := r.Values == nil
	if r.Begin == nil {
		if err := in.meter.enter(phaseAnchors, r.Restart); err != nil {
			return nil, err
		}
		if r.Begin, err = beginAt(ctx, in, c, r.Restart); err != nil {
			return nil, err
		}
		if shrink, ok := c.Noise.(*RowShrink); ok && shrink.Scale != nil {
			r.Begin.Scale = slices.Clone(shrink.Scale)
		}
	}
	var encoder []learned
	if _, ok := c.Represent.(Encoder); ok && fresh {
		var err error
		if encoder, err = encodeStart(ctx, in, c, r); err != nil {
			return nil, err
		}
	}
	collect(in.sources)
	r.startFor = time.Since(began)
	t, err := newNetwork(in, c, r, c.Epochs != None)
	if err != nil {
		return nil, err
	}
	defer t.machine.Close()
	if t.onDevice {
		defer func() {
			if closing := t.fused.Engine().Close(); err == nil {
				err = closing
			}
		}()
	}
	if encoder != nil {
		if err := learn(defaultPrefix, 0, t.model.Represent.Learnables(), encoder); err != nil {
			return nil, withName(err)
		}
	}
	if !fresh {
		r.Loss, r.ViewLoss = r.Loss[:r.Epochs], r.ViewLoss[:r.Epochs]
		if err := errors.Join(t.checkNames(r), t.setValues(r.Values), t.adam.SetState(r.Adam)); err != nil {
			return nil, err
		}
	}
	began = time.Now()
	if err := in.meter.enter(phaseTraining, r.Restart); err != nil {
		return nil, err
	}
	done, err := t.last(ctx, r, t.epochs(ctx, r, save))
	if done {
		t.rest()
		collect(in.sources)
	}
	r.trainFor += time.Since(began)
	if !done {
		return nil, err
	}
	return t, err
}

// restore returns the network at the end of a run that is over.
func restore[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, r *runState) (*lossNetwork[T], error) {
	t, err := newNetwork(in, c, r, false)
	if err != nil {
		return nil, err
	}
	defer t.machine.Close()
	if err := errors.Join(t.checkNames(r), t.setValues(r.Values)); err != nil {
		return nil, err
	}
	err = t.evaluate(ctx, &runState{})
	t.rest()
	return t, err
}

// epochs runs the epochs that are left. It returns what the caller of Fit is to know of the end.
func (t *lossNetwork[T]) epochs(ctx context.Context, r *runState, save func() error) error {
	c := t.config
	learn := gorgonia.NodesToValueGrads(t.model.Learnables())
	limit := divergence * t.lossOfNothing()
	r.status = EpochLimit
	patience := patience{tolerance: c.EarlyStop.Tolerance, limit: c.EarlyStop.Patience}
	for _, loss := range r.Loss {
		if patience.over(loss) {
			r.status = Converged
		}
	}
	began := time.Now()
	for r.Epochs < c.Epochs && r.status == EpochLimit {
		epochBegan := time.Now()
		if err := t.forward(ctx, r); err != nil {
			return r.ended(ctx, err)
		}
		loss := r.Loss[len(r.Loss)-1]
		if !usable(loss, r.Loss[0], limit) {
			r.status = Diverged
			return &DivergedError{Epoch: r.Epochs + 1, Loss: loss}
		}
		r.Good, r.GoodAt = t.values(r.Good), r.Epochs
		if err := t.adam.Step(learn); err != nil {
			return err
		}
		if err := t.model.Project(); err != nil {
			return err
		}
		if name := t.notFinite(); name != "" {
			r.status = Diverged
			return &DivergedError{Epoch: r.Epochs + 1, Loss: loss, Err: fmt.Errorf("%s is not finite after the step", name)}
		}
		t.machine.Reset()
		r.Epochs++
		r.durations = append(r.durations, time.Since(epochBegan))
		if patience.over(loss) {
			r.status = Converged
		}
		var stop error
		if c.Progress != nil {
			stop = c.Progress(Epoch{
				Phase: phaseTraining.String(), Done: r.Epochs, Total: c.Epochs, Left: t.in.meter.epochDone(r.Epochs, c),
				Restart: r.Restart, Restarts: c.Restarts, Epoch: r.Epochs, Epochs: c.Epochs,
				Loss: loss, ViewLoss: r.ViewLoss[len(r.ViewLoss)-1], Elapsed: time.Since(began),
			})
		}
		if stop = t.agreed(stop); stop != nil {
			if r.status = Stopped; errors.Is(stop, ErrStop) {
				return nil
			}
			return r.ended(ctx, stop)
		}
		if save != nil && r.status == EpochLimit && r.Epochs%c.Checkpoint.Every == 0 && r.Epochs < c.Epochs {
			t.snapshot(r)
			if err := save(); err != nil {
				r.status = Stopped
				return err
			}
		}
	}
	return nil
}

// patience is the early stop.
type patience struct {
	tolerance float64
	limit     int
	best      float64
	waited    int
	begun     bool
}

// over takes the next loss and says whether the training has made no progress for long enough.
func (p *patience) over(loss float64) bool {
	if !p.begun || loss < p.best-p.tolerance*math.Abs(p.best) {
		p.best, p.waited, p.begun = loss, 0, true
		return false
	}
	p.waited++
	return p.tolerance > 0 && p.waited >= p.limit
}

// last brings the network to its final parameters and evaluates it there. after is what ended the epochs, if anything
// did; it is returned unless something worse happens. done says whether the run has a result.
func (t *lossNetwork[T]) last(ctx context.Context, r *runState, after error) (done bool, err error) {
	switch {
	case r.status == Diverged && r.Good != nil:
		if err := t.goBack(r); err != nil {
			return false, err
		}
	case r.status == Diverged, r.status == EpochLimit && after != nil:
		return false, after
	case r.status == Cancelled && r.Epochs == 0:
		return false, after
	}
	t.snapshot(r)
	after, err = t.assess(ctx, r, after)
	if failed := t.failedStep(r, err); failed != nil {
		if r.status.interrupted() {
			r.halted, r.halt = r.status, after
		}
		if r.status, after = Diverged, failed; r.Good == nil {
			return false, failed
		}
		if err := t.goBack(r); err != nil {
			return false, err
		}
		t.snapshot(r)
		after, err = t.assess(ctx, r, after)
	}
	if err != nil {
		return false, r.ended(ctx, err)
	}
	return true, after
}

// goBack gives a run that diverged the last good state. The losses end with the last good one, which is that of this state.
func (t *lossNetwork[T]) goBack(r *runState) error {
	r.Epochs, r.Loss, r.ViewLoss = r.GoodAt, r.Loss[:r.GoodAt], r.ViewLoss[:r.GoodAt]
	return t.setValues(r.Good)
}

// failedStep says how the last step of a run has diverged, by the evaluation after it and its error; nil: it has not. No other
// epoch follows that would see it.
func (t *lossNetwork[T]) failedStep(r *runState, err error) *DivergedError {
	if r.status == Diverged || r.Epochs == 0 {
		return nil
	}
	if err != nil {
		if inside := divergedInside(err); inside != nil {
			return &DivergedError{Epoch: r.Epochs, Loss: math.NaN(), Err: inside}
		}
		return nil
	}
	if loss := last(r.Loss); !usable(loss, r.Loss[0], divergence*t.lossOfNothing()) {
		return &DivergedError{Epoch: r.Epochs, Loss: loss}
	}
	return nil
}

// usable says whether a loss has not diverged, in a training with this first loss. limit is that of H = 0, times divergence.
func usable(loss, first, limit float64) bool {
	return math.Abs(loss) <= max(limit, divergence*math.Abs(first)) // not NaN
}

// assess evaluates the network at the end of a run, to the end though the context be cancelled where there is something to
// lose, and returns what is to be said of the end then.
func (t *lossNetwork[T]) assess(ctx context.Context, r *runState, after error) (of, err error) {
	err = t.evaluate(ctx, r)
	if err != nil && ctx.Err() != nil && (r.Epochs > 0 || r.halted.interrupted()) {
		if r.status == EpochLimit || r.status == Converged {
			r.status, after = Cancelled, ctx.Err()
		}
		err = t.evaluate(context.WithoutCancel(ctx), r)
	}
	return after, err
}

// median returns the middle of some durations, 0 of none.
func median(x []time.Duration) time.Duration {
	if len(x) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(x))[len(x)/2]
}

// encodeStart replaces the first anchors of a run by those of the codes that an encoder makes at its start, for the same labels
// of the samples. It returns the first values of the learnable nodes, which may be random.
func encodeStart[T kernel.Float](ctx context.Context, in *prepared[T], c *Config, r *runState) ([]learned, error) {
	module := copied(c.Represent)
	encoder, ok := module.(Encoder)
	if !ok {
		return nil, fmt.Errorf("largemvc: %T is not an Encoder", module)
	}
	data := in.data
	e := Env{
		G: gorgonia.NewGraph(), Prefix: defaultPrefix, Layers: c.Layers, Views: data.Views(), Anchors: c.Anchors,
		Samples: data.samples, Dims: data.Dims(), Of: data.of, Workers: c.Machine.Workers, Seed: c.Seed + uint64(r.Restart),
	}
	if data.present != nil {
		e.Present = unfold.PresenceNode(unfold.Site(e), data.present)
	}
	codes := make([]*gorgonia.Node, e.Views)
	var values []learned
	err := guarded(func() error {
		if err := module.Init(e); err != nil {
			return err
		}
		for v, x := range in.x {
			var err error
			if codes[v], err = unfold.Codes(unfold.Site(e), v, x, encoder); err != nil {
				return err
			}
		}
		values = learnedBy(e.Prefix, module.Learnables())
		machine, err := op.NewMachine(e.G)
		if err != nil {
			return err
		}
		defer machine.Close()
		return unfold.Run(machine)
	})
	if err != nil {
		return nil, fmt.Errorf("largemvc: the first codes: %w", err)
	}
	if r.Begin.Labels == nil { // given anchors, which are of the codes
		return values, nil
	}
	x := make([]rows.Matrix[T], e.Views)
	for v := range x {
		if x[v] = in.x[v]; codes[v] == nil {
			continue
		}
		z, err := op.Elements[T](codes[v].Value())
		if err != nil {
			return nil, err
		}
		d := codes[v].Shape()[1]
		for i := range e.Samples {
			if !data.Present(i, v) {
				clear(z[i*d : (i+1)*d])
			}
		}
		x[v] = rows.NewDense(e.Samples, d, d, z)
	}
	o := startOf[T](c, data.group, nil, c.Seed+uint64(r.Restart))
	o.Labels = r.Begin.Labels
	begin, err := cluster.FirstAnchors(ctx, x, nil, in.sources, o)
	if err != nil {
		return nil, withName(err)
	}
	begin.Scale = r.Begin.Scale
	r.Begin = begin
	return values, nil
}
