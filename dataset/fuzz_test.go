package dataset

import (
	"bytes"
	"compress/gzip"
	"reflect"
	"testing"
)

// fuzz checks a reader: no panic, little memory, an error or a sound set that reads the same again.
func fuzz(f *testing.F, name string) {
	options := []Options{
		{MaxBytes: 1 << 22},
		{MaxBytes: 1 << 22, Float: 64, Storage: SparseIfSmaller, MissingRows: true, Orientation: ColumnsAreSamples},
		{MaxBytes: 1 << 22, Triplets: true},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<18 {
			t.Skip("large inputs only slow the search down")
		}
		sets := make([]*Set, len(options))
		got := allocated(func() {
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
		err := EncodeNPZ(&b, deflate, Array{"X0", []int{4, 2}, []float32{1, 2, 3, 4, 5, 6, 7, 8}}, Array{"X1", []int{4, 1}, []uint8{1, 0, 2, 0}},
			Array{"y", nil, []int{1, 2, 1, 2}}, Array{"present", []int{4, 2}, []bool{true, true, false, true, true, true, true, false}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(sparseNPZ(f))
	fuzz(f, "a.npz")
}

// sparseNPZ is a file with a view in compressed rows.
func sparseNPZ(f testing.TB) []byte {
	f.Helper()
	v := View{Name: "X0", Rows: 3, Cols: 4, Sparse: &CSR{RowPtr: []int{0, 2, 2, 3}, Col: []int32{1, 3, 0}, Float32: []float32{5, 6, 7}}}
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
	for _, name := range []string{"cell.mat", "incomplete.mat", "latest.h5", "partial.h5", "unlimited.h5", "dense.h5"} {
		f.Add(testFile(f, name))
	}
	fuzz(f, "a.h5")
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b,label\n1,2,x\n3,4.5e2,y\n", "1;2\n3;NaN\n;\n", "# c\n1 2\n3 4\n", "\"q\"\"\",1\n\"r\",2\n", "\xef\xbb\xbf1\t2\r\n3\t4"} {
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
