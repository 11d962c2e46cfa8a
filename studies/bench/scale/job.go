package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// job is the work of a process.
type job struct {
	Files     []string // of the views
	Labels    string   // file of the samples' classes; "": none
	Streamed  bool     // rows are read whenever they are needed
	First     int      // only this many rows, from memory; 0: all
	Model     string   // a fit saves it; without Fit it labels the rows
	Fit       *largemvc.Config
	Then      int // epochs of another fit, of all samples, that begins at the labels of the first; 0: none
	Scratch   string
	MaxMemory int64 // bytes
	Numbers   dataset.Numbers
	Workers   int
	Group     string // file that gets the number of the process
}

// result holds the measurements of a job.
type result struct {
	Hash           string  // of labels and losses
	Epoch, Seconds float64 // the median epoch, and all
	Processor      float64 // seconds, of all cores
	Resident       int64   // bytes, the largest resident memory
	Group          int64   // bytes, the most that the control group held, cache of files included
	Storage        string
	Scores         [3]float64 // ACC, NMI, ARI in percent
	Scored         bool
}

// String returns the figures that are set.
func (r *result) String() string {
	text := fmt.Sprintf("%.1f s, %.1f s of processors, %d MiB resident", r.Seconds, r.Processor, r.Resident/mib)
	if r.Group > 0 {
		text += fmt.Sprintf(", %d MiB in the group", r.Group/mib)
	}
	if r.Epoch > 0 {
		text += fmt.Sprintf(", an epoch %.2f s", r.Epoch)
	}
	if r.Scored {
		text += fmt.Sprintf(", ACC %.1f, NMI %.1f, ARI %.1f", r.Scores[0], r.Scores[1], r.Scores[2])
	}
	return text
}

func (j *job) run(ctx context.Context) (*result, error) {
	if j.Group != "" {
		if err := os.WriteFile(j.Group, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return nil, err
		}
	}
	x, done, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r, began := &result{}, time.Now()
	sum := sha256.New()
	var labels []int
	if j.Fit == nil {
		err = j.label(ctx, x, sum)
	} else {
		labels, err = j.train(ctx, x, sum, r)
	}
	if err != nil {
		return nil, err
	}
	r.Hash, r.Seconds = fmt.Sprintf("%x", sum.Sum(nil)), time.Since(began).Seconds()
	r.Resident, r.Processor = work.PeakMemory(), work.ProcessorTime().Seconds()
	if j.Labels == "" {
		return r, nil
	}
	var truth []int
	text, err := os.ReadFile(j.Labels)
	if err == nil {
		err = json.Unmarshal(text, &truth)
	}
	if err != nil {
		return nil, err
	}
	r.Scored = true
	s, err := largemvc.Evaluate(truth, labels)
	if err != nil {
		return nil, err
	}
	for i, x := range []float64{s.ACC, s.NMI, s.ARI} {
		r.Scores[i] = 100 * x
	}
	return r, nil
}

// open opens the views.
func (j *job) open(ctx context.Context) (x []largemvc.View, done func(), err error) {
	if j.Streamed {
		set, err := dataset.OpenRows(ctx, j.Files, dataset.Options{Scratch: j.Scratch, ScratchNumbers: j.Numbers, NoLabels: true})
		if err != nil {
			return nil, nil, err
		}
		x, err = views.OfRows(set)
		return x, func() { _ = set.Close() }, err // nothing was written
	}
	set, err := dataset.Open(ctx, j.Files, dataset.Options{NoLabels: true})
	if err != nil {
		return nil, nil, err
	}
	for _, v := range set.Views {
		if n := v.Rows; j.First > 0 && j.First < n {
			v.Rows, v.Float32 = j.First, v.Float32[:j.First*v.Cols]
		}
		x = append(x, largemvc.DenseView(v.Rows, v.Cols, v.Float32))
	}
	return x, func() {}, nil
}

// train fits the views.
func (j *job) train(ctx context.Context, x []largemvc.View, sum io.Writer, r *result) ([]int, error) {
	c := *j.Fit
	c.Machine = machine.Options{Workers: j.Workers, Device: machine.CPU, MaxMemory: j.MaxMemory}
	out, err := largemvc.Fit(ctx, x, c)
	if err == nil && j.Then > 0 {
		c.FitSamples, c.StartLabels, c.Epochs = 0, out.Labels, j.Then
		out, err = largemvc.Fit(ctx, x, c)
	}
	if err != nil {
		return nil, err
	}
	r.Epoch, r.Storage = out.Timings.Epoch.Seconds(), out.Ran.Storage
	if j.Model != "" {
		if err := out.Save(j.Model); err != nil {
			return nil, err
		}
	}
	return out.Labels, hash(sum, out.Labels, out.Loss)
}

// label labels the views with a model, a block of rows at a time.
func (j *job) label(ctx context.Context, x []largemvc.View, sum io.Writer) error {
	p, err := largemvc.Load(j.Model)
	if err != nil {
		return err
	}
	return p.AssignRows(ctx, x, func(_ int, a *largemvc.Assignments) error { return hash(sum, a.Labels, nil) })
}

func hash(sum io.Writer, labels []int, losses []float64) error {
	all := make([]int64, 0, len(labels))
	for _, l := range labels {
		all = append(all, int64(l))
	}
	if err := binary.Write(sum, binary.LittleEndian, all); err != nil {
		return err
	}
	return binary.Write(sum, binary.LittleEndian, losses)
}
