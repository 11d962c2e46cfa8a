package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes files of text to a new folder and returns their paths in the order of the arguments: name, text, name, text …
func write(t *testing.T, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// values are those of a view, rows separated by |.
func values(v *View) string {
	var rows []string
	for i := range v.Rows {
		var row []string
		for j := range v.Cols {
			row = append(row, fmt.Sprint(v.At(i, j)))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return strings.Join(rows, "|")
}

// TestIDColumns: which column names the samples.
func TestIDColumns(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		ids        string // joined by blanks
		values     string
	}{
		{"a usual name", "id,a\n7,1\n5,2\n", Options{}, "7 5", "1|2"},
		{"another in the last place", "a,patient_id\n1,p7\n2,p5\n", Options{}, "p7 p5", "1|2"},
		{"camel case", "a,sampleID\n1,7\n2,5\n", Options{}, "7 5", "1|2"},
		{"idx", "idx,a\n7,1\n5,2\n", Options{}, "7 5", "1|2"},
		{"uuid", "a,b,uuid\n1,2,u1\n3,4,u0\n", Options{}, "u1 u0", "1 2|3 4"},
		{"index of pandas", ",0,1\n0,1.5,2.5\n1,3.5,4.5\n", Options{}, "0 1", "1.5 2.5|3.5 4.5"},
		{"row names of R", "\"\",\"a\"\n\"r1\",1\n\"r2\",2\n", Options{}, "r1 r2", "1|2"},
		{"row names of R beside ids", "\"\",\"id\",\"a\"\n1,7,5\n2,9,6\n", Options{}, "7 9", "5|6"},
		{"an index saved twice", "Unnamed: 0.1,Unnamed: 0,a\n0,0,5\n1,1,6\n2,2,7\n", Options{}, "0 1 2", "5|6|7"},
		{"a telling name that counts", "week,a\n1,5\n2,6\n3,7\n", Options{}, "", "1 5|2 6|3 7"},
		{"a counting column elsewhere", "a,week\n5,1\n6,2\n7,3\n", Options{}, "", "5 1|6 2|7 3"},
		{"words that end so", "humid,valid,acid\n1,2,3\n4,5,6\n", Options{}, "", "1 2 3|4 5 6"},
		{"by option", "a,week\n5,1\n6,2\n7,3\n", Options{IDs: "week"}, "1 2 3", "5|6|7"},
		{"by number", "5,31\n6,32\n7,33\n", Options{IDs: "-1"}, "31 32 33", "5|6|7"},
		{"none", "id,a\n7,1\n5,2\n", Options{NoIDs: true}, "", "1|2"},
		{"none, of several", ",uuid,sample,a\ns,u1,7,1\nt,u2,5,2\n", Options{NoIDs: true}, "", "1|2"},
		{"further ids are no features", "uuid,id,a\nu1,7,1\nu2,5,2\n", Options{}, "7 5", "1|2"},
		{"the ones that are asked for", "uuid,sample,a\nu1,7,1\nu2,5,2\n", Options{IDs: "sample"}, "7 5", "1|2"},
		{"a count of that name", "sample,a\n0,1\n1,2\n", Options{}, "0 1", "1|2"},
		{"a pattern that fits no name", ",cost,a\nr1,1,2\nr2,3,4\n", Options{LeaveOut: []string{"c*"}}, "r1 r2", "2|4"},
		{"decimals by option", "when,a\n0.5,1\n0.7,2\n", Options{IDs: "when"}, "0.5 0.7", "1|2"},
		{"whole numbers as floats", "id,a\n1.0,1\n3.0,2\n", Options{}, "1 3", "1|2"},
		{"another name", "case,a\n1,5\n1,6\n2,7\n", Options{}, "", "1 5|1 6|2 7"},
	} {
		c.o.Float = 64
		s := mustRead(t, "t.csv", []byte(c.text), c.o)
		if got := strings.Join(s.IDs, " "); got != c.ids || values(&s.Views[0]) != c.values {
			t.Errorf("%s: ids %q, want %q; values %s, want %s", c.name, got, c.ids, values(&s.Views[0]), c.values)
		}
	}
	s := mustRead(t, "t.csv", []byte("a,week\n5,1\n6,2\n7,3\n"), Options{})
	if len(s.Reading.Notes) != 1 || !strings.Contains(s.Reading.Notes[0], "week counts the samples") {
		t.Errorf("a counting column is not offered: %q", s.Reading.Notes)
	}
	for text, want := range map[string]string{
		"a,a,b\n4,2,3\n4,5,6\n": "two columns are named a",
		"#1\n1,2\n3,4\n":        "# at the beginning",
		"a\xe4,b\n1,2\n3,4\n":   "read as Latin-1",
	} {
		if s := mustRead(t, "t.csv", []byte(text), Options{}); len(s.Reading.Notes) != 1 ||
			!strings.Contains(s.Reading.Notes[0], want) {
			t.Errorf("notes %q, want %q", s.Reading.Notes, want)
		}
	}
	for text, words := range map[string][]string{
		"id,a\n7,1\n7,2\n":                                 {"id 7 twice", "lines 2 and 3", "Options.NoIDs"},
		"patient_id,a\n7,1\n7,2\n":                         {"id 7 twice", "patient_id"},
		"id,a\n7,1\n,2\n":                                  {"no id in line 3"},
		"Id,a\n0.5,1\n0.7,2\n":                             {"has 0.5 in line 2, column Id", "Options.NoIDs"},
		"sample_id,replicate_id,a\n1,1,5\n2,1,6\n3,2,7\n":  {"several columns", "sample_id, replicate_id", "Options.IDs"},
		"who,a\nann,1\nbob,2\ncyd,3\n":                     {"texts in column who", "Options.IDs who"},
		"id,ID,a\nx,1,1\ny,2,2\n":                          {"several columns", "id, ID"},
		"Unnamed: 0.1,Unnamed: 0,a\n4,4,1\n1,1,3\n":        {"a different value in each row of column Unnamed: 0:"},
		"0,0,1,1\n0,1,0,1\n.5,.25,.5,1\n":                  {"two first lines", "(0, 0, 1, 1, and below 0, 1, 0, 1)"},
		"2019,2019,2020,2020,2020\n1,2,1,2,3\n1,1,1,1,1\n": {"two first lines", "Options.Header no"},
		"7,7,7,7\n0,1,2,3\n1,1,1,1\n":                      {"two first lines"},
		"x,x,y\n0,1,0\n4,2,7\n":                            {"two columns named x", "(0, 1, 0)", "Options.Header yes"},
		"a,y\n4,01\n2,1\n":                                 {`"01" and "1"`, "write one class in one way"},
		"a,y\n4,u\n2,\" u\"\n":                             {`" u" and "u"`, "differ only in spaces"},
		"kind,a\nx,1\ny,2\nx,3\n": {"texts in column kind", `"x" in line 2`,
			"Options.Labels kind", "Options.OneHot kind", "Options.LeaveOut kind"},
		"a,when\n1,2024-01-02\n2,2024-01-02\n3,2024-02-02\n": {"dates in column when", "Options.LeaveOut when"},
	} {
		_, err := read("t.csv", []byte(text), Options{})
		wantError(t, err, words...)
	}
	_, err := read("t.csv", []byte("a,b\n1,2\n3,4\n"), Options{IDs: "z"})
	wantError(t, err, "z", "the columns a, b")
	// Ids of a usual name do not stand in for those that are asked for, unless another file has these.
	_, err = Open(context.Background(), write(t, "a.csv", "id,a\np1,1\np2,2\n", "b.csv", "id,b\np2,3\np1,4\n"), Options{IDs: "z"})
	wantError(t, err, "a.csv", "no variable or column z for the ids", "the columns id, a")
	s, err = Open(context.Background(), write(t, "a.csv", "uuid,z,a\nq,p1,1\nr,p2,2\n", "b.csv", "id,b\np2,3\np1,4\n"),
		Options{IDs: "z", LeaveOut: []string{"uuid"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Samples() != 2 {
		t.Errorf("%d samples, ids %v", s.Samples(), s.IDs)
	}
}

// TestJoin: files in any order are joined by their ids.
func TestJoin(t *testing.T) {
	a, b := "id,x,label\np1,1,k\np2,2,l\np3,3,k\n", "w,id\n30,p3\n10,p1\n20,p2\n"
	for _, storage := range []Storage{AsStored, AllSparse} {
		for _, float := range []int{32, 64} {
			s, err := Open(context.Background(), write(t, "a.csv", a, "b.csv", b), Options{Storage: storage, Float: float})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, s)
			if got := values(&s.Views[0]) + " " + values(&s.Views[1]) + fmt.Sprint(s.IDs,
				s.Labels); got != "1|2|3 10|20|30[p1 p2 p3] [0 1 0]" {
				t.Error(got)
			}
			if !strings.Contains(s.Reading.IDs, "b.csv (in another order)") {
				t.Errorf("the join is not said: %q", s.Reading.IDs)
			}
		}
	}
	// Labels in a file of their own, with more samples than the data have.
	s, err := Open(context.Background(), write(t, "a.csv", "id,x\np1,1\np2,2\n", "labels.csv",
		"id,kind\np9,z\np2,l\np1,k\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Labels, s.LabelNames); got != "[0 1] [k l]" || len(s.Reading.LeftOut) != 1 ||
		!strings.Contains(s.Reading.LeftOut[0].What, "p9") {
		t.Errorf("labels %s, left out %v", got, s.Reading.LeftOut)
	}
	// The first order stands, whatever file has the labels.
	s, err = Open(context.Background(), write(t, "a.csv", "id,x\np2,2\np1,1\n", "b.csv",
		"id,w,label\np1,10,k\np2,20,l\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := values(&s.Views[1]) + fmt.Sprint(s.IDs, s.Labels); got != "20|10[p2 p1] [1 0]" {
		t.Error(got)
	}
}

func TestJoinErrors(t *testing.T) {
	a := "id,x\np1,1\np2,2\np3,3\n"
	_, err := Open(context.Background(), write(t, "a.csv", a, "b.csv", "id,w\np3,30\np1,10\n"), Options{})
	wantError(t, err, "b.csv", "lacks 1 of the 3 samples", "p2", "Options.MissingRows")
	_, err = Open(context.Background(), write(t, "a.csv", a, "b.csv", "id,w\np3,30\np1,10\np7,70\np2,20\n"), Options{})
	wantError(t, err, "a.csv", "p7")
	_, err = Open(context.Background(), write(t, "a.csv", a, "b.csv", "id,w\np3,30\np3,10\np2,20\n"), Options{})
	wantError(t, err, "b.csv", "id p3 twice")
	_, err = Open(context.Background(), write(t, "a.csv", a, "b.csv", "id,w\np3,30\np1,10\np2,20\n", "c.csv",
		"z\n1\n2\n3\n"), Options{})
	wantError(t, err, "c.csv has none", "has ids in column id", "Options.NoIDs")
	_, err = Open(context.Background(), write(t, "a.csv", a, "labels.csv", "id,kind\np1,k\np2,l\n"), Options{})
	wantError(t, err, "labels.csv", "lacks 1 of the 3", "p3")
	// Rows of no sample, as many rows as samples or not: the report lists them beside the error of this file or another.
	for _, b := range []string{a, "id,w\np1,10\np2,20\n"} {
		r, err := Inspect(context.Background(), write(t, "a.csv", a, "b.csv", strings.Replace(b, "x", "w", 1), "labels.csv",
			"id,kind\np1,k\np2,l\np9,k\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, r.Problem, "lacks 1 of the 3", "p3")
		if !strings.Contains(r.String(), "1 row (p9)") {
			t.Error(r)
		}
	}
	// Names of ids that differ: the error does not propose to leave them out, which would match the rows by their places.
	differ := write(t, "shop.csv", "sku,x\np1,1\np2,2\np3,3\n", "text.csv", "product,w\np3,30\np1,10\np2,20\n")
	_, err = Open(context.Background(), differ, Options{})
	wantError(t, err, "Columns that are no features: sku of", "; product of", "Those that name the samples go into Options.IDs")
	if cured := new(curedError); errors.As(err, &cured) {
		t.Errorf("the error proposes %v", cured.options)
	}
	joined, err := Open(context.Background(), differ, Options{IDs: "sku,product"})
	if err != nil || values(&joined.Views[1]) != "10|20|30" {
		t.Errorf("joined by two names: %v", err)
	}
	_, err = Open(context.Background(), differ, Options{IDs: "sku,x,product"})
	wantError(t, err, "has several columns of Options.IDs sku,x,product: column sku and column x")
	// What ids count are ids, and no labels.
	_, err = Open(context.Background(), write(t, "a.csv", "id,x\n1,1\n2,2\n3,3\n", "b.csv", "w,z\n1,2\n3,4\n"), Options{})
	wantError(t, err, "or from the ids: a 3×1, b 2×2, with 3 ids")
	// Rows by their places, on request.
	s, err := Open(context.Background(), write(t, "a.csv", "id,x\n1,1\n2,2\n3,3\n", "b.csv",
		"id,w\n3,30\n1,10\n2,20\n"), Options{NoIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := values(&s.Views[1]); got != "30|10|20" || s.IDs != nil {
		t.Error(got)
	}
}

// TestJoinAbsent: samples that a file lacks are absent views where absent views are expected.
func TestJoinAbsent(t *testing.T) {
	a, b := "id,x\np1,1\np2,2\np3,3\n", "id,w\np4,40\np3,30\np1,10\n"
	for _, storage := range []Storage{AsStored, AllSparse} {
		s, err := Open(context.Background(), write(t, "a.csv", a, "b.csv", b), Options{MissingRows: true, Storage: storage})
		if err != nil {
			t.Fatal(err)
		}
		sound(t, s)
		got := values(&s.Views[0]) + " " + values(&s.Views[1]) + fmt.Sprint(s.IDs, s.Present)
		if want := "1|2|3|0 10|0|30|40[p1 p2 p3 p4] [[true true] [true false] [true true] [false true]]"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	// A mask says which they are.
	for p2, o := range map[string]Options{"0": {}, "1": {MissingRows: true}} {
		o.MaskFile = write(t, "mask.csv", "id,a,b\np4,0,1\np3,1,1\np2,1,"+p2+"\np1,1,1\n")[0]
		s, err := Open(context.Background(), write(t, "a.csv", a, "b.csv", b), o)
		if err != nil || fmt.Sprint(s.Present) != "[[true true] [true false] [true true] [false true]]" {
			t.Errorf("%s: %v", p2, err)
		}
		o.MissingRows = false
		if _, err = Open(context.Background(), write(t, "a.csv", a, "b.csv", b), o); p2 == "1" {
			wantError(t, err, "mask.csv", "has 1 for sample p2 in view b, but", "b.csv lacks", "Options.MissingRows")
		}
	}
	// A NaN says where it stands in the file, not in the joined view.
	_, err := Open(context.Background(), write(t, "a.csv", a, "b.csv", "id,w,z\np3,30,1\np1,,2\np2,20,3\n"), Options{})
	wantError(t, err, "row 0, column 0", "line 3, column w")
}

// TestIDsOfArrays: a variable of a file of arrays names the samples.
func TestIDsOfArrays(t *testing.T) {
	big := []int64{1 << 53, 1<<53 + 1, 7}
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := WriteNPZ(path, false, Array{"X0", []int{3, 1}, []float64{1, 2, 3}}, Array{"ids", nil, big}); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), []string{path}, Options{IDs: "ids,X0"})
	wantError(t, err, "ids and X0 are both of Options.IDs ids,X0")
	if s, err := Open(context.Background(), []string{path}, Options{IDs: "sku,ids"}); err != nil || len(s.IDs) != 3 {
		t.Error(err)
	}
	table := write(t, "b.csv", "sample_id,w\n7,30\n9007199254740993,20\n9007199254740992,10\n")[0]
	s, err := Open(context.Background(), []string{path, table}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := values(&s.Views[1]); got != "10|20|30" || !slices.Equal(s.IDs, []string{"9007199254740992",
		"9007199254740993", "7"}) {
		t.Error(got, s.IDs)
	}
}

// TestNamesOfOtherBytes: ids that are no UTF-8 stay apart, and a matrix that only has the name of labels is not lost.
func TestNamesOfOtherBytes(t *testing.T) {
	x := npyBytes("'<f4'", false, "(2, 2)", make([]byte, 16))
	s := mustRead(t, "m.npz", zipBytes(t, false, map[string][]byte{"X.npy": x,
		"id.npy": npyBytes("'|S1'", false, "(2,)", []byte{0xe9, 0xe8})}), Options{Orientation: RowsAreSamples})
	if strings.Join(s.IDs, " ") != "é è" {
		t.Errorf("ids %q", s.IDs)
	}
	y := Array{Name: "Y", Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}}
	two := npzBytes(t, false, y, Array{Name: "X", Shape: []int{3, 3}, Data: make([]float64, 9)})
	_, err := read("m.npz", two, Options{})
	wantError(t, err, "m.npz: Y has 2 in row 0 and column 1 (from 0); a matrix of classes holds 0 and 1: it may be a view; name "+
		"the views with Options.Views, or give Options.LeaveOut Y")
	if s := mustRead(t, "m.npz", two, Options{Views: []string{"X", "Y"}}); len(s.Views) != 2 || s.Labels != nil {
		t.Errorf("%v", s)
	}
}

// TestNamedViewsOfFiles: of several files, each view that the options name is read, whatever its name, or is an error.
func TestNamedViewsOfFiles(t *testing.T) {
	write := func(name string) string {
		path := filepath.Join(t.TempDir(), name+".npz")
		values := Array{Name: name, Shape: []int{3, 2}, Data: make([]float64, 6)}
		content := npzBytes(t, false, values, Array{Name: "id", Data: []string{"u", "v", "w"}})
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	x := write("x")
	for _, name := range []string{"y", "label", "mask", "z"} {
		files := []string{write(name), x}
		s, err := Open(context.Background(), files, Options{Views: []string{"x", name}, NoLabels: true})
		if err != nil || len(s.Views) != 2 {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		_, err = Open(context.Background(), files, Options{Views: []string{"x", "w"}})
		wantError(t, err, "has no variable w of Options.Views, nor has another file")
	}
}

// TestIDOfOneSample: the only id of the only sample is an id; one value beside more samples is none.
func TestIDOfOneSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	for n, want := range map[int][]string{1: {"7"}, 2: nil} {
		x := Array{"X0", []int{n, 2}, make([]float64, 2*n)}
		if err := WriteNPZ(path, false, x, Array{"ids", []int{1}, []int64{7}}); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), []string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.IDs, want) {
			t.Errorf("%d samples: ids %v, want %v", n, s.IDs, want)
		}
	}
}
