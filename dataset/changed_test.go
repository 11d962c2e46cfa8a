package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	t.Run("replaced", func(t *testing.T) {
		path, set := open()
		other := filepath.Join(t.TempDir(), "other")
		written(t, other, make([]byte, len(data)))
		if err := os.Rename(other, path); err != nil {
			t.Skipf("an open file cannot be replaced here: %v", err)
		}
		if err := first(set); err != nil {
			t.Errorf("the file was replaced: %v", err)
		}
	})
	path, set := open()
	if err := first(set); err != nil {
		t.Fatal(err)
	}
	written(t, path, data) // its values are valid, as all numbers are
	wantError(t, first(set), path, "was changed while it was in use")
	path, set = open()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	written(t, path, append(data, 0))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil { // the size alone tells
		t.Fatal(err)
	}
	wantError(t, first(set), path, "was changed while it was in use", "written or touched at")
}

// TestRowsOfAFileThatWasCutOff: rows that a file has no more are not called truncated where it had them when it was opened, and
// neither is a whole number that came in their place, too large for floats, called one of the data.
func TestRowsOfAFileThatWasCutOff(t *testing.T) {
	huge := make([]byte, 8*6)
	for i := range huge {
		huge[i] = 0x7e
	}
	for name, change := range map[string]func(f *os.File, size int64) error{
		"shorter": func(f *os.File, size int64) error { return f.Truncate(size - 10) },
		"empty":   func(f *os.File, _ int64) error { return f.Truncate(0) },
		"other values": func(f *os.File, size int64) error {
			_, err := f.WriteAt(append(huge, 0), size-int64(len(huge))) // of another size, whatever the times of files resolve
			return err
		},
	} {
		path := saved(t, "x.npy", npyBytes("'<i8'", false, "(3, 2)", make([]byte, 8*6)))
		set, err := OpenRows(t.Context(), []string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err == nil {
			err = change(f, info.Size())
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		err = set.Views[0].ReadRows(t.Context(), 0, make([]float32, 6))
		if err == nil || !strings.Contains(err.Error(), path+": was changed while it was in use") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// writer is a context that writes a file while it is read.
type writer struct {
	context.Context
	after int // how often the reading looks at the context before that
	write func()
}

func (w *writer) Err() error {
	if w.after--; w.after < 0 && w.write != nil {
		w.write()
		w.write = nil
	}
	return w.Context.Err()
}

// TestOpenOfAChangedFile: a file that is written while it is read is an error that says so, whenever that happens, and whatever
// the reading makes of what it finds: all of another table, or one whose last line is half written.
func TestOpenOfAChangedFile(t *testing.T) {
	for name, open := range map[string]func(ctx context.Context, paths []string) error{
		"Open": func(ctx context.Context, paths []string) error {
			_, err := Open(ctx, paths, Options{})
			return err
		},
		"OpenRows": func(ctx context.Context, paths []string) error {
			set, err := OpenRows(ctx, paths, Options{Scratch: t.TempDir()})
			if err == nil {
				err = set.Close()
			}
			return err
		},
		"Inspect": func(ctx context.Context, paths []string) error {
			r, err := Inspect(ctx, paths, Options{})
			if err == nil {
				err = r.Problem
			}
			return err
		},
	} {
		const whole, half = "id,a,b\nu,1,2\nv,3,5\nw,7,4\n", "id,a,b\nu,1,2\nv,3,5\nw,7"
		for _, x := range [][2]string{
			{whole, "id,a,b\nu,1,2\nv,3,9\nw,7,4\n"}, {whole, "id,a,b\nu,1,2\nu,3,5\nw,7,4\n"}, {half, whole},
		} {
			before, after := x[0], x[1]
			looks := 0
			for ; before != half || looks < 3; looks++ { // later the half line has been judged, and the file is closed
				path, other := saved(t, "x.csv", []byte(before)), saved(t, "y.csv", []byte("id,c\nu,5\nv,1\nw,3\n"))
				ctx := &writer{context.Background(), looks, func() { written(t, path, []byte(after)) }}
				err := open(ctx, []string{path, other})
				if ctx.write != nil {
					break // it does not look at its context as often
				}
				if err == nil || !strings.Contains(err.Error(), path+": was changed while it was in use") {
					t.Fatalf("%s, %q after %d looks at the context: %v", name, after, looks, err)
				}
			}
			if looks < 2 {
				t.Errorf("%s has looked at its context %d times", name, looks)
			}
		}
	}
}

// TestChangedAtTheEnd: a reading that came to its end before its context did is not taken from a file that was changed in it.
func TestChangedAtTheEnd(t *testing.T) {
	path := saved(t, "x.csv", []byte("a,b\n1,2\n3,5\n7,4\n"))
	ctx, end := context.WithCancel(context.Background())
	o := Options{ctx: ctx}
	p, err := newPlan([]string{path}, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	written(t, path, []byte("a,b\n1,2\n3,9\n7,4\n"))
	end()
	wantError(t, p.unchanged(ctx, nil), path, "was changed while it was in use")
	if err := p.unchanged(ctx, ctx.Err()); err != ctx.Err() {
		t.Errorf("a reading that was called off: %v", err)
	}
}
