package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/examples/internal/sets"
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
	if err := trySets(context.Background(), sets.Choice{Path: folder, Warn: io.Discard}, 60, 0, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| three | 60 | 3 | **3** | **3** ", "suggested: the number of classes on 1 of 1 sets, one away on 0",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "many") {
		t.Errorf("a set of too many classes is tried:\n%s", out.String())
	}
}
