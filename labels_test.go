package largemvc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/largemvc/largemvc/comm"
	"github.com/largemvc/largemvc/internal/testrig/testutil"
	"github.com/largemvc/largemvc/machine"
	"github.com/largemvc/largemvc/score"
)

// normalClasses makes n rows of c classes: class centres of deviation spread, rows of deviation 1 around them; row i
// has class i mod c.
func normalClasses(n, d, c int, spread float64, seed uint64) (*mat.Dense, []int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	centres := make([]float64, c*d)
	for j := range centres {
		centres[j] = spread * rng.NormFloat64()
	}
	x, classes := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		classes[i] = i % c
		for j := range d {
			x.Set(i, j, centres[i%c*d+j]+rng.NormFloat64())
		}
	}
	return x, classes
}

func TestKMeansFindsClasses(t *testing.T) {
	for _, n := range []int{90, 8000} {
		x, classes := normalClasses(n, 8, 6, 10, 1)
		before := mat.DenseCopyOf(x)
		r, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 6})
		if err != nil {
			t.Fatal(err)
		}
		if acc, err := accuracyOf(classes, r.Labels); acc != 1 || err != nil {
			t.Errorf("n %d: accuracy %v, %v", n, acc, err)
		}
		if rows, cols := r.Centroids.Dims(); rows != 6 || cols != 8 || r.Found != 6 || !r.Converged || r.Iterations < 1 {
			t.Errorf("n %d: %d×%d centroids, %+v", n, rows, cols, r)
		}
		inertia := 0.0
		for i, k := range r.Labels {
			for j := range 8 {
				inertia += math.Pow(x.At(i, j)-r.Centroids.At(k, j), 2)
			}
		}
		if math.Abs(inertia-r.Inertia) > 1e-9*inertia {
			t.Errorf("n %d: inertia %v, recomputed %v", n, r.Inertia, inertia)
		}
		predicted, err := r.Predict(x)
		if err != nil || !slices.Equal(predicted, r.Labels) {
			t.Errorf("n %d: Predict on the rows does not give their labels, error %v", n, err)
		}
		if !mat.Equal(x, before) {
			t.Errorf("n %d: the matrix was changed", n)
		}
	}
}

// TestKMeansMatrixKinds clusters a part of a larger matrix, a transpose and a plain copy.
func TestKMeansMatrixKinds(t *testing.T) {
	x, _ := normalClasses(60, 7, 4, 3, 2)
	big := mat.NewDense(70, 12, nil)
	for i := range 70 {
		for j := range 12 {
			big.Set(i, j, math.NaN())
		}
	}
	part := big.Slice(5, 65, 2, 9).(*mat.Dense)
	part.Copy(x)
	want, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 4})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]mat.Matrix{"part": part, "transpose": mat.DenseCopyOf(x.T()).T()} {
		got, err := KMeans(t.Context(), m, KMeansConfig{Clusters: 4})
		if err != nil || !slices.Equal(got.Labels, want.Labels) || got.Inertia != want.Inertia ||
			!mat.Equal(got.Centroids, want.Centroids) {
			t.Errorf("%s: another result, error %v", name, err)
		}
		labels, err := want.Predict(m)
		if err != nil || !slices.Equal(labels, want.Labels) {
			t.Errorf("%s: other predictions, error %v", name, err)
		}
	}
}

func TestKMeansOptions(t *testing.T) {
	x, _ := normalClasses(300, 3, 9, 2, 3)
	base, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 9, Starts: 1, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 5} {
		r, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 9, Starts: 1, Seed: 4, Workers: workers})
		if err != nil || !slices.Equal(r.Labels, base.Labels) || r.Inertia != base.Inertia {
			t.Errorf("%d workers change the result, error %v", workers, err)
		}
	}
	r, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 9, Starts: 30, Seed: 4})
	if err != nil || !(r.Inertia < base.Inertia) {
		t.Errorf("30 starts: inertia %v, the first alone %v, error %v", r.Inertia, base.Inertia, err)
	}
	r, err = KMeans(t.Context(), x, KMeansConfig{Clusters: 9, Starts: 1, Seed: 4, MaxIter: 1})
	if err != nil || r.Iterations != 1 || r.Converged {
		t.Errorf("MaxIter 1: %d iterations, converged %v, error %v", r.Iterations, r.Converged, err)
	}
	start := KMeansConfig{Clusters: 9, Labels: base.Labels, Tol: -1}
	r, err = KMeans(t.Context(), x, start)
	if err != nil || r.Inertia > base.Inertia || r.Iterations > base.Iterations {
		t.Errorf("from the labels of %v: inertia %v, %d iterations, error %v", base.Inertia, r.Inertia, r.Iterations, err)
	}
	start.Labels = r.Labels
	again, err := KMeans(t.Context(), x, start)
	if err != nil || again.Iterations > 2 || !slices.Equal(again.Labels, r.Labels) {
		t.Errorf("from a fixed point: %d iterations, error %v", again.Iterations, err)
	}
}

func TestKMeansDegenerate(t *testing.T) {
	x := mat.NewDense(6, 2, []float64{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 3, 4})
	r, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 5})
	if err != nil || r.Found != 2 || r.Inertia != 0 ||
		!slices.Equal(r.Labels, []int{r.Labels[0], r.Labels[0], 1 - r.Labels[0], 1 - r.Labels[0], r.Labels[0], 1 - r.Labels[0]}) {
		t.Errorf("two distinct rows in five clusters: %+v, %v", r, err)
	}
	one, err := KMeans(t.Context(), mat.NewDense(1, 3, []float64{1, 2, 3}), KMeansConfig{Clusters: 1})
	if err != nil || one.Found != 1 || one.Inertia != 0 || one.Labels[0] != 0 {
		t.Errorf("one row: %+v, %v", one, err)
	}
	if labels, err := r.Predict(&mat.Dense{}); err != nil || len(labels) != 0 {
		t.Errorf("no rows: %v, %v", labels, err)
	}
}

func TestKMeansErrors(t *testing.T) {
	good := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 7})
	for _, test := range []struct {
		x    mat.Matrix
		cfg  KMeansConfig
		want string
	}{
		{nil, KMeansConfig{Clusters: 1}, "no matrix"},
		{&mat.Dense{}, KMeansConfig{Clusters: 1}, "0×0"},
		{mat.NewDense(2, 2, []float64{1, 2, math.NaN(), 4}), KMeansConfig{Clusters: 1}, "NaN in row 1, column 0"},
		{mat.NewDense(2, 2, []float64{1, math.Inf(-1), 3, 4}), KMeansConfig{Clusters: 1}, "-Inf in row 0, column 1"},
		{mat.NewDense(2, 1, []float64{1, 1e200}), KMeansConfig{Clusters: 1}, "sample 1"},
		{good, KMeansConfig{}, "0 clusters for 3"},
		{good, KMeansConfig{Clusters: 4}, "4 clusters for 3"},
		{good, KMeansConfig{Clusters: 2, Starts: -1}, "-1 starts"},
		{good, KMeansConfig{Clusters: 2, Starts: math.MaxInt}, "9223372036854775807 starts"},
		{good, KMeansConfig{Clusters: 2, Labels: []int{0, 1, 2}}, "the initial label of sample 2 is 2, want 0 to 1"},
	} {
		_, err := KMeans(t.Context(), test.x, test.cfg)
		if err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := KMeans(ctx, good, KMeansConfig{Clusters: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r, err := KMeans(t.Context(), good, KMeansConfig{Clusters: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []mat.Matrix{
		nil, mat.NewDense(1, 3, nil), mat.NewDense(1, 2, []float64{0, math.NaN()}),
		mat.NewDense(1, 2, []float64{0, 1e300}),
	} {
		if _, err := r.Predict(x); err == nil || !strings.HasPrefix(err.Error(), "largemvc: ") {
			t.Errorf("Predict(%v): %v", x, err)
		}
	}
}

func ExampleKMeans() {
	x := mat.NewDense(6, 2, []float64{
		1.0, 1.1,
		0.9, 1.0,
		8.0, 8.2,
		1.1, 0.9,
		8.1, 7.9,
		7.9, 7.9,
	})
	r, err := KMeans(context.Background(), x, KMeansConfig{Clusters: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := Evaluate([]int{0, 0, 1, 0, 1, 1}, r.Labels)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d clusters, inertia %.2f, accuracy %.0f\n", r.Found, r.Inertia, scores.ACC)
	// Output: 2 clusters, inertia 0.12, accuracy 1
}

// Rows so near to each other that squared distances vanish are refused, equal ones are not, and neither are small ones.
func TestKMeansOfSmallValues(t *testing.T) {
	for _, test := range []struct {
		factor float64
		ok     bool
	}{{1e-170, false}, {1e-320, false}, {1e-146, false}, {1e-144, true}, {1e-100, true}, {0, true}} {
		x := mat.NewDense(4, 2, []float64{1, 1, 1, 2, 3, 1, 3, 2})
		x.Scale(test.factor, x)
		r, err := KMeans(t.Context(), x, KMeansConfig{Clusters: 4})
		want := 4
		if test.factor == 0 {
			want = 1
		}
		refused := err != nil && strings.Contains(err.Error(), "would vanish")
		if test.ok && (err != nil || r.Found != want) || !test.ok && !refused {
			t.Errorf("times %v: %v, %v", test.factor, r, err)
		}
	}
}

func TestGoldenMetrics(t *testing.T) {
	for _, c := range testutil.LoadMetrics(t, "testdata/golden") {
		s, err := Evaluate(c.Y, c.P)
		if err != nil {
			t.Fatal(err)
		}
		undefined := func(x *float64) float64 {
			if x == nil {
				return math.NaN()
			}
			return *x
		}
		for name, pair := range map[string][2]float64{
			"ACC":          {s.ACC, c.ACC},
			"purity":       {s.Purity, c.Purity},
			"ARI":          {s.ARI, c.ARI},
			"NMI":          {s.NMI, c.NMIArithmetic},
			"precision":    {s.Precision, undefined(c.Precision)},
			"recall":       {s.Recall, undefined(c.Recall)},
			"F":            {s.F, undefined(c.F)},
			"B³ precision": {s.BCubed.Precision, c.B3Precision},
			"B³ recall":    {s.BCubed.Recall, c.B3Recall},
			"B³ F":         {s.BCubed.F, c.B3F},
			"homogeneity":  {s.Homogeneity, c.Homogeneity},
			"completeness": {s.Completeness, c.Completeness},
			"V":            {s.VMeasure, c.VMeasure},
		} {
			if got, want := pair[0], pair[1]; !(math.Abs(got-want) <= 1e-12 || math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s: %s is %v, want %v", c.Name, name, got, want)
			}
		}
	}
}

func TestSingleMetrics(t *testing.T) {
	y, p := []int{-5, -5, 7, 7, 7, 100}, []int{2, 2, 2, 9, 9, -1}
	s, err := Evaluate(y, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(nil, nil); err == nil {
		t.Error("Evaluate: no error without samples")
	}
	if _, err := Evaluate(nil, []int{1}); err == nil {
		t.Error("Evaluate: no error for different lengths")
	}
	if want := 5.0 / 6; s.ACC != want || s.Purity != want {
		t.Errorf("ACC %v, purity %v, want %v", s.ACC, s.Purity, want)
	}
}

func TestManyLabels(t *testing.T) {
	n := 10000
	y, p := make([]int, n), make([]int, n)
	for i := range y {
		y[i], p[i] = i, -i
	}
	if _, err := Evaluate(y, p); err == nil {
		t.Error("a matching of 10,000 classes to 10,000 clusters is not refused")
	}
	table, err := score.NewContingency(y, p)
	if err != nil {
		t.Fatal(err)
	}
	if v := table.Pairs().ARI(); v != 1 {
		t.Errorf("ARI of equal partitions into single samples: %v", v)
	}
	if v := table.NMI(score.NMIArithmetic); math.Abs(v-1) > 1e-12 {
		t.Errorf("NMI of equal partitions into single samples: %v", v)
	}
}

// TestPairsOfLargeData has products of pair counts beyond an int64.
func TestPairsOfLargeData(t *testing.T) {
	n := 300000
	y, p := make([]int, n), make([]int, n)
	for i := range y {
		y[i], p[i] = i%2, i%2
		if i < 1000 {
			p[i] = 0
		}
	}
	v, err := ariOf(y, p)
	if err != nil || !(v > 0.98 && v < 1) {
		t.Errorf("ARI %v, %v with 500 of 300,000 samples moved", v, err)
	}
}

func TestMetricProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		label := rapid.IntRange(-3, rapid.IntRange(-3, 5).Draw(t, "highest"))
		y := rapid.SliceOfN(label, n, n).Draw(t, "classes")
		p := rapid.SliceOfN(rapid.IntRange(0, 7), n, n).Draw(t, "clusters")
		s, err := Evaluate(y, p)
		if err != nil {
			t.Fatal(err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 || math.IsNaN(a) && math.IsNaN(b) }

		renamed := make([]int, n) // x ↦ 5−3x is one-to-one and reverses the order
		for i, l := range p {
			renamed[i] = 5 - 3*l
		}
		r, err := Evaluate(y, renamed)
		if err != nil {
			t.Fatal(err)
		}
		sv, rv := reflect.ValueOf(s), reflect.ValueOf(r)
		for f := range sv.NumField() {
			if sv.Field(f).Kind() == reflect.Float64 && !near(sv.Field(f).Float(), rv.Field(f).Float()) {
				t.Fatalf("%s depends on the clusters' names: %v and %v", sv.Type().Field(f).Name, sv.Field(f), rv.Field(f))
			}
		}

		q, err := Evaluate(p, y) // the roles exchanged
		if err != nil {
			t.Fatal(err)
		}
		if !near(s.ARI, q.ARI) || !near(s.NMI, q.NMI) || s.ACC != q.ACC || !near(s.Precision, q.Recall) || !near(s.F, q.F) ||
			!near(s.Homogeneity, q.Completeness) || !near(s.VMeasure, q.VMeasure) || !near(s.BCubed.Precision, q.BCubed.Recall) {
			t.Fatalf("not symmetric: %+v and %+v", s, q)
		}

		for _, x := range []float64{s.ACC, s.NMI, s.Purity, s.Homogeneity, s.Completeness, s.VMeasure, s.BCubed.F} {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("not from 0 to 1: %+v", s)
			}
		}
		if s.ARI > 1 || s.ACC > s.Purity || !near(s.NMI, s.VMeasure) && !(s.NMI == 0 || s.NMI == 1) {
			t.Fatalf("inconsistent: %+v", s)
		}

		if f := 2 * s.Precision * s.Recall / (s.Precision + s.Recall); s.Precision+s.Recall > 0 && !near(f, s.F) {
			t.Fatalf("F %v, from precision and recall %v", s.F, f)
		}

		same, err := Evaluate(y, y)
		if err != nil || same.ACC != 1 || !near(same.NMI, 1) || same.ARI != 1 || same.Purity != 1 {
			t.Fatalf("classes against themselves: %+v, %v", same, err)
		}
	})
}

func ExampleEvaluate() {
	classes := []int{0, 0, 0, 1, 1, 1, 2, 2}
	clusters := []int{5, 5, 5, 3, 3, 8, 8, 8} // names do not matter
	s, err := Evaluate(classes, clusters)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("ACC %.3f NMI %.3f ARI %.3f\n", s.ACC, s.NMI, s.ARI)
	// Output: ACC 0.875 NMI 0.779 ARI 0.619
}

func accuracyOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.ACC, err
}

func nmiOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.NMI, err
}

func ariOf(classes, clusters []int) (float64, error) {
	s, err := Evaluate(classes, clusters)
	return s.ARI, err
}

// someKnown returns the labels of every step-th sample, −1 for the others.
func someKnown(labels []int, step int) []int {
	out := slices.Repeat([]int{-1}, len(labels))
	for i := 0; i < len(labels); i += step {
		out[i] = labels[i]
	}
	return out
}

// TestKnown wants a few known labels to give all samples their classes, by the fit, by its predictor and by the saved one alike,
// and nothing else of the fit to change.
func TestKnown(t *testing.T) {
	views, truth := blobViews(400, 3, 0.6, 20, 12, 9)
	fit400, fresh := windows(views, 0, 300), windows(views, 300, 400)
	for name, c := range map[string]Config{
		"exact": {}, "float64": {Float64: true}, "landmarks": {Neighborhood: Neighborhood{Exact: None}},
		"some are trained on": {FitSamples: 200},
	} {
		c.Clusters, c.Epochs = 3, 5
		plain := mustFit(t, fit400, c)
		c.Known = someKnown(truth[:300], 10)
		c.Known[30] = (truth[30] + 1) % 3 // a mistake
		c.Machine.Overwrite = true
		fit := mustFit(t, fit400, c)
		if !slices.Equal(plain.Labels, fit.Labels) || !mat.Equal(plain.H, fit.H) || plain.Classes != nil {
			t.Errorf("%s: known labels change the clusters or H", name)
		}
		found, wrong := fit.Classes, 0
		for i, l := range found.Labels {
			if known := c.Known[i] >= 0; known && (l != c.Known[i] || found.Confidence[i] != 1) {
				t.Errorf("%s: the known label of sample %d is changed", name, i)
			} else if !known && l != truth[i] {
				wrong++
			}
		}
		if wrong > 12 {
			t.Errorf("%s: %d of 270 classes are wrong", name, wrong)
		}
		if len(found.Suspects) == 0 || found.Suspects[0].Sample != 30 || found.Suspects[0].Found != truth[30] {
			t.Errorf("%s: the wrong known label is not the first suspect: %+v", name, found.Suspects)
		}
		for k, class := range found.Clusters {
			if i := slices.Index(fit.Labels, k); class < 0 || truth[i] != class {
				t.Errorf("%s: cluster %d has the class %d", name, k, class)
			}
		}
		fit.ClassNames = []string{"a", "b", "c"}
		var file bytes.Buffer
		if _, err := fit.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		loaded, err := ReadPredictor(&file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(loaded.ClassNames, fit.ClassNames) || loaded.Config().Known != nil {
			t.Errorf("%s: the loaded model has the names %q and labels %v", name, loaded.ClassNames, loaded.Config().Known)
		}
		for _, p := range []*Predictor{fit.Predictor, loaded} {
			again, err := p.Classify(t.Context(), fit400)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range again.Labels {
				if c.Known[i] < 0 && (l != found.Labels[i] || again.Confidence[i] != found.Confidence[i]) {
					t.Fatalf("%s: sample %d has class %d, of the predictor %d", name, i, found.Labels[i], l)
				}
			}
			again, err = p.Classify(t.Context(), fresh)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := p.Assign(t.Context(), fresh); err != nil || !slices.Equal(a.Classes.Labels, again.Labels) ||
				!slices.Equal(a.Classes.Confidence, again.Confidence) {
				t.Errorf("%s: Assign gives other classes than Classify, or %v", name, err)
			}
			wrong = 0
			for i, l := range again.Labels {
				if l != truth[300+i] {
					wrong++
				}
			}
			if wrong > 5 {
				t.Errorf("%s: %d of 100 new samples have a wrong class", name, wrong)
			}
		}
	}
}

// TestKnownSome: of classes that no sample is known to have there is a note, samples may lack views, and one label a class gives
// no confidence.
func TestKnownSome(t *testing.T) {
	views, truth := blobViews(240, 4, 0.6, 20, 12, 9)
	given := slices.Repeat([]int{-1}, 240)
	for _, class := range []int{0, 3} {
		given[slices.Index(truth, class)] = class
	}
	for v := range views {
		views[v] = views[v].WithPresent(func() []bool {
			out := make([]bool, 240)
			for i := range out {
				out[i] = i%3 != v || truth[i] == 0 && i < 12
			}
			return out
		}())
	}
	fit := mustFit(t, views, Config{Clusters: 4, Epochs: 5, Known: given})
	found := fit.Classes
	if found.Confidence != nil || !slices.Equal(found.Known, []int{1, 0, 0, 1}) {
		t.Errorf("confidence %v, known %v", found.Confidence, found.Known)
	}
	if i := slices.IndexFunc(found.Labels, func(l int) bool { return l != 0 && l != 3 }); i >= 0 {
		t.Errorf("sample %d gets the class %d, which has no known label", i, found.Labels[i])
	}
	notes := strings.Join(fit.Notes, "\n")
	for _, want := range []string{"the class 1, 2", "no class goes with cluster"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note has %q:\n%s", want, notes)
		}
	}
	none := mustFit(t, views, Config{Clusters: 4, Epochs: 1})
	_, err := none.Classify(t.Context(), views)
	if err == nil || none.HasClasses() || !strings.Contains(err.Error(), "Config.Known") {
		t.Error(err)
	}
}

// TestKnownOnRanks: known labels on up to four ranks give the classes of one process, with few and with many of them, in the loss
// or not, whether the ranks search neighbours among all samples or have landmarks.
func TestKnownOnRanks(t *testing.T) {
	const piece = 1024
	n := testutil.Few(1500, 3200)
	views, truth := blobViews(n, 5, 0.6, 20, 12, 9)
	for name, c := range map[string]struct {
		exact, step, least int // of the numbers of ranks
		weight             float64
	}{
		"neighbours": {0, 37, 4, 0}, "in the loss": {0, 37, 4, 3}, "few, landmarks": {None, 111, 2, 0},
		"many, landmarks": {None, 2, 2, 0},
	} {
		if !testutil.Slow && name == "many, landmarks" {
			continue
		}
		given := someKnown(truth, c.step)
		given[111] = (truth[111] + 1) % 5 // a mistake
		fit := func(ranks int) []*Clustering {
			found, errs := make([]*Clustering, ranks), make([]error, ranks)
			var wg sync.WaitGroup
			for r, world := range comm.Local(ranks) {
				wg.Go(func() {
					lo, hi := r*piece, (r+1)*piece
					if r == ranks-1 {
						hi = n
					}
					found[r], errs[r] = fitAlone(t.Context(), windows(views, lo, hi), Config{
						Clusters: 5, Epochs: 2, Known: given[lo:hi],
						KMeansStarts: 1, NoStructure: true,
						Neighborhood: Neighborhood{Exact: c.exact, KnownWeight: c.weight}, Machine: machine.Options{Comm: world},
					})
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return found
		}
		want := fit(1)[0]
		for ranks := testutil.Few(2, c.least); ranks <= testutil.Few(2, 4); ranks++ {
			all := score.Classes{}
			for _, one := range fit(ranks) {
				all.Labels = append(all.Labels, one.Classes.Labels...)
				all.Confidence = append(all.Confidence, one.Classes.Confidence...)
				all.Known, all.Suspects, all.Clusters = one.Classes.Known, one.Classes.Suspects, one.Classes.Clusters
				if !slices.Equal(one.Loss, want.Loss) {
					t.Errorf("%s, %d ranks: the loss is %v, of one process %v", name, ranks, one.Loss, want.Loss)
				}
			}
			if !reflect.DeepEqual(*want.Classes, all) || len(all.Suspects) == 0 {
				t.Errorf("%s, %d ranks: other classes than of one process, or no suspects", name, ranks)
			}
		}
	}
}
