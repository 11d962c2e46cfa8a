package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestAnnOut writes labels into copies of AnnData, and compares them with the labels in CSV.
func TestAnnOut(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	cells := filepath.Join("..", "..", "dataset", "testdata", "cells.h5ad")
	run := func(command string, args ...string) {
		t.Helper()
		args = append([]string{command, cells, "-views", "layers/counts,obsm/protein"}, args...)
		if status, _, stderr := runLine(args...); status != exitOK {
			t.Fatal(stderr)
		}
	}
	fit := []string{"-k", "3", "-epochs", "3", "-known", "batch"}
	run("fit", append(fit, "-save", in("m"), "-out", in("fit.h5ad"))...)
	run("fit", append(fit, "-out", in("fit.csv"))...)
	run("fit", append(fit, "-out", in("capitals.H5AD"))...)
	sameFiles(t, in("fit.h5ad"), in("capitals.H5AD"))
	run("predict", "-model", in("m"), "-out", in("predict.h5ad"))
	run("predict", "-model", in("m"), "-out", in("predict.csv"))
	for _, command := range []string{"fit", "predict"} {
		text, err := os.ReadFile(in(command + ".csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for c, name := range map[int]string{2: "largemvc", len(lines[0]) - 1: "largemvc_" + lines[0][len(lines[0])-1]} {
			l, err := dataset.ReadKnown(t.Context(), in(command+".h5ad"), dataset.Options{Labels: "obs/" + name})
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range l.Labels {
				if l.Names[k] != lines[i+1][c] || l.IDs[i] != lines[i+1][0] {
					t.Errorf("%s: %s is %s in row %d, in CSV %q", command, name, l.Names[k], i, lines[i+1])
				}
			}
		}
		h := dataset.Options{Views: []string{"obsm/X_largemvc"}}
		set, err := dataset.Open(t.Context(), []string{in(command + ".h5ad")}, h)
		if err != nil || set.Views[0].Cols != 3 || set.Samples() != 12 {
			t.Errorf("%s: %v, %v", command, set, err)
		}
	}
	if _, _, stderr := runLine("compare", in("fit.h5ad"), in("fit.h5ad")); !strings.Contains(stderr, "give -column obs/") ||
		!strings.Contains(stderr, "or obs/largemvc or") {
		t.Error(stderr)
	}
	for words, args := range map[string][]string{
		`a.obs["largemvc"]`:                {"fit", in("fit.h5ad"), "-views", "X", "-k", "2"},
		"labels go into a copy of AnnData": {"fit", in("fit.csv"), "-k", "2"},
		"needs one file of AnnData":        {"fit", cells, cells, "-k", "2"},
		"in one process and in memory":     {"predict", cells, "-model", in("m"), "-from-disk"},
	} {
		status, _, stderr := runLine(append(args, "-out", in("new.h5ad"))...)
		if _, err := os.Stat(in("new.h5ad")); status == exitOK || !strings.Contains(stderr, words) || err == nil {
			t.Errorf("%s: status %d, %v: %s", words, status, err, stderr)
		}
	}
}
