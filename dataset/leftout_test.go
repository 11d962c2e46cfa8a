package dataset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLeftOut: what looks like a view and cannot be read, or is not taken, is an error that names it and what permits it.
func TestLeftOut(t *testing.T) {
	x, y := Array{"X0", []int{4, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 8}}, Array{"y", nil, []int{0, 1, 0, 1}}
	archive := func(arrays ...Array) map[string][]byte {
		members := map[string][]byte{}
		for _, a := range append(arrays, y) {
			var b strings.Builder
			if err := a.write(&b); err != nil {
				t.Fatal(err)
			}
			members[a.Name+".npy"] = []byte(b.String())
		}
		return members
	}
	for _, c := range []struct {
		name, member string
		data         []byte
		left         string // the name by which it is left out
	}{
		{"complex", "X1", npyBytes("'<c16'", false, "(4, 1)", make([]byte, 64)), "X1"},
		{"objects", "X1", npyBytes("'|O'", false, "(4, 1)", []byte("\x80\x04")), "X1"},
		{"long double", "X1", npyBytes("'<f16'", false, "(4, 1)", make([]byte, 64)), "X1"},
		{"three axes", "X1", npyBytes("'<f8'", false, "(4, 2, 1)", make([]byte, 64)), "X1"},
		{"a record", "X1", npyBytes("'|V8'", false, "(4, 1)", make([]byte, 32)), "X1"},
		{"another name", "other", npyBytes("'<f8'", false, "(4, 2)",
			[]byte(strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x3f", 8))), "other"},
		{"another name, complex", "other", npyBytes("'<c16'", false, "(4, 1)", make([]byte, 64)), "other"},
		{"another series", "view1", npyBytes("'<f8'", false, "(4, 2)", make([]byte, 64)), "view1"},
		{"a vector of classes", "fold", npyBytes("'|u1'", false, "(4,)", []byte{1, 0, 1, 1}), "fold"},
		{"a vector of measurements", "weight", npyBytes("'<f8'", false, "(4,)",
			[]byte(strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x3f", 4))), "weight"},
	} {
		members := archive(x)
		members[c.member+".npy"] = c.data
		data := zipBytes(t, false, members)
		_, err := read("a.npz", data, Options{})
		wantError(t, err, "a.npz", c.member, "Options.LeaveOut")
		for _, o := range []Options{{LeaveOut: []string{c.left}}, {Views: []string{"X0"}}} {
			s := mustRead(t, "a.npz", data, o)
			if len(s.Views) != 1 || !slices.ContainsFunc(s.Reading.LeftOut,
				func(o Omission) bool { return strings.HasPrefix(o.What, c.member) }) {
				t.Errorf("%s: %d views, left out %v", c.name, len(s.Views), s.Reading.LeftOut)
			}
		}
	}
	// What has a role beside the views is not a view, but is said.
	for name, a := range map[string]Array{
		"scalar":      {"version", []int{1}, []int{3}},
		"more labels": {"gt", nil, []int{1, 0, 1, 1}},
		"parameters":  {"weights", []int{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
	} {
		s := mustRead(t, "a.npz", npzBytes(t, false, x, y, a), Options{})
		if len(s.Views) != 1 || len(s.Reading.LeftOut) != 1 || !strings.HasPrefix(s.Reading.LeftOut[0].What, a.Name) {
			t.Errorf("%s: %d views, left out %v", name, len(s.Views), s.Reading.LeftOut)
		}
	}
	// Numbers of views in several spellings are one series.
	s := mustRead(t, "a.npz", npzBytes(t, false, x, Array{"x_1", []int{4, 1}, []int{1, 2, 3, 4}}, y), Options{})
	if len(s.Views) != 2 || s.Views[0].Name != "X0" {
		t.Errorf("%d views", len(s.Views))
	}
}

// TestUnknownNames: a name in the options that nothing has is said, for it may be misspelt.
func TestUnknownNames(t *testing.T) {
	table, arrays := []byte("a,kind,b\n1,x,2\n3,x,4\n5,y,7\n"), npzBytes(t, false, Array{"X0", []int{2, 2}, []int{1, 2, 3, 5}},
		Array{"extra", []int{2, 1}, []float64{1, 3.5}})
	for _, c := range []struct {
		o       Options
		arrays  bool
		unknown []string
	}{
		{Options{LeaveOut: []string{"kind", "tagret"}}, false, []string{"Options.LeaveOut tagret"}},
		{Options{LeaveOut: []string{"k*", "KIND"}}, false, nil},
		{Options{OneHot: []string{"kind", "knid"}}, false, []string{"Options.OneHot knid"}},
		{Options{OneHot: []string{"*"}}, false, nil},
		{Options{LeaveOut: []string{"extra", "X1"}}, true, []string{"Options.LeaveOut X1"}},
	} {
		name, data := "t.csv", table
		if c.arrays {
			name, data = "t.npz", arrays
		}
		got := mustRead(t, name, data, c.o).Reading.Warnings
		if len(got) != len(c.unknown) || len(got) > 0 && !strings.HasPrefix(got[0], c.unknown[0]) {
			t.Errorf("%v: warnings %q, want %q", c.o.LeaveOut, got, c.unknown)
		}
	}
	paths := write(t, "v0.csv", "1,2\n3,4\n5,5\n", "old.csv", "1,2\n")
	s, err := Open(context.Background(), []string{filepath.Dir(paths[0])}, Options{LeaveOut: []string{"old.csv", "older.csv"}})
	if err != nil || len(s.Reading.Warnings) != 1 || !strings.Contains(s.Reading.Warnings[0], "older.csv") {
		t.Errorf("%v: %v", s, err)
	}
}

// TestLeftOutByMemory: a view that does not fit is an error, never left out.
func TestLeftOutByMemory(t *testing.T) {
	e := newMAT5(false, true)
	e.add(e.matrix("X1", 6, 9, 40, 3, sampleValue(0)))
	e.add(e.matrix("X2", 6, 9, 40, 20000, sampleValue(1)))
	e.add(e.matrix("gnd", 6, 9, 40, 1, func(i, _ int) float64 { return float64(i % 2) }))
	for _, o := range []Options{{MaxBytes: 1 << 20}, {MaxBytes: 1 << 20, LeaveOut: []string{"X3"}}} {
		_, err := read("a.mat", e.bytes(), o)
		wantError(t, err, "X2", "Options.MaxBytes")
	}
}

// TestMATLABText: labels that cannot be read are an error, other texts are said.
func TestMATLABText(t *testing.T) {
	text := func(e *mat5Encoder, name string) []byte {
		return e.array(name, 4, 0, []int{1, 1}, e.element(16, []byte("a")))
	}
	e := newMAT5(false, true)
	e.add(e.cell("X", []int{1, 1}, e.matrix("", 6, 9, 3, 2, sampleValue(0))))
	e.add(e.cell("gnd", []int{3, 1}, text(e, ""), text(e, ""), text(e, "")))
	_, err := read("a.mat", e.bytes(), Options{})
	wantError(t, err, "gnd", "grp2idx")
	s := mustRead(t, "a.mat", e.bytes(), Options{NoLabels: true})
	if s.Labels != nil || len(s.Reading.LeftOut) != 1 {
		t.Errorf("left out %v", s.Reading.LeftOut)
	}
	e = newMAT5(false, true)
	e.add(e.cell("X", []int{1, 1}, e.matrix("", 6, 9, 3, 2, sampleValue(0))))
	e.add(e.cell("more", []int{1, 1}, e.matrix("", 6, 9, 3, 4, sampleValue(1))))
	_, err = read("a.mat", e.bytes(), Options{})
	wantError(t, err, "more{1}", "looks like a view")
}

// TestWideLabels: a matrix with a name of labels that marks no classes is an error without labels too; what marks them is left
// out.
func TestWideLabels(t *testing.T) {
	for name, y := range map[string]Array{
		"wide": {"y", []int{3, 2}, []float64{0.5, 1, 2, 3, 4, 5}}, "vector": {"label", []int{3}, []float64{1, 2, 1}},
		"column": {"gt", []int{3, 1}, []float64{1, 2, 1}}, "one of two": {"y", []int{3, 2}, []float64{0, 1, 1, 0, 0, 1}},
	} {
		x := npzBytes(t, false, Array{"X0", []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}}, y)
		s, err := read("a.npz", x, Options{NoLabels: true})
		if name == "wide" {
			wantError(t, err, "y (3×2", "looks like a view and is not read", "LeaveOut y")
		} else if err != nil || s.Labels != nil || len(s.Reading.LeftOut) != 1 {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestOwnLabels: results of the command are no data.
func TestOwnLabels(t *testing.T) {
	labels := "target,sample,label,confidence,remoteness\np1,0,1,0.1,0.2\np2,1,0,0.3,0.4\n"
	for _, text := range []string{labels, "sample,label,confidence\n0,1,0.1\n1,0,0.3\n"} {
		paths := write(t, "v0.csv", "1,2\n3,4\n", "result.csv", text)
		_, err := Open(context.Background(), []string{filepath.Dir(paths[0])}, Options{})
		wantError(t, err, "result.csv", "holds labels that fit or predict wrote", "Options.LeaveOut result.csv")
		s, err := Open(context.Background(), []string{filepath.Dir(paths[0])}, Options{LeaveOut: []string{"result.csv"}})
		if err != nil || len(s.Views) != 1 || s.Labels != nil {
			t.Error(s, err)
		}
	}
	paths := write(t, "v0.csv", "id,a\np2,2\np1,4\n", "old.csv", labels)
	s, err := Open(context.Background(), []string{paths[0]},
		Options{LabelsFile: paths[1]}) // on request they are classes like others
	if err != nil || !equalInts(s.Labels, []int{0, 1}) {
		t.Error(s, err)
	}
}

// TestFolderOfOthers: a table in another format among the views is an error; notes are said.
func TestFolderOfOthers(t *testing.T) {
	dir := filepath.Dir(write(t, "v0.csv", "1,2\n3,4\n", "notes.md", "x")[0])
	s, err := Open(context.Background(), []string{dir}, Options{})
	if err != nil || len(s.Reading.LeftOut) != 1 || !strings.Contains(s.Reading.LeftOut[0].File, "notes.md") {
		t.Error(s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "v1.xlsx"), []byte("PK"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), []string{dir}, Options{})
	wantError(t, err, "v1.xlsx", "Excel", "Options.LeaveOut v1.xlsx")
}

// TestWarnings: what may be wrong with data that can be read.
func TestWarnings(t *testing.T) {
	table := func(rows int, label func(i int) string) []byte {
		var b strings.Builder
		b.WriteString("a,b,target\n")
		for i := range rows {
			b.WriteString(itoa(i%7) + ".5," + itoa(i%3) + "," + label(i) + "\n")
		}
		return []byte(b.String())
	}
	for _, c := range []struct {
		data []byte
		want string
	}{
		{table(30, itoa), "all 30 labels are different"},
		{table(30, func(i int) string { return itoa(i % 5) }), "5 classes for 30 samples"},
		{table(30, func(i int) string { return itoa(i % 3) }), ""},
		{table(30, func(int) string { return "1" }), "all labels are 1"},
		{[]byte(strings.Repeat(strings.Repeat("1,", 60)+"2\n", 4)), "4 samples of 61 features"},
		{[]byte(strings.Repeat(strings.Repeat("1,", 30)+"2\n", 4)), ""},
	} {
		s := mustRead(t, "t.csv", c.data, Options{})
		if got := strings.Join(s.Reading.Warnings, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("warnings %q, want %q", got, c.want)
		}
	}
	for labels, want := range map[int]string{5: "", 30: "all 30 labels are different"} {
		s := mustRead(t, "t.csv", table(30, func(i int) string { return itoa(i % labels) }), Options{Labels: "target"})
		if got := strings.Join(s.Reading.Warnings, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%d labels that were named: warnings %q, want %q", labels, got, want)
		}
	}
}

// TestTextsLeftOutOnce: a column of texts that is in no view of a table is named once.
func TestTextsLeftOutOnce(t *testing.T) {
	s := mustRead(t, "t.csv", []byte("a,b,note\n1,2,x\n3,4,y\n5,7,x\n"), Options{
		Table: []TableView{{Name: "v", Columns: []string{"a", "b"}}}, NoLabels: true,
	})
	if len(s.Reading.LeftOut) != 1 || !strings.HasPrefix(s.Reading.LeftOut[0].What, "column note") {
		t.Errorf("left out: %+v", s.Reading.LeftOut)
	}
}

// TestLargeLabels: integers that float64 would round stay apart.
func TestLargeLabels(t *testing.T) {
	const big = 1 << 53
	s := mustRead(t, "a.npz", npzBytes(t, false, Array{"X0", []int{3, 1}, []float64{1, 2, 3}}, Array{"y", nil, []int64{big,
		big + 1, -big}}), Options{})
	if s.Classes() != 3 || !equalInts(s.Labels, []int{1, 2, 0}) {
		t.Errorf("labels %v of %q", s.Labels, s.LabelNames)
	}
	s = mustRead(t, "a.csv", []byte("a,y\n1,9007199254740993\n2,9007199254740992\n3,18446744073709551615\n"), Options{})
	if s.Classes() != 3 {
		t.Errorf("classes %q", s.LabelNames)
	}
}

// TestContext: a context ends the reading, and a nil one is an error.
func TestContext(t *testing.T) {
	paths := write(t, "a.csv", strings.Repeat("1,2.5\n", 2000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, paths, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := Inspect(ctx, paths, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	var none context.Context
	_, err := Open(none, paths, Options{})
	wantError(t, err, "context is nil")
	_, err = Inspect(none, paths, Options{})
	wantError(t, err, "context is nil")
	var file *os.File
	_, err = Read(ctx, "a.csv", file, 10, Options{})
	wantError(t, err, "reader is nil")
	_, err = Read(ctx, "a.csv", nil, 10, Options{})
	wantError(t, err, "reader is nil")
}

// TestFolderWithoutTarget: a link among the views that points to nothing may be a view, and is no reason to go on without it.
func TestFolderWithoutTarget(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.csv", "u,v\n1,2\n3,4\n5,7\n")
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links: ", err)
		}
	}
	link("annex/none", "notes.md")
	if s, err := Open(context.Background(), []string{dir}, Options{}); err != nil || len(s.Views) != 1 {
		t.Fatal("a link that is no data by its name:", err)
	}
	for _, name := range []string{"b.csv", "b.xlsx"} {
		link("annex/x", name)
		_, err := Open(context.Background(), []string{dir}, Options{})
		wantError(t, err, name, "is a link to annex/x, which cannot be opened", "Options.LeaveOut "+name)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		s, err := Open(context.Background(), []string{dir}, Options{LeaveOut: []string{name}})
		if err != nil || len(s.Views) != 1 {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("target", "w,z\n1,2\n3,5\n5,6\n")
	link("target", "b.csv")
	if s, err := Open(context.Background(), []string{dir}, Options{}); err != nil || len(s.Views) != 2 {
		t.Fatal("a link to a file:", err)
	}
}
