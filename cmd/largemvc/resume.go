package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/file"
)

// withResume are the flags that may stand beside -resume, and the fields: all that is not a setting of the training that goes on.
var withResume = []string{"resume", "set", "config", "write-config", "data", "labels", "views", "mask", "missing-rows",
	"triplets", "sparse", "orientation", "id", "view", "leave-out", "one-hot", "impute", "transform", "header", "decimal",
	"overwrite",
	"max-memory", "from-disk", "scratch", "out", "save", "report", "embedding", "trust", "memberships", "outliers", "features",
	"known", "json", "quiet", "epochs", "set Tolerance", "set Patience", "set Float64", "workers", "device", "mpi", "checkpoint",
	"set Checkpoint.Every", "grace"}

// checkResume refuses settings that a training which goes on has already.
func (o *fitOptions) checkResume() error {
	if o.resume == "" {
		return nil
	}
	for name := range o.given {
		if !slices.Contains(withResume, name) && !o.inFile(name) {
			return usagef("fit: -%s cannot be given with -resume: the training goes on with its original settings", name)
		}
	}
	return nil
}

// fromFile are flags that -config may have beside -resume, for the training has a setting to compare them with.
var fromFile = []string{"start", "clusters", "seed"}

// inFile reports whether -config gives a field of Config, or one of fromFile.
func (o *fitOptions) inFile(name string) bool {
	f := o.flags
	return f.filed[name] && slices.Contains(fromFile, name) || slices.ContainsFunc(f.stored, func(a assignment) bool {
		return flagOf("Config."+a.name) == "-"+name
	}) && !slices.ContainsFunc(f.fields, func(a assignment) bool { return "set "+a.name == name })
}

// compareWith sets the fields of -config in the configuration of the training that goes on, which must be equal.
func (o *fitOptions) compareWith(c, asked *largemvc.Config) {
	for _, a := range o.flags.stored {
		if a.name != "Clusters" || asked.Clusters > 0 {
			_ = setField(c, a.name, a.value) // as configure did
		}
	}
	if o.flags.filed["clusters"] && asked.Clusters > 0 {
		c.Clusters = asked.Clusters
	}
	if o.flags.filed["seed"] {
		c.Seed = asked.Seed
	}
	if asked.StartLabels != nil {
		c.StartLabels = asked.StartLabels
	}
}

// checkCheckpoint refuses a file of -resume that is no checkpoint, or whose training had another Float64 than is given, before
// the data are read. If no Float64 is given, it sets the Float64 of the training. It skips a pipe, which only the training can
// read.
func (o *fitOptions) checkCheckpoint() error {
	if o.resume == "" {
		return nil
	}
	info, err := os.Stat(o.resume)
	if err != nil {
		return fmt.Errorf("-resume %s: %w", o.resume, reason(err))
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(o.resume)
	if err != nil {
		return fmt.Errorf("-resume %s: %w", o.resume, reason(err))
	}
	defer f.Close()
	content, err := file.Read(f, "largemvc-checkpoint")
	var settings struct {
		Float64 bool
	}
	if err == nil {
		err = json.Unmarshal([]byte(content.Metadata[file.MetaConfig]), &settings)
	}
	if err != nil {
		return fmt.Errorf("-resume %s: cannot be resumed: %w; give a file that -checkpoint wrote", o.resume, reason(err))
	}
	was := settings.Float64
	if o.config.Float64 != was && o.fixedFloat() {
		return o.otherFloat(was)
	}
	o.config.Float64 = was
	return nil
}

// alwaysFloat32 reports whether the data are read in float32 whatever Float64 says.
func (o *fitOptions) alwaysFloat32() bool { return o.fromDisk || o.mpi }

// fixedFloat reports whether a training that goes on cannot decide in what precision the data are read.
func (o *fitOptions) fixedFloat() bool { return o.given["set Float64"] || o.alwaysFloat32() }

// otherFloat is the error where a training that goes on was in another precision than Float64 says, or the data were read in.
func (o *fitOptions) otherFloat(was bool) error {
	if was && o.alwaysFloat32() {
		return fmt.Errorf("%s: the training was in float64, and rows from disk or with -mpi are read in float32: leave out "+
			"-from-disk and -mpi", o.resume)
	}
	return fmt.Errorf("%s: the training was in float%d: give -set Float64=%t", o.resume, bits(was), was)
}

// train fits, or goes on from a checkpoint. After that the configuration is the one of the training.
func train(ctx context.Context, o *fitOptions, in *input) (*largemvc.Clustering, error) {
	if o.resume == "" {
		return largemvc.Fit(ctx, in.views, o.config)
	}
	asked := o.config
	read := false
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c, err := largemvc.Resume(ctx, in.views, o.resume, func(c *largemvc.Config) {
		read = true
		o.compareWith(c, &asked)
		c.Progress, c.Machine.Overwrite = asked.Progress, !o.looksAgain()
		c.Machine.MaxMemory = asked.Machine.MaxMemory
		c.Machine.Comm, c.Known = asked.Machine.Comm, asked.Known
		if info, err := os.Stat(o.resume); err == nil && !info.Mode().IsRegular() {
			c.Checkpoint.Path = "" // a pipe cannot be replaced by the next state
		}
		for name, set := range map[string]func(){
			"epochs":               func() { c.Epochs = asked.Epochs },
			"set Tolerance":        func() { c.Tolerance = asked.Tolerance },
			"set Patience":         func() { c.Patience = asked.Patience },
			"workers":              func() { c.Machine.Workers = asked.Machine.Workers },
			"device":               func() { c.Machine.Device = asked.Machine.Device },
			"checkpoint":           func() { c.Checkpoint.Path = asked.Checkpoint.Path },
			"set Checkpoint.Every": func() { c.Checkpoint.Every = asked.Checkpoint.Every },
		} {
			if o.given[name] {
				set()
			}
		}
		o.config = *c
		if c.Float64 != asked.Float64 && o.fixedFloat() {
			stop()
		}
	})
	if read && o.config.Float64 != asked.Float64 {
		if o.fixedFloat() {
			return nil, o.otherFloat(o.config.Float64)
		}
		if c == nil { // of a pipe, which did not tell before the data were read
			return nil, fmt.Errorf("%w (the training was in float%d and the data were read in float%d, which may be why: "+
				"give -set Float64=%t)", err, bits(o.config.Float64), bits(asked.Float64), o.config.Float64)
		}
	}
	return c, err
}

// noteCheckpoint remembers the file of -checkpoint that there is before the training.
func (o *fitOptions) noteCheckpoint() {
	if info, err := os.Stat(o.config.Checkpoint.Path); err == nil {
		o.before = info
	}
}

// hasCheckpoint reports whether there is a checkpoint of this training to go on from: each one is a new file.
func (o *fitOptions) hasCheckpoint() bool {
	info, err := os.Stat(cmp.Or(o.config.Checkpoint.Path, o.resume))
	if err != nil || o.resume != "" || o.before == nil {
		return err == nil
	}
	return !os.SameFile(info, o.before) || info.ModTime() != o.before.ModTime()
}
