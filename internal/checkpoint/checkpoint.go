// Package checkpoint writes and reads the state of a fit: what is needed to continue it to the same bits.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/largemvc/largemvc/internal/adam"
	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/view"
)

const format = "largemvc-checkpoint"

// Fit is a fit that a state belongs to.
type Fit struct {
	Config      json.RawMessage
	Samples     int
	Views       []View
	Inputs      int // of the network
	Fingerprint string
	ExtraLoss   bool
	Known       string // identifies the known labels in the loss; "": there are none
	Free        string // identifies a given H and E of the start; "": there are none

	Anchors      int         // m
	StartLabels  []int       // as given
	StartAnchors [][]float64 // as given, m×d_v per view
}

// View is a view of the training samples.
type View struct {
	Name     string `json:"name"`
	Features int    `json:"features"`
}

// Views describes views.
func Views(views []view.View) []View {
	out := make([]View, len(views))
	for v, x := range views {
		out[v] = View{x.Name, x.Cols}
	}
	return out
}

// Matches returns an error that names the difference of views, with their fingerprint, from those of the fit.
func (s *Fit) Matches(views []view.View, fingerprint string) error {
	if len(views) != len(s.Views) {
		return fmt.Errorf("%d views, the training had %d", len(views), len(s.Views))
	}
	for v, x := range views {
		if x.Rows != s.Samples || x.Cols != s.Views[v].Features {
			return fmt.Errorf(
				"%s is %d×%d, in the training it was %d×%d",
				x.Label(v), x.Rows, x.Cols, s.Samples, s.Views[v].Features,
			)
		}
	}
	if fingerprint != s.Fingerprint {
		return errors.New("the values of the views, or which samples have them, differ from those of the training")
	}
	return nil
}

// State is where a fit is.
type State struct {
	Next    int  // the restart to go on with
	Current *Run // its state, nil if it has not begun
	Best    *Run // of the runs that are over, nil if there is none

	Prepared []safetensors.Tensor // before the first run: results of the preparation, with names for their readers
}

// begun reports whether there is a run. A state without one is of the preparation.
func (s *State) begun() bool { return s.Current != nil || s.Best != nil }

// prepared begins the names of the tensors of State.Prepared in a file.
const prepared = "prepared."

// Run is the state of one training.
type Run struct {
	Restart  int
	Begin    *cluster.Point
	Values   [][]float64 // of the learnable nodes, after Epochs steps
	Names    []string    // of these nodes
	Good     [][]float64 // their values at the last loss, GoodAt steps from the start: where a divergence goes back to
	GoodAt   int
	Adam     adam.State
	Epochs   int       // steps done
	Loss     []float64 // one more than Epochs once the run is over, else as many
	ViewLoss [][]float64
	Status   string
	Failure  *Failure // of a run that diverged
}

// Failure says how a run diverged.
type Failure struct {
	Epoch  int
	Loss   float64
	Reason string // "": there is none but the loss
}

// Write replaces the file at path by the state of a fit.
func Write(path string, fit *Fit, state State) error {
	return file.Replace(path, func(w io.Writer) error {
		f, err := encode(fit, state)
		if err != nil {
			return err
		}
		_, err = f.Write(w, file.Seal)
		return err
	})
}

func encode(fit *Fit, state State) (*safetensors.File, error) {
	about := savedState{
		Samples: fit.Samples, Views: fit.Views, Inputs: fit.Inputs, Fingerprint: fit.Fingerprint, ExtraLoss: fit.ExtraLoss,
		Known: fit.Known, Free: fit.Free, Prepared: !state.begun(),
		Next: state.Next, Current: state.Current.saved(), Best: state.Best.saved(),
	}
	switch {
	case fit.StartLabels != nil:
		about.StartGiven = "labels"
	case fit.StartAnchors != nil:
		about.StartGiven = "anchors"
	}
	f, err := file.New(format, fit.Config, about)
	if err != nil {
		return nil, err
	}
	if fit.StartLabels != nil {
		f.Tensors = append(f.Tensors, safetensors.Ints("start_labels", fit.StartLabels, fit.Samples))
	}
	for v, p := range fit.StartAnchors {
		f.Tensors = append(
			f.Tensors,
			safetensors.Float64s(fmt.Sprintf("start_anchors.%d", v), p, fit.Anchors, fit.Views[v].Features),
		)
	}
	for _, t := range state.Prepared {
		t.Name = prepared + t.Name
		f.Tensors = append(f.Tensors, t)
	}
	fit.addRun(f, "current.", state.Current)
	fit.addRun(f, "best.", state.Best)
	return f, nil
}

func (s *Fit) addRun(f *safetensors.File, prefix string, r *Run) {
	if r == nil {
		return
	}
	add := func(name string, x []float64, shape ...int) {
		f.Tensors = append(f.Tensors, safetensors.Float64s(prefix+name, x, shape...))
	}
	if r.Begin.Labels != nil {
		f.Tensors = append(f.Tensors, safetensors.Ints(prefix+"start_labels", r.Begin.Labels, s.Samples))
	}
	for v, p := range r.Begin.Anchors {
		add(fmt.Sprintf("start_anchors.%d", v), p, s.Anchors, len(p)/s.Anchors)
	}
	for _, list := range r.lists() {
		for i, x := range *list.values {
			add(fmt.Sprintf("%s.%d", list.name, i), x, len(x))
		}
	}
	file.AddLosses(f, prefix, r.Loss, r.ViewLoss, s.Inputs)
}

// valueList are values that a run has for every learnable node.
type valueList struct {
	name   string
	values *[][]float64
}

func (r *Run) lists() []valueList {
	return []valueList{
		{"values", &r.Values}, {"good", &r.Good}, {"adam_first", &r.Adam.First},
		{"adam_second", &r.Adam.Second},
	}
}
