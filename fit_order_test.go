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
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/kernel"
	"github.com/largemvc/largemvc/internal/linalg"
	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/rows"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
)

// words returns views in which many samples are equally near to one another, and some equal in all views: a few words of a small
// vocabulary each, drawn with chances that the class has.
func words(n, classes int, seed uint64, dims ...int) (x [][]float64, of []int) {
	rng := rand.New(rand.NewPCG(seed, 0x776f726473))
	of = make([]int, n)
	for i := range of {
		of[i] = i % classes // sorted in no way, and of equal sizes
	}
	for _, d := range dims {
		values := make([]float64, n*d)
		for i, c := range of {
			for range 3 {
				if j := rng.IntN(d); rng.IntN(3) == 0 {
					values[i*d+(j/classes*classes+c)%d] = 1
				} else {
					values[i*d+j] = 1
				}
			}
		}
		x = append(x, values)
	}
	for i := range n / 10 { // the same sample twice, and a third time
		for v, d := range dims {
			to := n - 1 - i
			copy(x[v][to*d:(to+1)*d], x[v][i/2*d:(i/2+1)*d])
		}
	}
	return x, of
}

// permuted returns the views of a permutation of the samples: sample k is order[k] of x.
func permuted(x [][]float64, order []int, dims ...int) [][]float64 {
	out := make([][]float64, len(x))
	for v, d := range dims {
		for _, i := range order {
			out[v] = append(out[v], x[v][i*d:(i+1)*d]...)
		}
	}
	return out
}

// checkPermuted checks that b is a with the samples in another order, to the bit: b's sample k is order[k] of a.
func checkPermuted(t *testing.T, a, b *Clustering, order []int) {
	t.Helper()
	samePredictor(t, a.Predictor, b.Predictor)
	if !slices.Equal(view.Along(order, a.Labels), b.Labels) {
		t.Error("the labels are not permuted")
	}
	if !slices.Equal(view.Along(order, a.StartLabels), b.StartLabels) {
		t.Error("the start's labels are not permuted")
	}
	if len(a.Trust) != len(b.Trust) {
		t.Fatalf("trust of %d inputs, the other %d", len(a.Trust), len(b.Trust))
	}
	for v := range a.Trust {
		if !slices.Equal(view.Along(order, a.Trust[v]), b.Trust[v]) {
			t.Errorf("trust in input %d is not permuted", v)
		}
	}
	for k, i := range order {
		for j := range a.config.Anchors {
			if a.H.At(i, j) != b.H.At(k, j) {
				t.Fatalf("H[%d] is %v, of the same sample %v", k, b.H.At(k, j), a.H.At(i, j))
			}
		}
	}
}

// A permutation of the samples permutes all that a fit with exact neighbours says of them, and changes no bit of it nor of the
// model, where distances tie, samples are equal and clusters have equal sizes: whatever holds the views, with absent ones too.
func TestPermutationPermutes(t *testing.T) {
	const n, c = 240, 4
	dims := []int{24, 9, 32}
	x, classes := words(n, c, 5, dims...)
	mask := absent(n, len(dims), 0.2, 6)
	order := rand.New(rand.NewPCG(9, 9)).Perm(n)
	_, sparse := bothKinds[float32](x, dims...) // which hold some zeros
	kinds := map[string]func(x [][]float64) []View{
		"float64": func(x [][]float64) []View { dense, _ := bothKinds[float64](x, dims...); return dense },
		"float32": func(x [][]float64) []View {
			var out []View
			for v, d := range dims {
				out = append(out, DenseView(n, d, kernel.Convert[float32](x[v])))
			}
			return out
		},
		"sparse": func(other [][]float64) []View {
			out := slices.Clone(sparse)
			for v := range out {
				if &other[v][0] != &x[v][0] {
					out[v] = out[v].Take(order)
				}
			}
			return out
		},
		"a matrix and rows that are read": func(x [][]float64) []View {
			dense, _ := bothKinds[float32](x, dims...)
			dense[0] = MatrixView(mat.NewDense(n, dims[0], slices.Clone(x[0])).T().T())
			dense[2] = RowsView(&heldRows{n: n, d: dims[2], x: kernel.Convert[float32](x[2])})
			return dense
		},
	}
	soft := &SoftThreshold{}
	configs := map[string]Config{
		"default":     {},
		"float64":     {Float64: true, Neighborhood: Neighborhood{Directions: 8}, Epochs: 10},
		"overwritten": {Machine: machine.Options{Overwrite: true}, Epochs: 10},
		"paper":       paper(Config{Neighborhood: Neighborhood{Neighbors: 5}, Epochs: 10}),
		"labels":      {StartLabels: classes, Epochs: 10, Restarts: 2},
		"anchors":     {Anchors: c + 2, Epochs: 10, Machine: machine.Options{Workers: 3}},
		"custom":      {Represent: &ownSoft{*soft}, Epochs: 3, Seed: 1},
	}
	for kind, views := range kinds {
		for name, config := range configs {
			for masked := range 2 {
				few := !testutil.Slow && kind != "float32" // which masks all configurations
				if masked == 1 && (few || name == "labels") || few && kind != "float64" && name == "paper" {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, masked %d", kind, name, masked), func(t *testing.T) {
					t.Parallel()
					config := config
					config.Clusters = c
					a, b := views(x), views(permuted(x, order, dims...))
					if masked == 1 {
						var failed [2]error
						a, failed[0] = testutil.Masked(a, mask)
						b, failed[1] = testutil.Masked(b, view.Along(order, mask))
						if err := errors.Join(failed[:]...); err != nil {
							t.Fatal(err)
						}
					}
					first := mustFit(t, a, config)
					config.StartLabels = view.Along(order, config.StartLabels)
					second := mustFit(t, b, config)
					checkPermuted(t, first, second, order)
					if name == "labels" { // which the file has, in the caller's order
						return
					}
					if !bytes.Equal(encode(t, first.Predictor), encode(t, second.Predictor)) {
						t.Error("the models differ")
					}
				})
			}
		}
	}

	// Without that order ties go by the samples' places.
	dense := kinds["float64"]
	config := Config{Clusters: c, ExtraLoss: inCallersOrder}
	a, b := mustFit(t, dense(x), config), mustFit(t, dense(permuted(x, order, dims...)), config)
	if samePartition(t, view.Along(order, a.Labels), b.Labels) {
		t.Error("the samples' places say nothing in their own order: the test shows nothing")
	}
}

// Samples that are equal in all views get equal labels.
func TestEqualSamplesAreLabelledAlike(t *testing.T) {
	const n, c = 240, 4
	dims := []int{24, 9, 32}
	x, _ := words(n, c, 5, dims...)
	views, _ := bothKinds[float64](x, dims...)
	got, pairs := mustFit(t, views, Config{Clusters: c}), 0
	for i := range n {
		for j := range i {
			equal := true
			for v, d := range dims {
				equal = equal && slices.Equal(x[v][i*d:(i+1)*d], x[v][j*d:(j+1)*d])
			}
			if !equal {
				continue
			}
			if pairs++; got.Labels[i] != got.Labels[j] {
				t.Errorf("samples %d and %d are equal and have the labels %d and %d", i, j, got.Labels[i], got.Labels[j])
			}
		}
	}
	if pairs < n/10 {
		t.Errorf("%d pairs of equal samples: the test shows nothing", pairs)
	}
}

// The state of a training has the labels of its start in the caller's order, and a training goes on from it to the same bits.
func TestPermutationResumes(t *testing.T) {
	const n, c = 120, 3
	dims := []int{24, 9}
	x, _ := words(n, c, 7, dims...)
	views, _ := bothKinds[float64](x, dims...)
	path := filepath.Join(t.TempDir(), "state")
	config := Config{Clusters: c, Epochs: 12, Checkpoint: Checkpoint{Path: path, Every: 5}}
	want := mustFit(t, views, config)
	config.Progress = func(e Progress) error {
		if e.Epoch == 7 {
			return ErrStop
		}
		return nil
	}
	stopped := mustFit(t, views, config)
	saved, err := readResumed(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(saved.state.Current.Begin.Labels, stopped.StartLabels) {
		t.Error("the labels of the start are not those of the samples, in the caller's order")
	}
	got, err := Resume(context.Background(), views, path, func(c *Config) { c.Progress = nil })
	if err != nil {
		t.Fatal(err)
	}
	sameResult(t, want, got)
}

// Real sets whose samples are often equally near: binary words, counts of words.
func TestPermutationOfRealSets(t *testing.T) {
	testutil.Long(t, "it trains eight networks")
	for _, name := range []string{"webkb", "3sources", "reuters600", "skdigits3v"} {
		t.Run(name, func(t *testing.T) {
			views, classes := realSet(t, name)
			order := rand.New(rand.NewPCG(1, 2)).Perm(len(classes))
			other := make([]View, len(views))
			for v, x := range views {
				other[v] = x.Take(order)
			}
			config := Config{Clusters: len(slices.Compact(slices.Sorted(slices.Values(classes)))), Epochs: 20, Seed: 3}
			checkPermuted(t, mustFit(t, views, config), mustFit(t, other, config), order)
		})
	}
}

// Views that have the names of the training in another order are refused, of as many features or not, whatever asks; views of
// other names, or without one, are taken as they stand.
func TestNamedViewsInAnotherOrder(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 154, 5, 5)
	images, texts := views[0].Named("images"), views[1].Named("texts")
	p := mustFit(t, []View{images, texts}, Config{Clusters: 3, Epochs: 1})
	want, err := p.Predict(t.Context(), views)
	if err != nil {
		t.Fatal(err)
	}
	turned := []View{texts, images}
	const refused = "the views are texts, images, the network was trained on images, texts: give them in that order"
	calls := map[string]func() error{
		"Predict":    func() error { _, err := p.Predict(t.Context(), turned); return err },
		"Transform":  func() error { _, err := p.Transform(t.Context(), turned); return err },
		"Novelty":    func() error { _, err := p.Novelty(t.Context(), turned); return err },
		"ViewTrust":  func() error { _, err := p.ViewTrust(t.Context(), turned); return err },
		"AssignRows": func() error { return p.AssignRows(t.Context(), turned, func(int, *Assignments) error { return nil }) },
	}
	for name, call := range calls {
		if err := call(); err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	some := mustFit(t, []View{views[0], texts, views[1]}, Config{Clusters: 3, Epochs: 1})
	const places = "the views are texts, view 1, view 2, the network was trained on view 0, texts, view 2"
	_, err = some.Predict(t.Context(), []View{texts, views[0], views[1]})
	if err == nil || !strings.Contains(err.Error(), places) {
		t.Errorf("views without a name: %v", err)
	}
	_, err = p.Predict(t.Context(), []View{texts, views[1].Named("prices")})
	if err == nil || !strings.Contains(err.Error(), "the views are texts, prices, the network was trained on images, texts") {
		t.Errorf("one name out of place: %v", err)
	}
	for _, given := range [][]View{{images, texts}, {views[0], texts}, {images.Named("a"), texts.Named("b")}} {
		if got, err := p.Predict(t.Context(), given); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: %v, %v", given, got, err)
		}
	}
}

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
		"given anchors": {Config{Start: StartPoint{Anchors: given}}, []int{0, 0, 0}},
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

// A fit of drawn samples has the bits of one process on any ranks, in memory and outside it, with start labels and known ones,
// and goes on from its checkpoint on other ranks.
func TestDrawsOnRanks(t *testing.T) {
	const n, k = 9000, 600
	held, read, _ := outside(n, 14, 9)
	present, labels, given := make([]bool, n), make([]int, n), slices.Repeat([]int{-1}, n)
	for i := range n {
		if present[i], labels[i] = i%4 != 1, i%3; i%50 < 3 {
			given[i] = i % 3
		}
	}
	held[0], read[0] = held[0].WithPresent(present), read[0].WithPresent(present)
	for name, c := range map[string]Config{"default": {Known: given}, "paper": paper(Config{StartLabels: labels})} {
		c.Clusters, c.Epochs, c.Seed, c.FitSamples = 3, 6, 3, k
		on := func(views []View, path string, starts ...int) []*Clustering {
			found, errs := make([]*Clustering, len(starts)), make([]error, len(starts))
			var wg sync.WaitGroup
			for r, world := range comm.Local(len(starts)) {
				wg.Go(func() {
					lo, hi, own := starts[r], append(starts, n)[r+1], c
					own.Machine.Comm, own.Checkpoint = world, Checkpoint{Path: path, Every: 2}
					own.Known, own.StartLabels = part(c.Known, window{lo, hi}), part(c.StartLabels, window{lo, hi})
					if path == "" || !fileExists(path) {
						found[r], errs[r] = fitAlone(t.Context(), windows(views, lo, hi), own)
						return
					}
					found[r], errs[r] = Resume(t.Context(), windows(views, lo, hi), path, func(to *Config) {
						to.Machine.Comm, to.Known, to.Epochs = world, own.Known, 9
					})
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return found
		}
		same := func(what string, want *Clustering, found []*Clustering) {
			t.Helper()
			all := *found[0]
			all.Labels, all.Confidence, all.Remoteness = nil, nil, nil
			for r, x := range found {
				all.Labels, all.Confidence = append(all.Labels, x.Labels...), append(all.Confidence, x.Confidence...)
				all.Remoteness = append(all.Remoteness, x.Remoteness...)
				if !slices.Equal(x.Loss, want.Loss) || x.Structure != want.Structure || !slices.Equal(x.Notes, want.Notes) ||
					want.Classes != nil && !reflect.DeepEqual(x.Classes.Suspects, want.Classes.Suspects) {
					t.Errorf("%s, %s: rank %d of %d has another result: %v, %v", name, what, r, len(found), x.Notes, want.Notes)
				}
			}
			if !slices.Equal(all.Labels, want.Labels) || !slices.Equal(all.Confidence, want.Confidence) ||
				!slices.Equal(all.Remoteness, want.Remoteness) {
				t.Errorf("%s, %s: other labels, confidence or remoteness on %d ranks", name, what, len(found))
			}
		}
		want := on(held, "", 0)[0]
		path := t.TempDir() + "/state"
		same("in memory", want, on(held, path, 0, 2048, 6144))
		same("outside memory", want, on(read, "", 0, 4096))
		c.Epochs = 9
		longer := on(held, "", 0)[0]
		same("resumed", longer, on(read, path, 0, 2048, 4096, 6144))
	}
}

// fileExists says whether there is a file.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
