package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// TestSets tries a set of three classes far apart, and leaves out one of too many classes.
func TestSets(t *testing.T) {
	folder := t.TempDir()
	for name, clusters := range map[string]int{"three": 3, "many": mostNumbers} {
		set, err := dataset.Synthetic(dataset.SyntheticConfig{
			Samples: 90, Clusters: clusters, Dims: []int{8, 5}, Separation: 20, Seed: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.WriteNPZ(filepath.Join(folder, name+".npz"), true); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-data", folder, "-rows", "60", "-share", "0.5", "-draws", "0,3"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Draw 0:", "Draw 3:", "| three | 45 | 3 | **3** | **3** ",
		"suggested: the number of classes or one away on 1 of 1 sets, the number itself on 1; 0.00 away in the mean",
		"stands out: on 1 sets, of which the number of classes or one away on 1",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "many") {
		t.Errorf("a set of too many classes is tried:\n%s", out.String())
	}
	if err := run(t.Context(), []string{"-data", folder, "-draws", "first"}, io.Discard); err == nil {
		t.Error("a draw without a number is no error")
	}
	out.Reset()
	err := run(t.Context(), []string{"-data", folder, "-starts", "-draws", "0"}, &out)
	if err != nil || !strings.Contains(out.String(), "mean gain over 2 sets: +0.00/+0.00/+0.00") {
		t.Errorf("starts of clear clusters: %v\n%s", err, out.String())
	}
}

// TestTally counts by the distance from the number of classes.
func TestTally(t *testing.T) {
	var x tally
	for _, k := range []int{5, 6, 4, 9, 0} {
		x.add(k, 5)
	}
	if x != (tally{exact: 1, near: 2, distance: 11}) {
		t.Errorf("%+v", x)
	}
	if got := answer(5, 5) + answer(4, 5) + answer(7, 5); got != "**5**4(7)" {
		t.Errorf("answers %s", got)
	}
}
