package choose

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// float64Views returns views over the rows in x.
func float64Views(x [][]float64, dims ...int) []largemvc.View {
	out := make([]largemvc.View, len(x))
	for v, d := range dims {
		out[v] = largemvc.DenseView(len(x[v])/d, d, x[v])
	}
	return out
}

// blobViews are the views of testutil.Blobs.
func blobViews(n, c int, noise float64, seed uint64, dims ...int) ([]largemvc.View, []int) {
	x, classes := testutil.Blobs(n, c, noise, seed, dims...)
	return float64Views(x, dims...), classes
}

// realSet returns the views and classes of a real set in the folder that LARGEMVC_DATA names, and skips the test without it.
func realSet(t testing.TB, name string) ([]largemvc.View, []int) {
	t.Helper()
	folder := testutil.RealSets(t)
	set, err := dataset.Open(context.Background(), []string{filepath.Join(folder, name+".npz")}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := views.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	return out, set.Labels
}

func fitted(t testing.TB, x []largemvc.View, c largemvc.Config) *largemvc.Clustering {
	t.Helper()
	out, err := largemvc.Fit(context.Background(), x, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
