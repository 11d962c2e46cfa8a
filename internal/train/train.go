// Package train runs the epochs of a network: steps, early stop, divergence, restarts and checkpoints. It knows neither samples
// nor graphs, so that its tests train a parabola.
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

// Network is a loss with learnable parameters. A number inside it that is not finite is a NotFiniteError.
type Network interface {
	Forward(ctx context.Context, epoch int) (Loss, error) // the loss and its gradient, in an epoch counted from 1
	Evaluate(ctx context.Context) (Loss, error)           // the loss alone, and what the result needs
	Step() error                                          // of the optimizer, with the projection to the parameters' ranges
	Values(dst [][]float64) [][]float64                   // the parameters, copied to dst or to new memory for nil
	SetValues([][]float64) error                          // what Values returned
	Names() []string                                      // of the parameters
	Adam() adam.State                                     // of the optimizer
	Agree(stop error) error                               // on the end of an epoch, of all processes
	NullLoss() float64                                    // of H = 0, the scale of the loss
	Release()                                             // of the memory that only training needs
	Close() error                                         // ends the training; what was evaluated stays
	Lasting() bool                                        // whether it is of use after Close
}

// Problem makes the networks of a fit.
type Problem[N Network] interface {
	// Begin finds where a run begins, unless it has begun, and returns its network, at the values and with the optimizer of a run
	// that goes on.
	Begin(ctx context.Context, r *Run) (N, error)
	// Restore returns the network of a run that is over, at its values, for evaluation alone.
	Restore(r *Run) (N, error)
}

// State is where a fit is; its zero value is the beginning.
type State struct {
	Next    int  // the restart to go on with
	Current *Run // its state, nil if it has not begun
	Best    *Run // of the runs that are over, nil if there is none
}

// Options are the settings of a training.
type Options struct {
	Epochs    int // steps of a run; negative: none
	Restarts  int // number of runs
	Tolerance float64
	Patience  int // epochs without a loss that is lower by Tolerance, after which a run ends; Tolerance 0: never
	SaveEvery int
	Save      func(State) error                           // nil: no checkpoints
	Keep      func(State)                                 // gets copies of the states between epochs that Save does not
	Enter     func(restart int)                           // before the epochs of a run; nil: nobody listens
	Progress  func(r *Run, l Loss, d time.Duration) error // after each epoch, d from the first of them; nil: nobody listens
	Stop      error                                       // of Progress, which ends a training in order
}

// Outcome is the best run with its network, evaluated at its end.
type Outcome[N Network] struct {
	Network N
	Run     *Run
	Ended   error // what ended the last run before its end, beside the Failure of the best
}

// Restarts trains every restart that s leaves, and returns the best run. An error means that there is no result.
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

// series are the restarts of a fit.
type series[N Network] struct {
	problem Problem[N]
	o       Options

	best    *Run     // of the restarts that are over, nil if there is none
	kept    N        // of the best run
	holds   bool     // whether it is kept
	failure *Failure // of the last run that diverged
}

// restart does what is left of a run and keeps the run if it is the best so far. over says that the fit was interrupted.
func (s *series[N]) restart(ctx context.Context, r *Run) (over bool, ended error) {
	var none N
	s.kept, s.holds = none, false // Its memory is free for this restart.
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
	if done || ended == nil || over { // else the last that is known of the run is on the disk
		ended = join(ended, s.saveRestart(r, before))
	}
	return over, ended
}

// train begins or continues a run and takes it to its end. ok says whether the run has a result, which is the network there; err
// is to be returned beside it.
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

// saveRestart writes the state after a run has ended, whatever ended it. before is the best of the runs before it. The state
// before a run that failed without any result stays.
func (s *series[N]) saveRestart(r, before *Run) error {
	switch over := !r.interruption().interrupted(); {
	case s.o.Save == nil || r.Values == nil || over && s.best == nil:
		return nil
	case over:
		return s.o.Save(State{Next: r.Restart + 1, Best: s.best})
	}
	return s.o.Save(State{Next: r.Restart, Current: r, Best: before})
}

// join is errors.Join that leaves a single error, or one that comes twice, as it is.
func join(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil || b.Error() == a.Error():
		return a
	}
	return errors.Join(a, b)
}
