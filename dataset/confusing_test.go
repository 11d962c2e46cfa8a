package dataset

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCSVConfusing: tables whose lines are easily taken for something else.
func TestCSVConfusing(t *testing.T) {
	for _, c := range []struct{ name, text, values, names string }{
		{"names in a comment, as savetxt writes them", "# a,b\n1,2\n3,4\n", "1 2|3 4", "a b"},
		{"the last of several comments", "# made by hand, once\n#a,b\n1,2\n3,4\n", "1 2|3 4", "a b"},
		{"a comment that is none", "# a 2020,b\n# 5\n1,2\n3,4\n", "1 2|3 4", ""},
		{"empty lines", "\n1,2\n\n\n3,4\n\n", "1 2|3 4", ""},
		{"tabs alone are a sample", "a\tb\n1\t2\n\t\n3\t4\n", "1 2|NaN NaN|3 4", "a b"},
		{"tabs alone are the first sample", "a\tb\n\t\n3\t4\n", "NaN NaN|3 4", "a b"},
		{"blanks alone are none", "1 2\n \t \n3 4\n", "1 2|3 4", ""},
		{"one column, with empty lines around it", "\n1\n2\n\n", "1|2", ""},
		{"a separator at the end of the data alone", "a,b\n1,2,\n3,4,\n", "1 2|3 4", "a b"},
		{"row names without a name", "a,b\nr1,1,2\nr2,3,4\n", "1 2|3 4", "a b"},
		{"quotes around numbers", "a,b\n\"1\" ,2\n\"3\",4\n", "1 2|3 4", "a b"},
		{"whole thousands and decimals", "a;b\n1.234;1\n2.5;3\n", "1.234 1|2.5 3", "a b"},
		{"row names without a name, and a value less", "\"a\",\"b\"\n\"1\",0.5,\n\"2\",0.6,0.7\n", "0.5 NaN|0.6 0.7", "a b"},
	} {
		s, err := read("t.csv", []byte(c.text), Options{Float: 64, AllowNaN: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.Join(s.Views[0].Features, " "); got != c.names || values(&s.Views[0]) != c.values {
			t.Errorf("%s: features %q, want %q; values %s, want %s", c.name, got, c.names, values(&s.Views[0]), c.values)
		}
		told := strings.Contains(s.Reading.String(), "empty lines are skipped, at 1 place between")
		if told != (strings.HasPrefix(c.name, "empty lines") || strings.HasPrefix(c.name, "blanks")) {
			t.Errorf("%s: empty lines are told: %t", c.name, told)
		}
	}
	s := mustRead(t, "t.csv", []byte("#a,label\n1,0\n2,1\n3,0\n"), Options{})
	if s.Classes() != 2 || !strings.Contains(s.Reading.String(), "comment before the data names the columns") {
		t.Errorf("%d classes\n%s", s.Classes(), &s.Reading)
	}
}

// TestCSVConfusingErrors: what would lose or change values is an error that says what it is.
func TestCSVConfusingErrors(t *testing.T) {
	unique := func(format string) string {
		text := "a;b\n"
		for i := range 6 {
			text += fmt.Sprintf(format+";%d\n", i+1, 3*i*i)
		}
		return text
	}
	for _, c := range []struct {
		text  string
		words []string
	}{
		{"a,b\n1,2\n#N/A,4\n5,6\n", []string{"NaN in row 1", "line 3, column a"}},
		{"#N/A,1\n2,3\n4,5\n", []string{"NaN in row 0", "line 1, column 0"}},
		{"a,b\n1,2\n#DIV/0!,4\n5,6\n", []string{`"#DIV/0!" in line 3`}},
		{"a,b\n1,2\n#3,4\n", []string{`"#3,4" in line 3`, "if it is a comment"}},
		{"1,2\n# a,b\n3,4\n", []string{`"# a,b" in line 2`}},
		{unique("%d.1±0.2"), []string{"1.1±0.2", "Options.IDs a"}},
		{"a,b\ntrue,1\n0.5,2\n", []string{"column a", `"true" in line 2`}},
		{"#1,5\n#2,6\n", []string{"holds only comments", "no data"}},
		{"#1,5\n2,6\n3,7\n", []string{`"#1,5" above its first line`, "Options.Header no"}},
		{"a,b\ncm,kg\n1,2\n3,4\n", []string{`"cm" in line 2`, "units"}},
		{"My table\na,b\n1,2\n", []string{"fields in line 2", "title"}},
		{"a;b\n1.984;98\n2.500;761\n", []string{`"1.984" in line 2, column a`, "thousands", "Options.Decimal point"}},
		{"-6,52\n3,14\n0,05\n", []string{`"05" in line 3`, "decimal comma", "Options.Decimal point"}},
		{"a\n-6,52\n3,14\n", []string{"decimal comma", "Options.Decimal comma"}},
		{"0,1,2\n1,5,6\n2,7,8\n", []string{"first line", "(0, 1, 2)"}},
		{"0,5,5\n1,5,6\n2,7,8\n", []string{"the numbers of its rows in column 0", "Options.IDs 0"}},
		{"nr,a\n3,5\n1,5\n2,8\n", []string{"column nr", "Options.IDs nr", "Options.LeaveOut nr"}},
		{"a,cluster\n5,5\n5,6\n7,8\n", []string{"column cluster", "an earlier fit", "Options.LeaveOut cluster"}},
		{"a\n1\n\n3\n", []string{"nothing in line 3", "one column", "NA"}},
		{"a,b\n\"1\"5,2\n3,4\n", []string{`"\"1\"5" in line 2`}},
		{"a,b\n1_0,2\n1_1,4\n1_0,3\n", []string{`"1_0" in line 2`}},
		{"a,b\n0x1p4,2\n0x1p4,4\n", []string{`"0x1p4" in line 2`}},
		{unique("\"1\"%d"), []string{`"\"1\"1" in line 2`}},
		{"a,b\n5%,1\nred,2\nblue,3\n", []string{"has texts in column a"}},
		{unique("%d%%"), []string{`column a: "1%" in line 2`, "cannot be read; write them as", "Options.IDs a"}},
		{unique("$%d"), []string{"$1", "cannot be read; write them as"}},
		{unique("%d €"), []string{"1 €", "cannot be read; write them as"}},
		{unique("−%d"), []string{"−1", "cannot be read; write them as"}},
		{unique("<%d"), []string{"<1", "cannot be read; write them as"}},
		{unique("2020-01-0%d"), []string{"dates in column a", "Options.IDs a"}},
		{unique("%d.5kg"), []string{"1.5kg", "cannot be read; write them as"}},
		{unique("%d.5D+03"), []string{"1.5D+03", "cannot be read; write them as"}},
		{unique("１%d"), []string{"１1", "cannot be read; write them as"}},
		{unique("%d,234.5"), []string{"1,234.5", "thousands separators: save", "thousands="}},
		{unique("%d.234,5"), []string{"1.234,5", "thousands separators: save"}},
		{unique("%d 234,5"), []string{"1 234,5", "thousands separators: save"}},
		{unique("%d'234.5"), []string{"1'234.5", "thousands separators: save"}},
		{unique("%d’234.5"), []string{"1’234.5", "thousands separators: save"}},
		{unique("%d\u00a0234,5"), []string{"234,5", "thousands separators: save"}},
		{unique("%d\u202f234,5"), []string{"234,5", "thousands separators: save"}},
		{unique("%d\xa0234,5"), []string{"234,5", "thousands separators: save"}},
		{unique("%d,23,456.5"), []string{"1,23,456.5", "thousands separators: save"}},
		{unique("%d.234.567"), []string{"1.234.567", "thousands separators: save"}},
		{unique("%d,234"), []string{"1,234", "Options.Decimal comma", "thousands"}},
	} {
		_, err := read("t.csv", []byte(c.text), Options{})
		wantError(t, err, c.words...)
	}
	s := mustRead(t, "t.csv", []byte("a,b\n,nan\n3,4\n"), Options{AllowNaN: true, Float: 64})
	if got := strings.Join(s.Views[0].Features, " "); got != "a b" {
		t.Errorf("features %q above a sample without values", got)
	}
	_, err := read("t.csv", []byte(unique("%d,234")), Options{Decimal: DecimalPoint})
	wantError(t, err, "1,234", "thousands separators: save")
	_, err = read("t.csv", []byte(unique("%d.234,5")), Options{Decimal: DecimalComma})
	wantError(t, err, "1.234,5", "thousands separators: save")
	for _, number := range []string{"1.984", "12.5", "0.5", "-1.984", "1.5e3"} {
		_, err = read("t.csv", []byte("a;b\n0,5;1\n"+number+";2\n"), Options{Decimal: DecimalComma})
		wantError(t, err, fmt.Sprintf("%q in line 3, column a", number), "with a point where the comma is decimal",
			"Options.Decimal point")
	}
	s = mustRead(t, "t.csv", []byte("label,a\n1_0,1\n10,2\n1_0,3\n"), Options{}) // no two names of one number
	if s.Classes() != 2 {
		t.Errorf("classes %q", s.LabelNames)
	}
	for _, ids := range []string{"s%d", "%d-A", "1-%d", "P %d", "%dx", "_%d"} { // these name samples where somebody says so
		if s, err := read("t.csv", []byte(unique(ids)), Options{IDs: "a"}); err != nil || len(s.IDs) != 6 {
			t.Errorf("%s: %v", ids, err)
		}
	}
}

// TestPacked: files that another program packed.
func TestPacked(t *testing.T) {
	gz := func(data []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	matrix := npyBytes("'<f8'", false, "(2, 2)", make([]byte, 32))
	for _, c := range []struct {
		data  []byte
		words []string
	}{
		{gz(matrix), []string{".npy", "packed by gzip", "gunzip"}},
		{gz(gz([]byte("a,b\n1,2\n3,4\n"))), []string{"further gzip"}},
		{gz(npzBytes(t, false, Array{"X", []int{2, 2}, []int{1, 2, 3, 4}})), []string{"zip archive", "gunzip"}},
		{gz([]byte("{\"a\": 1}")), []string{"JSON"}},
		{[]byte("BZh91AY&SY\x00\x01"), []string{"bzip2", "unpack"}},
		{[]byte("\xfd7zXZ\x00\x00\x04"), []string{"xz", "unpack"}},
		{[]byte("(\xb5/\xfd\x04\x00"), []string{"Zstandard", "unpack"}},
		{zipBytes(t, true, map[string][]byte{"a.csv": []byte("a,b\n1,2\n")}), []string{"zip archive", "unpack"}},
		{[]byte("# Created by Octave 8.4.0\n# name: X0\n# type: matrix\n 1 2\n 3 4\n"), []string{"Octave", "save -v7"}},
		{[]byte("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n"), []string{"mmread"}},
		{[]byte("1 1:0.5 3:2\n-1 2:1 4:1e-3\n"), []string{"LIBSVM", "load_svmlight_file"}},
	} {
		_, err := read("file", c.data, Options{})
		wantError(t, err, c.words...)
	}
}

// TestDevices: what is not a file says so, whatever it is given for.
func TestDevices(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(data, []byte("a,b\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), []string{data}, Options{LabelsFile: filepath.Dir(data)})
	wantError(t, err, "a folder")
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no /dev/zero here: ", err)
	}
	_, err = Open(context.Background(), []string{"/dev/zero"}, Options{})
	wantError(t, err, "/dev/zero", "a device")
	_, err = Open(context.Background(), []string{data}, Options{Labels: "/dev/zero"})
	wantError(t, err, "/dev/zero", "a device")
}

// tables writes tables to files and returns their paths.
func tables(t *testing.T, texts ...string) []string {
	t.Helper()
	folder := t.TempDir()
	var paths []string
	for i, text := range texts {
		path := filepath.Join(folder, fmt.Sprintf("%c.csv", 'a'+i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestTablesAreNotTurned: the columns that a header names are features, whatever numbers of rows agree.
func TestTablesAreNotTurned(t *testing.T) {
	paths := tables(t, "a,b\n1,2\n3,4\n5,6\n", "c,d\n1,2\n3,4\n5,6\n7,8\n")
	_, err := Open(context.Background(), paths, Options{})
	wantError(t, err, "differ in the number of samples", "3×2", "4×2")
	_, err = Open(context.Background(), paths, Options{Orientation: ColumnsAreSamples})
	wantError(t, err, "a.csv", "no id is in two files", "Options.NoIDs")
	s, err := Open(context.Background(), paths, Options{Orientation: ColumnsAreSamples, NoIDs: true})
	if err != nil || s.Samples() != 2 {
		t.Errorf("%d samples, %v", s.Samples(), err)
	}
	s, err = Open(context.Background(), tables(t, "1,2\n3,4\n5,6\n", "1,2\n3,4\n5,6\n7,8\n"), Options{})
	if err != nil || s.Samples() != 2 || !strings.Contains(s.Reading.String(), "the columns are read as the 2 samples") {
		t.Errorf("%v\n%v", err, s.Reading.Warnings)
	}
}

// TestTwins: a file that is given twice, or a copy of it, gives a warning.
func TestTwins(t *testing.T) {
	paths := tables(t, "a,b\n1,2\n3,4\n5,6\n", "c,d\n1,2\n3,4\n5,6\n", "c,d\n1,2\n3,4\n5,7\n")
	for _, storage := range []Storage{AsStored, AllSparse} {
		for _, c := range []struct {
			paths []string
			want  int
		}{{paths[:2], 1}, {[]string{paths[0], paths[0]}, 1}, {paths[1:], 0}, {paths, 1}} {
			s, err := Open(context.Background(), c.paths, Options{Storage: storage, NoIDs: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(strings.Join(s.Reading.Warnings, "\n"), "hold the same values"); got != c.want {
				t.Errorf("%d views: %d warnings, want %d: %q", len(c.paths), got, c.want, s.Reading.Warnings)
			}
		}
	}
}

// TestTwinsOfSomeSamples: the values of the samples that have the views are compared.
func TestTwinsOfSomeSamples(t *testing.T) {
	paths := tables(t, "a,b\n1,2\n,\n5,6\n", "c,d\n1,2\n,\n5,6\n", "e\n1\n2\n3\n", "c,d\n,\n1,2\n5,6\n")
	for _, c := range []struct {
		other, want int
	}{{1, 1}, {3, 0}} {
		files := []string{paths[0], paths[c.other], paths[2]}
		s, err := Open(context.Background(), files, Options{MissingRows: true, NoIDs: true})
		if err != nil || strings.Count(s.Reading.String(), "hold the same values") != c.want {
			t.Errorf("file %d: %v, %v", c.other, s, err)
		}
	}
}

// TestLabelsOfR: write.table gives the labels a name and the ids none.
func TestLabelsOfR(t *testing.T) {
	for _, text := range []string{"\"x\"\n\"r 1\" \"b\"\n\"r 2\" \"a\"\n", "x\nr 1\tb\nr 2\ta\n", "x\nr 1;b\nr 2;a\n"} {
		l, err := ReadLabels(context.Background(), tables(t, text)[0], Options{})
		if err != nil || strings.Join(l.IDs, ",") != "r 1,r 2" || strings.Join(l.Names, ",") != "a,b" || l.Column != "x" {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// TestTotals: a last row of sums gives a warning.
func TestTotals(t *testing.T) {
	rows := "a,b\n" + strings.Repeat("1.5,0\n2,.25\n0,3\n", 4)
	for last, want := range map[string]int{"14,13\n": 1, "14,13.5\n": 0, "-14,-13\n": 0} {
		s := mustRead(t, "t.csv", []byte(rows+last), Options{})
		if got := strings.Count(s.Reading.String(), "the last row of t.csv is the sum"); got != want {
			t.Errorf("%q: %d warnings", last, got)
		}
	}
}

// TestSpelling: ids that only some files have, and that differ in spelling alone, are an error.
func TestSpelling(t *testing.T) {
	for other, want := range map[string]string{
		"id,b\n01,1\n2,2\n": `("1" and "01")`, "id,b\nP1,1\n2,2\n": "", "id,b\n10,1\n2,2\n": "", "id,b\n1,1\n": "",
		"id,b\nx,1\n2,2\n": `("X" and "x")`, "id,b\n1,1\n01,2\n": "",
	} {
		_, err := Open(context.Background(), tables(t, "id,a\n1,1\n2,2\nX,3\n", other), Options{MissingRows: true})
		if want == "" && err != nil {
			t.Errorf("%q: %v", other, err)
		}
		if want != "" {
			wantError(t, err, "spells ids otherwise", want)
		}
	}
}

// TestIDsThatCount: a column id is no index, even where it counts: ids that no other file has are an error.
func TestIDsThatCount(t *testing.T) {
	named := "id,a\n02,1\n00,2\n01,3\n"
	_, err := Open(context.Background(), tables(t, named, "id,b\n0,4\n1,5\n2,6\n"), Options{})
	wantError(t, err, "no id is in two files")
	_, err = Open(context.Background(), tables(t, named, ",b\n0,4\n1,5\n2,6\n"), Options{})
	wantError(t, err, "no id is in two files", "Options.NoIDs")
	// Rows that were left out before they were counted shift the ids of those that follow.
	whole := "id,a\n0,1\n1,2\n2,3\n3,4\n"
	for _, part := range []string{"id,b\n0,4\n1,5\n2,6\n", ",b\n1,4\n2,5\n3,6\n4,7\n"} {
		for name, o := range map[string]Options{"in column": {MissingRows: true}, "": {MissingRows: true, IDs: "0"}} {
			if _, err := Open(context.Background(), tables(t, whole, part), o); name == "" && err != nil {
				t.Error(err)
			} else if name != "" {
				wantError(t, err, name, "count its rows", "give Options.IDs")
			}
		}
	}
	paths := tables(t, "id,a\n0,4\n1,5\n2,6\n", "id,label\n0,p\n1,q\n2,p\n3,q\n")
	_, err = Open(context.Background(), paths[:1], Options{LabelsFile: paths[1]})
	wantError(t, err, "has 4 rows for 3 samples", "count its rows")
}

// TestLooksAlike: a sample or class in two spellings that look alike is not taken for two.
func TestLooksAlike(t *testing.T) {
	ids := "id,a\np1,1\np2,2\n%s,3\n"
	for one, other := range map[string]string{
		"100000": "1e+05", "7": "7.00", "Jos\u00e9": "Jose\u0301", "TCGA-1": "tcga.1", "a b": "a_b", "s\u200b9": "s9",
		"c\u0327a": "\u00e7a",
	} {
		paths := tables(t, fmt.Sprintf(ids, one), fmt.Sprintf(ids, other))
		_, err := Open(context.Background(), paths, Options{MissingRows: true})
		wantError(t, err, "spells ids otherwise", fmt.Sprintf("%+q", other))
		_, _, err = textClasses([]string{one, other})
		if same := printed(one) == printed(other); same && (err == nil || !strings.Contains(err.Error(), "look alike")) {
			t.Errorf("%q and %q as classes: %v", one, other, err)
		}
	}
	for one, other := range map[string]string{
		"M\u00fcller": "Mo\u0308ller", "1e5": "1e6", "90071992547409930": "90071992547409931",
	} {
		paths := tables(t, fmt.Sprintf(ids, one), fmt.Sprintf(ids, other))
		if _, err := Open(context.Background(), paths, Options{MissingRows: true}); err != nil {
			t.Error(err)
		}
	}
}

// TestMaskOfIDsIsBooked: the mask of samples that files lack is part of the memory.
func TestMaskOfIDsIsBooked(t *testing.T) {
	var a, b strings.Builder
	a.WriteString("id,x\n")
	b.WriteString("id,z\n")
	const n = 20000
	for i := range n {
		fmt.Fprintf(&a, "s%d,%d\n", i, i%7)
		fmt.Fprintf(&b, "s%d,%d\n", i+1, i%5)
	}
	paths := tables(t, a.String(), b.String())
	peak := func(o Options) int64 {
		p, err := newPlan(paths, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		held := p.lim.Used()
		mask, err := p.joinedMask(2)
		if err != nil || len(mask) != n+1 || mask[0][1] || mask[n][0] {
			t.Fatal(len(mask), err)
		}
		return p.lim.Used() - held
	}
	// The plan knows the number of samples once its files are joined.
	if got := peak(Options{MissingRows: true}); got < n*26 {
		t.Errorf("%d bytes are booked for the mask", got)
	}
}

// TestProofGivesMemoryBack: no memory stays booked for the ids that might show which axis of a table has the samples.
func TestProofGivesMemoryBack(t *testing.T) {
	paths := tables(t, "id,x\np,1\nq,2\n", "id,z\np,1\nq,2\n")
	var used []int64
	for _, orientation := range []Orientation{AutoOrientation, RowsAreSamples} {
		p, err := newPlan(paths, &Options{Orientation: orientation})
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, p.lim.Used())
		p.close()
	}
	if used[0] != used[1] {
		t.Errorf("%d bytes are booked, %d where an option gives the axis", used[0], used[1])
	}
}

// TestNamesThatAreTwice: an option that gives the name of two columns does not say which.
func TestNamesThatAreTwice(t *testing.T) {
	data := []byte("a,b,a,kind,kind\n1,2,3,4,4\n5,6,7,8,8\n2,3,4,4,4\n")
	for _, o := range []Options{{Table: []TableView{{"v", []string{"a"}}}}, {Labels: "a"}, {IDs: "a"},
		{Table: []TableView{{"v", []string{"a-b"}}}}} {
		_, err := read("t.csv", data, o)
		wantError(t, err, "2 columns named a", "(0, 2)")
	}
	s := mustRead(t, "t.csv", data, Options{Table: []TableView{{"v", []string{"2", "b"}}}, Labels: "3"})
	if values(&s.Views[0]) != "3 2|7 6|4 3" || s.Classes() != 2 {
		t.Errorf("%s, %d classes", values(&s.Views[0]), s.Classes())
	}
}
