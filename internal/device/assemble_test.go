package device

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/driver"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// assembler is the version of ptxas that testdata/registers.txt is of. Others give other numbers.
const assembler = "release 11.8"

// properties are what ptxas -v prints of a kernel: its name, its card, and registers with shared memory.
var properties = regexp.MustCompile(`(?s)entry function '(\w+)' for '(\w+)'.*?Used (\d+) registers([^\n]*)`)

// TestAssembles: ptxas, where it exists, assembles every kernel without spilling registers, for cards of data centres and of
// desks, and a kernel has the registers and the shared memory that are committed. (For sm_70 ptxas spills one register of
// selu_cotangent.)
func TestAssembles(t *testing.T) {
	ptxas := testutil.Program(t, "ptxas", "the kernels are not assembled for a card (it is part of CUDA)")
	paths, err := filepath.Glob("kernels/*.ptx.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var table []string
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		module := strings.TrimSuffix(filepath.Base(path), ".ptx.gz")
		path = filepath.Join(t.TempDir(), module+".ptx")
		if err := os.WriteFile(path, []byte(driver.Text(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arch := range []string{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90"} {
			if arch == "sm_75" && strings.Contains(module, "tensor") {
				continue // not for that card
			}
			out, err := exec.Command(ptxas, "-arch="+arch, "-v", "-o", filepath.Join(t.TempDir(), "x"), path).CombinedOutput()
			if err != nil {
				t.Errorf("%s for %s: %v\n%s", path, arch, err, out)
				continue
			}
			kernels := strings.Count(string(out), "spill stores")
			if kernels == 0 || kernels != strings.Count(string(out), ", 0 bytes spill stores, 0 bytes spill loads") {
				t.Errorf("%s for %s spills registers:\n%s", path, arch, out)
			}
			table = append(table, registers(module, string(out))...)
		}
	}
	checkRegisters(t, ptxas, table)
}

// registers are the lines of the table for one module and one card.
func registers(module, printed string) (lines []string) {
	for _, m := range properties.FindAllStringSubmatch(printed, -1) {
		shared := "0"
		if _, after, ok := strings.Cut(m[4], ", "); ok && strings.Contains(after, " bytes smem") {
			fields := strings.Fields(after[:strings.Index(after, " bytes smem")])
			shared = fields[len(fields)-1]
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s", m[2], module, m[1], m[3], shared))
	}
	slices.Sort(lines)
	return lines
}

// checkRegisters compares the table with the committed one. LARGEMVC_REGISTERS=FILE writes it there.
func checkRegisters(t *testing.T, ptxas string, table []string) {
	t.Helper()
	text := "# card, module, kernel, registers of a thread, bytes of shared memory of a block; ptxas " + assembler + "\n" +
		strings.Join(table, "\n") + "\n"
	if to := os.Getenv("LARGEMVC_REGISTERS"); to != "" {
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(ptxas, "--version").Output(); err != nil || !strings.Contains(string(out), assembler) {
		t.Logf("the registers are not compared: testdata/registers.txt is of ptxas %s; %v", assembler, err)
		return
	}
	want, err := os.ReadFile(filepath.Join("testdata", "registers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(string(want), "\n")
	for _, line := range strings.Split(text, "\n") {
		if !slices.Contains(was, line) {
			t.Errorf("not in testdata/registers.txt: %s", line)
		}
	}
	if len(was) != strings.Count(text, "\n")+1 {
		t.Errorf("testdata/registers.txt has %d lines, want %d", len(was), strings.Count(text, "\n")+1)
	}
}
