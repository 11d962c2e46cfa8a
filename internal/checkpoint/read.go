package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
)

// savedState is the part of a checkpoint about the fit, as JSON.
type savedState struct {
	Samples     int       `json:"samples"`
	Views       []View    `json:"views"`
	Inputs      int       `json:"inputs"`
	Fingerprint string    `json:"fingerprint"`
	ExtraLoss   bool      `json:"extra_loss"`
	Known       string    `json:"known,omitempty"`
	Free        string    `json:"start_state,omitempty"`
	StartGiven  string    `json:"start_given"` // "", "labels" or "anchors"
	Next        int       `json:"next"`
	Current     *savedRun `json:"current"`
	Best        *savedRun `json:"best"`
	Prepared    bool      `json:"prepared,omitempty"` // no run has begun
}

type savedRun struct {
	Restart   int           `json:"restart"`
	Status    string        `json:"status"`
	Epochs    int           `json:"epochs"`
	AdamSteps int           `json:"adam_steps"`
	GoodAt    int           `json:"good_at"`
	Nodes     int           `json:"nodes"` // learnable ones
	Names     []string      `json:"names"` // of them
	Labels    bool          `json:"labels"`
	Good      bool          `json:"good"`
	Failure   *savedFailure `json:"failure,omitempty"`
}

type savedFailure struct {
	Epoch  int    `json:"epoch"`
	Loss   string `json:"loss"` // as text, for it may be NaN
	Reason string `json:"reason"`
}

// saved returns what a file says of a run besides its tensors.
func (r *Run) saved() *savedRun {
	if r == nil {
		return nil
	}
	out := &savedRun{
		Restart: r.Restart, Status: r.Status, Epochs: r.Epochs, AdamSteps: r.Adam.Steps, GoodAt: r.GoodAt,
		Nodes: len(r.Values), Names: r.Names, Labels: r.Begin.Labels != nil, Good: r.Good != nil,
	}
	if e := r.Failure; e != nil {
		out.Failure = &savedFailure{Epoch: e.Epoch, Loss: strconv.FormatFloat(e.Loss, 'g', -1, 64), Reason: e.Reason}
	}
	return out
}

// Content is a checkpoint whose configuration is read first.
type Content struct {
	Config  json.RawMessage
	Samples int

	file  *safetensors.File
	state savedState
}

// Open reads a checkpoint to the end of r.
func Open(r io.Reader) (*Content, error) {
	f, err := file.Read(r, format)
	if err != nil {
		return nil, err
	}
	return &Content{Config: json.RawMessage(f.Metadata[file.MetaConfig]), file: f}, nil
}

// Read reads what the file says of the fit.
func (c *Content) Read() error {
	if err := json.Unmarshal([]byte(c.file.Metadata[file.MetaTraining]), &c.state); err != nil {
		return fmt.Errorf("its training: %w", err)
	}
	c.Samples = c.state.Samples
	return nil
}

// Summary describes a checkpoint without the fit.
type Summary struct {
	Samples int
	Views   []View
	Run     int    // the one that goes on, from 0, or the best one, where none does
	Over    bool   // no run goes on: more epochs alone train on
	Epochs  int    // steps of the run
	Status  string // of the run; of one that goes on it may be empty
	Loss    []float64

	Prepared bool // no run has begun: the fields from Run to Loss are zero
}

// Summary returns it after Read. It is an error where the file lacks what it is made of.
func (c *Content) Summary() (*Summary, error) {
	if c.state.Prepared {
		return &Summary{Samples: c.Samples, Views: c.state.Views, Prepared: true}, nil
	}
	run, prefix := c.state.Current, "current."
	if run == nil {
		run, prefix = c.state.Best, "best."
	}
	if run == nil {
		return nil, errors.New("it has no run")
	}
	in := &file.Tensors{File: c.file}
	s := &Summary{
		Samples: c.Samples, Views: c.state.Views, Run: run.Restart, Over: c.state.Current == nil, Epochs: run.Epochs,
		Status: run.Status, Loss: in.Floats(prefix+"loss", -1),
	}
	return s, in.Err
}

// Network holds the part of the configuration about the fit.
type Network struct {
	Anchors, Restarts int
	Neighbors         bool // the inputs are more than the views
}

// Decode returns the fit and where it is.
func (c *Content) Decode(network Network) (*Fit, State, error) {
	state := c.state
	if !network.Neighbors {
		state.Inputs = len(state.Views)
	}
	if err := state.check(network.Restarts); err != nil {
		return nil, State{}, err
	}
	fit := &Fit{
		Config: c.Config, Samples: state.Samples, Views: state.Views, Inputs: state.Inputs,
		Fingerprint: state.Fingerprint, ExtraLoss: state.ExtraLoss, Known: state.Known, Free: state.Free,
		Anchors: network.Anchors,
	}
	in := &file.Tensors{File: c.file}
	switch state.StartGiven {
	case "labels":
		fit.StartLabels = in.Labels("start_labels", state.Samples, fit.Anchors)
	case "anchors":
		for v, view := range state.Views {
			if p := in.Floats(fmt.Sprintf("start_anchors.%d", v), fit.Anchors, view.Features); p != nil {
				fit.StartAnchors = append(fit.StartAnchors, p)
			}
		}
	}
	out := State{Next: state.Next}
	if state.Prepared {
		for _, t := range c.file.Tensors {
			if name, of := strings.CutPrefix(t.Name, prepared); of {
				t.Name = name
				out.Prepared = append(out.Prepared, t)
			}
		}
	}
	out.Current = fit.run(in, "current.", state.Current)
	out.Best = fit.run(in, "best.", state.Best)
	if out.Current != nil && out.Current.Restart != out.Next {
		in.Fail("its run is number %d, want %d", out.Current.Restart, out.Next)
	}
	return fit, out, in.Err
}

// check refuses a state that no fit with that number of restarts has.
func (s *savedState) check(restarts int) error {
	for v, view := range s.Views {
		if view.Features < 1 {
			return fmt.Errorf("view %d has %d features", v, view.Features)
		}
	}
	if s.Next < 0 || s.Next > restarts || len(s.Views) == 0 || s.Prepared != (s.Current == nil && s.Best == nil) {
		return fmt.Errorf("it is at run %d of %d on %d views, or without a state", s.Next, restarts, len(s.Views))
	}
	if s.Prepared {
		if s.Next != 0 {
			return fmt.Errorf("it is at run %d, and no run has begun", s.Next)
		}
		return nil
	}
	if s.Inputs < len(s.Views) || s.Inputs > 2*len(s.Views) {
		return fmt.Errorf("it has %d inputs of %d views", s.Inputs, len(s.Views))
	}
	return nil
}

// run reads what addRun wrote; in has the first error.
func (s *Fit) run(in *file.Tensors, prefix string, saved *savedRun) *Run {
	if saved == nil || in.Err != nil {
		return nil
	}
	r := &Run{
		Restart: saved.Restart, Status: saved.Status, Epochs: saved.Epochs, GoodAt: saved.GoodAt, Names: saved.Names,
		Begin: &cluster.Point{},
	}
	saved.check(in)
	if e := saved.Failure; e != nil {
		loss, err := strconv.ParseFloat(e.Loss, 64)
		if err != nil {
			loss = math.NaN()
		}
		r.Failure = &Failure{Epoch: e.Epoch, Loss: loss, Reason: e.Reason}
	}
	if saved.Labels {
		r.Begin.Labels = in.Labels(prefix+"start_labels", s.Samples, s.Anchors)
	}
	for v := range s.Inputs { // of as many columns as the network has, fewer than the view's if it was rotated
		r.Begin.Anchors = append(r.Begin.Anchors, in.Floats(fmt.Sprintf("%sstart_anchors.%d", prefix, v), s.Anchors, -1))
	}
	r.readLists(in, prefix, saved)
	r.Adam.Steps = saved.AdamSteps
	r.Loss, r.ViewLoss = in.Losses(prefix, s.Inputs)
	if len(r.Loss) < r.Epochs || (prefix == "best." && len(r.Loss) == 0) {
		in.Fail("run %d has %d losses after %d epochs", r.Restart, len(r.Loss), r.Epochs)
	}
	return r
}

// check fails the reading where the numbers of a run cannot be those of one.
func (s *savedRun) check(in *file.Tensors) {
	if s.Restart < 0 || s.Epochs < 0 || s.AdamSteps < 0 || s.GoodAt < 0 || s.GoodAt > s.Epochs {
		in.Fail("run %d is after %d epochs and %d steps, the last good one after %d", s.Restart, s.Epochs, s.AdamSteps, s.GoodAt)
	}
	if s.Names != nil && len(s.Names) != s.Nodes {
		in.Fail("run %d has %d names for %d learnable nodes", s.Restart, len(s.Names), s.Nodes)
	}
}

// readLists reads the values of the nodes and the state of Adam. The last good values and the state exist in some files only.
func (r *Run) readLists(in *file.Tensors, prefix string, saved *savedRun) {
	for _, list := range r.lists() {
		stepped := list.name == "adam_first" || list.name == "adam_second"
		if (list.name == "good" && !saved.Good) || (stepped && saved.AdamSteps == 0) {
			continue
		}
		for i := 0; i < saved.Nodes && in.Err == nil; i++ {
			*list.values = append(*list.values, in.Floats(fmt.Sprintf("%s%s.%d", prefix, list.name, i), -1))
		}
	}
}
