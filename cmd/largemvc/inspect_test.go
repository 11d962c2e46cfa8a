package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

func TestInspect(t *testing.T) {
	path := writeSet(t, 30, true)
	status, stdout, stderr := runLine("inspect", path)
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{"set.npz: NumPy .npz", "X1        float64  30×8   view 1", "30 samples, 2 views",
		"3 classes: 0 (10) 1 (10) 2 (10)",
		"suggested: no flags: the default preset", "memory of a fit: about", "for 3 clusters (the number of classes)"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	cells := filepath.Join("..", "..", "dataset", "testdata", "cells.h5ad")
	command := "fit it with: largemvc fit -data " + cells + " -views X -clusters 10 -save model.safetensors -out labels.csv\n"
	if _, out, _ := runLine("inspect", cells, "-leave-out", "obsm/protein"); !strings.Contains(out, command) {
		t.Errorf("%s lacks %s", out, command)
	}
	// Flags may follow the files; several files are one set.
	csvFile := filepath.Join(t.TempDir(), "wide.csv")
	lines := "a,b\n" + strings.Repeat("1,0\n0,1\n", 15)
	if err := os.WriteFile(csvFile, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, same, _ := runLine("inspect", "-data", path); again != exitOK || same != stdout {
		t.Errorf("with -data: status %d, %s", again, same)
	}
	status, stdout, stderr = runLine("inspect", path, csvFile, "-labels", "none", "-clusters", "7")
	if status != exitOK || !strings.Contains(stdout, "30 samples, 3 views") || !strings.Contains(stdout, "no labels") ||
		!strings.Contains(stdout, "for 7 clusters (-clusters)") || !strings.Contains(stdout,
		"(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too: view 2 has 2 features only") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = runLine("inspect", path, "-labels", "none", "-clusters", "31")
	if status != exitOK || !strings.Contains(stdout, "a fit would fail: ") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if status, stdout, _ = runLine("inspect", path, "-labels", "none"); status != exitOK || !strings.Contains(stdout,
		"for 10 clusters (a guess") {
		t.Errorf("status %d: %s", status, stdout)
	}
	// What was found is reported, and why it is not enough.
	status, stdout, stderr = runLine("inspect", path, "-labels", "X9")
	if status != exitError || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "no variable X9") ||
		!strings.Contains(stdout, "30×12") || strings.Contains(stdout, "no variable X9") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = runLine("inspect", filepath.Join(t.TempDir(), "none.mat"))
	checkFailure(t, "missing", exitError, status, stdout, stderr, "none.mat")
}

func TestSuggestion(t *testing.T) {
	const scale, few = "(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too: the columns of view 1",
		"(-set Neighborhood.Neighbors=none) give -set Preprocess=balanced too: view 1 has 4 features"
	for _, test := range []struct {
		view dataset.ViewReport
		text string // beside "no flags"
	}{
		{dataset.ViewReport{Features: 5, Fill: 1, MedianStd: 1, MaxStd: 100}, ""},
		{dataset.ViewReport{Features: 5, Fill: 1, MedianStd: 1, MaxStd: 101}, scale},
		{dataset.ViewReport{Features: 5, Fill: 0.4, MedianStd: 1, MaxStd: 101}, ""},
		{dataset.ViewReport{Features: 4, Fill: 1, MedianStd: 1, MaxStd: 1}, few},
		{dataset.ViewReport{Features: 5, Fill: 1}, ""}, // all columns constant
	} {
		fine := dataset.ViewReport{Features: 9, Fill: 1, MedianStd: 1, MaxStd: 1}
		text := suggestion(&dataset.Report{Views: []dataset.ViewReport{fine, test.view}})
		if !strings.HasPrefix(text, "no flags") || !strings.Contains(text, test.text) ||
			(test.text == "") == strings.Contains(text, "-set Neighborhood.Neighbors=none") {
			t.Errorf("%+v: %s", test.view, text)
		}
	}
}

// TestInspectStops ends with the context, without half a report.
func TestInspectStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.csv.gz")
	if err := os.WriteFile(path, hostile.LongCSV(16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(30*time.Millisecond, cancel)
	var stdout, stderr bytes.Buffer
	if status := run(ctx, []string{"inspect", path}, &stdout, &stderr); status != exitError || stdout.Len() > 0 ||
		!strings.Contains(stderr.String(), "cancelled") {
		t.Errorf("status %d, output %q, message %q", status, stdout.String(), stderr.String())
	}
}

// TestInspectModel wants the card of a model: what it was trained on, and how.
func TestInspectModel(t *testing.T) {
	data, model := writeSet(t, 30, true), filepath.Join(t.TempDir(), "model")
	if status, _, stderr := runLine("fit", "-data", data, "-epochs", "4", "-seed", "9", "-save", model); status != exitOK {
		t.Fatal(stderr)
	}
	status, stdout, stderr := runLine("inspect", model)
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{"30 samples, 4 epochs (epoch limit), seed 9, float32", "X0, 12 features",
		"3 of sizes 10, 10, 10",
		"LargeMvC-Net, 2 layers, 3 anchors, activation relu\n",
		"view 1 zscore (9)", `"Seed":9`, "largemvc predict -model " + model} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	text, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(model, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := runLine("inspect", model); status != exitError || stdout != "" || stderr == "" {
		t.Errorf("a damaged model: status %d, %q, %q", status, stdout, stderr)
	}
}

// TestInspectCheckpoint wants of a checkpoint what it is, where its training is, and how that goes on.
func TestInspectCheckpoint(t *testing.T) {
	data, state := writeSet(t, 30, true), filepath.Join(t.TempDir(), "state")
	if status, _, stderr := runLine("fit", "-data", data, "-epochs", "4", "-seed", "9", "-set", "Restarts=2", "-set",
		"Float64=true",
		"-checkpoint", state); status != exitOK {
		t.Fatal(stderr)
	}
	status, stdout, stderr := runLine("inspect", state)
	if status != exitOK || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	for _, want := range []string{"the state of a fit, not data or a model",
		"30 samples, after 4 of 4 epochs, where it ended", "seed 9, float64", "of 2\n",
		"view 0      X0, 12 features", "3, with 3 anchors", `"Seed":9`,
		"largemvc fit -data FILE -resume " + state + "\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in\n%s", want, stdout)
		}
	}
	text := contents(t, state)
	f, err := safetensors.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	delete(f.Metadata, "sha256")
	f.Metadata["training"] = `{"samples":30,"views":[{"name":"X0","features":12}],"prepared":true}`
	var before strings.Builder
	if _, err := f.Write(&before, "sha256"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, []byte(before.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stdout, _ = runLine("inspect", state)
	if !strings.Contains(stdout, "after 0 of 4 epochs, where its preparation continues") {
		t.Errorf("a fit before its first epoch:\n%s", stdout)
	}
	if err := os.WriteFile(state, []byte(text[:len(text)-1]), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr = runLine("inspect", state)
	checkFailure(t, "a damaged checkpoint", exitError, status, stdout, stderr,
		"is a checkpoint, and cannot be read")
}

// TestModelOfForeignNames: names in a model do not speak to the terminal, nor forge a line.
func TestModelOfForeignNames(t *testing.T) {
	text := "\"a\u009b31m\",\"\u202eb\nview 9 forged\",c,d,e\n"
	for i := range 30 {
		text += fmt.Sprintf("%d,%d,%d,%d,%d\n", i%3*40+i%5, i%3*30+i%4, i%7, i%3*20+i%2, 50-i%3*20)
	}
	model := filepath.Join(t.TempDir(), "model")
	status, _, stderr := runLine("fit", "-data", writeText(t, "x.csv", text), "-clusters", "3", "-epochs", "1", "-save", model,
		"-quiet")
	if status != exitOK {
		t.Fatal(stderr)
	}
	_, stdout, _ := runLine("inspect", model)
	if strings.ContainsAny(stdout, "\u009b\u202e") || strings.Contains(stdout, "\nview 9") ||
		!strings.Contains(stdout, `a\u009b31m`) {
		t.Error(stdout)
	}
}
