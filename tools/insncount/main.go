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
	"regexp"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/tools/internal/program"
)

//go:embed plugin/count.c
var plugin []byte

const kernels = "../internal/kernel"

func main() {
	loops := flag.Bool("loops", false, "count in the inner loops of the assembly, without an emulator")
	pattern := flag.String("run", "", "`PATTERN` of the names of the work to count, which is otherwise all")
	program.Arguments("insncount [flags]", 0)
	program.End("insncount", program.Failed, run(*loops, *pattern))
}

func run(loops bool, pattern string) error {
	if loops {
		return readLoops()
	}
	only, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	return emulate(only)
}

// work is a benchmark and the multiply-adds or elements of one turn.
type work struct {
	benchmark, name, elem string
	per                   string
	count                 int
	least                 float64 // instructions without which a multiply-add or element cannot be done
}

func works() []work {
	var all []work
	add := func(benchmark, name, per string, count int, least map[string]float64) {
		for _, elem := range []string{"float32", "float64"} {
			if x, ok := least[elem]; ok {
				all = append(all, work{benchmark + "/" + elem, name, elem, per, count, x})
			}
		}
	}
	product := map[string]float64{"float32": 1 / 4., "float64": 1 / 2.}
	for _, s := range [][3]int{{96, 784, 10}, {96, 944, 100}, {96, 100, 100}, {96, 10, 10}} {
		shape := fmt.Sprintf("n=%d/d=%d/m=%d", s[0], s[1], s[2])
		for _, b := range []string{"Mul", "TMulAdd"} {
			add(b+"/"+shape, b+" "+shape, "multiply-add", s[0]*s[1]*s[2], product)
		}
	}
	add("MulRowsT/n=48/m=48/k=784", "MulRowsT n=48/m=48/k=784", "multiply-add", 48*48*784, map[string]float64{"float64": 1 / 2.})
	for _, m := range []int{10, 100} {
		add(fmt.Sprintf("Sparse/Mul/m=%d", m), fmt.Sprintf("MulSparse m=%d", m), "multiply-add", 96*40*m, product)
		// Each multiply-add reads and writes an element of C of its own.
		add(fmt.Sprintf("Sparse/TMulAdd/m=%d", m), fmt.Sprintf("TMulAddSparse m=%d", m), "multiply-add", 96*40*m,
			map[string]float64{"float32": 3, "float64": 3})
	}
	for _, e := range elementwise {
		add("Rows/"+e.name+"/96x112", e.name, "element", 96*112, e.least())
	}
	return all
}

// steps is what vectors of elements must go through: operations in the element type, loads and stores of such vectors,
// operations in float64, loads and stores in float64, and conversions between the two.
type steps struct {
	name                                       string
	own, memory, wide, wideMemory, conversions float64
}

var elementwise = []steps{
	{name: "RowScale", own: 1, memory: 2},
	{name: "RowAxpy", own: 1, memory: 3},
	{name: "RowDiffAxpy", own: 2, memory: 4},
	{name: "RowLerp", own: 2, memory: 3},
	{name: "RowLerpAxpy", own: 2, memory: 4},
	{name: "RowSplit", own: 2, memory: 3},
	{name: "RowDot", memory: 2, wide: 1, conversions: 2},
	{name: "RowResidual", memory: 3, wide: 2, conversions: 3},
	{name: "Threshold", own: 8, memory: 3},
	{name: "ThresholdGrad", own: 9, memory: 2, wide: 1, conversions: 1},
	{name: "Sum", memory: 1, wide: 1, conversions: 1},
	{name: "SumSquares", memory: 1, wide: 2, conversions: 1},
	{name: "SquaredDistance", memory: 2, wide: 2, conversions: 2},
	{name: "Affine", memory: 2, wide: 2, conversions: 2},
	{name: "AddTo", memory: 1, wide: 1, wideMemory: 2, conversions: 1},
	{name: "Shrink", memory: 2, wide: 7, wideMemory: 1, conversions: 2},
	{name: "ShrinkGrad", memory: 4, wide: 12, conversions: 4},
}

// least counts the instructions for each element. A vector of float64 has two elements and a conversion treats two, of
// which float64 needs none; one instruction loads or stores four vectors.
func (s *steps) least() map[string]float64 {
	wide := s.wide/2 + s.wideMemory/8
	return map[string]float64{
		"float32": s.own/4 + s.memory/16 + wide + s.conversions/2,
		"float64": s.own/2 + s.memory/8 + wide,
	}
}

// emulate counts for the work whose names match.
func emulate(only *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "insncount")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, library, tests := filepath.Join(dir, "count.c"), filepath.Join(dir, "count.so"), filepath.Join(dir, "tests")
	if err := os.WriteFile(source, plugin, 0o600); err != nil {
		return err
	}
	if _, err := program.Run("", "cc", "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", library, source); err != nil {
		return err
	}
	build := exec.Command("go", "test", "-c", "-o", tests, ".")
	build.Dir = kernels
	build.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	if _, err := program.Output(build); err != nil {
		return err
	}
	fmt.Println("| work | type | per | portable | NEON | fewer | least |\n|---|---|---|---|---|---|---|")
	for _, w := range works() {
		if !only.MatchString(w.name) {
			continue
		}
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
		fmt.Printf("| %s | %s | %s | %.2f | %.2f | %.1f× | %.2f |\n", w.name, w.elem, w.per, per[0], per[1], per[0]/per[1], w.least)
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
