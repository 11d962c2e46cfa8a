package views_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
)

// held is a 3×2 matrix of zeros, 2 and 3, as each kind of view holds it.
func held() []dataset.View {
	csr := func(f32 []float32, f64 []float64) *dataset.CSR {
		return &dataset.CSR{RowPtr: []int{0, 1, 1, 2}, Col: []int32{1, 0}, Float32: f32, Float64: f64}
	}
	return []dataset.View{
		{Name: "a", Rows: 3, Cols: 2, Float32: []float32{0, 2, 0, 0, 3, 0}},
		{Name: "b", Rows: 3, Cols: 2, Float64: []float64{0, 2, 0, 0, 3, 0}},
		{Name: "c", Rows: 3, Cols: 2, Sparse: csr([]float32{2, 3}, nil)},
		{Rows: 3, Cols: 2, Sparse: csr(nil, []float64{2, 3})},
	}
}

func TestOf(t *testing.T) {
	set := &dataset.Set{Views: held()}
	x, err := views.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	for v := range x {
		if n, d := x[v].Dims(); n != 3 || d != 2 || x[v].Name() != set.Views[v].Name {
			t.Errorf("view %d is %q, %d×%d", v, x[v].Name(), n, d)
		}
		if !x[v].Has(0) || !x[v].Has(2) {
			t.Errorf("view %d lacks samples", v)
		}
	}
	set.Present = [][]bool{{true, true, false, true}, {false, true, true, true}, {true, true, true, true}}
	if x, err = views.Of(set); err != nil {
		t.Fatal(err)
	}
	for i, row := range set.Present {
		for v, want := range row {
			if x[v].Has(i) != want {
				t.Errorf("sample %d, view %d: %v", i, v, !want)
			}
		}
	}
}

// TestPreparations saves a model of prepared views and prepares new samples by it.
func TestPreparations(t *testing.T) {
	for _, by := range [][]*dataset.Preparation{
		{{Impute: dataset.ImputeMean, Fill: []float64{1, 2, 3, 4, 5, 6, 7, 8}, LeaveOut: []string{"note", "a b*"}},
			{LeaveOut: []string{"note", "a b*"}}},
		{{Impute: dataset.ImputeMean, Fill: []float64{1, 2, 3, 4, 5, 6, 7, 8}}, nil},
		{nil, {Impute: dataset.ImputeNeighbors, Transform: dataset.TFIDF, Fill: []float64{1, 2, 3, 4, 5},
			IDF: []float64{5, 4, 3, 2, 1}, Rows: []float64{9, math.NaN(), 8, 7, 6, 1, 2, 3, 4, math.NaN()}}},
	} {
		checkPreparations(t, by)
	}
}

func checkPreparations(t *testing.T, by []*dataset.Preparation) {
	t.Helper()
	set, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 60, Clusters: 3, Dims: []int{8, 5}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := views.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	set.Views[0].Prepared, set.Views[1].Prepared = by[0], by[1]
	x, err := views.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := largemvc.Fit(t.Context(), x, largemvc.Config{Clusters: 3, Epochs: 2})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	model, err := largemvc.ReadPredictor(&file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := views.Preparations(model)
	for v := range by { // in texts NaN is NaN
		text := func(p *dataset.Preparation) string {
			if p == nil {
				return ""
			}
			return fmt.Sprintf("%+v", *p)
		}
		if err != nil || text(got[v]) != text(by[v]) {
			t.Errorf("%s, want %s: %v", text(got[v]), text(by[v]), err)
		}
	}
	if labels, err := model.Predict(t.Context(), x); err != nil || !slices.Equal(labels, c.Labels) {
		t.Errorf("labels %v, %v", labels, err)
	}
	if _, err := model.Predict(t.Context(), raw); err == nil || !strings.Contains(err.Error(), "has the preparation none") {
		t.Errorf("values that are not prepared: %v", err)
	}
	if c, err = largemvc.Fit(t.Context(), raw, largemvc.Config{Clusters: 3, Epochs: 2}); err != nil {
		t.Fatal(err)
	}
	if got, err := views.Preparations(c.Predictor); got != nil || err != nil {
		t.Errorf("without a preparation: %v, %v", got, err)
	}
}

// TestFit clusters every kind of view, complete and not, and compares with matrices of the same values.
func TestFit(t *testing.T) {
	for _, float := range []int{32, 64} {
		made, err := dataset.Synthetic(dataset.SyntheticConfig{Samples: 60, Clusters: 3, Dims: []int{6, 9},
			Float: float, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, rate := range []float64{0, 0.3} {
			present, err := dataset.Drop(60, 2, rate, 1)
			if err != nil {
				t.Fatal(err)
			}
			set, err := made.Incomplete(present)
			if err != nil {
				t.Fatal(err)
			}
			var plain []largemvc.View
			for v := range set.Views {
				x := mat.NewDense(60, set.Views[v].Cols, nil)
				x.Apply(func(i, j int, _ float64) float64 { return set.Views[v].At(i, j) }, x)
				plain = append(plain, largemvc.MatrixView(x))
			}
			if plain, err = testutil.Masked(plain, present); err != nil {
				t.Fatal(err)
			}
			x, err := views.Of(set)
			if err != nil {
				t.Fatal(err)
			}
			config := largemvc.Config{Clusters: 3, Epochs: 5}
			got, err := largemvc.Fit(context.Background(), x, config)
			if err != nil {
				t.Fatal(err)
			}
			want, err := largemvc.Fit(context.Background(), plain, config)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := fmt.Sprint(got.Labels, got.Loss), fmt.Sprint(want.Labels, want.Loss); a != b {
				t.Errorf("float%d, rate %v: %s\nwant %s", float, rate, a, b)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		set  *dataset.Set
		want string
	}{
		{nil, "no views"},
		{&dataset.Set{}, "no views"},
		{&dataset.Set{Views: []dataset.View{held()[0], {Name: "b", Rows: 3, Cols: 2}}}, `view 1 ("b") holds no values`},
		{&dataset.Set{Views: held()[:1], Present: [][]bool{{true}}}, "the mask has 1 rows, view 0 has 3 samples"},
		{&dataset.Set{Views: held()[:1], Present: [][]bool{{true}, {true, false}, {true}}}, "sample 1"},
	} {
		if _, err := views.Of(test.set); err == nil || !strings.HasPrefix(err.Error(), "views: ") ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	// Slices of the wrong length are found where the view is used.
	short := &dataset.Set{Views: []dataset.View{{Rows: 3, Cols: 2, Float32: []float32{1}}}}
	x, err := views.Of(short)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := largemvc.Fit(context.Background(), x, largemvc.Config{Clusters: 2}); err == nil ||
		!strings.Contains(err.Error(), "the number of values is 1, want n·d for 3×2") {
		t.Errorf("error %v", err)
	}
}
