// Package readme holds the Go programs of README.md, one per folder, character by character.
package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/synthetic"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// blocks returns every block of a language in a Markdown text.
func blocks(markdown, language string) (blocks []string) {
	for {
		_, rest, found := strings.Cut(markdown, "\n```"+language+"\n")
		if !found {
			return blocks
		}
		block, rest, _ := strings.Cut(rest, "```\n")
		blocks, markdown = append(blocks, block), rest
	}
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestREADMEHasThesePrograms(t *testing.T) {
	blocks := blocks(readme(t), "go")
	programs, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(blocks) != len(programs) {
		t.Errorf("README.md has %d Go blocks, and there are %d programs", len(blocks), len(programs))
	}
	for _, path := range programs {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, block := range blocks {
			found = found || block == string(program)
		}
		if !found {
			t.Errorf("%s is not in README.md to the letter", path)
		}
	}
}

// canonical numbers the clusters of a line of labels by their first samples.
func canonical(out string) string {
	names := map[rune]rune{}
	line, rest, _ := strings.Cut(out, "]")
	next := '0'
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return r
		}
		if _, ok := names[r]; !ok {
			names[r] = next
			next++
		}
		return names[r]
	}, line) + "]" + rest
}

// in runs a command in a folder and returns what it prints.
func in(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = folder
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestProgramInAModule does with the program what README says: an empty module that uses a clone.
func TestProgramInAModule(t *testing.T) {
	testutil.Long(t, "it builds a program in a module of its own")
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "main.go"), []byte(blocks(readme(t), "go")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	in(t, work, "go", "mod", "init", "example.com/mine")
	in(t, work, "go", "mod", "edit", "-replace", "github.com/largemvc/largemvc="+clone)
	in(t, work, "go", "mod", "tidy")
	out := in(t, work, "go", "run", ".")
	if got, want := canonical(out), "[0 1 2 0 1 2 0 1 2 0] [100 100 100]\n"; got != want {
		t.Errorf("it prints\n%swant, up to the numbers of the clusters,\n%s", out, want)
	}
}

// TestCommands runs the lines of README's command, and its program in Python, in a folder with the files that they name.
func TestCommands(t *testing.T) {
	testutil.Long(t, "it installs the command")
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell here")
	}
	work := t.TempDir()
	t.Setenv("GOBIN", work)
	t.Setenv("PATH", work+string(os.PathListSeparator)+os.Getenv("PATH"))
	write := func(name string, seed uint64, n int) {
		x, classes := synthetic.Views(seed, n, 3, 0.5, 12, 8)
		var arrays []dataset.Array
		for v, m := range x {
			_, d := m.Dims()
			arrays = append(arrays, dataset.Array{Name: fmt.Sprintf("X%d", v), Shape: []int{n, d}, Data: m.RawMatrix().Data})
		}
		if err := dataset.WriteNPZ(filepath.Join(work, name), false, arrays...); err != nil {
			t.Fatal(err)
		}
		other := "label\n" + strings.Trim(strings.ReplaceAll(fmt.Sprint(classes), " ", "\n"), "[]") + "\n"
		if err := os.WriteFile(filepath.Join(work, "other-labels.csv"), []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("new.mat", 1, 30)     // the content says what a file is, not its name
	write("mydata.mat", 1, 150) // with other-labels.csv
	install, lines, _ := strings.Cut(blocks(readme(t), "sh")[1], "\n")
	in(t, "../..", "sh", "-c", install)
	in(t, work, "sh", "-ec", lines)
	for _, name := range []string{"labels.csv", "model.safetensors", "report.html", "new-labels.csv", "new.html", "choose.svg"} {
		if info, err := os.Stat(filepath.Join(work, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is not written: %v", name, err)
		}
	}

	t.Run("python", func(t *testing.T) {
		python := testutil.Python(t, "sklearn")
		clone, err := filepath.Abs("../../python")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("PYTHONPATH", clone)
		t.Setenv("LARGEMVC_COMMAND", filepath.Join(work, "largemvc"))
		in(t, work, python, "-c", `import numpy
mine, new = numpy.load("mydata.mat"), numpy.load("new.mat")
images, texts, new_images, new_texts = mine["X0"], mine["X1"], new["X0"], new["X1"]
`+blocks(readme(t), "python")[0]+`
assert len(model.labels_) == 150 and len(model.predict({"images": new_images, "texts": new_texts})) == 30`)
	})
}
