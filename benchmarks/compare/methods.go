package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/benchmarks/internal/sides"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/baseline"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/score"
)

const (
	defaultFit = "largemvc, default preset"
	paperFit   = "largemvc, paper preset"
)

// methodNames are those of the table of methods, in its order.
func methodNames() []string {
	names := []string{defaultFit, paperFit}
	for _, m := range baseline.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// compareMethods writes a table of what users would pick instead: for each set and method the time, the memory and how well the
// clusters agree with the classes. Every method is run once, in a process of its own that reads the set too; the processor's time
// and the memory are those of the process.
func compareMethods(out io.Writer, data string, sets []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| set | method | s | processor, s | MiB | ACC, % |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	for _, set := range sets {
		for _, name := range methodNames() {
			cmd := exec.Command(self, "method", "-data", filepath.Join(data, set+".npz"), "-name", name)
			cmd.Stderr = os.Stderr
			text, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s on %s: %w", name, set, err)
			}
			var seconds, mib, accuracy float64
			if _, err := fmt.Sscan(string(text), &seconds, &mib, &accuracy); err != nil {
				return fmt.Errorf("%s on %s says %q: %w", name, set, text, err)
			}
			processor := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			fmt.Fprintf(out, "| %s | %s | %.1f | %.1f | %.0f | %.1f |\n",
				set, name, seconds, processor.Seconds(), mib, 100*accuracy)
		}
	}
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
	set, err := dataset.Open(*data, dataset.Options{Float: 32, MaxBytes: 16 << 30})
	if err != nil {
		return err
	}
	classes := slices.Clone(set.Labels)
	clusters := len(slices.Compact(slices.Sorted(slices.Values(classes))))
	if clusters < 2 {
		return fmt.Errorf("%s has no classes to compare with", *data)
	}
	fit := func(views []largemvc.View, preset largemvc.Preset) ([]int, error) {
		c, err := largemvc.Fit(context.Background(), views, largemvc.Config{Clusters: clusters, Preset: preset})
		if err != nil {
			return nil, err
		}
		return c.Labels, nil
	}
	var run func() ([]int, error)
	switch *name {
	case defaultFit, paperFit:
		var views []largemvc.View
		for _, x := range set.Views {
			views = append(views, largemvc.Float32View(x.Rows, x.Cols, x.Float32))
		}
		preset := largemvc.PresetDefault
		if *name == paperFit {
			preset = largemvc.PresetPaper
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
	table, err := score.NewContingency(classes, labels)
	if err != nil {
		return err
	}
	accuracy, err := table.Accuracy()
	if err != nil {
		return err
	}
	fmt.Println(seconds, sides.PeakMiB(), accuracy)
	return nil
}
