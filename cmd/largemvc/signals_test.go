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
)

// asCommand makes the test binary the command itself.
const asCommand = "LARGEMVC_TEST_AS_COMMAND"

// panicAt names the process of several that panics, and when.
const panicAt = "LARGEMVC_TEST_PANIC"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		if at := os.Getenv(panicAt); at != "" {
			onEpoch = func(rank int, e largemvc.Progress) {
				if at == fmt.Sprintf("rank %d, epoch %d", rank, e.Epoch) {
					panic("a mistake")
				}
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
