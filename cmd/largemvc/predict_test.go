package main

import (
	"context"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// table reads a labels file and checks its columns.
func table(t *testing.T, path string) (labels []int, confidence []float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if columns := strings.Join(records[0], ","); columns != "sample,label,confidence,remoteness" &&
		columns != "sample,label,confidence,novelty" && columns != "sample,label,confidence" {
		t.Fatalf("columns %v", records[0])
	}
	for i, r := range records[1:] {
		if r[0] != strconv.Itoa(i) {
			t.Fatalf("sample %s where %d was to come", r[0], i)
		}
		label, err := strconv.Atoi(r[1])
		a, err1 := strconv.ParseFloat(r[2], 64)
		if err != nil || err1 != nil || !(a >= 0 && a <= 1) {
			t.Fatalf("line %d: %v", i+2, r)
		}
		labels, confidence = append(labels, label), append(confidence, a)
	}
	return labels, confidence
}

// TestPredictPrepared fills holes and transforms counts of new samples as the model did.
func TestPredictPrepared(t *testing.T) {
	a, b := "id,x,y\n", "id,u,v\n"
	for i := range 40 {
		x := strconv.Itoa(i%2*9 + i%5)
		a += "s" + strconv.Itoa(i) + "," + x + "," + strings.Repeat("NA", i%7/6) + x[:(6-i%7+6)/7*len(x)] + "\n"
		b += "s" + strconv.Itoa(i) + "," + x + ",1\n"
	}
	folder := t.TempDir()
	data := []string{"-data", writeText(t, "a.csv", a), "-data", writeText(t, "b.csv", b)}
	model, fitted, predicted := filepath.Join(folder, "m"), filepath.Join(folder, "l.csv"), filepath.Join(folder, "p.csv")
	fit := append([]string{"fit", "-clusters", "2", "-quiet", "-save", model, "-out", fitted, "-impute", "median", "-transform",
		"b=tfidf"}, data...)
	predict := append([]string{"predict", "-quiet", "-model", model, "-out", predicted}, data...)
	const filled = "a: missing values are filled with the median of the training samples: 5 in 1 of 2 features"
	for _, args := range [][]string{fit, predict} {
		status, stdout, stderr := runLine(args...)
		if status != exitOK || !strings.Contains(stdout, filled) ||
			!strings.Contains(stdout, "b: values are transformed by tfidf") {
			t.Fatalf("%s: status %d: %s%s", args[0], status, stdout, stderr)
		}
	}
	if _, stdout, _ := runLine("inspect", model); !strings.Contains(stdout, "values prepared: median") ||
		!strings.Contains(stdout, "values prepared: median, tfidf") {
		t.Errorf("inspect of the model: %s", stdout)
	}
	labels := func(path string) (out []string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			out = append(out, strings.Split(line, ",")[2])
		}
		return out
	}
	if got, want := labels(predicted), labels(fitted); len(got) != 41 || strings.Join(got, "") != strings.Join(want, "") {
		t.Errorf("labels %v, the fit's %v", got, want)
	}
}

// TestPredict saves a model, and gives its training samples and others back to it.
func TestPredict(t *testing.T) {
	for _, float := range []string{"false", "true"} {
		path, folder := writeSet(t, 60, true), t.TempDir()
		model, fitted, predicted := filepath.Join(folder, "model"), filepath.Join(folder, "fit.csv"), filepath.Join(folder,
			"predict.csv")
		if status, _, stderr := runLine("fit", "-data", path, "-epochs", "5", "-set", "Float64="+float, "-save", model, "-out",
			fitted, "-quiet"); status != exitOK {
			t.Fatal(stderr)
		}
		status, stdout, stderr := runLine("predict", "-model", model, "-data", path, "-out", predicted, "-json")
		if status != exitOK || stderr != "" {
			t.Fatalf("status %d: %s", status, stderr)
		}
		m := object(t, stdout)
		for k, want := range map[string]any{"samples": 60.0, "views": 2.0, "clusters": 3.0, "classes": 3.0, "acc": 1.0,
			"nmi": 1.0, "ari": 1.0,
			"purity": 1.0, "missing_rate": 0.0, "model": model} {
			if m[k] != want {
				t.Errorf("%s is %v, want %v", k, m[k], want)
			}
		}
		if want := map[string]any{"false": 32.0, "true": 64.0}[float]; m["float"] != want {
			t.Errorf("float is %v", m["float"])
		}
		labels, sure := table(t, fitted)
		again, sureAgain := table(t, predicted)
		for i := range labels {
			if labels[i] != again[i] {
				t.Fatalf("sample %d is in cluster %d, predicted %d", i, labels[i], again[i])
			}
			if math.Abs(sure[i]-sureAgain[i]) > 1e-3 {
				t.Fatalf("sample %d: confidence %v, predicted %v", i, sure[i], sureAgain[i])
			}
		}
		// A few samples without labels, some of them incomplete.
		set, err := dataset.Open(context.Background(), []string{path}, dataset.Options{Float: 64})
		if err != nil {
			t.Fatal(err)
		}
		x, y := set.Views[0].Float64[:4*12], set.Views[1].Float64[:4*8]
		for j := range 12 {
			x[12+j] = math.NaN()
		}
		few := filepath.Join(folder, "few.npz")
		if err := dataset.WriteNPZ(few, false, dataset.Array{Name: "X0", Shape: []int{4, 12}, Data: x},
			dataset.Array{Name: "X1", Shape: []int{4, 8}, Data: y}); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr = runLine("predict", "-model", model, "-data", few, "-missing-rows", "-out", predicted)
		if status != exitOK || !strings.Contains(stdout, "12.5 % of the view rows absent") || strings.Contains(stdout, "ACC") {
			t.Errorf("status %d: %s%s", status, stdout, stderr)
		}
		if again, _ = table(t, predicted); len(again) != 4 || again[0] != labels[0] || again[1] != labels[1] ||
			again[3] != labels[3] {
			t.Errorf("labels %v, want %v", again, labels[:4])
		}
	}
}

func TestPredictErrors(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	model := filepath.Join(folder, "model")
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "2", "-save", model, "-quiet"); status != exitOK {
		t.Fatal(stderr)
	}
	whole, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)/2] ^= 1
	broken := filepath.Join(folder, "broken")
	if err := os.WriteFile(broken, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	one := filepath.Join(folder, "one.npy")
	csvFile := filepath.Join(folder, "one.csv")
	if err := os.WriteFile(csvFile, []byte("1,7,3\n4,5,6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ model, data, more, want string }{
		{filepath.Join(folder, "none"), path, "", "none"},
		{path, path, "", "set.npz"},
		{broken, path, "", "broken"},
		{model, one, "", "one.npy"},
		{model, csvFile, "", "1 view, the training had 2: X0 ("},
		{model, path, "-views X1,X0", "the views are X1, X0, the network was trained on X0, X1"},
		{model, path, "-views X0,X0", "names X0 twice"},
		{model, path, "-out " + folder, "is a folder"},
	} {
		args := append([]string{"predict", "-model", test.model, "-data", test.data}, strings.Fields(test.more)...)
		status, stdout, stderr := runLine(args...)
		checkFailure(t, strings.Join(args, " "), exitError, status, stdout, stderr, test.want)
	}
}

// TestDrift predicts the samples of the training and noise, and wants the last line to tell them apart.
func TestDrift(t *testing.T) {
	path, folder := writeSet(t, 90, true), t.TempDir()
	model, labels := filepath.Join(folder, "model"), filepath.Join(folder, "labels.csv")
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "5", "-save", model); status != exitOK {
		t.Fatal(stderr)
	}
	noise := filepath.Join(folder, "noise.npz")
	rng := rand.New(rand.NewPCG(9, 9))
	x, y := make([]float64, 40*12), make([]float64, 40*8)
	for i := range x {
		x[i] = 3 * rng.NormFloat64()
	}
	for i := range y {
		y[i] = 3 * rng.NormFloat64()
	}
	if err := dataset.WriteNPZ(noise, false, dataset.Array{Name: "X0", Shape: []int{40, 12}, Data: x},
		dataset.Array{Name: "X1", Shape: []int{40, 8}, Data: y}); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{path: "they are like the training samples", noise: "their labels say little"} {
		status, stdout, stderr := runLine("predict", "-model", model, "-data", data, "-out", labels)
		if status != exitOK || !strings.Contains(stdout, "drift") || !strings.Contains(stdout, want) {
			t.Errorf("%s: status %d, %s%s", data, status, stdout, stderr)
		}
		if !strings.HasPrefix(readText(t, labels), "sample,label,confidence,novelty\n") {
			t.Error("the labels have no column of novelty")
		}
		_, stdout, _ = runLine("predict", "-model", model, "-data", data, "-json")
		if m := object(t, stdout); (m["novel"].(float64) > 0.9) != (data == noise) || m["novelty"] == nil {
			t.Errorf("%s: %s", data, stdout)
		}
	}
}

// TestPredictQuiet: -quiet shows no progress and takes nothing of the result, and -workers changes no label.
func TestPredictQuiet(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	model := filepath.Join(folder, "model")
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "2", "-save", model, "-quiet"); status != exitOK {
		t.Fatal(stderr)
	}
	predict := func(args ...string) (labels, stdout, stderr string) {
		out := filepath.Join(folder, "out.csv")
		status, stdout, stderr := runLine(append([]string{"predict", "-model", model, "-data", path, "-out", out}, args...)...)
		if status != exitOK {
			t.Fatalf("%v: %s", args, stderr)
		}
		return contents(t, out), stdout, stderr
	}
	want, _, loud := predict("-from-disk")
	if !strings.Contains(loud, "60/60") {
		t.Fatalf("without -quiet there is no progress: %q", loud)
	}
	labels, stdout, quiet := predict("-from-disk", "-quiet", "-workers", "1")
	if quiet != "" || labels != want || !strings.Contains(stdout, "sizes 20, 20, 20") {
		t.Errorf("-quiet says %q and gives %q", quiet, stdout)
	}
	want, _, _ = predict()
	for _, workers := range []string{"0", "1", "3"} {
		if labels, _, _ := predict("-workers", workers, "-quiet"); labels != want {
			t.Errorf("-workers %s gives other labels", workers)
		}
	}
}

// TestNoModel: a file that is no model is said to be none, and what it looks like, before the data are read, which here are not
// even there.
func TestNoModel(t *testing.T) {
	path, folder := writeSet(t, 30, true), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	status, _, stderr := runLine("fit", "-data", path, "-epochs", "1", "-quiet", "-checkpoint", at("state"))
	if status != exitOK {
		t.Fatal(stderr)
	}
	for name, text := range map[string]string{
		"table.csv": "id,c0,c1\na,1,2\n", "short.csv": "1\n2\n", "empty": "", "cut": contents(t, at("state"))[:8],
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for model, want := range map[string]string{
		at("table.csv"): "the file is not a model of largemvc; it looks like a text, as CSV is",
		at("short.csv"): "the file is not a model of largemvc; it looks like a text",
		path:            "the file is not a model of largemvc; it looks like a ZIP archive, as .npz are",
		at("state"):     "the file is a checkpoint of a training of largemvc, not a model",
		at("empty"):     "truncated",
		at("cut"):       "truncated",
	} {
		status, stdout, stderr := runLine("predict", "-model", model, "-data", "nothing.npz")
		checkFailure(t, model, exitError, status, stdout, stderr, want)
		if !strings.Contains(stderr, model) {
			t.Errorf("the file is not named: %s", stderr)
		}
	}
}
