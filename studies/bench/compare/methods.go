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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/studies/internal/baseline"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

const (
	defaultFit = "largemvc, default preset"
	paperFit   = "largemvc, paper preset"
	startFit   = "largemvc, initial clustering"
)

// methods holds the settings of compareMethods.
type methods struct {
	data, python, only, figure string
	sets                       []string
	runs                       int
	limit                      time.Duration // of a fit in PyTorch
}

// outcome is the result of a run of a method, or the mean of several.
type outcome struct {
	method                  string
	seconds, processor, mib float64
	accuracy, nmi           float64 // from 0 to 1; NaN: unknown
	deviation               float64 // of the accuracies of several runs
	note                    string
}

// mean returns the means of runs, and the largest memory.
func mean(runs []*outcome) outcome {
	out, n := outcome{note: runs[0].note}, float64(len(runs))
	for _, o := range runs {
		out.seconds += o.seconds / n
		out.processor += o.processor / n
		out.accuracy += o.accuracy / n
		out.nmi += o.nmi / n
		out.mib = max(out.mib, o.mib)
	}
	for _, o := range runs {
		out.deviation += (o.accuracy - out.accuracy) * (o.accuracy - out.accuracy) / n
	}
	out.deviation = math.Sqrt(out.deviation)
	return out
}

// methodNames returns the names of the methods in Go, in the order of the table.
func methodNames() []string {
	names := []string{defaultFit, startFit, paperFit}
	for _, m := range baseline.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// compareMethods writes a table of alternatives to this library. For each set and method it has the time, the memory and the
// agreement of the clusters with the classes. Every run of a method is a separate process that also reads the set, with another
// seed and another random order of the samples. The processor's time and the memory are of the whole process.
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
	others, versions, err := m.inPython(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d runs of each, with other seeds and orders of the samples; %s, %d cores, kernels %s%s\n\n", m.runs,
		runtime.Version(), runtime.NumCPU(), kernel.Path(), versions)
	fmt.Fprintln(out, "| set | method | s | processor, s | MiB | ACC, % | ± | NMI, % |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	var methods []peer
	for _, name := range methodNames() {
		methods = append(methods, peer{name, func(file string, seed int) (*outcome, error) {
			o := &outcome{}
			cmd := exec.Command(self, "method", "-data", file, "-name", name, "-seed", strconv.Itoa(seed))
			return o, o.read(cmd, &o.seconds, &o.mib, &o.accuracy, &o.nmi)
		}})
	}
	methods = append(methods, others...)
	panels := make([][]outcome, len(m.sets))
	for q, set := range m.sets {
		files := make([]string, m.runs)
		for seed := range files {
			files[seed] = filepath.Join(dir, fmt.Sprintf("%s-%d.npz", set, seed))
			if err := inRandomOrder(sets.Find(m.data, set), files[seed], seed); err != nil {
				return err
			}
		}
		for _, p := range methods {
			if !strings.Contains(p.name, m.only) {
				continue
			}
			runs := make([]*outcome, m.runs)
			for seed, file := range files {
				if runs[seed], err = p.run(file, seed); err != nil {
					return fmt.Errorf("%s on %s: %w", p.name, set, err)
				}
			}
			o := mean(runs)
			o.method = p.name
			panels[q] = append(panels[q], o)
			quality := "– | – | –"
			if !math.IsNaN(o.accuracy) {
				quality = fmt.Sprintf("%.1f | %.1f | %.1f", 100*o.accuracy, 100*o.deviation, 100*o.nmi)
			}
			_, err := fmt.Fprintf(out, "| %s | %s%s | %.1f | %.1f | %.0f | %s |\n",
				set, p.name, o.note, o.seconds, o.processor, o.mib, quality)
			if err != nil {
				return err
			}
		}
	}
	if m.figure == "" {
		return nil
	}
	return saveFigure(m.figure, m.sets, panels)
}

// inRandomOrder writes a set to another file, its samples in a random order for each seed.
func inRandomOrder(from, to string, seed int) error {
	set, _, err := openSet(from)
	if err != nil {
		return err
	}
	order, classes := randomOrder(set.Samples(), seed), slices.Clone(set.Labels)
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
// accuracy and NMI of its clusters.
func runMethod(args []string) error {
	f := flag.NewFlagSet("method", flag.ExitOnError)
	data := f.String("data", "", "data set (.npz) with labels")
	name := f.String("name", "", "method")
	seed := f.Uint64("seed", 0, "seed")
	if err := f.Parse(args); err != nil {
		return err
	}
	set, clusters, err := openSet(*data)
	if err != nil {
		return err
	}
	var run func() ([]int, error)
	switch *name {
	case defaultFit, paperFit, startFit:
		run = fitOf(*name, viewsOf(set), largemvc.Config{Clusters: clusters, Seed: *seed})
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
		run = func() ([]int, error) { return all[at].Run(context.Background(), views, clusters, *seed) }
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
	fmt.Println(seconds, peakMiB(), scores.ACC, scores.NMI)
	return nil
}

// fitOf returns what makes the labels of a fit of this library, or the initial clustering of the default preset, without judging
// the structure and without the training.
func fitOf(name string, views []largemvc.View, c largemvc.Config) func() ([]int, error) {
	preset := presets.Default
	if name == paperFit {
		preset = presets.Paper
	}
	c = preset.Of(c)
	if name == startFit {
		c.Epochs, c.NoStructure = largemvc.None, true
	}
	return func() ([]int, error) {
		fitted, err := largemvc.Fit(context.Background(), views, c)
		switch {
		case err != nil:
			return nil, err
		case name == startFit:
			return fitted.StartLabels, nil
		}
		return fitted.Labels, nil
	}
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
