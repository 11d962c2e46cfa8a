//go:build mpi && linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/largemvc/largemvc/dataset"
)

// launchers are the commands that start processes together, of those that this machine has, with the variable in which a process
// finds its number.
func launchers(t *testing.T) map[string][]string {
	out := map[string][]string{}
	if p, err := exec.LookPath("mpirun.openmpi"); err == nil {
		out["OMPI_COMM_WORLD_RANK"] = []string{p, "--oversubscribe", "--allow-run-as-root"}
	}
	if p, err := exec.LookPath("mpirun.mpich"); err == nil {
		out["PMI_RANK"] = []string{p}
	}
	if len(out) == 0 {
		t.Skip("there is neither mpirun.openmpi nor mpirun.mpich")
	}
	return out
}

// job is the command of some processes of fit -mpi.
func job(t *testing.T, launcher []string, processes int, args string) *exec.Cmd {
	return jobOf(t, launcher, processes, "fit", args)
}

func jobOf(t *testing.T, launcher []string, processes int, command, args string) *exec.Cmd {
	all := append(slices.Clone(launcher[1:]), "-n", fmt.Sprint(processes), os.Args[0], command)
	c := exec.CommandContext(t.Context(), launcher[0], append(all, strings.Fields("-mpi -workers 1 "+args)...)...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

const shardedData = " -data x0-%d.npy -data x1-%d.npy -clusters 4 -preset paper"

// TestMPIFits: labels and checkpoints are those of one process, however many there are, whatever started them, and however the
// rows are cut into files.
func TestMPIFits(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 9000, 700, 1, 8200, 99)
	if code, _, stderr := alone(t, "fit -data x0.npy -data x1.npy -clusters 4 -preset paper -epochs 6 -quiet "+
		"-out one.csv"); code != 0 {
		t.Fatal(stderr)
	}
	want := contents(t, "one.csv")
	for _, l := range launchers(t) {
		for n := 1; n <= 4; n++ {
			data := shardedData
			if n == 2 {
				data = " -data x0.npy -data x1-%d.npy -clusters 4 -preset paper"
			}
			out, err := job(t, l, n, data+" -epochs 6 -quiet -out many.csv -save model").CombinedOutput()
			if err != nil {
				t.Fatalf("%s, %d processes: %v\n%s", l[0], n, err, out)
			}
			if strings.Count(string(out), "\nclusters ") != 1 || !strings.Contains(string(out), "sizes 2250,") ||
				contents(t, "many.csv") != want {
				t.Errorf("%s, %d processes: other labels, or %s", l[0], n, out)
			}
		}
		if out, err := job(t, l, 3, shardedData+" -epochs 6 -quiet -out part-%d.csv").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		joined := contents(t, "part-0.csv")
		for _, k := range []string{"1", "2"} {
			_, rows, _ := strings.Cut(contents(t, "part-"+k+".csv"), "\n")
			joined += rows
		}
		if joined != want {
			t.Errorf("%s: other labels in a file each", l[0])
		}
		// From a checkpoint of three processes on two, and on one without MPI.
		out, err := job(t, l, 3, shardedData+" -epochs 3 -quiet -checkpoint run.ckpt -overwrite").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err = job(t, l, 2, "-resume run.ckpt -epochs 6 -data x0.npy -data x1.npy -quiet -out on.csv").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if contents(t, "on.csv") != want {
			t.Errorf("%s: other labels after -resume", l[0])
		}
	}
	if code, _, stderr := alone(t, "fit -resume run.ckpt -epochs 6 -data x0.npy -data x1.npy -quiet -out alone.csv"); code != 0 ||
		contents(t, "alone.csv") != want {
		t.Errorf("other labels after -resume without MPI: %s", stderr)
	}
}

// TestMPINeighbours: the default preset has the labels of one process, with landmarks, of which each process has some
// samples, and with neighbours that are searched among all; a training that one process began goes on with several.
func TestMPINeighbours(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 3000, 700, 1, 2200, 99)
	const settings = " -clusters 4 -quiet"
	for neighbors, processes := range map[string]int{" -set Neighborhood.Exact=none": 3, " -set Neighborhood.Neighbors=5": 2} {
		one := "fit -data x0.npy -data x1.npy -overwrite" + settings + neighbors
		for _, args := range []string{" -epochs 4 -out one.csv", " -epochs 2 -checkpoint run.ckpt"} {
			if code, _, stderr := alone(t, one+args); code != 0 {
				t.Fatal(stderr)
			}
		}
		want, state := contents(t, "one.csv"), contents(t, "run.ckpt")
		for _, l := range launchers(t) {
			if err := os.WriteFile("run.ckpt", []byte(state), 0o600); err != nil {
				t.Fatal(err)
			}
			data := " -data x0-%d.npy -data x1.npy -out many.csv"
			for _, args := range []string{settings + neighbors + " -epochs 4", " -quiet -resume run.ckpt -epochs 4"} {
				if out, err := job(t, l, processes, data+args).CombinedOutput(); err != nil {
					t.Fatalf("%s%s: %v\n%s", l[0], neighbors, err, out)
				}
				if contents(t, "many.csv") != want {
					t.Errorf("%s%s%s: other labels", l[0], neighbors, args)
				}
			}
		}
	}
}

// TestMPIMissingRows: samples that lack views, with landmarks, have the labels of one process.
func TestMPIMissingRows(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeHoles(t, folder, 0.3, 5000, 700, 1, 4200, 99)
	const settings = " -clusters 4 -quiet -missing-rows " +
		"-set Neighborhood.Exact=none -set Neighborhood.Landmarks=100 -epochs 3 -json"
	code, stdout, stderr := alone(t, "fit -data x0.npy -data x1.npy -out one.csv"+settings)
	if code != 0 {
		t.Fatal(stderr)
	}
	rate := regexp.MustCompile(`"missing_rate":\s*[0-9.]+`)
	want, absent := contents(t, "one.csv"), rate.FindString(stdout)
	for _, l := range launchers(t) {
		out, err := job(t, l, 2, "-data x0-%d.npy -data x1.npy -out many.csv"+settings).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", l[0], err, out)
		}
		if contents(t, "many.csv") != want {
			t.Errorf("%s: other labels", l[0])
		}
		if got := rate.FindString(string(out)); got != absent || absent == "" {
			t.Errorf("%s: %q, want %q", l[0], got, absent)
		}
	}
}

// TestMPIKnown: known labels give the classes of one process, in one file and in one for each process, and in the summary.
func TestMPIKnown(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 5000, 700, 1, 4200, 99)
	known := "sample,label\n"
	for i := range 80 {
		known += fmt.Sprintf("%d,class %d\n", 61*i, 61*i%4)
	}
	if err := os.WriteFile("known.csv", []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	const settings = " -known known.csv -quiet -set Neighborhood.Exact=none -set Neighborhood.Landmarks=100 -epochs 3"
	code, stdout, stderr := alone(t, "fit -data x0.npy -data x1.npy -out one.csv"+settings)
	if code != 0 {
		t.Fatal(stderr)
	}
	lines := regexp.MustCompile(`80 known labels of 4 classes|class \d: \d+ known, \d+ samples`)
	want := lines.FindAllString(stdout, -1)
	for _, l := range launchers(t) {
		for _, out := range []string{"many.csv", "part-%d.csv"} {
			text, err := job(t, l, 2, "-data x0-%d.npy -data x1.npy -out "+out+settings).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", l[0], err, text)
			}
			if got := lines.FindAllString(string(text), -1); len(want) != 5 || !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", l[0], got, want)
			}
		}
		_, rest, _ := strings.Cut(contents(t, "part-1.csv"), "\n")
		if one := contents(t, "one.csv"); contents(t, "many.csv") != one || contents(t, "part-0.csv")+rest != one {
			t.Errorf("%s: other classes in the files", l[0])
		}
	}
}

// alone runs the command without MPI.
func alone(t *testing.T, args string) (code int, stdout, stderr string) {
	c := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(args)...)
	c.Env = append(os.Environ(), asCommand+"=1")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// processOf returns the process of a rank among those that a launcher has started.
func processOf(launcher int, variable string, rank int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil || pid == launcher {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		folder, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		here, _ := os.Getwd()
		if err == nil && folder == here && bytes.Contains(env, fmt.Appendf(nil, "\x00%s=%d\x00", variable, rank)) &&
			bytes.Contains(env, []byte(asCommand)) {
			return pid, nil
		}
	}
	return 0, errors.New("no such process")
}

// TestMPIEnds: a process that is killed, a signal to the launcher, and a file or a disk that fails end all processes in ten
// seconds, with a status that is not zero, and say where to go on from.
func TestMPIEnds(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 6000, 700, 1, 5200, 99)
	if err := os.RemoveAll("run.ckpt"); err != nil {
		t.Fatal(err)
	}
	endless := shardedData +
		" -epochs 1000000 -checkpoint run.ckpt -set Checkpoint.Every=2 -overwrite -out part-%d.csv -save model"
	for variable, l := range launchers(t) {
		for name, test := range map[string]struct {
			act  func(c *exec.Cmd) error
			want []string // one of them
		}{
			"kill -9": {func(c *exec.Cmd) error {
				pid, err := processOf(c.Process.Pid, variable, 1)
				if err != nil {
					return err
				}
				return syscall.Kill(pid, syscall.SIGKILL)
			}, []string{"rank 1", "EXIT CODE: 9", "signal 9"}},
			"SIGTERM": {func(c *exec.Cmd) error { return c.Process.Signal(syscall.SIGTERM) }, []string{"signal"}},
			"SIGTERM of a process": {func(c *exec.Cmd) error {
				pid, err := processOf(c.Process.Pid, variable, 1)
				if err != nil {
					return err
				}
				return syscall.Kill(pid, syscall.SIGTERM)
			}, []string{"cancelled after"}},
		} {
			if err := os.RemoveAll("run.ckpt"); err != nil {
				t.Fatal(err)
			}
			out, code, took := ended(t, job(t, l, 2, endless), test.act)
			// MPICH's launcher at times ends with 0 where the signal is its own, although its processes do not.
			mayBeZero := name == "SIGTERM" && strings.Contains(filepath.Base(l[0]), "mpich")
			if code == 0 && !mayBeZero || took > 10*time.Second || !strings.Contains(out, "run.ckpt: -resume goes on") ||
				!slices.ContainsFunc(test.want, func(w string) bool { return strings.Contains(out, w) }) {
				t.Errorf("%s, %s: status %d after %v\n%s", filepath.Base(l[0]), name, code, took, out)
			}
			if name == "SIGTERM of a process" {
				for _, file := range []string{"part-0.csv", "part-1.csv", "model"} {
					info, err := os.Stat(file + partialEnding)
					if _, whole := os.Stat(file); err != nil || info.Size() < 100 || whole == nil {
						t.Errorf("%s: the result so far is not in %s.partial alone: %v", filepath.Base(l[0]), file, err)
					}
				}
			}
			again := job(t, l, 1, "-resume run.ckpt -data x0.npy -data x1.npy -set Tolerance=0.9 -set Patience=1 -quiet")
			resumed, err := again.CombinedOutput()
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", filepath.Base(l[0]), name, err, resumed)
			}
		}
		broken := job(t, l, 2, endless)
		broken.Env = append(broken.Env, panicAt+"=rank 1, epoch 5")
		began := time.Now()
		out, code, _ := ended(t, broken, nil)
		if took := time.Since(began); code == 0 || took > 20*time.Second || !strings.Contains(out, "rank 1: panic: a mistake; "+
			"-resume run.ckpt goes on") {
			t.Errorf("%s, a panic: status %d after %v\n%s", filepath.Base(l[0]), code, took, out)
		}
		// A disk too small for the second checkpoint, or, where none can be mounted, a folder that goes away.
		if err := os.Mkdir("state", 0o700); err != nil {
			t.Fatal(err)
		}
		small := syscall.Mount("tmpfs", "state", "tmpfs", 0, "size=12k") == nil
		state := strings.Replace(endless, "run.ckpt", "state/run.ckpt", 1)
		out, code, took := ended(t, job(t, l, 2, state), func(*exec.Cmd) error {
			if small {
				return nil
			}
			return os.RemoveAll("state")
		})
		if code == 0 || took > 10*time.Second || !strings.Contains(out, "rank 0: writing the checkpoint") {
			t.Errorf("%s, full disk (%v): status %d after %v\n%s", filepath.Base(l[0]), small, code, took, out)
		}
		if small {
			if err := syscall.Unmount("state", 0); err != nil {
				t.Error(err)
			}
		}
		if err := os.RemoveAll("state"); err != nil {
			t.Error(err)
		}
		if err := os.Rename("x1-3.npy", "aside"); err != nil {
			t.Fatal(err)
		}
		out, code, _ = ended(t, job(t, l, 2, endless), nil)
		if code == 0 || !strings.Contains(out, "there is no x1-3.npy, which x1-manifest.json lists") {
			t.Errorf("%s, a shard less: status %d\n%s", filepath.Base(l[0]), code, out)
		}
		if err := os.Rename("aside", "x1-3.npy"); err != nil {
			t.Fatal(err)
		}
		whole := contents(t, "x0-2.npy")
		if err := os.Truncate("x0-2.npy", 50_000); err != nil {
			t.Fatal(err)
		}
		out, code, _ = ended(t, job(t, l, 2, endless), nil)
		if code == 0 || !strings.Contains(out, "rank ") || !strings.Contains(out, "x0-2.npy") ||
			!strings.Contains(out, "run.ckpt") {
			t.Errorf("%s, a truncated shard: status %d\n%s", filepath.Base(l[0]), code, out)
		}
		if err := os.WriteFile("x0-2.npy", []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMPILongEpoch: a signal to the launcher, or to process 0, in an epoch that takes longer than the launcher waits leaves the
// checkpoint of the epoch before, from which another job goes on to the labels of one that nothing interrupted.
func TestMPILongEpoch(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 6000, 700, 1, 5200, 99)
	code, _, stderr := alone(t, "fit -data x0.npy -data x1.npy -clusters 4 -preset paper -epochs 6 -quiet -out one.csv")
	if code != 0 {
		t.Fatal(stderr)
	}
	for variable, l := range launchers(t) {
		for name, rank := range map[string]int{"the launcher": -1, "process 0": 0} {
			c := job(t, l, 2, shardedData+" -epochs 6 -checkpoint run.ckpt -overwrite -grace 1 -out part-%d.csv")
			c.Env = append(c.Env, hangAt+"=rank 1, epoch 4")
			out, _, took := endedAt(t, c, hanging, func(c *exec.Cmd) error {
				pid := c.Process.Pid
				if rank >= 0 {
					var err error
					if pid, err = processOf(pid, variable, rank); err != nil {
						return err
					}
				}
				return syscall.Kill(pid, syscall.SIGTERM)
			})
			if n := epochsOf(t, "run.ckpt"); n != 3 || took > 20*time.Second {
				t.Errorf("%s, %s: a checkpoint after %d epochs, %v until the end\n%s", filepath.Base(l[0]), name, n, took, out)
			}
			again, err := job(t, l, 2, "-resume run.ckpt -data x0.npy -data x1.npy -quiet -out on.csv").CombinedOutput()
			if err != nil || contents(t, "on.csv") != contents(t, "one.csv") {
				t.Errorf("%s, %s: other labels after -resume: %v\n%s", filepath.Base(l[0]), name, err, again)
			}
		}
	}
}

// ended runs a job, acts on it when it has written a checkpoint, and returns what it said, its status and the time that it took
// to end.
func ended(t *testing.T, c *exec.Cmd, act func(*exec.Cmd) error) (out string, code int, took time.Duration) {
	t.Helper()
	return endedAt(t, c, "epoch ", act)
}

// endedAt is ended that waits for a line with this beginning, too.
func endedAt(t *testing.T, c *exec.Cmd, beginning string, act func(*exec.Cmd) error) (out string, code int, took time.Duration) {
	t.Helper()
	hung := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer hung.Stop()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = write, write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	var text strings.Builder
	began := time.Now()
	var once sync.Once
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if act != nil && strings.HasPrefix(lines.Text(), beginning) {
			once.Do(func() {
				for range 1000 { // until there is a checkpoint
					found, _ := filepath.Glob("run.ckpt")
					inFolder, _ := filepath.Glob("*/run.ckpt")
					if found != nil || inFolder != nil {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				began = time.Now()
				if err := act(c); err != nil {
					t.Error(err)
					_ = c.Process.Kill()
				}
			})
		}
	}
	_, _ = io.Copy(io.Discard, read)
	_ = c.Wait()
	return text.String(), c.ProcessState.ExitCode(), time.Since(began)
}

// TestMPIFromDisk: a fit of drawn samples that reads the rows of all from disk, with classes and start labels from files, writes
// the files of one process.
func TestMPIFromDisk(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeHoles(t, folder, 0.1, 9000, 2700, 1, 6200, 99)
	classes, begin := "sample,label\n", "sample,label\n"
	for i := range 9000 {
		classes, begin = classes+fmt.Sprintf("%d,class %d\n", i, i%4), begin+fmt.Sprintf("%d,%d\n", i, i%3)
	}
	known := "sample,label\n8,class 0\n9,class 1\n16,class 0\n21,class 1\n" // fewer classes, which count no clusters
	for name, text := range map[string]string{"classes.csv": classes, "begin.csv": begin, "known.csv": known} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := regexp.MustCompile(`"(?:loss_last|acc|structure|missing_rate)":[^,]*|"cluster_sizes":\[[^]]*`)
	for name, flags := range map[string]string{
		"drawn":   "-set FitSamples=800 -labels classes.csv -known known.csv -epochs 4",
		"labels":  "-set FitSamples=700 -clusters 3 -start begin.csv -epochs 3",
		"bounded": "-clusters 3 -epochs 3 -set Neighborhood.Neighbors=none -preset paper -start begin.csv -max-memory 40",
	} {
		if name == "bounded" {
			writeShards(t, folder, 9000, 2700, 1, 6200, 99) // k-means on rows that are partly absent is for one process
		} else {
			flags += " -missing-rows"
		}
		flags += " -quiet -json -from-disk"
		code, stdout, stderr := alone(t, "fit -data x0.npy -data x1.npy -out one.csv "+flags)
		if code != 0 {
			t.Fatal(name, stderr)
		}
		want := lines.FindAllString(stdout, -1)
		for _, l := range launchers(t) {
			text, err := job(t, l, 2, "-data x0-%d.npy -data x1.npy -out many.csv "+flags).CombinedOutput()
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", name, l[0], err, text)
			}
			if got := lines.FindAllString(string(text), -1); len(want) < 3 || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", name, l[0], got, want)
			}
			if contents(t, "many.csv") != contents(t, "one.csv") {
				t.Errorf("%s, %s: other labels", name, l[0])
			}
		}
	}
}

// TestMPIRecipe: the steps for large data write the files of one process: a fit on a sample, the labels of all, and some epochs
// on all rows from these labels.
func TestMPIRecipe(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	writeShards(t, folder, 9000, 2700, 1, 6200, 99)
	steps := []string{
		"fit -clusters 4 -from-disk -set FitSamples=800 -epochs 3 -save NAME.model -out NAME-sample.csv",
		"predict -model NAME.model -from-disk -out NAME.npy",
		"fit -clusters 4 -from-disk -start NAME.npy -set Neighborhood.Exact=none -set Neighborhood.Landmarks=100 -epochs 3 " +
			"-out NAME-labels.parquet -save NAME-2.model",
	}
	for _, step := range steps {
		line := strings.ReplaceAll(step, "NAME", "one") + " -quiet -data x0.npy -data x1.npy"
		if code, _, stderr := alone(t, line); code != 0 {
			t.Fatal(step, stderr)
		}
	}
	line := "-clusters 3 -start one.npy -data x0.npy -data x1.npy"
	for _, l := range launchers(t) {
		out, err := job(t, l, 3, line).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "is not a whole number from 0 to 2") {
			t.Errorf("%s: a label too many: %v\n%s", l[0], err, out)
		}
		for _, step := range steps {
			command, flags, _ := strings.Cut(strings.ReplaceAll(step, "NAME", "many"), " ")
			out, err := jobOf(t, l, 3, command, flags+" -quiet -data x0-%d.npy -data x1.npy").CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", step, err, out)
			}
		}
		for _, name := range []string{"-sample.csv", ".npy", "-labels.parquet"} {
			if contents(t, "many"+name) != contents(t, "one"+name) {
				t.Errorf("%s: another %s", l[0], name)
			}
		}
	}
}

// TestMPIMaskIDs: a mask and ids, by which known labels and the initial clustering are found, give the file of one process, from
// one file and from two with parts of the rows. The report has the drawn samples.
func TestMPIMaskIDs(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	const n = 5000
	x, ids, present := writeShards(t, folder, n), make([]string, n), make([]bool, 0, 2*n)
	texts := map[string]string{"known.csv": "id,label\n", "start.csv": "id,label\n", "mask.csv": "x0,x1\n"}
	for i := range n {
		ids[i] = fmt.Sprintf("s%d", i*7919%n)
		if i < 80 {
			texts["known.csv"] += fmt.Sprintf("%s,class %d\n", ids[i], i%4)
		}
		texts["start.csv"] += fmt.Sprintf("%s,%d\n", ids[i], i%4)
		texts["mask.csv"] += fmt.Sprintf("%d,%d\n", min(i%9, 1), min((i+1)%9, 1))
		present = append(present, i%9 > 0, (i+1)%9 > 0)
	}
	for name, text := range texts {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string][2]int{"whole.npz": {0, n}, "part-0.npz": {0, 2700}, "part-1.npz": {2700, n}} {
		lo, hi := at[0], at[1]
		err := dataset.WriteNPZ(name, false, dataset.Array{Name: "ids", Data: ids[lo:hi]},
			dataset.Array{Name: "X0", Shape: []int{hi - lo, 9}, Data: x[0][9*lo : 9*hi]},
			dataset.Array{Name: "X1", Shape: []int{hi - lo, 6}, Data: x[1][6*lo : 6*hi]},
			dataset.Array{Name: "present", Shape: []int{hi - lo, 2}, Data: present[2*lo : 2*hi]})
		if err != nil {
			t.Fatal(err)
		}
	}
	if status, _, stderr := runLine("inspect", "-manifest", "part-%d.npz"); status != exitOK {
		t.Fatal(stderr)
	}
	const settings = " -clusters 4 -quiet -set Neighborhood.Exact=none -set Neighborhood.Landmarks=100 -epochs 2 -out "
	for one, many := range map[string][]string{
		"whole.npz -known known.csv -start start.csv": {"-data whole.npz", "-data part-%d.npz"},
		"x0.npy x1.npy -mask mask.csv":                {"-data x0.npy -data x1.npy -report report.html"},
	} {
		code, _, stderr := alone(t, "fit "+one+settings+"one.csv")
		if code != 0 {
			t.Fatal(stderr)
		}
		_, flags, _ := strings.Cut(one, " -")
		for _, l := range launchers(t) {
			for _, data := range many {
				line := data + " -" + flags + settings + "many.csv"
				if out, err := job(t, l, 2, line).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", line, err, out)
				}
				if contents(t, "many.csv") != contents(t, "one.csv") {
					t.Errorf("%s %s: other labels", l[0], line)
				}
			}
		}
	}
	if page := contents(t, "report.html"); !strings.Contains(page, "5000 of the 5000 of the fit") {
		t.Error("the report does not say which samples it has")
	}
}
