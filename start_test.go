package largemvc

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testutil"
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
	acc, err := Accuracy(classes, labels)
	if err != nil {
		t.Fatal(err)
	}
	return acc
}

func TestStartMethods(t *testing.T) {
	const n, c = 240, 4
	dims := []int{
		12, 3, 9,
	} // one view of fewer features than anchors; all sums of full rank, for the polar factor to be unique
	plain, classes := blobViews(n, c, 0.3, 51, dims...)
	masked, err := Mask(plain, absent(n, len(dims), 0.3, 52))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []StartMethod{StartJoint, StartSpectral, StartPerView} {
		for name, views := range map[string][]View{"complete": plain, "masked": masked} {
			begin, x := firstAnchors(
				t, views, Config{Clusters: c, Start: Start{Method: method}, Preprocess: PreprocessUnit, Float64: true, Seed: 3},
			)
			// Per view, the labels are those of the first view alone, and mean nothing where it is absent; the spectral
			// directions take absent rows for zero.
			if complete := name == "complete"; agree(t, begin.Labels, classes) < 0.98 && (complete || method == StartJoint) {
				t.Errorf("%v, %s: the labels agree with the classes in %.3f", method, name, agree(t, begin.Labels, classes))
			}
			for v := range views {
				p := mat.NewDense(c, dims[v], begin.Anchors[v])
				if !orthonormal(p, 1e-10) {
					t.Errorf("%v, %s: the anchors of view %d are not orthonormal", method, name, v)
				}
				if method == StartPerView && v > 0 {
					continue
				}
				if want := polarOf(t, fullRows(x[v]), views[v], begin.Labels, c); !mat.EqualApprox(p, want, 1e-9) {
					t.Errorf("%v, %s: the anchors of view %d are not the polar factor of ZᵀX", method, name, v)
				}
			}
			again, _ := firstAnchors(
				t, views, Config{Clusters: c, Start: Start{Method: method}, Preprocess: PreprocessUnit, Float64: true, Seed: 3},
			)
			if !slices.Equal(again.Labels, begin.Labels) ||
				!slices.EqualFunc(again.Anchors, begin.Anchors, slices.Equal[[]float64]) {
				t.Errorf("%v, %s: another start from the same seed", method, name)
			}
		}
	}
	// Clustered by itself, every view has its own numbers for the clusters.
	begin, x := firstAnchors(
		t, plain,
		Config{Clusters: c, Start: Start{Method: StartPerView}, Preprocess: PreprocessUnit, Float64: true, Seed: 3},
	)
	if p := polarOf(t, fullRows(x[2]), plain[2], begin.Labels, c); mat.EqualApprox(
		mat.NewDense(c, dims[2], begin.Anchors[2]), p, 1e-9,
	) {
		t.Error("the anchors of the last view come from the labels of the first")
	}
}

func TestGivenStarts(t *testing.T) {
	const n, c = 60, 3
	dims := []int{7, 5}
	views, classes := blobViews(n, c, 0.5, 53, dims...)
	begin, x := firstAnchors(t, views, Config{Clusters: c, Start: Start{Labels: classes}, Float64: true})
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
	begin, _ = firstAnchors(t, views, Config{Clusters: c, Start: Start{Anchors: given}, Float64: true})
	for v, d := range dims {
		if begin.Labels != nil || !mat.Equal(mat.NewDense(c, d, begin.Anchors[v]), given[v]) {
			t.Errorf("the anchors of view %d are not those that were given", v)
		}
	}
}

// The unit of ρ is the median distance of the present samples to the mean of their cluster, or to the anchors' span.
func TestRhoScales(t *testing.T) {
	const n, c = 61, 3
	dims := []int{8, 5}
	plain, classes := blobViews(n, c, 0.5, 54, dims...)
	views, err := Mask(plain, absent(n, len(dims), 0.25, 55))
	if err != nil {
		t.Fatal(err)
	}
	anchors := make([]mat.Matrix, len(dims))
	for v, d := range dims {
		q := mat.NewDense(c, d, nil)
		for k := range c {
			q.Set(k, k+1, 1)
		}
		anchors[v] = q
	}
	for _, test := range []struct {
		name   string
		config Config
	}{
		{"labels", Config{Start: Start{Labels: classes}, Noise: &RowShrink{DataScale: true}}}, {
			"anchors", Config{Start: Start{Anchors: anchors}, Noise: &RowShrink{DataScale: true}},
		},
		{"unit", Config{Start: Start{Labels: classes}}}, {"default", Config{Start: Start{Labels: classes}}},
		{"paper", Config{Start: Start{Labels: classes}, Preset: PresetPaper}}, {
			"no noise", Config{Start: Start{Labels: classes}, Noise: &NoNoise{}},
		},
	} {
		test.config.Clusters, test.config.Float64 = c, true
		begin, x := firstAnchors(t, views, test.config)
		for v, d := range dims {
			want := 1.0
			if test.name == "labels" || test.name == "anchors" {
				want = medianResidual(fullRows(x[v]), views[v], classes, c, d, test.name == "anchors")
			}
			if math.Abs(begin.Scale[v]-want) > 1e-12*want {
				t.Errorf("%s: the unit of view %d is %v, want %v", test.name, v, begin.Scale[v], want)
			}
		}
	}
	// What fits exactly has no residual to measure with.
	exact, labels := blobViews(30, 3, 0, 56, 6)
	if begin, _ := firstAnchors(
		t, exact, Config{Clusters: 3, Start: Start{Labels: labels}, Float64: true, Noise: &RowShrink{DataScale: true}},
	); begin.Scale[0] <= 0 {
		t.Errorf("samples that are equal to their means give the unit %v", begin.Scale[0])
	}
}

func medianResidual(x *mat.Dense, view View, labels []int, c, d int, span bool) float64 {
	mean, count := mat.NewDense(c, d, nil), make([]float64, c)
	n, _ := x.Dims()
	for i := range n {
		for j := 0; j < d && view.Has(i); j++ {
			mean.Set(labels[i], j, mean.At(labels[i], j)+x.At(i, j))
		}
		if view.Has(i) {
			count[labels[i]]++
		}
	}
	var all []float64
	for i := range n {
		if !view.Has(i) {
			continue
		}
		sum := 0.0
		for j := range d {
			r := x.At(i, j) - mean.At(labels[i], j)/count[labels[i]]
			if span { // of the unit vectors 1 to c
				if r = x.At(i, j); j >= 1 && j <= c {
					r = 0
				}
			}
			sum += r * r
		}
		all = append(all, math.Sqrt(sum))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
