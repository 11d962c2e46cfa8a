package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/largemvc/largemvc/internal/testrig/testutil"

	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/kernel"
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
				if masked == 1 && name == "labels" {
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
