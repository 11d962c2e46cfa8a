// Command gpu times this library beside PyTorch on one NVIDIA GPU, in turns of one run: seconds an epoch, memory, and whole fits.
// PyTorch computes the network as the paper writes it (literal) and by this library's algebra (lean), each with TF32 off and on.
// First it compares the losses of small fits with those that the CPU gave, in reference.json.
//
//	go run -tags cuda ./benchmarks/gpu [-rounds 3] [-only 60,000] [-python python3]
//
// docs/gpu.md says how to build with the tag. Where there is no GPU it says so and ends. -make writes reference.json anew, by the
// CPU; -device cpu tries everything else without a GPU, in which no figure means anything.
package main

import (
	_ "embed" // of the script and the reference
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/benchmarks/internal/sides"
	"github.com/largemvc/largemvc/machine"
)

//go:embed torch_gpu.py
var script string

// workload is data and a network that are timed.
type workload struct {
	name  string
	n     int
	dims  []int
	m     int
	whole bool // fits are timed, too
}

var workloads = []workload{
	{"60,000 × (784, 392, 160), m = 10", 60000, []int{784, 392, 160}, 10, true},
	{"195,537 × (944, 576, 512, 640), m = 100", 195537, []int{944, 576, 512, 640}, 100, true},
	{"9,144 × (48, 40, 254, 1984, 512, 928), m = 102", 9144, []int{48, 40, 254, 1984, 512, 928}, 102, false},
}

const layers = 2

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		end(sides.RunChild(os.Args[2:]))
		return
	}
	rounds := flag.Int("rounds", 3, "turns of each side")
	epochs := flag.Int("epochs", 5, "epochs of a turn")
	only := flag.String("only", "", "only workloads whose name contains this")
	python := flag.String("python", "python3", "Python with numpy and torch")
	made := flag.Bool("make", false, "write reference.json by the CPU, to the current folder")
	device := machine.CUDA
	flag.TextVar(&device, "device", machine.CUDA, "cuda or cpu")
	flag.Parse()
	if *made {
		end(writeReference())
		return
	}
	if device == machine.CUDA {
		if card, err := cardName(); err != nil {
			fmt.Printf("nothing is measured: there is no NVIDIA GPU here (%v)\n", err)
			return
		} else {
			fmt.Println(card)
		}
	}
	end(errors.Join(compareWithReference(os.Stdout, device), timeAll(os.Stdout, device, *only, *python, *rounds, *epochs)))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

// cardName asks the driver's tool what is there.
func cardName() (string, error) {
	out, err := exec.Command("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader").Output()
	return strings.TrimSpace(string(out)), err
}

// timeAll prints a table with a line for each workload and side.
func timeAll(out io.Writer, device machine.Device, only, python string, rounds, epochs int) error {
	dir, err := os.MkdirTemp("", "gpu")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path, err := sides.Script(dir, "torch_gpu.py", script)
	if err != nil {
		return err
	}
	torch := exec.Command(python, "-c", "import numpy, torch").Run() == nil
	if !torch {
		fmt.Fprintf(out, "%s has no numpy and torch: this library alone\n", python)
	}
	fmt.Fprintln(out, "\n| work | side | ms an epoch, median | times this library's | memory, MiB |\n|---|---|---|---|---|")
	for _, w := range workloads {
		if !strings.Contains(w.name, only) {
			continue
		}
		if err := w.measure(out, dir, path, device, python, torch, rounds, epochs); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// contestant is a side of a comparison with what was measured of it.
type contestant struct {
	name  string
	cmd   *exec.Cmd
	side  *sides.Side
	times []float64
}

// measure runs the sides in turns. All of them are on the card at once, as they wait for their turns.
func (w workload) measure(out io.Writer, dir, path string, device machine.Device, python string, torch bool,
	rounds, epochs int) error {
	file, err := sides.MakeData(dir, w.n, w.dims)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	own := []string{"child", "-data", file, "-m", strconv.Itoa(w.m), "-layers", strconv.Itoa(layers), "-device", device.String()}
	list := []*contestant{{name: "largemvc", cmd: exec.Command(self, own...)}}
	if torch {
		on := "cuda:0"
		if device == machine.CPU {
			on = "cpu"
		}
		for _, kind := range []string{"literal", "lean"} {
			for _, tf32 := range []string{"off", "on"} {
				cmd := exec.Command(python, path, file, strconv.Itoa(w.m), strconv.Itoa(layers), kind, tf32, on)
				list = append(list, &contestant{name: "PyTorch, " + kind + ", TF32 " + tf32, cmd: cmd})
			}
		}
	}
	for _, c := range list {
		if c.side, err = sides.Start(c.cmd); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer c.side.Stop()
	}
	for r := range rounds + 1 { // the first turn warms up
		for _, c := range list {
			t, err := c.side.Epochs(epochs)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if r > 0 {
				c.times = append(c.times, t...)
			}
		}
	}
	base := sides.Median(list[0].times)
	for i, c := range list {
		used := memoryOf(c.cmd.Process.Pid)
		if _, err := c.side.Quit(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		ratio := ""
		if i > 0 {
			ratio = fmt.Sprintf("%.1f", sides.Median(c.times)/base)
		}
		fmt.Fprintf(out, "| %s | %s | %.2f | %s | %s |\n", w.name, c.name, 1e3*sides.Median(c.times), ratio, used)
	}
	if !w.whole {
		return nil
	}
	for _, preset := range [][]string{nil, {"-default"}} {
		answer, err := exec.Command(self, append(append(own[:len(own):len(own)], "-whole", "100"), preset...)...).Output()
		if err != nil {
			return fmt.Errorf("a whole fit: %w", err)
		}
		var fit, epoch, rest, mib float64
		if _, err := fmt.Sscan(string(answer), &fit, &epoch, &rest, &mib); err != nil {
			return err
		}
		name := "paper preset"
		if preset != nil {
			name = "default preset"
		}
		fmt.Fprintf(out, "\n%s, a whole fit of 100 epochs, %s: %.2f s, %.2f of them outside the epochs\n", w.name, name, fit,
			rest)
	}
	fmt.Fprintln(out)
	return nil
}

// memoryOf returns the device memory that a process has, in MiB, as the driver's tool tells.
func memoryOf(pid int) string {
	out, err := exec.Command("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if id, used, ok := strings.Cut(strings.TrimSpace(line), ", "); ok && id == strconv.Itoa(pid) {
			return used
		}
	}
	return "not told"
}
