// Command insncount tells how many instructions the arm64 kernels take, for want of a machine to time them on. It needs
// qemu-aarch64 with plugins and a C compiler (Debian: qemu-user, gcc):
//
//	cd tools && go run ./insncount          # instructions run for each multiply-add or element, by path, in an emulator
//	cd tools && go run ./insncount -loops   # instructions in the inner loops, read from the assembly
//
// The first builds the benchmarks of internal/kernel for arm64, runs each twice with different numbers of turns, and divides
// the difference of what was counted in the package's functions; what a benchmark prepares thus drops out.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed plugin/count.c
var plugin []byte

const kernels = "../internal/kernel"

func main() {
	loops := flag.Bool("loops", false, "count in the inner loops of the assembly, without an emulator")
	flag.Parse()
	run := emulate
	if *loops {
		run = readLoops
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "insncount:", err)
		os.Exit(1)
	}
}

// work is a benchmark and the multiply-adds or elements of one turn.
type work struct {
	benchmark, name, elem string
	per                   string
	count                 int
}

func works() []work {
	var w []work
	for _, s := range [][3]int{{96, 784, 10}, {96, 944, 100}, {96, 100, 100}, {96, 10, 10}} {
		for _, elem := range []string{"float32", "float64"} {
			for _, b := range []string{"Mul", "TMulAdd"} {
				shape := fmt.Sprintf("n=%d/d=%d/m=%d", s[0], s[1], s[2])
				name := fmt.Sprintf("%s/%s/%s", b, shape, elem)
				w = append(w, work{name, b + " " + shape, elem, "multiply-add", s[0] * s[1] * s[2]})
			}
		}
	}
	for _, b := range []string{"RowScale", "RowLerp", "RowResidual", "Threshold", "ThresholdGrad", "SquaredDistance"} {
		w = append(w, work{"Rows/" + b + "/96x112", b, "float32", "element", 96 * 112})
	}
	return w
}

func emulate() error {
	dir, err := os.MkdirTemp("", "insncount")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, library, tests := filepath.Join(dir, "count.c"), filepath.Join(dir, "count.so"), filepath.Join(dir, "tests")
	if err := os.WriteFile(source, plugin, 0o600); err != nil {
		return err
	}
	if err := quietly(exec.Command("cc", "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", library, source)); err != nil {
		return err
	}
	build := exec.Command("go", "test", "-c", "-o", tests, ".")
	build.Dir = kernels
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	if err := quietly(build); err != nil {
		return err
	}
	fmt.Println("| work | type | per | portable | NEON | fewer |\n|---|---|---|---|---|---|")
	for _, w := range works() {
		var per [2]float64
		for i, path := range []string{"portable", "neon"} {
			few, err := count(library, tests, w.benchmark+"/"+path, 2)
			if err != nil {
				return err
			}
			many, err := count(library, tests, w.benchmark+"/"+path, 6)
			if err != nil {
				return err
			}
			per[i] = float64(many-few) / 4 / float64(w.count)
		}
		fmt.Printf("| %s | %s | %s | %.2f | %.2f | %.1f× |\n", w.name, w.elem, w.per, per[0], per[1], per[0]/per[1])
	}
	return nil
}

// count runs a benchmark for some turns and returns the instructions that it ran in functions of the package.
func count(library, tests, benchmark string, turns int) (int, error) {
	pattern := "^Benchmark" + strings.ReplaceAll(benchmark, "/", "$/^") + "$"
	c := exec.Command("qemu-aarch64", "-plugin", library+",prefix=github.com/largemvc/largemvc/internal/kernel.",
		tests, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", fmt.Sprint(turns, "x"))
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", benchmark, err, &stderr)
	}
	if !strings.Contains(stdout.String(), "Benchmark") {
		return 0, fmt.Errorf("no benchmark %s", benchmark)
	}
	_, number, ok := strings.Cut(stderr.String(), "instructions ")
	if !ok {
		return 0, fmt.Errorf("%s: the plugin said nothing", benchmark)
	}
	return strconv.Atoi(strings.TrimSpace(number))
}

// quietly runs a command and shows its output only where it fails.
func quietly(c *exec.Cmd) error {
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}
