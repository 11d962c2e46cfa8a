package sets

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset"
)

// The views of MNIST need nothing but the Go module.
func TestDigits(t *testing.T) {
	d, err := Digits(context.Background(), 50)
	if err != nil {
		t.Fatal(err)
	}
	if d.N != 50 || d.Classes != 10 || len(d.Views) != 3 || d.Views[1].Name() != "HOG" {
		t.Errorf("%s", d.Shape())
	}
}

// TestUneven wants the sizes of the classes to fall by the same factor, in some order, and rows and labels to stay together.
func TestUneven(t *testing.T) {
	d := New("fruit", []Matrix{{N: 212, D: 1, X: make([]float32, 212)}}, make([]int, 212), 4)
	for i := range d.Labels {
		d.Labels[i] = min(i/100, 2) // 100, 100 and 8 of them, and
		if i >= 208 {
			d.Labels[i] = 3 // 4
		}
		d.Values[0].X[i] = float32(d.Labels[i])
	}
	part := d.Uneven(0.25)
	counts := make([]int, 4)
	for i, l := range part.Labels {
		counts[l]++
		if part.Values[0].X[i] != float32(l) {
			t.Fatalf("row %d of class %d is %v", i, l, part.Values[0].X[i])
		}
	}
	shares := map[int]bool{100: true, 63: true, 40: true, 25: true}
	if !shares[counts[0]] || !shares[counts[1]] || counts[0] == counts[1] || counts[2] < 5 || counts[2] > 8 || counts[3] != 4 {
		t.Errorf("classes of %v", counts)
	}
	if part.Name != "fruit, uneven to 0.25" || part.Classes != 4 || part.N != len(part.Labels) {
		t.Errorf("%s: %s", part.Name, part.Shape())
	}
	if again := d.Uneven(0.25); again.N != part.N || again.Labels[part.N/2] != part.Labels[part.N/2] {
		t.Error("the part is not the same twice")
	}
	if all := d.Uneven(1); all.N != d.N {
		t.Errorf("a share of 1 leaves %d of %d", all.N, d.N)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"pears", "apples"} {
		set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 60 + 30*i, Clusters: 3,
			Dims: []int{12, 8}, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := set.WriteNPZ(filepath.Join(dir, name+".npz"), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.npz"), []byte("no archive"), 0o666); err != nil {
		t.Fatal(err)
	}
	var warned strings.Builder
	found, err := OpenAll(context.Background(), Choice{Path: dir, Limit: 80, Warn: &warned})
	if err != nil {
		t.Fatal(err)
	}
	if Names(found) != "pears" || found[0].N != 60 || found[0].Classes != 3 ||
		found[0].Shape() != "60 samples, views of 12/8, 3 classes" {
		t.Errorf("%s", Names(found))
	}
	if !strings.Contains(warned.String(), "left out broken") ||
		!strings.Contains(warned.String(), "left out apples: 90 samples") {
		t.Errorf("warned of %q", warned.String())
	}
	for v, m := range found[0].Matrices() {
		if r, c := m.Dims(); r != 60 || c != []int{12, 8}[v] || m.T().At(2, 5) != m.At(5, 2) ||
			found[0].Values[v].Row(nil, 5)[2] != m.At(5, 2) {
			t.Errorf("view %d is %d×%d, or its entries are not where they belong", v, r, c)
		}
	}
	for _, c := range []Choice{{Path: dir, Only: "plums"}, {Path: filepath.Join(dir, "none.npz")},
		{Path: filepath.Join(dir, "broken.npz")}, {}} {
		c.Warn = &warned
		if _, err := OpenAll(context.Background(), c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := OpenAll(ctx, Choice{Path: dir, Warn: &warned}); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}
