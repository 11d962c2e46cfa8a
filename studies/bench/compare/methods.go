package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/studies/internal/baseline"
	"github.com/largemvc/largemvc/studies/internal/presets"
)

const (
	defaultFit = "largemvc, default preset"
	paperFit   = "largemvc, paper preset"
)

// methods is what compareMethods is asked for.
type methods struct {
	data, python, only, figure string
	sets                       []string
	limit                      time.Duration // of a fit in PyTorch
}

// outcome is a row of the table of methods.
type outcome struct {
	method                  string
	seconds, processor, mib float64
	accuracy                float64 // from 0 to 1; NaN: not known
	note                    string
}

// methodNames are those of the methods in Go, in the order of the table.
func methodNames() []string {
	names := []string{defaultFit, paperFit}
	for _, m := range baseline.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// compareMethods writes a table of what users would pick instead: for each set and method the time, the memory and how well the
// clusters agree with the classes. Every method is run once, in a process of its own that reads the set too, its samples in
// random order; the processor's time and the memory are those of the process.
func compareMethods(out io.Writer, m *methods) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	others, err := m.inPython(dir)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| set | method | s | processor, s | MiB | ACC, % |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	panels := make([][]outcome, len(m.sets))
	for q, set := range m.sets {
		file := filepath.Join(dir, set+".npz")
		if err := inRandomOrder(filepath.Join(m.data, set+".npz"), file); err != nil {
			return err
		}
		row := func(name string, run func() (*outcome, error)) error {
			if !strings.Contains(name, m.only) {
				return nil
			}
			o, err := run()
			if err != nil {
				return fmt.Errorf("%s on %s: %w", name, set, err)
			}
			o.method = name
			panels[q] = append(panels[q], *o)
			accuracy := "–"
			if !math.IsNaN(o.accuracy) {
				accuracy = fmt.Sprintf("%.1f", 100*o.accuracy)
			}
			_, err = fmt.Fprintf(out, "| %s | %s%s | %.1f | %.1f | %.0f | %s |\n",
				set, name, o.note, o.seconds, o.processor, o.mib, accuracy)
			return err
		}
		for _, name := range methodNames() {
			err := row(name, func() (*outcome, error) {
				cmd := exec.Command(self, "method", "-data", file, "-name", name)
				o := &outcome{}
				return o, o.read(cmd, &o.seconds, &o.mib, &o.accuracy)
			})
			if err != nil {
				return err
			}
		}
		for _, p := range others {
			if err := row(p.name, func() (*outcome, error) { return p.run(file) }); err != nil {
				return err
			}
		}
	}
	if m.figure == "" {
		return nil
	}
	return saveFigure(m.figure, m.sets, panels)
}

// inRandomOrder writes a set to another file, its samples in random order.
func inRandomOrder(from, to string) error {
	set, _, err := openSet(from)
	if err != nil {
		return err
	}
	order, classes := randomOrder(set.Samples()), slices.Clone(set.Labels)
	for v := range set.Views {
		x := &set.Views[v]
		if x.Float32 == nil {
			return fmt.Errorf("view %d of %s is not dense", v, from)
		}
		x.Float32 = reordered(order, x.Float32, x.Cols)
	}
	for at, i := range order {
		set.Labels[at] = classes[i]
	}
	set.IDs = nil
	return set.WriteNPZ(to, false)
}

// read runs a command and reads the numbers that it prints first.
func (o *outcome) read(cmd *exec.Cmd, to ...any) error {
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(text), to...); err != nil {
		return fmt.Errorf("%s says %.100q: %w", cmd.Path, text, err)
	}
	o.processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return nil
}

// runMethod runs one method on a set and prints its seconds without reading, the largest memory of the process in MiB and the
// share of samples whose cluster is the one of their class.
func runMethod(args []string) error {
	f := flag.NewFlagSet("method", flag.ExitOnError)
	data := f.String("data", "", "data set (.npz) with labels")
	name := f.String("name", "", "method")
	if err := f.Parse(args); err != nil {
		return err
	}
	set, err := dataset.Open(context.Background(), []string{*data}, dataset.Options{Float: 32, MaxBytes: 16 << 30})
	if err != nil {
		return err
	}
	clusters, err := classesOf(set, *data)
	if err != nil {
		return err
	}
	fit := func(views []largemvc.View, preset presets.Preset) ([]int, error) {
		c, err := largemvc.Fit(context.Background(), views, preset.Of(largemvc.Config{Clusters: clusters}))
		if err != nil {
			return nil, err
		}
		return c.Labels, nil
	}
	var run func() ([]int, error)
	switch *name {
	case defaultFit, paperFit:
		views := viewsOf(set)
		preset := presets.Default
		if *name == paperFit {
			preset = presets.Paper
		}
		run = func() ([]int, error) { return fit(views, preset) }
	default:
		all := baseline.Methods()
		at := slices.IndexFunc(all, func(m baseline.Method) bool { return m.Name == *name })
		if at < 0 {
			return fmt.Errorf("no method %q: there are %s", *name, strings.Join(methodNames(), ", "))
		}
		var views []mat.Matrix
		for _, x := range set.Views {
			views = append(views, mat.NewDense(x.Rows, x.Cols, kernel.Float64s(x.Float32)))
		}
		run = func() ([]int, error) { return all[at].Run(context.Background(), views, clusters, 0) }
	}
	began := time.Now()
	labels, err := run()
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	scores, err := largemvc.Evaluate(set.Labels, labels)
	if err != nil {
		return err
	}
	fmt.Println(seconds, peakMiB(), scores.ACC)
	return nil
}

// classesOf returns the number of classes of a set.
func classesOf(set *dataset.Set, name string) (int, error) {
	classes := len(slices.Compact(slices.Sorted(slices.Values(set.Labels))))
	if classes < 2 {
		return 0, fmt.Errorf("%s has no classes to compare with", name)
	}
	return classes, nil
}

func viewsOf(set *dataset.Set) []largemvc.View {
	var views []largemvc.View
	for _, x := range set.Views {
		views = append(views, largemvc.DenseView(x.Rows, x.Cols, x.Float32))
	}
	return views
}
