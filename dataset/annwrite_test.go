package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// annLabels are labels for the first n samples of the fixtures, in another order if they have ids.
func annLabels(n int, ids bool) AnnDataLabels {
	x := AnnDataLabels{}
	labels, sure, class, h := make([]int, n), make([]float64, n), make([]string, n), make([]float32, 2*n)
	for i := range n {
		row := i
		if ids {
			row = n - 1 - i
			x.IDs = append(x.IDs, fmt.Sprintf("c%d", row))
		}
		labels[i], sure[i], class[i] = row%3, float64(row)/16, []string{"T", "B", ""}[row%3]
		h[2*i], h[2*i+1] = float32(row), float32(-row)
	}
	x.Columns = []Column{{"own", labels}, {"own_sure", sure}, {"own_class", class}}
	x.Matrices = []Array{{"X_own", []int{n, 2}, h}}
	return x
}

// TestEncodeAnnData writes labels into copies of files with new and old groups, behind a user block too, and reads them.
func TestEncodeAnnData(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples int
		ids     bool
	}{{"cells.h5ad", 12, false}, {"cells.h5ad", 12, true}, {"cells.h5mu", 9, true}} {
		var b bytes.Buffer
		if err := EncodeAnnData(&b, "testdata/"+c.name, annLabels(c.samples, c.ids)); err != nil {
			t.Fatal(err)
		}
		data, old := b.Bytes(), testFile(t, c.name)
		if at := 1024; !bytes.Equal(data[at:len(old)], old[at:]) || !bytes.Equal(data[:8], old[:8]) {
			t.Fatal("the objects of the file are not as they were")
		}
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		names := func(path string) (out []string) {
			r, err := Inspect(t.Context(), []string{path}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range r.Files[0].Variables {
				out = append(out, v.Name+" "+v.Class)
			}
			return out
		}
		got, want := names(path), append(names("testdata/"+c.name), "obsm/X_own float32",
			fmt.Sprintf("obs/own categories (%d)", 3), "obs/own_sure float32", "obs/own_class categories (2)")
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("variables %q, want %q", got, want)
		}
		for column, want := range map[string]func(i int) string{
			"own":       func(i int) string { return fmt.Sprint(i % 3) },
			"own_sure":  func(i int) string { return fmt.Sprint(float64(i) / 16) },
			"own_class": func(i int) string { return []string{"T", "B", ""}[i%3] },
		} {
			if column == "own_sure" && c.samples < 12 { // NaN is no label
				continue
			}
			l, err := ReadKnown(t.Context(), path, Options{Labels: "obs/" + column})
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range l.Labels {
				text := ""
				if k >= 0 {
					text = l.Names[k]
				}
				if i < c.samples && text != want(i) || i >= c.samples && k >= 0 || l.IDs[i] != fmt.Sprintf("c%d", i) {
					t.Errorf("%s: %q in row %d", column, text, i)
				}
			}
		}
		s := mustRead(t, c.name, data, Options{Views: []string{"obsm/X_own"}, AllowNaN: true, Storage: AllDense})
		for i := range 12 {
			a, b := s.Views[0].At(i, 0), s.Views[0].At(i, 1)
			if k := float64(i); (a != k || b != -k) && (i < c.samples || !math.IsNaN(a) || !math.IsNaN(b)) {
				t.Errorf("row %d of X_own is %g, %g", i, a, b)
			}
		}
		wantError(t, CheckAnnData(path, []string{"own", "x"}, []string{"X_own"}), `a.obs["own"], a.obsm["X_own"] already`)
	}
}

func TestEncodeAnnDataErrors(t *testing.T) {
	if err := CheckAnnData("testdata/cells.h5mu", []string{"x"}, []string{"rna2"}); err != nil {
		t.Error(err)
	}
	for path, words := range map[string]string{
		"testdata/old.h5ad": "before 0.7", "testdata/dense.h5": "has no obs", "testdata/cell.mat": "has no obs",
		"testdata/make_hdf5.py": "not an HDF5 file", "testdata/none.h5ad": "no such file", "testdata": "is a folder",
	} {
		wantError(t, CheckAnnData(path, nil, nil), words, path)
	}
	for words, change := range map[string]func(x *AnnDataLabels){
		"the column own has 11 values":        func(x *AnnDataLabels) { x.Columns[0].Data = make([]int, 11) },
		"the matrix X_own has the shape [12]": func(x *AnnDataLabels) { x.Matrices[0].Shape = []int{12} },
		"has 11 of the 12 samples":            func(x *AnnDataLabels) { x.IDs[3] = "other" },
	} {
		x := annLabels(12, true)
		change(&x)
		wantError(t, EncodeAnnData(&bytes.Buffer{}, "testdata/cells.h5ad", x), words, "cells.h5ad")
	}
	x := annLabels(12, false)
	for i := range 9000 {
		x.Columns = append(x.Columns, Column{fmt.Sprintf("c%d", i), make([]float64, 12)})
	}
	wantError(t, EncodeAnnData(&bytes.Buffer{}, "testdata/cells.h5ad", x), "more columns")
}

// annCheck compares a copy with its original in Python, and changes the copy by the HDF5 library.
const annCheck = `
import sys
try:
    import h5py, numpy as np
    from anndata.experimental import read_elem
except ImportError as e:
    sys.exit(77)
old, new = sys.argv[1:]
def walk(a, b):
    for k in a.attrs:
        assert k == "column-order" or np.array_equal(a.attrs[k], b.attrs[k]), k
    if isinstance(a, h5py.Dataset):
        assert a.dtype == b.dtype and np.array_equal(a[()], b[()]), a.name
        return 1
    assert set(a) <= set(b)
    return sum(walk(a[k], b[k]) for k in a if isinstance(a.get(k, getlink=True), h5py.HardLink))
with h5py.File(old) as f, h5py.File(new) as g:
    n, obs, x = walk(f, g), read_elem(g["obs"]), read_elem(g["obsm/X_own"])
assert list(obs["own"]) == [str(i % 3) for i in range(12)] and obs["own_sure"].dtype == "float32", obs
assert list(obs["own_class"].cat.categories) == ["B", "T"] and (x == np.outer(np.arange(12), [1, -1])).all()
with h5py.File(new, "r+") as g:
    for i in range(20):
        g["obs"].attrs[f"a{i}"], g[f"obs/b{i}"], g[f"obsm/b{i}"] = "x" * i, [i], [i]
    del g["obs/own"]
with h5py.File(new) as g:
    assert g["obs/b19"][0] == 19 and "own" not in g["obs"]
print(n, "datasets")
`

// TestEncodeAnnDataPython reads copies by the HDF5 library and by anndata.
func TestEncodeAnnDataPython(t *testing.T) {
	testutil.Long(t, "it starts Python twice")
	for name, want := range map[string]string{"cells.h5ad": "16 datasets", "cells.h5mu": "17 datasets"} {
		path := filepath.Join(t.TempDir(), name)
		err := writeFile(path, func(w io.Writer) error { return EncodeAnnData(w, "testdata/"+name, annLabels(12, true)) })
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("/usr/bin/python3", "-W", "ignore", "-c", annCheck, "testdata/"+name, path)
		out, err := c.CombinedOutput()
		if c.ProcessState == nil || c.ProcessState.ExitCode() == 77 {
			t.Skip("needs Python with h5py and anndata (apt-get install python3-h5py python3-anndata)")
		}
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}
