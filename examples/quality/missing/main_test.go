package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
)

// TestRun asks all questions about a small set; the accuracy without absent rows is that of a fit done by hand.
func TestRun(t *testing.T) {
	data, out := filepath.Join(t.TempDir(), "pears.npz"), t.TempDir()
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 90, Clusters: 3, Dims: []int{12, 8, 6}, Separation: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.WriteNPZ(data, false); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	args := []string{"-data", data, "-out", out, "-draws", "1", "-epochs", "2", "-rates", "0,0.3"}
	if err := run(context.Background(), args, &printed, io.Discard); err != nil {
		t.Fatal(err)
	}
	found, err := sets.Open(context.Background(), sets.Choice{Path: data, Warn: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	d := found[0].InOrder(0)
	c, err := largemvc.Fit(context.Background(), d.Views, largemvc.Config{Clusters: 3, Epochs: 2})
	if err != nil {
		t.Fatal(err)
	}
	acc, err := largemvc.Accuracy(d.Labels, c.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| new | pears | mean |", "| 0.3, new, in a fit with them | ", "| noise: area | ", "| swapped: named | ",
		fmt.Sprintf("| none is absent | %.1f | %.1f |", 100*acc, 100*acc),
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("no %q in\n%s", want, &printed)
		}
	}
	for want, args := range map[string][]string{
		`no part "used"`: {"-data", data, "-parts", "used"}, `"1" is no share`: {"-rates", "1"}, "give -data": nil,
	} {
		if err := run(context.Background(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestJudged has four rows, of which two are bad: one is trusted least of all, one lies between the good ones.
func TestJudged(t *testing.T) {
	trust := [][]float64{{0.1, 0.5, 0.4, 0.9}, {0.8, 0.2, 0.9, 0.1}}
	area, named := judged(trust, []bool{true, true, false, false}, 0)
	if math.Abs(area-0.75) > 1e-12 || named != 0.5 {
		t.Errorf("area %v, named %v", area, named)
	}
}

// TestMatchedAside: where clusters are the classes renamed, no sample needs itself to be matched.
func TestMatchedAside(t *testing.T) {
	var classes, clusters []int
	for i := range 30 {
		classes, clusters = append(classes, i%3), append(clusters, (i+1)%3)
	}
	if got, err := matchedAside(classes, clusters, 3); err != nil || math.Abs(got-100) > 1e-12 {
		t.Errorf("%v, %v", got, err)
	}
	// A class of one sample cannot be matched by the others.
	clusters = slices.Repeat([]int{0}, 10)
	classes = append(slices.Repeat([]int{0}, 9), 1)
	if got, err := matchedAside(classes, clusters, 2); err != nil || math.Abs(got-90) > 1e-12 {
		t.Errorf("%v, %v", got, err)
	}
}
