package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// written gives a file other bytes, as another program would.
func written(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := writeBytes(path, data); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(time.Hour) // whatever the resolution of the times of files
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
}

// TestRowsOfAChangedFile: rows on disk are not read from a file that has been written since it was opened, and are read on from
// one that another has taken the name of.
func TestRowsOfAChangedFile(t *testing.T) {
	data := tensors()
	open := func() (string, *RowSet) {
		path := saved(t, "x.safetensors", data)
		set, err := OpenRows(context.Background(), []string{path}, Options{Scratch: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := set.Close(); err != nil {
				t.Error(err)
			}
		})
		if !set.Views[0].InPlace() {
			t.Fatal("the first view is not read in place")
		}
		return path, set
	}
	first := func(set *RowSet) error {
		_, d := set.Views[0].Dims()
		return set.Views[0].ReadRows(context.Background(), 0, make([]float32, d))
	}
	path, set := open()
	other := filepath.Join(t.TempDir(), "other")
	written(t, other, make([]byte, len(data)))
	if err := os.Rename(other, path); err != nil {
		t.Skipf("an open file cannot be replaced here: %v", err)
	}
	if err := first(set); err != nil {
		t.Errorf("the file was replaced: %v", err)
	}
	path, set = open()
	if err := first(set); err != nil {
		t.Fatal(err)
	}
	written(t, path, data) // its values are valid, as all numbers are
	wantError(t, first(set), path, "was changed while it was in use")
	path, set = open()
	written(t, path, append(data, 0))
	wantError(t, first(set), path, "was changed while it was in use", "written at")
}

// writer is a context that writes a file while it is read.
type writer struct {
	context.Context
	write func()
}

func (w *writer) Err() error {
	if w.write != nil {
		w.write()
		w.write = nil
	}
	return w.Context.Err()
}

// TestOpenOfAChangedFile: a file that is written while it is read is an error.
func TestOpenOfAChangedFile(t *testing.T) {
	for name, open := range map[string]func(ctx context.Context, path string) error{
		"Open": func(ctx context.Context, path string) error {
			_, err := OpenContext(ctx, []string{path}, Options{})
			return err
		},
		"OpenRows": func(ctx context.Context, path string) error {
			_, err := OpenRows(ctx, []string{path}, Options{Scratch: t.TempDir()})
			return err
		},
	} {
		path := saved(t, "x.csv", []byte("a,b\n1,2\n3,5\n7,4\n"))
		ctx := &writer{context.Background(), func() { written(t, path, []byte("a,b\n1,2\n3,9\n7,4\n")) }}
		if err := open(ctx, path); ctx.write != nil {
			t.Errorf("%s does not look at its context", name)
		} else {
			wantError(t, err, path, "was changed while it was in use")
		}
	}
}
