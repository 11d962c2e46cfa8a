package terms

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	. "github.com/largemvc/largemvc"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
)

// must is for graphs in tests, where a failing op is a failing test.
func must(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		panic(err)
	}
	return n
}

// blobViews are the views of testutil.Blobs.
func blobViews(n, c int, noise float64, seed uint64, dims ...int) ([]View, []int) {
	x, classes := testutil.Blobs(n, c, noise, seed, dims...)
	views := make([]View, len(x))
	for v, d := range dims {
		views[v] = DenseView(n, d, x[v])
	}
	return views, classes
}

func mustFit(t testing.TB, views []View, c Config) *Clustering {
	t.Helper()
	c.NoStructure = true
	out, err := Fit(context.Background(), views, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func last(x []float64) float64 { return x[len(x)-1] }

// closeFits compares the labels and the losses of two fits.
func closeFits(t testing.TB, a, b *Clustering, tolerance float64) {
	t.Helper()
	if !slices.Equal(a.Labels, b.Labels) {
		t.Error("labels differ")
	}
	for i, x := range a.Loss {
		if d := x - b.Loss[i]; d > tolerance || d < -tolerance {
			t.Errorf("loss %d is %v and %v", i, x, b.Loss[i])
		}
	}
}

// unitFeatures are the inputs of the default preset before they are smoothed: views standardised in both ways, of few features in
// z-scores alone, rows at norm 1, side by side. Absent views are zeros.
func unitFeatures(t testing.TB, views []View) *mat.Dense {
	t.Helper()
	n, _ := views[0].Dims()
	in := make([]view.View, len(views))
	for v, x := range views {
		var err error
		if in[v], err = x.Content(); err != nil {
			t.Fatal(err)
		}
	}
	var out *mat.Dense
	for _, kind := range []prepare.Kind{prepare.PerSample, prepare.ZScore} {
		st, err := prepare.Measure(context.Background(), nil, kind, in, 1)
		if err != nil {
			t.Fatal(err)
		}
		for v, x := range in {
			if kind == prepare.PerSample && x.Cols < prepare.FewFeatures {
				continue
			}
			unit, err := prepare.UnitRows[float64](context.Background(), st, x, v, prepare.Length(kind, x.Cols), 1)
			if err != nil {
				t.Fatal(err)
			}
			_, d := unit.Dims()
			part := mat.NewDense(n, d, nil)
			for i := range n {
				unit.Row(i, part.RawRowView(i))
			}
			if out == nil {
				out = part
				continue
			}
			both := new(mat.Dense)
			both.Augment(out, part)
			out = both
		}
	}
	return out
}
