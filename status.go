package largemvc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/view"
)

var statusOption = option{"status", 0, []string{"epoch limit", "converged", "stopped", "cancelled", "diverged"}}

// Status is the reason why a training ended.
type Status int

const (
	// EpochLimit: all epochs are done.
	EpochLimit Status = iota
	// Converged: the loss did not fall by more than Tolerance for Patience epochs.
	Converged
	// Stopped: the progress callback ended the training.
	Stopped
	// Cancelled: the context was cancelled, or its deadline passed.
	Cancelled
	// Diverged: the loss became NaN, infinite or very large. The result holds the state before that.
	Diverged
)

// String returns epoch limit, converged, stopped, cancelled or diverged.
func (s Status) String() string { return statusOption.name(int(s)) }

// MarshalText returns the name.
func (s Status) MarshalText() ([]byte, error) { return marshalOption(&statusOption, s) }

// UnmarshalText reads a name.
func (s *Status) UnmarshalText(text []byte) error { return unmarshalOption(&statusOption, s, text) }

// Early reports whether the training ended before its last epoch.
func (s Status) Early() bool { return s != EpochLimit }

// Progress is the argument of Config.Progress. Fit reports after every epoch, at the beginning of every phase, and in long
// phases up to ten times a second.
type Progress struct {
	// Phase is the current part of the fit: checks (with the search for outliers), draws (with Config.FitSamples: samples are
	// drawn and compared), preparation (views are standardised and reduced), regression (of the held-out information),
	// neighbours, smoothing, first anchors, training, clusters, structure (judgement and confidence).
	Phase string
	// Done of Total units of work of the phase are done: in the training, Epoch and Epochs.
	Done, Total int
	// Left is the estimated time until Fit returns, all phases and restarts included; 0: not known yet.
	Left time.Duration

	Restart  int           // current restart, from 0
	Restarts int           // number of restarts
	Epoch    int           // epochs done; 0 outside the training
	Epochs   int           // number of epochs
	Loss     float64       // loss before the step of this epoch, extra loss included; 0 outside the training
	NullLoss float64       // Predictor.NullLoss; 0 outside the training
	ViewLoss []float64     // reconstruction loss of every input; nil outside the training. Do not change or keep it
	Elapsed  time.Duration // time since the phase began
}

// String returns the epoch, and the loss beyond NullLoss.
func (p Progress) String() string {
	text := fmt.Sprintf("epoch %d/%d: loss %.5g", p.Epoch, p.Epochs, p.Loss-p.NullLoss)
	if p.Restarts > 1 {
		text = fmt.Sprintf("restart %d/%d, %s", p.Restart+1, p.Restarts, text)
	}
	return text
}

// Training reports whether Phase is the training.
func (p Progress) Training() bool { return p.Phase == meter.Training.String() }

// Timings has the durations of the parts of a fit. After Resume they count from Resume on.
type Timings struct {
	Prepare  time.Duration // checks and preprocessing
	Start    time.Duration // initial clustering and first anchors of the restart that was kept
	Train    time.Duration // all epochs of this restart and its last evaluation
	Epoch    time.Duration // median epoch of this restart
	Clusters time.Duration // k-means on H and the rest of the result
	// Structure is the time of the judgement of the clusters.
	Structure time.Duration
	Total     time.Duration // all of Fit, with the other restarts
}

// String returns the total and its parts.
func (t Timings) String() string {
	short := func(d time.Duration) time.Duration { return d.Round(max(time.Microsecond, d/1000)) }
	return fmt.Sprintf("%v (preparation %v, start %v, training %v at %v an epoch, clusters %v, structure %v)", short(t.Total),
		short(t.Prepare), short(t.Start), short(t.Train), short(t.Epoch), short(t.Clusters), short(t.Structure))
}

// DivergedError reports that the loss or a parameter became NaN, infinite or very large. The clustering beside it holds the
// last good state, and its Loss ends with the last good loss. There is no clustering if the first epoch failed before its step.
type DivergedError struct {
	// Epoch is the epoch that found the bad loss, from 1. It is the epoch after the bad step, or the epoch of the step if no
	// other follows.
	Epoch int
	Loss  float64 // not finite, or above 10,000 times the first loss and NullLoss in size; NaN if a sum was not finite
	Err   error   // error inside the network, or nil
}

// Error returns the epoch and the loss, or the error inside the network.
func (e *DivergedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("largemvc: the training diverged in epoch %d: %v", e.Epoch, e.Err)
	}
	return fmt.Sprintf("largemvc: the training diverged in epoch %d: the loss is %v", e.Epoch, e.Loss)
}

// Unwrap returns the error inside the network, or nil.
func (e *DivergedError) Unwrap() error { return e.Err }

// FieldError reports a number or an option in Config that Fit refuses. If several are wrong, the error of Fit joins one
// FieldError for each. Labels, modules, Start and a Solver have other errors.
type FieldError struct {
	Field string // path in Config: "Epochs", "Neighborhood.Steps", or "Noise.Rho0" for a field of the Noise module
	Value any    // value of the field
	Want  string // allowed values
}

// Error returns the field, its value and the allowed values.
func (e *FieldError) Error() string {
	return fmt.Sprintf("largemvc: %s is %v, want %s", e.Field, e.Value, e.Want)
}

// InputError reports a fault of the views that you gave: a value that is NaN or infinite, sizes or masks that do not match, a
// sample without a view, a view with nothing to cluster, or, with a Predictor, other views or features than in the training.
// Numbers of Config out of range are FieldErrors. A RowSource that cannot be read is neither. Fit of several processes returns an
// InputError in the process that has the faulty rows.
//
// View is the number of the view, from 0, and −1 if the fault is not of one view. Row is the sample and Column the feature, from
// 0; each is −1 if there is none. Err says what is wrong.
type InputError = view.InputError

// PanicError reports a panic in a goroutine of this library, or in code of yours that it calls: a custom module, a RowSource, the
// At of a matrix. Value is the argument of panic and Stack the stack of its goroutine. Error returns one line, and the verb %+v
// adds the stack. Unwrap returns Value if it is an error.
type PanicError = parallel.PanicError

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

// guarded runs f and turns a panic of Gorgonia or of a custom module into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = parallel.Panicked(p)
		}
	}()
	return f()
}

// finite returns an error for a value that is NaN or infinite, with single also for one that is infinite in float32.
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

// finiteField returns a *FieldError for a value that is NaN or infinite, with single also for one that is infinite in float32.
func finiteField(name string, x float64, single bool) error {
	switch {
	case finite("", x, single) == nil:
		return nil
	case finite("", x, false) == nil:
		return &FieldError{name, x, fmt.Sprintf("at most %.2g in size, which float32 holds, or Float64", math.MaxFloat32)}
	}
	return &FieldError{name, x, "a finite number"}
}
