package dataset

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// holes are two tables: b has no row c, and both have missing values.
func holes(t *testing.T, o Options) *Set {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "id,x,y\na,1,10\nb,nan,20\nc,3,nan\nd,8,60\n", "b.csv": "id,u,v,w\na,0,3,1\nb,1,nan,2\nd,0,0,5\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestImpute(t *testing.T) {
	for impute, want := range map[Impute][][]float64{
		ImputeMean:   {{1, 10, 4, 20, 3, 30, 8, 60}, {0, 3, 1, 1, 1.5, 2, 0, 0, 0, 0, 0, 5}},
		ImputeMedian: {{1, 10, 3, 20, 3, 20, 8, 60}, {0, 3, 1, 1, 1.5, 2, 0, 0, 0, 0, 0, 5}},
	} {
		for _, storage := range []Storage{AllDense, AllSparse} {
			s := holes(t, Options{Impute: impute, MissingRows: true, Float: 64, Storage: storage})
			for v := range want {
				d := s.Views[v].Cols
				checkView(t, &s.Views[v], 4, d, func(i, j int) float64 { return want[v][i*d+j] })
			}
			notes := strings.Join(s.Reading.Notes, "\n")
			if !strings.Contains(notes, "filled with the "+impute.String()+" of the training samples: 2 in 2 of ") {
				t.Errorf("notes %q", notes)
			}
		}
	}
}

// TestImputeNeighbors compares with KNNImputer of scikit-learn 1.2.1, for training and new samples, dense and sparse.
func TestImputeNeighbors(t *testing.T) {
	const file = "nan,1.78,-2.55,-0.14\nnan,1.35,0.65,nan\n0.29,0.55,0.18,-1.07\nnan,nan,nan,0.7\n" +
		"nan,1.8,-0.03,1.38\n-0.91,-0.82,0.08,0.28\n-1.6,-1.73,nan,-0.86\n" +
		"1.21,0.39,0.31,0.21\n0.9,nan,1.09,-0.53\n-0.22,-0.68,0.6,0.04\nnan,2,-0.36,-0.12\n0.39,nan,nan,0.7\n"
	want := []float64{
		0.152, 1.78, -2.55, -0.14, 0.254, 1.35, 0.65, -0.026, 0.29, 0.55, 0.18, -1.07, 0.274, 0.538, 0.12, 0.7, 0.376,
		1.8, -0.03, 1.38, -0.91, -0.82, 0.08, 0.28, -1.6, -1.73, 0.452, -0.86, 1.21, 0.39, 0.31, 0.21, 0.9, 0.722,
		1.09, -0.53, -0.22, -0.68, 0.6, 0.04, 0.514, 2, -0.36, -0.12, 0.39, 1.058, -0.406, 0.7,
	}
	data := []byte(file)
	for _, storage := range []Storage{AllDense, AllSparse} {
		s := mustRead(t, "a.csv", data, Options{Impute: ImputeNeighbors, Float: 64, Storage: storage})
		p := s.Views[0].Prepared
		again := mustRead(t, "a.csv", data, Options{AllowNaN: true, Float: 64, Storage: storage})
		if err := again.Prepare([]*Preparation{p}); err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			for j := range 4 {
				if got := s.Views[0].At(i, j); math.Abs(got-want[4*i+j]) > 1e-14 || again.Views[0].At(i, j) != got {
					t.Errorf("%g at (%d, %d), of new samples %g, want %g", got, i, j, again.Views[0].At(i, j), want[4*i+j])
				}
			}
		}
		if notes := s.Reading.Notes[0]; !strings.Contains(notes, "mean of the 5 nearest training samples: 12 in 4 of 4") ||
			p.String() != "neighbors" || len(p.Rows) != 48 {
			t.Errorf("%q, %v, %d values are kept", notes, p, len(p.Rows))
		}
	}
	// A row that shares no feature with the kept ones gets the mean, and so does a feature that none of them has.
	p := &Preparation{Impute: ImputeNeighbors, Fill: []float64{5, 6, 7}, Rows: []float64{1, math.NaN(), math.NaN()}}
	s := mustRead(t, "b.csv", []byte("nan,2,3\n4,nan,9\n"), Options{AllowNaN: true, Float: 64})
	if err := s.Prepare([]*Preparation{p}); err != nil {
		t.Fatal(err)
	}
	checkView(t, &s.Views[0], 2, 3, func(i, j int) float64 { return [][]float64{{5, 2, 3}, {4, 6, 9}}[i][j] })
}

// TestKeptRows draws present rows alone, each at most once, and the same ones again.
func TestKeptRows(t *testing.T) {
	odd := func(i int) bool { return i%2 == 1 }
	for _, c := range []struct{ n, d, want int }{
		{1000, 3, 500}, {20000, 3, 4096}, {20000, 1 << 12, 512}, {100, 1 << 30, 5}, {4, 0, 2},
	} {
		rows := keptRows(c.n, c.d, odd)
		if len(rows) != c.want || !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != c.want ||
			slices.ContainsFunc(rows, func(i int) bool { return !odd(i) || i >= c.n }) ||
			!slices.Equal(rows, keptRows(c.n, c.d, odd)) || rows[len(rows)-1] < c.n/2 {
			t.Errorf("%v: %d rows, %v …", c, len(rows), rows[:min(len(rows), 9)])
		}
	}
}

// TestTransform compares with the formulas, of dense and sparse values, and prepares the same samples as new ones.
func TestTransform(t *testing.T) {
	row := [][]float64{{0, 3, 1}, {1, 1.5, 2}, nil, {0, 0, 5}}
	idf := []float64{math.Log(1 + 3.0/1), math.Log(1 + 3.0/2), math.Log(1 + 3.0/3)}
	for kind, want := range map[Transform]func(x []float64, j int) float64{
		Log1p: func(x []float64, j int) float64 { return math.Log(1 + x[j]) },
		CLR: func(x []float64, j int) float64 {
			g := math.Cbrt((1 + x[0]) * (1 + x[1]) * (1 + x[2]))
			return math.Log(1 + x[j]/g)
		},
		TFIDF: func(x []float64, j int) float64 { return math.Log(1+1e4*x[j]/(x[0]+x[1]+x[2])) * idf[j] },
	} {
		for _, storage := range []Storage{AllDense, AllSparse} {
			s := holes(t, Options{Impute: ImputeMedian, Transform: map[string]Transform{"b": kind}, MissingRows: true, Float: 64,
				Storage: storage})
			b := &s.Views[1]
			for i, x := range row {
				for j := range x {
					if got := b.At(i, j); math.Abs(got-want(x, j)) > 1e-12 {
						t.Errorf("%v: %g at (%d, %d), want %g", kind, got, i, j, want(x, j))
					}
				}
			}
			if b.Prepared.String() != "median, "+kind.String() || s.Views[0].Prepared.String() != "median" {
				t.Errorf("prepared %v, %v", s.Views[0].Prepared, b.Prepared)
			}
			again := holes(t, Options{AllowNaN: true, MissingRows: true, Float: 64, Storage: storage})
			if err := again.Prepare([]*Preparation{s.Views[0].Prepared, b.Prepared}); err != nil {
				t.Fatal(err)
			}
			for v := range s.Views {
				checkView(t, &again.Views[v], 4, s.Views[v].Cols, s.Views[v].At)
			}
		}
	}
}

func TestPreparationErrors(t *testing.T) {
	file := "x,y\n1,-2\n3,4\nnan,5\n"
	for _, c := range []struct {
		file  string
		o     Options
		words []string
	}{
		{file, Options{}, []string{"NaN in row 2", "Options.Impute mean, median or neighbors"}},
		{file, Options{Impute: ImputeMean, Transform: map[string]Transform{"*": CLR}}, []string{"-2 in row 0, column 1", "clr"}},
		{file, Options{Impute: ImputeMean, Transform: map[string]Transform{"z": CLR}}, []string{`view "z"`, "the views are a"}},
		{file, Options{Impute: ImputeMean, AllowNaN: true}, []string{"contradicts"}},
		{"x,y\nnan,nan\n3,4\n", Options{Impute: ImputeMean}, []string{"only NaN in row 0", "Options.MissingRows"}},
		{"x,y\n1,nan\n3,nan\n", Options{Impute: ImputeMean}, []string{"only NaN in column 1"}},
	} {
		_, err := Read(t.Context(), "a.csv", bytes.NewReader([]byte(c.file)), int64(len(c.file)), c.o)
		wantError(t, err, c.words...)
	}
	s := mustRead(t, "a.csv", []byte("x,y\n1,nan\nnan,nan\n"), Options{AllowNaN: true})
	fill := &Preparation{Impute: ImputeMean, Fill: []float64{1, 2}}
	wantError(t, s.Prepare([]*Preparation{fill}), "only NaN in row 1")
	wantError(t, s.Prepare([]*Preparation{{Transform: TFIDF, IDF: []float64{1}}}), "2 features")
	wantError(t, s.Prepare(nil), "the model has 0 views, and the data have 1")
}
