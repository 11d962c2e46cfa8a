package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// fuzz checks a reader: no panic, little memory, an error or a sound set that reads the same again.
func fuzz(f *testing.F, name string) {
	options := []Options{
		{MaxBytes: 1 << 22},
		{MaxBytes: 1 << 22, Float: 64, Storage: SparseIfSmaller, MissingRows: true, Orientation: ColumnsAreSamples},
		{MaxBytes: 1 << 22, Triplets: true},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		testutil.Large(t, len(data), 1<<18)
		sets := make([]*Set, len(options))
		got := testutil.Allocated(func() {
			for k, o := range options {
				sets[k], _ = read(name, data, o) // an error is a right answer
			}
		})
		if got > 192<<20 {
			t.Fatalf("took %d MiB for %d bytes", got>>20, len(data))
		}
		for k, s := range sets {
			if s == nil {
				continue
			}
			sound(t, s)
			again, err := read(name, data, options[k])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(s, again) {
				t.Fatal("reads differently the second time")
			}
		}
	})
}

func FuzzNPZ(f *testing.F) {
	for _, deflate := range []bool{false, true} {
		var b bytes.Buffer
		err := EncodeNPZ(&b, deflate, Array{"X0", []int{4, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8}}, Array{"X1", []int{4, 1},
			[]uint8{1, 0, 2, 0}},
			Array{"y", nil, []int{1, 2, 1, 2}}, Array{"present", []int{4, 2}, []bool{true, true, false, true, true, true,
				true, false}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	fuzz(f, "a.npz")
}

// FuzzSciPy takes the arrays of a sparse matrix apart from their archive, whose checksums would hide them.
func FuzzSciPy(f *testing.F) {
	array := func(kind, shape string, data ...byte) []byte { return npyBytes(kind, false, shape, data) }
	f.Add(array("'|u1'", "(3,)", 5, 6, 7), array("'<i4'", "(3,)", 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0),
		array("'|u1'", "(4,)", 0, 2, 2, 3), array("'|u1'", "(2,)", 3, 4), array("'|S3'", "()", 'c', 's', 'r'))
	f.Add(array("'<f2'", "(2,)", 0, 60, 0, 64), array("'|u1'", "(2,)", 0, 2), array("'<i2'", "(3,)", 0, 0, 1, 0, 2, 0),
		array("'|u1'", "(2,)", 3, 2), array("'<U3'", "()", 'c', 0, 0, 0, 's', 0, 0, 0, 'c', 0, 0, 0))
	f.Fuzz(func(t *testing.T, data, indices, indptr, shape, format []byte) {
		parts := map[string][]byte{"data.npy": data, "indices.npy": indices, "indptr.npy": indptr, "shape.npy": shape,
			"format.npy": format}
		b := zipBytes(t, false, parts)
		testutil.Large(t, len(b), 1<<16)
		for _, storage := range []Storage{AsStored, AllDense, SparseIfSmaller} {
			var s *Set
			var err error
			got := testutil.Allocated(func() { s, err = read("a.npz", b, Options{MaxBytes: 1 << 22, Storage: storage}) })
			if got > 64<<20 {
				t.Fatalf("took %d MiB for %d bytes", got>>20, len(b))
			}
			if err == nil {
				sound(t, s)
			}
		}
	})
}

// FuzzOpen reads two files of any format as one set, and inspects them, which must come to the same end.
func FuzzOpen(f *testing.F) {
	table := []byte("id,a,b,label\nx,1,2,u\ny,3,4.5e2,v\n")
	npy := npyBytes("'|u1'", false, "(2, 2)", []byte{1, 2, 3, 4})
	f.Add(table, npy, uint8(0))
	f.Add(sampleMAT5(false, true), []byte("1\n2\n1\n2\n"), uint8(1))
	f.Add(sparseNPZ(f), []byte("id;y\na;1\nb;2\nc;1\n"), uint8(2))
	f.Add(testFile(f, "partial.h5"), npy, uint8(7))
	f.Add([]byte("\xff\xfea\x00,\x00b\x00\n\x001\x00,\x002\x00\n\x00"), table, uint8(4))
	f.Fuzz(func(t *testing.T, a, b []byte, how uint8) {
		testutil.Large(t, len(a)+len(b), 1<<17)
		dir := t.TempDir()
		paths := []string{filepath.Join(dir, "first.dat"), filepath.Join(dir, "second.dat")}
		for k, data := range [][]byte{a, b} {
			if err := writeBytes(paths[k], data); err != nil {
				t.Fatal(err)
			}
		}
		o := Options{MaxBytes: 1 << 22, MissingRows: how&4 != 0, AllowNaN: how&8 != 0, Storage: Storage(how >> 6)}
		switch how & 3 {
		case 1:
			o.LabelsFile, paths = paths[1], paths[:1]
		case 2:
			o.MaskFile, paths = paths[1], paths[:1]
		case 3:
			paths = paths[:1]
		}
		var s *Set
		var err error
		got := testutil.Allocated(func() { s, err = Open(context.Background(), paths, o) })
		if got > 96<<20 {
			t.Fatalf("took %d MiB for %d bytes", got>>20, len(a)+len(b))
		}
		if err == nil && how&8 == 0 {
			sound(t, s)
		}
		r, problem := Inspect(context.Background(), paths, o)
		if problem == nil {
			problem = r.Problem
		}
		if (err == nil) != (problem == nil) {
			t.Fatalf("reading ends with %v, inspecting with %v", err, problem)
		}
		if r != nil && r.String() == "" {
			t.Fatal("an empty report")
		}
	})
}

// sparseNPZ is a file with a view in compressed rows.
func sparseNPZ(f testing.TB) []byte {
	f.Helper()
	v := View{Name: "X0", Rows: 3, Cols: 4, Sparse: &CSR{RowPtr: []int{0, 2, 2, 3}, Col: []int32{1, 3, 0},
		Float32: []float32{5, 6, 7}}}
	a, err := v.arrays("X0")
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := EncodeNPZ(&b, true, a...); err != nil {
		f.Fatal(err)
	}
	return b.Bytes()
}

func FuzzNPY(f *testing.F) {
	f.Add(npyBytes("'<f4'", false, "(2, 3)", make([]byte, 24)))
	f.Add(npyBytes("'>i2'", true, "(3, 2)", make([]byte, 12)))
	f.Add(npyBytes("'<U2'", false, "(2,)", make([]byte, 16)))
	fuzz(f, "a.npy")
}

func FuzzMAT5(f *testing.F) {
	for _, big := range []bool{false, true} {
		for _, deflate := range []bool{false, true} {
			f.Add(sampleMAT5(big, deflate))
		}
	}
	f.Add(incompleteMAT5())
	fuzz(f, "a.mat")
}

func FuzzHDF5(f *testing.F) {
	for _, name := range []string{"cell.mat", "incomplete.mat", "latest.h5", "partial.h5", "unlimited.h5", "dense.h5",
		"cells.h5ad", "cells.h5mu", "old.h5ad"} {
		f.Add(testFile(f, name))
	}
	fuzz(f, "a.h5")
}

func FuzzSafetensors(f *testing.F) {
	f.Add(tensors())
	fuzz(f, "a.safetensors")
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b,label\n1,2,x\n3,4.5e2,y\n", "1;2\n3;NaN\n;\n", "# c\n1 2\n3 4\n",
		"\"q\"\"\",1\n\"r\",2\n", "\xef\xbb\xbf1\t2\r\n3\t4"} {
		f.Add([]byte(s))
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(s)); err != nil {
			f.Fatal(err)
		}
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	fuzz(f, "a.csv")
}
