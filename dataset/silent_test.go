package dataset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/hostile"
)

// logicalMAT5 writes a sparse logical matrix as MATLAB does: the values are bytes that call themselves double.
func logicalMAT5(deflate bool, f func(i, j int) float64, rows, cols int) []byte {
	e := newMAT5(false, deflate)
	var ir []int
	jc := []int{0}
	for j := range cols {
		for i := range rows {
			if f(i, j) != 0 {
				ir = append(ir, i)
			}
		}
		jc = append(jc, len(ir))
	}
	ones := e.element(9, []byte(strings.Repeat("\x01", len(ir))))
	e.add(e.array("X0", 5, 2, []int{rows, cols}, e.element(5, e.ints(ir...)), e.element(5, e.ints(jc...)), ones))
	e.add(e.matrix("X1", 6, 9, rows, 2, func(i, j int) float64 { return float64(i + 5*j) }))
	return e.bytes()
}

// TestSparseLogical: sparse(logical) of MATLAB v5 to v7, also where its bytes could be doubles.
func TestSparseLogical(t *testing.T) {
	for _, rows := range []int{7, 8, 16} {
		for _, deflate := range []bool{false, true} {
			bit := func(i, j int) float64 { return float64((i + j) % 2) }
			s := mustRead(t, "words.mat", logicalMAT5(deflate, bit, rows, 4), Options{})
			checkView(t, &s.Views[0], rows, 4, bit)
		}
	}
}

// TestSparseMask: a mask may be sparse.
func TestSparseMask(t *testing.T) {
	e := newMAT5(false, true)
	e.add(e.matrix("X0", 6, 9, 4, 2, func(i, j int) float64 { return float64(i + j + 1) }))
	e.add(e.matrix("X1", 6, 9, 4, 2, func(i, j int) float64 { return float64(i + 2*j + 1) }))
	e.add(e.sparse("present", 4, 2, func(i, j int) float64 {
		if i == 2 && j == 0 {
			return 0
		}
		return 1
	}))
	s := mustRead(t, "a.mat", e.bytes(), Options{})
	if s.Present == nil || s.Present[2][0] || !s.Present[2][1] || s.MissingRate() != 0.125 {
		t.Errorf("present %v", s.Present)
	}
}

// numbered is a table of n rows without a header: numbers of patients, and values.
func numbered(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,%d.5\n", 842302+i*i, i%4)
	}
	return []byte(b.String())
}

// TestNothingInSilence: what may be a part of the data and is not read is an error that says so.
func TestNothingInSilence(t *testing.T) {
	mat := func(arrays ...func(e *mat5Encoder) []byte) []byte {
		e := newMAT5(false, false)
		e.add(e.matrix("X0", 6, 9, 4, 2, func(i, j int) float64 { return float64(i + j + 1) }))
		for _, a := range arrays {
			e.add(a(e))
		}
		return e.bytes()
	}
	matrix := func(name string, rows, cols int) func(e *mat5Encoder) []byte {
		return func(e *mat5Encoder) []byte {
			return e.matrix(name, 6, 9, rows, cols, func(i, j int) float64 { return float64(2*i + j) })
		}
	}
	h5 := func(attribute string) []byte {
		h := hostile.NewHDF5()
		at := h.Add(make([]byte, 256))
		h.Link("X0", h.Object(hostile.Dataspace(6, 4), hostile.Float64, hostile.Contiguous(h.Add(hostile.LE(float64(1))), 192)))
		h.Add(make([]byte, 256))
		h.Link("labels", h.Object(hostile.Dataspace(1, 6), hostile.Int64, hostile.Contiguous(at, 48),
			textAttribute("MATLAB_class", "categorical"), textAttribute(attribute, "x")))
		return h.Bytes()
	}
	x := Array{"X0", []int{4, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 9}}
	for name, c := range map[string]struct {
		data  []byte
		words []string
	}{
		"ids.npz": {npzBytes(t, false, x, Array{"patient_id", nil, []int{1, 2, 3, 4}}, Array{"uuid", nil, []int{4, 3, 2, 1}}),
			[]string{"ids.npz: has several variables with names of ids (patient_id, uuid)", "Options.IDs"}},
		"twice.mat": {mat(matrix("X1", 4, 1), matrix("X1", 4, 1)), []string{"two variables named X1"}},
		"struct.mat": {mat(func(e *mat5Encoder) []byte {
			return e.array("s", 2, 0, []int{1, 1}, e.element(5, e.ints(8)), e.element(1, []byte("X1\x00\x00\x00\x00\x00\x00")),
				e.matrix("", 6, 9, 4, 1, func(i, _ int) float64 { return float64(i) }))
		}), []string{"s ", "it holds X1", "Options.LeaveOut s"}},
		"number.mat": {mat(matrix("x0", 4, 1)), []string{"x0", "X0", "the same number", "Options.LeaveOut x0"}},
		"ids.mat": {mat(func(e *mat5Encoder) []byte { return e.array("id", 4, 0, []int{4, 1}, e.element(16, []byte("abcd"))) }),
			[]string{"id ", "cannot be read as ids"}},
		"turned.npz": {npzBytes(t, false, x, Array{"c", nil, []int{1, 2}}),
			[]string{"c ", "each column of X0", "Options.Orientation"}},
		"wdbc.csv":   {numbered(20), []string{"column 0", "beside decimals", "Options.NoIDs"}},
		"mask.mat":   {mat(matrix("mask", 4, 3)), []string{"mask"}},
		"status.npz": {npzBytes(t, false, x, Array{"MissingStatus", []int{4, 1}, []int{1, 1, 0, 1}}), []string{"MissingStatus"}},
		"named.npz": {npzBytes(t, false, Array{"arr_0", []int{4, 2}, x.Data}, Array{"arr_1", []int{4, 2}, x.Data}),
			[]string{"Options.Views arr_0,arr_1"}},
		"object.h5": {h5("MATLAB_object_decode"), []string{"labels", "categorical", "cannot be read as labels"}},
		"lfs.mat": {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"),
			[]string{"Git LFS", "git lfs pull"}},
		"missing.csv": {[]byte("404: Not Found"), []string{"error message of a server"}},
	} {
		_, err := read(name, c.data, Options{})
		wantError(t, err, append(c.words, name)...)
	}
	// Columns that are no features are in one error, unless no feature would be left.
	text := "a,sex,site,cluster\n5,m,x,1\n6,f,y,2\n"
	_, err := read("t.csv", []byte(text), Options{})
	wantError(t, err, "texts in column sex", "sex, site, cluster of t.csv", "Options.LeaveOut sex,site,cluster leaves")
	mustRead(t, "t.csv", []byte(text), Options{LeaveOut: []string{"sex", "site", "cluster"}})
	_, err = read("t.csv", []byte("sex,site\nm,x\nf,y\n"), Options{Header: WithHeader})
	if wantError(t, err, "texts in column sex"); strings.Contains(fmt.Sprint(err), "sex,site") {
		t.Error(err)
	}
	// A name among Options.Views does not make features of what a table refuses.
	_, err = read("t.csv", []byte("a,cluster\n5,5\n5,6\n7,8\n"), Options{Views: []string{"t"}})
	wantError(t, err, "t.csv: has column cluster", "Options.LeaveOut cluster")
	// The block without a name in which MATLAB keeps what its objects hold is no view.
	if s := mustRead(t, "a.mat", mat(matrix("", 1, 300)), Options{}); len(s.Views) != 1 || len(s.Reading.LeftOut) > 0 {
		t.Errorf("%d views, left out %v", len(s.Views), s.Reading.LeftOut)
	}
}

// TestLabelsOfAFolder: a file that gives the classes is not left out.
func TestLabelsOfAFolder(t *testing.T) {
	paths := write(t, "view1.csv", "a,b\n1,2\n3,4\n5,9\n", "label.csv", "x\nu\nv\nv\n")
	s, err := Open(context.Background(), []string{filepath.Dir(paths[0])}, Options{})
	if err != nil || s.Classes() != 2 || len(s.Reading.LeftOut) > 0 {
		t.Errorf("%v, %d classes, left out %v", err, s.Classes(), s.Reading.LeftOut)
	}
	if err := os.WriteFile(paths[1], []byte("0\n1\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(context.Background(), []string{filepath.Dir(paths[0])}, Options{})
	if err != nil || s.Classes() != 2 || len(s.Reading.LeftOut) > 0 {
		t.Errorf("%v, %d classes, left out %v", err, s.Classes(), s.Reading.LeftOut)
	}
}

// TestFormulas: ids that a spreadsheet would run are read as they are, with a warning.
func TestFormulas(t *testing.T) {
	for id, said := range map[string]bool{"=1+1": true, "@SUM(1)": true, "+a": true, "-5": false, "a": false} {
		s := mustRead(t, "a.csv", []byte("id,a\n"+id+",1\nb,2\n"), Options{})
		if got := strings.Contains(strings.Join(s.Reading.Warnings, ""), "formula"); got != said || s.IDs[0] != id {
			t.Errorf("%q: %q, %v", id, s.IDs[0], s.Reading.Warnings)
		}
	}
}

// TestSparseBooleans: True and True at one place are True, as in SciPy.
func TestSparseBooleans(t *testing.T) {
	data := npzBytes(t, false, Array{"data", nil, []bool{true, true, true}}, Array{"indices", nil, []int32{1, 1, 0}},
		Array{"indptr", nil, []int32{0, 2, 3}}, Array{"shape", nil, []int{2, 2}}, Array{"format", []int{1}, []string{"csr"}})
	for _, o := range []Options{{}, {Storage: AllDense, Float: 64}} {
		s := mustRead(t, "a.npz", data, o)
		checkView(t, &s.Views[0], 2, 2, func(i, j int) float64 { return []float64{0, 1, 1, 0}[2*i+j] })
	}
}

// TestEnumerations: classes that are an enumeration of HDF5 lose their names, with a note; true and false lose nothing.
func TestEnumerations(t *testing.T) {
	for members, said := range map[uint8]bool{2: false, 3: true} {
		h := hostile.NewHDF5()
		at := h.Add(hostile.LE(uint64(0), uint64(1), uint64(0), uint64(1)))
		kind := hostile.Message(0x03, hostile.LE(uint8(0x18), members, uint8(0), uint8(0), uint32(8), hostile.Int64[4:],
			"cat\x00\x00\x00\x00\x00dog\x00\x00\x00\x00\x00elk\x00\x00\x00\x00\x00", uint64(0), uint64(1), uint64(2)))
		x := h.Add(hostile.LE(float64(1), float64(2), float64(5), float64(7)))
		h.Link("X0", h.Object(hostile.Dataspace(4, 1), hostile.Float64, hostile.Contiguous(x, 32)))
		h.Link("y", h.Object(hostile.Dataspace(4), kind, hostile.Contiguous(at, 32)))
		s := mustRead(t, "a.h5", h.Bytes(), Options{})
		if got := strings.Contains(strings.Join(s.Reading.Notes, ""), "an enumeration"); got != said || s.Classes() != 2 {
			t.Errorf("%d members: %d classes, notes %v", members, s.Classes(), s.Reading.Notes)
		}
	}
}

// TestPartsOfATable: tables with the same columns and no ids are an error until an option says what they are; ids prove it.
func TestPartsOfATable(t *testing.T) {
	parts := tables(t, "a,b\n1,2\n3,4\n", "a,b\n5,6\n9,8\n")
	_, err := Open(t.Context(), parts, Options{})
	wantError(t, err, "has the same columns as", "(a, b)", "Options.NoIDs", "Options.Orientation columns")
	_, err = OpenRows(t.Context(), parts, Options{Scratch: t.TempDir()})
	wantError(t, err, "has the same columns as")
	for _, o := range []Options{{NoIDs: true}, {Orientation: RowsAreSamples}} {
		if s, err := Open(t.Context(), parts, o); err != nil || len(s.Views) != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
	joined := tables(t, "id,a,b\nx,1,2\ny,3,4\n", "id,a,b\ny,5,6\nx,9,8\n")
	if s, err := Open(t.Context(), joined, Options{}); err != nil || values(&s.Views[1]) != "9 8|5 6" {
		t.Errorf("by ids: %v", err)
	}
}

// TestSharedColumn: a column that may name the samples in two tables is an error; so are ids that no two files share.
func TestSharedColumn(t *testing.T) {
	table := func(names string, id func(i int) string) string {
		text := names + "\n"
		for i := range 20 {
			text += fmt.Sprintf("%s,%d.5,%d\n", id(i), i%7, i%5)
		}
		return text
	}
	whole := func(by int) func(int) string { return func(i int) string { return fmt.Sprint(900 + by*i%23) } }
	text := func(i int) string { return "who" + fmt.Sprint(i) }
	for _, c := range []struct {
		id, other func(i int) string
		want      string // of the ids; empty: there is nothing to ask
	}{
		{whole(3), whole(7), "have the column account with a different value in each row"}, {text, text, "Options.IDs account"},
		{whole(3), func(int) string { return "4" }, ""},
	} {
		paths := tables(t, table("account,a,b", c.id), table("account,c,d", c.other))
		_, err := Open(t.Context(), paths, Options{})
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantError(t, err, c.want)
		s, err := Open(t.Context(), paths, Options{IDs: "account", MissingRows: true})
		if err != nil || len(s.IDs) == 0 {
			t.Errorf("joined by the column: %v", err)
		}
	}
	apart := tables(t, "id,a\nx1,2\nx2,3\n", "id,a\ny1,2\ny2,3\n")
	_, err := Open(t.Context(), apart, Options{})
	wantError(t, err, "no id is in two files", "parts of one table into one file")
}

// TestErrorsOfAllFiles: one error says what is wrong with each file, and stops at one that takes too much.
func TestErrorsOfAllFiles(t *testing.T) {
	folder := t.TempDir()
	var paths []string
	for name, text := range map[string]string{"a.csv": "1,2,3\n4,5,6.5\n", "b.csv": "2,4,9\n4,5,6.5\n", "c.csv": "1,7\n4,2\n"} {
		path := filepath.Join(folder, name)
		if err := writeBytes(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	_, err := Open(t.Context(), paths, Options{})
	wantError(t, err, "a.csv: has a first line that may name", "b.csv: has a first line that may name")
	_, err = Open(t.Context(), paths, Options{MaxBytes: 64})
	if wantError(t, err, "MaxBytes"); strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one error: %v", err)
	}
}
