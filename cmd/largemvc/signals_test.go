//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/checkpoint"
)

// asCommand makes the test binary the command itself.
const asCommand = "LARGEMVC_TEST_AS_COMMAND"

// panicAt and hangAt name the process that panics or hangs, and when.
const panicAt, hangAt = "LARGEMVC_TEST_PANIC", "LARGEMVC_TEST_HANG"

// hanging is the line of a process that hangs, which is what an epoch of hours looks like to a signal.
const hanging = "this epoch takes long"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		onEpoch = func(rank int, e largemvc.Progress) {
			switch fmt.Sprintf("rank %d, epoch %d", rank, e.Epoch) {
			case os.Getenv(panicAt):
				panic("a mistake")
			case os.Getenv(hangAt):
				fmt.Fprintln(os.Stderr, hanging)
				time.Sleep(time.Minute)
			}
		}
		main()
	}
	os.Exit(m.Run())
}

// TestSignals: a training that is asked to end writes checkpoint, model, labels and summary.
func TestSignals(t *testing.T) {
	path := writeSet(t, 60, true)
	asked := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	if signal.Ignored(syscall.SIGHUP) {
		t.Log("these tests were told to outlive their terminal (nohup), and so were the trainings: SIGHUP is not tried")
	} else {
		asked = append(asked, syscall.SIGHUP)
	}
	for _, signal := range asked {
		folder := t.TempDir()
		out, model, state := filepath.Join(folder, "out.csv"), filepath.Join(folder, "model"), filepath.Join(folder, "state")
		c := exec.Command(os.Args[0], "fit", "-data", path, "-epochs", "100000000", "-out", out, "-save", model,
			"-checkpoint", state, "-json")
		c.Env = append(os.Environ(), asCommand+"=1")
		var stdout strings.Builder
		c.Stdout = &stdout
		stderr, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
		lines := bufio.NewScanner(stderr)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "epoch 1/") {
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		last := ""
		for lines.Scan() {
			last = lines.Text()
		}
		err = c.Wait()
		hung.Stop()
		if c.ProcessState.ExitCode() != exitError || !strings.Contains(last, "cancelled after") {
			t.Errorf("%v: %v, %q", signal, err, last)
		}
		if m := object(t, stdout.String()); m["status"] != "cancelled" {
			t.Errorf("%v: status %v", signal, m["status"])
		}
		if strings.Count(contents(t, out+partialEnding), "\n") != 61 || len(contents(t, state)) == 0 {
			t.Errorf("%v: labels or checkpoint are lost", signal)
		}
		if _, err := largemvc.Load(model + partialEnding); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
	}
}

// TestSignalInALongEpoch: where an epoch takes longer than the process has, its checkpoint is of the epoch before. The process
// ends by itself after the grace, or is killed.
func TestSignalInALongEpoch(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "7", "-quiet", "-out", in("want.csv")); status != exitOK {
		t.Fatal(stderr)
	}
	for _, grace := range []string{"0.2", "none"} {
		c := exec.Command(os.Args[0], "fit", "-data", path, "-epochs", "7", "-out", in("out.csv"), "-checkpoint", in("state"),
			"-overwrite", "-grace", grace)
		c.Env = append(os.Environ(), asCommand+"=1", hangAt+"=rank 0, epoch 5")
		stderr, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines, last := bufio.NewScanner(stderr), ""
		for lines.Scan() {
			if last = lines.Text(); last != hanging {
				continue
			}
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			for wait := 0; grace == "none" && epochsOf(t, in("state")) != 4; wait++ {
				if wait > 500 {
					t.Fatal("no checkpoint")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if grace == "none" {
				_ = c.Process.Kill()
			}
		}
		_ = c.Wait()
		want := "largemvc: 200ms after the signal the fit has not ended; -resume " + in("state") + " goes on from the last " +
			"checkpoint"
		if code := c.ProcessState.ExitCode(); grace != "none" && (code != exitError || last != want) {
			t.Errorf("status %d, %q", code, last)
		}
		if n := epochsOf(t, in("state")); n != 4 {
			t.Errorf("-grace %s: the checkpoint is after %d epochs", grace, n)
		}
		status, _, said := runLine("fit", "-data", path, "-resume", in("state"), "-quiet", "-out", in("out.csv"), "-checkpoint",
			in("other"), "-overwrite")
		if status != exitOK || contents(t, in("out.csv")) != contents(t, in("want.csv")) {
			t.Errorf("-grace %s: other labels after -resume: %s", grace, said)
		}
		if err := os.Remove(in("out.csv")); err != nil {
			t.Error(err)
		}
	}
}

// epochsOf returns the epochs of a checkpoint whose run goes on.
func epochsOf(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := checkpoint.Open(f)
	if err == nil {
		err = content.Read()
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := content.Summary()
	if err != nil {
		t.Fatal(err)
	}
	return s.Epochs
}
