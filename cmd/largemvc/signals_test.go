package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
)

// asCommand makes the test binary the command itself.
const asCommand = "LARGEMVC_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// request is a way in which the system asks a process to end.
type request struct {
	name string
	send func(c *exec.Cmd) error
}

// TestSignals: a training that is asked to end writes checkpoint, model, labels and summary.
func TestSignals(t *testing.T) {
	path := writeSet(t, 60, true)
	for _, r := range requests(t) {
		folder := t.TempDir()
		out, model, state := filepath.Join(folder, "out.csv"), filepath.Join(folder, "model"), filepath.Join(folder, "state")
		c := exec.Command(os.Args[0], "fit", "-data", path, "-epochs", "100000000", "-out", out, "-save", model,
			"-checkpoint", state, "-json")
		c.Env = append(os.Environ(), asCommand+"=1")
		ready(c)
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
		if err := r.send(c); err != nil {
			c.Process.Kill()
			t.Fatalf("%s: %v", r.name, err)
		}
		last := ""
		for lines.Scan() {
			last = lines.Text()
		}
		err = c.Wait()
		hung.Stop()
		if c.ProcessState.ExitCode() != exitError || !strings.Contains(last, "cancelled after") {
			t.Errorf("%s: %v, %q", r.name, err, last)
		}
		if m := object(t, stdout.String()); m["status"] != "cancelled" {
			t.Errorf("%s: status %v", r.name, m["status"])
		}
		if strings.Count(contents(t, out), "\n") != 61 || len(contents(t, state)) == 0 {
			t.Errorf("%s: labels or checkpoint are lost", r.name)
		}
		if _, err := largemvc.Load(model); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}
