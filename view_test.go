package largemvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/largemvc/largemvc/internal/file"
	"github.com/largemvc/largemvc/internal/safetensors"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/internal/view"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/neighbor"
)

func TestViewsThatAreRefused(t *testing.T) {
	good := DenseView(3, 2, []float64{1, 2, 3, 5, 8, 1})
	var none *mat.Dense
	all := []bool{true, true, true}
	for _, test := range []struct {
		name  string
		views []View
		want  string
	}{
		{"no views", nil, "no views"},
		{"zero value", []View{good, {}}, "view 1 has no values"},
		{"too few values", []View{DenseView(3, 2, make([]float64, 5))}, "view 0: the number of values is 5, want n·d for 3×2"},
		{"too many", []View{DenseView(3, 2, make([]float32, 7)).Named("text")}, "view 0 (text): the number of values is 7, want"},
		{"negative size", []View{DenseView[float64](-1, 2, nil)}, "values is 0, want n·d for -1×2"},
		{"a product that overflows", []View{DenseView[float64](math.MaxInt, 4, nil)}, "not fit in memory"},
		{"no features", []View{DenseView(3, 0, []float64{})}, "view 0 has no features"},
		{"no samples", []View{DenseView(0, 3, []float64{})}, "view 0 has no samples"},
		{"nil matrix", []View{good, MatrixView(nil)}, "view 1: the matrix is nil"},
		{"nil pointer to a matrix", []View{good, MatrixView(none)}, "view 1: the size of the matrix cannot be read"},
		{
			"other samples", []View{good, DenseView(2, 2, make([]float64, 4)).Named("b")},
			"view 1 (b) has 2 samples, view 0 has 3",
		},
		{"short mask", []View{good, good.WithPresent([]bool{true})}, "presence mask of view 1 has 1 value for 3 samples"},
		{"view without samples", []View{good, good.WithPresent(make([]bool, 3))}, "no sample has view 1"},
		{
			"sample without views",
			[]View{good.WithPresent([]bool{true, false, true}), good.WithPresent([]bool{true, false, true})},
			"sample 1 has no view: leave it out",
		},

		{
			"sparse: pointers", []View{SparseView(3, 2, []int{0, 1}, []int32{0}, []float64{1})},
			"view 0: 2 row pointers for 3 rows, want 4",
		},
		{
			"sparse: columns", []View{good, SparseView(3, 2, []int{0, 1, 1, 1}, []int32{0, 1}, []float64{1})},
			"view 1: 2 columns for 1 values",
		},
		{
			"sparse: first pointer", []View{SparseView(3, 2, []int{1, 1, 1, 1}, []int32{0}, []float32{1})},
			"the row pointers go from 1 to 1, want 0 to 1",
		},
		{
			"sparse: last pointer", []View{SparseView(3, 2, []int{0, 1, 1, 2}, []int32{0}, []float32{1})},
			"the row pointers go from 0 to 2, want 0 to 1",
		},
		{
			"sparse: falling pointers",
			[]View{SparseView(3, 2, []int{0, 2, 1, 2}, []int32{0, 1}, []float32{1, 1})},
			"the pointer after row 1 is 1, that before is 2",
		},
		{
			"sparse: pointer beyond",
			[]View{SparseView(3, 2, []int{0, 9, 1, 2}, []int32{0, 1}, []float32{1, 1})},
			"the pointer after row 0 is 9, that before is 0, and there are 2 values",
		},
		{
			"sparse: column beyond", []View{SparseView(3, 2, []int{0, 1, 1, 1}, []int32{2}, []float32{1})},
			"row 0 has column 2, want 0 to 1",
		},
		{
			"sparse: negative column",
			[]View{SparseView(3, 2, []int{0, 0, 1, 1}, []int32{-1}, []float32{1}).Named("w")},
			"view 0 (w): row 1 has column -1",
		},
		{
			"sparse: column twice", []View{SparseView(3, 2, []int{0, 0, 2, 2}, []int32{1, 1}, []float32{1, 1})},
			"row 1 has column 1 after column 1",
		},
		{"sparse: no pointers", []View{SparseView[float32](-1, 2, nil, nil, nil)}, "cannot be -1×2"},
		{
			"sparse: NaN",
			[]View{good, SparseView(3, 2, []int{0, 0, 2, 2}, []int32{0, 1}, []float32{1, float32(math.NaN())})},
			"view 1 has NaN at row 1, column 1: replace it, or mark the row as absent",
		},
		{
			"sparse: infinite",
			[]View{SparseView(3, 2, []int{0, 0, 0, 1}, []int32{1}, []float64{math.Inf(-1)}).WithPresent(all)},
			"view 0 has -Inf at row 2, column 1",
		},

		{
			"NaN", []View{good, DenseView(3, 2, []float64{1, 2, 3, 4, math.NaN(), 6}).Named("n")},
			"view 1 (n) has NaN at row 2, column 0",
		},
		{
			"infinite in float32", []View{DenseView(3, 2, []float32{1, 2, float32(math.Inf(1)), 4, 5, 6})},
			"view 0 has +Inf at row 1, column 0",
		},
		{
			"infinite in a matrix",
			[]View{MatrixView(mat.NewDense(2, 3, []float64{1, 2, 3, 4, math.Inf(1), 6}).T())},
			"view 0 has +Inf at row 1, column 1",
		},
		{
			"squares that overflow", []View{good, DenseView(3, 2, []float64{1, 2, 1e200, 4, 5, 6})},
			"view 1: the squares of the values of row 1 are too large: scale them down",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := fitAlone(context.Background(), test.views, Config{Clusters: 2})
			if err == nil || c != nil || !strings.HasPrefix(err.Error(), "largemvc: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q, want one with %q", err, test.want)
			}
		})
	}
}

func TestMasked(t *testing.T) {
	view := DenseView(3, 2, []float64{1, 2, 3, 5, 8, 1})
	views, err := testutil.Masked([]View{view, view}, [][]bool{{true, false}, {true, true}, {false, true}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][2]bool{{true, false}, {true, true}, {false, true}} {
		if views[0].Has(i) != want[0] || views[1].Has(i) != want[1] {
			t.Errorf("sample %d has %v and %v, want %v", i, views[0].Has(i), views[1].Has(i), want)
		}
	}
	if !view.Has(0) || !view.Has(2) {
		t.Error("the views that the mask was for have it too")
	}
	if views, err = testutil.Masked(views, nil); err != nil || !views[1].Has(0) || !views[0].Has(2) {
		t.Errorf("a nil mask: %v", err)
	}
	if _, err := testutil.Masked(views, [][]bool{{true, true}, {true}, {true, true}}); err == nil ||
		!strings.Contains(err.Error(), "1 views for sample 1, want 2") {
		t.Errorf("a short row of the mask: %v", err)
	}
}

// All kinds of views read the same rows.
func TestViewRows(t *testing.T) {
	x := []float64{0, 2, 0, 3, 0, 0, 0, 0, 0, 4, 5, 6}
	for name, v := range kindsOfHolders(4, 3, x) {
		if n, d := v.Dims(); n != 4 || d != 3 || v.err != nil {
			t.Errorf("%s is %d×%d, %v", name, n, d, v.err)
			continue
		}
		for i := range 4 {
			row := []float64{9, 9, 9}
			v.in.Row(i, row)
			for j, got := range row {
				if got != x[i*3+j] {
					t.Errorf("%s: element (%d, %d) is %v, want %v", name, i, j, got, x[i*3+j])
				}
			}
		}
	}
}

// kindsOfHolders are the same rows, n×d, in all that can hold them.
func kindsOfHolders(n, d int, x []float64) map[string]View {
	single := make([]float32, len(x))
	for i, v := range x {
		single[i] = float32(v)
	}
	dense := mat.NewDense(n, d, x)
	wide := mat.NewDense(n, d+2, nil)
	wide.Slice(0, n, 1, d+1).(*mat.Dense).Copy(dense)
	return map[string]View{
		"float64": DenseView(n, d, x), "float32": DenseView(n, d, single), "matrix": MatrixView(dense),
		"columns of a matrix": MatrixView(wide.Slice(0, n, 1, d+1)), "transposed": MatrixView(mat.DenseCopyOf(dense.T()).T()),
		"sparse": sparseOf[float64](n, d, x), "sparse float32": sparseOf[float32](n, d, x),
	}
}

// kindsOfViews are the same samples as dense and as sparse views, with every entry of the absent rows replaced.
func kindsOfViews(t testing.TB, x [][]float64, dims []int, mask [][]bool, content float64) map[string][]View {
	t.Helper()
	filled := make([][]float64, len(x))
	for v, d := range dims {
		filled[v] = slices.Clone(x[v])
		for i := range mask {
			for j := 0; j < d && !mask[i][v]; j++ {
				filled[v][i*d+j] = content
			}
		}
	}
	dense, sparse := bothKinds[float64](filled, dims...)
	out := map[string][]View{}
	for name, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		var err error
		if out[name], err = testutil.Masked(views, mask); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Missing views through fit, score and prediction: the classes are found, absent rows count for nothing whatever they
// hold, and training samples get their labels back.
func TestFitWithMissingViews(t *testing.T) {
	t.Parallel()
	const n, c = 300, 4
	dims := []int{70, 50, 40}
	x, classes := topics(n, c, 0.15, 81, dims...)
	for i, rate := range []float64{0.1, 0.3, 0.5} {
		if leftOut(i, 3) {
			continue
		}
		mask := absent(n, len(dims), rate, 82)
		withNaN := kindsOfViews(t, x, dims, mask, math.NaN())
		withOnes := kindsOfViews(t, x, dims, mask, 1)
		for kind, views := range withNaN {
			for i, variant := range []variant{large, amvc, rmvc} {
				if leftOut(i, 3) && kind != "dense" {
					continue
				}
				t.Run(fmt.Sprintf("%s, rate %v, %v", kind, rate, variant), func(t *testing.T) {
					config := variant.of(Config{Clusters: c, Epochs: 10})
					if rate == 0.3 {
						config.Neighborhood.Neighbors = None
					}
					got := mustFit(t, views, config)
					if acc := agree(t, got.Labels, classes); acc < 0.9 {
						t.Errorf("accuracy %.3f", acc)
					}
					checkResult(t, views, got)
					sameResult(t, got, mustFit(t, withOnes[kind], config))
				})
			}
		}
	}
}

// On complete data a full mask gives the same bits as none.
func TestFullMaskGivesTheSameBits(t *testing.T) {
	const n, c = 120, 3
	dims := []int{40, 30}
	x, _ := topics(n, c, 0.2, 83, dims...)
	dense, sparse := bothKinds[float32](x, dims...)
	full := absent(n, len(dims), 0, 84)
	for kind, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		for _, config := range []Config{
			{}, {Float64: true, Preprocess: PreprocessBalanced}, {Neighborhood: Neighborhood{Exact: None, Directions: 9}},
			{
				Neighborhood: Neighborhood{Neighbors: None},
				Represent:    &SoftThreshold{Activation: SELU}, Noise: &NoNoise{},
				Preprocess: PreprocessUnit,
			}, {Neighborhood: Neighborhood{Neighbors: None}, Preprocess: PreprocessZScore},
		} {
			config.Clusters, config.Epochs = c, 5
			masked, err := testutil.Masked(views, full)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%s, %v", kind, config.Preprocess), func(t *testing.T) {
				sameResult(t, mustFit(t, views, config), mustFit(t, masked, config))
			})
		}
	}
}

// Where samples lack views, the representation is what the layers give, smoothed along the neighbours of the fit.
func TestRepresentationIsSmoothed(t *testing.T) {
	const n, known, c = 450, 300, 5
	dims := []int{30, 20, 20}
	x, _ := topics(n, c, 0.2, 91, dims...)
	all, _ := bothKinds[float32](x, dims...)
	views, err := testutil.Masked(all, absent(n, len(dims), 0.5, 92))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var old []View
	for _, v := range views {
		old = append(old, v.Take(upTo(known)))
	}
	for name, config := range map[string]Config{"exact": {}, "landmarks": {Neighborhood: Neighborhood{Exact: None}}} {
		config.Clusters, config.Epochs, config.Float64 = c, 5, true
		model := mustFit(t, old, config)
		checkResult(t, old, model)
		plain, err := readChanged(t, model, func(f *safetensors.File) { withoutLast(t, f) })
		if err != nil {
			t.Fatal(err)
		}
		h, err := plain.Transform(ctx, old)
		if err != nil {
			t.Fatal(err)
		}
		made, err := prepareInputs[float64](ctx, &run{config: completed(config, known), views: inner(old)})
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]float64, 0, known*c)
		for i := range known {
			row := mat.Row(nil, i, h)
			floats.Scale(1/floats.Norm(row, 2), row)
			rows = append(rows, row...)
		}
		ordered := make([]float64, 0, known*c) // as the graph has the samples
		for _, i := range view.Along(made.Order, upTo(known)) {
			ordered = append(ordered, rows[i*c:(i+1)*c]...)
		}
		smoothed := neighbor.Block[float64]{X: ordered, Ld: c, Cols: c}
		if _, err := neighbor.Smooth(ctx, made.Graph, []neighbor.Block[float64]{smoothed}, 4, 1); err != nil {
			t.Fatal(err)
		}
		want := view.Back(made.Order, ordered, c)
		for i := range known {
			if d := floats.Distance(mat.Row(nil, i, model.H), want[i*c:(i+1)*c], 2); !(d < 1e-9) {
				t.Fatalf("%s: row %d of H is off by %g", name, i, d)
			}
		}
	}
	for name, config := range map[string]Config{
		"complete": {}, "not smoothed": {Neighborhood: Neighborhood{Steps: None}}, "plain": {PlainReadOut: true},
	} {
		config.Clusters, config.Epochs = c, 1
		from := old
		if name == "complete" {
			from = all
		}
		if intakeOf(mustFit(t, from, config).Predictor).Tensor("last_filter") != nil {
			t.Errorf("%s: the representation is smoothed", name)
		}
	}
}

// withoutLast makes the file of a model that of one whose representation is not smoothed.
func withoutLast(t *testing.T, f *safetensors.File) {
	t.Helper()
	last := func(name string) bool { return name == "last_filter" || name == "last_steps" }
	f.Tensors = slices.DeleteFunc(f.Tensors, func(x safetensors.Tensor) bool { return last(x.Name) })
	var about savedTraining
	if err := json.Unmarshal([]byte(f.Metadata[file.MetaTraining]), &about); err != nil {
		t.Fatal(err)
	}
	about.Tensors = slices.DeleteFunc(about.Tensors, last)
	text, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	f.Metadata[file.MetaTraining] = string(text)
}

// A complete sample with a view taken away is predicted from the others; without a mask nothing is missing.
func TestPredictIncompleteSamples(t *testing.T) {
	const n, c = 240, 4
	dims := []int{60, 50, 40}
	x, classes := topics(n, c, 0.15, 85, dims...)
	dense, sparse := bothKinds[float32](x, dims...)
	ctx := context.Background()
	for kind, views := range map[string][]View{"dense": dense, "sparse": sparse} {
		model := mustFit(t, views, Config{Clusters: c, Epochs: 20})
		for missing := range dims {
			mask := make([][]bool, n)
			for i := range mask {
				mask[i] = []bool{true, true, true}
				mask[i][missing] = i%2 == 0
			}
			less, err := testutil.Masked(views, mask)
			if err != nil {
				t.Fatal(err)
			}
			labels, err := model.Predict(ctx, less)
			if err != nil {
				t.Fatal(err)
			}
			if acc := agree(t, labels, classes); acc < 0.9 {
				t.Errorf("%s without view %d: accuracy %.3f", kind, missing, acc)
			}
			for i := 0; i < n; i += 2 {
				if labels[i] != model.Labels[i] {
					t.Fatalf("%s: sample %d lacks nothing and has another label", kind, i)
				}
			}
		}
		none, err := testutil.Masked(views, [][]bool{{false, false, false}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := model.Predict(ctx, none); err == nil {
			t.Errorf("%s: no error for a mask of one row", kind)
		}
	}
}

// Where samples lack a view rows can grow with every step of smoothing; so many steps that they overflow are an error that says
// so.
func TestTooManyStepsWhereSamplesLackViews(t *testing.T) {
	x := []float64{-1e6, -1e6, 2e6, -6e5, -8e4, -9e5, -5e5, 1e6, -2e5, -1e6, 2e5, -1e6, 7e5, -1e6, -1e6}
	y, present := []float64{-4, -10, 4, -6, -10}, []bool{false, true, false, true, false}
	few := []View{DenseView(5, 3, x), DenseView(5, 1, y).WithPresent(present)}
	// With so many features the second view is the first and the last of the inputs.
	rng := rand.New(rand.NewPCG(12, 8))
	values := make([]float64, 6*23)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	many := []View{
		DenseView(6, 3, values[:18]),
		DenseView(6, 20, values[18:]).WithPresent([]bool{false, true, false, false, true, false}).Named("text"),
	}
	for name, c := range map[string]struct {
		views []View
		want  string
	}{"few features": {few, "view 1:"}, "many features": {many, "view 1 (text):"}} {
		config := Config{Clusters: 1, Neighborhood: Neighborhood{Neighbors: 1, Steps: 1000}}
		_, err := fitAlone(context.Background(), c.views, config)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "1000 steps of smoothing") {
			t.Errorf("%s: error %v, want one that names the view and the steps", name, err)
		}
		config.Neighborhood.Steps = 100
		mustFit(t, c.views, config)
	}
}

// Fit says what misleads: a feature that decides alone, in the standardisations that leave it its scale, and a view that is
// another one, or a multiple.
func TestNotesOnViewsThatMislead(t *testing.T) {
	const n, d = 700, 8
	x, _ := blobs(n, 3, 0.8, 31, d, d, 5)
	changed := func(f func(j int, value float64) float64) []float64 {
		out := slices.Clone(x[0])
		for i := range out {
			out[i] = f(i%d, out[i])
		}
		return out
	}
	loud := changed(func(j int, value float64) float64 {
		if j == 5 {
			return 1e6 * value
		}
		return value
	})
	twice := changed(func(_ int, value float64) float64 { return -2.5 * value })
	double := [][]float64{x[0], x[1], x[0], twice}
	const decides = "feature 5 has "
	for p, want := range map[Preprocess]bool{
		PreprocessSample: true, PreprocessUnit: true, None: true, PreprocessZScore: false, PreprocessBalanced: false,
		PreprocessBoth: false,
	} {
		for _, neighbors := range []int{0, None} {
			c := Config{Clusters: 3, Epochs: 1, Preprocess: p, Neighborhood: Neighborhood{Neighbors: neighbors}}
			if p == PreprocessBoth && neighbors == None {
				continue
			}
			got := strings.Join(mustFit(t, float64Views([][]float64{x[1], loud}, d, d), c).Notes, "\n")
			if strings.Contains(got, "view 1: "+decides) != want {
				t.Errorf("%v, neighbours %d: the notes are %q", p, neighbors, got)
			}
		}
	}
	for kind, make := range map[string]func(v, d int, x []float64) View{
		"dense":   func(_, d int, x []float64) View { return DenseView(n, d, x) },
		"float32": func(_, d int, x []float64) View { return DenseView(n, d, toFloat32(x)) },
		"outside": func(_, d int, x []float64) View { return RowsView(&heldRows{n: n, d: d, x: toFloat32(x)}) },
	} {
		var views []View
		for v, x := range double {
			views = append(views, make(v, d, x))
		}
		inPlace := paper(Config{Machine: machine.Options{Overwrite: true}})
		for _, c := range []Config{{}, paper(Config{}), {FitSamples: 300}, inPlace} {
			c.Clusters, c.Epochs = 3, 1
			views := slices.Clone(views)
			if c.Machine.Overwrite {
				for v := range views {
					views[v] = make(v, d, slices.Clone(double[v]))
				}
			}
			got := mustFit(t, views, c).Notes
			copied, scaled := "view 2 has the values of view 0", "view 3 is -2.5 times view 0"
			if len(got) != 2 || !strings.HasPrefix(got[0], copied) || !strings.HasPrefix(got[1], scaled) {
				t.Errorf("%s, %+v: the notes are %q", kind, c, got)
			}
		}
	}
	if got := mustFit(t, float64Views(x, d, d, 5), Config{Clusters: 3, Epochs: 1}).Notes; got != nil {
		t.Errorf("the notes are %q", got)
	}
}

// A draw that has no sample with some view is not compared, and not an error, unless all are so.
func TestDrawsThatLackAView(t *testing.T) {
	const n, k = 200, 60
	views, _ := blobViews(n, 3, 0.5, 1, 8, 6)
	present := make([]bool, n)
	for i := range 4 {
		present[50*i] = true
	}
	views[1] = views[1].WithPresent(present)
	lacks := func(seed uint64, draw int) bool {
		at := drawn(&Config{Seed: seed, FitSamples: k}, n, draw)
		return !slices.ContainsFunc(at, func(i int) bool { return present[i] })
	}
	tried := make(map[[draws]bool]bool)
	for seed := uint64(0); len(tried) < 1<<draws; seed++ {
		is := [draws]bool{lacks(seed, 0), lacks(seed, 1), lacks(seed, 2)}
		if tried[is] {
			continue
		}
		tried[is] = true
		c := paper(Config{Clusters: 3, Epochs: 2, FitSamples: k, Seed: seed})
		c.Checkpoint.Path = filepath.Join(t.TempDir(), "state")
		_, err := fitAlone(context.Background(), views, c)
		if err == nil {
			_, err = Resume(t.Context(), views, c.Checkpoint.Path, func(r *Config) { r.Epochs = 3 })
		}
		if (err != nil) != !slices.Contains(is[:], false) {
			t.Errorf("seed %d, draws without the view %v: %v", seed, is, err)
		}
	}
}

// TestNamesOfNoText: what a model could not keep is refused before the work.
func TestNamesOfNoText(t *testing.T) {
	views, _ := blobViews(60, 3, 0.5, 154, 5, 5)
	names := []string{"a", "Gr\xf6\xdfe", "c", "d", "e"}
	for name, x := range map[string]View{
		"feature": views[1].WithFeatures(names), "name": views[1].Named(names[1]),
		"preparation": views[1].WithPreparation(names[1], nil),
		"number":      views[1].WithPreparation("x", []float64{1, math.Inf(1)}),
	} {
		_, err := Fit(t.Context(), []View{views[0], x}, Config{Clusters: 3, Epochs: 1})
		var wrong *InputError
		if !errors.As(err, &wrong) || wrong.View != 1 || !strings.Contains(err.Error(), "must be UTF-8 and finite numbers") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTakeOfUnusableViews: Take keeps what is wrong with a view for what takes its result.
func TestTakeOfUnusableViews(t *testing.T) {
	for want, x := range map[string]View{
		"the number of values is 8":                DenseView(5, 2, make([]float64, 8)),
		"row pointers":                             SparseView[float64](3, 2, []int{0, 1}, []int32{0}, []float64{1}),
		"presence mask has 1 value for 4 samples":  DenseView(4, 2, make([]float64, 8)).WithPresent([]bool{true}),
		"presence mask has 9 values for 4 samples": DenseView(4, 2, make([]float64, 8)).WithPresent(make([]bool, 9)),
		"no values": DenseView[float64](4, 2, nil),
	} {
		taken := x.Take([]int{0, 2})
		if _, err := Fit(t.Context(), []View{taken}, Config{Clusters: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestThresholdsAboveTheData: if the values are so small that H = 0, all samples are in one cluster, and a note says why.
func TestThresholdsAboveTheData(t *testing.T) {
	given, _ := blobViews(60, 3, 0.3, 52, 6, 4)
	views := make([]View, 2)
	for v, x := range given {
		var small []float64
		for i := range 60 {
			for _, value := range x.Row(nil, i) {
				small = append(small, 1e-4*value)
			}
		}
		views[v] = DenseView(60, len(small)/60, small)
	}
	c := mustFit(t, views, Config{Clusters: 3, Preprocess: None, Neighborhood: Neighborhood{Neighbors: None}})
	if c.Clusters != 1 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "the thresholds exceed the data") {
		t.Errorf("%v, %q", c, c.Notes)
	}
}
