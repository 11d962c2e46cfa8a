package train

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// divergence is the multiple of the loss of H = 0, or of the first loss, from which a loss counts as diverged.
const divergence = 1e4

// epochs runs the epochs of a run.
type epochs[N Network] struct {
	*series[N]
	net   N
	run   *Run
	limit float64 // loss from which a loss counts as diverged, unless the first was larger
}

// do runs the remaining epochs, and returns the reason of an early end for the caller of Fit.
func (e *epochs[N]) do(ctx context.Context) error {
	r := e.run
	r.Status = EpochLimit
	patience := patience{tolerance: e.o.Tolerance, limit: e.o.Patience}
	for _, loss := range r.Loss {
		if patience.over(loss) {
			r.Status = Converged
		}
	}
	if err := e.saveStart(); err != nil {
		return err
	}
	began := time.Now()
	for r.Epochs < e.o.Epochs && r.Status == EpochLimit {
		loss, err := e.step(ctx)
		if err != nil {
			return err
		}
		if patience.over(loss.Total) {
			r.Status = Converged
		}
		var stop error
		if e.o.Progress != nil {
			stop = e.o.Progress(r, loss, time.Since(began))
		}
		if stop = e.net.Agree(stop); stop != nil {
			if r.Status = Stopped; errors.Is(stop, e.o.Stop) {
				return nil
			}
			if ctx.Err() != nil { // the process may end before the following evaluation
				e.keep()
			}
			return r.ended(ctx, stop)
		}
		if err := e.save(); err != nil {
			r.Status = Stopped
			return err
		}
	}
	return nil
}

// step does an epoch and returns the loss before its step.
func (e *epochs[N]) step(ctx context.Context) (Loss, error) {
	r, began := e.run, time.Now()
	loss, err := e.net.Forward(ctx, r.Epochs+1)
	if err != nil {
		return loss, r.ended(ctx, err)
	}
	r.Loss, r.ViewLoss = append(r.Loss, loss.Total), append(r.ViewLoss, loss.Views)
	if !usable(loss.Total, r.Loss[0], e.limit) {
		r.Status = Diverged
		return loss, &Failure{Epoch: r.Epochs + 1, Loss: loss.Total}
	}
	r.Good, r.GoodAt = e.net.Values(r.Good), r.Epochs
	if err := e.net.Step(); err != nil {
		if inside := notFinite(err); inside != nil {
			r.Status = Diverged
			return loss, &Failure{Epoch: r.Epochs + 1, Loss: loss.Total, Err: inside}
		}
		return loss, err
	}
	r.Epochs++
	r.Durations = append(r.Durations, time.Since(began))
	return loss, nil
}

// saveStart writes a checkpoint before the first epoch of a run: the initial clustering can take longer than many epochs.
func (e *epochs[N]) saveStart() error {
	if e.o.Save == nil || e.run.Values != nil || e.o.Epochs <= 0 {
		return nil
	}
	return e.write()
}

// save writes a checkpoint if one is due, and otherwise keeps the state.
func (e *epochs[N]) save() error {
	r := e.run
	if e.o.Save == nil || r.Status != EpochLimit || r.Epochs%e.o.SaveEvery != 0 || r.Epochs >= e.o.Epochs {
		e.keep()
		return nil
	}
	return e.write()
}

// write writes a checkpoint of a running training.
func (e *epochs[N]) write() error {
	e.snapshot()
	return e.o.Save(State{Next: e.run.Restart, Current: e.run, Best: e.best})
}

// keep passes on a copy of the state. Later epochs do not change it, because losses are appended.
func (e *epochs[N]) keep() {
	if e.o.Keep == nil {
		return
	}
	r := *e.run
	r.Values, r.Adam, r.Names = e.net.Values(nil), e.net.Adam(), e.net.Names()
	r.Good = make([][]float64, len(e.run.Good))
	for i, x := range e.run.Good {
		r.Good[i] = slices.Clone(x)
	}
	r.Loss, r.ViewLoss = slices.Clip(r.Loss), slices.Clip(r.ViewLoss)
	e.o.Keep(State{Next: r.Restart, Current: &r, Best: e.best})
}

// snapshot copies what changes in training to the run.
func (e *epochs[N]) snapshot() {
	e.run.Values, e.run.Adam, e.run.Names = e.net.Values(nil), e.net.Adam(), e.net.Names()
}

// patience is the early stop.
type patience struct {
	tolerance float64
	limit     int
	best      float64
	waited    int
	begun     bool
}

// over takes the next loss and reports whether the training has made no progress for long enough.
func (p *patience) over(loss float64) bool {
	if !p.begun || loss < p.best-p.tolerance*math.Abs(p.best) {
		p.best, p.waited, p.begun = loss, 0, true
		return false
	}
	p.waited++
	return p.tolerance > 0 && p.waited >= p.limit
}

// finish sets the network to its final parameters and evaluates it. after is the reason for an early end, or nil; finish returns
// it unless a worse error occurs. done reports whether the run has a result.
func (e *epochs[N]) finish(ctx context.Context, after error) (done bool, err error) {
	r := e.run
	switch {
	case r.Status == Diverged && r.Good != nil:
		if err := e.goBack(); err != nil {
			return false, err
		}
	case r.Status == Diverged, r.Status == EpochLimit && after != nil:
		return false, after
	case r.Status == Cancelled && r.Epochs == 0:
		return false, after
	}
	e.snapshot()
	after, err = e.assess(ctx, after)
	if failed := e.failedStep(err); failed != nil {
		if r.Status.interrupted() {
			r.halted, r.halt = r.Status, after
		}
		if r.Status, after = Diverged, failed; r.Good == nil {
			return false, failed
		}
		if err := e.goBack(); err != nil {
			return false, err
		}
		e.snapshot()
		after, err = e.assess(ctx, after)
	}
	if err != nil {
		return false, r.ended(ctx, err)
	}
	return true, after
}

// goBack restores the last good state of a run that diverged. The last of its losses is the loss of this state.
func (e *epochs[N]) goBack() error {
	r := e.run
	r.Epochs, r.Loss, r.ViewLoss = r.GoodAt, slices.Clone(r.Loss[:r.GoodAt]), slices.Clone(r.ViewLoss[:r.GoodAt])
	return e.net.SetValues(r.Good)
}

// failedStep returns how the last step of a run diverged, from the evaluation after it and its error, or nil. No other epoch
// would detect it.
func (e *epochs[N]) failedStep(err error) *Failure {
	r := e.run
	if r.Status == Diverged || r.Epochs == 0 && err != nil {
		return nil
	}
	if err != nil {
		if inside := notFinite(err); inside != nil {
			return &Failure{Epoch: r.Epochs, Loss: math.NaN(), Err: inside}
		}
		return nil
	}
	if loss := last(r.Loss); !usable(loss, r.Loss[0], e.limit) {
		return &Failure{Epoch: max(1, r.Epochs), Loss: loss}
	}
	return nil
}

// usable reports whether a loss has not diverged, in a training with this first loss. limit is the loss of H = 0, times
// divergence.
func usable(loss, first, limit float64) bool {
	return math.Abs(loss) <= min(max(limit, divergence*math.Abs(first)), math.MaxFloat64) // not NaN
}

// assess evaluates the network at the end of a run, even if ctx is cancelled, unless there is nothing to lose. It returns the
// reason of the end.
func (e *epochs[N]) assess(ctx context.Context, after error) (of, err error) {
	r := e.run
	err = e.evaluate(ctx)
	if err != nil && ctx.Err() != nil && (r.Epochs > 0 || r.halted.interrupted()) {
		if r.Status == EpochLimit || r.Status == Converged {
			r.Status, after = Cancelled, ctx.Err()
		}
		err = e.evaluate(context.WithoutCancel(ctx))
	}
	return after, err
}

// evaluate records the loss at the present parameters.
func (e *epochs[N]) evaluate(ctx context.Context) error {
	loss, err := e.net.Evaluate(ctx)
	if err == nil {
		e.run.Loss, e.run.ViewLoss = append(e.run.Loss, loss.Total), append(e.run.ViewLoss, loss.Views)
	}
	return err
}
