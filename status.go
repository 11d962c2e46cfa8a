package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/parallel"
)

var statusOption = option{"status", 0, []string{"epoch limit", "converged", "stopped", "cancelled", "diverged"}}

// Status says why a training ended.
type Status int

const (
	// EpochLimit: all epochs were done.
	EpochLimit Status = iota
	// Converged: the loss did not fall by more than Tolerance for Patience epochs.
	Converged
	// Stopped: the progress callback ended the run.
	Stopped
	// Cancelled: the context was cancelled, or its deadline passed.
	Cancelled
	// Diverged: the loss became NaN, infinite or very large, by the last step too. The result holds the state before that.
	Diverged
)

// String returns epoch limit, converged, stopped, cancelled or diverged.
func (s Status) String() string { return statusOption.name(int(s)) }

// MarshalText returns the name.
func (s Status) MarshalText() ([]byte, error) { return marshalOption(&statusOption, s) }

// UnmarshalText reads a name.
func (s *Status) UnmarshalText(text []byte) error { return unmarshalOption(&statusOption, s, text) }

// Early says whether the training ended before its last epoch.
func (s Status) Early() bool { return s != EpochLimit }

// Progress is what Config.Progress gets: after every epoch, when another phase begins, and in one that takes long up to ten
// times a second.
type Progress struct {
	// Phase is the part of the fit: checks, draws (with Config.FitSamples: samples are drawn, and their starts compared),
	// preparation (the views are standardised and cut to their leading directions, or rotated), regression (what the held-out
	// information needs), neighbours, smoothing, first anchors, training, clusters.
	// Training says whether it is the training.
	Phase string
	// Done of Total steps of the phase are done. In the training they are Epoch and Epochs; in the others they are a measure
	// of the work, which may go on in leaps.
	Done, Total int
	// Left is about the time that the fit has still to take, all phases and runs counted; 0 as long as that cannot be said.
	Left time.Duration

	Restart  int // counted from 0
	Restarts int
	Epoch    int // epochs done; 0 outside of the training
	Epochs   int
	Loss     float64       // before this epoch's step, extra loss included; 0 outside of the training
	ViewLoss []float64     // reconstruction loss of every view, nil outside of it; the callback must not change or keep it
	Elapsed  time.Duration // of this phase
}

// String returns the epoch and the loss.
func (p Progress) String() string {
	text := fmt.Sprintf("epoch %d/%d: loss %.5g", p.Epoch, p.Epochs, p.Loss)
	if p.Restarts > 1 {
		text = fmt.Sprintf("run %d/%d, %s", p.Restart+1, p.Restarts, text)
	}
	return text
}

// Training says whether it is the end of an epoch.
func (p Progress) Training() bool { return p.Phase == meter.Training.String() }

// Timings says where the time of a fit went. A resumed one has that since Resume.
type Timings struct {
	Prepare  time.Duration // checks and preprocessing
	Start    time.Duration // first anchors, of the run that was kept
	Train    time.Duration // all epochs of that run and its last evaluation
	Epoch    time.Duration // median epoch of that run
	Clusters time.Duration // k-means on H and what the result needs besides
	Total    time.Duration // all of Fit, other runs included
}

// String returns the total and its parts.
func (t Timings) String() string {
	short := func(d time.Duration) time.Duration { return d.Round(max(time.Microsecond, d/1000)) }
	return fmt.Sprintf("%v (preparation %v, start %v, training %v at %v an epoch, clusters %v)", short(t.Total), short(t.Prepare),
		short(t.Start), short(t.Train), short(t.Epoch), short(t.Clusters))
}

// DivergedError says at which epoch the loss, or a parameter, stopped being usable. The clustering returned beside it
// holds the last good state: its Loss ends with the last good one. There is none if the first epoch failed before its step.
type DivergedError struct {
	// Epoch is counted from 1. A loss that is of no use after the step of an epoch is seen in the next one, and after the step of
	// the last one, or of one at which the training is interrupted, at its end.
	Epoch int
	Loss  float64 // NaN, an infinity, or 10,000 times the first loss; NaN too where a sum inside the network was not finite
	Err   error   // what happened inside the network, or nil
}

func (e *DivergedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("largemvc: the training diverged in epoch %d: %v", e.Epoch, e.Err)
	}
	return fmt.Sprintf("largemvc: the training diverged in epoch %d: the loss is %v", e.Epoch, e.Loss)
}

// Unwrap returns what happened inside the network, or nil.
func (e *DivergedError) Unwrap() error { return e.Err }

// FieldError reports a field of a Config with a value that Fit does not take. Where several fields are wrong, the error of Fit
// joins one for each.
type FieldError struct {
	Field string // the path in a Config: "Epochs" or "Neighborhood.Steps"; "Noise.Rho0" is a field of the Noise module
	Value any
	Want  string // the values that Fit takes
}

// Error says which field is wrong, its value and what Fit takes.
func (e *FieldError) Error() string {
	return fmt.Sprintf("largemvc: %s is %v, want %s", e.Field, e.Value, e.Want)
}

// What a FieldError wants of numbers.
const fromOne, fromZero = "at least 1", "at least 0"

// checkContext refuses a context that is nil.
func checkContext(ctx context.Context) error { return withName(parallel.CheckContext(ctx)) }

// withName puts the library's name before an error of an internal package. The context's own stays as it is.
func withName(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		strings.HasPrefix(err.Error(), "largemvc: ") {
		return err
	}
	return fmt.Errorf("largemvc: %w", err)
}

// prefixed begins the error of an internal package, if there is one, with the name of this one.
func prefixed[X any](x X, err error) (X, error) {
	if err != nil {
		err = fmt.Errorf("largemvc: %w", err)
	}
	return x, err
}

// joined is errors.Join that leaves a single error, or one that comes twice, as it is.
func joined(a, b error) error {
	if a == nil {
		return b
	}
	if b == nil || b.Error() == a.Error() {
		return a
	}
	return errors.Join(a, b)
}

// guarded runs f, which builds a graph, and turns a panic of Gorgonia, or of what a user wrote, into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// finite is the error for a value that is NaN or infinite; single says that the arithmetic is float32, where one that is larger
// than float32 holds is infinite too.
func finite(what string, x float64, single bool) error {
	switch {
	case math.IsNaN(x), math.IsInf(x, 0):
		return fmt.Errorf("largemvc: %s is %v", what, x)
	case single && math.IsInf(float64(float32(x)), 0):
		return fmt.Errorf("largemvc: %s is %v, which float32 cannot hold: want at most %.2g in size, or Float64",
			what, x, math.MaxFloat32)
	}
	return nil
}

// finiteField reports a field that is NaN or infinite; single says that the arithmetic is float32, which must hold the value.
func finiteField(name string, x float64, single bool) error {
	switch {
	case finite("", x, single) == nil:
		return nil
	case finite("", x, false) == nil:
		return &FieldError{name, x, fmt.Sprintf("at most %.2g in size, which float32 holds, or Float64", math.MaxFloat32)}
	}
	return &FieldError{name, x, "a finite number"}
}
