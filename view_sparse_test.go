package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// topics returns n samples of c classes as word counts: every class has words of its own, the share fill of the entries
// is not zero.
func topics(n, c int, fill float64, seed uint64, dims ...int) (x [][]float64, classes []int) {
	rng := rand.New(rand.NewPCG(seed, 4))
	classes = make([]int, n)
	for i := range classes {
		classes[i] = i % c
	}
	for _, d := range dims {
		view := make([]float64, n*d)
		for i, k := range classes {
			for range max(3, int(fill*float64(d))) {
				word := rng.IntN(d)
				if rng.IntN(10) < 7 { // most are among the words of the class
					word = (k*d/c + rng.IntN(max(1, d/c))) % d
				}
				view[i*d+word] += float64(1 + rng.IntN(3))
			}
		}
		x = append(x, view)
	}
	return x, classes
}

// bothKinds returns the same views as dense and as sparse ones.
func bothKinds[F float32 | float64](x [][]float64, dims ...int) (dense, sparse []View) {
	for v, d := range dims {
		n := len(x[v]) / d
		dense, sparse = append(dense, DenseView(n, d, x[v])), append(sparse, sparseOf[F](n, d, x[v]))
	}
	return dense, sparse
}

// closeTo fails the test unless the elements of a are within tol of those of b, relative to the largest.
func closeTo(t testing.TB, name string, a, b []float64, tol float64) {
	t.Helper()
	diff, largest := 0.0, 1e-30
	for i, v := range b {
		diff, largest = max(diff, math.Abs(a[i]-v)), max(largest, math.Abs(v))
	}
	if !(diff <= tol*largest) {
		t.Errorf("%s: relative difference %.2g, want at most %.0g", name, diff/largest, tol)
	}
}

// closeFits compares all that two fits of the same data found.
func closeFits(t testing.TB, a, b *Clustering, tol float64) {
	t.Helper()
	closeNetworks(t, a, b, tol)
	if !slices.Equal(a.Labels, b.Labels) {
		t.Error("labels differ")
	}
}

// closeNetworks is closeFits but for the labels.
func closeNetworks(t testing.TB, a, b *Clustering, tol float64) {
	t.Helper()
	closeTo(t, "loss", a.Loss, b.Loss, tol)
	closeTo(t, "H", linalg.Values(a.H), linalg.Values(b.H), 100*tol)
	for v := range b.P {
		closeTo(t, fmt.Sprintf("P of view %d", v), a.P[v].RawMatrix().Data, b.P[v].RawMatrix().Data, 1000*tol)
	}
	for v := range b.Trust {
		closeTo(t, fmt.Sprintf("trust in view %d", v), a.Trust[v], b.Trust[v], 100*tol)
	}
}

// Sparse views give what the same data give as dense ones: all preprocessing and variants, with and without a mask, in
// both arithmetics. (The start is given: k-means may take another way from another rounding.)
func TestSparseIsDense(t *testing.T) {
	const n, c = 150, 4
	dims := []int{60, 90}
	x, classes := topics(n, c, 0.12, 61, dims...)
	dense, sparse := bothKinds[float32](x, dims...)
	mask := absent(n, len(dims), 0.3, 62)
	for _, preprocess := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
		for _, variant := range []variant{large, amvc, rmvc} {
			for _, masked := range []bool{false, true} {
				for float, tol := range map[bool]float64{false: 1e-5, true: 1e-12} {
					name := fmt.Sprintf("%v, %v, masked %v, float%v", preprocess, variant, masked, float)
					t.Run(name, func(t *testing.T) {
						config := Config{
							Clusters: c, Epochs: 15, Preprocess: preprocess,
							Float64: float, StartLabels: classes,
							Neighborhood: Neighborhood{Neighbors: None},
						}
						config = variant.of(config)
						a, b := sparse, dense
						if masked {
							var err error
							if a, err = testutil.Masked(a, mask); err != nil {
								t.Fatal(err)
							}
							if b, err = testutil.Masked(b, mask); err != nil {
								t.Fatal(err)
							}
						}
						got := mustFit(t, a, config)
						closeFits(t, got, mustFit(t, b, config), tol)
						checkSparsePredict(t, a, got)
					})
				}
			}
		}
	}
}

// With neighbours too, sparse views give what dense ones give, where no two distances are equal: then rounding decides who is
// nearer.
func TestSparseIsDenseWithNeighbors(t *testing.T) {
	const n, c = 150, 4
	dims := []int{60, 90}
	x, classes := topics(n, c, 0.12, 69, dims...)
	rng := rand.New(rand.NewPCG(69, 1))
	for v := range x {
		for i := range x[v] {
			x[v][i] *= 1 + rng.Float64()
		}
	}
	dense, sparse := bothKinds[float64](x, dims...)
	mask := absent(n, len(dims), 0.3, 62)
	for _, config := range []Config{
		{}, {
			Preprocess: PreprocessUnit, Neighborhood: Neighborhood{Directions: 20},
		}, {Neighborhood: Neighborhood{Exact: None, Directions: 20}},
		{Neighborhood: Neighborhood{Exact: None}, Preprocess: PreprocessBalanced, Noise: &NoNoise{}},
	} {
		for _, masked := range []bool{false, true} {
			t.Run(
				fmt.Sprintf("%v, landmarks %v, masked %v", config.Preprocess, config.Neighborhood.Exact == None, masked),
				func(t *testing.T) {
					config.Clusters, config.Epochs, config.Float64, config.StartLabels = c, 10, true, classes
					a, b := sparse, dense
					if masked {
						var err error
						if a, err = testutil.Masked(a, mask); err != nil {
							t.Fatal(err)
						}
						if b, err = testutil.Masked(b, mask); err != nil {
							t.Fatal(err)
						}
					}
					got := mustFit(t, a, config)
					closeFits(t, got, mustFit(t, b, config), 1e-10)
					checkSparsePredict(t, a, got)
				},
			)
		}
	}
}

// checkSparsePredict checks that the training samples get their labels and H back to the bit, together, one by one, and
// from a predictor that was saved.
func checkSparsePredict(t testing.TB, views []View, c *Clustering) {
	t.Helper()
	ctx := context.Background()
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	loaded, err := ReadPredictor(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Predictor{c.Predictor, loaded} {
		labels, err := p.Predict(ctx, views)
		if err != nil {
			t.Fatal(err)
		}
		h, err := p.Transform(ctx, views)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(labels, c.Labels) {
			t.Error("Predict on the training samples does not give their labels")
		}
		sameMatrix(t, "H", h, c.H)
		for i := 0; i < len(labels); i += 1 + len(labels)/9 {
			h, err := p.Transform(ctx, sampleViews(views, i))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(mat.Row(nil, 0, h), mat.Row(nil, i, c.H)) {
				t.Errorf("sample %d alone has another H than among all", i)
			}
		}
	}
}

// The start finds the classes of sparse views, from float64 entries too; sparse, dense and masked views go together.
func TestSparseStarts(t *testing.T) { withAndWithout(t, testSparseStarts) }

func testSparseStarts(t *testing.T, neighbors int) {
	const n, c = 250, 5
	dims := []int{150, 80, 40}
	x, classes := topics(n, c, 0.1, 63, dims...)
	dense, sparse := bothKinds[float64](x, dims...)
	mixed := []View{sparse[0], dense[1], sparse[2]}
	masked, err := testutil.Masked(mixed, absent(n, len(dims), 0.2, 64))
	if err != nil {
		t.Fatal(err)
	}
	for name, views := range map[string][]View{"sparse": sparse, "mixed": mixed, "masked": masked} {
		got := mustFit(t, views, Config{Clusters: c, Epochs: 5, Neighborhood: Neighborhood{Neighbors: neighbors}})
		if acc := agree(t, got.StartLabels, classes); acc < 0.95 {
			t.Errorf("%s: the start labels agree with the classes in %.3f", name, acc)
		}
		checkResult(t, views, got)
	}
	config := Config{Clusters: c, Epochs: 5, Neighborhood: Neighborhood{Neighbors: neighbors}}
	config.Machine.Workers = 1
	one := mustFit(t, sparse, config)
	config.Machine.Workers = 3
	three := mustFit(t, sparse, config)
	sameResult(
		t, one,
		&Clustering{
			Predictor: three.Predictor, Labels: three.Labels, H: three.H, Trust: three.Trust,
			StartLabels: three.StartLabels,
		},
	)
}

// Absent rows of a sparse view count for nothing, whatever they hold.
func TestSparseAbsentRowsAreNotRead(t *testing.T) { withAndWithout(t, testSparseAbsentRows) }

func testSparseAbsentRows(t *testing.T, neighbors int) {
	const n, c = 90, 3
	dims := []int{40, 30}
	x, _ := topics(n, c, 0.15, 65, dims...)
	mask := absent(n, len(dims), 0.3, 66)
	var results []*Clustering
	for _, content := range []float64{0, 1, math.NaN()} {
		filled := make([][]float64, len(x))
		for v, d := range dims {
			filled[v] = slices.Clone(x[v])
			for i := range n {
				for j := 0; j < d && !mask[i][v]; j++ {
					filled[v][i*d+j] = content
				}
			}
		}
		_, sparse := bothKinds[float32](filled, dims...)
		views, err := testutil.Masked(sparse, mask)
		if err != nil {
			t.Fatal(err)
		}
		for _, preprocess := range []Preprocess{PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, None} {
			results = append(
				results,
				mustFit(
					t, views,
					Config{Clusters: c, Epochs: 4, Preprocess: preprocess, Neighborhood: Neighborhood{Neighbors: neighbors}},
				),
			)
		}
	}
	for i, r := range results[5:] {
		sameResult(t, r, results[i%5])
	}
}

// textShape is the shape of citeseer: samples, features of its views and the share of entries that are not zero.
var textShape = struct {
	n, clusters int
	dims        []int
	fill        []float64
}{3312, 6, []int{3312, 3703}, []float64{0.001, 0.0085}}

// textViews makes views of that shape, as sparse or as dense ones, and their classes.
func textViews(sparse bool) (views []View, classes []int) {
	for v, d := range textShape.dims {
		n := textShape.n
		rng := rand.New(rand.NewPCG(68, uint64(v)))
		ptr, cols, values := []int{0}, []int32(nil), []float32(nil)
		classes = make([]int, n)
		for i := range n {
			classes[i] = i % textShape.clusters
			var words []int32
			for range 2 + rng.IntN(int(2*textShape.fill[v]*float64(d))) {
				word := rng.IntN(d)
				if rng.IntN(10) < 7 { // most are among the words of the class
					word = (classes[i]*d + word) / textShape.clusters
				}
				words = append(words, int32(word))
			}
			slices.Sort(words)
			for _, word := range slices.Compact(words) {
				cols, values = append(cols, word), append(values, float32(1+rng.IntN(3)))
			}
			ptr = append(ptr, len(cols))
		}
		view := SparseView(n, d, ptr, cols, values)
		if !sparse {
			full, row := make([]float32, n*d), make([]float64, d)
			for i := range n {
				view.in.Row(i, row)
				for j, a := range row {
					full[i*d+j] = float32(a)
				}
			}
			view = DenseView(n, d, full)
		}
		views = append(views, view)
	}
	return views, classes
}

// Text in compressed rows is trained in a tenth of the memory of the same in full, the fit's own state included.
func TestSparseMemory(t *testing.T) {
	testutil.Long(t, "it holds 200 MiB")
	held := func(sparse bool) float64 {
		before, most := liveBytes(), int64(0)
		views, classes := textViews(sparse)
		config := Config{
			Clusters: textShape.clusters, Epochs: 2, StartLabels: classes,
			Neighborhood: Neighborhood{Neighbors: None}, Machine: machine.Options{Workers: 2},
		}
		config.Progress = func(e Progress) error {
			if e.Training() {
				most = max(most, liveBytes()-before)
			}
			return nil
		}
		mustFit(t, views, config)
		return float64(most) / (1 << 20)
	}
	sparse, dense := held(true), held(false)
	t.Logf("sparse %.1f MiB, dense %.1f MiB", sparse, dense)
	if !(sparse > 1 && sparse < dense/10) {
		t.Errorf("%.1f MiB with sparse views, %.1f MiB with dense ones", sparse, dense)
	}
}

// citeseerKinds returns the set whose sparse training is measured, as sparse and as dense views: citeseer in the folder
// that LARGEMVC_DATA names, else one of the same shape and fill.
func citeseerKinds(b *testing.B) (sparse, dense []View) {
	b.Helper()
	if folder := os.Getenv("LARGEMVC_DATA"); folder != "" {
		for _, storage := range []dataset.Storage{dataset.AllSparse, dataset.AllDense} {
			set, err := dataset.Open(context.Background(), []string{filepath.Join(folder, "citeseer.npz")},
				dataset.Options{Storage: storage})
			if err != nil {
				b.Fatal(err)
			}
			for _, x := range set.Views {
				if storage == dataset.AllDense {
					dense = append(dense, DenseView(x.Rows, x.Cols, x.Float32))
				} else {
					sparse = append(sparse, SparseView(x.Rows, x.Cols, x.Sparse.RowPtr, x.Sparse.Col, x.Sparse.Float32))
				}
			}
		}
		return sparse, dense
	}
	sparse, _ = textViews(true)
	dense, _ = textViews(false)
	return sparse, dense
}

// Citeseer, 3,312 samples of 3,312 and 3,703 features with 0.1 and 0.9 % of the entries not zero, read sparse and dense: a
// whole fit of 100 epochs, and an epoch of it.
//
//	LARGEMVC_DATA=folder go test -run '^$' -bench Sparse -benchtime 1x .
func BenchmarkSparse(b *testing.B) {
	sparse, dense := citeseerKinds(b)
	for _, kind := range []struct {
		name  string
		views []View
	}{{"sparse", sparse}, {"dense", dense}} {
		b.Run(kind.name, func(b *testing.B) {
			var epoch, start float64
			for b.Loop() {
				c := mustFit(b, kind.views, Config{Clusters: textShape.clusters, Neighborhood: Neighborhood{Neighbors: None}})
				epoch, start = c.Timings.Epoch.Seconds(), c.Timings.Start.Seconds()
			}
			b.ReportMetric(1e3*epoch, "ms/epoch")
			b.ReportMetric(1e3*start, "ms/start")
		})
	}
}

// Rows of values that float32 hardly holds, or not at all, are rows like all others to a fit with neighbours, which sees them at
// norm 1.
func TestFitSparseOfTinyValues(t *testing.T) {
	const n = 120
	dims := []int{30, 40}
	x, _ := topics(n, 3, 0.3, 5, dims...)
	for _, tiny := range []float64{1e-40, 1e-60} {
		var dense, sparse []View
		for v, d := range dims {
			values := slices.Clone(x[v])
			for i := 10 * d; i < len(values); i++ {
				values[i] *= tiny
			}
			dense, sparse = append(dense, DenseView(n, d, values)), append(sparse, sparseOf[float64](n, d, values))
		}
		config := Config{Clusters: 3, Epochs: 2, Preprocess: None}
		want := mustFit(t, dense, config)
		got, err := fitAlone(t.Context(), sparse, config)
		if err != nil {
			t.Errorf("values of %g: %v", tiny, err)
		} else if ari, err := ariOf(got.Labels, want.Labels); err != nil || ari < 1 {
			t.Errorf("values of %g: the ARI with dense views is %v, %v", tiny, ari, err)
		}
	}
}

// wideSparse returns a view of n samples in the given number of classes of d features, of which each sample has share
// filled, half of them among those of its class, and the classes.
func wideSparse(n, d, classes int, share float64) (View, []int) {
	rng := rand.New(rand.NewPCG(7, 11))
	ptr, labels := make([]int, n+1), make([]int, n)
	var cols []int32
	var values []float32
	part := d / classes
	for i := range n {
		labels[i] = i % classes
		row := map[int32]float32{}
		for range int(share * float64(d) / 2) {
			row[int32(rng.IntN(d))] = 1 + rng.Float32()
			row[int32(labels[i]*part+rng.IntN(part)/8)] = 1 + rng.Float32()
		}
		own := make([]int32, 0, len(row))
		for j := range row {
			own = append(own, j)
		}
		slices.Sort(own)
		for _, j := range own {
			cols, values = append(cols, j), append(values, row[j])
		}
		ptr[i+1] = len(cols)
	}
	return SparseView(n, d, ptr, cols, values), labels
}

// A sparse view of a million features fits in memory in proportion to its entries and features, not to their product with
// directions or samples; it finds the classes, and saved and loaded it gives the same bits.
func TestWideSparse(t *testing.T) {
	testutil.Long(t, "a view of a million features")
	const n, d = 50, 1_000_000
	x, classes := wideSparse(n, d, 2, 0.01)
	entries := len(x.in.Sparse.Cols)
	runtime.GC()
	var c *Clustering
	got := testutil.Allocated(func() { c = mustFit(t, []View{x}, Config{Clusters: 2, Machine: machine.Options{Workers: 2}}) })
	limit := uint64(100*entries + 200*d) // bytes allocated in all, freed ones included
	t.Logf("%d entries: %d MiB allocated, limit %d MiB", entries, got>>20, limit>>20)
	if got > limit {
		t.Errorf("%d MiB allocated for %d entries and %d features, want at most %d", got>>20, entries, d, limit>>20)
	}
	if acc, err := accuracyOf(classes, c.Labels); err != nil || acc < 1 {
		t.Errorf("ACC %v, %v", acc, err)
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if limit := 24*2*entries + 32*2*d; b.Len() > limit {
		t.Errorf("the model has %d bytes, want at most %d", b.Len(), limit)
	}
	again, err := ReadPredictor(&b)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Predictor{"trained": c.Predictor, "loaded": again} {
		a, err := p.Assign(context.Background(), []View{x})
		if err != nil || !slices.Equal(a.Labels, c.Labels) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}

// spreadView puts column j of a sparse view to 3 + j·spread, and nothing between.
func spreadView(x View, spread int32) View {
	s := x.in.Sparse
	cols := slices.Clone(s.Cols)
	for k := range cols {
		cols[k] = cols[k]*spread + 3
	}
	return SparseView(x.in.Rows, x.in.Cols*int(spread), s.Ptr, cols, s.F64)
}

// spreadViews are two sparse views with many columns that no sample has an entry of.
func spreadViews(n int) []View {
	x, _ := topics(n, 3, 0.2, 1, 40, 30)
	_, narrow := bothKinds[float64](x, 40, 30)
	return []View{spreadView(narrow[0], 50), spreadView(narrow[1], 9)}
}

// Columns that no sample has an entry of change nothing, and cost little: without neighbours the training has the bits of one
// without these columns, and the memory is of a few rows of anchors.
func TestColumnsWithoutEntries(t *testing.T) {
	const n, d, spread = 60, 40, 25_000
	x, _ := topics(n, 3, 0.2, 1, d, 6)
	_, narrow := bothKinds[float64](x, d, 6)
	views := []View{spreadView(narrow[0], spread), narrow[1]}
	for _, p := range []Preprocess{PreprocessSample, PreprocessZScore, PreprocessUnit, PreprocessBalanced} {
		if !testutil.Slow && p != PreprocessZScore {
			continue
		}
		c := paper(Config{Clusters: 3, Epochs: 4, Preprocess: p})
		want := mustFit(t, narrow, c)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := mustFit(t, views, c)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 900 {
			t.Errorf("%v: %d MiB", p, mib)
		}
		if !mat.EqualApprox(want.H, got.H, 1e-6) { // the training has these bits, not the pass that reads H
			t.Errorf("%v: another H", p)
		}
		if !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Loss, want.Loss) {
			t.Errorf("%v: labels %v, want %v; loss %v, want %v", p, got.Labels, want.Labels, got.Loss, want.Loss)
		}
		p0, p1 := want.Anchors(1, 0), got.Anchors(1, 0)
		for i := range 3 {
			for j := range d * spread {
				value := 0.0
				if j%spread == 3 {
					value = p0.At(i, j/spread)
				}
				if math.Abs(p1.At(i, j)-value) > 1e-12 {
					t.Fatalf("%v: anchor %d has %v in column %d, want %v", p, i, p1.At(i, j), j, value)
				}
			}
		}
		again, err := got.Predict(t.Context(), views)
		if err != nil || !slices.Equal(again, got.Labels) {
			t.Errorf("%v: predicted %v, %v", p, again, err)
		}
	}
}

// Sparse views with far more columns than entries are an error before memory is taken for the columns.
func TestSparseViewsThatAreTooWide(t *testing.T) {
	views, _ := blobViews(60, 3, 0.8, 31, 8)
	for name, x := range map[string]View{
		"no entries": SparseView(60, math.MaxInt32, make([]int, 61), nil, []float64{}),
		"one entry":  SparseView(60, 1<<25, append(make([]int, 60), 1), []int32{77}, []float64{1}),
	} {
		views := []View{views[0], x.Named("text")}
		_, fitted := fitAlone(t.Context(), views, Config{Clusters: 3})
		_, estimated := Config{Clusters: 3}.EstimateMemory(views)
		for _, err := range []error{fitted, estimated, Config{Clusters: 3}.Check(views)} {
			var wrong *InputError
			if !errors.As(err, &wrong) || wrong.View != 1 || !strings.Contains(err.Error(), "view 1 (text) has") ||
				!strings.Contains(err.Error(), "leave out the features that no sample has") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
