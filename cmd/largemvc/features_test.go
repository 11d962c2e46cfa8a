package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestFeatureNames: a model refuses features of other names or in another order, and takes them by name on request.
func TestFeatureNames(t *testing.T) {
	folder := t.TempDir()
	set, err := dataset.Open(context.Background(), []string{writeSet(t, 30, true)}, dataset.Options{Float: 64})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, change func(columns []dataset.Column) []dataset.Column) string {
		columns, err := dataset.MatrixColumns("f", 30, set.Views[0].Cols, set.Views[0].Float64)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(change(columns), dataset.Column{Name: "label", Data: set.Labels})
		path := filepath.Join(folder, name)
		if err := dataset.WriteCSV(path, columns...); err != nil {
			t.Fatal(err)
		}
		return path
	}
	same := func(c []dataset.Column) []dataset.Column { return c }
	plain := write("plain.csv", same)
	turned := write("turned.csv", func(c []dataset.Column) []dataset.Column { slices.Reverse(c); return c })
	renamed := write("renamed.csv", func(c []dataset.Column) []dataset.Column { c[2].Name = "g"; return c })
	more := write("more.csv", func(c []dataset.Column) []dataset.Column {
		return slices.Insert(c, 1, dataset.Column{Name: "extra", Data: make([]int, 30)})
	})
	text, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := bytes.Cut(text, []byte("\n"))
	bare := filepath.Join(folder, "bare.csv")
	if err := os.WriteFile(bare, body, 0o644); err != nil {
		t.Fatal(err)
	}
	model, out, want := filepath.Join(folder, "model"), filepath.Join(folder, "out.csv"), filepath.Join(folder, "want.csv")
	if status, _, stderr := runLine(
		"fit", "-data", plain, "-epochs", "3", "-quiet", "-save", model, "-out", want,
	); status != exitOK {
		t.Fatal(stderr)
	}
	wanted, _ := table(t, want)
	for _, c := range []struct {
		data, flags, said, wrong string
	}{
		{plain, "", "", ""},
		{
			turned, "", "", "turned has the features of the training in another order: give -match-features",
		},
		{renamed, "", "", `feature 2 of view 0 (renamed) is "g", the network was trained on "f2" there`},
		{renamed, "-match-features", "", `no feature named "f2"`},
		{turned, "-match-features", "put in the order of the model", ""},
		{more, "", "", "1 feature that the model does not have (extra): give -match-features"},
		{more, "-view v=* -view w=extra", "", "2 views, the training had 1: plain ("},
		{more, "-match-features", "left out: 1 feature that the model does not have: extra", ""},
		{bare, "-labels 12", "the features of bare have no names", ""},
		{bare, "-labels 12 -match-features", "", "the features of bare have no names"},
	} {
		args := append([]string{"predict", "-model", model, "-data", c.data, "-out", out}, strings.Fields(c.flags)...)
		status, stdout, stderr := runLine(args...)
		if c.wrong != "" {
			if status == exitOK || stdout != "" || !strings.Contains(stderr, c.wrong) {
				t.Errorf("%s %s: status %d, %s%s, want %q", c.data, c.flags, status, stdout, stderr, c.wrong)
			}
			continue
		}
		if status != exitOK || !strings.Contains(stdout, c.said) {
			t.Errorf("%s %s: status %d, %s%s", c.data, c.flags, status, stdout, stderr)
			continue
		}
		if labels, _ := table(t, out); !slices.Equal(labels, wanted) {
			t.Errorf("%s %s: labels %v, want %v", c.data, c.flags, labels, wanted)
		}
	}
}
