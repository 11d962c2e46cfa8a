package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/checkpoint"
	"github.com/largemvc/largemvc/internal/lists"
	"github.com/largemvc/largemvc/internal/textfile"
)

// saved describes a file of this program.
type saved int

const (
	savedNothing    saved = iota // of this program
	savedModel                   // what fit -save wrote
	savedCheckpoint              // what fit -checkpoint wrote
)

// savedAs returns the kind of a file by its head.
func savedAs(path string) saved {
	f, err := os.Open(path)
	if err != nil {
		return savedNothing
	}
	defer f.Close()
	head := make([]byte, 8+4096)
	n, _ := io.ReadFull(f, head) // a shorter file is as good
	if n < 10 || binary.LittleEndian.Uint64(head) > 1<<40 || head[8] != '{' {
		return savedNothing
	}
	switch head = head[8:n]; {
	case bytes.Contains(head, []byte(`"largemvc-model"`)):
		return savedModel
	case bytes.Contains(head, []byte(`"largemvc-checkpoint"`)):
		return savedCheckpoint
	}
	return savedNothing
}

// printCheckpoint prints what there is to know of a checkpoint, and how a training goes on from it.
func printCheckpoint(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var s *checkpoint.Summary
	var settings struct {
		Clusters, Anchors, Epochs, Restarts int
		Seed                                uint64
		Float64                             bool
	}
	content, err := checkpoint.Open(f)
	if err == nil {
		err = content.Read()
	}
	if err == nil {
		s, err = content.Summary()
	}
	if err == nil {
		err = json.Unmarshal(content.Config, &settings)
	}
	if err != nil {
		return fmt.Errorf("%s: is a checkpoint, and cannot be read: %w", path, reason(err))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, textfile.Printable(fmt.Sprintf(format, args...)))
	}
	line("checkpoint", "%s, %.3g MiB: the state of a fit, not data or a model", path, float64(info.Size())/(1<<20))
	where := "it continues"
	if s.Over {
		where = "it ended"
	}
	if s.Prepared {
		where = "its preparation continues"
	}
	line("training", "%s, after %d of %s, where %s; seed %d, float%d", count(s.Samples, "sample"), s.Epochs,
		count(settings.Epochs, "epoch"), where, settings.Seed, bits(settings.Float64))
	if settings.Restarts > 1 && !s.Prepared {
		line("", "in restart %d of %d", s.Run+1, settings.Restarts)
	}
	if n := len(s.Loss); n > 0 {
		line("loss", "%.6g at the start, %.6g now, with the loss of H = 0 in both", s.Loss[0], s.Loss[n-1])
	}
	for v, view := range s.Views {
		line(fmt.Sprintf("view %d", v), "%s, %s", cmp.Or(view.Name, "without a name"), count(view.Features, "feature"))
	}
	line("clusters", "%d, with %s", settings.Clusters, count(settings.Anchors, "anchor"))
	line("settings", "%s", content.Config)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nto continue with the same data (a higher -epochs trains longer): largemvc fit -data FILE "+
		"-resume %s\n",
		path)
	return err
}

// viewLines prints the views of a model, with line.
func viewLines(line func(name, format string, args ...any), p *largemvc.Predictor) error {
	prepared, err := views.Preparations(p)
	if err != nil {
		return err
	}
	dims := p.Dims()
	for v, name := range p.ViewNames() {
		features := "features without names"
		if f := p.FeatureNames(v); len(f) > 0 {
			features = "features " + firstAndLast(f)
		}
		line(fmt.Sprintf("view %d", v), "%s, %s, %s", cmp.Or(name, "without a name"), count(dims[v], "feature"), features)
		if prepared == nil || prepared[v] == nil {
			continue
		}
		if how := prepared[v].String(); how != "" {
			line("", "values prepared: %s", how)
		}
		if names := prepared[v].LeaveOut; names != nil {
			line("", "left out: %s", strings.Join(names, ", "))
		}
	}
	return nil
}

// printModel prints what there is to know of a model.
func printModel(w io.Writer, path string) error {
	p, err := largemvc.Load(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	c := p.Config()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, textfile.Printable(fmt.Sprintf(format, args...)))
	}
	line("model", "%s, %.3g MiB", path, float64(info.Size())/(1<<20))
	line("training", "%s, %s (%s), seed %d, float%d", count(p.Samples(), "sample"), count(p.Epochs, "epoch"), p.Status, c.Seed,
		bits(c.Float64))
	line("", "on %v", p.Ran)
	if c.Restarts > 1 {
		line("", "restart %d of %d, which has the lowest loss", p.Restart+1, c.Restarts)
	}
	if n := len(p.Loss); n > 0 {
		line("loss", aboutLoss, p.Loss[0]-p.NullLoss, p.Loss[n-1]-p.NullLoss)
	}
	if err := viewLines(line, p); err != nil {
		return err
	}
	line("clusters", "%d of sizes %s", p.Clusters, join(p.Sizes, ", "))
	if p.Kept {
		line("", "the initial clusters: their score is above the score after the training")
	}
	variant, activation := networkOf(&c)
	line("network", "%s, %s, %s, activation %v", networkNames[variant], count(c.Layers, "layer"), count(c.Anchors, "anchor"),
		activation)
	inputs := lists.Texts(p.Inputs(), func(in largemvc.Input) string {
		return fmt.Sprintf("view %d %v (%d)", in.View, in.Preprocess, in.Columns)
	})
	line("inputs", "%s", strings.Join(inputs, ", "))
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	line("settings", "%s", text)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nlabels for new samples: largemvc predict -model %s -data FILE -out labels.csv\n", path)
	return err
}
