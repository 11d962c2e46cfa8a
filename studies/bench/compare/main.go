// Command compare times this library beside the literal PyTorch network, with the same data and shapes. It alternates epochs in
// one run, and reports medians and the peak memory of the whole process, as a Markdown table.
//
//	go run -C studies ./bench/compare [-data FOLDER] [-rounds 3] [-only mnist] [-python /usr/bin/python3]
//
// With -methods it times whole fits, and other methods of linear cost, on sets with classes, and draws time against accuracy:
//
//	go run -C studies ./bench/compare -data FOLDER -methods mnist3v,mnistusps -figure methods.svg
//
// This includes scikit-learn and PyTorch if Python has them.
//
// With -own it times whole fits, new samples and memory of this library, each in a separate process:
//
//	go run -C studies ./bench/compare -data FOLDER -own all
//
// Epochs need a Python with numpy and torch; without them only this library is measured. -data has folders, separated by
// commas, with mnist3v.npz and msrcv1.npz; synthetic data of the same shapes replace missing files.
package main

import (
	_ "embed" // of the script
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/studies/internal/sets"
	"github.com/largemvc/largemvc/studies/internal/work"
)

// workload is a row of the table.
type workload struct {
	name   string
	set    string // "", or absent from the data: made
	n      int
	dims   []int
	m      int
	torchN int // rows that PyTorch gets where n do not fit; its time is scaled
	epochs int // per turn
}

var workloads = []workload{
	{name: "10,000 × (784, 392, 160), m = 10", n: 10000, dims: []int{784, 392, 160}, m: 10, epochs: 5},
	{name: "mnist3v: 60,000 × (784, 392, 160), m = 10", set: "mnist3v", n: 60000,
		dims: []int{784, 392, 160}, m: 10, epochs: 5},
	{name: "195,537 × (944, 576, 512, 640), m = 100", n: 195537, dims: []int{944, 576, 512, 640}, m: 100,
		torchN: 20000, epochs: 1},
	{name: "9,144 × (48, 40, 254, 1984, 512, 928), m = 102", n: 9144,
		dims: []int{48, 40, 254, 1984, 512, 928}, m: 102, epochs: 5},
	{name: "msrcv1: 210 × 6 views, m = 7", set: "msrcv1", n: 210,
		dims: []int{1302, 48, 512, 100, 256, 210}, m: 7, epochs: 20},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 {
		run := map[string]func([]string) error{"child": runChild, "method": runMethod, "own": runOwn}[os.Args[1]]
		if run != nil {
			return run(os.Args[2:])
		}
	}
	data := flag.String("data", "", "folders with mnist3v.npz and msrcv1.npz, separated by commas")
	rounds := flag.Int("rounds", 3, "turns of each side")
	only := flag.String("only", "", "only workloads, or methods, whose name contains this")
	python := flag.String("python", "python3", "Python with numpy and torch; for -methods also scikit-learn")
	of := flag.String("methods", "",
		"in place of epochs, compare whole fits with other methods on these `sets` of the folder, separated by commas")
	figure := flag.String("figure", "", "with -methods: draw time against accuracy into this SVG `file`")
	runs := flag.Int("runs", 3, "with -methods: runs of each method, with other seeds and orders of the samples")
	limit := flag.Duration("limit", 10*time.Minute,
		"with -methods: the longest fit in PyTorch that is done whole; of longer ones the time is told from the first epochs")
	own := flag.String("own", "", "in place of epochs, measure these `rows` of this library alone, separated by commas: "+
		strings.Join(ownNames(), ", ")+"; or all")
	flag.Parse()
	if *own != "" {
		return compareOwn(os.Stdout, *own, *data)
	}
	if *of != "" {
		return compareMethods(os.Stdout, &methods{data: *data, python: *python, only: *only, figure: *figure, limit: *limit,
			runs: max(1, *runs), sets: strings.Split(*of, ",")})
	}
	return compare(os.Stdout, *data, *only, *python, *rounds)
}

func compare(out io.Writer, data, only, python string, rounds int) error {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	torch := exec.Command(python, "-c", "import numpy, torch").Run() == nil
	if !torch {
		fmt.Fprintf(os.Stderr, "compare: %s has no numpy and torch: this library alone\n", python)
	}
	peak := float64(runtime.GOMAXPROCS(0)) * kernel.PeakFMA[float32](0.2)
	fmt.Fprintf(out, "%d cores, kernels %s, float32 multiply-add peak %.0f GFLOP/s\n\n",
		runtime.GOMAXPROCS(0), kernel.Path(), peak)
	fmt.Fprintln(out, "| work | largemvc, s/epoch | PyTorch, s/epoch | faster | of the peak "+
		"| largemvc, MiB | PyTorch, MiB |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, w := range workloads {
		if !strings.Contains(w.name, only) {
			continue
		}
		row, err := w.measure(dir, data, python, torch, rounds, peak)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintln(out, row)
	}
	return nil
}

// measure runs both sides in turns.
func (w workload) measure(dir, data, python string, torch bool, rounds int, peak float64) (string, error) {
	file := sets.Find(data, w.set)
	if _, err := os.Stat(file); w.set == "" || data == "" || err != nil {
		if file, err = makeData(dir, w.n, w.dims); err != nil {
			return "", err
		}
		defer os.Remove(file)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	own, err := startSide(exec.Command(self, "child", "-data", file, "-m", strconv.Itoa(w.m)))
	if err != nil {
		return "", err
	}
	defer own.stop()
	sides := []*side{own}
	var other *side
	if torch {
		if other, err = w.startTorch(dir, file, python); err != nil {
			return "", err
		}
		defer other.stop()
		sides = append(sides, other)
	}
	times := make([][]float64, 2)
	for r := range rounds + 1 { // the first turn warms up
		for k, s := range sides {
			t, err := s.epochs(w.epochs)
			if err != nil {
				return "", err
			}
			if r > 0 {
				times[k] = append(times[k], t...)
			}
		}
	}
	return w.row(own, other, median(times[0]), w.scale()*median(times[1]), peak)
}

// scale is the number of rows of this library's side for each of PyTorch's.
func (w workload) scale() float64 {
	if w.torchN > 0 {
		return float64(w.n) / float64(w.torchN)
	}
	return 1
}

// startTorch starts PyTorch on a file, or on made rows where it gets fewer.
func (w workload) startTorch(dir, file, python string) (*side, error) {
	if w.torchN > 0 {
		var err error
		if file, err = makeData(dir, w.torchN, w.dims); err != nil {
			return nil, err
		}
		defer os.Remove(file) // which is read before the side is ready
	}
	path, err := writeScript(dir, "torch_child.py", script)
	if err != nil {
		return nil, err
	}
	c := exec.Command(python, path, file, strconv.Itoa(w.m), "2")
	c.Env = work.PythonEnv()
	return startSide(c)
}

func (w workload) row(own, other *side, ours, theirs, peak float64) (string, error) {
	memory, err := own.quit()
	if err != nil {
		return "", err
	}
	flop := 0.0
	for _, d := range w.dims {
		flop += 8 * 2 * float64(w.n) * float64(w.m) * float64(d) // 4L products
	}
	cells := []string{w.name, fmt.Sprintf("%.4f", ours), "", "",
		fmt.Sprintf("%.0f %%", 100*flop/ours/1e9/peak), fmt.Sprintf("%.0f", memory), ""}
	if other != nil {
		theirMemory, err := other.quit()
		if err != nil {
			return "", err
		}
		mark := ""
		if w.torchN > 0 {
			mark = " (from " + strconv.Itoa(w.torchN) + " rows)"
		}
		cells[2], cells[3], cells[6] = fmt.Sprintf("%.3f%s", theirs, mark), fmt.Sprintf("%.1f×", theirs/ours),
			fmt.Sprintf("%.0f%s", theirMemory, mark)
	}
	return "| " + strings.Join(cells, " | ") + " |", nil
}

//go:embed torch_child.py
var script string
