//go:build unix

package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// What rows are converted into has no name while it is in use, so that nothing is left of it by a process that is killed; it is
// read past the system's cache all the same.
func TestScratchFilesHaveNoNames(t *testing.T) {
	const n, d = 300, 40
	set := &Set{Name: "x", Views: []View{{Name: "X0", Rows: n, Cols: d, Float32: make([]float32, n*d)}}}
	for i := range set.Views[0].Float32 {
		set.Views[0].Float32[i] = float32(i)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	for _, how := range []Numbers{Float32Numbers, BFloat16Numbers} {
		scratch := t.TempDir()
		got, err := OpenRows(context.Background(), []string{path}, Options{Scratch: scratch, ScratchNumbers: how})
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(scratch)
		if err != nil || len(files) > 0 || len(got.made) != 1 {
			t.Errorf("%v: the folder holds %v while %d files are in use, %v", how, files, len(got.made), err)
		}
		got.readPast(0)
		if past, err := openPast(got.made[0].File); err == nil { // a file system in memory may refuse
			past.Close()
			if got.Views[0].past == nil {
				t.Errorf("%v: the rows are not read past the cache", how)
			}
		}
		row := make([]float32, d)
		if err := got.Views[0].ReadRows(context.Background(), 1, row); err != nil || row[3] < d || row[3] > d+4 {
			t.Errorf("%v: row 1 is %v, %v", how, row, err)
		}
		if err := got.Close(); err != nil {
			t.Errorf("%v: %v", how, err)
		}
	}
}
