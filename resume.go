package largemvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/largemvc/largemvc/internal/view"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/linalg"
)

// resumed is the state of a fit, as read from a file.
type resumed struct {
	config  *Config
	fit     *checkpoint.Fit
	next    int       // the restart to go on with
	current *runState // its state, nil if it has not begun
	best    *runState // of the runs that are over, nil if there is none
}

// allows says whether a training can be continued with a configuration.
func (s *resumed) allows(c *Config) error {
	if s.fit.ExtraLoss && c.ExtraLoss == nil {
		return errors.New("the training had an ExtraLoss, which must be given again")
	}
	if !s.fit.ExtraLoss && c.ExtraLoss != nil {
		return errors.New("the training had no ExtraLoss")
	}
	if c.Epochs != s.config.Epochs && c.Restarts > 1 {
		return fmt.Errorf("with restarts Epochs cannot change: it was %d and is %d now", s.config.Epochs, c.Epochs)
	}
	if c.Epochs < s.config.Epochs {
		return fmt.Errorf("the number of Epochs can only grow: it was %d and is %d now", s.config.Epochs, c.Epochs)
	}
	was, is := saveConfig(s.config), saveConfig(c)
	for _, x := range []*savedConfig{&was, &is} {
		x.Epochs, x.Workers, x.CheckpointEvery, x.Tolerance, x.Patience = 0, 0, 0, 0, 0
	}
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			return fmt.Errorf("%s was %v and is %v now", a.Type().Field(i).Name, x, y)
		}
	}
	same := slices.EqualFunc(s.config.StartAnchors, c.StartAnchors, func(a, b mat.Matrix) bool { return mat.Equal(a, b) })
	if !same || !slices.Equal(s.config.StartLabels, c.StartLabels) {
		return errors.New("the start cannot change")
	}
	return nil
}

func readResumed(path string) (*resumed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeResumed(f)
}

func decodeResumed(r io.Reader) (*resumed, error) {
	content, err := checkpoint.Open(r)
	if err != nil {
		return nil, err
	}
	c, err := readConfig(content.Config, content.Version)
	if err != nil {
		return nil, err
	}
	if err := content.Read(); err != nil {
		return nil, err
	}
	if err := c.check(content.Samples, nil); err != nil {
		return nil, err
	}
	fit, state, err := content.Decode(
		checkpoint.Network{Anchors: c.Anchors, Restarts: c.Restarts, Neighbors: c.Neighbors != None},
	)
	if err != nil {
		return nil, err
	}
	c.StartLabels = fit.StartLabels
	for v, p := range fit.StartAnchors {
		c.StartAnchors = append(c.StartAnchors, mat.NewDense(c.Anchors, fit.Views[v].Features, p))
	}
	out := &resumed{config: c, fit: fit, next: state.Next}
	if out.current, err = restoredRun(state.Current); err != nil {
		return nil, err
	}
	out.best, err = restoredRun(state.Best)
	return out, err
}

// restoredRun returns the run that a file holds, nil for none.
func restoredRun(saved *checkpoint.Run) (*runState, error) {
	if saved == nil {
		return nil, nil
	}
	r := &runState{Run: *saved}
	var err error
	if r.status, err = parseStatus(saved.Status); err != nil {
		return nil, err
	}
	if e := saved.Failure; e != nil {
		r.failure = &DivergedError{Epoch: e.Epoch, Loss: e.Loss}
		if e.Reason != "" {
			r.failure.Err = errors.New(e.Reason)
		}
	}
	return r, nil
}

// saved returns what a file holds of a run, nil for none.
func (r *runState) saved() *checkpoint.Run {
	if r == nil {
		return nil
	}
	out := r.Run
	out.Status = r.status.String()
	if e := r.failure; e != nil {
		out.Failure = &checkpoint.Failure{Epoch: e.Epoch, Loss: e.Loss}
		if e.Err != nil {
			out.Failure.Reason = e.Err.Error()
		}
	}
	return &out
}

// saver writes the checkpoints of a fit. Its methods do nothing if it is nil.
type saver struct {
	path string
	fit  checkpoint.Fit
}

// newSaver returns the saver that the configuration asks for, nil if none, and checks the views against the checkpoint
// from which the fit goes on, if there is one.
func newSaver(ctx context.Context, views []view.View, c *Config, from *resumed) (*saver, error) {
	if c.Checkpoint == "" && from == nil {
		return nil, nil
	}
	if c.Checkpoint != "" {
		if dir, err := os.Stat(filepath.Dir(c.Checkpoint)); err != nil {
			return nil, fmt.Errorf("largemvc: checkpoint: %w", err)
		} else if !dir.IsDir() {
			return nil, fmt.Errorf("largemvc: checkpoint: %s is not a folder", filepath.Dir(c.Checkpoint))
		}
		if err := file.Writable(c.Checkpoint); err != nil {
			return nil, fmt.Errorf("largemvc: checkpoint: %w", err)
		}
	}
	sum, err := view.Fingerprint(ctx, views, c.Workers)
	if err != nil {
		return nil, err
	}
	if from != nil {
		if err := from.fit.Matches(views, sum); err != nil {
			return nil, fmt.Errorf("largemvc: resuming: %w", err)
		}
	}
	if c.Checkpoint == "" {
		return nil, nil
	}
	config, err := json.Marshal(saveConfig(c))
	if err != nil {
		return nil, err
	}
	s := &saver{path: c.Checkpoint, fit: checkpoint.Fit{
		Config: config, Samples: views[0].Rows, Views: checkpoint.Views(views), Fingerprint: sum, ExtraLoss: c.ExtraLoss != nil,
		Anchors: c.Anchors, StartLabels: c.StartLabels,
	}}
	for _, p := range c.StartAnchors {
		s.fit.StartAnchors = append(s.fit.StartAnchors, linalg.Values(p))
	}
	return s, nil
}

// setInputs tells the number of the network's inputs, which must be that of the training from which the fit goes on, if there
// is one.
func (s *saver) setInputs(inputs int, from *resumed) error {
	if from != nil && from.fit.Inputs != inputs {
		return fmt.Errorf(
			"largemvc: resuming: the views make %d inputs, in the training they made %d",
			inputs, from.fit.Inputs,
		)
	}
	if s != nil {
		s.fit.Inputs = inputs
	}
	return nil
}

// duringRun writes a state from which the run goes on.
func (s *saver) duringRun(r, best *runState) error { return s.write(r.Restart, r, best) }

// afterRun writes the state after a run has ended, whatever ended it.
func (s *saver) afterRun(r, best *runState) error {
	switch {
	case s == nil || r.Values == nil:
		return nil
	case !r.status.interrupted():
		return s.write(r.Restart+1, nil, best)
	case r == best:
		best = nil
	}
	return s.write(r.Restart, r, best)
}

func (s *saver) write(next int, current, best *runState) error {
	if err := checkpoint.Write(
		s.path, &s.fit, checkpoint.State{Next: next, Current: current.saved(), Best: best.saved()},
	); err != nil {
		return fmt.Errorf("largemvc: writing the checkpoint: %w", err)
	}
	return nil
}

// runState is the state of one training, from its start to its end: all that is needed to continue it to the same bits, or
// to come back to its result.
type runState struct {
	checkpoint.Run
	status  Status
	failure *DivergedError // where status is Diverged

	startFor, trainFor, epochFor time.Duration
}

// better says whether the run is to be kept in place of another: runs that came to their end go before those that were
// interrupted, and those before diverged ones; among equals the lower loss decides.
func (r *runState) better(other *runState) bool {
	if other == nil {
		return true
	}
	rank := func(s Status) int {
		switch {
		case s == Diverged:
			return 2
		case s.interrupted():
			return 1
		}
		return 0
	}
	if a, b := rank(r.status), rank(other.status); a != b {
		return a < b
	}
	return last(r.Loss) < last(other.Loss)
}

func last(x []float64) float64 { return x[len(x)-1] }
