package largemvc

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/machine"
)

// fewSamples are views of n < d_v samples, one of d_v < m < n features, and one of low rank for its size.
func fewSamples(n, c int, seed uint64) (views []View, classes []int) {
	dims := []int{3 * n, 4, n / 2}
	x, classes := blobs(n, c, 0.4, seed, dims...)
	for i := range n { // rank 9
		row := x[2][i*dims[2] : (i+1)*dims[2]]
		for j := 9; j < len(row); j++ {
			row[j] = row[j%9] - 0.5*row[(j+3)%9]
		}
	}
	return float64Views(x, dims...), classes
}

// rotationsOf prepares views and returns the ranks to which they are rotated, 0 for those that are not.
func rotationsOf(t testing.TB, views []View, c Config) []int {
	t.Helper()
	ctx := context.Background()
	x, out := standardised[float32](t, views, &c), make([]int, len(views))
	if !mayRotate(&c) {
		return out
	}
	found, _, err := prepare.RotateViews(ctx, x, rotateOptions(&c))
	if err != nil {
		t.Fatal(err)
	}
	for v := range found {
		if found[v] != nil {
			out[v] = found[v].K
		}
	}
	return out
}

// nothing is an ExtraLoss that adds nothing, with which no view is rotated.
func nothing(Network) (*gorgonia.Node, error) { return nil, nil }

func TestRotationChoice(t *testing.T) {
	few, classes := fewSamples(40, 5, 71)
	given := make([]mat.Matrix, len(few))
	for v, x := range few {
		given[v] = mat.NewDense(5, x.in.Cols, nil)
	}
	// Standardised samples sum to zero: one direction fewer.
	for name, test := range map[string]struct {
		config Config
		want   []int
	}{
		"rows":          {Config{}, []int{40, 0, 9}},
		"columns":       {Config{Preprocess: PreprocessZScore}, []int{39, 0, 9}},
		"more anchors":  {Config{Anchors: 12}, []int{40, 0, 0}},
		"few epochs":    {Config{Epochs: 1}, []int{40, 0, 9}},
		"untrained":     {Config{Epochs: None}, []int{0, 0, 0}},
		"extra loss":    {Config{ExtraLoss: nothing}, []int{0, 0, 0}},
		"given anchors": {Config{StartAnchors: given}, []int{0, 0, 0}},
		"given labels":  {Config{StartLabels: classes}, []int{40, 0, 9}},
		"overwritten":   {Config{Machine: machine.Options{Overwrite: true}}, []int{40, 0, 9}},
	} {
		test.config.Clusters = 5
		if test.config.Preprocess == 0 {
			test.config.Preprocess = None
		}
		if got := rotationsOf(t, few, test.config); !slices.Equal(got, test.want) {
			t.Errorf("%s: ranks %v, want %v", name, got, test.want)
		}
	}
	// Of full rank, and too dear to find out of what rank: many samples of few features, few samples of not many more.
	many, _ := blobViews(900, 3, 0.5, 72, 30, 60)
	nearly, _ := blobViews(150, 3, 0.5, 73, 160)
	for _, views := range [][]View{many, nearly} {
		if got := rotationsOf(t, views, Config{Clusters: 3}); slices.Max(got) != 0 {
			t.Errorf("a view of full rank is rotated: %v", got)
		}
	}
	sparse := make([]View, len(few))
	for v, x := range few {
		sparse[v] = sparseOf[float64](x.in.Rows, x.in.Cols, x.in.F64)
	}
	if got := rotationsOf(t, sparse, Config{Clusters: 5, Preprocess: None}); !slices.Equal(got, []int{40, 0, 9}) {
		t.Errorf("sparse views: %v", got)
	}
	x, _ := topics(200, 3, 0.01, 74, 400)
	if got := rotationsOf(t, []View{sparseOf[float64](200, 400, x[0])}, Config{Clusters: 3}); got[0] != 0 {
		t.Errorf("rows with four entries are rotated to %d", got[0])
	}
}

// X̃·Qᵀ is X, and ‖X̃‖ is ‖X‖, row by row.
func TestRotationIsExact(t *testing.T) {
	views, _ := fewSamples(50, 4, 75)
	s := &prepare.Standardiser{Kind: prepare.PerSample}
	ctx := context.Background()
	single, err := prepare.Standardise[float32](ctx, nil, inner(views), s, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	double, err := prepare.Standardise[float64](ctx, nil, inner(views), s, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Clusters: 4}.WithDefaults()
	checkRotation(t, single, &c, 1e-6)
	checkRotation(t, double, &c, 1e-12)
}

func checkRotation[T float32 | float64](t *testing.T, x []rows.Matrix[T], c *Config, tol float64) {
	t.Helper()
	before := slices.Clone(x)
	r, lossDims, err := prepare.RotateViews(context.Background(), x, rotateOptions(c))
	if err != nil {
		t.Fatal(err)
	}
	for v := range x {
		n, d := before[v].Dims()
		if lossDims[v] != d {
			t.Errorf("the loss of view %d counts %d columns, want %d", v, lossDims[v], d)
		}
		if r[v] == nil {
			if x[v] != before[v] {
				t.Errorf("view %d changed without a rotation", v)
			}
			continue
		}
		row, inner := make([]T, d), make([]T, r[v].K)
		for i := range n {
			before[v].Row(i, row)
			x[v].Row(i, inner)
			back := r[v].Original(1, widened(inner))
			norm, diff := 0.0, 0.0
			for j, a := range row {
				norm += float64(a) * float64(a)
				diff += (float64(a) - back[j]) * (float64(a) - back[j])
			}
			if !(math.Sqrt(diff) <= tol*math.Sqrt(norm)) {
				t.Fatalf("view %d, row %d of length %.3g is %.2g from what it was", v, i, math.Sqrt(norm), math.Sqrt(diff))
			}
		}
	}
}

func widened[T float32 | float64](x []T) []float64 {
	out := make([]float64, len(x))
	for i, a := range x {
		out[i] = float64(a)
	}
	return out
}

// A fit with rotated views finds what it finds without: losses, representation, anchors in the original columns, trust,
// labels; its predictor gives the training samples their labels and new samples the same as the other.
func TestRotatedFit(t *testing.T) {
	const n, c = 60, 4
	plain, classes := fewSamples(n, c, 76)
	masked, err := testutil.Masked(plain, absent(n, len(plain), 0.25, 77))
	if err != nil {
		t.Fatal(err)
	}
	strangers, _ := fewSamples(n, c, 78) // samples outside the span
	for name, views := range map[string][]View{"complete": plain, "masked": masked} {
		for _, variant := range []variant{large, amvc, rmvc} {
			for float, tol := range map[bool]float64{false: 2e-5, true: 1e-11} {
				t.Run(fmt.Sprintf("%s, %v, float%v", name, variant, float), func(t *testing.T) {
					config := Config{
						Clusters: c, Epochs: 12, Float64: float,
						StartLabels: classes, Preprocess: PreprocessUnit,
						Neighborhood: Neighborhood{Neighbors: None},
					}
					config = variant.of(config)
					got := mustFit(t, views, config)
					config.ExtraLoss = nothing
					want := mustFit(t, views, config)
					if slices.Equal(linalg.Values(got.H), linalg.Values(want.H)) {
						t.Error("there was no rotation: H has the same bits")
					}
					closeFits(t, got, want, tol)
					checkResult(t, views, got)
					a, err := got.Assign(context.Background(), strangers)
					if err != nil {
						t.Fatal(err)
					}
					b, err := want.Assign(context.Background(), strangers)
					if err != nil {
						t.Fatal(err)
					}
					closeTo(t, "distances of new samples", a.Near, b.Near, 1000*tol)
				})
			}
		}
	}
}

func TestRotatedFitDoesNotDependOnWorkersOrMemory(t *testing.T) {
	views, _ := fewSamples(70, 4, 79)
	config := Config{
		Clusters: 4, Epochs: 6, Float64: true, Machine: machine.Options{Workers: 1},
		Neighborhood: Neighborhood{Neighbors: None},
	}
	one := mustFit(t, views, config)
	config.Machine.Workers = 3
	three := mustFit(t, views, config)
	three.config.Machine.Workers = 1
	sameResult(t, one, three)
	// In place, the views hold standardised values when the trained network sees them again.
	own := make([]View, len(views))
	for v, x := range views {
		own[v] = DenseView(x.in.Rows, x.in.Cols, slices.Clone(x.in.F64))
	}
	config.Machine.Overwrite = true
	overwritten := mustFit(t, own, config)
	sameMatrix(t, "H", overwritten.H, one.H)
	if !slices.Equal(overwritten.Labels, one.Labels) {
		t.Error("other labels with Overwrite")
	}
	if labels, err := overwritten.Predict(context.Background(), views); err != nil || !slices.Equal(labels, one.Labels) {
		t.Errorf("the overwriting fit predicts other labels, %v", err)
	}
}

// A training that goes on has views as it had them: one that began without a step, and so without a rotation, stays without.
func TestResumedTrainingRotatesAsBefore(t *testing.T) {
	views := lowRankViews(60)
	config := Config{Clusters: 3, Epochs: None, Neighborhood: Neighborhood{Neighbors: None}}
	config.Checkpoint.Path = filepath.Join(t.TempDir(), "state")
	mustFit(t, views, config)
	got, err := Resume(context.Background(), views, config.Checkpoint.Path, func(c *Config) { c.Epochs = 6 })
	if err != nil {
		t.Fatal(err)
	}
	config.Checkpoint, config.Epochs, config.ExtraLoss = Checkpoint{}, 6, nothing
	sameMatrix(t, "H", got.H, mustFit(t, views, config).H)
}
