package dataset

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// small is the value of sparse views in testdata/make_hdf5.py.
func small(v int) func(i, j int) float64 {
	return func(i, j int) float64 {
		if x := hdf5Value(v)(i, j); x < 10 {
			return x
		}
		return 0
	}
}

func TestAnnData(t *testing.T) {
	data := testFile(t, "cells.h5ad")
	s := mustRead(t, "cells.h5ad", data, Options{LeaveOut: []string{"obsm/protein"}, Storage: AsStored})
	sound(t, s)
	checkView(t, &s.Views[0], 12, 6, small(0))
	if len(s.Views) != 1 || s.Views[0].Sparse == nil || s.Labels != nil || s.IDs[11] != "c11" || s.Views[0].Features[5] != "g5" {
		t.Fatalf("%v, ids %q, features %q", s, s.IDs, s.Views[0].Features)
	}
	s = mustRead(t, "cells.h5ad", data, Options{Views: []string{"layers/counts", "obsm/protein"}, Labels: "batch"})
	checkView(t, &s.Views[0], 12, 6, small(1))
	checkView(t, &s.Views[1], 12, 4, hdf5Value(3))
	if strings.Join(s.LabelNames, "") != "ab" || s.Labels[3] != 1 || s.Views[1].Features != nil {
		t.Fatalf("classes %q, labels %v", s.LabelNames, s.Labels)
	}
	for _, c := range []struct {
		o     Options
		words []string
	}{
		{Options{}, []string{"obsm/protein", "Options.Views X,obsm/protein"}},
		{Options{Views: []string{"X"}, Labels: "obs/kind"}, []string{"obs/kind", "no label for sample 5", "Config.Known"}},
		{Options{Views: []string{"X"}, Labels: "obs/none"}, []string{"no variable obs/none", "obs/kind (12 categories (3))"}},
		{Options{LeaveOut: []string{"X", "obsm/*"}}, []string{"has no X", "layers/counts"}},
	} {
		_, err := read("cells.h5ad", data, c.o)
		wantError(t, err, append(c.words, "cells.h5ad")...)
	}
}

// TestAnnDataKnown reads labels, some of them missing.
func TestAnnDataKnown(t *testing.T) {
	for column, want := range map[string]string{"obs/kind": "B NK T: 0 1 2 0 1 -1", "count": "0 1 2: 0 0 0 0 1 1 1 -1 2"} {
		l, err := ReadKnown(context.Background(), "testdata/cells.h5ad", Options{Labels: column})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(l.Names, " ") + ": " + strings.Trim(fmt.Sprint(l.Labels), "[]")
		if !strings.HasPrefix(got, want) || len(l.Labels) != 12 || l.IDs[3] != "c3" {
			t.Errorf("%s: %s, ids %q", column, got, l.IDs)
		}
	}
}

func TestMuData(t *testing.T) {
	data := testFile(t, "cells.h5mu")
	s := mustRead(t, "cells.h5mu", data, Options{Labels: "obs/y"})
	sound(t, s)
	checkHalf := func(s *Set, rna, atac int) {
		t.Helper()
		checkView(t, &s.Views[rna], len(s.IDs), 4, hdf5Value(0))
		checkView(t, &s.Views[atac], len(s.IDs), 5, func(i, j int) float64 {
			if i >= 9 {
				return 0
			}
			return small(1)(i, j)
		})
		for i := range s.Present {
			if !s.Present[i][rna] || s.Present[i][atac] != (i < 9) {
				t.Errorf("sample %d: present %v", i, s.Present[i])
			}
		}
	}
	checkHalf(s, 0, 1)
	if len(s.Present) != 12 || s.Labels[11] != 2 || s.Views[1].Features[4] != "atac4" || s.IDs[0] != "c0" {
		t.Errorf("%v, labels %v, ids %q", s, s.Labels, s.IDs)
	}
	s = mustRead(t, "cells.h5mu", data, Options{Views: []string{"mod/atac/X", "mod/rna/X"}, Labels: "mod/rna/obs/half"})
	checkHalf(s, 1, 0)
	// Samples that no chosen view has are left out, in the order of obs.
	s = mustRead(t, "cells.h5mu", data, Options{Views: []string{"mod/atac/X"}, Labels: "obs/y"})
	checkView(t, &s.Views[0], 9, 5, small(1))
	left := slices.ContainsFunc(s.Reading.LeftOut, func(o Omission) bool { return o.What == "3 rows (c9, c10, c11)" })
	if s.IDs[8] != "c8" || s.Labels[8] != 2 || s.Present != nil || !left {
		t.Errorf("ids %q, labels %v, %v", s.IDs, s.Labels, s.Reading.LeftOut)
	}
	for words, o := range map[string]Options{
		"lacks 3 of the 12 samples": {Labels: "mod/atac/obs/half"}, "joined by ids": {NoIDs: true},
	} {
		_, err := read("cells.h5mu", data, o)
		wantError(t, err, words)
	}
	// The map gives rows 9 and 8 of atac to c0 and c1, as their index does.
	swapped := bytes.Replace(data, []byte{9, 0, 0, 0, 8, 0, 0, 0}, []byte{8, 0, 0, 0, 9, 0, 0, 0}, 1)
	_, err := read("cells.h5mu", swapped, Options{})
	wantError(t, err, "obsmap/atac gives row 8 to the sample c0", "mod/atac/obs/_index names it c1")
	without := &source{path: "m.h5mu", modalities: []*source{{prefix: "mod/a/"}, {prefix: "mod/b/"}},
		vars: []*variable{{name: "mod/a/X"}, {name: "mod/b/layers/x"}}}
	_, err = without.annViews(nil, &Options{})
	wantError(t, err, "m.h5mu: has no mod/b/X: name the views with Options.Views, or give Options.LeaveOut mod/b/X")
}

// TestOldAnnData reads the layout before version 0.7.
func TestOldAnnData(t *testing.T) {
	s := mustRead(t, "old.h5ad", testFile(t, "old.h5ad"), Options{Storage: AsStored})
	checkView(t, &s.Views[0], 12, 6, small(0))
	if s.Views[0].Sparse == nil || s.IDs[11] != "c11" || s.Views[0].Features[5] != "g5" ||
		!strings.Contains(strings.Join(s.Reading.Notes, ""), "before 0.7") {
		t.Errorf("%v, ids %q, features %q, notes %q", s, s.IDs, s.Views[0].Features, s.Reading.Notes)
	}
	other := testFile(t, "old.h5ad")
	copy(other[bytes.LastIndex(other, []byte("index\x00")):], "genes") // the first column of var
	if s := mustRead(t, "old.h5ad", other, Options{}); s.Views[0].Features[5] != "g5" {
		t.Errorf("features %q", s.Views[0].Features)
	}
	copy(other[bytes.LastIndex(other, []byte("index\x00")):], "cells") // the second one of obs
	_, err := read("old.h5ad", other, Options{})
	wantError(t, err, "obs is a table of AnnData before 0.7 without an index of texts")
}

func TestAnnDataCorrupt(t *testing.T) {
	for _, name := range []string{"cells.h5ad", "cells.h5mu", "old.h5ad"} {
		corrupt(t, name, testFile(t, name))
	}
}
