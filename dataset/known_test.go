package dataset

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAlignSome joins labels of some samples by ids, by numbers and by places, and refuses what nothing joins.
func TestAlignSome(t *testing.T) {
	folder := t.TempDir()
	ids := []string{"a", "b", "c", "d"}
	for name, c := range map[string]struct {
		text string
		ids  []string
		want []int  // nil: an error
		says string // that the error has
	}{
		"ids":                {"id,label\nc,x\na,y\n", ids, []int{1, -1, 0, -1}, ""},
		"numbers":            {"sample,label\n3,x\n0,y\n2,x\n", nil, []int{1, -1, 0, 0}, ""},
		"an index":           {",sample,label\n0,3,x\n1,0,y\n2,2,x\n3,1,y\n", nil, []int{1, 1, 0, 0}, ""},
		"empty cells":        {"id,label\nc,x\na,\nb,y\n", ids, []int{-1, 1, 0, -1}, ""},
		"places":             {"label\nx\nNA\ny\n\"\"\n", nil, []int{0, -1, 1, -1}, ""},
		"another sample":     {"id,label\nz,x\na,y\n", ids, nil, `has a label for "z", which is no sample of data`},
		"no such number":     {"sample,label\n3,x\n7,y\n", nil, nil, `"7"`},
		"ids of one file":    {"id,label\nz,x\nq,y\n", nil, nil, "has none"},
		"nothing to join by": {"label\nx\ny\n", ids, nil, "2 labels for the 4 samples"},
	} {
		path := filepath.Join(folder, "known.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := ReadKnown(context.Background(), path, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, _, err := read.AlignSome("data", c.ids, 4)
		switch {
		case c.want == nil && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", name, err, c.says)
		case c.want != nil && (err != nil || !slices.Equal(got, c.want) || !slices.Equal(read.Names, []string{"x", "y"})):
			t.Errorf("%s: %v of %q, %v, want %v", name, got, read.Names, err, c.want)
		}
	}
	path := filepath.Join(folder, "missing.csv")
	if err := os.WriteFile(path, []byte("id,label\nc,x\na,\nb,None\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadKnown(context.Background(), path, Options{})
	wantError(t, err, `"None" in line 4 and "" in line 3, column label`, "rename it")
	_, err = ReadLabels(context.Background(), path, Options{})
	if err == nil || !strings.Contains(err.Error(), "no value in line 3") {
		t.Errorf("a missing label, where all are needed: %v", err)
	}
}
