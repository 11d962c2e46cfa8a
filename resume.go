package largemvc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/meter"
	"github.com/largemvc/largemvc/internal/parallel"
	"github.com/largemvc/largemvc/internal/ranks"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/smooth"
	"github.com/largemvc/largemvc/internal/train"
	"github.com/largemvc/largemvc/internal/view"
)

// resumed is the state of a fit, as read from a file.
type resumed struct {
	config  *Config
	foreign foreign
	fit     *checkpoint.Fit
	state   train.State

	prepared []safetensors.Tensor // graphs of a fit that was interrupted before its first run
}

// begun reports whether a training has begun, from which the fit goes on; else it was interrupted in the preparation.
func (s *resumed) begun() bool { return s != nil && (s.state.Current != nil || s.state.Best != nil) }

// training returns the state of the training; nil: its beginning.
func (s *resumed) training() train.State {
	if s == nil {
		return train.State{}
	}
	return s.state
}

// runs are those that the state has something of.
func (s *resumed) runs() (out []*train.Run) {
	for _, r := range []*train.Run{s.state.Current, s.state.Best} {
		if r != nil && r.Begin != nil {
			out = append(out, r)
		}
	}
	return out
}

// copied returns a copy of the configuration of the training. It shares no modules and slices with it, so that allows sees every
// change.
func (s *resumed) copied() Config {
	c := *s.config
	c.Represent, c.Noise, c.Anchor = copied(c.Represent), copied(c.Noise), copied(c.Anchor)
	c.StartLabels, c.Start.Anchors = slices.Clone(c.StartLabels), slices.Clone(c.Start.Anchors)
	for v, p := range c.Start.Anchors {
		c.Start.Anchors[v] = mat.DenseCopyOf(p)
	}
	return c
}

// extend lets a finished training without restarts go on to more epochs. It returns an error if its early stop would end it
// again where it has ended.
func (s *resumed) extend(c *Config) error {
	best := s.state.Best
	if s.state.Current != nil || best == nil || c.Restarts != 1 || c.Epochs <= best.Epochs {
		return nil
	}
	switch best.Status {
	case train.EpochLimit:
	case train.Converged:
		if !best.StopsEarly(c.Tolerance, c.Patience) {
			break
		}
		if c.Epochs == s.config.Epochs {
			return nil // nothing new is asked for
		}
		return fmt.Errorf("the training has stopped early after %d epochs, and Tolerance %g with Patience %d would stop it "+
			"there again: change them too, or leave Epochs at %d", best.Epochs, c.Tolerance, c.Patience, s.config.Epochs)
	default:
		return nil
	}
	s.state = train.State{Next: best.Restart, Current: best}
	return nil
}

// allows says whether a training can be continued with a configuration, and returns it with its defaults.
func (s *resumed) allows(c *Config) (*Config, error) {
	if err := s.foreign.given(c); err != nil {
		return nil, err
	}
	if s.fit.ExtraLoss && c.ExtraLoss == nil {
		return nil, errors.New("the training had an ExtraLoss: give it again")
	}
	if !s.fit.ExtraLoss && c.ExtraLoss != nil {
		return nil, errors.New("the training had no ExtraLoss: leave it out")
	}
	full := c.WithDefaults()
	full.forSamples(s.fit.Samples)
	adaptNeighbors(&full, c, s.fit.Samples)
	if was := &s.config.Neighborhood; c.Neighborhood.Exact == 0 { // the default, by all samples: see sameSearch
		full.Neighborhood.Exact = was.Exact
	}
	if c.Neighborhood.Steps == 0 {
		full.Neighborhood.Steps = s.config.Neighborhood.Steps
	}
	c = &full
	if c.Epochs != s.config.Epochs && c.Restarts > 1 {
		return nil, fmt.Errorf("with restarts Config.Epochs cannot change: it was %d and is %d now", s.config.Epochs, c.Epochs)
	}
	if c.Epochs < s.config.Epochs {
		return nil, fmt.Errorf("Config.Epochs can only grow: it was %d and is %d now", s.config.Epochs, c.Epochs)
	}
	if err := sameSettings(s.config, c); err != nil {
		return nil, err
	}
	same := slices.EqualFunc(s.config.Start.Anchors, c.Start.Anchors, func(a, b mat.Matrix) bool {
		return !parallel.Nil(b) && mat.Equal(a, b)
	})
	if !same || !slices.Equal(s.config.StartLabels, c.StartLabels) {
		return nil, errors.New("Config.StartLabels and Config.Start.Anchors cannot change")
	}
	return c, nil
}

// sameSearch compares the settings whose defaults depend on the number of all samples. c has them filled in.
func (s *resumed) sameSearch(c *Config) error {
	was, is := s.config.Neighborhood, c.Neighborhood
	if was.Steps != is.Steps {
		return fmt.Errorf("Neighborhood.Steps was %d and is %d now", was.Steps, is.Steps)
	}
	if was.Exact != is.Exact {
		return fmt.Errorf("Neighborhood.Exact was %d and is %d now", was.Exact, is.Exact)
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
	out, err := resumedFrom(content)
	if err != nil {
		return nil, file.Damaged(err)
	}
	return out, nil
}

// resumedFrom returns the state that a checkpoint holds.
func resumedFrom(content *checkpoint.Content) (*resumed, error) {
	c, types, err := readConfig(content.Config)
	if err != nil {
		return nil, err
	}
	if err := content.Read(); err != nil {
		return nil, err
	}
	if err := checkConfig(c, content.Samples, nil); err != nil {
		return nil, err
	}
	fit, state, err := content.Decode(
		checkpoint.Network{Anchors: c.Anchors, Restarts: c.Restarts, Neighbors: c.Neighborhood.Neighbors != None},
	)
	if err != nil {
		return nil, err
	}
	for _, r := range []*checkpoint.Run{state.Current, state.Best} {
		if want := learnableCount(c, fit.Inputs); types == (foreign{}) && r != nil && len(r.Values) != want {
			return nil, fmt.Errorf(
				"restart %d has values for %d nodes, a network of %d layers for %d inputs has %d",
				r.Restart, len(r.Values), c.Layers, fit.Inputs, want,
			)
		}
	}
	c.StartLabels = fit.StartLabels
	for v, p := range fit.StartAnchors {
		c.Start.Anchors = append(c.Start.Anchors, mat.NewDense(c.Anchors, fit.Views[v].Features, p))
	}
	out := &resumed{config: c, foreign: types, fit: fit, state: train.State{Next: state.Next}, prepared: state.Prepared}
	if out.state.Current, err = train.Restored(state.Current); err != nil {
		return nil, err
	}
	out.state.Best, err = train.Restored(state.Best)
	return out, err
}

// saver writes the checkpoints of a fit. Its methods do nothing if it is nil.
type saver struct {
	path  string
	fit   checkpoint.Fit
	order view.Order   // of the samples in training; files have them in the caller's
	team  *ranks.Group // its rank 0 writes
	parts bool         // each of them has some of the samples

	prepared []safetensors.Tensor // of a state before the first run

	file  sync.Mutex   // of what follows and of the file
	last  *train.State // kept, and not written; nil: none
	ended bool         // the context of the fit has ended: a state that is kept is written at once
}

// newSaver returns the saver that the configuration asks for, nil if none, and checks the views against the checkpoint
// from which the fit goes on, if there is one.
func newSaver(ctx context.Context, with processes, views []view.View, c *Config, from *resumed) (*saver, error) {
	if c.Checkpoint.Path == "" && from == nil {
		return nil, nil
	}
	group, team := with.group, with.team
	if c.Checkpoint.Path != "" && team.Rank() == 0 {
		if dir, err := os.Stat(filepath.Dir(c.Checkpoint.Path)); err != nil {
			return nil, fmt.Errorf("largemvc: checkpoint: %w", err)
		} else if !dir.IsDir() {
			return nil, fmt.Errorf("largemvc: checkpoint: %s is not a folder", filepath.Dir(c.Checkpoint.Path))
		}
		if err := file.Writable(c.Checkpoint.Path); err != nil {
			return nil, fmt.Errorf("largemvc: checkpoint: %w", err)
		}
	}
	sum, err := view.Fingerprint(ctx, group, views, c.Machine.Workers)
	if err != nil {
		return nil, err
	}
	free, err := sumOfStart(ctx, group, c)
	if err != nil {
		return nil, err
	}
	if from != nil {
		whole := slices.Clone(views) // of all ranks
		for v := range whole {
			whole[v].Rows = group.Total(whole[v].Rows)
		}
		if err := from.fit.Matches(whole, sum); err != nil {
			return nil, fmt.Errorf("largemvc: resuming: %w", err)
		}
		if err := from.sameSearch(c); err != nil {
			return nil, fmt.Errorf("largemvc: resuming: %w", err)
		}
		if from.fit.Known != sumOfKnown(c) {
			return nil, errors.New("largemvc: resuming: the training had other known labels in its loss; give it the same Known")
		}
		if from.fit.Free != free {
			return nil, errors.New("largemvc: resuming: the training had another Start.H or Start.E; give it the same")
		}
		from.keep(group, views[0].Rows)
	}
	if c.Checkpoint.Path == "" {
		return nil, nil
	}
	settings, err := saveConfig(c)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	labels := c.StartLabels
	if labels != nil {
		if labels, err = ranks.GatherFirst(group, "StartLabels", labels); err != nil { // rank 0 writes them
			return nil, err
		}
	}
	s := &saver{path: c.Checkpoint.Path, team: team, parts: group != nil, fit: checkpoint.Fit{
		Config: config, Samples: group.Total(views[0].Rows), Views: checkpoint.Views(views), Fingerprint: sum,
		ExtraLoss: c.ExtraLoss != nil, Known: sumOfKnown(c), Free: free, Anchors: c.Anchors, StartLabels: labels,
	}}
	for _, p := range c.Start.Anchors {
		s.fit.StartAnchors = append(s.fit.StartAnchors, linalg.Values(p))
	}
	return s, nil
}

// sumOfKnown identifies the known labels in the loss by their SHA-256; "": there are none.
func sumOfKnown(c *Config) string {
	if c.Neighborhood.KnownWeight == 0 {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, c.Known)))
}

// sumOfStart identifies a given H and E of the start, of all ranks; "": there are none.
func sumOfStart(ctx context.Context, group *ranks.Group, c *Config) (string, error) {
	if !c.Start.free() {
		return "", nil
	}
	var given []view.View
	if c.Start.H != nil {
		given = append(given, MatrixView(c.Start.H).in)
	}
	for _, x := range c.Start.E {
		given = append(given, MatrixView(x).in)
	}
	sum, err := view.Fingerprint(ctx, group, given, c.Machine.Workers)
	return fmt.Sprintf("%s, H %t, %d E", sum, c.Start.H != nil, len(c.Start.E)), err
}

// setInputs takes the number of the network's inputs, which must be equal to the training from which the fit goes on, if there
// is one, and the order of the samples.
func (s *saver) setInputs(inputs int, order view.Order, from *resumed) error {
	if from.begun() && from.fit.Inputs != inputs {
		return fmt.Errorf("largemvc: resuming: the views make %d inputs, in the training they made %d", inputs, from.fit.Inputs)
	}
	if s != nil {
		s.fit.Inputs, s.order = inputs, order
	}
	if from != nil {
		for _, r := range from.runs() {
			r.Begin.Labels = view.Along(order, r.Begin.Labels)
		}
	}
	return nil
}

// write writes the state of the training.
func (s *saver) write(at train.State) error {
	var err error
	if s.team.Rank() == 0 {
		s.file.Lock()
		if err = s.put(at); err == nil {
			s.last = nil
		}
		s.file.Unlock()
	}
	if err = s.team.Agree("the checkpoint", err); err != nil {
		return fmt.Errorf("largemvc: writing the checkpoint: %w", err)
	}
	return nil
}

// keeper returns the keeper of the graphs of the samples. The graphs of ranks that share the samples are not kept.
func (s *saver) keeper(from *resumed) *smooth.Keeper {
	out := &smooth.Keeper{}
	if from != nil {
		out.Found, from.prepared = from.prepared, nil
	}
	if s != nil && !from.begun() { // else the file has the training
		out.Write = func(graphs []safetensors.Tensor) error {
			s.prepared = graphs
			err := s.write(train.State{})
			s.prepared = nil
			return err
		}
	}
	return out
}

// keepDraw writes which samples the fit has drawn. Their fingerprint is in every checkpoint.
func (s *saver) keepDraw(from *resumed) error {
	if s == nil || from != nil {
		return nil
	}
	return s.write(train.State{})
}

// put replaces the file by a state.
func (s *saver) put(at train.State) error {
	state := checkpoint.State{Next: at.Next, Current: at.Current.Saved(), Best: at.Best.Saved(), Prepared: s.prepared}
	for _, r := range []**checkpoint.Run{&state.Current, &state.Best} {
		if s.parts { // it has the labels of its own samples alone; who goes on finds them again
			*r = withLabels(*r, func([]int) []int { return nil })
			continue
		}
		*r = withLabels(*r, func(labels []int) []int { return view.Back(s.order, labels, 1) })
	}
	return checkpoint.Write(s.path, &s.fit, state)
}

// keep holds a state that flush writes if the fit must end before write does. Nothing else changes the state.
func (s *saver) keep(at train.State) {
	s.file.Lock()
	defer s.file.Unlock()
	if s.last = &at; s.ended {
		s.writeLast()
	}
}

// flush writes the state that is kept. It waits for no epoch and no other rank, which may take longer than the process has. An
// error is left to write, which follows unless the process is killed.
func (s *saver) flush() {
	if s == nil {
		return
	}
	s.file.Lock()
	defer s.file.Unlock()
	s.ended = true
	s.writeLast()
}

func (s *saver) writeLast() {
	if s.last != nil && s.team.Rank() == 0 && s.put(*s.last) == nil {
		s.last = nil
	}
}

// flushAtEnd has flush called once ctx ends, or this rank is asked to end, which the others learn later. The function that it
// returns waits for a flush that has begun, and forbids others.
func (s *saver) flushAtEnd(ctx context.Context) (stop func()) {
	if s == nil {
		return func() {}
	}
	var stops []func() bool
	var flushed sync.WaitGroup
	for _, c := range []context.Context{ctx, s.team.Asked(ctx)} {
		flushed.Add(1)
		stops = append(stops, context.AfterFunc(c, func() {
			s.flush()
			flushed.Done()
		}))
	}
	return func() {
		for _, stop := range stops {
			if stop() {
				flushed.Done()
			}
		}
		flushed.Wait()
	}
}

// withLabels returns a run with what change makes of the labels of its start.
func withLabels(r *checkpoint.Run, change func([]int) []int) *checkpoint.Run {
	if r == nil {
		return nil
	}
	out, begin := *r, *r.Begin
	begin.Labels = change(begin.Labels)
	out.Begin = &begin
	return &out
}

// rotated reports whether the training has views in fewer columns than they had.
func (s *resumed) rotated() bool {
	for _, r := range s.runs() {
		for v, p := range r.Begin.Anchors {
			if len(p) < s.fit.Anchors*s.fit.Views[v].Features {
				return true
			}
		}
	}
	return false
}

// keep leaves of the start's labels those of this rank's samples, n of all.
func (s *resumed) keep(group *ranks.Group, n int) {
	for _, r := range s.runs() {
		if group != nil && r.Begin.Labels != nil {
			r.Begin.Labels = r.Begin.Labels[group.First() : group.First()+n]
		}
	}
}

// relabel finds the labels of the start that a checkpoint of several processes does not have; find returns them for a restart.
func (s *resumed) relabel(m *meter.Meter, c *Config, find func(restart int) ([]int, error)) error {
	if s == nil || !c.beginsAtStart() || len(c.Start.Anchors) > 0 {
		return nil
	}
	found := map[int][]int{}
	for _, r := range s.runs() {
		if r.Begin.Labels != nil {
			continue
		}
		labels, ok := found[r.Restart]
		if !ok {
			if err := m.Enter(meter.Anchors, r.Restart); err != nil {
				return err
			}
			var err error
			if labels, err = find(r.Restart); err != nil {
				return err
			}
			found[r.Restart] = labels
		}
		r.Begin.Labels = labels
	}
	return nil
}
