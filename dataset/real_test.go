package dataset

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// TestRealNPZ reads every development set and compares it with the table of its README.
func TestRealNPZ(t *testing.T) {
	dir := testutil.RealSets(t)
	for name, c := range map[string]struct {
		n       int
		dims    []int
		classes int
	}{
		"skdigits3v":   {1797, []int{64, 128, 16}, 10},
		"ucidigit":     {2000, []int{216, 76, 64}, 10},
		"msrcv1":       {210, []int{1302, 48, 512, 100, 256, 210}, 7},
		"orl":          {400, []int{512, 59, 864, 254}, 40},
		"3sources":     {169, []int{3560, 3631, 3068}, 6},
		"20newsgroups": {500, []int{2000, 2000, 2000}, 5},
		"webkb":        {203, []int{1703, 230, 230}, 4},
		"citeseer":     {3312, []int{3312, 3703}, 6},
		"reuters600":   {600, []int{1000, 1000, 1000, 1000, 1000}, 6},
		"cub10":        {600, []int{1024, 300}, 10},
		"landuse21":    {2100, []int{20, 59, 40}, 21},
		"bdgp":         {2500, []int{1000, 500, 250}, 5},
		"mnistusps":    {5000, []int{784, 784}, 10},
	} {
		s, err := Open(context.Background(), []string{filepath.Join(dir, name+".npz")}, Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		sound(t, s)
		if s.Name != name || s.Samples() != c.n || !equalInts(s.Dims(), c.dims) || s.Classes() != c.classes || s.Present != nil {
			t.Errorf("%s: %d samples, views %v, %d classes", s.Name, s.Samples(), s.Dims(), s.Classes())
		}
	}
}

// TestRealAll opens every set of both folders: all its views are read, and nothing is left out.
func TestRealAll(t *testing.T) {
	folders := []string{testutil.RealSets(t)}
	if more := os.Getenv("LARGEMVC_DATA_MORE"); more != "" {
		folders = append(folders, more)
	} else {
		t.Log("LARGEMVC_DATA_MORE does not name the folder of further sets")
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.npz"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			if !testutil.Slow && strings.Contains(f, "mnist3v") {
				continue
			}
			r, err := Inspect(context.Background(), []string{f}, Options{Storage: SparseIfSmaller})
			if err != nil || r.Problem != nil {
				t.Error(err, r)
				continue
			}
			if len(r.Files[0].Variables) != len(r.Views)+1 || r.Classes == nil ||
				len(r.Reading.LeftOut)+len(r.Reading.Notes) > 0 {
				t.Errorf("%s: %d views\n%s", f, len(r.Views), r.Reading.String())
			}
		}
	}
}

// TestRealMATLAB reads the files as users have them, without an option, and compares them with the .npz of the same set.
func TestRealMATLAB(t *testing.T) {
	dir := testutil.RealSets(t)
	for _, c := range []struct {
		file, npz string
		sparse    bool
		turned    bool
	}{
		{"MSRCV1.mat", "msrcv1.npz", false, false},
		{"MSRCV1_v73.mat", "msrcv1.npz", false, false},
		{"3-sources.mat", "3sources.npz", true, false},
		{"uci-digit.mat", "ucidigit.npz", false, false},
		{"webkb.mat", "webkb.npz", false, false},
	} {
		t.Run(c.file, func(t *testing.T) {
			mat, err := Open(context.Background(), []string{filepath.Join(dir, "mat", c.file)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			npz, err := Open(context.Background(), []string{filepath.Join(dir, c.npz)}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			sound(t, mat)
			if (mat.Views[0].Sparse != nil) != c.sparse {
				t.Error("sparse", !c.sparse)
			}
			sameSets(t, npz, mat)
		})
	}
}

func TestRealV73(t *testing.T) {
	dir := testutil.RealSets(t)
	a, err := Open(context.Background(), []string{filepath.Join(dir, "mat", "MSRCV1.mat")}, Options{Float: 64})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(context.Background(), []string{filepath.Join(dir, "mat", "MSRCV1_v73.mat")}, Options{Float: 64})
	if err != nil {
		t.Fatal(err)
	}
	sameSets(t, a, b)
	s, err := Open(context.Background(), []string{filepath.Join(dir, "mat", "synthetic_v73.mat")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Samples() != 200 || !equalInts(s.Dims(), []int{2, 2}) || s.Classes() != 4 {
		t.Errorf("%d samples, views %v, %d classes", s.Samples(), s.Dims(), s.Classes())
	}
}

// TestRealIncomplete: a quarter of the view rows is absent, half of the samples are incomplete.
func TestRealIncomplete(t *testing.T) {
	dir := testutil.RealSets(t)
	for _, storage := range []Storage{AsStored, AllSparse} {
		s, err := Open(context.Background(), []string{filepath.Join(dir, "mat", "BDGP_fea_Per0.5.mat")},
			Options{Storage: storage})
		if err != nil {
			t.Fatal(err)
		}
		full, err := Open(context.Background(), []string{filepath.Join(dir, "bdgp.npz")}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sound(t, s)
		incomplete := 0
		absent := make([]int, 3)
		for _, row := range s.Present {
			lost := false
			for v, p := range row {
				if !p {
					lost = true
					absent[v]++
				}
			}
			if lost {
				incomplete++
			}
		}
		if fmt.Sprint(absent) != "[647 623 629]" || incomplete != 1250 || math.Abs(s.MissingRate()-0.2532) > 1e-9 {
			t.Errorf("absent %v, incomplete %d, rate %g", absent, incomplete, s.MissingRate())
		}
		if s.Classes() != 5 || !equalInts(s.Dims(), full.Dims()) || s.Samples() != full.Samples() {
			t.Errorf("%d samples, views %v, %d classes", s.Samples(), s.Dims(), s.Classes())
		}
	}
}

func TestRealTriplets(t *testing.T) {
	path := filepath.Join(testutil.RealSets(t), "mat", "reuters.mat")
	_, err := Open(context.Background(), []string{path}, Options{})
	wantError(t, err, "reuters.mat", "Options.Triplets")
	s, err := Open(context.Background(), []string{path}, Options{Triplets: true})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if s.Samples() != 600 || len(s.Views) != 5 || s.Classes() != 6 || s.Views[0].Sparse == nil ||
		len(s.Views[0].Sparse.Col) != 48686 {
		t.Errorf("%d samples, views %v, %d classes", s.Samples(), s.Dims(), s.Classes())
	}
}

// TestRealMemory: reading the large set takes the memory of its float32 values and a few MB, everything counted.
func TestRealMemory(t *testing.T) {
	path := filepath.Join(testutil.RealSets(t), "mnist3v.npz")
	testutil.Long(t, "reads 60,000 samples")
	runtime.GC()
	var s *Set
	var err error
	got := testutil.Allocated(func() { s, err = Open(context.Background(), []string{path}, Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(60000 * (784 + 392 + 160) * 4)
	if s.Bytes() != int64(want) || s.Classes() != 10 {
		t.Errorf("%d bytes, %d classes", s.Bytes(), s.Classes())
	}
	t.Logf("%.1f MB for %.1f MB of values", float64(got)/1e6, float64(want)/1e6)
	if got > want+want/10 {
		t.Errorf("reading took %.1f MB in all for %.1f MB of values", float64(got)/1e6, float64(want)/1e6)
	}
}

// TestRealSparse: a set of word counts stored full is held as CSR without ever being held full.
func TestRealSparse(t *testing.T) {
	path := filepath.Join(testutil.RealSets(t), "citeseer.npz")
	dense, err := Open(context.Background(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var s *Set
	got := testutil.Allocated(func() { s, err = Open(context.Background(), []string{path}, Options{Storage: SparseIfSmaller}) })
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if s.Views[0].Sparse == nil || s.Views[1].Sparse == nil || 10*s.Bytes() > dense.Bytes() || int64(got) > dense.Bytes()/5 {
		t.Errorf("%d bytes, %d taken in all; dense %d", s.Bytes(), got, dense.Bytes())
	}
	for v := range s.Views {
		row := make([]float64, s.Views[v].Cols)
		for i := range s.Samples() {
			s.Views[v].Row(i, row)
			for j, x := range row {
				if x != float64(dense.Views[v].Float32[i*dense.Views[v].Cols+j]) {
					t.Fatalf("view %d has %g at (%d, %d)", v, x, i, j)
				}
			}
		}
	}
	// More than a quarter filled: stays dense.
	s, err = Open(context.Background(), []string{filepath.Join(testutil.RealSets(t), "msrcv1.npz")},
		Options{Storage: SparseIfSmaller})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if s.Views[0].Sparse != nil {
		t.Error("a full view is held sparse")
	}
}
