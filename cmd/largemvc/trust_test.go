package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fit -trust writes what predict -trust says of the same samples.
func TestFitTrust(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	if status, _, stderr := runLine(
		"fit", "-data", path, "-epochs", "1", "-quiet",
		"-save", in("model"), "-trust", in("fitted.csv"), "-report", in("page.html"),
	); status != exitOK {
		t.Fatal(stderr)
	}
	if status, _, stderr := runLine(
		"predict", "-model", in("model"), "-data", path, "-trust", in("predicted.csv"),
	); status != exitOK {
		t.Fatal(stderr)
	}
	fitted, err := os.ReadFile(in("fitted.csv"))
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := os.ReadFile(in("predicted.csv"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(in("page.html"))
	if err != nil || !strings.Contains(string(page), "Mean trust in the rows of each view") {
		t.Errorf("the report does not show it: %v", err)
	}
	if string(fitted) != string(predicted) || strings.Count(string(fitted), "\n") != 61 {
		t.Errorf("fit writes %d bytes, predict %d", len(fitted), len(predicted))
	}
	status, stdout, _ := runLine("fit", "-data", path, "-epochs", "1", "-trust", "-", "-quiet")
	if status != exitOK || stdout != string(fitted) {
		t.Errorf("standard output has %d bytes", len(stdout))
	}
	for _, wrong := range [][]string{{"-trust", path}, {"-trust", "-", "-json"}, {"-trust", in("t.csv"), "-preset", "paper"},
		{"-trust", in("t.csv"), "-out", in("t.csv")}} {
		if status, _, _ := runLine(append([]string{"fit", "-data", path}, wrong...)...); status != exitUsage {
			t.Errorf("%q ends with %d", wrong, status)
		}
	}
}

// What one view cannot have is refused before the training.
func TestFitTrustOfOneView(t *testing.T) {
	path, out := writeText(t, "one.csv", "a,b\n1,2\n3,4\n5,7\n"), filepath.Join(t.TempDir(), "labels.csv")
	status, stdout, stderr := runLine("fit", "-data", path, "-clusters", "2", "-quiet", "-trust", out+".trust", "-out", out)
	if status != exitUsage || stdout != "" || !strings.Contains(stderr, "one.csv has one view only") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("it was trained all the same")
	}
}

// predict -trust writes a number from 0 to 1 for each view, and names the view of the least.
func TestPredictTrust(t *testing.T) {
	path, folder := writeSet(t, 60, true), t.TempDir()
	model, out := filepath.Join(folder, "model"), filepath.Join(folder, "trust.csv")
	if status, _, stderr := runLine("fit", "-data", path, "-epochs", "1", "-save", model, "-quiet"); status != exitOK {
		t.Fatal(stderr)
	}
	if status, _, stderr := runLine("predict", "-model", model, "-data", path, "-trust", out); status != exitOK {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, views := slices.Index(records[0], "sample"), len(records[0])-slices.Index(records[0], "sample")-2
	if len(records) != 61 || views != 2 || records[0][at+1+views] != "suspect" {
		t.Fatalf("%d lines, columns %q", len(records), records[0])
	}
	for _, r := range records[1:] {
		least, name := 2.0, ""
		for v := range views {
			x, err := strconv.ParseFloat(r[at+1+v], 64)
			if err != nil || !(x >= 0 && x <= 1) {
				t.Fatalf("%q", r)
			}
			if x < least {
				least, name = x, records[0][at+1+v]
			}
		}
		if r[at+1+views] != name {
			t.Fatalf("%q names another view than %s", r, name)
		}
	}
	if status, _, stderr := runLine("predict", "-model", model, "-data", path, "-trust", path); status == exitOK {
		t.Errorf("the data are overwritten: %s", stderr)
	}
	if status, _, _ := runLine("predict", "-model", model, "-data", path, "-trust", "-", "-json"); status == exitOK {
		t.Error("JSON and a table on one output")
	}
}
