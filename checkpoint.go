package largemvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/safetensors"
	vw "github.com/largemvc/largemvc/internal/view"
)

const checkpointFormat = "largemvc-checkpoint"

// checkpoint is the state of a fit, as read from a file.
type checkpoint struct {
	config      *Config
	extraLoss   bool
	samples     int
	views       []savedView
	inputs      int // of the network
	fingerprint string
	next        int       // the restart to go on with
	current     *runState // its state, nil if it has not begun
	best        *runState // of the runs that are over, nil if there is none
}

// savedState is what a checkpoint says of the fit, as JSON.
type savedState struct {
	Samples     int         `json:"samples"`
	Views       []savedView `json:"views"`
	Inputs      int         `json:"inputs"` // not in version 1, where they are the views
	Fingerprint string      `json:"fingerprint"`
	ExtraLoss   bool        `json:"extra_loss"`
	StartGiven  string      `json:"start_given"` // "", "labels" or "anchors"
	Next        int         `json:"next"`
	Current     *savedRun   `json:"current"`
	Best        *savedRun   `json:"best"`
}

type savedRun struct {
	Restart   int           `json:"restart"`
	Status    string        `json:"status"`
	Epochs    int           `json:"epochs"`
	AdamSteps int           `json:"adam_steps"`
	GoodAt    int           `json:"good_at"`
	Nodes     int           `json:"nodes"` // learnable ones
	Labels    bool          `json:"labels"`
	Good      bool          `json:"good"`
	Failure   *savedFailure `json:"failure,omitempty"`
}

type savedFailure struct {
	Epoch  int    `json:"epoch"`
	Loss   string `json:"loss"` // as text, for it may be NaN
	Reason string `json:"reason"`
}

// Resume continues the training whose state Config.Checkpoint left in the file at path, on the same views, and goes on
// writing to it. On the same machine the result has the same bits as that of a Fit that was never interrupted, Timings
// aside; a training that was over gives its result again.
//
// change, if not nil, may set the fields Progress, ExtraLoss, Workers, Checkpoint, CheckpointEvery, Overwrite, Tolerance
// and Patience of the configuration that the training began with, and without restarts Epochs: a higher number trains
// on, even where the training was over. ExtraLoss must be set if, and only if, the training had one; that it is the same
// one cannot be checked. Any other change is an error, as are views that differ from those of the training, as they were
// before Overwrite.
func Resume(ctx context.Context, views []View, path string, change func(*Config)) (*Clustering, error) {
	saved, err := readCheckpoint(path)
	if err != nil {
		return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
	}
	config := *saved.config
	config.Checkpoint = path
	if change != nil {
		change(&config)
	}
	if err := saved.allows(&config); err != nil {
		return nil, fmt.Errorf("largemvc: resuming from %s: %w", path, err)
	}
	if b := saved.best; saved.current == nil && b != nil && config.Restarts == 1 && b.status == EpochLimit && b.epochs < config.Epochs {
		saved.current, saved.best, saved.next = b, nil, b.restart
	}
	return fitFrom(ctx, views, config, saved)
}

// allows says whether a training can be continued with a configuration.
func (s *checkpoint) allows(c *Config) error {
	if s.extraLoss && c.ExtraLoss == nil {
		return errors.New("the training had an ExtraLoss, which must be given again")
	}
	if !s.extraLoss && c.ExtraLoss != nil {
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

// fits says whether views are those of the checkpoint.
func (s *checkpoint) fits(views []vw.View, fingerprint string) error {
	if len(views) != len(s.views) {
		return fmt.Errorf("%d views, the training had %d", len(views), len(s.views))
	}
	for v, x := range views {
		if x.Rows != s.samples || x.Cols != s.views[v].Features {
			return fmt.Errorf("%s is %d×%d, in the training it was %d×%d", x.Label(v), x.Rows, x.Cols, s.samples, s.views[v].Features)
		}
	}
	if fingerprint != s.fingerprint {
		return errors.New("the values of the views, or which samples have them, differ from those of the training")
	}
	return nil
}

// saver writes the checkpoints of a fit. Its methods do nothing if it is nil.
type saver struct {
	path        string
	config      *Config
	samples     int
	views       []savedView
	inputs      int // of the network, once they are made
	fingerprint string
}

// newSaver returns the saver that the configuration asks for, nil if none, and checks the views against the checkpoint
// from which the fit goes on, if there is one.
func newSaver(ctx context.Context, views []vw.View, c *Config, from *checkpoint) (*saver, error) {
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
	sum, err := vw.Fingerprint(ctx, views, c.Workers)
	if err != nil {
		return nil, err
	}
	if from != nil {
		if err := from.fits(views, sum); err != nil {
			return nil, fmt.Errorf("largemvc: resuming: %w", err)
		}
	}
	if c.Checkpoint == "" {
		return nil, nil
	}
	s := &saver{path: c.Checkpoint, config: c, samples: views[0].Rows, fingerprint: sum}
	for _, x := range views {
		s.views = append(s.views, savedView{x.Name, x.Cols})
	}
	return s, nil
}

// due says whether a checkpoint is to be written after an epoch that is not the last.
func (s *saver) due(epochs int) bool {
	return s != nil && epochs%s.config.CheckpointEvery == 0 && epochs < s.config.Epochs
}

// duringRun writes a state from which the run goes on.
func (s *saver) duringRun(r, best *runState) error { return s.write(r.restart, r, best) }

// afterRun writes the state after a run has ended, whatever ended it.
func (s *saver) afterRun(r, best *runState) error {
	switch {
	case s == nil || r.values == nil:
		return nil
	case !r.status.interrupted():
		return s.write(r.restart+1, nil, best)
	case r == best:
		best = nil
	}
	return s.write(r.restart, r, best)
}

func (s *saver) write(next int, current, best *runState) error {
	err := file.Replace(s.path, func(w io.Writer) error {
		f, err := s.file(next, current, best)
		if err != nil {
			return err
		}
		_, err = f.Write(w, file.Seal)
		return err
	})
	if err != nil {
		return fmt.Errorf("largemvc: writing the checkpoint: %w", err)
	}
	return nil
}

func (s *saver) file(next int, current, best *runState) (*safetensors.File, error) {
	state := savedState{
		Samples: s.samples, Views: s.views, Inputs: s.inputs, Fingerprint: s.fingerprint, ExtraLoss: s.config.ExtraLoss != nil,
		Next: next, Current: current.saved(), Best: best.saved(),
	}
	switch {
	case s.config.StartLabels != nil:
		state.StartGiven = "labels"
	case s.config.StartAnchors != nil:
		state.StartGiven = "anchors"
	}
	f, err := file.New(checkpointFormat, saveConfig(s.config), state)
	if err != nil {
		return nil, err
	}
	if labels := s.config.StartLabels; labels != nil {
		f.Tensors = append(f.Tensors, safetensors.Ints("start_labels", labels, s.samples))
	}
	for v, p := range s.config.StartAnchors {
		f.Tensors = append(f.Tensors, safetensors.Float64s(fmt.Sprintf("start_anchors.%d", v), linalg.Values(p), s.config.Anchors, s.views[v].Features))
	}
	s.addRun(f, "current.", current)
	s.addRun(f, "best.", best)
	return f, nil
}

// saved returns what a file says of a run besides its tensors.
func (r *runState) saved() *savedRun {
	if r == nil {
		return nil
	}
	out := &savedRun{
		Restart: r.restart, Status: r.status.String(), Epochs: r.epochs, AdamSteps: r.adam.Steps, GoodAt: r.goodAt,
		Nodes: len(r.values), Labels: r.begin.labels != nil, Good: r.good != nil,
	}
	if e := r.failure; e != nil {
		out.Failure = &savedFailure{Epoch: e.Epoch, Loss: strconv.FormatFloat(e.Loss, 'g', -1, 64)}
		if e.Err != nil {
			out.Failure.Reason = e.Err.Error()
		}
	}
	return out
}

func (s *saver) addRun(f *safetensors.File, prefix string, r *runState) {
	if r == nil {
		return
	}
	add := func(name string, x []float64, shape ...int) {
		f.Tensors = append(f.Tensors, safetensors.Float64s(prefix+name, x, shape...))
	}
	if r.begin.labels != nil {
		f.Tensors = append(f.Tensors, safetensors.Ints(prefix+"start_labels", r.begin.labels, s.samples))
	}
	for v, p := range r.begin.anchors {
		add(fmt.Sprintf("start_anchors.%d", v), p, s.config.Anchors, len(p)/s.config.Anchors)
	}
	add("rho_scale", r.begin.scale, s.inputs)
	for _, list := range r.lists() {
		for i, x := range *list.values {
			add(fmt.Sprintf("%s.%d", list.name, i), x, len(x))
		}
	}
	file.AddLosses(f, prefix, r.loss, r.viewLoss, s.inputs)
}

// valueList are values that a run has for every learnable node.
type valueList struct {
	name   string
	values *[][]float64
}

func (r *runState) lists() []valueList {
	return []valueList{{"values", &r.values}, {"good", &r.good}, {"adam_first", &r.adam.First}, {"adam_second", &r.adam.Second}}
}

func readCheckpoint(path string) (*checkpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeCheckpoint(f)
}

func decodeCheckpoint(r io.Reader) (*checkpoint, error) {
	var state savedState
	f, c, err := readFile(r, checkpointFormat, &state)
	if err != nil {
		return nil, err
	}
	if err := c.check(state.Samples, nil); err != nil {
		return nil, err
	}
	for v, view := range state.Views {
		if view.Features < 1 {
			return nil, fmt.Errorf("view %d has %d features", v, view.Features)
		}
	}
	if state.Next < 0 || state.Next > c.Restarts || len(state.Views) == 0 || (state.Current == nil && state.Best == nil) {
		return nil, fmt.Errorf("it is at run %d of %d on %d views, or without a state", state.Next, c.Restarts, len(state.Views))
	}
	if c.Neighbors == None {
		state.Inputs = len(state.Views)
	}
	if state.Inputs < len(state.Views) || state.Inputs > 2*len(state.Views) {
		return nil, fmt.Errorf("it has %d inputs of %d views", state.Inputs, len(state.Views))
	}
	out := &checkpoint{config: c, inputs: state.Inputs, extraLoss: state.ExtraLoss, samples: state.Samples, views: state.Views, fingerprint: state.Fingerprint, next: state.Next}
	in := &file.Tensors{File: f}
	switch state.StartGiven {
	case "labels":
		c.StartLabels = in.Labels("start_labels", state.Samples, c.Anchors)
	case "anchors":
		for v, view := range state.Views {
			if p := in.Floats(fmt.Sprintf("start_anchors.%d", v), c.Anchors, view.Features); p != nil {
				c.StartAnchors = append(c.StartAnchors, mat.NewDense(c.Anchors, view.Features, p))
			}
		}
	}
	out.current = out.run(in, "current.", state.Current)
	out.best = out.run(in, "best.", state.Best)
	if out.current != nil && out.current.restart != out.next {
		in.Fail("its run is number %d, want %d", out.current.restart, out.next)
	}
	return out, in.Err
}

// run reads what addRun wrote; in has the first error.
func (s *checkpoint) run(in *file.Tensors, prefix string, saved *savedRun) *runState {
	if saved == nil || in.Err != nil {
		return nil
	}
	r := &runState{restart: saved.Restart, epochs: saved.Epochs, goodAt: saved.GoodAt, begin: &startingPoint{}}
	var err error
	if r.status, err = parseStatus(saved.Status); err != nil {
		in.Fail("%w", err)
	}
	if saved.Restart < 0 || saved.Epochs < 0 || saved.AdamSteps < 0 || saved.GoodAt < 0 || saved.GoodAt > saved.Epochs {
		in.Fail("run %d is after %d epochs and %d steps, the last good one after %d", saved.Restart, saved.Epochs, saved.AdamSteps, saved.GoodAt)
	}
	if e := saved.Failure; e != nil {
		loss, err := strconv.ParseFloat(e.Loss, 64)
		if err != nil {
			loss = math.NaN()
		}
		r.failure = &DivergedError{Epoch: e.Epoch, Loss: loss}
		if e.Reason != "" {
			r.failure.Err = errors.New(e.Reason)
		}
	}
	c := s.config
	if saved.Labels {
		r.begin.labels = in.Labels(prefix+"start_labels", s.samples, c.Anchors)
	}
	for v := range s.inputs { // of as many columns as the network has, fewer than the view's if it was rotated
		r.begin.anchors = append(r.begin.anchors, in.Floats(fmt.Sprintf("%sstart_anchors.%d", prefix, v), c.Anchors, -1))
	}
	r.begin.scale = in.Floats(prefix+"rho_scale", s.inputs)
	for _, list := range r.lists() {
		stepped := list.name == "adam_first" || list.name == "adam_second"
		if (list.name == "good" && !saved.Good) || (stepped && saved.AdamSteps == 0) {
			continue
		}
		for i := 0; i < saved.Nodes && in.Err == nil; i++ {
			*list.values = append(*list.values, in.Floats(fmt.Sprintf("%s%s.%d", prefix, list.name, i), -1))
		}
	}
	r.adam.Steps = saved.AdamSteps
	r.loss, r.viewLoss = in.Losses(prefix, s.inputs)
	if len(r.loss) < r.epochs || (prefix == "best." && len(r.loss) == 0) {
		in.Fail("run %d has %d losses after %d epochs", r.restart, len(r.loss), r.epochs)
	}
	return r
}
