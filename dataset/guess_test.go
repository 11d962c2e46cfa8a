package dataset

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneHotLabels: a matrix of classes holds 0 and 1 alone.
func TestOneHotLabels(t *testing.T) {
	x := Array{Name: "X", Shape: []int{3, 2}, Data: make([]float64, 6)}
	for name, c := range map[string]struct {
		y    []float64
		want string
	}{
		"NaN":      {[]float64{1, 0, math.NaN(), 0, 0, 1}, "Y has NaN in row 1 and column 0 (from 0)"},
		"a share":  {[]float64{1, 0, 0, 0.3, 0, 1}, "Y has 0.3 in row 1 and column 1 (from 0)"},
		"negative": {[]float64{1, 0, 0, 1, 0, -7}, "Y has -7 in row 2 and column 1 (from 0)"},
	} {
		_, err := read("m.npz", npzBytes(t, false, x, Array{Name: "Y", Shape: []int{3, 2}, Data: c.y}), Options{Labels: "Y"})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLabelsOfTexts: a number in two spellings is an error beside texts, too. In arrays every text is a class.
func TestLabelsOfTexts(t *testing.T) {
	for labels, want := range map[string]string{
		"1 1.0 x": "equal as numbers", "1 01 x": "equal as numbers", "1e0 1 x": "equal as numbers", "1,0 1 2": "equal as numbers",
		"1 10 x": "", "a b 1.5": "", "1 -1 x": "", "a NA none": "", "a nan NaN": "",
	} {
		x := Array{Name: "X", Shape: []int{3, 1}, Data: []float64{1, 2, 4}}
		_, err := read("m.npz", npzBytes(t, false, x, Array{Name: "y", Data: strings.Fields(labels)}), Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", labels, err)
		}
	}
}

// TestLargeNumbersAreNames: whole numbers have no exponent.
func TestLargeNumbersAreNames(t *testing.T) {
	x := Array{Name: "X", Shape: []int{3, 1}, Data: []float64{1, 2, 4}}
	s := mustRead(t, "m.npz", npzBytes(t, false, x, Array{Name: "y", Data: []float64{1234567, 2e6, 1e300}}), Options{})
	if got := fmt.Sprint(s.LabelNames); got != "[1234567 2000000 1e+300]" {
		t.Error(got)
	}
}

// TestViewsOfOneName have the names of their folders or files, too.
func TestViewsOfOneName(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, arrays ...Array) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := writeBytes(path, npzBytes(t, false, arrays...)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := func(name string) string {
		path := file(name)
		if err := os.WriteFile(path, []byte("a,b\n1,2\n3,4\n5,7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x := Array{Name: "X", Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 7}}
	for want, paths := range map[string][]string{
		"[rna/x protein/x]":       {table("rna/x.csv"), table("protein/x.csv")},
		"[one/X two/X]":           {file("one.npz", x), file("two.npz", x)},
		"[a/one/X b/one/X z]":     {file("a/one.npz", x), file("b/one.npz", x), table("z.csv")},
		"[rna/x protein/x other]": {table("rna/x.csv"), table("protein/x.csv"), table("other.csv")},
		"[p/q/x r/q/x other]":     {table("p/q/x.csv"), table("r/q/x.csv"), table("other.csv")},
	} {
		s, err := Open(t.Context(), paths, Options{NoIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range s.Views {
			names = append(names, v.Name)
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestWarningsFromDisk: rows on disk are read with the warnings of rows in memory.
func TestWarningsFromDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.npz")
	x := Array{Name: "X", Shape: []int{5, 2}, Data: []float64{1, 2, 3, 4, 5, 7, 9, 8, 1, 1}}
	if err := writeBytes(path, npzBytes(t, false, x, Array{Name: "y", Data: []int{1, 2, 3, 4, 5}})); err != nil {
		t.Fatal(err)
	}
	s, err := OpenRows(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Reading.String(); !strings.Contains(got, "all 5 labels are different") {
		t.Error(got)
	}
}
