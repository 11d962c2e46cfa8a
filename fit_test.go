package largemvc

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
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

// shapesAndColors are 2n samples in two views with names, which fall into two groups.
func shapesAndColors(n int) []View {
	views, _ := blobViews(2*n, 2, 0.1, 8, 3, 4)
	return []View{views[0].Named("shape"), views[1].Named("colour")}
}

// withAndWithout runs a test with the neighbours of the default preset and without.
func withAndWithout(t *testing.T, f func(t *testing.T, neighbors int)) {
	t.Helper()
	t.Run("neighbours", func(t *testing.T) { f(t, 0) })
	t.Run("no neighbours", func(t *testing.T) { f(t, None) })
}

// fitAlone is Fit without the judgement of the structure, which takes longer than a fit of few samples.
func fitAlone(ctx context.Context, views []View, c Config) (*Clustering, error) {
	c.NoStructure = true
	return Fit(ctx, views, c)
}

// FitAlone is fitAlone, for the tests from outside.
func FitAlone(ctx context.Context, views []View, c Config) (*Clustering, error) {
	return fitAlone(ctx, views, c)
}

func mustFit(t testing.TB, views []View, c Config) *Clustering {
	t.Helper()
	out, err := fitAlone(context.Background(), views, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Random networks and classes are tried in numbers that the build tag slow or -rapid.checks raises.
func init() { _ = flag.Set("rapid.checks", strconv.Itoa(testutil.Few(30, 100))) }

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
		{"loss of H = 0", []float64{a.NullLoss}, []float64{b.NullLoss}},
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

// checkPredict checks that Assign and Transform give the fit's labels and H to the bit, all samples at once and, for
// some, one by one.
func checkPredict(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	ctx := context.Background()
	a, err := c.Assign(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Labels, c.Labels) {
		t.Error("Assign on the training samples does not give their labels")
	}
	h, err := c.Transform(ctx, views)
	if err != nil {
		t.Fatal(err)
	}
	sameMatrix(t, "H", h, c.H)
	n := views[0].in.Rows
	for i := 0; i < n; i += 1 + n/7 {
		one := sampleViews(views, i)
		b, err := c.Assign(ctx, one)
		if err != nil {
			t.Fatal(err)
		}
		if b.Labels[0] != a.Labels[i] || b.Near[0] != a.Near[i] || b.Next[0] != a.Next[i] {
			t.Errorf("sample %d alone has label %d at %v and %v, among all %d at %v and %v",
				i, b.Labels[0], b.Near[0], b.Next[0], a.Labels[i], a.Near[i], a.Next[i])
		}
	}
}

// sampleViews are the views of sample i alone.
func sampleViews(views []View, i int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		if s := x.in.Sparse; s != nil {
			lo, hi := s.Ptr[i], s.Ptr[i+1]
			if s.F32 != nil {
				out[v] = SparseView(1, x.in.Cols, []int{0, hi - lo}, s.Cols[lo:hi], s.F32[lo:hi])
			} else {
				out[v] = SparseView(1, x.in.Cols, []int{0, hi - lo}, s.Cols[lo:hi], s.F64[lo:hi])
			}
			out[v] = out[v].WithPresent([]bool{x.Has(i)})
			continue
		}
		row := make([]float64, x.in.Cols)
		if x.Has(i) {
			x.in.Row(i, row)
		}
		out[v] = DenseView(1, x.in.Cols, row).WithPresent([]bool{x.Has(i)})
	}
	return out
}

// inCallersOrder is an ExtraLoss that adds nothing, with which the network has the samples in the caller's order.
func inCallersOrder(Network) (*Node, error) { return nil, nil }

// checkResult checks what must hold of every clustering without an error.
func checkResult(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	n, config := views[0].in.Rows, c.Config()
	sizes := make([]int, c.Clusters)
	first := make([]int, c.Clusters)
	for i := len(c.Labels) - 1; i >= 0; i-- {
		sizes[c.Labels[i]]++
		first[c.Labels[i]] = i
	}
	if len(c.Labels) != n || !slices.Equal(sizes, c.Sizes) {
		t.Errorf("%d labels with the sizes %v, Sizes %v", len(c.Labels), sizes, c.Sizes)
	}
	byContent := takenByContent(&config, n) // and so is the order of clusters of equal sizes
	for k := 1; k < c.Clusters; k++ {
		if sizes[k] > sizes[k-1] || (sizes[k] == sizes[k-1] && first[k] < first[k-1] && !byContent) {
			t.Errorf(
				"cluster %d has %d samples from %d on, cluster %d has %d from %d on",
				k-1, sizes[k-1], first[k-1], k, sizes[k], first[k],
			)
		}
	}
	if len(c.Loss) != c.Epochs+1 || len(c.ViewLoss) != len(c.Loss) {
		t.Errorf("%d and %d losses after %d epochs", len(c.Loss), len(c.ViewLoss), c.Epochs)
	}
	if relative := config.Reduction == ReductionRelative; relative && math.Abs(c.NullLoss-1) > 1e-6 || !(c.NullLoss > 0) {
		t.Errorf("the loss of H = 0 is %v", c.NullLoss) // of relative errors it is 1
	}
	rows, m := c.H.Dims()
	if rows != n || m != config.Anchors {
		t.Errorf("H is %d×%d", rows, m)
	}
	checkInputs(t, views, c)
	for l := 0; l <= config.Layers; l++ {
		for k, in := range c.Inputs() {
			p := c.Anchors(l, k)
			if a, b := p.Dims(); a != m || b != in.Columns {
				t.Errorf("P of layer %d, input %d is %d×%d, want %d columns", l, k, a, b, in.Columns)
			}
			if l > 0 && !config.fixedAnchors() && (!orthonormal(c.anchors[l][k], 1e-9) || !orthonormal(p, 1e-5)) {
				t.Errorf("P of layer %d, input %d is not orthonormal", l, k)
			}
		}
	}
	if (c.Trust != nil) != (!config.noiseless()) || (c.Rho != nil) != (!config.noiseless()) {
		t.Error("trust or ρ without noise module, or none with it")
	}
	checkPredict(t, views, c)
}

// checkInputs checks that every view is an input, once in each of its preprocessings, and that there is as much of
// everything that goes by inputs.
func checkInputs(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	config, inputs := c.Config(), c.Inputs()
	perView := make([]int, len(views))
	for k, in := range inputs {
		perView[in.View]++
		if slices.Contains(inputs[:k], in) || in.Preprocess == PreprocessBoth || in.Columns < 1 ||
			in.Columns > prepare.Width(views[in.View].in.Cols, in.Length) {
			t.Errorf("input %d is %+v", k, in)
		}
		if config.Neighborhood.Neighbors == None && in.Columns != views[in.View].in.Cols {
			t.Errorf("without neighbours, input %d is %+v", k, in)
		}
	}
	for v, count := range perView {
		if count < 1 || count > len(prepare.Kind(config.Preprocess).Parts()) ||
			config.Neighborhood.Neighbors == None && (count != 1 || inputs[v].View != v) {
			t.Errorf("view %d is %d inputs of %+v", v, count, inputs)
		}
	}
	want := len(inputs)
	ok := len(c.P) == want && len(c.ViewLoss[0]) == want
	if !config.noiseless() {
		ok = ok && len(c.Rho[0]) == want && len(c.Trust) == want && len(c.Trust[0]) == views[0].in.Rows
	}
	if !ok {
		t.Errorf("P, Rho, Trust or ViewLoss are not those of %d inputs", want)
	}
}

// orthonormal says whether the rows of p, or its columns if those are fewer, are orthonormal.
func orthonormal(p *mat.Dense, tolerance float64) bool {
	var k mat.Dense
	if m, d := p.Dims(); m <= d {
		k.Mul(p, p.T())
	} else {
		k.Mul(p.T(), p)
	}
	n, _ := k.Dims()
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(k.At(i, j)-want) > tolerance {
				return false
			}
		}
	}
	return true
}

// repeatedRows are n rows of d features, row i being row i%k of k random ones.
func repeatedRows(n, k, d int, seed uint64) []float64 {
	x, _ := blobs(k, k, 0, seed, d)
	out := make([]float64, 0, n*d)
	for i := range n {
		out = append(out, x[0][i%k*d:(i%k+1)*d]...)
	}
	return out
}

func TestFitDegenerate(t *testing.T) {
	zero := make([]float64, 30*4) // three distinct rows, one of them zero, one twice another
	for i := range zero {
		zero[i] = float64((i / 4 % 3) * (i%4 + 1) * (i % 4))
	}
	few := repeatedRows(30, 3, 4, 17)
	many := repeatedRows(90, 3, 4, 17) // more equal rows than neighbours
	blob := func(n, c int, noise float64, dims ...int) []View {
		views, _ := blobViews(n, c, noise, 1, dims...)
		return views
	}
	for _, x := range []struct {
		name  string
		views []View
		c     Config
		sizes []int // of the clusters found
	}{
		{
			"fewer distinct rows than clusters, raw", []View{DenseView(30, 4, zero)},
			Config{Clusters: 5, Preprocess: None, Neighborhood: Neighborhood{Neighbors: None}}, []int{10, 10, 10},
		},
		{"fewer distinct rows than clusters", []View{DenseView(30, 4, few)}, Config{Clusters: 5}, []int{10, 10, 10}},
		{"more equal rows than neighbours", []View{DenseView(90, 4, many)}, Config{Clusters: 5}, []int{30, 30, 30}},
		{
			"equal rows and landmarks", []View{DenseView(90, 4, many)},
			Config{Clusters: 5, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{30, 30, 30},
		},
		{"all rows equal", []View{DenseView(20, 4, repeatedRows(20, 1, 4, 18))}, Config{Clusters: 4}, []int{20}},
		{
			"all rows equal, landmarks", []View{DenseView(20, 4, repeatedRows(20, 1, 4, 18))},
			Config{Clusters: 4, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{20},
		},
		{"one sample", blob(1, 1, 1, 5, 3), Config{Clusters: 1}, []int{1}},
		{
			"one sample, landmarks", blob(1, 1, 1, 5, 3),
			Config{Clusters: 1, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{1},
		},
		{"two samples", blob(2, 2, 1, 8, 2), Config{Clusters: 2}, []int{1, 1}},
		{
			"two samples, landmarks", blob(2, 2, 1, 8, 2),
			Config{Clusters: 2, Neighborhood: Neighborhood{Neighbors: 10, Exact: None}}, []int{1, 1},
		},
		{"three samples", blob(3, 3, 1, 8, 4), Config{Clusters: 3}, []int{1, 1, 1}},
		{
			"three samples, landmarks", blob(3, 3, 1, 8, 4),
			Config{Clusters: 3, Neighborhood: Neighborhood{Neighbors: 10, Exact: None, Landmarks: 3}}, []int{1, 1, 1},
		},
		{"as many clusters as samples", blob(6, 6, 1, 8, 9), Config{Clusters: 6}, []int{1, 1, 1, 1, 1, 1}},
		{"fewer samples than directions", blob(12, 2, 0.1, 300), Config{Clusters: 2}, []int{6, 6}},
		{"one feature", blob(10, 2, 0.01, 1), Config{Clusters: 2, Preprocess: PreprocessBalanced}, []int{5, 5}},
		{"two features", blob(10, 2, 0.01, 2), Config{Clusters: 2, Preprocess: PreprocessBalanced}, []int{5, 5}},
		{"one cluster", blob(10, 2, 0.01, 2, 3), Config{Clusters: 1}, []int{10}},
	} {
		for _, variant := range []variant{large, amvc, rmvc} {
			for _, neighbors := range []int{0, None} {
				if x.c.Neighborhood.Neighbors != 0 && (x.c.Neighborhood.Neighbors == None) != (neighbors == None) {
					continue
				}
				t.Run(fmt.Sprintf("%s, %v, neighbours %d", x.name, variant, neighbors), func(t *testing.T) {
					c := x.c
					c.Epochs, c.Neighborhood.Neighbors = 10, neighbors
					c = variant.of(c)
					got := mustFit(t, x.views, c)
					if got.Clusters != len(x.sizes) || !slices.Equal(got.Sizes, x.sizes) {
						t.Errorf("%d clusters of sizes %v, want %v", got.Clusters, got.Sizes, x.sizes)
					}
					checkResult(t, x.views, got)
				})
			}
		}
	}
}

// Clusters of views of one to four features: their rows at norm 1 alone would not tell them apart.
func TestFewFeatures(t *testing.T) {
	const n, c = 240, 4
	for d := 1; d < prepare.FewFeatures; d++ {
		rng := rand.New(rand.NewPCG(uint64(d), 7))
		classes := make([]int, n)
		x := [2][]float64{}
		for i := range n {
			classes[i] = i % c
			for v := range x {
				for j := range d {
					// Centres in one line with the origin, at different lengths.
					centre := float64(6*(classes[i]-1) + v + j)
					x[v] = append(x[v], centre+rng.NormFloat64()/2)
				}
			}
		}
		views := []View{DenseView(n, d, x[0]), DenseView(n, d, x[1])}
		r, err := fitAlone(context.Background(), views, Config{Clusters: c})
		if err != nil {
			t.Fatal(err)
		}
		if acc := agree(t, r.Labels, classes); acc < 0.98 {
			t.Errorf("%d features: ACC %v", d, acc)
		}
		for _, in := range r.Inputs() {
			if in.Preprocess != PreprocessZScore || in.Columns != d+1 {
				t.Errorf("%d features: input %+v", d, in)
			}
		}
		got, err := r.Predict(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != r.Labels[i] {
				t.Fatalf("%d features: sample %d is predicted %d, its label is %d", d, i, got[i], r.Labels[i])
			}
		}
	}
}

// noiseViews are independent normal columns.
func noiseViews(n int, seed uint64, dims ...int) []View {
	rng := rand.New(rand.NewPCG(seed, 17))
	var out []View
	for _, d := range dims {
		x := make([]float64, n*d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		out = append(out, DenseView(n, d, x))
	}
	return out
}

// Every fit says whether there are clusters: noise has none, and a note says so; with or without neighbours, for samples that
// are drawn, in views that are overwritten, and for any number of goroutines alike.
func TestStructure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	planted := func() []View { views, _ := blobViews(300, 3, 0.1, 5, 8, 6); return views }
	for name, c := range map[string]Config{
		"default": {}, "paper": PaperConfig(3), "drawn": {FitSamples: 100}, "float64": {Float64: true},
		"overwritten": {Machine: machine.Options{Overwrite: true}, Float64: true},
	} {
		if name == "float64" && !testutil.Slow {
			continue
		}
		c.Clusters, c.Epochs = 3, 2
		for _, want := range []score.Judgement{score.StructureNone, score.StructureClear} {
			views := planted
			if want == score.StructureNone {
				views = func() []View { return noiseViews(300, 1, 8, 6) }
			}
			var first *Clustering
			for workers := range 3 {
				if !testutil.Slow && (workers == 0 || workers == 2 && c.Float64) {
					continue
				}
				c.Machine.Workers = workers
				got, err := Fit(ctx, views(), c)
				if err != nil {
					t.Fatal(err)
				}
				s := got.Structure
				noted := len(got.Notes) > 0 && strings.HasPrefix(got.Notes[0], "structure none: clusters as good come out of")
				if s.Judgement != want || noted != (want == score.StructureNone) || s.Samples != 300 ||
					got.Timings.Structure <= 0 {
					t.Errorf("%s: %v, want %v; notes %q, %v", name, s, want, got.Notes, got.Timings)
				}
				if first == nil {
					first = got
				} else if s != first.Structure {
					t.Errorf("%s, %d goroutines: %+v, want %+v", name, workers, s, first.Structure)
				}
			}
		}
	}
	for name, c := range map[string]Config{
		"one cluster": {Clusters: 1}, "not asked for": {Clusters: 3, NoStructure: true}, "few samples": {Clusters: 3},
	} {
		c.Epochs = 1
		views := noiseViews(40, 2, 5, 3)
		if name == "few samples" {
			views = noiseViews(20, 2, 5, 3)
		}
		got, err := Fit(ctx, views, c)
		if err != nil || got.Structure.Judgement != score.StructureUnknown ||
			strings.Contains(fmt.Sprint(got.Notes), "structure") {
			t.Errorf("%s: %v, %v, %q", name, err, got.Structure, got.Notes)
		}
	}
	// Who ends the judgement has the result of the training.
	own := errors.New("enough")
	for _, end := range []error{own, ErrStop, context.Canceled} {
		ctx, cancel := context.WithCancel(ctx)
		got, err := Fit(ctx, planted(), Config{Clusters: 3, Epochs: 2, Progress: func(e Progress) error {
			switch {
			case e.Phase != "structure":
				return nil
			case end == context.Canceled:
				cancel()
				return nil
			}
			return end
		}})
		cancel()
		if errors.Is(err, end) != (end != ErrStop) || got == nil || len(got.Labels) != 300 ||
			got.Structure != (score.Structure{}) {
			t.Errorf("%v: %v, %v", end, got, err)
		}
	}
}
