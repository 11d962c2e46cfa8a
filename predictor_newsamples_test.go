package largemvc

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// samplesOf returns the given samples of dense views.
func samplesOf(views []View, samples []int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		all := make([]float64, 0, len(samples)*x.in.Cols)
		row := make([]float64, x.in.Cols)
		for _, i := range samples {
			x.in.Row(i, row)
			all = append(all, row...)
		}
		out[v] = DenseView(len(samples), x.in.Cols, all)
	}
	return out
}

// agreements returns the mean agreement (ARI) on a twentieth of the samples of a fit of the others, which predicts them, with
// a fit of all, that of two fits of all from different seeds, and that of the samples of the first fit with a fit of all:
// without the held samples the fit itself may be another one, of which its own samples tell as much as new ones.
func agreements(t *testing.T, views []View, config Config, rounds int) (predicted, refitted, own float64) {
	t.Helper()
	for r := range rounds {
		var known, held []int
		for i := range views[0].in.Rows {
			if (i*7+r)%20 == 0 {
				held = append(held, i)
			} else {
				known = append(known, i)
			}
		}
		fresh := samplesOf(views, held)
		of := func(labels, samples []int) []int {
			out := make([]int, len(samples))
			for k, i := range samples {
				out[k] = labels[i]
			}
			return out
		}
		refit := func(seed uint64) []int {
			c := config
			c.Seed = seed
			return mustFit(t, views, c).Labels
		}
		c := config
		c.Seed = uint64(100 + r)
		fitted := mustFit(t, samplesOf(views, known), c)
		labels, err := fitted.Predict(context.Background(), fresh)
		if err != nil {
			t.Fatal(err)
		}
		agreement := func(a, b []int) float64 {
			ari, err := ariOf(a, b)
			if err != nil {
				t.Fatal(err)
			}
			return ari / float64(rounds)
		}
		a, b := refit(uint64(200+r)), refit(uint64(300+r))
		for _, all := range [][]int{a, b} {
			predicted += agreement(of(all, held), labels) / 2
			own += agreement(of(all, known), fitted.Labels) / 2
		}
		refitted += agreement(of(a, held), of(b, held))
	}
	return predicted, refitted, own
}

// New samples are put where a refit that includes them puts them, no worse than two refits agree with each other, or than the
// samples of the fit are put there, less three points.
func TestNewSamples(t *testing.T) {
	t.Parallel()
	testutil.Long(t, "it trains two dozen networks")
	views, _ := blobViews(400, 6, 1.4, 121, 20, 12)
	for name, config := range map[string]Config{"exact": {}, "landmarks": {Neighborhood: Neighborhood{Exact: None}}} {
		config.Clusters, config.Epochs = 6, 40
		checkAgreements(t, name, views, config, 4)
	}
}

func checkAgreements(t *testing.T, name string, views []View, config Config, rounds int) {
	t.Helper()
	predicted, refitted, own := agreements(t, views, config, rounds)
	found := fmt.Sprintf("%s: new samples agree with a refit in %.3f, those of the fit in %.3f, two refits in %.3f",
		name, predicted, own, refitted)
	t.Log(found)
	if !(predicted >= min(refitted, own)-0.03) {
		t.Error(found)
	}
}

func TestNewSamplesOfRealSets(t *testing.T) {
	for _, name := range []string{"skdigits3v", "ucidigit"} {
		views, _ := realSet(t, name)
		for kind, exact := range map[string]int{"exact": 0, "landmarks": None} {
			checkAgreements(t, name+", "+kind, views, Config{Clusters: 10, Neighborhood: Neighborhood{Exact: exact}}, 2)
		}
	}
}

// A third of the views missing, and what is predicted of samples with other views missing.
func TestMissingViewsOfRealSets(t *testing.T) {
	views, classes := realSet(t, "ucidigit")
	n := len(classes)
	masked, err := testutil.Masked(views, absent(n, len(views), 0.3, 122))
	if err != nil {
		t.Fatal(err)
	}
	others, err := testutil.Masked(views, absent(n, len(views), 0.3, 123))
	if err != nil {
		t.Fatal(err)
	}
	for kind, exact := range map[string]int{"exact": 0, "landmarks": None} {
		c := mustFit(t, masked, Config{Clusters: 10, Neighborhood: Neighborhood{Exact: exact}})
		checkResult(t, masked, c)
		fitted := agree(t, c.Labels, classes)
		labels, err := c.Predict(context.Background(), others)
		if err != nil {
			t.Fatal(err)
		}
		predicted := agree(t, labels, classes)
		t.Logf("%s: ACC %.3f, of the samples with other views missing %.3f", kind, fitted, predicted)
		if fitted < 0.85 || predicted < fitted-0.03 {
			t.Errorf("%s: ACC %.3f, of the samples with other views missing %.3f", kind, fitted, predicted)
		}
	}
}

// Citeseer, sparse: 3,312 samples of 3,312 and 3,703 features, of which some have no words at all in common with others.
func TestSparseRealSet(t *testing.T) {
	folder := testutil.RealSets(t)
	set, err := dataset.Open(context.Background(), []string{filepath.Join(folder, "citeseer.npz")},
		dataset.Options{Storage: dataset.AllSparse})
	if err != nil {
		t.Fatal(err)
	}
	var views []View
	for _, x := range set.Views {
		views = append(views, SparseView(x.Rows, x.Cols, x.Sparse.RowPtr, x.Sparse.Col, x.Sparse.Float32))
	}
	for kind, exact := range map[string]int{"exact": 0, "landmarks": None} {
		c := mustFit(t, views, Config{Clusters: 6, Epochs: 20, Neighborhood: Neighborhood{Exact: exact}})
		t.Logf("%s: ACC %.3f, %v", kind, agree(t, c.Labels, set.Labels), c.Timings)
		checkSparsePredict(t, views, c)
		if slices.Min(c.Sizes) < 1 || c.Clusters != 6 {
			t.Errorf("%s: sizes %v", kind, c.Sizes)
		}
	}
}
