package sets

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// A draw keeps rows, labels and views together, and is the same twice.
func TestInOrder(t *testing.T) {
	d := New("fruit", []Matrix{{N: 50, D: 1, X: make([]float32, 50)}}, make([]int, 50), 50)
	for i := range d.Labels {
		d.Labels[i], d.Values[0].X[i] = i, float32(i)
	}
	one, again, other := d.InOrder(1), d.InOrder(1), d.InOrder(2)
	for i, l := range one.Labels {
		if one.Values[0].X[i] != float32(l) {
			t.Fatalf("row %d of class %d is %v", i, l, one.Values[0].X[i])
		}
	}
	if !slices.Equal(one.Labels, again.Labels) || slices.Equal(one.Labels, other.Labels) || slices.Equal(one.Labels, d.Labels) {
		t.Error("orders of draws are not their own")
	}
	sorted := slices.Sorted(slices.Values(one.Labels))
	if !slices.Equal(sorted, d.Labels) {
		t.Error("a draw loses rows")
	}
}

func TestOpenAll(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, name := range []string{"pears", "apples"} {
		set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 60, Clusters: 3, Dims: []int{4}, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.WriteNPZ(filepath.Join(dirs[i], name+".npz"), false); err != nil {
			t.Fatal(err)
		}
	}
	c := Choice{Path: strings.Join(dirs, ","), Warn: io.Discard}
	found, err := OpenAll(context.Background(), c)
	if err != nil || Names(found) != "pears, apples" {
		t.Errorf("%s, %v", Names(found), err)
	}
	c.Only = "apples"
	if found, err = OpenAll(context.Background(), c); err != nil || Names(found) != "apples" {
		t.Errorf("%s, %v", Names(found), err)
	}
	c.Only = "plums"
	if _, err = OpenAll(context.Background(), c); err == nil || !strings.Contains(err.Error(), `no set "plums"`) {
		t.Errorf("%v", err)
	}
	if _, err = OpenAll(context.Background(), Choice{Path: t.TempDir(), Warn: io.Discard}); err == nil {
		t.Error("no error for no sets")
	}
}
