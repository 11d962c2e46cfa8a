// Package train runs the epochs of a network: steps, early stop, divergence, restarts and checkpoints. It does not depend on
// samples or graphs: its tests train a parabola.
package train

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/checkpoint"
)

// Loss is the loss of a network at its present parameters.
type Loss struct {
	Total float64
	Views []float64 // the reconstruction loss of each view
}

// Network is a loss with learnable parameters. It reports a number inside it that is not finite as a NotFiniteError.
type Network interface {
	Forward(ctx context.Context, epoch int) (Loss, error) // the loss and its gradient, in an epoch counted from 1
	Evaluate(ctx context.Context) (Loss, error)           // the loss, and the state for the result
	Step() error                                          // of the optimizer, with the projection to the parameters' ranges
	Values(dst [][]float64) [][]float64                   // the parameters, copied to dst or to new memory for nil
	SetValues([][]float64) error                          // what Values returned
	Names() []string                                      // of the parameters
	Adam() adam.State                                     // of the optimizer
	Agree(stop error) error                               // agreement of all processes on the end of an epoch
	NullLoss() float64                                    // of H = 0, the scale of the loss
	Release()                                             // of the memory that only training needs
	Close() error                                         // ends the training; evaluated results stay
	Lasting() bool                                        // whether the network can be used after Close
}

// Problem makes the networks of a fit.
type Problem[N Network] interface {
	// Begin finds the initial state of a run, unless the run has begun. It returns the run's network with the values and the
	// optimizer of the run.
	Begin(ctx context.Context, r *Run) (N, error)
	// Restore returns the network of a finished run with its values, for evaluation only.
	Restore(r *Run) (N, error)
}

// State is the progress of a fit; its zero value is the beginning.
type State struct {
	Next    int  // the next restart
	Current *Run // its state, nil if it has not begun
	Best    *Run // of the finished runs, nil if there is none
}

// Options are the settings of a training.
type Options struct {
	Epochs    int // steps of a run; negative: none
	Restarts  int // number of runs
	Tolerance float64
	Patience  int // epochs without a loss lower by Tolerance, after which a run ends; Tolerance 0: never
	SaveEvery int
	Save      func(State) error                           // nil: no checkpoints
	Keep      func(State)                                 // gets copies of the states between epochs that Save does not get
	Enter     func(restart int)                           // before the epochs of a run; may be nil
	Progress  func(r *Run, l Loss, d time.Duration) error // after each epoch, d from the first of them; nil: nobody listens
	Stop      error                                       // of Progress, which ends a training in order
}

// Outcome is the best run with its network, evaluated at its end.
type Outcome[N Network] struct {
	Network N
	Run     *Run
	Ended   error // reason for an early end of the last run, beside the Failure of the best
}

// Restarts runs every remaining restart of s, and returns the best run. An error means that there is no result.
func Restarts[N Network](ctx context.Context, p Problem[N], o Options, s State) (*Outcome[N], error) {
	t := &series[N]{problem: p, o: o, best: s.Best}
	var ended error
	over := false
	for k := s.Next; k < o.Restarts && ended == nil && !over; k++ {
		r := &Run{Run: checkpoint.Run{Restart: k}}
		if s.Current != nil && s.Current.Restart == k {
			r = s.Current
		}
		over, ended = t.restart(ctx, r)
	}
	switch {
	case t.best != nil:
	case ended != nil:
		return nil, ended
	case t.failure != nil:
		return nil, t.failure
	default:
		return nil, fmt.Errorf("no restart is left after %d of %d, and none has a result", s.Next, o.Restarts)
	}
	out := &Outcome[N]{Network: t.kept, Run: t.best, Ended: ended}
	if !t.holds {
		var err error
		if out.Network, err = t.restore(context.WithoutCancel(ctx)); err != nil {
			return nil, join(ended, err)
		}
		out.Run.NullLoss = out.Network.NullLoss() // a file of the run does not have it
	}
	return out, nil
}

// series holds the restarts of a fit.
type series[N Network] struct {
	problem Problem[N]
	o       Options

	best    *Run     // of the finished restarts, nil if there is none
	kept    N        // of the best run
	holds   bool     // whether it is kept
	failure *Failure // of the last run that diverged
}

// restart finishes a run and keeps it if it is the best so far. over reports that the fit was interrupted.
func (s *series[N]) restart(ctx context.Context, r *Run) (over bool, ended error) {
	var none N
	s.kept, s.holds = none, false // releases its memory for this restart
	var net N
	done, trained := r.Status == Diverged && r.Values != nil, false // a checkpoint has its end
	if !done {
		net, trained, ended = s.train(ctx, r)
		if failed := (*Failure)(nil); errors.As(ended, &failed) {
			r.Failure, s.failure, ended = failed, failed, r.halt
		}
		done, over = trained, r.interruption().interrupted()
	}
	before := s.best
	if done && r.better(before) {
		s.best = r
		if trained && net.Lasting() {
			s.kept, s.holds = net, true
		}
	}
	if done || ended == nil || over { // else the last state is on the disk
		ended = join(ended, s.saveRestart(r, before))
	}
	return over, ended
}

// train begins or continues a run and finishes it. ok reports whether the run has a result, which is the returned network. The
// caller returns err beside it.
func (s *series[N]) train(ctx context.Context, r *Run) (_ N, ok bool, err error) {
	var none N
	net, err := s.problem.Begin(ctx, r)
	if err != nil {
		return none, false, err
	}
	defer func() {
		if closing := net.Close(); err == nil {
			err = closing
		}
	}()
	if s.o.Enter != nil {
		s.o.Enter(r.Restart)
	}
	r.NullLoss = net.NullLoss()
	e := &epochs[N]{series: s, net: net, run: r, limit: divergence * r.NullLoss}
	began := time.Now()
	ok, err = e.finish(ctx, e.do(ctx))
	if ok {
		net.Release()
	}
	r.TrainFor += time.Since(began)
	return net, ok, err
}

// restore returns the network at the end of the best run.
func (s *series[N]) restore(ctx context.Context) (N, error) {
	var none N
	net, err := s.problem.Restore(s.best)
	if err != nil {
		return none, err
	}
	_, err = net.Evaluate(ctx)
	net.Release()
	return net, join(err, net.Close())
}

// saveRestart writes the state after the end of a run, whatever ended it. before is the best of the earlier runs. It does not
// replace the state before a run that failed without a result.
func (s *series[N]) saveRestart(r, before *Run) error {
	switch over := !r.interruption().interrupted(); {
	case s.o.Save == nil || r.Values == nil || over && s.best == nil:
		return nil
	case over:
		return s.o.Save(State{Next: r.Restart + 1, Best: s.best})
	}
	return s.o.Save(State{Next: r.Restart, Current: r, Best: before})
}

// join is errors.Join, but returns a single error, or twice the same one, unchanged.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || b.Error() == a.Error():
		return a
	}
	return errors.Join(a, b)
}
