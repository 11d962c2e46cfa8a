//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/largemvc/largemvc"
)

// labelsOf are the first words of a file of labels.
const labelsOf = "sample,label,confidence,remoteness\n0,"

// asProcess makes a command of its own of a command line, whose files the test gives.
func asProcess(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// appended opens a file that has a line already, as a shell does for >>.
func appended(t *testing.T, path string) *os.File {
	t.Helper()
	if err := os.WriteFile(path, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestOpenFilesAsOutputs: a path that means an open file of the process is written through, whatever was opened: what a file
// had already stays, and a pipe is written.
func TestOpenFilesAsOutputs(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	if _, err := os.Stat("/dev/fd/0"); err != nil {
		t.Skip("open files have no paths here")
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink("/dev/fd/3", link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"/dev/stdout", "/dev/fd/1", "/dev/stderr", "/dev/fd/3", link} {
		log := filepath.Join(folder, "log")
		file := appended(t, log)
		c := asProcess("fit", "-data", path, "-epochs", "1", "-quiet", "-out", out)
		switch out {
		case "/dev/stdout", "/dev/fd/1":
			c.Stdout = file
		case "/dev/stderr":
			c.Stderr = file
		default:
			c.ExtraFiles = []*os.File{file}
		}
		if err := c.Run(); err != nil {
			t.Errorf("%s: %v", out, err)
		}
		if text := contents(t, log); !strings.HasPrefix(text, "old\n"+labelsOf) || strings.Count(text, "\n") != 32 {
			t.Errorf("%s: the file has %.60q, %d lines", out, text, strings.Count(text, "\n"))
		}
	}

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	c := asProcess("fit", "-data", path, "-epochs", "1", "-quiet", "-save", "/dev/fd/3")
	c.ExtraFiles = []*os.File{write}
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(read) // what is missing of the model fails below
		got <- all
	}()
	err = c.Run()
	write.Close()
	model := <-got
	if _, again := largemvc.ReadPredictor(bytes.NewReader(model)); err != nil || again != nil {
		t.Errorf("a model through a pipe: %v, %v", err, again)
	}
}

// TestOpenFilesThatCannotBe: what is no open file, or one to read, and one file for two outputs, is refused before any work.
func TestOpenFilesThatCannotBe(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	if _, err := os.Stat("/dev/fd/0"); err != nil {
		t.Skip("open files have no paths here")
	}
	data, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	file := appended(t, filepath.Join(folder, "log"))
	for _, x := range []struct {
		args   string
		status int
		want   string
	}{
		{"-out /dev/fd/99", exitError, "has no open file 99"},
		{fmt.Sprintf("-out /dev/fd/%d -data %s", file.Fd(), file.Name()), exitUsage, "overwrite what -data reads"},
		{fmt.Sprintf("-out /dev/fd/%d -save %s", file.Fd(), file.Name()), exitUsage, "would both write"},
		{fmt.Sprintf("-data %s -out /dev/fd/%d", os.DevNull, data.Fd()), exitError, "open only for reading"},
		{"-out /dev/stdout -json", exitUsage, "-json writes to standard output too"},
		{"-out /dev/stdout -save /dev/fd/1", exitUsage, "would both write"},
	} {
		args := strings.Fields("fit -epochs 1 " + x.args)
		if !strings.Contains(x.args, "-data") {
			args = append(args, "-data", path)
		}
		status, stdout, stderr := runLine(args...)
		checkFailure(t, x.args, x.status, status, stdout, stderr, x.want)
	}
	if text := contents(t, file.Name()); text != "old\n" {
		t.Errorf("the file has %q", text)
	}
}

// TestClosedOutput: what is to be written to standard output where that is closed is an error before any work, of every command;
// where it is full it is one after it. What is sent to /dev/null is written.
func TestClosedOutput(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	model, labels := filepath.Join(folder, "model"), filepath.Join(folder, "labels.csv")
	status, _, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-save", model, "-out", labels)
	if status != exitOK {
		t.Fatal(stderr)
	}
	// to runs a line of the command with its standard output redirected by a shell.
	to := func(redirection, line string) (int, string) {
		c := asProcess(append([]string{"-c", `exec "$0" "$@" ` + redirection, os.Args[0]}, strings.Fields(line)...)...)
		var err error
		if c.Path, err = exec.LookPath("sh"); err != nil {
			t.Skipf("there is no shell here: %v", err)
		}
		text, _ := stderrOf(c) // the status says what its error does
		return c.ProcessState.ExitCode(), text
	}
	fit := "fit -epochs 1 -quiet -data " + path
	with := " -model " + model + " -data " + path
	for _, line := range []string{
		fit + " -out -", fit + " -save -", fit + " -report -", fit + " -trust -", fit + " -out /dev/stdout",
		"choose -from 2 -to 3 -epochs 1 -quiet -figure - -data " + path,
		"predict -out -" + with, "predict -report -" + with, "predict -trust -" + with, "report -out -" + with,
	} {
		// Data that are not there would be what is wrong next.
		none := strings.ReplaceAll(line, path, "nothing.npz")
		if status, text := to(">&-", none); status != exitError || !strings.Contains(text, "standard output, which is closed") {
			t.Errorf("%s >&-: status %d, %q", none, status, text)
		}
		if _, err := os.Stat("/dev/full"); err == nil && !strings.HasPrefix(line, "report") {
			if status, text := to(">/dev/full", line); status != exitError || strings.Count(text, "no space left") != 1 {
				t.Errorf("%s >/dev/full: status %d, %q", line, status, text)
			}
		}
	}
	if status, text := to("2>&-", fit+" -out /dev/stderr"); status != exitError {
		t.Errorf("a closed standard error: status %d, %q", status, text)
	}
	if status, text := to(">/dev/null", fit+" -out -"); status != exitOK {
		t.Errorf("/dev/null: status %d, %q", status, text)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skipf("a full device is not tried: %v", err)
	}
	for _, line := range []string{
		fit, fit + " -json", "predict" + with, "predict -json" + with, "compare " + labels + " " + labels,
		"compare -json " + labels + " " + labels, "inspect " + model, "inspect " + path, "device", "version", "completion bash",
		"help", "fit -h", "fit -h all",
	} {
		if status, text := to(">/dev/full", line); status != exitError || strings.Count(text, "no space left") != 1 {
			t.Errorf("%s >/dev/full: status %d, %q", line, status, text)
		}
	}
}

// TestStreamsAsOutputs: pipes and devices are written by every output that is written once; a checkpoint is refused before any
// work, and so is a name that leaves no room for the file that takes its place.
func TestStreamsAsOutputs(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	wants := map[string]string{"out": "sample,label", "save": "largemvc-model", "report": "<html", "embedding": "sample,h0",
		"trust": "sample,X0,X1,suspect"}
	endings := map[string]string{"out": ".csv", "embedding": ".csv", "trust": ".csv"}
	args := []string{"fit", "-data", path, "-epochs", "1", "-quiet"}
	got := map[string]chan string{}
	for name := range wants {
		pipe := filepath.Join(folder, name+endings[name])
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skipf("there are no pipes here: %v", err)
		}
		args, got[name] = append(args, "-"+name, pipe), make(chan string)
		go func() {
			all, _ := os.ReadFile(pipe) // what is missing fails below
			got[name] <- string(all)
		}()
	}
	if status, _, stderr := runLine(args...); status != exitOK {
		t.Fatal(stderr)
	}
	for name, want := range wants {
		if text := <-got[name]; !strings.Contains(text, want) {
			t.Errorf("-%s has sent %.60q", name, text)
		}
		if info, err := os.Lstat(filepath.Join(folder, name+endings[name])); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("-%s: the pipe is replaced, %v", name, err)
		}
	}
	for _, x := range []struct {
		args   string
		status int
		want   string
	}{
		{"-checkpoint " + os.DevNull, exitUsage, "give the name of a file"},
		{"-checkpoint " + filepath.Join(folder, "out.csv"), exitUsage, "give the name of a file"},
		{"-save " + filepath.Join(folder, strings.Repeat("x", 254)), exitError, "name too long"},
	} {
		// Data that are not there would be what is wrong next.
		status, stdout, stderr := runLine(append([]string{"fit", "-data", "nothing.npz"}, strings.Fields(x.args)...)...)
		checkFailure(t, x.args, x.status, status, stdout, stderr, x.want)
	}
}

// sending writes a text to a pipe. What it returns waits until it is read, or takes it itself where nobody has opened the pipe
// and nobody will.
func sending(t *testing.T, pipe, text string) (sent func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- os.WriteFile(pipe, []byte(text), 0o600) }() // which waits for a reader
	return func() {
		t.Helper()
		drain, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0) // such a reader waits for nobody
		if err != nil {
			t.Fatal(err)
		}
		defer drain.Close()
		go io.Copy(io.Discard, drain)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestResumeFromAPipe: a training goes on from a state that is read from a pipe, and keeps none unless it is asked to.
func TestResumeFromAPipe(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	state, pipe, kept := filepath.Join(folder, "state"), filepath.Join(folder, "pipe"), filepath.Join(folder, "kept")
	status, _, stderr := runLine("fit", "-data", path, "-quiet", "-epochs", "1", "-checkpoint", state)
	if status != exitOK {
		t.Fatal(stderr)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("there are no pipes here: %v", err)
	}
	before := contents(t, state)
	for _, test := range []struct {
		args  []string
		names string // of what the folder holds then
	}{
		{nil, "pipe state"}, {[]string{"-checkpoint", kept}, "kept pipe state"},
	} {
		sent := sending(t, pipe, before)
		args := append([]string{"fit", "-data", path, "-quiet", "-json", "-resume", pipe, "-epochs", "2"}, test.args...)
		status, stdout, stderr := runLine(args...)
		sent()
		if status != exitOK || object(t, stdout)["epochs"] != 2.0 {
			t.Fatalf("%v: status %d, %s%s", test.args, status, stdout, stderr)
		}
		files, err := os.ReadDir(folder) // in the order of their names
		var names []string
		for _, f := range files {
			names = append(names, f.Name())
		}
		if got := strings.Join(names, " "); err != nil || got != test.names {
			t.Errorf("%v: the folder has %s, want %s, %v", test.args, got, test.names, err)
		}
		if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 || contents(t, state) != before {
			t.Errorf("%v: the pipe is replaced, or the state changed, %v", test.args, err)
		}
	}
	status, stdout, stderr := runLine("fit", "-data", path, "-quiet", "-json", "-resume", kept, "-epochs", "3")
	if status != exitOK || object(t, stdout)["epochs"] != 3.0 {
		t.Errorf("from the state that was asked for: status %d, %s%s", status, stdout, stderr)
	}

	sent := sending(t, pipe, before)
	status, stdout, stderr = runLine("fit", "-data", "nothing.npz", "-quiet", "-resume", pipe, "-epochs", "2")
	sent()
	checkFailure(t, "no data", exitError, status, stdout, stderr, "nothing.npz")
}

// TestOutputsOverStandardError: a file that standard error goes to is no output.
func TestOutputsOverStandardError(t *testing.T) {
	path, log := writeSet(t, 30, true), filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := asProcess("fit", "-data", path, "-epochs", "1", "-quiet", "-out", log)
	c.Stderr = f
	if err := c.Run(); c.ProcessState.ExitCode() != exitUsage ||
		!strings.Contains(contents(t, log), "is the file that standard error goes to") {
		t.Errorf("%v, %q", err, contents(t, log))
	}
}
