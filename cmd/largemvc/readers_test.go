//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
)

// unreadPipe is the end of a pipe whose reader is gone.
func unreadPipe(t *testing.T) *os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	t.Cleanup(func() { write.Close() })
	return write
}

// TestGoneReaders: a fit whose progress nobody reads any more, or cannot be written, comes to its end and writes all that was
// asked for; one whose summary nobody reads ends in silence with the status of a broken pipe, after its files are written.
func TestGoneReaders(t *testing.T) {
	path := writeSet(t, 60, true)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Logf("a full log is not tried: %v", err)
	} else {
		defer full.Close()
	}
	for _, x := range []struct {
		name           string
		stdout, stderr *os.File // nil: both are read
		status         int
	}{
		{"progress", nil, unreadPipe(t), exitOK},
		{"full log", nil, full, exitOK},
		{"summary", unreadPipe(t), nil, exitPipe},
		{"both", unreadPipe(t), unreadPipe(t), exitPipe},
	} {
		folder := t.TempDir()
		out, model, state := filepath.Join(folder, "out.csv"), filepath.Join(folder, "model"), filepath.Join(folder, "state")
		c := asProcess("fit", "-data", path, "-epochs", "20", "-out", out, "-save", model, "-checkpoint", state)
		var stdout, stderr strings.Builder
		c.Stdout, c.Stderr = &stdout, &stderr
		if x.stdout != nil {
			c.Stdout = x.stdout
		}
		if x.stderr != nil {
			c.Stderr = x.stderr
		}
		err := c.Run()
		if c.ProcessState.ExitCode() != x.status || strings.Contains(stderr.String(), "largemvc:") {
			t.Errorf("%s: %v, %q", x.name, err, stderr.String())
		}
		if (x.stdout == nil) != strings.Contains(stdout.String(), "clusters") {
			t.Errorf("%s: the summary is %q", x.name, stdout.String())
		}
		checkWritten(t, x.name, out, model, state)
	}
	for _, args := range [][]string{{"help", "fit", "all"}, {"choose", "-data", path, "-from", "2", "-to", "3", "-epochs", "1"}} {
		c := asProcess(args...)
		c.Stdout = unreadPipe(t)
		if text, err := stderrOf(c); c.ProcessState.ExitCode() != exitPipe || strings.Contains(text, "largemvc:") {
			t.Errorf("%s: %v, %q", args[0], err, text)
		}
	}
}

// TestInterruptBesideGoneReaders: an interrupt that ends the reader of all that a fit prints too leaves checkpoint, model and
// labels.
func TestInterruptBesideGoneReaders(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	out, model, state := filepath.Join(folder, "out.csv"), filepath.Join(folder, "model"), filepath.Join(folder, "state")
	c := asProcess("fit", "-data", path, "-epochs", "100000000", "-out", out, "-save", model, "-checkpoint", state)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c.Stdout, c.Stderr = write, write
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	hung := time.AfterFunc(2*time.Minute, func() { c.Process.Kill() })
	defer hung.Stop()
	for text := ""; !strings.Contains(text, "epoch 1/"); {
		line := make([]byte, 1000)
		n, err := read.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		text += string(line[:n])
	}
	read.Close()
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != exitError {
		t.Error(err)
	}
	checkWritten(t, "an interrupt", out+partialEnding, model+partialEnding, state)
}

// checkWritten checks the files of a fit of 60 samples.
func checkWritten(t *testing.T, name, out, model, state string) {
	t.Helper()
	if labels, err := os.ReadFile(out); err != nil || strings.Count(string(labels), "\n") != 61 {
		t.Errorf("%s: the labels are lost: %v", name, err)
	}
	if _, err := largemvc.Load(model); err != nil {
		t.Errorf("%s: the model is lost: %v", name, err)
	}
	if info, err := os.Stat(state); err != nil || info.Size() == 0 {
		t.Errorf("%s: the checkpoint is lost: %v", name, err)
	}
}

// stderrOf runs a command and returns what it writes to standard error.
func stderrOf(c *exec.Cmd) (string, error) {
	var text strings.Builder
	c.Stderr = &text
	err := c.Run()
	return text.String(), err
}

// TestParquet compares labels written as Parquet with the CSV file, and reads a table of Parquet as data.
func TestParquet(t *testing.T) {
	data, folder := writeSet(t, 60, true), t.TempDir()
	table, labels := filepath.Join(folder, "out.csv"), filepath.Join(folder, "out.parquet")
	trust := filepath.Join(folder, "trust.parquet")
	for _, out := range []string{table, labels} {
		if status, _, stderr := runLine("fit", data, "-epochs", "2", "-quiet", "-out", out, "-trust", trust); status != exitOK {
			t.Fatal(stderr)
		}
	}
	status, stdout, stderr := runLine("compare", "-json", table, labels)
	if status != exitOK || object(t, stdout)["ari"] != 1.0 {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = runLine("inspect", trust, "-leave-out", "suspect", "-id", "sample")
	if status != exitOK || !strings.Contains(stdout, "Parquet") || !strings.Contains(stdout, "X0 … X1") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = runLine("fit", labels)
	checkFailure(t, "a result as data", exitError, status, stdout, stderr, "holds labels that fit or predict wrote")
}
