package mat5

import (
	"bytes"
	"compress/zlib"
	"context"
	"testing"

	"github.com/largemvc/largemvc/dataset/internal/budget"
	"github.com/largemvc/largemvc/internal/testrig/hostile"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// FuzzFile lists a file and reads every array of numbers in it.
func FuzzFile(f *testing.F) {
	for _, data := range smallFiles(f) {
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

// smallFiles are small proper files: a matrix, a cell, a sparse matrix and a text, as they are and compressed.
func smallFiles(t testing.TB) [][]byte {
	matrix := hostile.LE(hostile.ArrayHead("X0", hostile.ClassDouble, 3, 2),
		hostile.Element(hostile.MATUint8, []byte{1, 2, 3, 4, 5, 6}))
	inner := hostile.Element(hostile.MATMatrix, hostile.LE(hostile.ArrayHead("", hostile.ClassDouble, 2, 1),
		hostile.Element(hostile.MATDouble, make([]byte, 16))))
	cell := hostile.LE(hostile.ArrayHead("X", hostile.ClassCell, 1, 2), inner, inner)
	sparse := hostile.LE(hostile.ArrayHead("S", hostile.ClassSparse, 3, 2),
		hostile.Element(hostile.MATInt32, hostile.LE(int32(0), int32(2))),
		hostile.Element(hostile.MATInt32, hostile.LE(int32(0), int32(1), int32(2))),
		hostile.Element(hostile.MATDouble, make([]byte, 16)))
	text := hostile.LE(hostile.ArrayHead("note", hostile.ClassChar, 1, 4), hostile.Element(hostile.MATUint8, []byte("text")))
	var plain, packed [][]byte
	for _, v := range [][]byte{matrix, cell, sparse, text} {
		plain = append(plain, hostile.Element(hostile.MATMatrix, v))
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		if _, err := z.Write(hostile.Element(hostile.MATMatrix, v)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		packed = append(packed, hostile.LE(uint32(15), uint32(out.Len()), out.Bytes()))
	}
	return [][]byte{hostile.MAT5(plain...), hostile.MAT5(packed...), hostile.MAT5(packed[1], plain[2]), hostile.MAT5(plain[0])}
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
