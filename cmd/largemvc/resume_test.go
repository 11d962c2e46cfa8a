package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoCheckpoint: what cannot be gone on from is said before the data are read, which here are not even there.
func TestNoCheckpoint(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	model, state := filepath.Join(folder, "model"), filepath.Join(folder, "state")
	status, _, stderr := runLine("fit", "-data", path, "-quiet", "-epochs", "1", "-save", model, "-checkpoint", state)
	if status != exitOK {
		t.Fatal(stderr)
	}
	whole := contents(t, state)
	damaged := filepath.Join(folder, "damaged")
	if err := os.WriteFile(damaged, []byte(whole[:len(whole)-9]), 0o644); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(folder, "table.csv")
	if err := os.WriteFile(table, []byte("a,b,c\n1,2,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for resume, want := range map[string]string{
		filepath.Join(folder, "none"): "no such file",
		folder:                        "cannot be resumed",
		path:                          "give a file that -checkpoint wrote",
		table:                         "is not a checkpoint of a training of largemvc; it looks like a text, as CSV is",
		model:                         "the file is a model of largemvc, not a checkpoint of a training",
		damaged:                       "cannot be resumed",
	} {
		status, stdout, stderr := runLine("fit", "-data", "nothing.npz", "-quiet", "-resume", resume)
		checkFailure(t, resume, exitError, status, stdout, stderr, want)
	}
}

// TestResumeFloat: a training goes on in its own precision, and another one is refused before the data are read.
func TestResumeFloat(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	for _, c := range []struct {
		was, other string
		want       float64
	}{{"false", "true", 32}, {"true", "false", 64}} {
		state := filepath.Join(folder, c.was)
		status, _, stderr := runLine("fit", "-data", path, "-quiet", "-epochs", "1", "-checkpoint", state, "-set",
			"Float64="+c.was)
		if status != exitOK {
			t.Fatal(stderr)
		}
		status, stdout, stderr := runLine("fit", "-data", "nothing.npz", "-resume", state, "-set", "Float64="+c.other)
		checkFailure(t, c.other, exitError, status, stdout, stderr, "give -set Float64="+c.was)
		for _, args := range [][]string{nil, {"-set", "Float64=" + c.was}} {
			args = append([]string{"fit", "-data", path, "-quiet", "-json", "-resume", state, "-epochs", "2"}, args...)
			status, stdout, stderr := runLine(args...)
			if status != exitOK || object(t, stdout)["float"] != c.want {
				t.Errorf("%v: %s%s", args, stdout, stderr)
			}
		}
		if c.was == "64" {
			status, stdout, stderr := runLine("fit", "-data", "nothing.npz", "-resume", state, "-epochs", "2", "-from-disk")
			checkFailure(t, "-from-disk", exitError, status, stdout, stderr,
				"in float64, and rows from disk or with -mpi are read in float32")
		}
	}
}

// TestResumeConfig: a training goes on with its settings in a file, and other settings are named with both values.
func TestResumeConfig(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	state, file := filepath.Join(folder, "state"), filepath.Join(folder, "c.json")
	start := writeText(t, "start.csv", "label\n"+strings.Repeat("0\n1\n2\n", 10))
	for _, more := range [][]string{nil, {"-start", "careful"}, {"-preset", "paper"}, {"-start", start, "-id", "none"},
		{"-set", "FitSamples=20"}} {
		status, _, stderr := runLine(append([]string{"fit", path, "-quiet", "-epochs", "1", "-checkpoint", state, "-overwrite",
			"-write-config", file}, more...)...)
		if status != exitOK {
			t.Fatal(stderr)
		}
		if status, _, stderr := runLine("fit", "-quiet", "-config", file, "-resume", state, "-epochs", "2"); status != exitOK {
			t.Errorf("%v: %s", more, stderr)
		}
		for old, change := range map[string][2]string{
			`"Layers": 2`: {`"Layers": 3`, "Layers was 2 and is 3 now"}, `"Seed": 0`: {`"Seed": 7`, "Seed was 0 and is 7"},
			`"Anchors": 0`:  {`"Anchors": 2`, "Anchors was 3 and is 2 now"},
			`"Clusters": 3`: {`"clusters": 2`, "Clusters was 3 and is 2"},
		} {
			other := writeText(t, "other.json", strings.Replace(contents(t, file), old, change[0], 1))
			status, stdout, stderr := runLine("fit", "-quiet", "-config", other, "-resume", state, "-epochs", "3")
			checkFailure(t, fmt.Sprint(more, old), exitError, status, stdout, stderr, change[1])
		}
		status, stdout, stderr := runLine("fit", "-quiet", "-config", file, "-resume", state, "-seed", "0")
		checkFailure(t, "a flag", exitUsage, status, stdout, stderr, "-seed cannot be given with -resume")
	}
}
