package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/presets"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// ownRow is a row of the table of this library alone.
type ownRow struct {
	name string
	run  func(r *ownRun) error
}

var ownRows = []ownRow{
	{"fit", (*ownRun).wholeFit},
	{"labels", (*ownRun).landmarkLabels},
	{"one", (*ownRun).oneWithLandmarks},
	{"one-exact", (*ownRun).oneExact},
	{"memory", (*ownRun).memory},
	{"memory-overwrite", (*ownRun).memoryOverwrite},
	{"stages", (*ownRun).stages},
}

func ownNames() []string {
	var names []string
	for _, r := range ownRows {
		names = append(names, r.name)
	}
	return names
}

// ownRun measures one row in a separate process.
type ownRun struct {
	data   string // folder
	epochs int    // of whole fits
	out    io.Writer
}

// compareOwn writes the rows of whole fits, new samples and memory, each measured in a process of its own.
func compareOwn(out io.Writer, names, data string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	wanted := strings.Split(names, ",")
	if names == "all" {
		wanted = ownNames()
	}
	for _, name := range wanted {
		if !slices.Contains(ownNames(), name) {
			return fmt.Errorf("no row %q: there are %s, and all", name, strings.Join(ownNames(), ", "))
		}
	}
	fmt.Fprintln(out, "| what | figure |")
	fmt.Fprintln(out, "|---|---|")
	for _, name := range wanted {
		cmd := exec.Command(self, "own", "-row", name, "-data", data)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// runOwn measures one row and prints it.
func runOwn(args []string) error {
	f := flag.NewFlagSet("own", flag.ExitOnError)
	r := &ownRun{out: os.Stdout}
	name := f.String("row", "", "the row")
	f.StringVar(&r.data, "data", "", "folders with mnist3v.npz and msrcv1.npz, separated by commas")
	f.IntVar(&r.epochs, "epochs", 0, "epochs of whole fits; 0: as their presets have")
	if err := f.Parse(args); err != nil {
		return err
	}
	at := slices.IndexFunc(ownRows, func(x ownRow) bool { return x.name == *name })
	if at < 0 {
		return fmt.Errorf("no row %q", *name)
	}
	return ownRows[at].run(r)
}

func (r *ownRun) print(what, format string, values ...any) error {
	_, err := fmt.Fprintf(r.out, "| %s | %s |\n", what, fmt.Sprintf(format, values...))
	return err
}

// shuffled reads a set, its samples in random order.
func (r *ownRun) shuffled(name string) (*samples, error) {
	s, err := read(r.data, name)
	if err != nil {
		return nil, err
	}
	order := randomOrder(s.n, 0)
	for v, d := range s.dims {
		s.x[v] = reordered(order, s.x[v], d)
	}
	return s, nil
}

// randomOrder is an order of n samples, the same every time for a seed.
func randomOrder(n, seed int) []int { return rand.New(rand.NewPCG(1, 2+uint64(seed))).Perm(n) }

// reordered returns rows of d values in an order.
func reordered(order []int, x []float32, d int) []float32 {
	out := make([]float32, len(x))
	for to, from := range order {
		copy(out[to*d:(to+1)*d], x[from*d:])
	}
	return out
}

// read reads a set, its samples in the order of the file.
func read(folder, name string) (*samples, error) {
	set, err := dataset.Open(context.Background(), []string{sets.Find(folder, name)},
		dataset.Options{Float: 32, NoLabels: true})
	if err != nil {
		return nil, err
	}
	s := &samples{n: set.Views[0].Rows}
	for _, v := range set.Views {
		s.dims, s.x = append(s.dims, v.Cols), append(s.x, v.Float32)
	}
	return s, nil
}

// samples are dense views.
type samples struct {
	n    int
	dims []int
	x    [][]float32
}

// part returns samples from lo to hi−1 as views.
func (s *samples) part(lo, hi int) []largemvc.View {
	var out []largemvc.View
	for v, d := range s.dims {
		out = append(out, largemvc.DenseView(hi-lo, d, s.x[v][lo*d:hi*d]))
	}
	return out
}

func (s *samples) all() []largemvc.View { return s.part(0, s.n) }

// spent holds seconds of the clock and of the processor.
type spent struct{ clock, processor float64 }

func (s spent) over(t spent) spent { return spent{s.clock / t.clock, s.processor / t.processor} }

func (s spent) String() string { return fmt.Sprintf("%.4g (processor %.4g)", s.clock, s.processor) }

// timed measures f.
func timed(f func() error) (spent, error) {
	began, used := time.Now(), work.ProcessorTime().Seconds()
	err := f()
	return spent{time.Since(began).Seconds(), work.ProcessorTime().Seconds() - used}, err
}

// paperEpoch measures an epoch of the paper preset, with all work of a fit between epochs: the mean of some epochs after the first
// two.
func paperEpoch(views []largemvc.View, clusters int) (spent, error) {
	const count = 10
	config := presets.Paper.Of(largemvc.Config{Clusters: clusters, Epochs: count + 2})
	var began, ended spent
	start, used, done := time.Now(), work.ProcessorTime().Seconds(), 0
	config.Progress = func(e largemvc.Progress) error {
		if e.Training() {
			done++
			ended = spent{time.Since(start).Seconds(), work.ProcessorTime().Seconds() - used}
			if done == 2 {
				began = ended
			}
		}
		return nil
	}
	_, err := largemvc.Fit(context.Background(), views, config)
	if err == nil && done != config.Epochs {
		err = fmt.Errorf("the fit ended after %d epochs", done)
	}
	return spent{(ended.clock - began.clock) / count, (ended.processor - began.processor) / count}, err
}

// peak formats the largest memory of the process in MiB and in sizes of the data in float32.
func (s *samples) peak() string {
	size := 0.0
	for _, x := range s.x {
		size += float64(4 * len(x))
	}
	mib := peakMiB()
	return fmt.Sprintf("%.0f MiB, %.2f sizes of the data", mib, mib*(1<<20)/size)
}
