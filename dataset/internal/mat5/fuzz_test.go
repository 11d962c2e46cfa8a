package mat5

import (
	"bytes"
	"context"
	"testing"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/internal/hostile"
	"github.com/largemvc/largemvc/internal/testutil"
)

// FuzzFile lists a file and reads every array of numbers in it.
func FuzzFile(f *testing.F) {
	for _, data := range hostile.SmallMAT5() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		testutil.Large(t, len(data), 1<<18)
		lim := budget.New(context.Background(), 1<<22, nil)
		lim.AddFile(int64(len(data)))
		got := testutil.Allocated(func() { walk(t, data, lim) })
		if got > 64<<20 {
			t.Fatalf("took %d MiB for %d bytes", got>>20, len(data))
		}
	})
}

// walk reads all; errors are right answers.
func walk(t *testing.T, data []byte, lim *budget.Budget) {
	m, err := List(lim.ReaderAt(bytes.NewReader(data)), int64(len(data)), lim)
	if err != nil {
		return
	}
	read := func(a *Array, p Part) error {
		next := 0
		return m.Read(a, p, func(off int, raw []byte) error {
			if off != next || off+len(raw)/p.Type.Size() > p.Count {
				t.Fatalf("%s: %d bytes at element %d of %d, want element %d", a.Name, len(raw), off, p.Count, next)
			}
			next += len(raw) / p.Type.Size()
			return nil
		})
	}
	var visit func(list []*Array)
	visit = func(list []*Array) {
		for _, a := range list {
			visit(a.Cells)
			if a.Skipped != "" || a.Data.Count == 0 {
				continue
			}
			err := read(a, a.Data)
			if a.Class != Sparse || err != nil {
				continue
			}
			starts, err := m.Starts(a)
			if err != nil || read(a, starts) != nil {
				continue
			}
			if values, err := m.Values(a, starts); err == nil {
				_ = read(a, values) // an error is a right answer
			}
		}
	}
	visit(m.Arrays)
}
