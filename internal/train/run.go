package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/checkpoint"
)

// Status is the reason why a training ended.
type Status int

const (
	EpochLimit Status = iota // all epochs were done
	Converged                // the loss did not fall by more than the tolerance for long enough
	Stopped                  // the progress callback ended it
	Cancelled                // the context ended
	Diverged                 // the loss became NaN, infinite or very large
)

// StatusNames are the names of the statuses.
var StatusNames = [...]string{"epoch limit", "converged", "stopped", "cancelled", "diverged"}

// String returns the name of the status.
func (s Status) String() string { return StatusNames[s] }

// interrupted reports whether a training with this status could continue.
func (s Status) interrupted() bool { return s == Stopped || s == Cancelled }

// Failure describes how a training diverged.
type Failure struct {
	Epoch int     // counted from 1
	Loss  float64 // NaN, an infinity or very large
	Err   error   // error inside the network; nil: only the loss diverged
}

// Error returns the epoch with what happened in it.
func (e *Failure) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the training diverged in epoch %d: %v", e.Epoch, e.Err)
	}
	return fmt.Sprintf("the training diverged in epoch %d: the loss is %v", e.Epoch, e.Loss)
}

// Unwrap returns what happened inside the network, or nil.
func (e *Failure) Unwrap() error { return e.Err }

// NotFiniteError is a network's error for a number inside it that is not finite.
type NotFiniteError struct{ Err error }

// Error returns the text of Err.
func (e *NotFiniteError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *NotFiniteError) Unwrap() error { return e.Err }

// Run is one training with all data that are needed to continue it with the same bits, or to restore its result.
type Run struct {
	checkpoint.Run
	Status  Status
	Failure *Failure // set if Status is Diverged

	// A training may be interrupted at the step that diverged. halted is then its status before, and halt the error to return
	// beside the failure. The fit ends, and no other restart begins.
	halted Status
	halt   error

	NullLoss float64 // Network.NullLoss

	StartFor, TrainFor time.Duration
	Durations          []time.Duration // of the epochs
}

// EpochTime returns the median time of the epochs, 0 without one.
func (r *Run) EpochTime() time.Duration {
	if len(r.Durations) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(r.Durations))[len(r.Durations)/2]
}

// Restored returns the run in a file, nil for none.
func Restored(saved *checkpoint.Run) (*Run, error) {
	if saved == nil {
		return nil, nil
	}
	r := &Run{Run: *saved, Status: -1}
	for s, name := range StatusNames {
		if name == saved.Status {
			r.Status = Status(s)
		}
	}
	if r.Status < 0 {
		return nil, fmt.Errorf("status %q, want one of %q", saved.Status, StatusNames)
	}
	if e := saved.Failure; e != nil {
		r.Failure = &Failure{Epoch: e.Epoch, Loss: e.Loss}
		if e.Reason != "" {
			r.Failure.Err = errors.New(e.Reason)
		}
	}
	return r, nil
}

// Saved returns the form of a run for a file, nil for none.
func (r *Run) Saved() *checkpoint.Run {
	if r == nil {
		return nil
	}
	out := r.Run
	out.Status = r.Status.String()
	if r.Status == Diverged { // it takes no further step, and its moments may come from a gradient that is not finite
		out.Adam.Steps, out.Adam.First, out.Adam.Second = 0, nil, nil
	}
	if e := r.Failure; e != nil {
		out.Failure = &checkpoint.Failure{Epoch: e.Epoch, Loss: e.Loss}
		if e.Err != nil {
			out.Failure.Reason = e.Err.Error()
		}
	}
	return &out
}

// StopsEarly reports whether an early stop would have ended the run by now.
func (r *Run) StopsEarly(tolerance float64, limit int) bool {
	p := patience{tolerance: tolerance, limit: limit}
	return slices.ContainsFunc(r.Loss[:min(r.Epochs, len(r.Loss))], p.over)
}

// interruption is the status of a run before its last step was found to have diverged.
func (r *Run) interruption() Status {
	if r.halted.interrupted() {
		return r.halted
	}
	return r.Status
}

// better reports whether the run replaces another: finished runs precede interrupted ones, and these precede diverged ones. Of
// equal ones the lower loss decides.
func (r *Run) better(other *Run) bool {
	if other == nil {
		return true
	}
	if a, b := r.rank(), other.rank(); a != b {
		return a < b
	}
	return last(r.Loss) < last(other.Loss)
}

// rank is 0 for a finished run, 1 for an interrupted one and 2 for a diverged one.
func (r *Run) rank() int {
	switch loss := last(r.Loss); {
	case r.Status == Diverged, math.IsNaN(loss), math.IsInf(loss, 0): // of no step, for one, and not to be compared
		return 2
	case r.Status.interrupted():
		return 1
	}
	return 0
}

// ended classifies an error of the network and sets the status. Cancelled and diverged runs end the training without an error.
func (r *Run) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		r.Status = Cancelled
		return ctx.Err()
	}
	if inside := notFinite(err); inside != nil {
		r.Status = Diverged
		return &Failure{Epoch: r.Epochs + 1, Loss: math.NaN(), Err: inside}
	}
	return err
}

// notFinite returns the error inside a NotFiniteError, nil for other errors.
func notFinite(err error) error {
	if e := (*NotFiniteError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return nil
}

func last(x []float64) float64 { return x[len(x)-1] }
