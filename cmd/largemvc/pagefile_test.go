package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestReports writes the page of a fit, of a prediction and of the command report, to files and to standard output.
func TestReports(t *testing.T) {
	data, folder := writeSet(t, 60, true), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	status, stdout, stderr := runLine("fit", "-data", data, "-epochs", "5", "-report", at("fit.html"), "-save", at("model"),
		"-out", at("labels.csv"))
	if status != exitOK || !strings.Contains(stdout, "clusters") {
		t.Fatalf("status %d: %s %s", status, stdout, stderr)
	}
	fit := readText(t, at("fit.html"))
	for _, want := range []string{
		"<title>Clusters of set.npz</title>", "60 samples, seen in 2 views, were grouped into 3 clusters of 20 samples",
		"an accuracy of 100.0\u00a0%", "peak memory", "time to read the data", "kernels", "view 0 X0, 60×12",
	} {
		if !strings.Contains(fit, want) {
			t.Errorf("the report of the fit lacks %q", want)
		}
	}
	status, _, stderr = runLine("predict", "-model", at("model"), "-data", data, "-report", at("predict.html"))
	if predicted := readText(t, at("predict.html")); status != exitOK || !strings.Contains(predicted,
		"put by a trained model") {
		t.Errorf("predict: status %d, %s", status, stderr)
	}
	status, stdout, stderr = runLine("report", "-model", at("model"), "-data", data, "-out", at("report.html"), "-title", "June",
		"-points", "50", "-pca")
	page := readText(t, at("report.html"))
	if status != exitOK || stdout != "written: "+at("report.html")+"\n" || !strings.Contains(page, "<title>June</title>") ||
		!strings.Contains(page, "Shown are 50 of 60 samples") || !strings.Contains(page, "principal components") {
		t.Errorf("report: status %d, %s %s", status, stdout, stderr)
	}
	status, stdout, _ = runLine("report", "-model", at("model"), "-data", data, "-out", "-")
	if status != exitOK || !strings.HasPrefix(stdout, "<!DOCTYPE html>") || !strings.HasSuffix(stdout, "</html>\n") {
		t.Errorf("report to standard output: status %d", status)
	}
	status, stdout, stderr = runLine("fit", "-data", data, "-epochs", "2", "-report", "-")
	if status != exitOK || !strings.HasSuffix(stdout, "</html>\n") || !strings.Contains(stderr, "sizes 20, 20, 20") {
		t.Errorf("fit to standard output: status %d, %s", status, stderr)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReportIsComputedBeforeItsFile: while a report is computed nothing lies beside it, which a process that is killed would
// leave behind.
func TestReportIsComputedBeforeItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	out := &output{flag: "report", path: path}
	if err := checkOutputs("fit", io.Discard, []*output{out}, nil); err != nil {
		t.Fatal(err)
	}
	err := out.save(io.Discard, func(w io.Writer) error {
		if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) > 0 {
			t.Errorf("before the first byte the folder has %v, %v", files, err)
		}
		_, err := io.WriteString(w, "page")
		return err
	})
	if text := readText(t, path); err != nil || text != "page" {
		t.Errorf("%v, %q", err, text)
	}
}

// TestReportKeepsLabels wants the same labels with a report, for which the views are not overwritten.
func TestReportKeepsLabels(t *testing.T) {
	data, folder := writeSet(t, 60, false), t.TempDir()
	for _, preset := range []string{"default", "paper"} {
		var labels []string
		for i, more := range [][]string{nil, {"-report", filepath.Join(folder, "page.html")}} {
			out := filepath.Join(folder, preset+string(rune('0'+i))+".csv")
			args := append([]string{"fit", "-data", data, "-clusters", "3", "-epochs", "5", "-preset", preset,
				"-out", out}, more...)
			if status, _, stderr := runLine(args...); status != exitOK {
				t.Fatalf("status %d: %s", status, stderr)
			}
			labels = append(labels, readText(t, out))
		}
		if labels[0] != labels[1] {
			t.Errorf("%s: labels and distances differ with a report", preset)
		}
	}
}

// TestEmbedding writes H in all formats and reads it again.
func TestEmbedding(t *testing.T) {
	data, folder := writeSet(t, 30, true), t.TempDir()
	model := filepath.Join(folder, "model")
	if status, _, stderr := runLine("fit", "-data", data, "-epochs", "3", "-save", model, "-embedding",
		filepath.Join(folder, "fit.npz")); status != exitOK {
		t.Fatal(stderr)
	}
	want, err := dataset.Open(context.Background(), []string{filepath.Join(folder, "fit.npz")},
		dataset.Options{Views: []string{"H"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"h.npz", "h.npy", "h.csv"} {
		path := filepath.Join(folder, name)
		if status, _, stderr := runLine("predict", "-model", model, "-data", data, "-embedding", path); status != exitOK {
			t.Fatal(stderr)
		}
		got, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, y := &got.Views[0], &want.Views[0]
		if x.Rows != 30 || x.Cols != 3 {
			t.Fatalf("%s: %d×%d", name, x.Rows, x.Cols)
		}
		for i := range x.Rows {
			for j := range x.Cols {
				if d := x.At(i, j) - y.At(i, j); d > 1e-6 || d < -1e-6 {
					t.Fatalf("%s: H[%d,%d] is %v, want %v", name, i, j, x.At(i, j), y.At(i, j))
				}
			}
		}
	}
}

func TestReportWrongUse(t *testing.T) {
	data, folder := writeSet(t, 30, true), t.TempDir()
	model := filepath.Join(folder, "model")
	if status, _, stderr := runLine("fit", "-data", data, "-epochs", "1", "-save", model); status != exitOK {
		t.Fatal(stderr)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"report", "-data", data}, "-model FILE is missing"},
		{[]string{"report", "-model", model}, "-data FILE is missing"},
		{[]string{"report", "-model", model, "-data", data, "-out", data}, "would overwrite what -data reads"},
		{[]string{"report", "-model", model, "-data", data, "-out", model}, "would overwrite what -model reads"},
		{[]string{"report", "-model", model, "-data", data, "-points", "0"}, "-points is 0"},
		{[]string{"fit", "-data", data, "-report", data}, "would overwrite"},
		{[]string{"fit", "-data", data, "-report", filepath.Join(folder, "x"), "-out", filepath.Join(folder, "x")},
			"would both write"},
		{[]string{"fit", "-data", data, "-report", "-", "-json"}, "-json writes to standard output too"},
		{[]string{"fit", "-data", data, "-embedding", filepath.Join(folder, "h.txt")}, "must end in .npy, .npz or .csv"},
		{[]string{"predict", "-model", model, "-data", data, "-embedding", "h"}, "must end in .npy, .npz or .csv"},
		{[]string{"predict", "-model", model, "-data", data, "-report", data}, "would overwrite"},
	} {
		status, stdout, stderr := runLine(test.args...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("%v: status %d, %q, want %q", test.args, status, stderr, test.want)
		}
	}
}
