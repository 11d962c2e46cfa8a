package dataset

import (
	"context"
	"strings"
	"testing"
)

// hdf5Value is the value that testdata/make_hdf5.py gives row i, column j of view v.
func hdf5Value(v int) func(i, j int) float64 {
	return func(i, j int) float64 { return float64((7*i + 3*j + v) % 50) }
}

func checkHDF5Labels(t *testing.T, s *Set) {
	t.Helper()
	for i, l := range s.Labels {
		if l != i%3 {
			t.Fatalf("label %d of sample %d", l, i)
		}
	}
	if len(s.Labels) != 12 || s.LabelNames[0] != "1" {
		t.Fatalf("%d labels, classes %q", len(s.Labels), s.LabelNames)
	}
}

func TestHDF5Cell(t *testing.T) {
	for _, float := range []int{32, 64} {
		s := mustRead(t, "cell.mat", testFile(t, "cell.mat"), Options{Float: float})
		sound(t, s)
		checkHDF5Labels(t, s)
		for v, d := range []int{5, 4, 30, 3} {
			want := hdf5Value(v)
			if v == 2 {
				full := want
				want = func(i, j int) float64 {
					if x := full(i, j); x < 10 {
						return x
					}
					return 0
				}
			}
			checkView(t, &s.Views[v], 12, d, want)
			if sparse := s.Views[v].Sparse != nil; sparse != (v == 2) {
				t.Errorf("view %d sparse: %t", v, sparse)
			}
		}
	}
}

// TestHDF5Skipped lists what is not a view.
func TestHDF5Skipped(t *testing.T) {
	r, err := Inspect(context.Background(), []string{"testdata/cell.mat"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range r.Files[0].Variables {
		got[v.Name] = v.Class + " " + v.Shape + " " + v.Role + v.Note
	}
	for name, want := range map[string]string{"note": "char 1×4 char arrays are not read", "nothing": "double 3×0 ",
		"gt": "double 12×1 labels",
		"X":  "cell 1×4 ", "X{2}": "uint8 12×4 view 1", "X{3}": "sparse double 12×30 view 2",
		"options": "struct scalar groups and structures are not read"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if r.Files[0].Format != "MATLAB v7.3 (HDF5)" || r.Problem != nil {
		t.Errorf("%s, %v", r.Files[0].Format, r.Problem)
	}
	_, err = Open(context.Background(), []string{"testdata/cell.mat"}, Options{Views: []string{"nothing"}})
	wantError(t, err, "nothing", "empty (3×0)")
}

func TestHDF5Incomplete(t *testing.T) {
	s := mustRead(t, "incomplete.mat", testFile(t, "incomplete.mat"), Options{})
	checkHDF5Labels(t, s)
	for v, d := range []int{5, 12, 2} {
		full := hdf5Value(v)
		checkView(t, &s.Views[v], 12, d, func(i, j int) float64 {
			if i%4 == v {
				return 0
			}
			return full(i, j)
		})
		for i := range 12 {
			if s.Present[i][v] != (i%4 != v) {
				t.Errorf("sample %d, view %d: present %t", i, v, s.Present[i][v])
			}
		}
	}
	if got := s.MissingRate(); got != 0.25 {
		t.Errorf("missing rate %g", got)
	}
}

func TestHDF5ManyMembers(t *testing.T) {
	s := mustRead(t, "many.mat", testFile(t, "many.mat"), Options{})
	checkHDF5Labels(t, s)
	if len(s.Views) != 24 {
		t.Fatalf("%d views", len(s.Views))
	}
	for v := range s.Views {
		checkView(t, &s.Views[v], 12, 2, hdf5Value(v))
	}
}

func TestHDF5NewFormat(t *testing.T) {
	s := mustRead(t, "latest.h5", testFile(t, "latest.h5"), Options{})
	checkHDF5Labels(t, s)
	for v, d := range []int{6, 5, 3, 4} {
		checkView(t, &s.Views[v], 12, d, hdf5Value(v))
	}
	checkView(t, &s.Views[4], 12, 2, func(i, j int) float64 {
		if hdf5Value(4)(i, j) > 20 {
			return 1
		}
		return 0
	})
	checkView(t, &s.Views[5], 12, 5, hdf5Value(5))
	s = mustRead(t, "paged.h5", testFile(t, "paged.h5"), Options{})
	checkView(t, &s.Views[0], 12, 100, hdf5Value(0))
}

func TestHDF5Unwritten(t *testing.T) {
	s := mustRead(t, "partial.h5", testFile(t, "partial.h5"), Options{})
	checkView(t, &s.Views[0], 12, 4, func(i, j int) float64 {
		if i >= 3 && i < 6 && j < 2 {
			return hdf5Value(0)(i, j)
		}
		return 0
	})
}

// TestHDF5Growing reads the indexes of chunks of axes that may grow.
func TestHDF5Growing(t *testing.T) {
	for name, dims := range map[string][]int{
		"unlimited.h5": {2}, "growing.h5": {5, 20, 3, 7, 5}, "tree.h5": {8, 4}, "edges.h5": {7},
	} {
		s := mustRead(t, name, testFile(t, name), Options{})
		if len(s.Views) != len(dims) {
			t.Fatalf("%s: %d views", name, len(s.Views))
		}
		for v, d := range dims {
			checkView(t, &s.Views[v], 12, d, hdf5Value(v))
		}
	}
	s := mustRead(t, "far.h5", testFile(t, "far.h5"), Options{})
	written := map[int]float64{3: 7, 139000: 8, 133500: 9}
	checkView(t, &s.Views[0], 140000, 1, func(i, _ int) float64 { return written[i] })
}

// TestHDF5Members reads links and attributes that lie in heaps.
func TestHDF5Members(t *testing.T) {
	s := mustRead(t, "dense.h5", testFile(t, "dense.h5"), Options{})
	if len(s.Views) != 12 {
		t.Fatalf("%d views", len(s.Views))
	}
	for v := range s.Views {
		checkView(t, &s.Views[v], 12, 2, hdf5Value(v))
	}
	s = mustRead(t, "members.h5", testFile(t, "members.h5"), Options{})
	if len(s.Views) != 3 || len(s.Reading.LeftOut) != 67 {
		t.Fatalf("%d views, %d left out", len(s.Views), len(s.Reading.LeftOut))
	}
	for v := range s.Views { // the attribute MATLAB_class of the last says that it is stored the other way round
		checkView(t, &s.Views[v], 12, 2, hdf5Value(v))
	}
}

// TestHDF5Texts reads labels and ids that are texts, and names a link that is not followed.
func TestHDF5Texts(t *testing.T) {
	data := testFile(t, "texts.h5")
	_, err := read("texts.h5", data, Options{})
	wantError(t, err, "X1", "soft link", "Options.LeaveOut X1")
	_, err = read("texts.h5", data, Options{LeaveOut: []string{"X1"}})
	wantError(t, err, "raw", "it holds X", "Options.LeaveOut raw")
	s := mustRead(t, "texts.h5", data, Options{LeaveOut: []string{"X1", "raw"}})
	if names := strings.Join(s.LabelNames, " "); names != "ant bée cat" || s.Labels[5] != 2 || s.Labels[7] != 1 {
		t.Errorf("classes %q, labels %v", names, s.Labels)
	}
	if len(s.IDs) != 12 || s.IDs[11] != "s11" {
		t.Errorf("ids %q", s.IDs)
	}
	checkView(t, &s.Views[0], 12, 2, hdf5Value(0))
}

func TestHDF5LZF(t *testing.T) {
	s := mustRead(t, "lzf.h5", testFile(t, "lzf.h5"), Options{})
	checkView(t, &s.Views[0], 12, 40, hdf5Value(0))
}

func TestHDF5Corrupt(t *testing.T) {
	for _, name := range []string{"cell.mat", "incomplete.mat", "latest.h5", "partial.h5", "growing.h5", "texts.h5", "lzf.h5"} {
		t.Run(name, func(t *testing.T) {
			corrupt(t, name, testFile(t, name))
		})
	}
}
