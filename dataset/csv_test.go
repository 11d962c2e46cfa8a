package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCSV(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		o      Options
		want   string // values, rows separated by |
		labels string
	}{
		{"plain", "1,2\n3,4\n", Options{}, "1 2|3 4", ""},
		{"no newline at the end", "1,2\n3,4", Options{}, "1 2|3 4", ""},
		{"Windows", "\xef\xbb\xbf1,2\r\n3,4\r\n", Options{}, "1 2|3 4", ""},
		{"header", "a,b\n1,2\n3,4\n", Options{}, "1 2|3 4", ""},
		{"header of numbers by option", "1,2\n3,4\n", Options{Header: WithHeader}, "3 4", ""},
		{"label column", "a,label,b\n1,x,2\n3,w,4\n", Options{}, "1 2|3 4", "[1 0] [w x]"},
		{"numeric labels keep their order", "a,y\n1,10\n3,9\n2,10\n", Options{}, "1|3|2", "[1 0 1] [9 10]"},
		{"a text column by number", "5.5,2,setosa\n5,3,versicolor\n", Options{Labels: "2", Header: NoHeader}, "5.5 2|5 3",
			"[0 1] [setosa versicolor]"},
		{"label by number", "2,1,7\n3,4,8\n", Options{Labels: "-1"}, "2 1|3 4", "[0 1] [7 8]"},
		{"label by name", "a,kind\n1,7\n2,6\n", Options{Labels: "kind"}, "1|2", "[1 0] [6 7]"},
		{"labels left out", "a,y\n1,10\n3,9\n", Options{NoLabels: true}, "1|3", ""},
		{"numbers of the samples", ",a,b\n0,1,2\n1,3,4\n", Options{}, "1 2|3 4", ""},
		{"semicolons", "1;2\n3;4\n", Options{}, "1 2|3 4", ""},
		{"tabs", "1\t2\n3\t4\n", Options{}, "1 2|3 4", ""},
		{"blanks", "  1   2\n3 4  \n", Options{}, "1 2|3 4", ""},
		{"by option", "1|2\n3|4\n", Options{Delimiter: '|'}, "1 2|3 4", ""},
		{"comments and blank lines", "# a,b\n\n# c\n1,2\n3,4\n\n", Options{}, "1 2|3 4", ""},
		{"quotes", "\"a\",\"label\"\n\"1.5\",\"x, \"\"y\"\"\"\n2,z\n", Options{}, "1.5|2", `[0 1] [x, "y" z]`},
		{"one column", "1\n2\n3\n", Options{}, "1|2|3", ""},
		{"kept NaN", "1,NA\n,4\n", Options{AllowNaN: true}, "1 NaN|NaN 4", ""},
		{"columns are samples", "1,7,2\n4,5,6\n", Options{Orientation: ColumnsAreSamples}, "1 4|7 5|2 6", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, data := range [][]byte{[]byte(c.text), gzipped(t, c.text)} {
				s := mustRead(t, "a.csv", data, c.o)
				v := &s.Views[0]
				var rows []string
				for i := range v.Rows {
					var row []string
					for j := range v.Cols {
						row = append(row, fmt.Sprint(v.At(i, j)))
					}
					rows = append(rows, strings.Join(row, " "))
				}
				if got := strings.Join(rows, "|"); got != c.want {
					t.Errorf("values %s, want %s", got, c.want)
				}
				got := ""
				if s.Labels != nil {
					got = fmt.Sprint(s.Labels, s.LabelNames)
					got = strings.Replace(got, "][", "] [", 1)
				}
				if got != c.labels {
					t.Errorf("labels %s, want %s", got, c.labels)
				}
			}
		})
	}
}

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct {
		text  string
		o     Options
		words []string
	}{
		{"", Options{}, []string{"empty"}},
		{"\n\n", Options{}, []string{"no data"}},
		{"a,b\n", Options{Header: WithHeader}, []string{"header and no data"}},
		{"1,2\n3\n", Options{}, []string{"1 fields in line 2", "2 in the lines before"}},
		{"1,2\n3,x\n4,5\n", Options{}, []string{`"x" in line 2`, "column 1"}},
		{"1,2\n3,\n4,5\n", Options{}, []string{"NaN in row 1, column 1"}},
		{"1,2\nNA,NaN\n4,5\n", Options{}, []string{"only NaN in row 1", "MissingRows"}},
		{"a,y\n1,2\n3,\n", Options{}, []string{"no value in line 3"}},
		{"1,2\n3,4\n", Options{Labels: "7"}, []string{"columns 0 to 1"}},
		{"1,2\n3,4\n", Options{Labels: "kind"}, []string{"kind"}},
		{"1,2\n3,4\n", Options{Delimiter: '"'}, []string{"Delimiter"}},
		{"1,inf\n3,4\n", Options{}, []string{"infinite in row 0, column 1"}},
		{"\x00\x01\x02", Options{}, []string{"unknown format"}},
	} {
		_, err := read("a.csv", []byte(c.text), c.o)
		wantError(t, err, c.words...)
	}
	z := gzipped(t, strings.Repeat("1,2\n", 1000))
	_, err := read("a.csv", z[:len(z)-9], Options{})
	wantError(t, err, "truncated (gzip)")
	z[len(z)-6] ^= 1
	_, err = read("a.csv", z, Options{})
	wantError(t, err, "damaged (gzip)")
}

// TestCSVBomb inflates to far more than its limit, as one line and as many.
func TestCSVBomb(t *testing.T) {
	for _, line := range []string{strings.Repeat("0,", 1<<22) + "0\n", "0,0,0,0\n"} {
		z := gzipped(t, strings.Repeat(line, (1<<24)/len(line)))
		var err error
		got := testutil.Allocated(func() { _, err = read("a.csv", z, Options{MaxBytes: 1 << 20}) })
		wantError(t, err, "a.csv")
		if got > 96<<20 {
			t.Errorf("took %d MiB", got>>20)
		}
	}
}

func TestCSVMissingRows(t *testing.T) {
	dir := t.TempDir()
	files := []string{"a,b\n1,2\n,\n5,6\n", "1\n2\nNA\n"}
	var paths []string
	for v, text := range files {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("view%d.csv", v)))
		if err := os.WriteFile(paths[v], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), paths, Options{MissingRows: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Present); got != "[[true true] [false true] [true false]]" {
		t.Error("present", got)
	}
	if s.Views[0].At(1, 0) != 0 || s.Views[1].At(2, 0) != 0 {
		t.Error("absent rows are not zero")
	}
}

// TestFolder reads a folder: views in numeric order, labels and a mask in files of their own, other files left alone.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"view10.csv": "10\n10\n10\n", "view9.csv": "9\n9\n9\n",
		"labels.csv": "sample,label\n0,b\n1,a\n2,b\n",
		"mask.csv":   "1,1\n1,0\n0,1\n", "README.txt": "hello", "note.md": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Views) != 2 || s.Views[0].At(0, 0) != 9 || s.Views[1].At(0, 0) != 10 || !equalInts(s.Labels, []int{1, 0, 1}) {
		t.Errorf("%d views, labels %v", len(s.Views), s.Labels)
	}
	if got := fmt.Sprint(s.Present); got != "[[true true] [true false] [false true]]" {
		t.Error("present", got)
	}
	// A result of the command of such a name is no classes.
	result := filepath.Join(t.TempDir(), "labels.csv")
	if err := os.WriteFile(result, []byte("sample,label,confidence\n0,1,0.9\n1,0,0.8\n2,1,0.7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, "view9.csv"), result}
	_, err = Open(context.Background(), files, Options{})
	wantError(t, err, "labels.csv", "holds labels that fit or predict wrote", "Options.LeaveOut labels.csv")
	s, err = Open(context.Background(), files[:1], Options{LabelsFile: result})
	if err != nil || !equalInts(s.Labels, []int{1, 0, 1}) {
		t.Error(s, err)
	}
	// The same files by option.
	s, err = Open(context.Background(), []string{filepath.Join(dir, "view9.csv"), filepath.Join(dir, "view10.csv")},
		Options{LabelsFile: filepath.Join(dir, "labels.csv"), MaskFile: filepath.Join(dir, "mask.csv")})
	if err != nil {
		t.Fatal(err)
	}
	if !equalInts(s.Labels, []int{1, 0, 1}) || s.Present[1][1] || s.MissingRate() != 1.0/3 {
		t.Errorf("labels %v, present %v", s.Labels, s.Present)
	}
	_, err = Open(context.Background(), []string{filepath.Join(dir, "none.csv")}, Options{})
	wantError(t, err, "none.csv")
	if !errors.Is(err, fs.ErrNotExist) { // the words are the system's
		t.Error(err)
	}
	_, err = Open(context.Background(), []string{t.TempDir()}, Options{})
	wantError(t, err, "no data file")
	_, err = Open(context.Background(), nil, Options{})
	wantError(t, err, "no file")
}

func TestParseNumber(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.StringMatching(`[-+]?([0-9]{0,18}\.?[0-9]{0,18}([eE][-+]?[0-9]{1,3})?|nan|inf)`).Draw(r, "s")
		want, err := strconv.ParseFloat(s, 64)
		got, ok := parseNumber([]byte(s))
		ok = ok && !isMissing([]byte(s))
		if isMissing([]byte(s)) {
			return
		}
		if wantOK := err == nil || strings.Contains(err.Error(), "range"); ok != wantOK || (ok &&
			math.Float64bits(got) != math.Float64bits(want)) {
			r.Fatalf("%q is %g %t, want %g %v", s, got, ok, want, err)
		}
	})
}

func TestCSVRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "labels.csv")
	labels := []int{2, 0, 1}
	h, err := MatrixColumns("h", 3, 2, []float32{0.1, 1e-20, 3, 4, 5, -6})
	if err != nil {
		t.Fatal(err)
	}
	columns := append([]Column{{"sample", []int{0, 1, 2}}, {"label", labels}, {"note", []string{"a,b", `"`, ""}},
		{"present", []bool{true, false, true}}}, h...)
	if err := WriteCSV(path, columns...); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "sample,label,note,present,h0,h1\n0,2,\"a,b\",1,0.1,1e-20\n1,0,\"\"\"\",0,3,4\n2,1,,1,5,-6\n"
	if string(got) != want {
		t.Errorf("wrote\n%s", got)
	}
	x := []float64{1, 2, 3, 4, 5, 6}
	second, err := MatrixColumns("f", 3, 2, x)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data.csv")
	if err := WriteCSV(data, second...); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), []string{data}, Options{LabelsFile: path})
	if err != nil {
		t.Fatal(err)
	}
	checkView(t, &s.Views[0], 3, 2, func(i, j int) float64 { return x[2*i+j] })
	if !equalInts(s.Labels, labels) {
		t.Errorf("labels %v", s.Labels)
	}
	_, err = MatrixColumns("f", 3, 3, x)
	wantError(t, err, "f", "3×3")
}

func TestCSVCorrupt(t *testing.T) {
	text := "sample,a,b,label\n0,1.5,2,x\n1,3,4,y\n2,5,6,x\n"
	corrupt(t, "a.csv", []byte(text))
	corrupt(t, "a.csv", gzipped(t, text))
}
