//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// started starts the command in a folder, as a process of its own.
func started(t *testing.T, folder, args string) (c *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	c, said = exec.CommandContext(t.Context(), os.Args[0], strings.Fields(args)...), &bytes.Buffer{}
	c.Dir, c.Env, c.Stdout, c.Stderr = folder, append(os.Environ(), asCommand+"=1"), said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, said
}

// finished runs the command to its end and returns its status and what it said.
func finished(t *testing.T, folder, args string) (int, string) {
	t.Helper()
	c, said := started(t, folder, args)
	_ = c.Wait()
	return c.ProcessState.ExitCode(), said.String()
}

// TestKilled: a fit that is killed at any moment leaves each of its files as it was or as a fit that ends writes it, and a
// checkpoint from which -resume goes on to the same labels.
func TestKilled(t *testing.T) {
	kills := testutil.Few(3, 25)
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.Rename(writeSet(t, 60, true), in("set.npz")); err != nil {
		t.Fatal(err)
	}
	const fit = "fit -data set.npz -quiet -overwrite -checkpoint state -set Checkpoint.Every=1 -out out.csv -save model "
	files := []string{"out.csv", "model", "state"}
	before, after := map[string]string{}, map[string]string{}
	began := time.Now()
	for _, run := range []struct {
		args string
		seen map[string]string
	}{{"-epochs 3 -seed 7", before}, {"-epochs 30", after}} {
		began = time.Now()
		if status, said := finished(t, folder, fit+run.args); status != exitOK {
			t.Fatal(said)
		}
		for _, name := range files {
			run.seen[name] = modelOf(t, in(name))
		}
	}
	took, rng := time.Since(began), rand.New(rand.NewPCG(1, 2))
	counts := map[string]int{}
	for kill := range kills {
		if status, said := finished(t, folder, fit+"-epochs 3 -seed 7"); status != exitOK {
			t.Fatal(said)
		}
		c, _ := started(t, folder, fit+"-epochs 30")
		time.Sleep(time.Duration(rng.Float64() * float64(took)))
		_ = c.Process.Kill()
		_ = c.Wait()
		for _, name := range []string{"out.csv", "model"} {
			switch modelOf(t, in(name)) {
			case before[name]:
				counts[name+" of before"]++
			case after[name]:
				counts[name+" of after"]++
			default:
				t.Errorf("kill %d: %s is neither the old file nor the new one", kill, name)
			}
		}
		status, said := finished(t, folder, "fit -data set.npz -quiet -resume state -out resumed.csv -checkpoint other "+
			"-overwrite")
		switch resumed := contents(t, in("resumed.csv")); {
		case status != exitOK:
			t.Errorf("kill %d: -resume: %s", kill, said)
		case resumed == after["out.csv"]:
			counts["resumed to the labels"]++
		case resumed == before["out.csv"] && modelOf(t, in("state")) == before["state"]:
			counts["killed before the first checkpoint"]++
		default:
			t.Errorf("kill %d: other labels after -resume", kill)
		}
	}
	left, err := filepath.Glob(in("*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills: %v; %d temporary files left", kills, counts, len(left))
}

// modelOf is the content of a file. Of what the module writes it leaves out the times that a fit took.
func modelOf(t *testing.T, path string) string {
	t.Helper()
	text := contents(t, path)
	for _, format := range []string{"largemvc-model", "largemvc-checkpoint"} {
		f, err := file.Read(strings.NewReader(text), format)
		if err != nil {
			continue
		}
		var all strings.Builder
		for _, x := range f.Tensors {
			fmt.Fprintf(&all, "%s %v\n", x.Name, x)
		}
		var training map[string]any
		if err := json.Unmarshal([]byte(f.Metadata[file.MetaTraining]), &training); err != nil {
			t.Fatal(err)
		}
		delete(training, "timings")
		fmt.Fprintf(&all, "%v", training)
		return all.String()
	}
	return text
}

// TestFullDisk: an output that does not fit on the disk, or is larger than the process may write, is an error that names the
// file; under its name is what was there before.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if err := os.Rename(writeSet(t, 3000, true), in("set.npz")); err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{"out": "o.csv", "save": "model", "embedding": "h.npy", "trust": "trust.csv",
		"report": "page.html", "checkpoint": "state"}
	disk := in("disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	small := mountSmall(t, disk)
	for flag, name := range outputs {
		if !testutil.Slow && flag != "save" && flag != "checkpoint" {
			continue
		}
		fit := fmt.Sprintf("fit -data set.npz -quiet -set NoStructure=true -epochs 2 -overwrite "+
			"-set Neighborhood.Exact=none -set Neighborhood.Landmarks=50 -%s ",
			flag)
		for how, run := range map[string]func() (int, string){
			"full disk": func() (int, string) { return finished(t, folder, fit+filepath.Join("disk", name)) },
			"limit": func() (int, string) {
				c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -f 8; exec "$0" "$@"`, os.Args[0]},
					strings.Fields(fit+filepath.Join("disk", name))...)...)
				c.Dir, c.Env = folder, append(os.Environ(), asCommand+"=1")
				said, _ := c.CombinedOutput()
				return c.ProcessState.ExitCode(), string(said)
			},
		} {
			if how == "full disk" && !small {
				t.Log("no small disk can be mounted here")
				continue
			}
			for _, old := range []string{"", "yesterday's"} {
				path := filepath.Join(disk, name)
				if old != "" {
					if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				status, said := run()
				if status != exitError || !strings.Contains(said, name) {
					t.Errorf("-%s, %s: status %d, %q", flag, how, status, said)
				}
				left, err := os.ReadDir(disk)
				if err != nil {
					t.Fatal(err)
				}
				left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return old != "" && e.Name() == name })
				if len(left) > 0 || old != "" && contents(t, path) != old {
					t.Errorf("-%s, %s: left behind: %v", flag, how, left)
				}
				for _, e := range left {
					if err := os.Remove(filepath.Join(disk, e.Name())); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
