package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/dataset/internal/elem"
)

// checkRows opens a file both ways and compares all that is read, in blocks of several sizes. It returns how many views are
// read where they lie.
func checkRows(t *testing.T, path string, o Options) (inPlace int) {
	t.Helper()
	want, err := Open(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Scratch = t.TempDir()
	got, err := OpenRows(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(path), err)
	}
	if len(got.Views) != len(want.Views) || got.Samples() != want.Samples() || !equalInts(got.Labels, want.Labels) ||
		fmt.Sprint(got.Present) != fmt.Sprint(want.Present) || got.MissingRate() != want.MissingRate() ||
		got.Reading.Labels != want.Reading.Labels || len(got.Reading.Views) != len(want.Reading.Views) {
		t.Errorf("%s: other views, labels, mask or reading: %+v", filepath.Base(path), got.Reading)
	}
	for v, r := range got.Views {
		w := &want.Views[v]
		n, d := r.Dims()
		if n != w.Rows || d != w.Cols || r.Name != w.Name || fmt.Sprint(r.Features) != fmt.Sprint(w.Features) {
			t.Fatalf("%s, view %d: %s %d×%d, want %s %d×%d", path, v, r.Name, n, d, w.Name, w.Rows, w.Cols)
		}
		if r.InPlace() {
			inPlace++
		}
		for k, step := range []int{1, 3, n, 2} {
			if k == 3 {
				got.readPast(0)
			}
			for lo := 0; lo < n; lo += step {
				x := make([]float32, min(step, n-lo)*d)
				if err := r.ReadRows(context.Background(), lo, x); err != nil {
					t.Fatal(err)
				}
				for k, a := range x {
					i, j := lo+k/d, k%d
					if b := float32(w.At(i, j)); a != b && (want.Present == nil || want.Present[i][v]) {
						t.Fatalf("%s, view %d: %v at %d, %d, want %v", path, v, a, i, j, b)
					}
				}
			}
		}
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(o.Scratch); len(left) > 0 {
		t.Errorf("%d files are left in the scratch folder", len(left))
	}
	return inPlace
}

// saved writes a file for a test.
func saved(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writeBytes(path, data); err != nil {
		t.Fatal(err)
	}
	return path
}

// Rows of every format have the values that reading into memory gives, in place where they lie row after row.
func TestOpenRows(t *testing.T) {
	const n = 6
	x, y := make([]float64, n*5), make([]uint8, n*3)
	for i := range x {
		x[i] = 0.1 * float64(i*7%31)
	}
	for i := range y {
		y[i] = uint8(i * 29)
	}
	labels := []int{1, 2, 1, 2, 1, 1}
	arrays := []Array{{"X0", []int{n, 5}, x}, {"X1", []int{n, 3}, y}, {"y", nil, labels}}
	csv := "id,a,b,y\np,1,2.5,u\nq,3,4,v\nr,0.1,-7,u\n"
	for _, test := range []struct {
		name    string
		data    []byte
		o       Options
		inPlace int
	}{
		{"stored.npz", npzBytes(t, false, arrays...), Options{}, 2},
		{"deflated.npz", npzBytes(t, true, arrays...), Options{}, 0},
		{"x.csv", []byte(csv), Options{}, 0},
		{"old.mat", sampleMAT5(false, true), Options{Views: []string{"X{1}", "X{4}"}}, 0},
		{"big.mat", sampleMAT5(true, false), Options{Views: []string{"X{1}", "X{5}"}}, 0},
		{"incomplete.mat", incompleteMAT5(), Options{}, 0},
		{"dense.h5", testFile(t, "dense.h5"), Options{}, -1},
		{"latest.h5", testFile(t, "latest.h5"), Options{}, -1},
		{"cell.mat", testFile(t, "cell.mat"), Options{Views: []string{"X{1}"}}, -1},
		{"many.mat", testFile(t, "many.mat"), Options{}, -1},
		{"split.npz", npzBytes(t, false, arrays[0]), Options{Table: []TableView{
			{Name: "first", Columns: []string{"0", "3"}}, {Name: "second", Columns: []string{"1", "2", "4"}},
		}}, 2},
		{"two.safetensors", tensors(), Options{}, 2},
	} {
		got := checkRows(t, saved(t, test.name, test.data), test.o)
		if test.inPlace >= 0 && got != test.inPlace {
			t.Errorf("%s: %d views are read in place, want %d", test.name, got, test.inPlace)
		}
	}
}

// tensors is a file of a view of float32 and one of bfloat16 numbers, 4×2 and 4×3.
func tensors() []byte {
	head := `{"X0":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]},` +
		`"X1":{"dtype":"BF16","shape":[4,3],"data_offsets":[32,56]}}`
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	for i := range 8 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(i)/3))
	}
	for i := range 12 {
		b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(i)-2.5)>>16))
	}
	return b
}

// Every type of numbers, either byte order and both orders of axes.
func TestOpenRowsOfTypes(t *testing.T) {
	for _, descr := range []string{"<f4", ">f4", "<f8", ">f8", "<f2", "|u1", "|i1", "<i2", ">u4", "<i8"} {
		for _, fortran := range []bool{false, true} {
			const n, d = 9, 4
			width := int(descr[2] - '0')
			data := make([]byte, n*d*width)
			for i := range n * d { // small numbers, whose bits are numbers in every type
				switch {
				case descr == "<f2":
					binary.LittleEndian.PutUint16(data[2*i:], uint16(0x3c00+i))
				case descr[1] != 'f' && descr[0] == '>':
					data[(i+1)*width-1] = byte(i)
				case descr[1] != 'f':
					data[i*width] = byte(i)
				case width == 4 && descr[0] == '<':
					binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)/7))
				case width == 4:
					binary.BigEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)/7))
				case descr[0] == '<':
					binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(float64(i)/7))
				default:
					binary.BigEndian.PutUint64(data[8*i:], math.Float64bits(float64(i)/7))
				}
			}
			file := npyBytes("'"+descr+"'", fortran, fmt.Sprintf("(%d, %d)", n, d), data)
			want := 1
			if fortran {
				want = 0
			}
			if got := checkRows(t, saved(t, "X0.npy", file), Options{}); got != want {
				t.Errorf("%s, by columns %v: %d in place, want %d", descr, fortran, got, want)
			}
		}
	}
}

// Rows that are wholly NaN are absent by option.
func TestOpenRowsMissing(t *testing.T) {
	nan := math.NaN()
	path := saved(t, "x.npz", npzBytes(t, false, Array{"X0", []int{3, 2}, []float64{1, 2, nan, nan, 3, 4}},
		Array{"X1", []int{3, 1}, []float64{1, 2, 3}}))
	checkRows(t, path, Options{MissingRows: true})
}

func TestOpenRowsErrors(t *testing.T) {
	ctx := context.Background()
	deflated := saved(t, "x.npz", npzBytes(t, true, Array{"X0", []int{2, 2}, []float64{1, 2, 3, 4}}))
	_, err := OpenRows(ctx, []string{deflated}, Options{})
	wantError(t, err, "X0 cannot be read row by row", "compressed", "16 bytes", "Options.Scratch")
	_, err = OpenRows(ctx, []string{deflated}, Options{Scratch: filepath.Join(t.TempDir(), "none")})
	wantError(t, err, "X0 cannot be converted in the folder")
	columns := saved(t, "c.npy", npyBytes("'<f4'", true, "(2, 2)", make([]byte, 16)))
	_, err = OpenRows(ctx, []string{columns}, Options{})
	wantError(t, err, "column after column")

	path := saved(t, "X0.npy", npyBytes("'<f4'", false, "(100, 3)", make([]byte, 1200)))
	set, err := OpenRows(ctx, []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	r := set.Views[0]
	for _, x := range []struct{ first, values int }{{-1, 3}, {0, 4}, {99, 6}, {101, 0}} {
		wantError(t, r.ReadRows(ctx, x.first, make([]float32, x.values)), "100 rows of 3")
	}
	header := r.at
	if err := os.Truncate(path, header+1000); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.ReadRows(ctx, 80, make([]float32, 60)), "X0.npy", "was changed") // where the file has no more
	wantError(t, r.ReadRows(ctx, 80, make([]float32, 9)), "X0.npy", "was changed")
	// What was made of a file and has lost its end was changed by nobody who could be told to wait.
	short := &Rows{file: "X0.npy", variable: "X0", rows: 100, cols: 3, width: 3, typ: r.typ, from: &endless{most: 1000}}
	wantError(t, short.ReadRows(ctx, 80, make([]float32, 60)), "X0.npy", "truncated", "before byte 960", "row 80 of 100")
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := r.ReadRows(stopped, 0, make([]float32, 3)); err != context.Canceled {
		t.Error(err)
	}
}

// endless is a file in which every 4 bytes are their own number, modulo 2³².
type endless struct{ most int64 }

func (f *endless) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.most {
		return 0, io.EOF
	}
	for i := 0; i < len(p); i += 4 {
		binary.LittleEndian.PutUint32(p[i:], uint32((off+int64(i))/4))
	}
	return len(p), nil
}

// Offsets and numbers beyond 2³¹ and 2³² do not overflow.
func TestRowsBeyond32Bits(t *testing.T) {
	const n, d = 5_000_000_000, 3
	r := &Rows{
		file: "x.npy", variable: "x", rows: n, cols: d, width: d, from: &endless{4*n*d + 128}, at: 128,
		typ: elem.Type{Kind: elem.Uint32},
	}
	for _, first := range []int{0, 1<<31 - 1, 1<<31 + 5, 1<<32 + 7, n - 2} {
		x := make([]float32, 2*d)
		if err := r.ReadRows(context.Background(), first, x); err != nil {
			t.Fatal(err)
		}
		for k, a := range x {
			if want := float32(uint32(128/4 + first*d + k)); a != want {
				t.Errorf("value %d of row %d is %v, want %v", k, first, a, want)
			}
		}
	}
	err := r.ReadRows(context.Background(), n-1, make([]float32, 2*d))
	if err == nil || !strings.Contains(err.Error(), "from row 4999999999") {
		t.Error(err)
	}
}

// What is converted lies in two bytes or one a value, as near as those can be, with the NaN of absent rows and exact whole
// numbers, and is read past the system's cache and in columns too.
func TestOpenRowsInFewerBytes(t *testing.T) {
	const n, d = 700, 9
	x := make([]float32, n*d)
	for i := range n {
		for j := range d {
			x[i*d+j] = float32(math.Sin(float64(i*d+j))) * float32(j+1)
		}
		x[i*d], x[i*d+1], x[i*d+2] = float32(i%255)-100, 7.25, float32(i%255)
	}
	for j := range d {
		x[13*d+j] = float32(math.NaN())
	}
	set := &Set{Name: "x", Views: []View{{Name: "X0", Rows: n, Cols: d, Float32: x}}}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	for how, size := range map[Numbers]int64{Float32Numbers: 4, BFloat16Numbers: 2, Uint8Numbers: 1} {
		o := Options{Scratch: t.TempDir(), ScratchNumbers: how, AllowNaN: true}
		got, err := OpenRows(context.Background(), []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.made) != 1 {
			t.Fatalf("%v: %d files", how, len(got.made))
		}
		if info, err := got.made[0].Stat(); err != nil || info.Size() != size*n*d {
			t.Errorf("%v: %d bytes, %v", how, info.Size(), err)
		}
		for _, past := range []bool{false, true} {
			if past {
				got.readPast(0)
			}
			row := make([]float32, 3*d)
			for lo := 0; lo+3 <= n; lo += 3 {
				if err := got.Views[0].ReadRows(context.Background(), lo, row); err != nil {
					t.Fatal(err)
				}
				for k, a := range row {
					want, j := x[lo*d+k], k%d
					off := map[Numbers]float64{
						BFloat16Numbers: math.Abs(float64(want)) / 256, Uint8Numbers: float64(j+1) / 254,
					}[how]
					if j < 3 { // exact
						off = 0
					}
					if nan := want != want; nan != (a != a) || !nan && !(math.Abs(float64(a)-float64(want)) <= off*1.0001) {
						t.Fatalf("%v: %v at %d, %d, want %v", how, a, lo+k/d, j, want)
					}
				}
			}
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
		if files, err := os.ReadDir(o.Scratch); err != nil || len(files) > 0 {
			t.Errorf("%v: %d files are left, %v", how, len(files), err)
		}
	}
	x[5*d+4] = float32(math.Inf(1))
	if err := set.WriteNPZ(path, true); err != nil {
		t.Fatal(err)
	}
	o := Options{Scratch: t.TempDir(), ScratchNumbers: Uint8Numbers}
	refused := func(want string) {
		t.Helper()
		if _, err := OpenRows(context.Background(), []string{path}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused("+Inf at row 5, column 4")
	if files, err := os.ReadDir(o.Scratch); err != nil || len(files) > 0 {
		t.Errorf("%d files are left after an error, %v", len(files), err)
	}
	o.ScratchNumbers = 3
	refused("ScratchNumbers 3")
}

// brokenFile is a file whose disk does not answer, from a byte on.
type brokenFile struct{ from int64 }

func (f brokenFile) ReadAt(p []byte, offset int64) (int, error) {
	if n := int(max(f.from-offset, 0)); n < len(p) {
		return n, &fs.PathError{Op: "read", Path: "x.npy", Err: errors.New("input/output error")}
	}
	return len(p), nil
}

// A read that the system fails names the file, the byte, the row and what the system says.
func TestReadThatTheSystemFails(t *testing.T) {
	r := &Rows{Name: "X0", file: "x.npy", variable: "x", rows: 100, cols: 5, width: 5, from: brokenFile{1200}, at: 128}
	r.typ = elem.Type{Kind: elem.Float32, Big: !littleEndian}
	err := r.ReadRows(context.Background(), 40, make([]float32, 50*5))
	const want = "dataset: x.npy: x cannot be read at byte 1200, in row 53 of 100: input/output error"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
