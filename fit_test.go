package largemvc

import (
	"bytes"
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
)

// blobs and absent are those of internal/testrig/testutil.
var (
	blobs  = testutil.Blobs
	absent = testutil.Absent
)

// float64Views returns views over the rows in x.
func float64Views(x [][]float64, dims ...int) []View {
	views := make([]View, len(x))
	for v, d := range dims {
		views[v] = DenseView(len(x[v])/d, d, x[v])
	}
	return views
}

// blobViews are the views of blobs.
func blobViews(n, c int, noise float64, seed uint64, dims ...int) ([]View, []int) {
	x, classes := blobs(n, c, noise, seed, dims...)
	return float64Views(x, dims...), classes
}

// withAndWithout runs a test with the neighbours of the default preset and without.
func withAndWithout(t *testing.T, f func(t *testing.T, neighbors int)) {
	t.Helper()
	t.Run("neighbours", func(t *testing.T) { f(t, 0) })
	t.Run("no neighbours", func(t *testing.T) { f(t, None) })
}

func mustFit(t testing.TB, views []View, c Config) *Clustering {
	t.Helper()
	out, err := Fit(context.Background(), views, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// leftOut says whether case i is left out in short mode, which takes one of every few.
func leftOut(i, few int) bool { return !testutil.Slow && i%few != 0 }

// completed is a configuration with its defaults for n samples.
func completed(c Config, n int) *Config {
	c = c.WithDefaults()
	c.forSamples(n)
	return &c
}

// sameResult fails the test unless two clusterings have the same bits, Timings and Repaired aside.
func sameResult(t testing.TB, a, b *Clustering) {
	t.Helper()
	if !slices.Equal(a.Labels, b.Labels) {
		t.Error("labels differ")
	}
	samePredictor(t, a.Predictor, b.Predictor)
	sameMatrix(t, "H", a.H, b.H)
	if !slices.EqualFunc(a.Trust, b.Trust, slices.Equal[[]float64]) {
		t.Error("trusts differ")
	}
	if !slices.Equal(a.StartLabels, b.StartLabels) {
		t.Error("start labels differ")
	}
}

func samePredictor(t testing.TB, a, b *Predictor) {
	t.Helper()
	if a.Clusters != b.Clusters || a.Status != b.Status || a.Epochs != b.Epochs || a.Restart != b.Restart ||
		a.samples != b.samples {
		t.Errorf("%d clusters, %v after %d epochs in run %d of %d samples; the other: %d, %v, %d, %d, %d",
			a.Clusters, a.Status, a.Epochs, a.Restart, a.samples, b.Clusters, b.Status, b.Epochs, b.Restart, b.samples)
	}
	for _, x := range []struct {
		name string
		a, b []float64
	}{
		{"R", a.r, b.r}, {"U", a.u, b.u}, {"theta", a.Theta, b.Theta}, {"rho", slices.Concat(a.Rho...), slices.Concat(b.Rho...)},
		{"centroids", a.centroids, b.centroids}, {"loss", a.Loss, b.Loss},
		{"view loss", slices.Concat(a.ViewLoss...), slices.Concat(b.ViewLoss...)},
	} {
		if !slices.Equal(x.a, x.b) {
			t.Errorf("%s: %v, the other has %v", x.name, x.a, x.b)
		}
	}
	if a.Kept != b.Kept || !reflect.DeepEqual(a.start, b.start) {
		t.Errorf("start kept: %v, the other: %v", a.Kept, b.Kept)
	}
	if !slices.Equal(a.Sizes, b.Sizes) || !slices.Equal(a.dims, b.dims) || !slices.Equal(a.names, b.names) ||
		len(a.anchors) != len(b.anchors) ||
		!slices.Equal(a.inputs, b.inputs) {
		t.Fatal("sizes, dims, names, layers or inputs differ")
	}
	for l := range a.anchors {
		for k := range a.inputs {
			if !slices.Equal(a.Anchors(l, k).RawMatrix().Data, b.Anchors(l, k).RawMatrix().Data) {
				t.Errorf("anchors of layer %d, input %d differ", l, k)
			}
		}
	}
	x, y := intakeOf(a), intakeOf(b)
	if len(x.Tensors) != len(y.Tensors) {
		t.Fatalf("what samples go through first: %d arrays, the other has %d", len(x.Tensors), len(y.Tensors))
	}
	for i, want := range x.Tensors {
		if got := y.Tensors[i]; got.Name != want.Name || !slices.Equal(got.Shape, want.Shape) ||
			!bytes.Equal(got.Data, want.Data) {
			t.Errorf("what samples go through first: %s differs from %s", want.Name, got.Name)
		}
	}
}

// intakeOf is what is saved of what samples go through before the network.
func intakeOf(p *Predictor) *safetensors.File {
	f := &safetensors.File{}
	p.model.save(f, safetensors.Float64s)
	return f
}

func sameMatrix(t testing.TB, name string, a, b mat.Matrix) {
	t.Helper()
	n, m := a.Dims()
	if p, q := b.Dims(); p != n || q != m {
		t.Fatalf("%s is %d×%d, the other %d×%d", name, n, m, p, q)
	}
	for i := range n {
		for j := range m {
			if a.At(i, j) != b.At(i, j) {
				t.Fatalf("%s[%d,%d] is %v, the other %v", name, i, j, a.At(i, j), b.At(i, j))
			}
		}
	}
}

// realSet returns the views and classes of a real set in the folder that LARGEMVC_DATA names, and skips the test without
// it.
func realSet(t testing.TB, name string) ([]View, []int) {
	t.Helper()
	folder := testutil.RealSets(t)
	set, err := dataset.Open(context.Background(), []string{filepath.Join(folder, name+".npz")}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	views := make([]View, len(set.Views))
	for v, x := range set.Views {
		row := make([]float64, x.Cols)
		all := make([]float32, 0, x.Rows*x.Cols)
		for i := range x.Rows {
			x.Row(i, row)
			for _, value := range row {
				all = append(all, float32(value))
			}
		}
		views[v] = DenseView(x.Rows, x.Cols, all)
	}
	return views, set.Labels
}
