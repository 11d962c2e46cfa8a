package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
)

// A fit that is ended before its first epoch says what there is to go on from.
func TestEndedEarly(t *testing.T) {
	const none = "cancelled before the first epoch; there is no result"
	ended, end := context.WithCancel(context.Background())
	end()
	full := errors.New("disk full")
	for _, test := range []struct {
		ctx                context.Context
		checkpoint, resume string
		want               string
	}{
		{ended, "", "", none},
		{ended, "s", "", none + ", and no checkpoint of this fit in s yet"},
		{ended, "endedearly_test.go", "", none + "; continue from the checkpoint with -resume endedearly_test.go"},
		{ended, "s", "old", none + "; continue with -resume old again"},
		{context.Background(), "s", "", "disk full"},
	} {
		o := &fitOptions{resume: test.resume}
		o.config.Checkpoint.Path = test.checkpoint
		if got := o.endedEarly(test.ctx, full).Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestUnfinishedTraining: a training that is interrupted, or that an error stops, leaves the files of an earlier one as they are
// and writes its result beside them; a training that finishes replaces the files and removes those beside them.
func TestUnfinishedTraining(t *testing.T) {
	path := writeSet(t, 60, true)
	for name, fit := range map[string]func(args ...string) (int, string){
		"interrupted": func(args ...string) (int, string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stderr := &trigger{cancel: cancel}
			return run(ctx, append(args, "-epochs", "500"), io.Discard, stderr), stderr.String()
		},
		"diverged": func(args ...string) (int, string) {
			status, _, stderr := runLine(append(args, "-epochs", "50", "-set", "Optimizer.LearningRate=1e30")...)
			return status, stderr
		},
	} {
		folder := t.TempDir()
		in := func(name string) string { return filepath.Join(folder, name) }
		args := []string{"fit", "-data", path, "-save", in("model"), "-out", in("out.csv"), "-embedding", in("h.npz"),
			"-trust", in("trust.csv"), "-report", in("page.html"), "-write-config", in("c.json")}
		files := []string{"model", "out.csv", "h.npz", "trust.csv", "page.html", "c.json"}
		for _, f := range files {
			if err := os.WriteFile(in(f), []byte("yesterday's"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		status, stderr := fit(append(args, "-memberships", in("m.csv"))...)
		note := "the training did not finish: its result goes to " + in("out.csv.partial")
		if status != exitError || !strings.Contains(stderr, note) {
			t.Errorf("%s: status %d, %q", name, status, stderr)
		}
		if strings.Contains(stderr, "m.csv.partial") {
			t.Errorf("%s: a file that is not written is named in %q", name, stderr)
		}
		for _, f := range files {
			if contents(t, in(f)) != "yesterday's" || !strings.Contains(stderr, in(f+".partial")) {
				t.Errorf("%s: %s is replaced, or %s.partial is not named in %q", name, f, f, stderr)
			}
			if info, err := os.Stat(in(f + ".partial")); err != nil || info.Size() < 100 {
				t.Errorf("%s: the result so far is not in %s.partial: %v", name, f, err)
			}
		}
		if _, err := largemvc.Load(in("model.partial")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if status, _, stderr := runLine(append(args, "-epochs", "1", "-quiet")...); status != exitOK || stderr != "" {
			t.Fatalf("status %d, %q", status, stderr)
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) != len(files) {
			t.Errorf("%s: %d files in place of %d, %v", name, len(left), len(files), err)
		}
		if _, err := largemvc.Load(in("model")); err != nil || strings.Count(contents(t, in("out.csv")), "\n") != 61 {
			t.Errorf("%s: the files are not replaced: %v", name, err)
		}
	}
}

// TestPartialFiles: the files of an unfinished training must not be inputs or other outputs, and standard output has none.
func TestPartialFiles(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	out, labels := filepath.Join(folder, "out"), filepath.Join(folder, "out.partial")
	if err := os.WriteFile(labels, []byte("label\n"+strings.Repeat("0\n1\n", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"overwrite what -start reads": {"-start", labels, "-out", out},
		"would both write":            {"-save", labels, "-out", out},
	} {
		status, stdout, stderr := runLine(append([]string{"fit", "-data", path}, args...)...)
		checkFailure(t, want, exitUsage, status, stdout, stderr, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout strings.Builder
	stderr := &trigger{cancel: cancel}
	status := run(ctx, []string{"fit", "-data", path, "-epochs", "500", "-out", "-"}, &stdout, stderr)
	if status != exitError || strings.Count(stdout.String(), "\n") != 61 || strings.Contains(stderr.String(), partialEnding) {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// TestPanicIsPrinted: the error of a panic is one line, and the stack follows, for a report of the fault.
func TestPanicIsPrinted(t *testing.T) {
	err := fmt.Errorf("largemvc: epoch 3: %w", &largemvc.PanicError{Value: "a mistake", Stack: []byte("goroutine 1\nmain.go")})
	var stderr strings.Builder
	if status := exitStatus(err, &stderr); status != exitError ||
		stderr.String() != "largemvc: epoch 3: panic: a mistake\ngoroutine 1\nmain.go\n" {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}
