package largemvc

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// sparseOf returns compressed rows of x, with zeros among the entries.
func sparseOf[F float32 | float64](n, d int, x []float64) View {
	ptr, cols, values := testutil.Compressed[F](n, d, x)
	return SparseView(n, d, ptr, cols, values)
}

// Rows and columns of equal values are zero after standardisation, whatever the rounding of their mean; so are views.
func TestPreprocessOfConstants(t *testing.T) {
	const n, d = 7, 5
	x := make([]float64, n*d)
	for i := range x {
		x[i] = 0.1 // no mean of such is exact
	}
	for kind, want := range map[Preprocess]string{
		PreprocessSample:   "every sample is constant over its features",
		PreprocessBalanced: "every feature is constant over the samples",
		PreprocessZScore:   "every feature is constant over the samples",
	} {
		for name, view := range map[string]View{"dense": DenseView(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
			_, err := Fit(
				context.Background(), []View{DenseView(n, d, testutil.Counts(n, d, 2)), view.Named("v")},
				Config{Clusters: 2, Preprocess: kind},
			)
			if err == nil || !strings.Contains(err.Error(), "view 1 (v) has nothing to cluster: "+want) {
				t.Errorf("%v, %s: %v", kind, name, err)
			}
		}
	}
	zero := make([]float64, n*d)
	for _, kind := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
		for name, view := range map[string]View{
			"dense": DenseView(n, d, zero), "sparse": SparseView(n, d, make([]int, n+1), nil, []float32(nil)),
		} {
			if _, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: kind}); err == nil ||
				!strings.Contains(err.Error(), "view 0 has nothing to cluster") {
				t.Errorf("all zero, %v, %s: %v", kind, name, err)
			}
		}
	}
	_, err := Fit(
		context.Background(), []View{DenseView(4, 1, []float64{1, 2, 3, 4})},
		Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: None}},
	)
	if err == nil || !strings.Contains(err.Error(), "a single feature: use Preprocess Balanced") {
		t.Errorf("one feature: %v", err)
	}
	// Rows that count are those that are present.
	part := testutil.Counts(n, d, 2)
	for i := range n {
		if i%2 == 0 {
			copy(part[i*d:(i+1)*d], x[:d])
		}
	}
	mask := []bool{true, false, true, false, true, false, true}
	views := []View{DenseView(n, d, part).WithPresent(mask), DenseView(n, d, testutil.Counts(n, d, 4))}
	if _, err := Fit(context.Background(), views, Config{Clusters: 2, Preprocess: PreprocessSample}); err == nil ||
		!strings.Contains(err.Error(), "view 0 has nothing to cluster") {
		t.Errorf("constant where present: %v", err)
	}
}

// Views that are taken as they are can be too large for the arithmetic.
func TestRawViewsOfLargeValues(t *testing.T) {
	const n, d = 20, 4
	x := testutil.Counts(n, d, 5)
	x[17*d+1] = 1e19
	for name, view := range map[string]View{"dense": DenseView(n, d, x), "sparse": sparseOf[float64](n, d, x)} {
		_, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Preprocess: None})
		if err == nil ||
			!strings.Contains(err.Error(), "view 0: row 17 has the norm 1e+19, too large to compute with (1e+18)") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Fit(context.Background(), []View{view}, Config{Clusters: 2, Epochs: 1}); err != nil {
			t.Errorf("%s, standardised: %v", name, err)
		}
	}
}

// Overwrite changes what it may change, and nothing where Fit refuses.
func TestOverwrite(t *testing.T) {
	const n, d = 40, 6
	x := testutil.Counts(n, d, 6)
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	want := testutil.Standardised("sample", x, n, d, nil)
	for _, float := range []bool{false, true} {
		f32, f64, other := slices.Clone(single), slices.Clone(x), slices.Clone(x)
		sparse := sparseOf[float32](n, d, x)
		values := slices.Clone(sparse.in.Sparse.F32)
		views := []View{DenseView(n, d, f32), DenseView(n, d, f64), MatrixView(mat.NewDense(n, d, other)), sparse}
		before := mustFit(
			t, views,
			Config{Clusters: 3, Epochs: 2, Float64: float, Neighborhood: Neighborhood{Neighbors: None}},
		)
		if !slices.Equal(f32, single) || !slices.Equal(f64, x) || !slices.Equal(other, x) {
			t.Fatal("Fit changed views without Overwrite")
		}
		after := mustFit(
			t, views,
			Config{
				Clusters: 3, Epochs: 2, Float64: float, Machine: machine.Options{Overwrite: true},
				Neighborhood: Neighborhood{Neighbors: None},
			},
		)
		sameMatrix(t, "H", before.H, after.H)
		if !slices.Equal(before.Labels, after.Labels) {
			t.Error("Overwrite changed the labels")
		}
		if !slices.Equal(other, x) || !slices.Equal(sparse.in.Sparse.F32, values) {
			t.Error("Overwrite changed a matrix or a sparse view")
		}
		if (!float) == slices.Equal(f32, single) || (float) == slices.Equal(f64, x) {
			t.Errorf("float %v: Overwrite changed the other view, or none", float)
		}
		for i, w := range want {
			got := f64[i]
			if !float {
				got = float64(f32[i])
			}
			if math.Abs(got-w) > 1e-6*(1+math.Abs(w)) {
				t.Fatalf("float %v: element %d was overwritten by %v, want %v", float, i, got, w)
			}
		}
	}

	spoilt := slices.Clone(single)
	spoilt[len(spoilt)-1] = float32(math.NaN())
	for name, test := range map[string]struct {
		last   View
		config Config
	}{
		"NaN":      {DenseView(n, d, spoilt), Config{Clusters: 3}},
		"constant": {DenseView(n, d, make([]float32, n*d)), Config{Clusters: 3}},
		"columns":  {DenseView(n, d, make([]float32, n*d)), Config{Clusters: 3, Preprocess: PreprocessZScore}},
		"config":   {DenseView(n, d, single), Config{Clusters: n + 1}},
		"mask":     {DenseView(n, d, single).WithPresent(make([]bool, n)), Config{Clusters: 3}},
	} {
		f32 := slices.Clone(single)
		test.config.Machine.Overwrite = true
		if _, err := Fit(context.Background(), []View{DenseView(n, d, f32), test.last}, test.config); err == nil {
			t.Errorf("%s: no error", name)
		}
		if !slices.Equal(f32, single) {
			t.Errorf("%s: Fit refused the views, but had changed them", name)
		}
	}
}
