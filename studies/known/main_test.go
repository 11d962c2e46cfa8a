package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/studies/internal/sets"
)

// planted writes a set with three groups and returns its path.
func planted(t *testing.T) string {
	t.Helper()
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 150, Clusters: 3, Dims: []int{12, 8}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "planted.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun wants every method to find planted groups by a few labels.
func TestRun(t *testing.T) {
	path := planted(t)
	for _, weight := range []string{"0", "3"} {
		var out bytes.Buffer
		args := []string{"-draws", "1", "-data", path, "-known", "5,20%", "-limit", "140", "-weight", weight}
		if err := run(context.Background(), args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"| planted | 5 | 100.0 | 100.0 | 100.0 |", "| planted | 20 % | 100.0 |", "| mean | 5 | 100.0"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("weight %s: the table lacks %q:\n%s", weight, want, &out)
			}
		}
	}
	for _, wrong := range []string{"0", "x", "120%"} {
		if err := run(context.Background(), []string{"-known", wrong}, io.Discard, io.Discard); err == nil {
			t.Errorf("-known %s is no error", wrong)
		}
	}
}

// TestChoose wants as many labels of each class as asked for, but never more than half of it.
func TestChoose(t *testing.T) {
	labels := append(slices.Repeat([]int{0}, 20), 1, 1, 1, 1)
	for want, a := range map[[2]int]amount{{3, 2}: {perClass: 3}, {10, 2}: {perClass: 30}} {
		count := [2]int{}
		for i, l := range a.choose(labels, 2, 1) {
			if l >= 0 {
				count[l]++
				if l != labels[i] {
					t.Errorf("sample %d has the label %d", i, l)
				}
			}
		}
		if count != want {
			t.Errorf("%v: %v, want %v", a, count, want)
		}
	}
}

// TestLogistic compares the regression on one column with the conditions of its minimum.
func TestLogistic(t *testing.T) {
	values := []float32{-2, -1, -0.5, 0.5, 1, 2, -1.5, 1.5}
	d := sets.New("line", []sets.Matrix{{N: 8, D: 1, X: values}}, []int{0, 0, 1, 0, 1, 1, 0, 1}, 2)
	given := []int{0, 0, 1, 0, 1, 1, -1, -1}
	found, err := logistic(d, given)
	if err != nil || found[6] != 0 || found[7] != 1 {
		t.Fatal(found, err)
	}
	known := []int{0, 1, 2, 3, 4, 5}
	x, err := coordinates(zScores(d), known)
	if err != nil {
		t.Fatal(err)
	}
	w := fitLogistic(x, known, given, 2)
	_, width := x.Dims()
	slope, offset := 0.0, 0.0 // of the gradient for class 1
	for _, i := range known {
		p := 1 / (1 + math.Exp(logit(w[:width+1], x.RawRowView(i))-logit(w[width+1:], x.RawRowView(i))))
		slope += (p - float64(given[i])) * x.RawRowView(i)[width-1]
		offset += p - float64(given[i])
	}
	if slope += w[width+1+width-1]; math.Abs(slope) > 1e-3 || math.Abs(offset) > 1e-3 {
		t.Errorf("the gradient at the minimum is %v, %v", slope, offset)
	}
}
