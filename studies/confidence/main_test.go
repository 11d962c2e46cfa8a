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

// TestMade wants planted clusters to be found again, and noise not.
func TestMade(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-only", "normal,planted6", "-samples", "200"}
	if err := run(context.Background(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| normal | 200 | 2 | none |", "| planted6 | 200 | 3 | clear | 1.00 |", "| 0.9 to 1.0 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &out)
		}
	}
}

// TestSets wants a line for each draw of a set.
func TestSets(t *testing.T) {
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 90, Clusters: 3, Dims: []int{12, 8}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "planted.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-draws", "2", "-data", path}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "| planted | 90 | 3 | clear |") != 2 {
		t.Error(out.String())
	}
}

func TestCompare(t *testing.T) {
	labels := []int{0, 0, 0, 1, 1, 1, 0, 1, 1, 0}
	same, chance, err := compare(labels, []int{0, 1, 2, 3, 4, 5}, []int{7, 7, 7, 4, 4, 7}, []int{6, 7, 8, 9}, []int{7, 4, 7, 9})
	if err != nil || !same[0] || !same[1] || same[2] || same[3] || chance != (2*2+2*1)/16. {
		t.Errorf("%v, %g, %v", same, chance, err)
	}
}
