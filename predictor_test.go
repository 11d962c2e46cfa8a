package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
)

// The same sample has the same bits alone, in any company and at any place, from many goroutines at once, and whatever
// holds it.
func TestPredictConcurrently(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dims := []int{30, 17, 3}
	views, _ := blobViews(900, 5, 1, 40, dims...)
	masked, err := testutil.Masked(views, absent(900, 3, 0.4, 40))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Config{
		{}, {Neighborhood: Neighborhood{Exact: None, Directions: 12}},
		{Neighborhood: Neighborhood{Neighbors: None}}, {
			Neighborhood: Neighborhood{Neighbors: None}, Float64: true,
			Represent: &SoftThreshold{Activation: SELU}, Noise: &RowShrink{Activation: SELU},
			Preprocess: PreprocessBalanced, Anchors: 20,
		},
	} {
		c.Clusters, c.Epochs = 5, 3
		model := mustFit(t, masked, c)
		want, err := model.Assign(ctx, masked)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 12 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := g; i < 900; i += 12 * testutil.Few(11, 3) {
					size := 1 + (i*7+g)%20 // both sides of fewRows
					lo := min(i, 900-size)
					got, err := model.Assign(ctx, sliceViews(masked, lo, lo+size))
					if err != nil {
						t.Error(err)
						return
					}
					if !slices.Equal(got.Labels, want.Labels[lo:lo+size]) || !slices.Equal(got.Near, want.Near[lo:lo+size]) ||
						!slices.Equal(got.Next, want.Next[lo:lo+size]) {
						t.Errorf("rows %d to %d alone differ from among all", lo, lo+size)
						return
					}
				}
			}()
		}
		wg.Wait()
		for i, near := range want.Near {
			if !(near <= want.Next[i]) || near < 0 {
				t.Errorf("sample %d is %v from the nearest centroid and %v from the next", i, near, want.Next[i])
			}
		}
	}
}

// sliceViews are rows lo to hi of dense float64 views.
func sliceViews(views []View, lo, hi int) []View {
	out := make([]View, len(views))
	for v, x := range views {
		out[v] = DenseView(hi-lo, x.in.Cols, x.in.F64[lo*x.in.Cols:hi*x.in.Cols])
		if x.in.Present != nil {
			out[v].in.Present = x.in.Present[lo:hi]
		}
	}
	return out
}

// Distances are those in H or in its unit rows, by hand.
func TestAssignDistances(t *testing.T) {
	views, _ := blobViews(60, 4, 0.8, 41, 9, 5)
	for _, c := range []Config{{PlainReadOut: true}, {}, paper(Config{})} {
		c.Clusters, c.Epochs, c.Float64 = 4, 3, true
		model := mustFit(t, views, c)
		a, err := model.Assign(context.Background(), views)
		if err != nil {
			t.Fatal(err)
		}
		centroids := model.Centroids()
		for i, label := range a.Labels {
			h := mat.Row(nil, i, model.H)
			if !model.Config().PlainReadOut {
				norm := math.Sqrt(kernel.SumSquares(h, 0))
				for j := range h {
					h[j] /= norm
				}
			}
			var d []float64
			for k := range model.Clusters {
				sum := 0.0
				for j, h := range h {
					sum += (h - centroids.At(k, j)) * (h - centroids.At(k, j))
				}
				d = append(d, sum)
			}
			nearest := slices.Index(d, slices.Min(d))
			slices.Sort(d)
			if label != nearest || math.Abs(a.Near[i]-d[0]) > 1e-12 || math.Abs(a.Next[i]-d[1]) > 1e-12 {
				t.Errorf(
					"plain %v, sample %d: label %d at %v and %v, want %d at %v",
					model.Config().PlainReadOut, i, label, a.Near[i], a.Next[i], nearest, d[:2],
				)
			}
		}
	}
	one := mustFit(t, views, Config{Clusters: 1, Epochs: 1})
	if a, err := one.Assign(context.Background(), views); err != nil || !math.IsInf(a.Next[0], 1) {
		t.Errorf("%v, %v", a, err)
	}
}

// Samples of one view alone, which no training sample was.
func TestPredictNewMasks(t *testing.T) {
	views, classes := blobViews(120, 3, 0.1, 42, 12, 8, 6)
	for _, c := range []Config{{}, {Neighborhood: Neighborhood{Exact: None}}, {Neighborhood: Neighborhood{Neighbors: None}}} {
		c.Clusters, c.Epochs = 3, 10
		model := mustFit(t, views, c)
		checkNewMasks(t, views, classes, model)
	}
}

func checkNewMasks(t *testing.T, views []View, classes []int, model *Clustering) {
	t.Helper()
	none, all := make([]bool, 120), slices.Repeat([]bool{true}, 120)
	for only := range views {
		part := slices.Clone(views)
		for v, x := range views {
			part[v] = x.WithPresent(none)
			if v == only {
				part[v] = x.WithPresent(all)
			}
		}
		labels, err := model.Predict(context.Background(), part)
		if err != nil {
			t.Fatal(err)
		}
		if ari, err := ariOf(classes, labels); err != nil || ari < 0.9 {
			t.Errorf("view %d alone, neighbours %d: ARI %v, %v", only, model.Config().Neighborhood.Neighbors, ari, err)
		}
	}
}

func TestPredictErrors(t *testing.T) {
	views, _ := blobViews(20, 2, 1, 43, 4, 3)
	model := mustFit(t, views, Config{Clusters: 2, Epochs: 1})
	bad := DenseView(1, 3, []float64{1, math.NaN(), 2}).Named("x")
	good := DenseView(1, 4, []float64{1, 2, 3, 4})
	for name, x := range map[string]struct {
		views []View
		want  []string
	}{
		"no views":   {nil, []string{"no views"}},
		"one view":   {views[:1], []string{"1 view,", "2"}},
		"exchanged":  {[]View{views[1], views[0]}, []string{"view 0", "3 features", "4"}},
		"NaN":        {[]View{good, bad}, []string{"view 1 (x)", "NaN", "row 0", "column 1"}},
		"no samples": {[]View{DenseView[float64](0, 4, nil), DenseView[float64](0, 3, nil)}, []string{"view 0"}},
		"no view":    {[]View{good.WithPresent([]bool{false}), bad.WithPresent([]bool{false})}, []string{"sample 0"}},
		"mask":       {[]View{good.WithPresent([]bool{true, false}), bad}, []string{"view 0", "2", "1"}},
		"different":  {[]View{good, views[1]}, []string{"view 1", "20"}},
	} {
		_, err := model.Predict(context.Background(), x.views)
		_, again := model.Transform(context.Background(), x.views)
		if err == nil || again == nil || err.Error() != again.Error() {
			t.Fatalf("%s: %v, %v", name, err, again)
		}
		for _, part := range append(x.want, "largemvc: ") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", name, part, err)
			}
		}
	}
	// Values that Fit would refuse as they are.
	raw := mustFit(t, views, paper(Config{Preprocess: None, Clusters: 2, Epochs: 1}))
	large := make([]float64, 600*4)
	large[500*4+2] = 1e50
	far := []View{DenseView(600, 4, large), DenseView(600, 3, make([]float64, 600*3))}
	_, err := raw.Predict(context.Background(), far)
	_, again := raw.Transform(context.Background(), far)
	if err == nil || again == nil ||
		!strings.Contains(err.Error(), "largemvc: view 0: row 500 holds up to 1e+50 (feature 2)") {
		t.Errorf("a huge value: %v, %v", err, again)
	}
	// A NaN that a mask hides is none.
	if _, err := model.Predict(context.Background(), []View{good, bad.WithPresent([]bool{false})}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model.Predict(ctx, views); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPredictAllocations(t *testing.T) {
	if testutil.UnderRace {
		t.Skip("the race detector empties pools, so that their content is allocated again")
	}
	views, _ := blobViews(200, 4, 1, 44, 200, 90)
	model := mustFit(t, views, Config{Clusters: 4, Epochs: 1, Neighborhood: Neighborhood{Neighbors: None}})
	one := sampleViews(views, 7)
	ctx := context.Background()
	for name, x := range map[string]struct {
		call               func() error
		allocations, bytes int
	}{
		"Predict": {func() error { _, err := model.Predict(ctx, one); return err }, 30, 2000},
		"Assign":  {func() error { _, err := model.Assign(ctx, one); return err }, 30, 5000}, // with rows in float64
	} {
		allocations := testing.AllocsPerRun(200, func() {
			if err := x.call(); err != nil {
				t.Fatal(err)
			}
		})
		const calls = 1000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			if err := x.call(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		bytes := (after.TotalAlloc - before.TotalAlloc) / calls
		if int(allocations) > x.allocations || int(bytes) > x.bytes {
			t.Errorf("%s: %v allocations of together %d bytes for a sample", name, allocations, bytes)
		}
	}
}

func BenchmarkAssignOne(b *testing.B) {
	dims := []int{784, 392, 160}
	views, _ := blobViews(1000, 10, 1, 45, dims...)
	masked := slices.Clone(views)
	masked[0] = views[0].WithPresent(make([]bool, 1000))
	for kind, c := range map[string]Config{
		"neighbours": {}, "landmarks": {Neighborhood: Neighborhood{Exact: None}}, "sample": {
			Neighborhood: Neighborhood{Neighbors: None},
		},
		"balanced": {Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessBalanced},
	} {
		c.Clusters, c.Epochs = 10, 2
		model := mustFit(b, views, c)
		for name, from := range map[string][]View{"complete": views, "incomplete": masked} {
			one := make([]View, len(views))
			for v, x := range sampleViews(from, 5) {
				single := make([]float32, x.in.Cols)
				for j, value := range x.in.F64 {
					single[j] = float32(value)
				}
				one[v] = DenseView(1, x.in.Cols, single).WithPresent(x.in.Present)
			}
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := model.Assign(context.Background(), one); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Labels, representation and trust of more samples than go through the network at once are those of the training.
func TestLabelsOfManyAreThoseOfTraining(t *testing.T) {
	views, _ := blobViews(600, 3, 1, 21, 9, 6)
	c := mustFit(t, views, paper(Config{Clusters: 3, Epochs: 3}))
	labels, h, trust := slices.Clone(c.Labels), c.H, [][]float64{slices.Clone(c.Trust[0]), slices.Clone(c.Trust[1])}
	if err := c.relabel(context.Background(), inner(views)); err != nil {
		t.Fatal(err)
	}
	sameMatrix(t, "H", c.H, h)
	if !slices.Equal(c.Labels, labels) || !slices.EqualFunc(c.Trust, trust, slices.Equal[[]float64]) {
		t.Error("other labels, or another trust")
	}
}

// The configuration that a model gives away may be changed for the next fit: the model and what is saved of it stay as they are.
func TestConfigOfAModelIsACopy(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 155, 5, 6)
	p := mustFit(t, views, Config{Clusters: 3, Epochs: 1}).Predictor
	var before, after bytes.Buffer
	if _, err := p.WriteTo(&before); err != nil {
		t.Fatal(err)
	}
	c := p.Config()
	c.Represent.(*SoftThreshold).OneSided = true
	c.Noise.(*RowShrink).Activation = SELU
	c.Anchor.(*Procrustes).Detach = true
	if _, err := p.WriteTo(&after); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("the model's file is another one after its configuration was changed")
	}
	// Neither does the model have the units of ρ in common with the configuration of the fit or with what it gives out, with a
	// module of a user's own, whose copies label new samples, nor without.
	for name, own := range map[string]Represent{"stock": nil, "own": &ownSoft{}} {
		given := &RowShrink{Rho0: 0.3, Scale: []float64{2, 3}}
		p := mustFit(t, views, paper(Config{Clusters: 3, Epochs: 1, Represent: own, Noise: given})).Predictor
		file := encode(t, p)
		given.Scale[0] = 50
		c := p.Config()
		if scale := c.Noise.(*RowShrink).Scale; !slices.Equal(scale, []float64{2, 3}) {
			t.Errorf("%s: the units are %v after those that were given to the fit were changed", name, scale)
		}
		c.Noise.(*RowShrink).Scale[1] = 70
		if !bytes.Equal(encode(t, p), file) {
			t.Errorf("%s: the model's file is another one after the units of a configuration were changed", name)
		}
	}
}

// The configuration of a model does not say where the machine that trained it kept its files.
func TestConfigOfAModelHasNoPaths(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 155, 5, 6)
	config := Config{
		Clusters: 3, Epochs: 1, Checkpoint: Checkpoint{Path: t.TempDir() + "/state", Every: 7},
		Machine: machine.Options{Workers: 1},
	}
	c := mustFit(t, views, config).Config()
	if c.Checkpoint != (Checkpoint{Every: 7}) || c.Machine.Workers != 1 {
		t.Errorf("checkpoint %+v, machine %+v", c.Checkpoint, c.Machine)
	}
	if config.Checkpoint.Path == "" {
		t.Error("the caller's own configuration was changed")
	}
}

// The number of goroutines that label new samples is the caller's choice, whatever the fit had, and changes no bit.
func TestWithMachine(t *testing.T) {
	views, _ := blobViews(700, 3, 0.5, 156, 5, 6)
	p := mustFit(t, views, Config{Clusters: 3, Epochs: 1, Machine: machine.Options{Workers: 1}}).Predictor
	want, err := p.Assign(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	for asked, workers := range map[int]int{0: 0, 3: 3, -1: 0, 1 << 20: 4096} {
		q := p.WithMachine(machine.Options{Workers: asked, Device: machine.CPU})
		got, err := q.Assign(t.Context(), views)
		if err != nil || !slices.Equal(got.Near, want.Near) || !slices.Equal(got.Labels, want.Labels) {
			t.Errorf("%d workers: other labels or distances, or %v", asked, err)
		}
		if q.Config().Machine.Workers != workers || p.Config().Machine.Workers != 1 {
			t.Errorf("%d and %d workers, want %d and 1", q.Config().Machine.Workers, p.Config().Machine.Workers, workers)
		}
		var b bytes.Buffer
		if _, err := q.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		if loaded, err := ReadPredictor(&b); err != nil || loaded.Config().Machine.Workers != workers {
			t.Errorf("%d workers do not come out of a file: %v", workers, err)
		}
	}
	if q := (*Predictor)(nil).WithMachine(machine.Options{}); q != nil {
		t.Errorf("%v of none", q)
	}
}

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
	testutil.Long(t, "it trains a dozen networks")
	for name, exact := range map[string]int{"skdigits3v": 0, "ucidigit": None} { // None: landmarks
		views, _ := realSet(t, name)
		checkAgreements(t, name, views, Config{Clusters: 10, Neighborhood: Neighborhood{Exact: exact}}, 2)
	}
}

// A third of the views missing, and what is predicted of samples with other views missing.
func TestMissingViewsOfRealSets(t *testing.T) {
	testutil.Long(t, "it trains on 2,000 samples")
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
	testutil.Long(t, "it trains on 3,312 samples")
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

// TestWithResults: labels, representation and trust of one call are those of three, in memory and from rows that are read. Blocks
// read each row once.
func TestWithResults(t *testing.T) {
	const n = 20_000
	held, read, sources := outside(n, 7, 12)
	fitted := mustFit(t, []View{held[0].Take(upTo(300)), held[1].Take(upTo(300))}, Config{
		Clusters: 3, Epochs: 2, Neighborhood: landmarksFor(byDefault),
	})
	if a, err := fitted.Assign(t.Context(), held); err != nil || a.H != nil || a.Trust != nil {
		t.Errorf("nobody asked for a representation and trust: %v, %v, %v", a.H, len(a.Trust), err)
	}
	h, err := fitted.Transform(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := fitted.ViewTrust(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	p := fitted.WithResults(true, true)
	for where, views := range map[string][]View{"memory": held, "rows": read} {
		if a, err := p.Assign(t.Context(), views); err != nil || !mat.Equal(a.H, h) || !reflect.DeepEqual(a.Trust, trust) {
			t.Errorf("%s: other results, %v", where, err)
		}
	}
	for _, s := range sources {
		s.values.Store(0)
	}
	blocks := 0
	err = p.AssignRows(t.Context(), read, func(first int, a *Assignments) error {
		blocks++
		end := first + len(a.Labels)
		same := mat.Equal(a.H, h.(*matrix).window(first, end))
		for v, x := range a.Trust {
			same = same && slices.Equal(x, trust[v][first:end])
		}
		if !same || len(a.Trust) != len(held) {
			return fmt.Errorf("the block from sample %d differs", first)
		}
		return nil
	})
	if err != nil || blocks < 2 {
		t.Errorf("%d blocks, %v", blocks, err)
	}
	for v, s := range sources {
		if got := s.values.Load(); got != int64(n*s.d) {
			t.Errorf("view %d: %d values are read, want %d", v, got, n*s.d)
		}
	}
	// The paper's network has no trust: nothing is labelled before the error.
	plain := mustFit(t, []View{held[0].Take(upTo(300))}, paper(Config{Clusters: 3, Epochs: 1})).WithResults(false, true)
	err = plain.AssignRows(t.Context(), read[:1], func(int, *Assignments) error { return errors.New("labelled") })
	if err == nil || !strings.Contains(err.Error(), "trust in views needs the neighbours") {
		t.Error(err)
	}
}
