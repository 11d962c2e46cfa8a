package largemvc

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// firstAnchors prepares views and returns their start with the configuration.
func firstAnchors(t testing.TB, views []View, c Config) (*cluster.Point, []rows.Matrix[float64]) {
	t.Helper()
	ctx := context.Background()
	x := standardised[float64](t, views, &c)
	begin, err := cluster.FirstAnchors(ctx, x, nil, inner(views), startOf[float64](&c, nil, nil, c.Seed))
	if err != nil {
		t.Fatal(err)
	}
	return begin, x
}

// standardised returns the views as Fit takes them without neighbours, and fills the defaults of the configuration.
func standardised[T kernel.Float](t testing.TB, views []View, c *Config) []rows.Matrix[T] {
	t.Helper()
	c.Neighborhood.Neighbors = None
	*c = c.WithDefaults()
	s, err := prepare.Measure(context.Background(), nil, prepare.Kind(c.Preprocess), inner(views), 2)
	if err != nil {
		t.Fatal(err)
	}
	x, err := prepare.Standardise[T](context.Background(), nil, inner(views), s, 2, false)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// fullRows writes out all rows.
func fullRows(x rows.Matrix[float64]) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	for i := range n {
		x.Row(i, out.RawRowView(i))
	}
	return out
}

// polarOf is the polar factor of ZᵀX by the full decomposition, for one-hot labels of the present samples.
func polarOf(t testing.TB, x *mat.Dense, view View, labels []int, m int) *mat.Dense {
	t.Helper()
	_, d := x.Dims()
	sums := mat.NewDense(m, d, nil)
	for i, k := range labels {
		for j := 0; j < d && view.Has(i); j++ {
			sums.Set(k, j, sums.At(k, j)+x.At(i, j))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(sums, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var u, w, p mat.Dense
	svd.UTo(&u)
	svd.VTo(&w)
	p.Mul(&u, w.T())
	return &p
}

func agree(t testing.TB, labels, classes []int) float64 {
	t.Helper()
	acc, err := accuracyOf(classes, labels)
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

// The start finds the classes of samples with all views and with some, and its anchors are polar(ZᵀX).
func TestStart(t *testing.T) {
	const n, c = 240, 4
	dims := []int{12, 3, 9} // One view has fewer features than anchors. All sums are of full rank: the polar factor is unique.
	plain, classes := blobViews(n, c, 0.3, 51, dims...)
	masked, err := testutil.Masked(plain, absent(n, len(dims), 0.3, 52))
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Clusters: c, Preprocess: PreprocessUnit, Float64: true, Seed: 3}
	for name, views := range map[string][]View{"complete": plain, "masked": masked} {
		begin, x := firstAnchors(t, views, config)
		if acc := agree(t, begin.Labels, classes); acc < 0.98 {
			t.Errorf("%s: the labels agree with the classes in %.3f", name, acc)
		}
		for v := range views {
			p := mat.NewDense(c, dims[v], begin.Anchors[v])
			if !orthonormal(p, 1e-10) {
				t.Errorf("%s: the anchors of view %d are not orthonormal", name, v)
			}
			if want := polarOf(t, fullRows(x[v]), views[v], begin.Labels, c); !mat.EqualApprox(p, want, 1e-9) {
				t.Errorf("%s: the anchors of view %d are not the polar factor of ZᵀX", name, v)
			}
		}
		again, _ := firstAnchors(t, views, config)
		if !slices.Equal(again.Labels, begin.Labels) || !slices.EqualFunc(again.Anchors, begin.Anchors, slices.Equal[[]float64]) {
			t.Errorf("%s: another start from the same seed", name)
		}
	}
}

func TestGivenStarts(t *testing.T) {
	const n, c = 60, 3
	dims := []int{7, 5}
	views, classes := blobViews(n, c, 0.5, 53, dims...)
	begin, x := firstAnchors(t, views, Config{Clusters: c, StartLabels: classes, Float64: true})
	if !slices.Equal(begin.Labels, classes) {
		t.Error("the labels are not those that were given")
	}
	for v := range views {
		if !mat.EqualApprox(
			mat.NewDense(c, dims[v], begin.Anchors[v]), polarOf(t, fullRows(x[v]), views[v], classes, c),
			1e-9,
		) {
			t.Errorf("the anchors of view %d are not the polar factor of ZᵀX", v)
		}
	}
	given := make([]mat.Matrix, len(dims))
	for v, d := range dims {
		given[v] = mat.NewDense(d, c, testutil.Counts(d, c, 7)).T() // neither orthonormal nor laid out in rows
	}
	begin, _ = firstAnchors(t, views, Config{Clusters: c, StartAnchors: given, Float64: true})
	for v, d := range dims {
		if begin.Labels != nil || !mat.Equal(mat.NewDense(c, d, begin.Anchors[v]), given[v]) {
			t.Errorf("the anchors of view %d are not those that were given", v)
		}
	}
}
