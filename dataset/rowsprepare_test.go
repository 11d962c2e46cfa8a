package dataset

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

func writeNPYArray(t *testing.T, path string, a Array) {
	t.Helper()
	if err := writeFile(path, func(w io.Writer) error { return EncodeNPY(w, a) }); err != nil {
		t.Fatal(err)
	}
}

// writeHoles writes two views of counts with holes. Rows 3 and 9 of the second one are wholly NaN.
func writeHoles(t *testing.T, n int) []string {
	t.Helper()
	folder, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	var paths []string
	for v, d := range []int{6, 4} {
		x := make([]float32, n*d)
		for i := range x {
			x[i] = float32(random.IntN(9)) + float32(i%7)/3
			if random.IntN(9) == 0 && i%d > 0 || v == 1 && (i/d == 3 || i/d == 9) {
				x[i] = float32(math.NaN())
			}
		}
		path := filepath.Join(folder, fmt.Sprintf("x%d.npy", v))
		writeNPYArray(t, path, Array{Shape: []int{n, d}, Data: x})
		paths = append(paths, path)
	}
	return paths
}

// checkPreparedRows compares the rows of a set on disk with those in memory, bit by bit.
func checkPreparedRows(t *testing.T, got *RowSet, want *Set) {
	t.Helper()
	for v, r := range got.Views {
		n, d := r.Dims()
		for first := 0; first < n; first += 7 {
			x := make([]float32, min(7, n-first)*d)
			if err := r.ReadRows(t.Context(), first, x); err != nil {
				t.Fatal(err)
			}
			for k, a := range x {
				i := first + k/d
				if b := float32(want.Views[v].At(i, k%d)); want.Present[i][v] && a != b {
					t.Fatalf("view %d, row %d: %g, in memory %g", v, i, a, b)
				}
			}
		}
		if a, b := fmt.Sprintf("%+v", *r.Prepared), fmt.Sprintf("%+v", *want.Views[v].Prepared); a != b {
			t.Errorf("prepared by %s, in memory %s", a, b)
		}
	}
}

// TestOpenRowsPrepared compares rows that are prepared as they are read with those in memory.
func TestOpenRowsPrepared(t *testing.T) {
	paths := writeHoles(t, 5000) // more than are kept
	for _, impute := range []Impute{ImputeMean, ImputeNeighbors} {
		for _, kind := range []Transform{Log1p, CLR, TFIDF} {
			if impute == ImputeNeighbors && kind != TFIDF {
				continue
			}
			o := Options{Impute: impute, MissingRows: true, Storage: AllDense, Transform: map[string]Transform{"x1": kind}}
			want, err := Open(t.Context(), paths, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := OpenRows(t.Context(), paths, o)
			if err != nil {
				t.Fatal(err)
			}
			checkPreparedRows(t, got, want)
			if !slices.Equal(got.Reading.Notes, want.Reading.Notes) {
				t.Errorf("notes %q, in memory %q", got.Reading.Notes, want.Reading.Notes)
			}
			again, err := OpenRows(t.Context(), paths, Options{MissingRows: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Prepare([]*Preparation{want.Views[0].Prepared, want.Views[1].Prepared}); err != nil {
				t.Fatal(err)
			}
			checkPreparedRows(t, again, want)
			wantError(t, again.Prepare(nil), "the model has 0 views, and the data have 2")
			wantError(t, again.Prepare([]*Preparation{want.Views[1].Prepared, nil}), "has 6 features, in the model it has 4")
			for _, s := range []*RowSet{got, again} {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestOpenRowsPreparedErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x     []float64
		o     Options
		words []string
	}{
		{[]float64{1, 2, 3, 4}, Options{Impute: ImputeMedian}, []string{"Options.Impute median", "take mean or neighbors"}},
		{[]float64{1, 2, nan, nan}, Options{Impute: ImputeMean}, []string{"only NaN in row 1", "Options.MissingRows"}},
		{[]float64{1, nan, 2, nan}, Options{Impute: ImputeMean}, []string{"only NaN in column 1", "leave the column out"}},
		{[]float64{1, nan, 2, inf}, Options{Impute: ImputeNeighbors}, []string{"is infinite in row 1, column 1"}},
		{[]float64{1, 2, 3, 4}, Options{Transform: map[string]Transform{"z": CLR}}, []string{`names the view "z"`, "X0"}},
	} {
		path := filepath.Join(t.TempDir(), "X0.npy")
		writeNPYArray(t, path, Array{Shape: []int{2, 2}, Data: c.x})
		_, err := OpenRows(t.Context(), []string{path}, c.o)
		wantError(t, err, c.words...)
	}
	path := filepath.Join(t.TempDir(), "X0.npy")
	writeNPYArray(t, path, Array{Shape: []int{2, 2}, Data: []float64{1, 2, 3, -4}})
	s, err := OpenRows(t.Context(), []string{path}, Options{Transform: map[string]Transform{"*": Log1p}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantError(t, s.Views[0].ReadRows(t.Context(), 1, make([]float32, 2)), "-4 in row 1, column 1", "log1p is for counts")
}
