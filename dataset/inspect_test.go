package dataset

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

func inspectBytes(t *testing.T, name string, data []byte, o Options) *Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := writeBytes(path, data); err != nil {
		t.Fatal(err)
	}
	r, err := Inspect(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInspect(t *testing.T) {
	x := []float64{
		1, 0, 5,
		1, 0, 7,
		0, 0, 0,
		1, 2, 9,
	}
	data := npzBytes(t, true, Array{"X0", []int{4, 3}, x}, Array{"X1", []int{4, 1}, []float64{3, 3, 3, 3}}, Array{"y", nil,
		[]int{4, 2, 4, 4}}, Array{"extra", []int{1, 2}, []int{1, 2}})
	for _, storage := range []Storage{AsStored, AllSparse} {
		r := inspectBytes(t, "a.npz", data, Options{Storage: storage})
		if r.Problem != nil || r.Samples != 4 || len(r.Views) != 2 || r.Name != "a" {
			t.Fatalf("%+v", r)
		}
		v := r.Views[0]
		if v.Features != 3 || v.ZeroRows != 1 || v.ConstantColumns != 0 || v.Fill != 7.0/12 || v.Min != 0 || v.Max != 9 ||
			v.Sparse != (storage == AllSparse) {
			t.Errorf("view 0: %+v", v)
		}
		// Columns: sd of 1 1 0 1, of 0 0 0 2 and of 5 7 0 9.
		if math.Abs(v.MedianStd-math.Sqrt(0.75)) > 1e-12 || math.Abs(v.MaxStd-math.Sqrt(155.0/4-5.25*5.25)) > 1e-12 {
			t.Errorf("standard deviations %g, %g", v.MedianStd, v.MaxStd)
		}
		if r.Views[1].ConstantColumns != 1 || r.Views[1].ZeroRows != 0 || r.Views[1].Fill != 1 {
			t.Errorf("view 1: %+v", r.Views[1])
		}
		if len(r.Classes) != 2 || r.Classes[0] != (ClassReport{"2", 1}) || r.Classes[1] != (ClassReport{"4", 3}) {
			t.Errorf("classes %v", r.Classes)
		}
		text := r.String()
		for _, w := range []string{"NumPy .npz", "X0", "float64", "4×3", "view 0", "labels", "extra",
			"4 samples, 2 views, rows are samples", "2 classes: 2 (1) 4 (3)"} {
			if !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}
}

// TestInspectProblems reports what keeps a file from being read, and what was found all the same.
func TestInspectProblems(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := inspectBytes(t, "a.npz", npzBytes(t, true, Array{"X0", []int{3, 2}, []float64{1, 2, 3, nan, inf, nan}}), Options{})
	wantError(t, r.Problem, "X0", "infinite in row 2, column 0")
	v := r.Views[0]
	if v.NaN != 2 || v.Inf != 1 || v.FirstBad == nil || *v.FirstBad != (Place{1, 1}) || v.Max != 3 {
		t.Errorf("%+v", v)
	}
	if text := r.String(); !strings.Contains(text, "cannot be read so") || !strings.Contains(text, "first in row 1, column 1") {
		t.Error(text)
	}
	both := npzBytes(t, true, Array{"X0", []int{1, 2}, []float64{1, nan}}, Array{"X1", []int{1, 1}, []float64{inf}})
	if r = inspectBytes(t, "a.npz", both, Options{}); strings.Count(r.String(), "cannot be read so: ") != 2 {
		t.Errorf("not the problems of both views: %v", r)
	}
	r = inspectBytes(t, "a.mat", sampleMAT5(false, true), Options{})
	roles := map[string]string{}
	for _, u := range r.Files[0].Variables {
		roles[u.Name] = u.Role + u.Note
	}
	if roles["X{3}"] != "view 2" || roles["Y"] != "labels" || !strings.Contains(roles["title"], "char arrays are not read") {
		t.Errorf("roles %v", roles)
	}
	r = inspectBytes(t, "a.mat", incompleteMAT5(), Options{})
	if r.Incomplete != 2 || r.MissingRate != 0.2 || !strings.HasPrefix(r.Orientation, "columns are samples") ||
		r.Views[0].Absent != 1 {
		t.Errorf("%+v", r)
	}
	r = inspectBytes(t, "a.npz", npzBytes(t, true, Array{"q", []int{3, 2}, make([]int, 6)}, Array{"p", []int{3, 2},
		make([]int, 6)}), Options{})
	wantError(t, r.Problem, "Options.Views")
	if len(r.Files[0].Variables) != 2 {
		t.Error("the variables are not listed")
	}
	_, err := Inspect(context.Background(), []string{filepath.Join(t.TempDir(), "none")}, Options{})
	wantError(t, err, "none")
}

// The range of a view is that of its own values, whatever side of 0 they are on, and a view that no sample has fills nothing.
func TestInspectRange(t *testing.T) {
	for name, c := range map[string]struct {
		x           []float64
		least, most float64
	}{"above 0": {[]float64{7, 5, 6, 9}, 5, 9}, "below 0": {[]float64{-7, -5, -6, -9}, -9, -5}} {
		r := inspectBytes(t, "a.npz", npzBytes(t, true, Array{"X0", []int{2, 2}, c.x}), Options{})
		if v := r.Views[0]; v.Min != c.least || v.Max != c.most {
			t.Errorf("%s: from %v to %v", name, v.Min, v.Max)
		}
	}
	data := npzBytes(t, true, Array{"X0", []int{2, 2}, []float64{7, 5, 6, 9}}, Array{"X1", []int{2, 1}, []float64{1, 2}},
		Array{"mask", []int{2, 2}, []int{1, 0, 1, 0}})
	r := inspectBytes(t, "a.npz", data, Options{Mask: "mask"})
	if len(r.Views) != 2 || r.Views[1].Absent != 2 || r.Views[1].Fill != 0 {
		t.Errorf("%+v", r.Views)
	}
}
