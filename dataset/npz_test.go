package dataset

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// npyBytes makes a version 1 file with the values of the header as Python would write them.
func npyBytes(descr string, fortran bool, shape string, data []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape)
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	return append(append(b, head...), data...)
}

// zipBytes packs members, deflated or not.
func zipBytes(t testing.TB, deflate bool, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range members {
		h := &zip.FileHeader{Name: name}
		if deflate {
			h.Method = zip.Deflate
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func npzBytes(t testing.TB, deflate bool, arrays ...Array) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := EncodeNPZ(&b, deflate, arrays...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestNPYTypes(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	for _, c := range []struct {
		descr string
		data  []byte
		want  [2]float64
	}{
		{"'|b1'", []byte{0, 1}, [2]float64{0, 1}},
		{"'|i1'", []byte{0xff, 5}, [2]float64{-1, 5}},
		{"'|u1'", []byte{0xff, 5}, [2]float64{255, 5}},
		{"'<i2'", le.AppendUint16(le.AppendUint16(nil, 0xfffe), 300), [2]float64{-2, 300}},
		{"'<u2'", le.AppendUint16(le.AppendUint16(nil, 0xfffe), 300), [2]float64{65534, 300}},
		{"'>i2'", be.AppendUint16(be.AppendUint16(nil, 0xfffe), 300), [2]float64{-2, 300}},
		{"'<i4'", le.AppendUint32(le.AppendUint32(nil, math.MaxUint32), 70000), [2]float64{-1, 70000}},
		{"'<u4'", le.AppendUint32(le.AppendUint32(nil, math.MaxUint32), 70000), [2]float64{math.MaxUint32, 70000}},
		{"'>u4'", be.AppendUint32(be.AppendUint32(nil, math.MaxUint32), 70000), [2]float64{math.MaxUint32, 70000}},
		{"'<i8'", le.AppendUint64(le.AppendUint64(nil, math.MaxUint64), 1<<40), [2]float64{-1, 1 << 40}},
		{"'<u8'", le.AppendUint64(le.AppendUint64(nil, 1<<52), 7), [2]float64{1 << 52, 7}},
		{"'<f2'", le.AppendUint16(le.AppendUint16(nil, 0x3c01), 0x8001), [2]float64{1 + 1.0/1024, -math.Ldexp(1, -24)}},
		{"'<f2'", le.AppendUint16(le.AppendUint16(nil, 0x7bff), 0x03ff), [2]float64{65504, 1023 * math.Ldexp(1, -24)}},
		{"'<f4'", le.AppendUint32(le.AppendUint32(nil, math.Float32bits(1.5)), math.Float32bits(-2)), [2]float64{1.5, -2}},
		{"'>f4'", be.AppendUint32(be.AppendUint32(nil, math.Float32bits(1.5)), math.Float32bits(-2)), [2]float64{1.5, -2}},
		{"'<f8'", le.AppendUint64(le.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(-2)), [2]float64{0.1, -2}},
		{"'>f8'", be.AppendUint64(be.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(-2)), [2]float64{0.1, -2}},
	} {
		s := mustRead(t, "a.npy", npyBytes(c.descr, false, "(1, 2)", c.data), Options{Float: 64})
		checkView(t, &s.Views[0], 1, 2, func(_, j int) float64 { return c.want[j] })
		s = mustRead(t, "a.npy", npyBytes(c.descr, true, "(2L, 1L)", c.data), Options{}) // as Python 2 wrote it
		checkView(t, &s.Views[0], 2, 1, func(i, _ int) float64 { return float64(float32(c.want[i])) })
	}
}

func TestNPYFortran(t *testing.T) {
	data := []byte{0, 1, 2, 3, 4, 5}
	for _, deflate := range []bool{false, true} {
		for _, o := range []Orientation{AutoOrientation, ColumnsAreSamples} {
			for _, fortran := range []bool{false, true} {
				s := mustRead(t, "a.npz", zipBytes(t, deflate, map[string][]byte{"X.npy": npyBytes("'|u1'", fortran,
					"(2, 3)", data)}), Options{Orientation: o})
				want := func(i, j int) float64 {
					if fortran {
						return float64(2*j + i)
					}
					return float64(3*i + j)
				}
				if o == ColumnsAreSamples {
					checkView(t, &s.Views[0], 3, 2, func(i, j int) float64 { return want(j, i) })
				} else {
					checkView(t, &s.Views[0], 2, 3, want)
				}
			}
		}
	}
}

// TestNPYVersions reads the longer headers of versions 2 and 3.
func TestNPYVersions(t *testing.T) {
	v1 := npyBytes("'|u1'", false, "(1, 2)", []byte{3, 4})
	for _, version := range []byte{2, 3} {
		b := append([]byte("\x93NUMPY"), version, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(binary.LittleEndian.Uint16(v1[8:])))
		s := mustRead(t, "a.npy", append(b, v1[10:]...), Options{})
		checkView(t, &s.Views[0], 1, 2, func(_, j int) float64 { return float64(3 + j) })
	}
}

func TestNPZNames(t *testing.T) {
	x := func(v float32) []float32 { return []float32{v, v, v} }
	for _, names := range [][]string{{"X%d"}, {"x%d"}, {"X_%d"}, {"view_%d"}, {"view%d"}, {"fea%d"}} {
		var arrays []Array
		for _, k := range []int{10, 0, 9, 2, 1} {
			arrays = append(arrays, Array{fmt.Sprintf(names[0], k), []int{3, 1}, x(float32(k))})
		}
		for _, label := range []string{"y", "Y", "gt", "label", "labels", "truth", "gnd", "truelabel"} {
			s := mustRead(t, "a.npz", npzBytes(t, false, append(arrays, Array{label, nil, []int{7, -1, 7}})...), Options{})
			var got []float64
			for v := range s.Views {
				got = append(got, s.Views[v].At(0, 0))
			}
			if fmt.Sprint(got) != "[0 1 2 9 10]" {
				t.Errorf("%s: views in the order %v", names[0], got)
			}
			if !equalInts(s.Labels, []int{1, 0, 1}) || fmt.Sprint(s.LabelNames) != "[-1 7]" {
				t.Errorf("%s: labels %v of %v", label, s.Labels, s.LabelNames)
			}
		}
	}
}

func TestNPZErrors(t *testing.T) {
	ok := Array{"X0", []int{2, 1}, []float32{1, 2}}
	raw := func(descr, shape string, n int) []byte {
		return zipBytes(t, true, map[string][]byte{"X0.npy": npyBytes(descr, false, shape, make([]byte, n))})
	}
	for _, c := range []struct {
		name  string
		data  []byte
		o     Options
		words []string
	}{
		{"no array", zipBytes(t, false, map[string][]byte{"a.txt": nil}), Options{}, []string{"without NumPy arrays"}},
		{"not an array", zipBytes(t, false, map[string][]byte{"X0.npy": []byte("hello, world")}), Options{}, []string{"X0",
			"NumPy"}},
		{"other n", npzBytes(t, false, ok, Array{"X1", []int{3, 2}, make([]float32, 6)}), Options{}, []string{"X0 2×1, X1 3×2"}},
		{"labels of another length", npzBytes(t, false, ok, Array{"y", nil, []int{1, 2, 3}}), Options{}, []string{"3 labels"}},
		{"objects", raw("'|O'", "(1, 1)", 8), Options{}, []string{"X0", "Python objects"}},
		{"records", raw("[('a', '<f4')]", "(1,)", 4), Options{}, []string{"X0", "records"}},
		{"complex", raw("'<c8'", "(1, 1)", 8), Options{Views: []string{"X0"}}, []string{"X0", "<c8"}},
		{"three axes", raw("'<f4'", "(1, 2, 1)", 8), Options{Views: []string{"X0"}}, []string{"X0", "1×2×1"}},
		{"more values than bytes", raw("'<f4'", "(1000000, 100000)", 8), Options{}, []string{"X0", "holds"}},
		{"holds more", raw("'<f4'", "(1, 1)", 8), Options{}, []string{"X0", "holds"}},
		{"overflow", raw("'<f4'", "(4294967296, 4294967296)", 8), Options{}, []string{"X0", "impossible"}},
		{"hidden overflow", raw("'<f4'", "(4294967296, 4294967296, 0)", 0), Options{}, []string{"X0", "impossible"}},
		{"empty", raw("'<f4'", "(0, 5)", 0), Options{}, []string{"X0", "empty"}},
		{"NaN row", npzBytes(t, false, Array{"X0", []int{2, 1}, []float64{1, math.NaN()}}), Options{}, []string{"X0",
			"row 1", "MissingRows"}},
		{"partly NaN row", npzBytes(t, false, Array{"X0", []int{1, 2}, []float64{1, math.NaN()}}),
			Options{MissingRows: true}, []string{"X0", "row 0, column 1"}},
		{"NaN label", npzBytes(t, false, ok, Array{"y", nil, []float64{1, math.NaN()}}), Options{}, []string{"y", "NaN",
			"sample 1"}},
		{"lost sample", npzBytes(t, false, ok, Array{"mask", []int{2, 1}, []int{1, 0}}), Options{}, []string{"sample 1",
			"every view"}},
		{"bad mask", npzBytes(t, false, ok, Array{"mask", []int{2, 1}, []int{1, 2}}), Options{}, []string{"mask", "has 2"}},
		{"mask of another size", npzBytes(t, false, ok, Array{"mask", []int{2, 2}, []int{1, 1, 1, 1}}), Options{},
			[]string{"mask", "2×1"}},
		{"limit", npzBytes(t, true, Array{"X0", []int{1000, 100}, make([]float32, 100000)}), Options{MaxBytes: 100_000},
			[]string{"X0", "MaxBytes"}},
		{"wrong option", npzBytes(t, false, ok), Options{Float: 16}, []string{"Float"}},
		{"no such labels", npzBytes(t, false, ok), Options{Labels: "z"}, []string{"z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			if got := testutil.Allocated(func() { _, err = read("a.npz", c.data, c.o) }); got > 1<<22 {
				t.Errorf("took %d bytes", got)
			}
			wantError(t, err, c.words...)
		})
	}
}

// TestNPZBomb has a quarter of a GiB of zeros, 2 GiB as float64, behind 256 KiB.
func TestNPZBomb(t *testing.T) {
	const n = 1 << 28
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "X0.npy", Method: zip.Deflate})
	if err != nil {
		t.Fatal(err)
	}
	testutil.Long(t, "compresses a quarter of a GiB")
	if _, err := w.Write(npyBytes("'|u1'", false, "(16384, 16384)", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, n); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	got := testutil.Allocated(func() { _, err = read("bomb.npz", b.Bytes(), Options{Float: 64}) })
	wantError(t, err, "bomb.npz", "X0", "MaxBytes")
	if got > 1<<20 {
		t.Errorf("took %d bytes", got)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestNPZLie says in the directory and in the header that a short stream is long.
func TestNPZLie(t *testing.T) {
	const claim = 40 << 20
	noise := make([]byte, 1<<16) // does not compress, so that the claim stays below what deflate could give
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for _, fortran := range []bool{false, true} {
		head := npyBytes("'|u1'", fortran, fmt.Sprintf("(%d, 64)", claim/64), nil)
		honest := zipBytes(t, true, map[string][]byte{"X0.npy": append(bytes.Clone(head), noise...)})
		short := binary.LittleEndian.AppendUint32(nil, uint32(len(head)+len(noise)))
		long := binary.LittleEndian.AppendUint32(nil, uint32(len(head)+claim))
		lie := bytes.ReplaceAll(honest, short, long)
		if bytes.Equal(lie, honest) {
			t.Fatal("the size is not in the file")
		}
		var err error
		got := testutil.Allocated(func() { _, err = read("lie.npz", lie, Options{Float: 64}) })
		wantError(t, err, "lie.npz", "X0", "truncated")
		if got > growth*8*4*uint64(len(noise)) {
			t.Errorf("took %d MiB for a claim of %d MiB", got>>20, 8*claim>>20)
		}
	}
}

func TestNPZCorrupt(t *testing.T) {
	for _, deflate := range []bool{false, true} {
		corrupt(t, "a.npz", npzBytes(t, deflate, Array{"X0", []int{5, 3}, make([]float32, 15)}, Array{"y", nil, []int{1, 2,
			1, 2, 3}}))
	}
	corrupt(t, "a.npz", sparseNPZ(t))
	corrupt(t, "a.npy", npyBytes("'<f4'", false, "(2, 3)", make([]byte, 24)))
}

// TestNPZChecksum changes every byte of the elements: the archive knows.
func TestNPZChecksum(t *testing.T) {
	b := npzBytes(t, false, Array{"X0", []int{4, 4}, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}})
	at := bytes.Index(b, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	for i := range 16 {
		c := bytes.Clone(b)
		c[at+i] ^= 4
		_, err := read("a.npz", c, Options{})
		wantError(t, err, "X0", "damaged")
	}
}

// TestSetRoundTrip writes sets and reads them again.
func TestSetRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(r, "n")
		set := &Set{Name: "a"}
		float := rapid.SampledFrom([]int{32, 64}).Draw(r, "float")
		for v := range rapid.IntRange(1, 12).Draw(r, "views") {
			d := rapid.IntRange(1, 5).Draw(r, "d")
			x := make([]float64, n*d)
			for i := range x {
				x[i] = float64(rapid.Float32Range(-1e3, 1e3).Draw(r, "x"))
				if rapid.Bool().Draw(r, "zero") {
					x[i] = 0
				}
			}
			set.Views = append(set.Views, viewOf(fmt.Sprint("X", v), n, d, x, float, rapid.Bool().Draw(r, "sparse")))
		}
		if rapid.Bool().Draw(r, "labels") {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(rapid.IntRange(-3, 3).Draw(r, "label"))
			}
			set.Labels, set.LabelNames = classes(values)
		}
		if rate := rapid.Float64Range(0, 0.9).Draw(r, "rate"); rate > 0.3 {
			mask, err := Drop(n, len(set.Views), rate, 1)
			if err != nil {
				r.Fatal(err)
			}
			if set, err = set.Incomplete(mask); err != nil {
				r.Fatal(err)
			}
		}
		path := filepath.Join(dir, "a.npz")
		if err := set.WriteNPZ(path, rapid.Bool().Draw(r, "deflate")); err != nil {
			r.Fatal(err)
		}
		got, err := Open(context.Background(), []string{path}, Options{Float: float})
		if err != nil {
			r.Fatal(err)
		}
		sound(t, got)
		sameSets(t, set, got)
		for v := range set.Views {
			if (set.Views[v].Sparse == nil) != (got.Views[v].Sparse == nil) {
				r.Fatal("storage changed")
			}
		}
	})
}

// viewOf makes a view of given values.
func viewOf(name string, n, d int, x []float64, float int, asCSR bool) View {
	raw := make([]byte, 0, 8*len(x))
	for _, a := range x {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(a))
	}
	head := npyBytes("'<f8'", false, fmt.Sprintf("(%d, %d)", n, d), raw)
	o := Options{Float: float}
	if asCSR {
		o.Storage = AllSparse
	}
	s, err := read(name+".npy", head, o)
	if err != nil {
		panic(err)
	}
	return s.Views[0]
}

// TestNumPy lets NumPy read what is written here, and write what is read here.
func TestNumPy(t *testing.T) {
	python := testutil.Python(t)
	dir := t.TempDir()
	script := `
import numpy as np, sys
z = np.load("ours.npz")
assert sorted(z.files) == ["H", "X0", "b", "y"], z.files
assert z["X0"].dtype == np.float32 and z["X0"].shape == (3, 2) and z["X0"][2, 1] == 5
assert z["H"].dtype == np.float64 and z["H"].tolist() == [0.5, -1]
assert z["y"].dtype == np.int64 and z["y"].tolist() == [1, 0, 2]
assert z["b"].dtype == bool and z["b"].tolist() == [True, False]
a = np.arange(6).reshape(3, 2)
for k, t in enumerate(["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f4", ">i8", "?"]):
    x = (a % 2 if t == "?" else a).astype(t)
    np.savez("%d.npz" % k, X0=x, X1=np.asfortranarray(x), y=np.array(["b", "a", "b"]))
    np.savez_compressed("%dc.npz" % k, X0=x, X1=np.asfortranarray(x), y=np.array([b"b", b"a", b"b"]))
print(k)
`
	for _, deflate := range []bool{false, true} {
		err := WriteNPZ(filepath.Join(dir, "ours.npz"), deflate, Array{"X0", []int{3, 2}, []float32{0, 1, 2, 3, 4, 5}},
			Array{"H", nil, []float64{0.5, -1}},
			Array{"y", nil, []int{1, 0, 2}}, Array{"b", nil, []bool{true, false}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", script)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "[0-9]*.npz"))
	if err != nil || len(files) != 28 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		s, err := Open(context.Background(), []string{f}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		bool13 := strings.HasPrefix(filepath.Base(f), "13")
		for v := range s.Views {
			checkView(t, &s.Views[v], 3, 2, func(i, j int) float64 {
				if bool13 {
					return float64((2*i + j) % 2)
				}
				return float64(2*i + j)
			})
		}
		if !equalInts(s.Labels, []int{1, 0, 1}) || s.LabelNames[1] != "b" {
			t.Errorf("%s: labels %v of %v", f, s.Labels, s.LabelNames)
		}
	}
}

// TestSciPy reads the sparse matrices that SciPy saves.
func TestSciPy(t *testing.T) {
	python := testutil.Python(t, "scipy.sparse")
	dir := t.TempDir()
	cmd := exec.Command(python, "-c", `
import numpy as np, scipy.sparse as sp
a = np.arange(12).reshape(4, 3) % 5 * (np.arange(12).reshape(4, 3) % 2)
sp.save_npz("x0.npz", sp.csr_matrix(a))
sp.save_npz("x1.npz", sp.csc_matrix(a.astype("f4")))
np.save("y.npy", np.array([1, 2, 1, 2]))
`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := Open(context.Background(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for v := range s.Views {
		checkView(t, &s.Views[v], 4, 3, func(i, j int) float64 { k := 3*i + j; return float64(k % 5 * (k % 2)) })
		if s.Views[v].Sparse == nil {
			t.Errorf("view %d is dense", v)
		}
	}
	if len(s.Views) != 2 || !equalInts(s.Labels, []int{0, 1, 0, 1}) {
		t.Errorf("%d views, labels %v", len(s.Views), s.Labels)
	}
}

func TestWriteErrors(t *testing.T) {
	var b bytes.Buffer
	wantError(t, EncodeNPZ(&b, false, Array{"a", nil, []complex128{1}}), "a", "[]complex128")
	wantError(t, EncodeNPZ(&b, false, Array{"", nil, []int{1}}), "name")
	wantError(t, EncodeNPZ(&b, false, Array{"a", []int{2, 2}, []int{1}}), "a", "[2 2]")
	wantError(t, EncodeNPZ(&b, false, Array{"a", nil, []int{1}}, Array{"a", nil, []int{1}}), "two arrays")
	wantError(t, EncodeCSV(&b), "column")
	wantError(t, EncodeCSV(&b, Column{"a", []int{1}}, Column{"b", []int{1, 2}}), "b", "2")
	wantError(t, EncodeCSV(&b, Column{"a", []complex64{1}}), "a", "complex64")
	if b.Len() > 0 {
		t.Errorf("%d bytes were written", b.Len())
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npz")
	if err := WriteNPZ(path, false, Array{"a", nil, []int{1}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, WriteNPZ(path, false, Array{"a", nil, 1}), "int")
	wantError(t, WriteNPZ(filepath.Join(dir, "no", "a.npz"), false, Array{"a", nil, []int{1}}), "no")
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("a failed write changed the file", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Error("a failed write left files", left, err)
	}
}

// Classes whose names are the same number stay apart, and what does not fit together is not written.
func TestWriteNPZOfLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set.npz")
	set := &Set{Views: []View{{Rows: 4, Cols: 1, Float64: []float64{1, 2, 3, 4}}}, Labels: []int{0, 1, 2, 0},
		LabelNames: []string{"1", "01", "+1"}}
	if err := set.WriteNPZ(path, false); err != nil {
		t.Fatal(err)
	}
	back, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Labels, set.Labels) || back.Classes() != 3 {
		t.Errorf("labels %v of %q", back.Labels, back.LabelNames)
	}
	for want, change := range map[string]func(s *Set){
		"1 labels for 4 samples": func(s *Set) { s.Labels = s.Labels[:1] },
		"view 1 has 1 samples": func(s *Set) {
			s.Views = append(slices.Clone(s.Views), View{Rows: 1, Cols: 1,
				Float64: []float64{1}})
		},
		"mask has 3 rows for 4 samples":  func(s *Set) { s.Present = make([][]bool, 3) },
		"mask has 0 views for sample 2,": func(s *Set) { s.Present = [][]bool{{true}, {true}, {}, {true}} },
	} {
		bad := *set
		change(&bad)
		if err := bad.WriteNPZ(path, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The views that are asked for are taken from whichever of several files have them, one from each or none.
func TestViewsOfSeveralFiles(t *testing.T) {
	one := func(name string, x float64) Array { return Array{name, []int{2, 1}, []float64{x, x}} }
	paths := write(t, "a.npz", string(npzBytes(t, true, one("A", 1), one("B", 2))),
		"b.npz", string(npzBytes(t, true, one("C", 3))), "c.npz", string(npzBytes(t, true, one("D", 4), one("E", 5))))
	for _, c := range []struct{ ask, want []string }{
		{[]string{"B", "C"}, []string{"2|2", "3|3"}},
		{[]string{"A", "E", "D"}, []string{"1|1", "5|5", "4|4"}}, {[]string{"C"}, []string{"3|3"}},
	} {
		set, err := Open(context.Background(), paths, Options{Views: c.ask})
		if err != nil {
			t.Errorf("%v: %v", c.ask, err)
			continue
		}
		var got []string
		for v := range set.Views {
			got = append(got, values(&set.Views[v]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.ask, got, c.want)
		}
	}
	paths = write(t, "a.npz", string(npzBytes(t, true, one("u", 1))), "b.npz", string(npzBytes(t, true, one("U", 2))))
	set, err := Open(context.Background(), paths, Options{Views: []string{"u", "U"}})
	if err != nil || len(set.Views) != 2 || values(&set.Views[1]) != "2|2" {
		t.Errorf("names that differ in case: %v, %v", set, err)
	}
	_, err = Open(context.Background(), paths[:1], Options{Views: []string{"u", "U"}})
	wantError(t, err, "names u twice")
}
