package main

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// farFile writes 900 samples of four clusters. It moves 20 of them by 40 standard deviations and returns these.
func farFile(t *testing.T) (path string, far []int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	const n, d = 900, 12
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64()
		if class := i / d % 4; i%d == class || i%d == class+4 {
			x[i] += 9
		}
	}
	far = slices.Sorted(slices.Values(rng.Perm(n)[:20]))
	for _, i := range far {
		for j := range d {
			x[i*d+j] += 40
		}
	}
	path = filepath.Join(t.TempDir(), "far.npz")
	err := dataset.WriteNPZ(path, false, dataset.Array{Name: "X0", Shape: []int{n, d}, Data: x})
	if err != nil {
		t.Fatal(err)
	}
	return path, far
}

// TestOutliersAreMarked wants the far samples to have the label -1 in the file and in JSON, and at most 5 % of the others.
func TestOutliersAreMarked(t *testing.T) {
	path, far := farFile(t)
	out := filepath.Join(t.TempDir(), "labels.csv")
	args := []string{"fit", "-data", path, "-clusters", "5", "-epochs", "3", "-quiet", "-out", out}
	status, stdout, stderr := runLine(append(args, "-json", "-outliers", "mark")...)
	if status != exitOK {
		t.Fatal(stderr)
	}
	m := object(t, stdout)
	var found []int
	for _, i := range m["outliers"].([]any) {
		found = append(found, int(i.(float64)))
	}
	others := 0
	for _, i := range found {
		if !slices.Contains(far, i) {
			others++
		}
	}
	if len(found)-others != len(far) || others > 880/20 {
		t.Errorf("%d of %d far samples and %d others are marked", len(found)-others, len(far), others)
	}
	labels := m["labels"].([]any)
	lines := strings.Split(strings.TrimSpace(readText(t, out)), "\n")[1:]
	for i, line := range lines {
		marked := slices.Contains(found, i)
		if label := strings.Split(line, ",")[1]; (label == "-1") != marked || (labels[i].(float64) == -1) != marked {
			t.Fatalf("sample %d, marked %v: label %s, in JSON %v", i, marked, label, labels[i])
		}
	}
	status, stdout, stderr = runLine(args...)
	if status != exitOK || !strings.Contains(stdout, "outliers") || strings.Contains(readText(t, out), ",-1,") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}

// memberships reads a file of memberships.
func memberships(t *testing.T, path string) [][]float64 {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(readText(t, path))).ReadAll()
	if err != nil || strings.Join(records[0], ",") != "sample,cluster0,cluster1,cluster2" {
		t.Fatalf("%v, %v", err, records[0])
	}
	var out [][]float64
	for _, r := range records[1:] {
		row, sum := []float64{}, 0.0
		for _, text := range r[1:] {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			row, sum = append(row, x), sum+x
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("memberships %v", r)
		}
		out = append(out, row)
	}
	return out
}

// TestMembershipFiles wants the largest membership of a sample to be the one of its label, alike from the fit and the model.
func TestMembershipFiles(t *testing.T) {
	path, folder := writeSet(t, 60, false), t.TempDir()
	model, fitted := filepath.Join(folder, "model"), filepath.Join(folder, "fit.csv")
	predicted := filepath.Join(folder, "predict.csv")
	status, stdout, stderr := runLine("fit", "-data", path, "-clusters", "3", "-epochs", "3", "-quiet", "-json", "-save", model,
		"-memberships", fitted)
	if status != exitOK {
		t.Fatal(stderr)
	}
	m := object(t, stdout)
	if x := m["confidence"].(float64); !(x > 0.5) || len(m["confidences"].([]any)) != 60 {
		t.Errorf("confidence %v of %v", x, m["confidences"])
	}
	want := memberships(t, fitted)
	for i, label := range m["labels"].([]any) {
		if row := want[i]; row[int(label.(float64))] != slices.Max(row) {
			t.Errorf("sample %d has the label %v and the memberships %v", i, label, row)
		}
	}
	status, stdout, stderr = runLine("predict", "-model", model, "-data", path, "-json", "-memberships", predicted)
	if status != exitOK || len(object(t, stdout)["confidences"].([]any)) != 60 {
		t.Fatal(stdout, stderr)
	}
	for i, row := range memberships(t, predicted) {
		for k, x := range row {
			if math.Abs(x-want[i][k]) > 1e-3 {
				t.Fatalf("sample %d: memberships %v, of the fit %v", i, row, want[i])
			}
		}
	}
}

func TestConfidenceIsRefused(t *testing.T) {
	path := writeSet(t, 60, false)
	for want, args := range map[string][]string{
		"cannot be given with -set NoStructure=true": {"-set", "NoStructure=true", "-outliers", "mark"},
		"must end in .npy":                           {"-memberships", "m.txt"},
	} {
		status, _, stderr := runLine(append([]string{"fit", "-data", path, "-clusters", "3"}, args...)...)
		if status != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "labels.csv")
	status, stdout, stderr := runLine("fit", "-data", path, "-clusters", "3", "-epochs", "1", "-quiet", "-json",
		"-set", "NoStructure=true",
		"-out", out)
	m := object(t, stdout)
	if status != exitOK || m["confidence"] != nil || m["confidences"] != nil || m["outliers"] != nil ||
		!strings.HasPrefix(readText(t, out), "sample,label\n") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

// TestOutliersThatAreNotKnown: -outliers mark is an error where no outliers were looked for. The other labels are written.
func TestOutliersThatAreNotKnown(t *testing.T) {
	out := filepath.Join(t.TempDir(), "labels.csv")
	status, _, stderr := runLine("fit", "-data", writeSet(t, 20, false), "-clusters", "2", "-quiet",
		"-outliers", "mark", "-out", out)
	if status != exitError || !strings.Contains(stderr, "-outliers mark: no label is -1") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if text := readText(t, out); strings.Count(text, "\n") != 21 {
		t.Error(text)
	}
}
