package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestNoise wants noise of one kind to be none and planted clusters to be clear.
func TestNoise(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-draws", "1", "-first", "7", "-only", "normal,planted9"}
	if err := run(context.Background(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| normal | 15 | 100 | 0 | 0 |", "| planted9 | 15 | 0 | 0 | 100 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
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
	if !strings.Contains(out.String(), "| planted | 1 | 0 | 0 | 100 |") || !strings.Contains(out.String(), "| 100 |") ||
		!strings.Contains(out.String(), "; 1 of 1 judgements are weak or clear") {
		t.Error(out.String())
	}
	out.Reset()
	if err := run(context.Background(), []string{"-draws", "1", "-mismatched", "-data", path}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, rest, _ := strings.Cut(out.String(), "agreement of views "); !strings.HasPrefix(strings.TrimPrefix(rest, "-"), "0.0") {
		t.Error(out.String())
	}
	out.Reset()
	if err := run(context.Background(), []string{"-draws", "1", "-missing", "0.3", "-data", path}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "1 of 1 judgements are weak or clear") {
		t.Error(out.String())
	}
	if err := run(context.Background(), []string{"-missing", "0.3"}, &out, io.Discard); err == nil {
		t.Error("no error for -missing without -data")
	}
}
