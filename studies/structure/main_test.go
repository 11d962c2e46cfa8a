package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestNoise wants noise of one kind to be none and planted clusters to be clear, in the table and in the figures of each judgement.
func TestNoise(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.csv")
	var out bytes.Buffer
	args := []string{"-draws", "1", "-first", "7", "-only", "normal,planted9", "-out", path}
	if err := run(context.Background(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| normal | 15 | 100 | 0 | 0 |", "| planted9 | 15 | 0 | 0 | 100 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 31 || strings.Count(string(text), ",none,") != 15 {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestSets wants the NMI of a fit beside the judgement of a set with classes.
func TestSets(t *testing.T) {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 150, Clusters: 3, Dims: []int{12, 8}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "planted.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-draws", "1", "-data", path}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| planted | 1 | 0 | 0 | 100 |") || !strings.Contains(out.String(), "| 100 |") {
		t.Error(out.String())
	}
}
